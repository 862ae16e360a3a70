//! Tables of files in DataFusion: queries, and what reaches the files.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{ROWS, collected, folder_of_runs, run, shown, write};
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::bytes::{
    logical_plan_from_bytes_with_extension_codec, logical_plan_to_bytes_with_extension_codec,
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};
use datafusion_proto::physical_plan::{DefaultPhysicalProtoConverter, PhysicalExtensionCodec};
use sciformats_arrow::write::Form;
use sciformats_datafusion::{FileCodec, FileScan, FileTable, TableOptions, Workers, context};

const FILES: i64 = 30;

fn session() -> SessionContext {
    let nobody = Workers::new([""; 0]).unwrap();
    context(&nobody, SessionConfig::new().with_target_partitions(4))
}

fn with(options: TableOptions) -> SessionContext {
    let context = session();
    context.register_table("runs", Arc::new(FileTable::open(options).unwrap())).unwrap();
    context
}

fn pattern(folder: &Path) -> TableOptions {
    TableOptions::new(format!("{}/*.h5", folder.display())).with_path("/log")
}

/// The scan of files in a plan, after it has run.
fn scan(plan: &Arc<dyn ExecutionPlan>) -> Option<&FileScan> {
    plan.downcast_ref::<FileScan>().or_else(|| plan.children().into_iter().find_map(scan))
}

/// Runs a query, and returns the number of rows and of files that were opened for it.
async fn opened(context: &SessionContext, query: &str) -> (usize, usize) {
    let plan = context.sql(query).await.unwrap().create_physical_plan().await.unwrap();
    let rows = collect(Arc::clone(&plan), context.task_ctx()).await.unwrap();
    let rows = rows.iter().map(|batch| batch.num_rows()).sum();
    let metrics = scan(&plan).unwrap().metrics().unwrap();
    (rows, metrics.sum_by_name("files_opened").map_or(0, |count| count.as_usize()))
}

#[tokio::test]
async fn groups_over_many_files() {
    let folder = tempfile::tempdir().unwrap();
    folder_of_runs(folder.path(), FILES);
    let context = with(pattern(folder.path()));
    let query = "SELECT kind, count(*) AS n, sum(number) AS s, min(half), max(name) FROM runs GROUP BY kind ORDER BY kind";
    let rows = collected(&context, query).await;
    let mut kinds = 0;
    for batch in &rows {
        for at in 0..batch.num_rows() {
            let kind = batch.column(0).as_primitive::<Int64Type>().value(at);
            let of: Vec<i64> = (0..FILES * ROWS).filter(|row| row % 13 == kind).collect();
            assert_eq!(batch.column(1).as_primitive::<Int64Type>().value(at), of.len() as i64);
            assert_eq!(batch.column(2).as_primitive::<Int64Type>().value(at), of.iter().sum::<i64>());
            kinds += 1;
        }
    }
    assert_eq!(kinds, 13);
}

#[tokio::test]
async fn files_are_opened_when_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    folder_of_runs(folder.path(), FILES);
    // Only the first file has to be readable before there is a query.
    for file in 1..FILES {
        std::fs::write(run(folder.path(), file), "not a file of any format").unwrap();
    }
    let context = with(pattern(folder.path()).with_file_column("file"));
    let first = run(folder.path(), 0).display().to_string();
    let query = format!("SELECT number FROM runs WHERE file = '{first}'");
    assert_eq!(opened(&context, &query).await, (ROWS as usize, 1));
    let error = context.sql("SELECT sum(number) FROM runs").await.unwrap().collect().await.unwrap_err();
    assert!(error.to_string().contains("run00"), "{error}");
}

#[tokio::test]
async fn limits_end_the_reading() {
    let folder = tempfile::tempdir().unwrap();
    folder_of_runs(folder.path(), FILES);
    let context = with(pattern(folder.path()));
    let (rows, files) = opened(&context, "SELECT number FROM runs LIMIT 3").await;
    assert_eq!(rows, 3);
    // At most one file in each partition.
    assert!((1..=4).contains(&files), "{files}");
    // Rows that an exact condition leaves are counted.
    let (rows, _) = opened(&context, "SELECT number FROM runs WHERE kind = 5 LIMIT 9").await;
    assert_eq!(rows, 9);
}

