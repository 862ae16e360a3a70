//! Queries in SQL over tables.
//!
//! The text is parsed by `sqlparser`; everything else is here. Tables are read as a stream. Columns that a query does
//! not name are not read, and conditions on single columns are checked before other columns are read. Groups, the
//! smaller side of a join, and rows that are sorted are held in memory, within [`Limits`].

mod aggregate;
mod cast;
mod categories;
mod compile;
mod end;
mod exact;
mod expr;
mod from;
mod functions;
mod items;
mod keys;
mod parse;
mod pattern;
mod query;
mod rows;
mod select;
mod sort;
mod union;
mod vector;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use sciformats_conventions::sciformats::{Error, Limits, Result};
use sqlparser::ast::Statement;

pub use self::pattern::Pattern;
use crate::{Options, Reader, Scan};

/// Finds the tables that a query names.
pub trait Tables {
    /// Returns the table of a name, as it stands in the query.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is none; the error of opening it.
    fn table(&self, name: &str) -> Result<Arc<dyn Scan>>;
}

/// How queries run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SqlOptions {
    /// What a query may hold in memory.
    pub limits: Limits,
    /// The number of threads that read tables; 0 means as many as the machine has.
    pub threads: usize,
    /// A column that is in ascending order in the tables that have it; see [`Options::sorted`].
    pub sorted: Option<String>,
    /// Whether conditions are answered from the indexes of `PyTables`; see [`Options::indexes`].
    pub indexes: bool,
}

impl Default for SqlOptions {
    fn default() -> Self {
        Self { limits: Limits::default(), threads: 0, sorted: None, indexes: true }
    }
}

impl SqlOptions {
    /// Sets what a query may hold in memory.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the number of threads that read tables.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
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
}

/// Runs a query. The result is computed while it is read.
///
/// ```
/// use std::sync::Arc;
///
/// use sciformats_arrow::arrow_array::{Array, Int64Array, RecordBatch};
/// use sciformats_arrow::sql::{Memory, SqlOptions, query};
///
/// let depths = Arc::new(Int64Array::from(vec![5, 7, 9])) as Arc<dyn Array>;
/// let table = RecordBatch::try_from_iter([("depth", depths)]).unwrap();
/// let tables = Memory::default().with("casts", vec![table])?;
/// let mut found = query("SELECT count(*) AS n FROM casts WHERE depth > 5", &tables, &SqlOptions::default())?;
/// let batch = found.next().unwrap().unwrap();
/// assert_eq!(sciformats_arrow::arrow_array::cast::as_primitive_array::<
///     sciformats_arrow::arrow_array::types::Int64Type,
/// >(batch.column(0)).value(0), 2);
/// # Ok::<(), sciformats_arrow::sciformats_conventions::sciformats::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Usage`] if the text is no query, or names what is not there; [`Error::Unsupported`] for what this
/// dialect lacks; the error of opening a table. Errors of reading are those of the batches.
pub fn query(text: &str, tables: &dyn Tables, options: &SqlOptions) -> Result<Reader> {
    match parse::statements(text)?.as_slice() {
        [Statement::Query(query)] => {
            let context = query::Context { tables, options, known: HashMap::new() };
            let rows = rows::named_differently(context.query(query)?);
            Ok(Box::new(rows::Output::new(rows)))
        }
        [] => Err(Error::usage("sql", "is empty")),
        [_] => Err(Error::unsupported("anything but a query in SQL")),
        _ => Err(Error::usage("sql", "has several statements, but one query is run at a time")),
    }
}

/// Tables in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory(HashMap<String, Held>);

#[derive(Clone, Debug)]
struct Held {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Memory {
    /// Adds a table of at least one batch.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if there is no batch, or if batches have other columns than the first one.
    pub fn with(mut self, name: impl Into<String>, batches: Vec<RecordBatch>) -> Result<Self> {
        let schema = batches.first().map(RecordBatch::schema);
        let schema =
            schema.ok_or_else(|| Error::usage("table", "has no batch, so its columns are unknown"))?;
        if batches.iter().any(|batch| batch.schema() != schema) {
            return Err(Error::usage("table", "has batches with other columns than the first one"));
        }
        self.0.insert(name.into(), Held { schema, batches });
        Ok(self)
    }
}

impl Tables for Memory {
    fn table(&self, name: &str) -> Result<Arc<dyn Scan>> {
        match self.0.get(name) {
            Some(held) => Ok(Arc::new(held.clone())),
            None => Err(Error::not_found("table", name).with_nearest(self.0.keys().map(String::as_str))),
        }
    }
}

impl Scan for Held {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn scan(&self, options: &Options) -> Result<Reader> {
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = arrow_array::RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        Ok(Box::new(crate::guarded::Part::new(reader, "table in memory", options)?))
    }
}
