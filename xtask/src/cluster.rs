//! Reads references of all formats on a cluster of worker processes, and measures how their cost grows with files, chunks, workers and
//! tasks. The rows are kept in `bench/results/cluster.json`; they are a section of `docs/scaling.md`, which `cargo xtask scaling` writes.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::args::Args;
use crate::bench::machine::machine;
use crate::bench::render::time;
use crate::scaling::{self, number};
use crate::sh::{About, Failure, Result, cargo, root, run, target_folder};
use crate::wheel;

/// The task. It fails if a worker reads other values than the usual library of a format, or if a killed worker is not survived.
pub(crate) fn task(mut args: Args) -> Result {
    let (publish, quick, installed) =
        (args.flag("--publish"), args.flag("--quick"), args.flag("--installed"));
    let program = args.value("--program")?;
    args.end()?;
    if publish && quick {
        return Err(Failure::setup("--publish needs all sizes"));
    }
    let program = program.map_or_else(built, |program| Ok(PathBuf::from(program)))?;
    let python = if installed { wheel::environment()? } else { wheel::released()? };
    let folder = target_folder()?.join("cluster");
    fs::create_dir_all(&folder).about(&folder)?;
    let record = folder.join("rows.lines");
    if record.exists() {
        fs::remove_file(&record).about(&record)?;
    }
    let mut script = python.script(&root().join("xtask").join("python").join("cluster_measure.py"));
    script.arg(program).arg(folder.join("files")).arg(&record);
    run(script.args(quick.then_some("--quick")))?;
    if !publish {
        return Ok(());
    }
    let text = fs::read_to_string(&record).about(&record)?;
    let rows = text.trim_end().replace('\n', ",\n");
    let path = kept();
    let text = format!("{{\n\"machine\": {},\n\"rows\": [\n{rows}\n]\n}}\n", json!(machine()));
    fs::write(&path, text).about(&path)?;
    scaling::publish_kept().map(|_| ())
}

/// Builds the program as it is released, and returns its place.
fn built() -> Result<PathBuf> {
    run(cargo().args(["build", "--release", "--locked", "--package", "sciformats-cli"]))?;
    Ok(target_folder()?.join("release").join(format!("sciformats{}", std::env::consts::EXE_SUFFIX)))
}

fn kept() -> PathBuf {
    root().join("bench").join("results").join("cluster.json")
}

/// Returns the section of the document about the rows that are kept; nothing if there are none.
pub(crate) fn section() -> Result<String> {
    let path = kept();
    if !path.exists() {
        return Ok(String::new());
    }
    let value: Value = serde_json::from_str(&fs::read_to_string(&path).about(&path)?).about(&path)?;
    Ok(render(&value))
}

const HEAD: &str = "
## Clusters and references

What [references](references.md) to files cost those who make them, and those who read them on many workers. [One petabyte](science/petabyte.md)
is worked out from these figures. `cargo xtask cluster --publish` measures them and writes this section; before that, four worker
processes read references of all five formats through zarr-python and xarray, once undisturbed and once with a worker that is killed on
the way, and every value is compared with the usual library of the format and with sciformats. `cargo xtask cluster --quick` makes the
same comparisons and takes small sizes. Each point is one run. The memory of the program is its largest resident set.
";

const FILES: &str = "
### Files

`combine` joins files of 10 MB behind a server that waits for 60 ms before each answer. Each file has 20 chunks. If there
are many, the program begins with less of each.

| files | form | time | memory | requests | received per file | references per chunk |
|--:|---|--:|--:|--:|--:|--:|
";

const CHUNKS: &str = "
### Chunks

`references` of one local HDF5 file whose compressed chunks differ in length. Then a new process of Python opens the references through
zarr-python and reads one chunk; each of its requests waits for 60 ms, and its memory is what it takes beyond its imports.

| chunks | form | time | memory | size per chunk | opening, reading one chunk | memory of the reader | requests | received |
|--:|---|--:|--:|--:|--:|--:|--:|--:|
";

const WORKERS: &str = "
### Workers

xarray sums one dataset of chunks of 64 KiB through references in JSON, on worker processes of `dask.distributed` with one thread each. All
of them share the cores of this machine with the scheduler and the client, which are the limit if no request waits. Within a task,
zarr-python has ten requests under way; one after another, 2,000 of 60 ms would take two minutes.

| chunks per task | wait | workers | time | chunks per second | requests per chunk | memory of a worker |
|--:|--:|--:|--:|--:|--:|--:|
";

const TASKS: &str = "
### Tasks

What Dask itself costs: a sum over chunks that hold one number and are never read, on four workers. The scheduler and the client are one
process here. Its time on the processor says how many tasks a scheduler with a core of its own could pass on; the time on the clock is
longer, because it shares the machine with the workers.

| tasks | time | processor | tasks per second of the processor | memory per task |
|--:|--:|--:|--:|--:|
";

