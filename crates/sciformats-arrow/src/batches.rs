//! A table as a stream of record batches.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use sciformats_conventions::sciformats::options::Unfolding;
use sciformats_conventions::sciformats::{ArrayInfo, ElementType, Error, Result};
use sciformats_conventions::{Column, Dataset, Table};
use sciformats_core::{Fault, FaultKind};

use crate::ahead::Ahead;
use crate::decode::{self, internal};
use crate::indexed;
use crate::predicate::{Comparison, Predicate};

/// The number of rows in a batch, if nothing else is requested.
pub(crate) const BATCH: u64 = 65_536;

/// Which part of a table is read, and in which portions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The columns to read, in this order; `None` reads all of them, those of the index first.
    pub columns: Option<Vec<String>>,
    /// The rows to read; `None` reads all of them.
    pub rows: Option<Range<u64>>,
    /// The conditions that rows must satisfy, all of them. The columns that they compare are read first, and the
    /// other columns only where rows satisfy them.
    pub filter: Vec<Predicate>,
    /// A column whose values are in ascending order, as the caller knows. Conditions on it are answered by a search
    /// that reads a few rows. If its values are in another order, rows are left out.
    pub sorted: Option<String>,
    /// Whether conditions are answered from the indexes of `PyTables`, as that program does. Indexes that are marked as
    /// out of date, or that differ from the table where both are compared, are not used. The default is yes.
    pub indexes: bool,
    /// The number of rows after which the table ends.
    pub limit: Option<u64>,
    /// The number of rows in a batch, which bounds the memory.
    pub batch_rows: u64,
    /// The number of threads that decode batches; 0 means as many as the machine has. Each is at most two batches
    /// ahead.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            columns: None,
            rows: None,
            filter: Vec::new(),
            sorted: None,
            indexes: true,
            limit: None,
            batch_rows: BATCH,
            threads: 0,
        }
    }
}

impl Options {
    /// Sets the columns to read. Columns that are not named here are not read.
    #[must_use]
    pub fn with_columns(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { columns: Some(names.into_iter().map(Into::into).collect()), ..self }
    }

    /// Sets the rows to read.
    #[must_use]
    pub fn with_rows(self, rows: Range<u64>) -> Self {
        Self { rows: Some(rows), ..self }
    }

    /// Adds a condition that rows must satisfy.
    #[must_use]
    pub fn with_filter(mut self, condition: Predicate) -> Self {
        self.filter.push(condition);
        self
    }

    /// Says that the values of a column are in ascending order.
    #[must_use]
    pub fn with_sorted(self, column: impl Into<String>) -> Self {
        Self { sorted: Some(column.into()), ..self }
    }

    /// Sets whether conditions are answered from the indexes of `PyTables`.
    #[must_use]
    pub fn with_indexes(self, indexes: bool) -> Self {
        Self { indexes, ..self }
    }

    /// Sets the number of rows after which the table ends.
    #[must_use]
    pub fn with_limit(self, limit: u64) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Sets the number of rows in a batch.
    #[must_use]
    pub fn with_batch_rows(self, batch_rows: u64) -> Self {
        Self { batch_rows, ..self }
    }

    /// Sets the number of threads; 0 means as many as the machine has.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    fn threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            threads => threads,
        }
    }
}

/// A table as a stream of record batches.
///
/// ```no_run
/// use sciformats_arrow::{Batches, Comparison, Options, Predicate, Scalar};
/// use sciformats_conventions::Dataset;
///
/// let cells = Dataset::open("cells.h5ad")?;
/// let deep = Predicate::new("n_genes", Comparison::Greater, Scalar::from(500));
/// let options = Options::default().with_columns(["cell_type"]).with_filter(deep);
/// for batch in Batches::open(&cells, "/obs", &options)? {
///     println!("{} rows", batch?.num_rows());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Batches {
    plan: Arc<Plan>,
    cuts: Option<Cuts>,
    ahead: Option<Reading>,
    threads: usize,
    left: Option<u64>,
    indexed: Vec<String>,
}

/// Batches that are being read.
struct Reading(Ahead<Range<u64>, Option<RecordBatch>>);

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reading")
    }
}

