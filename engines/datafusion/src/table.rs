//! Tables that DataFusion reads.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use sciformats_arrow::sciformats_conventions::sciformats::Error;
use sciformats_arrow::sciformats_conventions::{Column, Dataset, Table};
use sciformats_arrow::{Scan, Whole, table};

use crate::border;
use crate::codec::FileCodec;
use crate::condition;
use crate::error::{external, of_file, usage};
use crate::find::{Found, files};
use crate::scan::{FileScan, Piece, Reading, groups};

/// Where a table is, and how it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableOptions {
    /// Files, folders, and patterns with `*`, `?`, `[…]` and `**`. All files are one table.
    pub locations: Vec<String>,
    /// The path of the table in each file; several arrays over one grid as `/tas,pr`.
    pub path: String,
    /// The name of a column with the file of each row, which is the first one.
    pub file_column: Option<String>,
    /// A column whose values are in ascending order in each file, as the caller knows. Conditions on it are answered by a
    /// search. If its values are in another order, rows are left out.
    pub sorted: Option<String>,
    /// The rows of a large file that are read together, which is one part of a partition.
    pub piece_rows: u64,
    /// The size in bytes from which a file is large: it is opened while a query is planned, and divided into pieces. A
    /// single file is always divided; of several, at most the first 64 large ones are.
    pub large: u64,
}

/// The large files that are opened while a query is planned.
const DIVIDED: usize = 64;

impl TableOptions {
    /// Uses the tables in a file, in all files of a folder, or in those that match a pattern.
    pub fn new(location: impl Into<String>) -> Self {
        Self {
            locations: vec![location.into()],
            path: "/".to_owned(),
            file_column: None,
            sorted: None,
            piece_rows: 1 << 20,
            large: 64 << 20,
        }
    }

    /// Adds files, a folder or a pattern.
    #[must_use]
    pub fn with_location(mut self, location: impl Into<String>) -> Self {
        self.locations.push(location.into());
        self
    }

    /// Sets the path of the table in the files.
    #[must_use]
    pub fn with_path(self, path: impl Into<String>) -> Self {
        Self { path: path.into(), ..self }
    }

    /// Adds a column with the file of each row.
    #[must_use]
    pub fn with_file_column(self, name: impl Into<String>) -> Self {
        Self { file_column: Some(name.into()), ..self }
    }

    /// Says that the values of a column are in ascending order in each file.
    #[must_use]
    pub fn with_sorted(self, column: impl Into<String>) -> Self {
        Self { sorted: Some(column.into()), ..self }
    }

    /// Sets the rows of a large file that are read together.
    #[must_use]
    pub fn with_piece_rows(self, piece_rows: u64) -> Self {
        Self { piece_rows, ..self }
    }

    /// Sets the size in bytes from which a file is divided.
    #[must_use]
    pub fn with_large(self, large: u64) -> Self {
        Self { large, ..self }
    }
}

/// A table in one or many scientific files.
///
/// Files are opened by the partition that reads them. While a query is planned, they are only listed, except for large
/// ones, whose rows are counted.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use datafusion::prelude::SessionContext;
/// use sciformats_datafusion::{FileTable, TableOptions};
///
/// # async fn run() -> datafusion::error::Result<()> {
/// let runs = FileTable::open(TableOptions::new("runs/*.h5").with_path("/log").with_file_column("file"))?;
/// let context = SessionContext::new();
/// context.register_table("runs", Arc::new(runs))?;
/// context.sql("SELECT file, max(energy) FROM runs GROUP BY file").await?.show().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FileTable {
    options: TableOptions,
    schema: SchemaRef,
    /// Which files may be opened.
    permits: FileCodec,
}

impl FileTable {
    /// Uses the tables that options describe. The columns are those of the first file.
    ///
    /// # Errors
    ///
    /// If there is no file, if the first one is not readable or has no table at the path, if two columns have the same
    /// name, or if the options name a column that is not there.
    pub fn open(options: TableOptions) -> Result<Self> {
        let all = files(&options.locations)?;
        let Some(first) = all.first() else {
            return Err(usage("location", "is missing"));
        };
        let path = Path::new(&first.path);
        let fault = |error| of_file(path, error);
        let data = Dataset::open(path).map_err(fault)?;
        let found = border::schema(&Whole::new(&data, &options.path).map_err(fault)?.schema())?;
        let mut fields: Vec<Arc<Field>> = Vec::new();
        if let Some(name) = &options.file_column {
            fields.push(Arc::new(Field::new(name, DataType::LargeUtf8, false)));
        }
        fields.extend(found.fields().iter().cloned());
        let mut known = HashSet::new();
        if let Some(twice) = fields.iter().find(|field| !known.insert(field.name().as_str())) {
            let what = format!("the table {} with two columns {}", options.path, twice.name());
            return Err(of_file(path, Error::unsupported(what)));
        }
        if let Some(sorted) = options.sorted.as_ref().filter(|name| found.field_with_name(name).is_err()) {
            let known = found.fields().iter().map(|field| field.name().as_str());
            return Err(fault(Error::not_found("column", sorted.as_str()).with_nearest(known)));
        }
        if options.piece_rows == 0 {
            return Err(usage("piece_rows", "is 0, but a piece needs a row"));
        }
        Ok(Self { options, schema: Arc::new(Schema::new(fields)), permits: FileCodec::default() })
    }

