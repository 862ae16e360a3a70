//! The part of a plan that reads files.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, LargeStringArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Statistics, internal_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, StatisticsArgs,
};
use sciformats_arrow::arrow_schema::ArrowError;
use sciformats_arrow::sciformats_conventions::Dataset;
use sciformats_arrow::sciformats_conventions::sciformats::Error;
use sciformats_arrow::{Options, Predicate, Scan, Whole};

use crate::border;
use crate::error::{external, of_file};
use crate::find::Found;

/// The rows of a batch that is read from a file; what the engine asks for is cut out of it.
const BATCH: u64 = 65_536;

/// The batches that wait for the engine in each partition.
const WAITING: usize = 2;

/// A part of a table that is read in one go: a file, or a range of its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) file: Found,
    /// The rows; `None` are all rows of the file, whose number is not known.
    pub(crate) rows: Option<Range<u64>>,
    /// Whether the rows are all of the table.
    pub(crate) whole: bool,
}

impl Piece {
    /// An estimate of the work.
    fn weight(&self) -> u64 {
        match &self.rows {
            Some(rows) => rows.end.saturating_sub(rows.start).max(1), // an estimate
            None => self.file.size.max(1),
        }
    }
}

/// What is read of each piece.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    /// The path of the table in the files.
    pub(crate) path: String,
    /// The columns, in the order in which they are read, without that of the files.
    pub(crate) columns: Vec<String>,
    /// Where among the columns that of the files stands, if it is requested.
    pub(crate) file_column: Option<usize>,
    pub(crate) filter: Vec<Predicate>,
    /// A column in ascending order.
    pub(crate) sorted: Option<String>,
    /// The rows after which a partition ends.
    pub(crate) limit: Option<u64>,
}

/// A plan that reads tables from files. Each partition has some of the pieces, and opens their files one after the other.
#[derive(Clone, Debug)]
pub struct FileScan {
    pub(crate) partitions: Vec<Vec<Piece>>,
    pub(crate) reading: Arc<Reading>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl FileScan {
    pub(crate) fn new(partitions: Vec<Vec<Piece>>, reading: Arc<Reading>, schema: SchemaRef) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        Self { partitions, reading, properties: Arc::new(properties), metrics }
    }

    /// Returns the number of pieces: files, and ranges of rows of large files.
    pub fn pieces(&self) -> usize {
        self.partitions.iter().map(Vec::len).sum()
    }

    /// Returns the path of the table in its files.
    pub fn path(&self) -> &str {
        &self.reading.path
    }

    /// Divides the pieces among as many machines, each of which has the same number of partitions, at most `partitions`.
    pub fn divided(&self, machines: usize, partitions: usize) -> Vec<Self> {
        let pieces: Vec<Piece> = self.partitions.iter().flatten().cloned().collect();
        let machines = machines.max(1);
        let each = pieces.len().div_ceil(machines).clamp(1, partitions.max(1));
        let parts = groups(pieces, machines).into_iter();
        parts.map(|part| Self::new(groups(part, each), Arc::clone(&self.reading), self.schema())).collect()
    }

    fn rows(&self, partition: Option<usize>) -> Option<usize> {
        if !self.reading.filter.is_empty() {
            return None;
        }
        let mut all = 0_u64;
        for pieces in
            self.partitions.iter().skip(partition.unwrap_or(0)).take(partition.map_or(usize::MAX, |_| 1))
        {
            let mut rows = 0_u64;
            for piece in pieces {
                let of = piece.rows.as_ref()?;
                rows = rows.checked_add(of.end.checked_sub(of.start)?)?;
            }
            all = all.checked_add(self.reading.limit.map_or(rows, |limit| rows.min(limit)))?;
        }
        usize::try_from(all).ok()
    }
}

