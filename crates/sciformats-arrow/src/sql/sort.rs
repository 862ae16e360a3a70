//! Sorts rows.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use sciformats_conventions::sciformats::{Limits, Result};

use super::compile::unsupported;
use super::expr::Ex;
use super::rows::Rows;
use super::vector::Vector;
use crate::csv::of_arrow;

/// A value by which rows are sorted.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) of: Ex,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

/// Returns one batch with all rows.
pub(super) fn joined(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<RecordBatch> {
    arrow_select::concat::concat_batches(schema, batches).map_err(of_arrow)
}

/// Reads all rows, within the limit of memory.
pub(super) fn collected(rows: Rows, limits: &Limits) -> Result<Vec<RecordBatch>> {
    let (mut all, mut held) = (Vec::new(), 0u64);
    for batch in rows.from {
        let batch = batch?;
        held = held.saturating_add(batch.get_array_memory_size() as u64); // a bound
        limits.memory("bytes of rows that a query holds", held)?;
        all.push(batch);
    }
    Ok(all)
}

/// Returns rows at some places; `None` gives a row of missing values.
pub(super) fn taken(batch: &RecordBatch, rows: &[Option<u64>]) -> Result<Vec<arrow_array::ArrayRef>> {
    let rows: UInt64Array = rows.iter().copied().collect();
    let columns = batch.columns().iter();
    columns.map(|column| arrow_select::take::take(column.as_ref(), &rows, None).map_err(of_arrow)).collect()
}

/// Sorts rows. If only the first `most` are wanted, not many more are held at a time.
pub(super) fn sorted(rows: Rows, keys: &[Key], most: Option<u64>, limits: &Limits) -> Result<Rows> {
    /// The number of rows that are held however few are wanted.
    const FEW: u64 = 1 << 17;
    let schema = Arc::clone(&rows.schema);
    let (mut held, mut count, mut bytes) = (Vec::new(), 0u64, 0u64);
    for batch in rows.from {
        let batch = batch?;
        count = count.saturating_add(batch.num_rows() as u64); // a bound
        bytes = bytes.saturating_add(batch.get_array_memory_size() as u64); // a bound
        limits.memory("bytes of rows that a query sorts", bytes)?;
        held.push(batch);
        if let Some(most) = most.filter(|most| count > most.saturating_mul(2).max(FEW)) {
            let first = of_all(&schema, &held, keys, Some(most))?;
            count = first.num_rows() as u64;
            bytes = first.get_array_memory_size() as u64;
            held = vec![first];
        }
    }
    let all = of_all(&schema, &held, keys, most)?;
    Ok(Rows { schema, from: Box::new(std::iter::once(Ok(all))) })
}

fn of_all(schema: &SchemaRef, held: &[RecordBatch], keys: &[Key], most: Option<u64>) -> Result<RecordBatch> {
    let all = joined(schema, held)?;
    let values = keys.iter().map(|key| key.of.eval(&all)).collect::<Result<Vec<_>>>()?;
    if let Some(Vector::Other(values)) = values.iter().find(|values| matches!(values, Vector::Other(_))) {
        return Err(unsupported(format!("ORDER BY on values of the type {}", values.data_type())));
    }
    let mut order: Vec<usize> = (0..all.num_rows()).collect();
    order.sort_by(|&one, &other| compared(keys, &values, one, other));
    order.truncate(most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX));
    let rows: Vec<Option<u64>> = order.into_iter().map(|row| Some(row as u64)).collect();
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(Arc::clone(schema), taken(&all, &rows)?, &options).map_err(of_arrow)
}

fn compared(keys: &[Key], values: &[Vector], one: usize, other: usize) -> Ordering {
    for (key, values) in keys.iter().zip(values) {
        let order = match (values.is_null(one), values.is_null(other)) {
            (true, true) => Ordering::Equal,
            (true, false) if key.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if key.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let order = values.value(one).order(&values.value(other)).unwrap_or(Ordering::Equal);
                if key.descending { order.reverse() } else { order }
            }
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}