    /// Uses a table whose columns are known. Nothing is opened yet, and later only what `permits` permits.
    pub(crate) fn known(options: TableOptions, schema: SchemaRef, permits: FileCodec) -> Self {
        Self { options, schema, permits }
    }

    /// Returns where the table is, and how it is read.
    pub fn options(&self) -> &TableOptions {
        &self.options
    }
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(places) => Arc::new(self.schema.project(places)?),
            None => Arc::clone(&self.schema),
        };
        let own = self.options.file_column.as_deref();
        let names = schema.fields().iter().map(|field| field.name());
        let file_column = names.clone().position(|name| Some(name.as_str()) == own);
        let columns = names.filter(|name| Some(name.as_str()) != own).cloned().collect();
        let (names, filter) = condition::pushed(filters, &self.schema)
            .into_iter()
            .partition(|one| Some(one.column.as_str()) == own);
        let reading = Reading {
            path: self.options.path.clone(),
            columns,
            file_column,
            filter,
            sorted: self.options.sorted.clone(),
            limit: limit.map(|limit| limit as u64),
        };
        let (options, names): (_, Vec<_>) = (self.options.clone(), names);
        let (planned, permits) = (reading.clone(), self.permits.clone());
        let listing = move || -> Result<Vec<Piece>> {
            let mut all = files(&options.locations)?;
            for file in &all {
                permits.permits(&file.path)?;
            }
            all.retain(|file| names.iter().all(|condition| condition::holds(condition, &file.path)));
            pieces(&options, all, &planned)
        };
        let pieces = match tokio::runtime::Handle::try_current() {
            Ok(runtime) => match runtime.spawn_blocking(listing).await {
                Ok(pieces) => pieces?,
                Err(error) => return Err(external(error)),
            },
            Err(_) => listing()?,
        };
        let count = state.config().target_partitions().clamp(1, pieces.len().max(1));
        Ok(Arc::new(FileScan::new(groups(pieces, count), Arc::new(reading), schema)))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(filters.iter().map(|filter| condition::support(filter, &self.schema)).collect())
    }
}

/// Divides files into pieces. Large ones are opened for it.
fn pieces(options: &TableOptions, files: Vec<Found>, reading: &Reading) -> Result<Vec<Piece>> {
    let single = files.len() == 1;
    let mut opened = 0;
    let mut all = Vec::new();
    for file in files {
        if !single && (file.size < options.large || opened == DIVIDED) {
            all.push(Piece { file, rows: None, whole: true });
            continue;
        }
        opened += 1;
        let extent = Extent::of(&file, reading)?;
        // No chunk belongs to two pieces, so that none is decoded twice.
        let step = match extent.chunk {
            _ if extent.is_box => extent.rows,
            Some(chunk) if chunk > options.piece_rows => chunk,
            Some(chunk) if chunk > 0 => options.piece_rows - options.piece_rows % chunk,
            _ => options.piece_rows,
        };
        if extent.rows <= step {
            all.push(Piece { file, rows: Some(0..extent.rows), whole: true });
            continue;
        }
        let mut first = 0;
        while first < extent.rows {
            if all.len() == MOST {
                return Err(usage("piece_rows", format!("divides the table into more than {MOST} pieces")));
            }
            let end = first.saturating_add(step).min(extent.rows); // a bound
            all.push(Piece { file: file.clone(), rows: Some(first..end), whole: false });
            first = end;
        }
    }
    Ok(all)
}

/// The pieces of a query.
const MOST: usize = 1 << 20;

/// What is known of a table before its rows are read.
struct Extent {
    rows: u64,
    /// The rows that are stored together.
    chunk: Option<u64>,
    /// Whether conditions on the coordinates of a grid select a box of it. Then only the box is read, which is more than
    /// division gains.
    is_box: bool,
}

impl Extent {
    fn of(file: &Found, reading: &Reading) -> Result<Self> {
        let place = Path::new(&file.path);
        let fault = |error| of_file(place, error);
        let data = Dataset::open(place).map_err(fault)?;
        let found = table(&data, &reading.path).map_err(fault)?;
        let of = |names: &[String]| -> Vec<&Column> {
            found.all_columns().filter(|column| names.contains(&column.name)).collect()
        };
        let read = of(&reading.columns);
        let chunk = if read.is_empty() { None } else { Table::chunk_rows(&read) };
        let mut is_box = false;
        if found.grid().is_some() {
            let names: Vec<String> = reading.filter.iter().map(|one| one.column.clone()).collect();
            for column in of(&names) {
                is_box |= column.along().map_err(fault)?.is_some();
            }
        }
        Ok(Self { rows: found.rows, chunk, is_box })
    }
}