/// Divides pieces into groups of neighbours with about the same work.
pub(crate) fn groups(pieces: Vec<Piece>, count: usize) -> Vec<Vec<Piece>> {
    let mut groups: Vec<Vec<Piece>> = (0..count.max(1)).map(|_| Vec::new()).collect();
    // Ranges of rows and whole files are weighed by different measures, so files count as one each if both occur.
    let same =
        pieces.iter().all(|piece| piece.rows.is_some()) || pieces.iter().all(|piece| piece.rows.is_none());
    let weight = |piece: &Piece| u128::from(if same { piece.weight() } else { 1 });
    let all: u128 = pieces.iter().map(weight).sum();
    let mut before = 0_u128;
    let last = groups.len() - 1;
    for piece in pieces {
        // The group in which the middle of the piece lies.
        let middle = before * 2 + weight(&piece);
        let place = usize::try_from(middle * groups.len() as u128 / (all * 2).max(1)).unwrap_or(last);
        before += weight(&piece);
        if let Some(group) = groups.get_mut(place.min(last)) {
            group.push(piece);
        }
    }
    groups
}

impl DisplayAs for FileScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reading = &self.reading;
        write!(
            f,
            "FileScan: path={}, pieces={}, partitions={}",
            reading.path,
            self.pieces(),
            self.partitions.len()
        )?;
        write!(f, ", columns=[{}]", reading.columns.join(", "))?;
        if !reading.filter.is_empty() {
            let filter: Vec<String> = reading.filter.iter().map(ToString::to_string).collect();
            write!(f, ", filter=[{}]", filter.join(", "))?;
        }
        if let Some(sorted) = &reading.sorted {
            write!(f, ", sorted={sorted}")?;
        }
        reading.limit.map_or(Ok(()), |limit| write!(f, ", limit={limit}"))
    }
}

impl ExecutionPlan for FileScan {
    fn name(&self) -> &'static str {
        "FileScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("a scan of files has no inputs") }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(pieces) = self.partitions.get(partition) else {
            return internal_err!("there is no partition {partition} of {}", self.partitions.len());
        };
        let mut work = Work {
            reading: Arc::clone(&self.reading),
            schema: self.schema(),
            batch: context.session_config().batch_size().max(1),
            left: self.reading.limit.unwrap_or(u64::MAX),
            baseline: BaselineMetrics::new(&self.metrics, partition),
            opened: MetricBuilder::new(&self.metrics).counter("files_opened", partition),
        };
        let pieces = pieces.clone();
        let mut builder = RecordBatchReceiverStream::builder(self.schema(), WAITING);
        let out = builder.tx();
        // Reading waits for the disk and for decoders, so it has a thread that may wait.
        builder.spawn_blocking(move || {
            for piece in &pieces {
                // If nobody takes batches any more, the query is over.
                if !work.read(piece, &mut |batch| out.blocking_send(Ok(batch)).is_ok())? {
                    break;
                }
            }
            Ok(())
        });
        Ok(builder.build())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema());
        if let Some(rows) = self.rows(args.partition()) {
            statistics.num_rows = Precision::Exact(rows);
        }
        Ok(Arc::new(statistics))
    }
}

/// The work on one partition.
struct Work {
    reading: Arc<Reading>,
    schema: SchemaRef,
    /// The rows of a batch that the engine asks for.
    batch: usize,
    left: u64,
    baseline: BaselineMetrics,
    opened: Count,
}