#[tokio::test]
async fn a_large_file_is_divided() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = "number,text\n".to_owned();
    for row in 0..1000 {
        lines += &format!("{row},t{}\n", row % 7);
    }
    let at = folder.path().join("large.h5");
    write(&at, Form::PyTables, &lines);
    let options = TableOptions::new(at.to_str().unwrap()).with_path("/log");
    for piece_rows in [1, 17, 100, 999, 1000, 5000] {
        let context = with(options.clone().with_piece_rows(piece_rows));
        let query = "SELECT sum(number), min(number), max(number), count(text) FROM runs";
        let batch = collected(&context, query).await.remove(0);
        let values: Vec<i64> =
            batch.columns().iter().map(|one| one.as_primitive::<Int64Type>().value(0)).collect();
        assert_eq!(values, [499_500, 0, 999, 1000], "{piece_rows}");
        let plan =
            context.sql("SELECT number FROM runs").await.unwrap().create_physical_plan().await.unwrap();
        let pieces = scan(&plan).unwrap().pieces();
        assert!(pieces >= 1 && pieces <= 1000_usize.div_ceil(piece_rows as usize), "{piece_rows}: {pieces}");
        // The rows are known, so nothing is read to count them.
        let plan =
            context.sql("SELECT count(*) FROM runs").await.unwrap().create_physical_plan().await.unwrap();
        assert!(scan(&plan).is_none());
        let count = collect(plan, context.task_ctx()).await.unwrap().remove(0);
        assert_eq!(count.column(0).as_primitive::<Int64Type>().value(0), 1000);
    }
    let sorted = with(options.with_sorted("number"));
    assert_eq!(opened(&sorted, "SELECT text FROM runs WHERE number BETWEEN 300 AND 309").await, (10, 1));
}

/// The engine must answer as it does for the same rows in memory, whatever reaches the files.
#[tokio::test]
async fn conditions_mean_what_they_mean_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = "i,x,t\n".to_owned();
    for row in 0..60 {
        let x = match row % 6 {
            0 => String::new(),
            1 => "-0.0".to_owned(),
            2 => "0.0".to_owned(),
            3 => "1e300".to_owned(),
            other => format!("{}", f64::from(other) - 4.5),
        };
        lines += &format!("{},{x},{}\n", row - 30, ["a", "\"\"", "ü", "zz"][row as usize % 4]);
    }
    let at = folder.path().join("a.h5");
    write(&at, Form::Records, &lines);
    let files = with(TableOptions::new(at.to_str().unwrap()).with_path("/log").with_piece_rows(13));
    let rows = collected(&files, "SELECT * FROM runs").await;
    let memory = SessionContext::new();
    let table = MemTable::try_new(rows[0].schema(), vec![rows]).unwrap();
    memory.register_table("runs", Arc::new(table)).unwrap();
    let values = ["-0.0", "0.0", "0", "1e300", "0.5", "CAST('NaN' AS DOUBLE)", "-CAST('NaN' AS DOUBLE)"];
    let mut conditions = Vec::new();
    for op in ["=", "<>", "<", "<=", ">", ">="] {
        conditions.extend(values.iter().map(|value| format!("x {op} {value}")));
        conditions.extend(values.iter().map(|value| format!("x {op} {value} AND x > -1.0 AND x < 2.0")));
        conditions.extend(["-7", "3", "100"].iter().map(|value| format!("i {op} {value}")));
        conditions.extend(["'a'", "''", "'ü'", "'m'"].iter().map(|value| format!("t {op} {value}")));
        conditions.extend(["i", "x"].iter().map(|one| format!("{one} {op} 2 OR t = 'a'")));
    }
    conditions.extend(
        ["x IS NULL", "x BETWEEN -0.0 AND 0.0", "NOT (i > 3)", "i IN (1, 2)", "t LIKE 'z%'"]
            .map(String::from),
    );
    let mut kept = 0;
    for condition in &conditions {
        let query = format!("SELECT i, x, t FROM runs WHERE {condition} ORDER BY i");
        let (one, other) = (shown(&files, &query).await, shown(&memory, &query).await);
        assert_eq!(one, other, "{condition}");
        kept += one.lines().count();
    }
    assert!(kept > conditions.len() * 4);
}