/// Returns the section.
fn render(kept: &Value) -> String {
    let rows: Vec<&Value> = kept["rows"].as_array().into_iter().flatten().collect();
    let of = |what: &'static str| rows.iter().copied().filter(move |row| row["what"] == what);
    let mut out = HEAD.to_owned();
    let facts = |value: &Value| {
        let facts = value.as_object().into_iter().flatten().filter(|(name, _)| *name != "what");
        facts
            .map(|(name, fact)| format!("{name} {}", fact.as_str().unwrap_or("?")))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let versions = of("versions").next().map(facts).unwrap_or_default();
    let _ = writeln!(out, "\nThe machine: {}.\n\nThe packages: {versions}.", facts(&kept["machine"]));
    out.push_str(FILES);
    of("combine").for_each(|row| out.push_str(&files(row)));
    out.push_str(CHUNKS);
    for row in of("references") {
        let reader = of("open").find(|open| open["form"] == row["form"] && open["chunks"] == row["chunks"]);
        out.push_str(&chunks(row, reader.unwrap_or(&Value::Null)));
    }
    out.push_str(WORKERS);
    of("read").for_each(|row| out.push_str(&workers(row)));
    out.push_str(TASKS);
    of("tasks").for_each(|row| out.push_str(&tasks(row)));
    out
}

/// Returns a number of a row, which a script has written; one that is missing is shown as such.
fn get(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or(f64::NAN)
}

/// The chunks of each file that `combine` joins.
const PER_FILE: f64 = 20.0;

fn files(row: &Value) -> String {
    let files = get(row, "files");
    format!(
        "| {} | {} | {} | {:.0} MiB | {} | {:.0} KiB | {:.1} B |\n",
        number(files),
        row["form"].as_str().unwrap_or("?"),
        time(get(row, "seconds")),
        get(row, "memory"),
        number(get(row, "requests")),
        get(row, "bytes") / files / 1024.0,
        get(row, "stored") / files / PER_FILE,
    )
}

fn chunks(row: &Value, reader: &Value) -> String {
    let chunks = get(row, "chunks");
    format!(
        "| {} | {} | {} | {:.0} MiB | {:.1} B | {} | {:.1} MiB | {} | {:.0} KiB |\n",
        number(chunks),
        row["form"].as_str().unwrap_or("?"),
        time(get(row, "seconds")),
        get(row, "memory"),
        get(row, "stored") / chunks,
        time(get(reader, "seconds")),
        get(reader, "memory"),
        number(get(reader, "requests")),
        get(reader, "bytes") / 1024.0,
    )
}

fn workers(row: &Value) -> String {
    let (chunks, seconds) = (get(row, "chunks"), get(row, "seconds"));
    format!(
        "| {} | {:.0} ms | {} | {} | {} | {:.3} | {:.0} MiB |\n",
        number(get(row, "per_task")),
        get(row, "wait") * 1000.0,
        number(get(row, "workers")),
        time(seconds),
        number(chunks / seconds),
        get(row, "requests") / chunks,
        get(row, "memory"),
    )
}

fn tasks(row: &Value) -> String {
    let (tasks, processor) = (get(row, "tasks"), get(row, "processor"));
    format!(
        "| {} | {} | {} | {} | {:.1} KiB |\n",
        number(tasks),
        time(get(row, "seconds")),
        time(processor),
        number(tasks / processor),
        get(row, "memory") * 1024.0 / tasks,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_row_has_its_table() {
        let kept = json!({
            "machine": {"cores": "2"},
            "rows": [
                {"what": "versions", "zarr": "3.1.6"},
                {"what": "tasks", "workers": 4, "tasks": 2048, "seconds": 3.0, "processor": 2.0, "memory": 4.0},
                {"what": "read", "workers": 2, "chunks": 2000, "per_task": 10, "wait": 0.06, "seconds": 4.0, "requests": 2002, "bytes": 1, "memory": 180.4},
                {"what": "combine", "form": "JSON", "files": 1000, "seconds": 5.0, "memory": 60.2, "requests": 3000, "bytes": 2_048_000, "stored": 1_000_000},
                {"what": "references", "form": "JSON", "chunks": 1000, "seconds": 0.02, "memory": 12.0, "stored": 36_500, "parts": 1},
                {"what": "references", "form": "Parquet", "chunks": 1000, "seconds": 0.01, "memory": 11.2, "stored": 2097, "parts": 2},
                {"what": "open", "form": "Parquet", "chunks": 1000, "seconds": 0.19, "memory": 3.0, "requests": 3, "bytes": 1_048_576},
                {"what": "open", "form": "JSON", "chunks": 1000, "seconds": 0.13, "memory": 4.5, "requests": 2, "bytes": 0},
            ],
        });
        let text = render(&kept);
        for line in [
            "The machine: cores 2.",
            "The packages: zarr 3.1.6.",
            "| 1,000 | JSON | 5.00 s | 60 MiB | 3,000 | 2 KiB | 50.0 B |",
            "| 1,000 | JSON | 20 ms | 12 MiB | 36.5 B | 130 ms | 4.5 MiB | 2 | 0 KiB |",
            "| 1,000 | Parquet | 10 ms | 11 MiB | 2.1 B | 190 ms | 3.0 MiB | 3 | 1024 KiB |",
            "| 10 | 60 ms | 2 | 4.00 s | 500 | 1.001 | 180 MiB |",
            "| 2,048 | 3.00 s | 2.00 s | 1,024 | 2.0 KiB |",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\nin\n{text}");
        }
        assert_eq!(text.matches("NaN").count(), 0, "{text}");
    }

    #[test]
    fn what_is_missing_in_a_row_is_seen() {
        assert!(tasks(&json!({"what": "tasks", "seconds": 1.0})).contains("NaN"));
    }
}
