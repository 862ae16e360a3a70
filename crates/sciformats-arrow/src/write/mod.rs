//! Writes tables to HDF5 files, in the forms that other programs read.

mod cells;
mod frame;
mod records;

use std::path::Path;

use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::SchemaRef;
use sciformats_conventions::sciformats::hdf5_pure::{CreateOptions, Writer};
use sciformats_conventions::sciformats::{Error, Result};

use crate::guarded::{Part, Reader};
use crate::{Options, Scan};

/// How a table is stored in an HDF5 file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// One list of records, as h5py reads and writes structured arrays.
    #[default]
    Records,
    /// One list of records with what `PyTables` needs to read it as a table. Texts have one size, which is that of the
    /// longest.
    PyTables,
    /// A group with an array for each column.
    Columns,
    /// A frame of `AnnData`: the only form in which integers, truth values and texts can be missing.
    AnnData,
}

impl Form {
    /// All forms.
    pub const ALL: [Self; 4] = [Self::Records, Self::PyTables, Self::Columns, Self::AnnData];

    /// Returns the word for the form.
    pub fn word(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::PyTables => "pytables",
            Self::Columns => "columns",
            Self::AnnData => "anndata",
        }
    }

    /// Returns where a table is stored, if nothing else is requested.
    pub fn place(self) -> &'static str {
        match self {
            Self::AnnData => "/obs",
            _ => "/table",
        }
    }
}

/// Where and how a table is written.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[derive(Default)]
pub struct WriteOptions {
    /// How the table is stored.
    pub form: Form,
    /// The path of the table in the file; `None` is `/obs` for `AnnData`, and `/table` otherwise.
    pub path: Option<String>,
    /// The level of the compression by zlib, from 1 to 9; 0 does not compress.
    pub level: u32,
    /// Whether an existing file is replaced.
    pub overwrite: bool,
    /// The number of threads that compress; 0 means as many as the machine has.
    pub threads: usize,
}

impl WriteOptions {
    /// Sets how the table is stored.
    #[must_use]
    pub fn with_form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// Sets the path of the table in the file.
    #[must_use]
    pub fn with_path(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// Sets the level of the compression.
    #[must_use]
    pub fn with_level(self, level: u32) -> Self {
        Self { level, ..self }
    }

    /// Sets whether an existing file is replaced.
    #[must_use]
    pub fn with_overwrite(self, overwrite: bool) -> Self {
        Self { overwrite, ..self }
    }

    fn writer(&self, file: &Path) -> Result<Writer> {
        let options = CreateOptions::default().with_threads(self.threads).with_track_order(true);
        if self.overwrite {
            Writer::overwrite_with(file, &options)
        } else {
            Writer::create_with(file, &options)
        }
    }
}

/// Writes a table to a new HDF5 file, which appears when it is complete. The table is read batch by batch, but once
/// for each column for a frame of `AnnData`, and twice if texts have to be measured. Returns the number of rows.
///
/// ```no_run
/// use std::path::Path;
/// use std::sync::Arc;
///
/// use sciformats_arrow::sciformats_conventions::Dataset;
/// use sciformats_arrow::write::{Form, WriteOptions, write_hdf5};
/// use sciformats_arrow::{Open, open_file};
///
/// let open: Open = Arc::new(|path| Dataset::open(path));
/// let table = open_file(Path::new("log.parquet"), None, &open)?;
/// write_hdf5(table.as_ref(), Path::new("log.h5"), &WriteOptions::default().with_form(Form::PyTables))?;
/// # Ok::<(), sciformats_arrow::sciformats_conventions::sciformats::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Unsupported`] if the form cannot hold the type or the name of a column, a missing value in it, or a value as it
/// is; [`Error::Usage`] if the path is not one for the form; the error of reading or of writing.
pub fn write_hdf5(table: &dyn Scan, file: &Path, options: &WriteOptions) -> Result<u64> {
    let place = options.path.as_deref().unwrap_or(options.form.place());
    let place = format!("/{}", place.trim_matches('/'));
    if place == "/" {
        return Err(Error::usage("path", "is that of the root group, but a table needs a name"));
    }
    match options.form {
        Form::Records | Form::PyTables => records::write(table, (file, &place), options),
        Form::Columns => records::columns(table, (file, &place), options),
        Form::AnnData => frame::write(table, (file, &place), options),
    }
}

/// Fails if [`write_hdf5`] would refuse the options, or the types and names of the columns. Nothing is read: a file without rows is
/// written at `aside`, for the caller to remove.
///
/// # Errors
///
/// Those of [`write_hdf5`], apart from those of reading rows.
pub fn rehearse_hdf5(table: &dyn Scan, aside: &Path, options: &WriteOptions) -> Result<()> {
    let options = WriteOptions { overwrite: true, ..options.clone() };
    write_hdf5(&WithoutRows(table.schema()), aside, &options).map(drop)
}

/// A table that has its columns, and no rows.
struct WithoutRows(SchemaRef);

impl Scan for WithoutRows {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.0)
    }

    fn scan(&self, options: &Options) -> Result<Reader> {
        let none = RecordBatch::new_empty(self.schema());
        let batches = RecordBatchIterator::new([Ok(none)], self.schema());
        Ok(Box::new(Part::new(batches, "a table without rows", options)?))
    }
}
