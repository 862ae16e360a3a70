//! Plans and tables as bytes, for machines that run parts of a query.
//!
//! What travels is where files are, what is read of them, and their sizes and times: each machine opens the files itself, and refuses those
//! that are not the ones of the plan. Nothing that is decoded is trusted: lengths are those of the bytes, and a worker only opens files in the
//! folders that it was started for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::{TableReference, internal_err, not_impl_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Extension, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use datafusion_proto::protobuf;
use prost::Message;
use sciformats_arrow::sciformats_conventions::sciformats::Error;
use sciformats_arrow::{Comparison, Predicate, Scalar};

use crate::error::{external, of_file};
use crate::find::Found;
use crate::scan::{FileScan, Piece, Reading};
use crate::table::{FileTable, TableOptions};

/// Writes and reads plans that contain a [`FileScan`], and tables that are a [`FileTable`].
#[derive(Clone, Debug, Default)]
pub struct FileCodec {
    roots: Option<Arc<[PathBuf]>>,
}

impl FileCodec {
    /// Only accepts files in these folders, after links are followed.
    ///
    /// # Errors
    ///
    /// If a folder does not exist.
    pub fn within(roots: &[PathBuf]) -> Result<Self> {
        let mut real = Vec::new();
        for root in roots {
            real.push(root.canonicalize().map_err(|error| of_file(root, Error::io("open", error)))?);
        }
        Ok(Self { roots: Some(real.into()) })
    }

    /// Checks that a file may be opened.
    pub(crate) fn permits(&self, path: &str) -> Result<()> {
        let Some(roots) = &self.roots else { return Ok(()) };
        let path = Path::new(path);
        let real = path.canonicalize().map_err(|error| of_file(path, Error::io("open", error)))?;
        if roots.iter().any(|root| real.starts_with(root)) {
            return Ok(());
        }
        Err(external(Error::Forbidden { name: path.to_string_lossy().into(), path: Some(real.into()) }))
    }
}

