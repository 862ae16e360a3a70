//! A table as a stream of record batches.

mod conditions;
mod cuts;
mod options;
mod read;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use sciformats_conventions::sciformats::{Error, Result};
use sciformats_conventions::{Column, Dataset, Table};
use sciformats_core::{Fault, FaultKind};

pub(crate) use options::BATCH;
pub use options::Options;

use self::conditions::{Test, search, tests};
use self::cuts::Cuts;
use self::read::Plan;
use crate::ahead::Ahead;
use crate::decode;
use crate::indexed;
use crate::predicate::Predicate;

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
