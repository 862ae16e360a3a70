//! Tables beside pandas, PyTables, and h5py with pyarrow: 5 million rows of 12 columns.

use std::fs::File;
use std::io::BufWriter;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use harness::{Bench, Case, Outcome, Watch};
use sciformats_arrow::arrow_array::RecordBatch;
use sciformats_arrow::sciformats_conventions::Dataset;
use sciformats_arrow::{Batches, Comparison, Options, ParquetOptions, Predicate, Scalar, write_parquet};

/// The number of rows.
const ROWS: usize = 5_000_000;

fn main() -> ExitCode {
    Bench::new("tables", "python/tables_bench.py")
        .case(
            Case::new("all of 12 columns, table of pandas", 0.3)
                .fresh()
                .prepare(prepare)
                .ours(|folder, watch| scan(folder, ("pandas.h5", "/log"), Options::default(), ROWS, watch))
                .python("pandas.read_hdf"),
        )
        .case(
            Case::new("all of 12 columns, records", 0.3)
                .fresh()
                .prepare(prepare)
                .ours(|folder, watch| scan(folder, ("records.h5", "/log"), Options::default(), ROWS, watch))
                .python("PyTables")
                .python("h5py and pyarrow"),
        )
        .case(
            Case::new("2 of 12 columns, table of pandas", 0.15)
                .fresh()
                .prepare(prepare)
                .ours(|folder, watch| two_columns(folder, "pandas.h5", watch))
                .python("pandas.read_hdf"),
        )
        .case(
            Case::new("2 of 12 columns, records", 0.15)
                .fresh()
                .prepare(prepare)
                .ours(|folder, watch| two_columns(folder, "records.h5", watch))
                .python("PyTables")
                .python("h5py and pyarrow"),
        )
        .case(
            Case::new("2 of 12 columns, records, beside a loop", 1.2)
                .fresh()
                .prepare(prepare)
                .ours(|folder, watch| two_columns(folder, "records.h5", watch))
                .rust("a loop that copies and picks", loop_alone),
        )
        .case(
            Case::new("1,000 rows by a condition on a sorted column", 0.05)
                .prepare(prepare)
                .ours(|folder, watch| {
                    let from = Predicate::new("time", Comparison::GreaterOrEqual, Scalar::from(3_000_000));
                    let to = Predicate::new("time", Comparison::Less, Scalar::from(3_001_000));
                    let options = Options::default().with_filter(from).with_filter(to).with_sorted("time");
                    scan(folder, ("records.h5", "/log"), options, 1_000, watch)
                })
                .python("PyTables where")
                .python("PyTables where, indexed")
                .python("pandas.read_hdf where"),
        )
        .case(
            Case::new("1,000 rows by a condition on any column", 0.5)
                .prepare(prepare)
                .ours(|folder, watch| {
                    let from = Predicate::new("time", Comparison::GreaterOrEqual, Scalar::from(3_000_000));
                    let to = Predicate::new("time", Comparison::Less, Scalar::from(3_001_000));
                    let options = Options::default().with_filter(from).with_filter(to);
                    scan(folder, ("records.h5", "/log"), options, 1_000, watch)
                })
                .python("PyTables where"),
        )
        .case(Case::new("to Parquet", 0.5).fresh().prepare(prepare).ours(parquet).python("pandas"))
        .main()
}

/// Writes the files with the libraries of others.
fn prepare(folder: &Path) -> Outcome {
    if folder.join("done").exists() {
        return Ok(());
    }
    let python = std::env::var_os("SCIFORMATS_PYTHON").unwrap_or_else(|| "python3".into());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/python/tables_make.py");
    let status = Command::new(python).arg(script).arg(folder).status()?;
    if status.success() {
        Ok(std::fs::write(folder.join("done"), "")?)
    } else {
        Err("no files were made".into())
    }
}

fn scan(
    folder: &Path,
    (file, path): (&str, &str),
    options: Options,
    rows: usize,
    watch: &mut Watch,
) -> Outcome {
    let batches = watch.time(|| -> Outcome<Vec<RecordBatch>> {
        let data = Dataset::open(folder.join(file))?;
        Ok(Batches::open(&data, path, &options)?.collect::<Result<_, _>>()?)
    })?;
    let found: usize = batches.iter().map(RecordBatch::num_rows).sum();
    if found == rows { Ok(()) } else { Err(format!("{found} rows").into()) }
}

fn two_columns(folder: &Path, file: &str, watch: &mut Watch) -> Outcome {
    let options = Options::default().with_columns(["count", "x3"]);
    scan(folder, (file, "/log"), options, ROWS, watch)
}

/// Copies as many bytes out of the same file as the records have, and picks two numbers of each record, with as many threads: a plain
/// loop that finds, converts and checks nothing.
fn loop_alone(folder: &Path, watch: &mut Watch) -> Outcome {
    let threads = std::thread::available_parallelism()?.get();
    let columns = watch.time(|| -> Outcome<Vec<[Vec<u64>; 2]>> {
        let file = File::open(folder.join("records.h5"))?;
        std::thread::scope(|scope| {
            let share = ROWS.div_ceil(threads);
            let parts: Vec<_> = (0..threads)
                .map(|at| {
                    let (file, first) = (&file, (at * share).min(ROWS));
                    let rows = share.min(ROWS - first);
                    scope.spawn(move || pick(file, (first, rows)))
                })
                .collect();
            parts.into_iter().map(|part| part.join().map_err(|_| "a thread failed")?).collect()
        })
    })?;
    let found: usize = columns.iter().map(|[count, _]| count.len()).sum();
    if found == ROWS { Ok(()) } else { Err(format!("{found} rows").into()) }
}

/// Picks two numbers of each of some records.
fn pick(file: &File, (first, rows): (usize, usize)) -> Outcome<[Vec<u64>; 2]> {
    /// The size of a record, and the places of its fields `count` and `x3`.
    const RECORD: usize = 77;
    const PLACES: [usize; 2] = [8, 45];
    let mut columns = PLACES.map(|_| Vec::with_capacity(rows));
    let mut buffer = vec![0; (256 << 10) / RECORD * RECORD];
    let mut left = rows * RECORD;
    while left > 0 {
        let some = buffer.len().min(left);
        let piece = &mut buffer[..some];
        file.read_exact_at(piece, ((first + rows) * RECORD - left) as u64)?;
        for (column, place) in columns.iter_mut().zip(PLACES) {
            column.extend(
                piece
                    .as_chunks::<RECORD>()
                    .0
                    .iter()
                    .map(|record| u64::from_le_bytes(std::array::from_fn(|byte| record[place + byte]))),
            );
        }
        left -= some;
    }
    Ok(columns)
}

fn parquet(folder: &Path, watch: &mut Watch) -> Outcome {
    let path = folder.join("ours.parquet");
    let rows = watch.time(|| -> Outcome<u64> {
        let data = Dataset::open(folder.join("pandas.h5"))?;
        let out = BufWriter::new(File::create(&path)?);
        let batches = Batches::open(&data, "/log", &Options::default())?;
        Ok(write_parquet(batches, out, &ParquetOptions::default())?)
    })?;
    std::fs::remove_file(path)?;
    if rows == ROWS as u64 { Ok(()) } else { Err(format!("{rows} rows").into()) }
}
