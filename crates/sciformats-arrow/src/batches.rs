//! A table as a stream of record batches.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeListArray, Int32Array, LargeStringArray, RecordBatch,
    RecordBatchOptions, RecordBatchReader, TimestampNanosecondArray, types::Int32Type,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use sciformats_conventions::sciformats::{Error, Kind, Result};
use sciformats_conventions::time::Calendar;
use sciformats_conventions::{Column, Dataset, Meaning, Table, Values};

use crate::build::{Builder, names};

/// The number of rows in a batch, if nothing else is requested.
const BATCH: u64 = 65_536;

/// Which part of a table is read, and in which portions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The columns to read, in this order; `None` reads all of them, those of the index first.
    pub columns: Option<Vec<String>>,
    /// The rows to read; `None` reads all of them.
    pub rows: Option<Range<u64>>,
    /// The number of rows in a batch, which bounds the memory.
    pub batch_rows: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { columns: None, rows: None, batch_rows: BATCH }
    }
}

impl Options {
    /// Sets the columns to read. Columns that are separate arrays are not read unless they are named here.
    #[must_use]
    pub fn with_columns(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { columns: Some(names.into_iter().map(Into::into).collect()), ..self }
    }

    /// Sets the rows to read.
    #[must_use]
    pub fn with_rows(self, rows: Range<u64>) -> Self {
        Self { rows: Some(rows), ..self }
    }

    /// Sets the number of rows in a batch.
    #[must_use]
    pub fn with_batch_rows(self, batch_rows: u64) -> Self {
        Self { batch_rows, ..self }
    }
}

/// A table as a stream of record batches.
///
/// ```no_run
/// use sciformats_arrow::{Batches, Options};
/// use sciformats_conventions::Dataset;
///
/// let cells = Dataset::open("cells.h5ad")?;
/// let options = Options::default().with_columns(["cell_type", "n_genes"]);
/// for batch in Batches::open(&cells, "/obs", &options)? {
///     println!("{} rows", batch?.num_rows());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Batches {
    columns: Vec<(Column, DataType)>,
    schema: SchemaRef,
    rows: Range<u64>,
    batch: u64,
}

/// Returns the table at a path. An array with one dimension is a table with one column, and so is a group of
/// arrays of one length with a column for each.
///
/// # Errors
///
/// As [`Dataset::meaning`]; [`Error::Usage`] if the object is not a table.
pub fn table(data: &Dataset, path: &str) -> Result<Table> {
    let found = match data.meaning(path)? {
        Some(Meaning::Table(table)) => return Ok(table),
        Some(Meaning::Variable(variable)) if !variable.shape().is_empty() => vec![*variable],
        None if data.node(path)?.kind()? == Kind::Group => data.variables(path)?,
        _ => Vec::new(),
    };
    Table::of_variables(path, found).ok_or_else(|| {
        Error::usage("path", format!("{path} is neither a table nor a group of arrays of one length"))
    })
}

impl Batches {
    /// Reads the table at a path.
    ///
    /// # Errors
    ///
    /// As [`table`] and [`new`](Self::new).
    pub fn open(data: &Dataset, path: &str, options: &Options) -> Result<Self> {
        Self::new(&table(data, path)?, options)
    }

    /// Reads a table.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is no such column; [`Error::Usage`] if the table has fewer rows or if
    /// batches have none; [`Error::Unsupported`] if Arrow has no type for the values of a column.
    pub fn new(table: &Table, options: &Options) -> Result<Self> {
        let rows = options.rows.clone().unwrap_or(0..table.rows);
        if rows.start > rows.end || rows.end > table.rows {
            let (start, end, all) = (rows.start, rows.end, table.rows);
            return Err(Error::usage(
                "rows",
                format!("{start} to {end} are not all in a table of {all} rows"),
            ));
        }
        if options.batch_rows == 0 {
            return Err(Error::usage("batch_rows", "is 0, but a batch needs a row"));
        }
        let chosen: Vec<&Column> = match &options.columns {
            None => table.all_columns().collect(),
            Some(names) => names.iter().map(|name| column(table, name)).collect::<Result<_>>()?,
        };
        let mut columns = Vec::new();
        let mut fields = Vec::new();
        for (of, values) in chosen.iter().zip(Table::read_columns(&chosen, (0, 0))?) {
            let kind = data_type(of, &values)?;
            let index = table.index.iter().any(|index| std::ptr::eq(index, *of));
            fields.push(Field::new(&of.name, kind.clone(), true).with_metadata(metadata(of, index)));
            columns.push(((*of).clone(), kind));
        }
        Ok(Self { columns, schema: Arc::new(Schema::new(fields)), rows, batch: options.batch_rows })
    }

    /// Returns the columns that are read.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().map(|(column, _)| column)
    }

    /// Returns the rows that are not read yet.
    pub(crate) fn rows(&self) -> Range<u64> {
        self.rows.clone()
    }

    /// Reads the next batch.
    fn batch(&mut self) -> Result<RecordBatch> {
        let count = self.batch.min(self.rows.end.saturating_sub(self.rows.start));
        let first = self.rows.start;
        // A table that cannot be read ends.
        self.rows.start = self.rows.end;
        let height = usize::try_from(count).map_err(|_| Error::usage("batch_rows", "is too large"))?;
        let columns: Vec<&Column> = self.columns.iter().map(|(column, _)| column).collect();
        let mut arrays = Vec::new();
        for ((column, kind), values) in
            self.columns.iter().zip(Table::read_columns(&columns, (first, count))?)
        {
            arrays.push(array(column, (kind, height), values)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(height));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options);
        self.rows.start = first.saturating_add(count).min(self.rows.end);
        batch.map_err(|error| internal(&error))
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rows.is_empty() {
            return None;
        }
        Some(self.batch().map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Returns a column by its name.
fn column<'a>(table: &'a Table, name: &str) -> Result<&'a Column> {
    table.all_columns().find(|column| column.name == name).ok_or_else(|| {
        Error::not_found("column", name).with_nearest(table.all_columns().map(|column| column.name.as_str()))
    })
}

