//! `sciformats-datafusion query` runs queries over tables of scientific files, here or on several machines; `sciformats-datafusion worker` runs
//! parts of them.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv::Writer as CsvWriter;
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use sciformats_datafusion::{FileCodec, FileScan, FileTable, TableOptions, Workers, context, serve};

const USAGE: &str = "\
usage: sciformats-datafusion query [OPTIONS] SQL...
       sciformats-datafusion worker --root DIR... [--listen HOST:PORT] [--memory BYTES]

query: runs statements, and prints the rows of the last one.
  --table NAME=LOCATION[:/PATH]  a table: a file, a folder or a pattern, and the path in each file
  --file-column NAME             a column with the file of each row, in the tables that follow
  --sorted COLUMN                a column in ascending order, in the tables that follow
  --workers HOST:PORT,...        the workers that run the query; without them this process does
  --partitions N                 the partitions that each machine reads at once (the number of its processors)
  --format table|csv|json        how rows are printed (table)
  --retries N                    how often a query is run again if a worker is lost before there are rows (2)

worker: runs parts of queries, and prints `listening on HOST:PORT` when it is ready.
  --root DIR                     a folder whose files may be read
  --listen HOST:PORT             where it listens (127.0.0.1, any port). There is no authentication
  --memory BYTES                 what groups, joins and sorting may hold; more is written to temporary files or refused
";

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Table,
    Csv,
    Json,
}

#[derive(Debug)]
struct Query {
    tables: Vec<(String, TableOptions)>,
    workers: Workers,
    partitions: Option<usize>,
    format: Format,
    retries: usize,
    statements: Vec<String>,
}

#[derive(Debug)]
struct Work {
    roots: Vec<PathBuf>,
    listen: String,
    memory: Option<usize>,
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let run = match words.next().as_deref() {
        Some("--version") => {
            println!("sciformats-datafusion {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        Some("--help") => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Some("query") => query(words).map(Run::Query),
        Some("worker") => worker(words).map(Run::Work),
        _ => Err("the first word is query or worker".to_owned()),
    };
    let run = match run {
        Ok(run) => run,
        Err(problem) => {
            eprint!("sciformats-datafusion: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("sciformats-datafusion: {error}");
            return ExitCode::from(4);
        }
    };
    let done = runtime.block_on(async {
        match run {
            Run::Query(query) => answer(&query).await,
            Run::Work(work) => work_until_told(work).await,
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sciformats-datafusion: {error}");
            ExitCode::from(4)
        }
    }
}

enum Run {
    Query(Query),
    Work(Work),
}

type Parsed<T> = std::result::Result<T, String>;

fn value(words: &mut impl Iterator<Item = String>, option: &str) -> Parsed<String> {
    words.next().ok_or_else(|| format!("{option} needs a value"))
}

fn number(words: &mut impl Iterator<Item = String>, option: &str) -> Parsed<usize> {
    let word = value(words, option)?;
    word.parse().map_err(|_| format!("{option} needs a number, not {word}"))
}

fn query(mut words: impl Iterator<Item = String>) -> Parsed<Query> {
    let mut query = Query {
        tables: Vec::new(),
        workers: Workers::new([""; 0]).map_err(|error| error.to_string())?,
        partitions: None,
        format: Format::Table,
        retries: 2,
        statements: Vec::new(),
    };
    let (mut file_column, mut sorted) = (None, None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--table" => {
                let given = value(&mut words, &word)?;
                let (name, location) =
                    given.split_once('=').ok_or_else(|| format!("--table {given} has no ="))?;
                let (location, path) = located(location);
                let mut options = TableOptions::new(location).with_path(path);
                options.file_column.clone_from(&file_column);
                options.sorted.clone_from(&sorted);
                query.tables.push((name.to_owned(), options));
            }
            "--file-column" => file_column = Some(value(&mut words, &word)?),
            "--sorted" => sorted = Some(value(&mut words, &word)?),
            "--workers" => {
                let given = value(&mut words, &word)?;
                query.workers = Workers::new(given.split(',')).map_err(|error| error.to_string())?;
            }
            "--partitions" => query.partitions = Some(number(&mut words, &word)?.max(1)),
            "--retries" => query.retries = number(&mut words, &word)?,
            "--format" => {
                query.format = match value(&mut words, &word)?.as_str() {
                    "table" => Format::Table,
                    "csv" => Format::Csv,
                    "json" => Format::Json,
                    other => return Err(format!("--format {other} is not table, csv or json")),
                };
            }
            option if option.starts_with("--") => return Err(format!("{option} is not an option")),
            _ => query.statements.push(word),
        }
    }
    if query.statements.is_empty() {
        return Err("there is no statement".to_owned());
    }
    Ok(query)
}

/// Divides a location from the path in the file.
fn located(text: &str) -> (&str, &str) {
    match text.rfind(":/") {
        Some(at) if !text.get(at..).is_some_and(|rest| rest.starts_with("://")) => text
            .split_at_checked(at)
            .map_or((text, "/"), |(location, path)| (location, path.get(1..).unwrap_or("/"))),
        _ => (text, "/"),
    }
}

fn worker(mut words: impl Iterator<Item = String>) -> Parsed<Work> {
    let mut work = Work { roots: Vec::new(), listen: "127.0.0.1:0".to_owned(), memory: None };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--root" => work.roots.push(value(&mut words, &word)?.into()),
            "--listen" => work.listen = value(&mut words, &word)?,
            "--memory" => work.memory = Some(number(&mut words, &word)?),
            other => return Err(format!("{other} is not an option of worker")),
        }
    }
    if work.roots.is_empty() {
        return Err("a worker needs --root DIR".to_owned());
    }
    Ok(work)
}

