//! Tables that can be read several times, in files of any kind.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, LargeStringArray, RecordBatch, RecordBatchIterator, RecordBatchOptions, RecordBatchReader,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use sciformats_conventions::sciformats::{Error, Result};
use sciformats_conventions::{Dataset, Table};

use crate::csv::Csv;
use crate::guarded::{Part, Reader};
use crate::{Batches, Options, Predicate, table};

/// A table that can be read several times.
pub trait Scan: Send + Sync {
    /// Returns the columns.
    fn schema(&self) -> SchemaRef;

    /// Reads the part that options select.
    ///
    /// # Errors
    ///
    /// The error of reading.
    fn scan(&self, options: &Options) -> Result<Reader>;

    /// Returns the number of rows, if it is known without reading them.
    fn rows(&self) -> Option<u64> {
        None
    }
}

/// A table of a scientific file.
#[derive(Clone, Debug)]
pub struct Whole {
    table: Table,
    schema: SchemaRef,
}

impl Whole {
    /// Uses the table at a path of a file.
    ///
    /// # Errors
    ///
    /// As [`Batches::open`].
    pub fn new(data: &Dataset, path: &str) -> Result<Self> {
        let table = table(data, path)?;
        let schema = Batches::new(&table, &Options::default())?.schema();
        Ok(Self { table, schema })
    }
}

impl Scan for Whole {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn scan(&self, options: &Options) -> Result<Reader> {
        Ok(Box::new(Batches::new(&self.table, options)?))
    }

    fn rows(&self) -> Option<u64> {
        Some(self.table.rows)
    }
}

/// A file of Parquet, Arrow or comma-separated values.
struct Foreign {
    path: PathBuf,
    kind: Kind,
    schema: SchemaRef,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Parquet,
    Ipc,
    Csv,
}

impl Kind {
    /// Returns the kind of a file by its first bytes, or by its name if it is text.
    fn of(path: &Path) -> Option<Self> {
        let mut magic = [0; 8];
        let mut file = File::open(path).ok()?;
        let read = file.read(&mut magic).ok()?;
        let ending =
            path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
        match magic.get(..read).unwrap_or_default() {
            [b'P', b'A', b'R', b'1', ..] => Some(Self::Parquet),
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(Self::Ipc),
            [0xff, 0xff, 0xff, 0xff, ..] if matches!(ending.as_str(), "arrow" | "arrows" | "ipc") => {
                Some(Self::Ipc)
            }
            _ if ending == "csv" => Some(Self::Csv),
            _ => None,
        }
    }

    fn read(self, path: &Path, options: &Options) -> Result<Reader> {
        let file = File::open(path).map_err(|error| Error::io("open", error).in_file(path, None))?;
        match self {
            #[cfg(feature = "parquet")]
            Self::Parquet => crate::read_parquet(file, options),
            #[cfg(not(feature = "parquet"))]
            Self::Parquet => Err(Error::missing_feature("reading files of Parquet", "parquet")),
            #[cfg(feature = "ipc")]
            Self::Ipc => crate::read_ipc(file, options),
            #[cfg(not(feature = "ipc"))]
            Self::Ipc => Err(Error::missing_feature("reading files of Arrow", "ipc")),
            Self::Csv => Ok(Box::new(Part::new(Csv::new(file)?, "comma-separated values", options)?)),
        }
    }
}

impl Scan for Foreign {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn scan(&self, options: &Options) -> Result<Reader> {
        let path = self.path.clone();
        let named = move |error: Error| error.in_file(&path, None);
        let reader = self.kind.read(&self.path, options).map_err(&named)?;
        let schema = reader.schema();
        let batches = reader.map(move |batch| batch.map_err(|error| within(error, &named)));
        Ok(Box::new(RecordBatchIterator::new(batches, schema)))
    }
}

/// Names the file in the error of a batch.
fn within(error: ArrowError, named: &impl Fn(Error) -> Error) -> ArrowError {
    ArrowError::ExternalError(Box::new(named(crate::csv::of_arrow(error))))
}

/// Opens scientific files, for [`open_file`] and [`Files`].
pub type Open = Arc<dyn Fn(&Path) -> Result<Dataset> + Send + Sync>;