fn metadata(column: &Column, index: bool) -> HashMap<String, String> {
    let mut metadata = HashMap::new();
    metadata.extend(column.units.clone().map(|units| ("units".to_owned(), units)));
    metadata.extend(index.then(|| ("index".to_owned(), "true".to_owned())));
    metadata
}

/// Returns whether Arrow's timestamps have the days of a calendar. The standard calendar only differs from them
/// before 1582, where nanoseconds of 64 bits do not reach.
fn is_real(calendar: Option<Calendar>) -> bool {
    matches!(calendar, Some(Calendar::Standard | Calendar::ProlepticGregorian))
}

/// Returns the type of a column, of which no rows were read.
fn data_type(column: &Column, none: &Values) -> Result<DataType> {
    let mut kind = match none {
        Values::Plain { element, .. } => Builder::new(element)?.data_type(),
        Values::Times(_) if is_real(column.calendar()) => DataType::Timestamp(TimeUnit::Nanosecond, None),
        Values::Text(_) | Values::Times(_) => DataType::LargeUtf8,
        Values::Categories { .. } => names(),
    };
    for side in column.row_shape().iter().rev() {
        let side = i32::try_from(*side).map_err(|_| too_wide(column))?;
        kind = DataType::FixedSizeList(Arc::new(Field::new("item", kind, true)), side);
    }
    Ok(kind)
}

fn too_wide(column: &Column) -> Error {
    Error::unsupported(format!("the column {}, whose rows have more than 2^31 values, in Arrow", column.name))
}

fn internal(error: &ArrowError) -> Error {
    Error::internal(error.to_string())
}

/// Returns the array of some rows.
fn array(column: &Column, (kind, height): (&DataType, usize), values: Values) -> Result<ArrayRef> {
    let flat = flat(column, values)?;
    nested(kind, flat, height).map_err(|error| internal(&error))
}

/// Returns values as lists, if the type says so.
fn nested(kind: &DataType, flat: ArrayRef, height: usize) -> Result<ArrayRef, ArrowError> {
    let DataType::FixedSizeList(item, size) = kind else { return Ok(flat) };
    if flat.data_type() == kind {
        return Ok(flat);
    }
    let size_of = usize::try_from(*size).unwrap_or_default();
    let inner = nested(item.data_type(), flat, height.saturating_mul(size_of))?;
    Ok(Arc::new(FixedSizeListArray::try_new_with_length(Arc::clone(item), *size, inner, None, height)?))
}

/// Returns which values are not missing.
fn valid(column: &Column, missing: &[bool], count: usize) -> Result<NullBuffer> {
    if missing.len() != count {
        let (name, marks) = (&column.name, missing.len());
        return Err(Error::usage(
            "column",
            format!("{name} has {count} values, but {marks} marks of missing ones"),
        ));
    }
    Ok(NullBuffer::from(missing.iter().map(|missing| !missing).collect::<Vec<bool>>()))
}

/// Returns all values as one array.
fn flat(column: &Column, values: Values) -> Result<ArrayRef> {
    Ok(match values {
        Values::Plain { element, bytes, missing } => {
            let mut builder = Builder::new(&element)?;
            builder.extend(&bytes)?;
            let nulls = match missing {
                Some(missing) => Some(valid(column, &missing, Values::plain(element, bytes).len()?)?),
                None => None,
            };
            builder.finish(nulls).map_err(|error| internal(&error))?
        }
        Values::Text(texts) => Arc::new(texts.into_iter().collect::<LargeStringArray>()),
        Values::Times(times) if is_real(column.calendar()) => {
            let mut moments = Vec::with_capacity(times.len());
            for time in times {
                let exact = time.map(|time| i64::try_from(time.nanoseconds(Calendar::ProlepticGregorian)));
                moments.push(exact.transpose().map_err(|_| {
                    let shown = time.map(|time| time.to_string()).unwrap_or_default();
                    Error::unsupported(format!("the date {shown} in nanoseconds of 64 bits"))
                })?);
            }
            Arc::new(TimestampNanosecondArray::from(moments))
        }
        times @ Values::Times(_) => Arc::new(times.cells()?.into_iter().collect::<LargeStringArray>()),
        Values::Categories { codes, names, .. } => {
            let codes = codes.into_iter().map(|code| code.map(i32::try_from).transpose());
            let codes = codes.collect::<Result<Int32Array, _>>();
            let codes = codes.map_err(|_| Error::unsupported("more than 2^31 categories in Arrow"))?;
            let names = names.iter().map(|name| Some(name.as_str())).collect::<LargeStringArray>();
            let array: DictionaryArray<Int32Type> =
                DictionaryArray::try_new(codes, Arc::new(names) as Arc<dyn Array>)
                    .map_err(|error| internal(&error))?;
            Arc::new(array)
        }
    })
}