fn io(error: std::io::Error) -> DataFusionError {
    DataFusionError::IoError(error)
}

async fn work_until_told(work: Work) -> Result<()> {
    let codec = FileCodec::within(&work.roots)?;
    let mut runtime = RuntimeEnvBuilder::new();
    if let Some(bytes) = work.memory {
        runtime = runtime.with_memory_limit(bytes, 1.0);
    }
    let listener = tokio::net::TcpListener::bind(&work.listen).await.map_err(io)?;
    let address: SocketAddr = listener.local_addr().map_err(io)?;
    let mut out = std::io::stdout();
    writeln!(out, "listening on {address}").and_then(|()| out.flush()).map_err(io)?;
    let tell = move |scan: &FileScan| {
        let mut out = std::io::stdout();
        // A line that nobody reads is no reason to stop.
        let _ = writeln!(out, "reads {} pieces of {}", scan.pieces(), scan.path()).and_then(|()| out.flush());
    };
    let stop = async {
        // Without signals the worker runs until it is ended.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    serve(listener, codec, Arc::new(runtime.build()?), Some(Arc::new(tell)), stop).await
}

async fn answer(query: &Query) -> Result<()> {
    let mut tables = Vec::new();
    for (name, options) in &query.tables {
        tables.push((name, Arc::new(FileTable::open(options.clone())?)));
    }
    let mut workers = query.workers.alive().await;
    if workers.count() < query.workers.count() {
        eprintln!("sciformats-datafusion: {} of {} workers answer", workers.count(), query.workers.count());
    }
    // Connections are known by the address of their context, so contexts that were used stay.
    let mut used = Vec::new();
    let mut left = query.retries;
    loop {
        if workers.count() == 0 && query.workers.count() > 0 {
            return Err(DataFusionError::Execution("no worker answers".to_owned()));
        }
        let mut config = SessionConfig::new();
        if let Some(partitions) = query.partitions {
            config = config.with_target_partitions(partitions);
        }
        let context = context(&workers, config);
        for (name, table) in &tables {
            context.register_table(name.as_str(), Arc::clone(table) as _)?;
        }
        let mut printed = false;
        let Err(error) = run(query, &context, &mut printed).await else { return Ok(()) };
        used.push(context);
        let alive = after_failure(&workers).await;
        if printed || left == 0 || alive.count() == workers.count() {
            return Err(error);
        }
        eprintln!(
            "sciformats-datafusion: {} of {} workers are lost; the query is run again by the others",
            workers.count() - alive.count(),
            workers.count()
        );
        left -= 1;
        workers = alive;
    }
}

/// Returns the workers that are left after a query has failed. A process that ends closes its connections before it stops to
/// accept others, so it may seem alive for a moment.
async fn after_failure(workers: &Workers) -> Workers {
    for _ in 0..3 {
        let alive = workers.alive().await;
        if alive.count() < workers.count() {
            return alive;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    workers.alive().await
}

/// Runs the statements, and prints the rows of the last one.
async fn run(query: &Query, context: &SessionContext, printed: &mut bool) -> Result<()> {
    let Some((last, before)) = query.statements.split_last() else { return Ok(()) };
    for statement in before {
        context.sql(statement).await?.collect().await?;
    }
    let mut rows = context.sql(last).await?.execute_stream().await?;
    let out = std::io::stdout().lock();
    match query.format {
        Format::Table => {
            let schema = rows.schema();
            let mut all: Vec<RecordBatch> = Vec::new();
            while let Some(batch) = rows.next().await {
                all.push(batch?);
            }
            if all.is_empty() {
                all.push(RecordBatch::new_empty(schema));
            }
            *printed = true;
            let mut out = out;
            writeln!(out, "{}", pretty_format_batches(&all)?).map_err(io)
        }
        Format::Csv => {
            let mut out = CsvWriter::new(out);
            while let Some(batch) = rows.next().await {
                let batch = batch?;
                *printed |= batch.num_rows() > 0;
                out.write(&batch)?;
            }
            Ok(())
        }
        Format::Json => {
            let mut out = LineDelimitedWriter::new(out);
            while let Some(batch) = rows.next().await {
                let batch = batch?;
                *printed |= batch.num_rows() > 0;
                out.write(&batch)?;
            }
            Ok(out.finish()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Parsed<Query> {
        query(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn words_become_a_query() {
        let words = [
            "--table",
            "a=runs/*.h5:/log",
            "--file-column",
            "file",
            "--table",
            "b=x.h5",
            "--format",
            "csv",
            "SELECT 1",
        ];
        let query = parsed(&words).unwrap();
        assert_eq!(query.tables[0], ("a".to_owned(), TableOptions::new("runs/*.h5").with_path("/log")));
        assert_eq!(query.tables[1], ("b".to_owned(), TableOptions::new("x.h5").with_file_column("file")));
        assert_eq!((query.format, query.statements), (Format::Csv, vec!["SELECT 1".to_owned()]));
        for wrong in
            [vec![], vec!["--table", "a"], vec!["--format", "xml", "SELECT 1"], vec!["--what", "SELECT 1"]]
        {
            assert!(parsed(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn locations_and_paths() {
        assert_eq!(located("a.h5:/x:/y"), ("a.h5:/x", "/y"));
        assert_eq!(located("a.h5"), ("a.h5", "/"));
        assert_eq!(located("file:///a.h5"), ("file:///a.h5", "/"));
        assert_eq!(located("file:///a.h5:/log"), ("file:///a.h5", "/log"));
    }
}