/// Opens the table in a file: that of a file of Parquet, Arrow or comma-separated values, or the one at a path of a
/// scientific file, which `open` opens.
///
/// # Errors
///
/// The error of opening the file; as [`Whole::new`].
pub fn open_file(file: &Path, path: Option<&str>, open: &Open) -> Result<Arc<dyn Scan>> {
    let foreign = if path.is_none() { Kind::of(file) } else { None };
    let Some(kind) = foreign else {
        return Ok(Arc::new(Whole::new(&open(file)?, path.unwrap_or("/"))?));
    };
    let read = kind.read(file, &Options::default()).map_err(|error| error.in_file(file, None));
    let schema = read?.schema();
    Ok(Arc::new(Foreign { path: file.to_owned(), kind, schema }))
}

/// Names the file in an error about one of several.
pub fn of_file(error: Error, file: &Path) -> Error {
    let shown = file.display();
    match error {
        Error::NotFound { what: "column", name, .. } => Error::unsupported(format!(
            "reading {shown} together with the others, because it has no column {name}"
        )),
        Error::NotFound { what, name, nearest } => {
            let dot = if name.starts_with('/') { "" } else { " " };
            Error::NotFound { what, name: format!("{shown}:{dot}{name}").into(), nearest }
        }
        Error::WrongType { name, expected, found } => {
            Error::WrongType { name: format!("{shown}:{name}").into(), expected, found }
        }
        Error::Usage { argument, problem } => Error::usage(argument, format!("{problem}, in {shown}")),
        other => other.in_file(file, None),
    }
}

/// Many files as one table, with a first column that names the file of each row.
pub struct Files {
    files: Vec<PathBuf>,
    path: Option<String>,
    open: Open,
    column: String,
    schema: SchemaRef,
}

impl Files {
    /// Uses the tables at one path of all files. Files are opened when their rows are read; the columns are those of
    /// the first one, and `column` has their names.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if there is no file, or if its table has a column of that name; as [`open_file`].
    pub fn new(files: Vec<PathBuf>, path: Option<&str>, column: &str, open: &Open) -> Result<Self> {
        let first = files.first().ok_or_else(|| Error::usage("files", "must not be empty"))?;
        let opened = open_file(first, path, open).map_err(|error| of_file(error, first));
        let schema = opened?.schema();
        if schema.fields().iter().any(|field| field.name() == column) {
            return Err(Error::usage(
                "column",
                format!("{column} already is a column of the table; choose another name"),
            ));
        }
        let own = Arc::new(Field::new(column, DataType::LargeUtf8, false));
        let fields: Vec<_> = std::iter::once(own).chain(schema.fields().iter().cloned()).collect();
        let schema = Arc::new(Schema::new(fields));
        let (path, open) = (path.map(str::to_owned), Arc::clone(open));
        Ok(Self { files, path, open, column: column.to_owned(), schema })
    }
}

impl Files {
    /// Reads rows by their numbers. These count before conditions are checked, so files are read without conditions.
    fn numbered(&self, names: Vec<String>, options: &Options) -> Result<Reader> {
        let mut columns = names.clone();
        columns.extend(options.filter.iter().map(|test| test.column.clone()));
        columns.sort_unstable();
        columns.dedup();
        let limit = options.rows.as_ref().map(|rows| rows.end);
        let whole = Options {
            columns: Some(columns),
            filter: Vec::new(),
            sorted: None,
            rows: None,
            limit,
            ..options.clone()
        };
        let part = Options { columns: Some(names), ..options.clone() };
        Ok(Box::new(Part::new(self.scan(&whole)?, "table of many files", &part)?))
    }
}

/// Fails if columns of a file have other types than in the first file, also those that are only compared. The reader names a column that is
/// not there.
fn same_types(found: &Schema, wanted: &[Arc<Field>], shown: &str) -> Result<()> {
    for field in wanted {
        let own = found.field_with_name(field.name()).map_or(field.data_type(), |own| own.data_type());
        if own != field.data_type() {
            let (name, first) = (field.name(), field.data_type());
            let what = format!("the type {own} of the column {name} in {shown} ({first} in the first file)");
            return Err(Error::unsupported(what));
        }
    }
    Ok(())
}

