//! Rows on their way through a query: streams of batches, and what happens to each batch.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use sciformats_conventions::sciformats::{Limits, Result};

use super::expr::Ex;
use super::from::{different as all_different, filtered};
use crate::csv::of_arrow;

/// A stream of batches.
pub(super) struct Rows {
    pub(super) schema: SchemaRef,
    pub(super) from: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
}

/// Leaves out rows that were there before.
pub(super) fn different(rows: Rows, limits: Limits) -> Rows {
    let schema = Arc::clone(&rows.schema);
    let (mut seen, mut held) = (HashSet::new(), 0u64);
    let batches = rows.from.map(move |batch| {
        let batch = batch?;
        let columns = batch.columns().iter().map(super::vector::Vector::of).collect::<Result<Vec<_>>>()?;
        let mut mask = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let mut key = Vec::new();
            columns.iter().try_for_each(|of| of.key(row, &mut key))?;
            let size = key.len() as u64 + 64;
            let new = seen.insert(key);
            if new {
                held = held.saturating_add(size); // a bound
                limits.memory("bytes of the different rows of a query", held)?;
            }
            mask.push(new);
        }
        filtered(&batch, &mask)
    });
    Rows { schema, from: Box::new(batches) }
}

/// Keeps the rows that satisfy all conditions.
pub(super) fn satisfying(rows: Rows, conditions: Vec<Ex>) -> Rows {
    let batches = rows.from.map(move |batch| {
        let mut batch = batch?;
        for condition in &conditions {
            let mask = condition.mask(&batch)?;
            batch = filtered(&batch, &mask)?;
        }
        Ok(batch)
    });
    Rows { schema: rows.schema, from: Box::new(batches) }
}

/// Computes the outputs.
pub(super) fn projected(rows: Rows, outputs: Vec<Ex>, names: Vec<String>) -> Result<Rows> {
    let empty = RecordBatch::new_empty(Arc::clone(&rows.schema));
    let mut fields = Vec::new();
    for (of, name) in outputs.iter().zip(names) {
        let kind = of.array(&empty)?.data_type().clone();
        let mut field = Field::new(name, kind, true);
        if let Ex::Column(at) = of
            && let Some(from) = rows.schema.fields().get(*at)
        {
            field = field.with_metadata(from.metadata().clone());
            field = field.with_dict_is_ordered(from.dict_is_ordered().unwrap_or_default());
        }
        fields.push(field);
    }
    let schema = Arc::new(Schema::new(fields));
    let out = Arc::clone(&schema);
    let batches = rows.from.map(move |batch| {
        let batch = batch?;
        let arrays = outputs.iter().map(|of| of.array(&batch)).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&out), arrays, &options).map_err(of_arrow)
    });
    Ok(Rows { schema, from: Box::new(batches) })
}

/// Gives the columns of a result names that all differ.
pub(super) fn named_differently(rows: Rows) -> Rows {
    let names = rows.schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    let own = all_different(names.clone());
    if own == names {
        return rows;
    }
    let fields =
        rows.schema.fields().iter().zip(own).map(|(field, name)| field.as_ref().clone().with_name(name));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let out = Arc::clone(&schema);
    let batches = rows.from.map(move |batch| {
        let batch = batch?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        RecordBatch::try_new_with_options(Arc::clone(&out), columns, &options).map_err(of_arrow)
    });
    Rows { schema, from: Box::new(batches) }
}

/// The result of a query.
pub(super) struct Output {
    rows: Rows,
    over: bool,
}

impl Output {
    pub(super) fn new(rows: Rows) -> Self {
        Self { rows, over: false }
    }
}

impl Iterator for Output {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let batch = self.rows.from.next();
        self.over = !matches!(batch, Some(Ok(_)));
        batch.map(|batch| batch.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for Output {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.rows.schema)
    }
}