#[tokio::test]
async fn tables_are_created_by_sql() {
    let folder = tempfile::tempdir().unwrap();
    folder_of_runs(folder.path(), 3);
    let context = session();
    let place = folder.path().display();
    let create = format!(
        "CREATE EXTERNAL TABLE runs STORED AS HDF5 LOCATION '{place}/*.h5' OPTIONS (path '/log', file_column 'file')"
    );
    collected(&context, &create).await;
    let text = shown(&context, "SELECT count(DISTINCT file) AS files, count(number) AS rows FROM runs").await;
    assert!(text.contains("| 3     | 21   |"), "{text}");
    for (wrong, problem) in [
        (
            format!("CREATE EXTERNAL TABLE a (number INT) STORED AS HDF5 LOCATION '{place}'"),
            "those of the first file",
        ),
        (
            format!("CREATE EXTERNAL TABLE a STORED AS GSD LOCATION '{place}' OPTIONS (pat '/log')"),
            "have pat",
        ),
        (format!("CREATE EXTERNAL TABLE a STORED AS HDF5 LOCATION '{place}/none.h5'"), "is not there"),
        (
            format!("CREATE EXTERNAL TABLE a STORED AS HDF5 LOCATION '{place}/*.h5' OPTIONS (path '/lag')"),
            "/lag",
        ),
    ] {
        let error = match context.sql(&wrong).await {
            Ok(made) => made.collect().await.unwrap_err(),
            Err(error) => error,
        };
        assert!(error.to_string().contains(problem), "{wrong}: {error}");
    }
}

#[tokio::test]
async fn files_that_differ_are_named() {
    let folder = tempfile::tempdir().unwrap();
    folder_of_runs(folder.path(), 3);
    write(&run(folder.path(), 1), Form::Records, "number,kind,half,name\n1.5,2,3.5,n1\n");
    let context = with(pattern(folder.path()));
    let error =
        context.sql("SELECT sum(number) FROM runs").await.unwrap().collect().await.unwrap_err().to_string();
    assert!(error.contains("run0001.h5") && error.contains("Float64") && error.contains("Int64"), "{error}");
    // Columns that are not requested do not matter.
    assert_eq!(opened(&context, "SELECT kind FROM runs").await.0, 15);
    write(&run(folder.path(), 2), Form::Records, "number,half\n1,3.5\n");
    let error =
        context.sql("SELECT sum(kind) FROM runs").await.unwrap().collect().await.unwrap_err().to_string();
    assert!(error.contains("run0002.h5") && error.contains("kind"), "{error}");
}

#[tokio::test]
async fn files_that_changed_after_planning_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    folder_of_runs(folder.path(), 2);
    let context = with(pattern(folder.path()));
    let plan = context.sql("SELECT number FROM runs").await.unwrap().create_physical_plan().await.unwrap();
    write(&run(folder.path(), 1), Form::Records, "number,kind,half,name\n1,2,3.5,n1\n");
    let error = collect(plan, context.task_ctx()).await.unwrap_err().to_string();
    assert!(error.contains("run0001.h5 was changed"), "{error}");
}

#[tokio::test]
async fn plans_travel_as_bytes() {
    let folder = tempfile::tempdir().unwrap();
    folder_of_runs(folder.path(), 5);
    let context = with(pattern(folder.path()).with_file_column("file"));
    let queries = [
        "SELECT file, number, name FROM runs WHERE kind > 3 AND half BETWEEN 1.0 AND 14.0 AND name <> 'n1'",
        "SELECT kind, sum(number) FROM runs GROUP BY kind",
        "SELECT half FROM runs LIMIT 4",
        "SELECT number + 1 FROM runs",
    ];
    for query in queries {
        let plan = context.sql(query).await.unwrap().create_physical_plan().await.unwrap();
        let codec = FileCodec::within(&[folder.path().to_owned()]).unwrap();
        let bytes = physical_plan_to_bytes_with_extension_codec(Arc::clone(&plan), &codec).unwrap();
        let task = context.task_ctx();
        let again = physical_plan_from_bytes_with_extension_codec(&bytes, &task, &codec).unwrap();
        assert_eq!(
            format!("{:?}", scan(&plan).unwrap().properties()),
            format!("{:?}", scan(&again).unwrap().properties())
        );
        let rows = |plan: Arc<dyn ExecutionPlan>, task: Arc<TaskContext>| async move {
            let batches = collect(plan, task).await.unwrap();
            let text = datafusion::arrow::util::pretty::pretty_format_batches(&batches).unwrap().to_string();
            let mut lines: Vec<String> = text.lines().map(String::from).collect();
            lines.sort();
            lines
        };
        let rows_before = rows(plan, Arc::clone(&task)).await;
        let again_for_bytes = Arc::clone(&again);
        let rows_after = rows(again, Arc::clone(&task)).await;
        assert_eq!(rows_before.len(), rows_after.len(), "{query}");
        if !query.contains("LIMIT") {
            assert_eq!(rows_before, rows_after, "{query}");
        }
        // No part of the bytes of a scan makes the other side panic.
        let mut bytes_of_scan = Vec::new();
        let node: Arc<dyn ExecutionPlan> = Arc::new(scan(&again_for_bytes).unwrap().clone());
        let how = DefaultPhysicalProtoConverter {};
        PhysicalExtensionCodec::try_encode(&codec, node, &mut bytes_of_scan, &how).unwrap();
        let read = |bytes: &[u8]| PhysicalExtensionCodec::try_decode(&codec, bytes, &[], &task, &how);
        assert!(read(&bytes_of_scan).is_ok());
        for cut in 0..bytes_of_scan.len() {
            let _ = read(&bytes_of_scan[..cut]);
            let mut damaged = bytes_of_scan.clone();
            damaged[cut] ^= 0x15;
            let _ = read(&damaged);
        }
        // A machine that is for other folders refuses the files.
        let elsewhere = tempfile::tempdir().unwrap();
        let other = FileCodec::within(&[elsewhere.path().to_owned()]).unwrap();
        let error =
            physical_plan_from_bytes_with_extension_codec(&bytes, &task, &other).unwrap_err().to_string();
        assert!(error.contains("run0000.h5"), "{error}");
    }
}