/// What is read of each of many files.
struct Each {
    path: Option<String>,
    open: Open,
    /// The conditions on the names of files.
    own: Vec<Predicate>,
    /// The columns that have one type in all files.
    typed: Vec<Arc<Field>>,
    part: Options,
}

impl Each {
    /// Reads a file; `None` if a condition on names leaves it out.
    fn reader(&self, file: &Path, shown: &str) -> std::result::Result<Option<Reader>, ArrowError> {
        let outer = |error: Error| ArrowError::ExternalError(Box::new(error));
        let failed = |error| outer(of_file(error, file));
        let name = LargeStringArray::from(vec![shown]);
        for test in &self.own {
            if test.mask(&name, false).map_err(failed)?.count_set_bits() == 0 {
                return Ok(None);
            }
        }
        let table = open_file(file, self.path.as_deref(), &self.open).map_err(failed)?;
        // This error names the file itself.
        same_types(&table.schema(), &self.typed, shown).map_err(outer)?;
        table.scan(&self.part).map(Some).map_err(failed)
    }
}

impl Scan for Files {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn scan(&self, options: &Options) -> Result<Reader> {
        let names: Vec<String> = match &options.columns {
            Some(names) => names.clone(),
            None => self.schema.fields().iter().map(|field| field.name().clone()).collect(),
        };
        let known: HashMap<&String, &Arc<Field>> =
            self.schema.fields().iter().map(|field| (field.name(), field)).collect();
        let fields = names.iter().map(|name| match known.get(name) {
            Some(field) => Ok(Arc::clone(field)),
            None => {
                let known = self.schema.fields().iter().map(|field| field.name().as_str());
                Err(Error::not_found("column", name.as_str()).with_nearest(known))
            }
        });
        let schema = Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?));
        if options.rows.is_some() {
            return self.numbered(names, options);
        }
        let (own, inner): (Vec<_>, Vec<_>) =
            options.filter.iter().cloned().partition(|test| test.column == self.column);
        let compared = inner.iter().filter_map(|test| known.get(&test.column).map(|field| Arc::clone(field)));
        let read = schema.fields().iter().filter(|field| *field.name() != self.column).cloned();
        let typed: Vec<Arc<Field>> = read.chain(compared).collect();
        let mut part = Options { filter: inner, ..options.clone() };
        part.columns = Some(names.iter().filter(|name| **name != self.column).cloned().collect());
        let (path, open) = (self.path.clone(), Arc::clone(&self.open));
        let each = Each { path, open, own, typed, part };
        let (files, out, column) = (self.files.clone(), Arc::clone(&schema), self.column.clone());
        let batches = files.into_iter().flat_map(move |file| -> Box<dyn Iterator<Item = _> + Send> {
            let shown = file.display().to_string();
            let reader = match each.reader(&file, &shown) {
                Ok(Some(reader)) => reader,
                Ok(None) => return Box::new(std::iter::empty()),
                Err(error) => return Box::new(std::iter::once(Err(error))),
            };
            let (out, column) = (Arc::clone(&out), column.clone());
            let named = move |error| of_file(error, &file);
            Box::new(reader.map(move |batch| {
                let batch = batch.map_err(|error| within(error, &named))?;
                let rows = batch.num_rows();
                let mut columns = batch.columns().iter();
                let mut arrays: Vec<ArrayRef> = Vec::new();
                for field in out.fields() {
                    if *field.name() == column {
                        arrays.push(Arc::new(LargeStringArray::from_iter_values((0..rows).map(|_| &shown))));
                        continue;
                    }
                    let Some(array) = columns.next() else { break };
                    arrays.push(Arc::clone(array));
                }
                let options = RecordBatchOptions::new().with_row_count(Some(rows));
                RecordBatch::try_new_with_options(Arc::clone(&out), arrays, &options)
            }))
        });
        let reader = RecordBatchIterator::new(batches, schema);
        // Only the limit is left to apply.
        let rest = Options { columns: None, filter: Vec::new(), ..options.clone() };
        Ok(Box::new(Part::new(reader, "table of many files", &rest)?))
    }
}