#[derive(Clone, PartialEq, Message)]
struct ScanMessage {
    #[prost(message, optional, tag = "1")]
    schema: Option<protobuf::Schema>,
    #[prost(message, repeated, tag = "2")]
    partitions: Vec<PartitionMessage>,
    #[prost(string, tag = "3")]
    path: String,
    #[prost(string, repeated, tag = "4")]
    columns: Vec<String>,
    #[prost(uint64, optional, tag = "5")]
    file_column: Option<u64>,
    #[prost(message, repeated, tag = "6")]
    filter: Vec<ConditionMessage>,
    #[prost(string, optional, tag = "7")]
    sorted: Option<String>,
    #[prost(uint64, optional, tag = "8")]
    limit: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct PartitionMessage {
    #[prost(message, repeated, tag = "1")]
    pieces: Vec<PieceMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct PieceMessage {
    #[prost(string, tag = "1")]
    file: String,
    #[prost(uint64, tag = "2")]
    size: u64,
    #[prost(int64, tag = "3")]
    changed: i64,
    #[prost(uint64, optional, tag = "4")]
    first: Option<u64>,
    #[prost(uint64, optional, tag = "5")]
    end: Option<u64>,
    #[prost(bool, tag = "6")]
    whole: bool,
}

#[derive(Clone, PartialEq, Message)]
struct ConditionMessage {
    #[prost(string, tag = "1")]
    column: String,
    #[prost(uint32, tag = "2")]
    comparison: u32,
    #[prost(oneof = "ValueMessage", tags = "3, 4, 5, 6, 7")]
    value: Option<ValueMessage>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum ValueMessage {
    /// 16 bytes, the lowest first.
    #[prost(bytes, tag = "3")]
    Int(Vec<u8>),
    #[prost(double, tag = "4")]
    Float(f64),
    #[prost(string, tag = "5")]
    Text(String),
    #[prost(bool, tag = "6")]
    Bool(bool),
    /// 16 bytes, the lowest first.
    #[prost(bytes, tag = "7")]
    Moment(Vec<u8>),
}

#[derive(Clone, PartialEq, Message)]
struct TableMessage {
    #[prost(string, repeated, tag = "1")]
    locations: Vec<String>,
    #[prost(string, tag = "2")]
    path: String,
    #[prost(string, optional, tag = "3")]
    file_column: Option<String>,
    #[prost(string, optional, tag = "4")]
    sorted: Option<String>,
    #[prost(uint64, tag = "5")]
    piece_rows: u64,
    #[prost(uint64, tag = "6")]
    large: u64,
}

/// The comparisons, by their numbers in messages.
const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

fn wrong(what: &str) -> DataFusionError {
    DataFusionError::Execution(format!(
        "a plan with {what} was received; the machines run different versions"
    ))
}

impl ConditionMessage {
    fn of(condition: &Predicate) -> Result<Self> {
        let place = COMPARISONS.iter().position(|one| *one == condition.comparison);
        let value = match &condition.value {
            Scalar::Int(value) => ValueMessage::Int(value.to_le_bytes().to_vec()),
            Scalar::Float(value) => ValueMessage::Float(*value),
            Scalar::Text(value) => ValueMessage::Text(value.clone()),
            Scalar::Bool(value) => ValueMessage::Bool(*value),
            Scalar::Moment(value) => ValueMessage::Moment(value.to_le_bytes().to_vec()),
            other => return internal_err!("the value {other} has no message"),
        };
        let comparison = place.and_then(|place| u32::try_from(place).ok());
        let Some(comparison) = comparison else { return internal_err!("{condition} has no message") };
        Ok(Self { column: condition.column.clone(), comparison, value: Some(value) })
    }

    fn condition(self) -> Result<Predicate> {
        let comparison = usize::try_from(self.comparison).ok().and_then(|at| COMPARISONS.get(at));
        let comparison = comparison.ok_or_else(|| wrong("an unknown comparison"))?;
        let long = |bytes: Vec<u8>| -> Result<i128> {
            let bytes = bytes.try_into().map_err(|_| wrong("an integer that has not 16 bytes"))?;
            Ok(i128::from_le_bytes(bytes))
        };
        let value = match self.value.ok_or_else(|| wrong("a condition without a value"))? {
            ValueMessage::Int(bytes) => Scalar::Int(long(bytes)?),
            ValueMessage::Float(value) => Scalar::Float(value),
            ValueMessage::Text(value) => Scalar::Text(value),
            ValueMessage::Bool(value) => Scalar::Bool(value),
            ValueMessage::Moment(bytes) => Scalar::Moment(long(bytes)?),
        };
        Ok(Predicate::new(self.column, *comparison, value))
    }
}

impl PieceMessage {
    fn of(piece: &Piece) -> Self {
        Self {
            file: piece.file.path.clone(),
            size: piece.file.size,
            changed: piece.file.changed,
            first: piece.rows.as_ref().map(|rows| rows.start),
            end: piece.rows.as_ref().map(|rows| rows.end),
            whole: piece.whole,
        }
    }

    fn piece(self) -> Result<Piece> {
        let rows = match (self.first, self.end) {
            (Some(first), Some(end)) if first <= end => Some(first..end),
            (None, None) if self.whole => None,
            _ => return Err(wrong("rows that end before they begin")),
        };
        let file = Found { path: self.file, size: self.size, changed: self.changed };
        Ok(Piece { file, rows, whole: self.whole })
    }
}

impl PhysicalExtensionCodec for FileCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !inputs.is_empty() {
            return Err(wrong("inputs of a scan of files"));
        }
        let message = ScanMessage::decode(buf).map_err(external)?;
        let schema: Schema = message.schema.as_ref().ok_or_else(|| wrong("no schema"))?.try_into()?;
        let mut partitions = Vec::new();
        for partition in message.partitions {
            let mut pieces = Vec::new();
            for piece in partition.pieces {
                self.permits(&piece.file)?;
                pieces.push(piece.piece()?);
            }
            partitions.push(pieces);
        }
        let file_column = message.file_column.map(usize::try_from).transpose();
        let file_column = file_column.map_err(|_| wrong("a column after the last one"))?;
        let own = file_column.map(|place| schema.fields().get(place));
        if own.is_some_and(|field| field.is_none_or(|field| *field.data_type() != DataType::LargeUtf8)) {
            return Err(wrong("a column of files that is no text"));
        }
        if message.columns.len() + usize::from(file_column.is_some()) != schema.fields().len() {
            return Err(wrong("columns that the schema does not have"));
        }
        let filter = message.filter.into_iter().map(ConditionMessage::condition).collect::<Result<_>>()?;
        let reading = Reading {
            path: message.path,
            columns: message.columns,
            file_column,
            filter,
            sorted: message.sorted,
            limit: message.limit,
        };
        Ok(Arc::new(FileScan::new(partitions, Arc::new(reading), Arc::new(schema))))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(scan) = node.downcast_ref::<FileScan>() else {
            return not_impl_err!("{} is not a scan of files", node.name());
        };
        let reading = &scan.reading;
        let pieces =
            |pieces: &Vec<Piece>| PartitionMessage { pieces: pieces.iter().map(PieceMessage::of).collect() };
        let message = ScanMessage {
            schema: Some(node.schema().as_ref().try_into()?),
            partitions: scan.partitions.iter().map(pieces).collect(),
            path: reading.path.clone(),
            columns: reading.columns.clone(),
            file_column: reading.file_column.map(|place| place as u64),
            filter: reading.filter.iter().map(ConditionMessage::of).collect::<Result<_>>()?,
            sorted: reading.sorted.clone(),
            limit: reading.limit,
        };
        message.encode(buf).map_err(external)
    }
}

impl LogicalExtensionCodec for FileCodec {
    fn try_decode(&self, _: &[u8], _: &[LogicalPlan], _: &TaskContext) -> Result<Extension> {
        not_impl_err!("tables of files have no nodes of their own in logical plans")
    }

    fn try_encode(&self, node: &Extension, _: &mut Vec<u8>) -> Result<()> {
        not_impl_err!("{} is not a table of files", node.node.name())
    }

    fn try_decode_table_provider(
        &self,
        buf: &[u8],
        _: &TableReference,
        schema: SchemaRef,
        _: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        let message = TableMessage::decode(buf).map_err(external)?;
        if message.piece_rows == 0 {
            return Err(wrong("pieces without rows"));
        }
        // What the locations mean is only known when they are listed, so the table keeps the folders that are permitted.
        let mut options = TableOptions::new(String::new())
            .with_path(message.path)
            .with_piece_rows(message.piece_rows)
            .with_large(message.large);
        options.locations = message.locations;
        options.file_column = message.file_column;
        options.sorted = message.sorted;
        Ok(Arc::new(FileTable::known(options, schema, self.clone())))
    }

    fn try_encode_table_provider(
        &self,
        name: &TableReference,
        node: Arc<dyn TableProvider>,
        buf: &mut Vec<u8>,
    ) -> Result<()> {
        let Some(table) = node.downcast_ref::<FileTable>() else {
            return not_impl_err!("{name} is not a table of files");
        };
        let options = table.options().clone();
        let message = TableMessage {
            locations: options.locations,
            path: options.path,
            file_column: options.file_column,
            sorted: options.sorted,
            piece_rows: options.piece_rows,
            large: options.large,
        };
        message.encode(buf).map_err(external)
    }
}