#[tokio::test]
async fn tables_travel_as_bytes() {
    let folder = tempfile::tempdir().unwrap();
    folder_of_runs(folder.path(), 5);
    let context = with(pattern(folder.path()).with_file_column("file").with_sorted("number"));
    let query = "SELECT file, sum(number) AS s FROM runs WHERE number > 10 GROUP BY file ORDER BY file";
    let plan: LogicalPlan = context.sql(query).await.unwrap().into_optimized_plan().unwrap();
    let codec = FileCodec::within(&[folder.path().to_owned()]).unwrap();
    let bytes = logical_plan_to_bytes_with_extension_codec(&plan, &codec).unwrap();
    let other = session();
    let again = logical_plan_from_bytes_with_extension_codec(&bytes, &other.task_ctx(), &codec).unwrap();
    let one = context.execute_logical_plan(plan).await.unwrap().to_string().await.unwrap();
    let two = other.execute_logical_plan(again).await.unwrap().to_string().await.unwrap();
    assert_eq!(one, two);
    assert!(one.contains("run0004.h5"), "{one}");
    let elsewhere = tempfile::tempdir().unwrap();
    let codec = FileCodec::within(&[elsewhere.path().to_owned()]).unwrap();
    let again = logical_plan_from_bytes_with_extension_codec(&bytes, &other.task_ctx(), &codec).unwrap();
    let refused = other.execute_logical_plan(again).await.unwrap().collect().await.unwrap_err().to_string();
    assert!(refused.contains("run0000.h5"), "{refused}");
}

#[tokio::test]
async fn pieces_are_divided_among_machines() {
    let folder = tempfile::tempdir().unwrap();
    folder_of_runs(folder.path(), 10);
    let context = with(pattern(folder.path()));
    let plan = context.sql("SELECT number FROM runs").await.unwrap().create_physical_plan().await.unwrap();
    let whole = scan(&plan).unwrap();
    for machines in [1, 2, 3, 20] {
        let parts = whole.divided(machines, 4);
        assert_eq!(parts.len(), machines);
        let counts: Vec<usize> =
            parts.iter().map(|part| part.properties().partitioning.partition_count()).collect();
        assert!(counts.iter().all(|count| *count == counts[0] && *count <= 4), "{counts:?}");
        let mut numbers = Vec::new();
        for part in parts {
            for batch in collect(Arc::new(part), context.task_ctx()).await.unwrap() {
                numbers.extend(batch.column(0).as_primitive::<Int64Type>().values().iter().copied());
            }
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (0..10 * ROWS).collect::<Vec<_>>());
    }
}

#[test]
fn options_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    folder_of_runs(folder.path(), 1);
    let wrong = [
        (pattern(folder.path()).with_file_column("kind"), "two columns kind"),
        (pattern(folder.path()).with_sorted("nmber"), "number"),
        (pattern(folder.path()).with_piece_rows(0), "piece_rows"),
        (pattern(folder.path()).with_path("/lag"), "/lag"),
    ];
    for (options, problem) in wrong {
        let error = FileTable::open(options).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    let table = FileTable::open(pattern(folder.path()).with_file_column("file")).unwrap();
    let names: Vec<String> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["file", "number", "kind", "half", "name"]);
}