/// What is read of each batch.
#[derive(Debug)]
struct Plan {
    columns: Vec<(Column, DataType)>,
    schema: SchemaRef,
    /// Conditions, each with its column and the place of that column among those that are read.
    tests: Vec<Test>,
    /// The number of rows that were compared, and of those that satisfied the conditions.
    compared: AtomicU64,
    kept: AtomicU64,
    /// How much may still be read: a small file can declare any number of rows.
    unfolding: Option<Unfolding>,
}

#[derive(Debug)]
struct Test {
    predicate: Predicate,
    column: Column,
    kind: DataType,
    /// Whether its categories have an order.
    ordered: bool,
    /// The place among the columns that are read, if it is one of them.
    place: Option<usize>,
}

/// The rows of each batch.
#[derive(Clone, Debug)]
struct Cuts {
    rows: Range<u64>,
    /// The ranges of rows that follow.
    more: std::vec::IntoIter<Range<u64>>,
    batch: u64,
    /// The number of rows that are stored together, if several of these groups are one batch.
    chunk: Option<u64>,
}

impl Iterator for Cuts {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        while self.rows.is_empty() {
            self.rows = self.more.next()?;
        }
        let first = self.rows.start;
        let far = first.saturating_add(self.batch); // a bound
        // A batch ends where a chunk ends, so that no chunk is decoded twice.
        let end = match self.chunk {
            Some(chunk) if chunk <= self.batch => far - far.checked_rem(chunk).unwrap_or_default(),
            _ => far,
        };
        let end = if end > first { end } else { far };
        let end = end.min(self.rows.end);
        self.rows.start = end;
        Some(first..end)
    }
}

impl Batches {
    /// Reads the table at a path.
    ///
    /// # Errors
    ///
    /// As [`table`](crate::table) and [`new`](Self::new).
    pub fn open(data: &Dataset, path: &str, options: &Options) -> Result<Self> {
        Self::new(&crate::table(data, path)?, options)
    }

    /// Reads a table.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is no such column; [`Error::Usage`] if the table has fewer rows, if batches have
    /// none, or if a condition compares values of other types; [`Error::Unsupported`] if Arrow has no type for the
    /// values of a column.
    pub fn new(table: &Table, options: &Options) -> Result<Self> {
        let part = crate::grid::part(table, options)?;
        let table = part.as_ref().unwrap_or(table);
        let mut rows = options.rows.clone().unwrap_or(0..table.rows);
        if rows.start > rows.end || rows.end > table.rows {
            let (start, end, all) = (rows.start, rows.end, table.rows);
            return Err(Error::usage(
                "rows",
                format!("{start} to {end} are not all in a table of {all} rows"),
            ));
        }
        if options.batch_rows == 0 {
            return Err(Error::usage("batch_rows", "must be at least 1"));
        }
        let chosen: Vec<&Column> = match &options.columns {
            None => table.all_columns().collect(),
            Some(names) => names.iter().map(|name| column(table, name)).collect::<Result<_>>()?,
        };
        for of in &chosen {
            same_rows(table, of)?;
        }
        let mut columns = Vec::new();
        let mut fields = Vec::new();
        for (of, none) in chosen.iter().zip(Table::read_undecoded(&chosen, (0, 0))?) {
            let kind = decode::data_type(of, &none).map_err(|error| error_of(of, error))?;
            let index = table.index.iter().any(|index| std::ptr::eq(index, *of));
            let field = Field::new(&of.name, kind.clone(), true).with_metadata(metadata(of, index)?);
            fields.push(field.with_dict_is_ordered(decode::is_ordered(&none)));
            columns.push(((*of).clone(), kind));
        }
        let tests = tests(table, options, &chosen)?;
        if let Some(sorted) = &options.sorted {
            column(table, sorted)?;
            rows = search(&tests, sorted, rows)?;
        }
        if let (Some(limit), true) = (options.limit, tests.is_empty()) {
            rows.end = rows.end.min(rows.start.saturating_add(limit)); // a bound
        }
        let mut ranges = vec![rows];
        let mut indexed = Vec::new();
        if options.indexes {
            for (at, test) in tests.iter().enumerate() {
                let column = &test.predicate.column;
                let of = |test: &&Test| test.predicate.column == *column;
                if options.sorted.as_ref() == Some(column)
                    || tests.iter().position(|test| of(&test)) != Some(at)
                {
                    continue;
                }
                let conditions: Vec<&Predicate> =
                    tests.iter().filter(of).map(|test| &test.predicate).collect();
                if let Some(found) = indexed::rows(&test.column, &conditions, table.rows) {
                    ranges = indexed::both(&ranges, &found);
                    indexed.push(column.clone());
                }
            }
        }
        let read: Vec<&Column> =
            chosen.iter().copied().chain(tests.iter().map(|test| &test.column)).collect();
        let (batch, chunk) = (options.batch_rows, Table::chunk_rows(&read));
        let cuts = Cuts { rows: 0..0, more: ranges.into_iter(), batch, chunk };
        let plan = Plan {
            columns,
            schema: Arc::new(Schema::new(fields)),
            tests,
            compared: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            unfolding: table.unfolding(),
        };
        Ok(Self {
            plan: Arc::new(plan),
            cuts: Some(cuts),
            ahead: None,
            threads: options.threads(),
            left: options.limit,
            indexed,
        })
    }

