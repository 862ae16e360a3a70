//! Files of Parquet.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::{Date64Type, TimestampMillisecondType};
use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowWriter, ArrowWriterOptions, compute_leaves,
};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use sciformats_conventions::sciformats::{Error, Result};

use crate::Options;
use crate::batches::BATCH;
use crate::csv::of_arrow;
use crate::guarded::{Part, Reader, guarded, of_io, of_text};

/// What an error about such a file names.
const WHAT: &str = "file of Parquet";

/// How a file of Parquet is written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ParquetOptions {
    /// The level of Zstandard, from 1 to 22; `None` compresses with Snappy, which is faster.
    pub zstd: Option<i32>,
    /// The number of rows in a row group, all of which are in memory when it is written.
    pub group_rows: usize,
    /// The number of threads that encode columns; 0 means as many as the machine has.
    pub threads: usize,
}

impl Default for ParquetOptions {
    fn default() -> Self {
        Self { zstd: None, group_rows: 1 << 19, threads: 0 }
    }
}

impl ParquetOptions {
    /// Sets the level of Zstandard.
    #[must_use]
    pub fn with_zstd(self, level: i32) -> Self {
        Self { zstd: Some(level), ..self }
    }

    /// Sets the number of threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    fn properties(&self, schema: &SchemaRef) -> Result<WriterProperties> {
        let compression = match self.zstd {
            Some(level) => Compression::ZSTD(
                ZstdLevel::try_new(level).map_err(|_| Error::usage("level", "is not one of Zstandard"))?,
            ),
            None => Compression::SNAPPY,
        };
        let mut properties = WriterProperties::builder()
            .set_compression(compression)
            .set_created_by(format!("sciformats {}", env!("CARGO_PKG_VERSION")))
            .set_max_row_group_row_count(Some(self.group_rows.max(1)));
        for field in schema.fields() {
            // Floating-point numbers are rarely equal, so a dictionary of them is only overhead.
            if field.data_type().is_floating() {
                let column = ColumnPath::from(field.name().as_str());
                properties = properties.set_column_dictionary_enabled(column, false);
            }
        }
        Ok(properties.build())
    }
}

fn of_parquet(error: ParquetError) -> Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(source) => Error::io("write", *source),
            Err(inner) => Error::unsupported(inner.to_string()),
        },
        other => Error::unsupported(other.to_string()),
    }
}

/// Returns the error of reading a file.
fn of_reading(error: ParquetError) -> Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(source) => of_io(WHAT, *source),
            Err(inner) => of_text(WHAT, &inner.to_string()),
        },
        ParquetError::EOF(_) => of_io(WHAT, std::io::ErrorKind::UnexpectedEof.into()),
        other => of_text(WHAT, &other.to_string()),
    }
}

/// Writes a table as a file of Parquet. Columns are encoded by several threads. Returns the number of rows.
///
/// # Errors
///
/// The error of reading or of writing; [`Error::Unsupported`] if Parquet has no type for a column.
pub fn write_parquet(
    table: impl RecordBatchReader,
    out: impl Write + Send,
    options: &ParquetOptions,
) -> Result<u64> {
    let schema = written(&table.schema());
    let settings = ArrowWriterOptions::new().with_properties(options.properties(&schema)?);
    let writer = ArrowWriter::try_new_with_options(out, Arc::clone(&schema), settings).map_err(of_parquet)?;
    let (mut file, factory) = writer.into_serialized_writer().map_err(of_parquet)?;
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        threads => threads,
    };
    let mut group: Vec<RecordBatch> = Vec::new();
    let (mut held, mut rows, mut number) = (0usize, 0u64, 0usize);
    let mut table = table;
    loop {
        let batch = table.next().transpose().map_err(of_arrow)?;
        let over = batch.is_none();
        if let Some(batch) = batch.filter(|batch| batch.num_rows() > 0) {
            let batch = of_moments(&batch, &schema)?;
            rows = rows.saturating_add(batch.num_rows() as u64); // a bound
            held = held.saturating_add(batch.num_rows()); // a bound
            group.push(batch);
        }
        if held == 0 && over {
            break;
        }
        if held < options.group_rows && !over {
            continue;
        }
        let columns = factory.create_column_writers(number).map_err(of_parquet)?;
        let chunks = encoded(&schema, &group, columns, threads)?;
        let mut into = file.next_row_group().map_err(of_parquet)?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut into).map_err(of_parquet)?;
        }
        into.close().map_err(of_parquet)?;
        group.clear();
        held = 0;
        number = number.saturating_add(1); // a bound
        if over {
            break;
        }
    }
    file.close().map_err(of_parquet)?;
    Ok(rows)
}

