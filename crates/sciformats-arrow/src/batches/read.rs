//! How a batch is read: the columns of conditions first, then the others where rows satisfy them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, SchemaRef};
use sciformats_conventions::sciformats::options::Unfolding;
use sciformats_conventions::sciformats::{ArrayInfo, ElementType, Error, Result};
use sciformats_conventions::{Column, Table};

use super::conditions::Test;
use super::error_of;
use crate::decode::{self, internal};

/// What is read of each batch.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) columns: Vec<(Column, DataType)>,
    pub(super) schema: SchemaRef,
    /// Conditions, each with its column and the place of that column among those that are read.
    pub(super) tests: Vec<Test>,
    /// The number of rows that were compared, and of those that satisfied the conditions.
    pub(super) compared: AtomicU64,
    pub(super) kept: AtomicU64,
    /// How much may still be read: a small file can declare any number of rows.
    pub(super) unfolding: Option<Unfolding>,
}

impl Plan {
    /// Checks once what reading the rows does not.
    pub(super) fn sound(&self) -> Result<()> {
        let read =
            self.columns.iter().map(|(column, _)| column).chain(self.tests.iter().map(|test| &test.column));
        read.into_iter().try_for_each(|of| of.sound().map_err(|error| error_of(of, error)))
    }

    /// Reads a batch; `None` if no row satisfies the conditions.
    pub(super) fn read(&self, rows: Range<u64>) -> Result<Option<RecordBatch>> {
        let count = rows.end.saturating_sub(rows.start); // a bound: no row is before the first
        let height = usize::try_from(count).map_err(|_| Error::usage("batch_rows", "is too large"))?;
        if self.columns.is_empty() && self.tests.is_empty() {
            self.unfold(count)?;
        }
        if self.tests.is_empty() {
            let all: Vec<usize> = (0..self.columns.len()).collect();
            let arrays = self.arrays(&all, (rows.start, height))?;
            return self.joined(arrays, height).map(Some);
        }
        let (compared, kept) = (self.compared.load(Ordering::Relaxed), self.kept.load(Ordering::Relaxed));
        // If many rows are kept, one pass over the file is better than two.
        let together = kept.saturating_mul(4) > compared; // a hint
        let mut arrays: Vec<Option<ArrayRef>> = vec![None; self.columns.len()];
        let mut wanted: Vec<usize> = if together {
            (0..self.columns.len()).collect()
        } else {
            self.tests.iter().filter_map(|test| test.place).collect()
        };
        wanted.sort_unstable();
        wanted.dedup();
        let alone: Vec<&Test> = self.tests.iter().filter(|test| test.place.is_none()).collect();
        let read = self.both(&wanted, &alone, (rows.start, height))?;
        let (first, others) = read.split_at(wanted.len().min(read.len()));
        for (&at, array) in wanted.iter().zip(first) {
            if let Some(slot) = arrays.get_mut(at) {
                *slot = Some(Arc::clone(array));
            }
        }
        let mut others = others.iter();
        let mut mask: Option<BooleanBuffer> = None;
        for test in &self.tests {
            let array = match test.place {
                Some(place) => arrays.get(place).and_then(Option::as_ref),
                None => others.next(),
            };
            let array = array.ok_or_else(|| Error::internal("a column of a condition was not read"))?;
            let found = test.predicate.mask(array.as_ref(), test.ordered)?;
            mask = Some(match mask {
                Some(mask) => &mask & &found,
                None => found,
            });
        }
        let mask = mask.unwrap_or_else(|| BooleanBuffer::new_set(height));
        let satisfied = mask.count_set_bits();
        self.compared.fetch_add(count, Ordering::Relaxed);
        self.kept.fetch_add(satisfied as u64, Ordering::Relaxed);
        if satisfied == 0 {
            return Ok(None);
        }
        // What is left to read lies between the first and the last row that is kept.
        let mut places = mask.set_indices();
        let start = places.next().unwrap_or_default();
        let end = places.last().unwrap_or(start) + 1;
        let left: Vec<usize> =
            (0..self.columns.len()).filter(|&at| arrays.get(at).is_some_and(Option::is_none)).collect();
        let length = end - start;
        let read = self.arrays(&left, (rows.start.saturating_add(start as u64), length))?; // a bound
        for array in arrays.iter_mut().flatten() {
            *array = array.slice(start, length);
        }
        for (at, array) in left.into_iter().zip(read) {
            if let Some(slot) = arrays.get_mut(at) {
                *slot = Some(array);
            }
        }
        let mask = BooleanArray::new(mask.slice(start, length), None);
        let kept = arrays.into_iter().flatten().map(|array| {
            if satisfied == length { Ok(array) } else { arrow_select::filter::filter(&array, &mask) }
        });
        let kept = kept.collect::<Result<Vec<_>, _>>().map_err(|error| internal(&error))?;
        self.joined(kept, satisfied).map(Some)
    }

    /// Reads some of the columns.
    fn arrays(&self, places: &[usize], rows: (u64, usize)) -> Result<Vec<ArrayRef>> {
        self.both(places, &[], rows)
    }

    /// Reads some of the columns, and those of conditions.
    fn both(
        &self,
        places: &[usize],
        tests: &[&Test],
        (first, height): (u64, usize),
    ) -> Result<Vec<ArrayRef>> {
        let mut columns: Vec<(&Column, &DataType)> = Vec::new();
        for &place in places {
            columns.extend(self.columns.get(place).map(|(column, kind)| (column, kind)));
        }
        columns.extend(tests.iter().map(|test| (&test.column, &test.kind)));
        let alone: Vec<&Column> = columns.iter().map(|(column, _)| *column).collect();
        let read = Table::read_undecoded(&alone, (first, height as u64))?;
        let arrays = columns.iter().zip(read).map(|((column, kind), read)| {
            let array =
                decode::array(column, (kind, height), read).map_err(|error| error_of(column, error))?;
            if array.len() != height {
                let (name, found) = (&column.name, array.len());
                return Err(Error::internal(format!("the column {name} has {found} of {height} rows")));
            }
            let size = array.to_data().get_slice_memory_size().unwrap_or_default();
            self.unfold((size as u64).max(height as u64))?;
            Ok(array)
        });
        arrays.collect()
    }

    /// Counts bytes that are gone through, and rows of which nothing is read.
    fn unfold(&self, bytes: u64) -> Result<()> {
        let one = ArrayInfo::new(ElementType::Opaque(1), [bytes]);
        self.unfolding.as_ref().map_or(Ok(()), |unfolding| unfolding.add(bytes, &one))
    }

    fn joined(&self, arrays: Vec<ArrayRef>, height: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(height));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options);
        batch.map_err(|error| internal(&error))
    }
}