impl Work {
    /// Reads a piece. Returns whether more is wanted.
    fn read(&mut self, piece: &Piece, out: &mut dyn FnMut(RecordBatch) -> bool) -> Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        let timer = self.baseline.elapsed_compute().clone();
        let started = timer.timer();
        piece.file.check()?;
        self.opened.add(1);
        let path = Path::new(&piece.file.path);
        let fault = |error| of_file(path, error);
        let data = Dataset::open(path).map_err(fault)?;
        let table = Whole::new(&data, &self.reading.path).map_err(fault)?;
        let mut options = Options::default()
            .with_columns(self.reading.columns.iter().cloned())
            .with_batch_rows(BATCH)
            // There are as many partitions as threads.
            .with_threads(1);
        options.filter.clone_from(&self.reading.filter);
        options.sorted.clone_from(&self.reading.sorted);
        if !piece.whole {
            options.rows.clone_from(&piece.rows);
        }
        if self.left < u64::MAX {
            options.limit = Some(self.left);
        }
        let mut reader = table.scan(&options).map_err(fault)?;
        let found = border::schema(&reader.schema())?;
        let inner = self.inner();
        same(&piece.file.path, &found, &inner)?;
        let inner = Arc::new(inner);
        drop(started);
        loop {
            let started = timer.timer();
            let Some(batch) = reader.next() else { return Ok(true) };
            let batch = batch.map_err(|error| match error {
                ArrowError::ExternalError(error) => match error.downcast::<Error>() {
                    Ok(error) => fault(*error),
                    Err(other) => external(other),
                },
                other => external(other),
            })?;
            let batch = self.complete(&piece.file.path, border::batch(batch, &inner)?)?;
            drop(started);
            let rows = batch.num_rows();
            self.left = self.left.saturating_sub(rows as u64);
            self.baseline.record_output(rows);
            let mut first = 0;
            while first < rows {
                let count = self.batch.min(rows - first);
                if !out(batch.slice(first, count)) {
                    return Ok(false);
                }
                first += count;
            }
            if self.left == 0 {
                return Ok(false);
            }
        }
    }

    /// The columns that come from files.
    fn inner(&self) -> Schema {
        let places = (0..self.schema.fields().len()).filter(|at| Some(*at) != self.reading.file_column);
        let fields: Vec<_> = places.filter_map(|at| self.schema.fields().get(at).cloned()).collect();
        Schema::new(fields)
    }

    /// Adds the column of files.
    fn complete(&self, file: &str, batch: RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        if let Some(place) = self.reading.file_column.filter(|place| *place <= columns.len()) {
            columns.insert(place, Arc::new(LargeStringArray::from_iter_values((0..rows).map(|_| file))));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// Checks that a file has columns of the types of the first file.
fn same(file: &str, found: &Schema, wanted: &Schema) -> Result<()> {
    for (found, wanted) in found.fields().iter().zip(wanted.fields()) {
        if found.data_type() != wanted.data_type() {
            return Err(DataFusionError::Execution(format!(
                "the column {} of {file} has the type {}, which is {} in the first file",
                wanted.name(),
                found.data_type(),
                wanted.data_type()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(name: &str, size: u64, rows: Option<Range<u64>>) -> Piece {
        Piece { file: Found { path: name.to_owned(), size, changed: 0 }, rows, whole: false }
    }

    fn names(groups: &[Vec<Piece>]) -> Vec<Vec<&str>> {
        groups.iter().map(|group| group.iter().map(|piece| piece.file.path.as_str()).collect()).collect()
    }

    #[test]
    fn pieces_are_divided_by_their_size() {
        let pieces = vec![piece("a", 1, None), piece("b", 1, None), piece("c", 2, None), piece("d", 4, None)];
        assert_eq!(names(&groups(pieces.clone(), 2)), [vec!["a", "b", "c"], vec!["d"]]);
        assert_eq!(names(&groups(pieces.clone(), 1)), [vec!["a", "b", "c", "d"]]);
        let all: usize = groups(pieces, 7).iter().map(Vec::len).sum();
        assert_eq!(all, 4);
        assert_eq!(groups(Vec::new(), 3).len(), 3);
    }

    #[test]
    fn no_piece_is_lost_or_doubled() {
        for count in [1, 2, 3, 10, 1000] {
            let pieces: Vec<Piece> = (0..count).map(|at| piece(&at.to_string(), at * 7 % 5, None)).collect();
            for into in [1, 2, 3, 8, 100] {
                let flat: Vec<Piece> = groups(pieces.clone(), into).into_iter().flatten().collect();
                assert_eq!(flat, pieces);
            }
        }
    }

    #[test]
    fn ranges_and_files_may_be_mixed() {
        let pieces = vec![
            piece("a", 9, Some(0..1_000_000)),
            piece("a", 9, Some(1_000_000..2_000_000)),
            piece("b", 5, None),
        ];
        assert_eq!(names(&groups(pieces, 3)), [vec!["a"], vec!["a"], vec!["b"]]);
    }
}
