//! Which part of a table is read, and in which portions.

use std::ops::Range;

use crate::predicate::Predicate;

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

    pub(super) fn threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            threads => threads,
        }
    }
}