    /// Returns the columns whose indexes say which rows can satisfy the conditions; only these rows are read.
    pub fn indexed(&self) -> &[String] {
        &self.indexed
    }

    /// Returns the next batch that has rows.
    fn batch(&mut self) -> Option<Result<RecordBatch>> {
        if self.left == Some(0) {
            self.ahead = None;
            self.cuts = None;
            return None;
        }
        if let Some(cuts) = self.cuts.take() {
            if let Err(error) = self.plan.sound() {
                return Some(Err(error));
            }
            let plan = Arc::clone(&self.plan);
            let several = cuts.clone().nth(1).is_some();
            let threads = if several { self.threads } else { 1 };
            self.ahead = Some(Reading(Ahead::new(cuts, threads, move |rows| plan.read(rows))));
        }
        let Reading(ahead) = self.ahead.as_mut()?;
        loop {
            let batch = match ahead.take()? {
                Ok(None) => continue,
                Ok(Some(batch)) => batch,
                Err(error) => return Some(Err(error)),
            };
            let rows = batch.num_rows() as u64;
            let Some(left) = &mut self.left else { return Some(Ok(batch)) };
            let kept = rows.min(*left);
            *left -= kept;
            return Some(Ok(batch.slice(0, usize::try_from(kept).unwrap_or(usize::MAX))));
        }
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.batch()?.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.plan.schema)
    }
}

/// Returns the conditions with their columns, and checks that they can be compared.
fn tests(table: &Table, options: &Options, chosen: &[&Column]) -> Result<Vec<Test>> {
    let mut tests = Vec::new();
    for predicate in &options.filter {
        let of = column(table, &predicate.column)?;
        same_rows(table, of)?;
        let none = Table::read_undecoded(&[of], (0, 0))?.pop();
        let none = none.ok_or_else(|| Error::internal("an empty column was not read"))?;
        let kind = decode::data_type(of, &none).map_err(|error| error_of(of, error))?;
        let ordered = decode::is_ordered(&none);
        predicate.mask(decode::array(of, (&kind, 0), none)?.as_ref(), ordered)?;
        let place = chosen.iter().position(|chosen| std::ptr::eq(*chosen, of));
        tests.push(Test { predicate: predicate.clone(), column: of.clone(), kind, ordered, place });
    }
    Ok(tests)
}

/// Returns the rows of a column in ascending order that satisfy the conditions on it.
fn search(tests: &[Test], sorted: &str, rows: Range<u64>) -> Result<Range<u64>> {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let mut rows = rows;
    for test in tests.iter().filter(|test| test.predicate.column == sorted) {
        // A text that is none of the categories has no place among them.
        if matches!(test.kind, DataType::Dictionary(..)) && !test.predicate.needs_order() {
            continue;
        }
        let first_not = |comparison: Comparison, negated: bool| -> Result<Option<u64>> {
            let predicate = Predicate { comparison, ..test.predicate.clone() };
            let (mut low, mut high) = (rows.start, rows.end);
            while low < high {
                let middle = low + (high - low) / 2;
                let read = Table::read_undecoded(&[&test.column], (middle, 1))?.pop();
                let read = read.ok_or_else(|| Error::internal("a column was not read"))?;
                let value = decode::array(&test.column, (&test.kind, 1), read)?;
                // A missing value has no place in an order.
                if value.is_null(0) || is_nan(value.as_ref()) {
                    return Ok(None);
                }
                let before = predicate.mask(value.as_ref(), test.ordered)?.value(0) != negated;
                if before { low = middle + 1 } else { high = middle }
            }
            Ok(Some(low))
        };
        let (start, end) = match test.predicate.comparison {
            NotEqual => continue,
            Equal => (first_not(Less, false)?, first_not(LessOrEqual, false)?),
            Less => (Some(rows.start), first_not(Less, false)?),
            LessOrEqual => (Some(rows.start), first_not(LessOrEqual, false)?),
            Greater => (first_not(Greater, true)?, Some(rows.end)),
            GreaterOrEqual => (first_not(GreaterOrEqual, true)?, Some(rows.end)),
        };
        if let (Some(start), Some(end)) = (start, end) {
            rows = start..end.max(start);
        }
    }
    Ok(rows)
}