/// Returns a schema in which dates that count milliseconds are moments, because Parquet has no such dates, and in which categories have no
/// order: they are listed as they come, which readers would take for their order.
fn written(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Date64 => {
            Arc::new(field.as_ref().clone().with_data_type(DataType::Timestamp(TimeUnit::Millisecond, None)))
        }
        DataType::Dictionary(..) => Arc::new(field.as_ref().clone().with_dict_is_ordered(false)),
        _ => Arc::clone(field),
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

fn of_moments(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(|column| match column.as_primitive_opt::<Date64Type>() {
        Some(dates) => Arc::new(dates.reinterpret_cast::<TimestampMillisecondType>()),
        None => Arc::clone(column),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect(), &options).map_err(of_arrow)
}

/// Returns the number of columns of Parquet that a column of Arrow becomes.
fn leaves(kind: &DataType) -> usize {
    match kind {
        DataType::Struct(fields) => fields.iter().map(|field| leaves(field.data_type())).sum(),
        // A map is a list of records with a key and a value.
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::Map(item, _) => leaves(item.data_type()),
        _ => 1,
    }
}

/// Encodes the columns of a row group.
fn encoded(
    schema: &SchemaRef,
    group: &[RecordBatch],
    writers: Vec<ArrowColumnWriter>,
    threads: usize,
) -> Result<Vec<ArrowColumnChunk>> {
    // The columns of the file that each column of the table becomes.
    let mut writers = writers.into_iter();
    let mut jobs = Vec::new();
    for field in schema.fields() {
        let of: Vec<ArrowColumnWriter> = writers.by_ref().take(leaves(field.data_type())).collect();
        jobs.push(Mutex::new(Some(of)));
    }
    let done: Vec<Mutex<Option<Result<Vec<ArrowColumnChunk>>>>> =
        jobs.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let (Some(job), Some(done)) = (jobs.get(at), done.get(at)) else { return };
            let writers = job.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
            let chunks = column(schema, at, group, writers);
            *done.lock().unwrap_or_else(PoisonError::into_inner) = Some(chunks);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(jobs.len()) {
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut chunks = Vec::new();
    for done in done {
        let found = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        chunks.extend(found.ok_or_else(|| Error::internal("a column was not encoded"))??);
    }
    Ok(chunks)
}

fn column(
    schema: &SchemaRef,
    at: usize,
    group: &[RecordBatch],
    mut writers: Vec<ArrowColumnWriter>,
) -> Result<Vec<ArrowColumnChunk>> {
    let field = schema.field(at);
    for batch in group {
        let of = compute_leaves(field, batch.column(at)).map_err(of_parquet)?;
        if of.len() != writers.len() {
            return Err(Error::internal(format!(
                "the column {} has other parts than its type",
                field.name()
            )));
        }
        for (writer, leaf) in writers.iter_mut().zip(&of) {
            writer.write(leaf).map_err(of_parquet)?;
        }
    }
    writers.into_iter().map(|writer| writer.close().map_err(of_parquet)).collect()
}

/// Reads the part of a file of Parquet that options select. Only the columns that are needed are read.
///
/// # Errors
///
/// [`Error::NotFound`] if there is no such column; [`Error::Unsupported`] if the file is not one of Parquet, or of a
/// kind that is not read.
pub fn read_parquet(file: File, options: &Options) -> Result<Reader> {
    let reader = guarded(WHAT, || Groups::new(file, options).map_err(of_reading))?;
    Ok(Box::new(Part::new(reader, WHAT, options)?))
}

/// The groups of rows of a file, one part after another.
struct Groups {
    file: File,
    metadata: ArrowReaderMetadata,
    columns: ProjectionMask,
    rows: usize,
    /// The groups that are left: those of each part.
    left: std::vec::IntoIter<Vec<usize>>,
    part: ParquetRecordBatchReader,
}

impl Groups {
    fn new(file: File, options: &Options) -> Result<Self, ParquetError> {
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::default())?;
        let fields = metadata.schema().fields();
        let columns = match &options.columns {
            None => ProjectionMask::all(),
            Some(names) => {
                let wanted = names.iter().chain(options.filter.iter().map(|test| &test.column));
                let wanted: Vec<usize> =
                    wanted.filter_map(|name| fields.iter().position(|field| field.name() == name)).collect();
                ProjectionMask::roots(metadata.parquet_schema(), wanted)
            }
        };
        let all: Vec<usize> = (0..metadata.metadata().num_row_groups()).collect();
        // A group lists its categories in their order, but a batch of several groups lists them as they come.
        let ordered = fields.iter().any(|field| field.dict_is_ordered() == Some(true));
        let parts: Vec<Vec<usize>> =
            if ordered { all.into_iter().map(|group| vec![group]).collect() } else { vec![all] };
        let mut left = parts.into_iter();
        let first = left.next().unwrap_or_default();
        let rows = usize::try_from(options.batch_rows.clamp(1, BATCH)).unwrap_or(1024);
        let part = part(&file, &metadata, (&columns, rows, first))?;
        Ok(Self { file, metadata, columns, rows, left, part })
    }
}

/// Reads some groups of rows.
fn part(
    file: &File,
    metadata: &ArrowReaderMetadata,
    (columns, rows, groups): (&ProjectionMask, usize, Vec<usize>),
) -> Result<ParquetRecordBatchReader, ParquetError> {
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file.try_clone()?, metadata.clone());
    builder.with_batch_size(rows).with_projection(columns.clone()).with_row_groups(groups).build()
}

impl Iterator for Groups {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.part.next() {
                return Some(batch);
            }
            let groups = self.left.next()?;
            match part(&self.file, &self.metadata, (&self.columns, self.rows, groups)) {
                Ok(next) => self.part = next,
                Err(error) => return Some(Err(error.into())),
            }
        }
    }
}

impl RecordBatchReader for Groups {
    fn schema(&self) -> SchemaRef {
        self.part.schema()
    }
}