/// Returns whether the only value is not a number.
fn is_nan(value: &dyn Array) -> bool {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float16Type, Float32Type, Float64Type};
    match value.data_type() {
        DataType::Float16 => value.as_primitive::<Float16Type>().value(0).is_nan(),
        DataType::Float32 => value.as_primitive::<Float32Type>().value(0).is_nan(),
        DataType::Float64 => value.as_primitive::<Float64Type>().value(0).is_nan(),
        _ => false,
    }
}

impl Plan {
    /// Checks once what reading the rows does not.
    fn sound(&self) -> Result<()> {
        let read =
            self.columns.iter().map(|(column, _)| column).chain(self.tests.iter().map(|test| &test.column));
        read.into_iter().try_for_each(|of| of.sound().map_err(|error| error_of(of, error)))
    }

    /// Reads a batch; `None` if no row satisfies the conditions.
    fn read(&self, rows: Range<u64>) -> Result<Option<RecordBatch>> {
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

/// Checks that a column has as many rows as the table.
fn same_rows(table: &Table, column: &Column) -> Result<()> {
    match column.rows().filter(|&found| found != table.rows) {
        Some(found) => {
            let kind = FaultKind::Mismatch { expected: table.rows, found };
            let fault = Fault { field: Some("number of rows"), kind };
            Err(fault.at("column of a table", 0).within(None, Some(&column.name)))
        }
        None => Ok(()),
    }
}

/// Names the column in an error about its type.
pub(crate) fn error_of(column: &Column, error: Error) -> Error {
    match error {
        Error::Unsupported { what, feature: None, offset: None, .. } => {
            Error::unsupported(format!("the column {}: {what}", column.name))
        }
        other => other,
    }
}

/// Returns a column by its name.
pub(crate) fn column<'a>(table: &'a Table, name: &str) -> Result<&'a Column> {
    table.all_columns().find(|column| column.name == name).ok_or_else(|| {
        Error::not_found("column", name).with_nearest(table.all_columns().map(|column| column.name.as_str()))
    })
}

fn metadata(column: &Column, index: bool) -> Result<HashMap<String, String>> {
    let mut metadata = HashMap::new();
    let units = match &column.units {
        Some(units) => Some(units.clone()),
        // Records have the units of their fields in attributes of their own.
        None => column.attribute("units")?,
    };
    metadata.extend(units.map(|units| ("units".to_owned(), units)));
    metadata.extend(column.description.clone().map(|told| ("description".to_owned(), told)));
    metadata.extend(index.then(|| ("index".to_owned(), "true".to_owned())));
    Ok(metadata)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_end_where_chunks_end() {
        let several = |rows: Vec<Range<u64>>, batch, chunk| {
            Cuts { rows: 0..0, more: rows.into_iter(), batch, chunk }.collect::<Vec<_>>()
        };
        let cuts = |rows, batch, chunk| several(vec![rows], batch, chunk);
        assert_eq!(several(vec![0..2, 5..5, 7..13], 4, Some(4)), [0..2, 7..8, 8..12, 12..13]);
        assert_eq!(cuts(0..10, 4, None), [0..4, 4..8, 8..10]);
        assert_eq!(cuts(1..10, 4, Some(3)), [1..3, 3..6, 6..9, 9..10]);
        assert_eq!(cuts(0..10, 4, Some(7)), [0..4, 4..8, 8..10]);
        assert_eq!(cuts(3..3, 4, Some(7)), [0..0; 0]);
    }
}
