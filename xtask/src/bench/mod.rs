//! Builds and runs the benches of `bench/`, one program per format, and publishes the results. The Python package has a
//! bench in Python.
//!
//! A bench that is recorded leaves its rows in `bench/results/`, from which `docs/benchmarks.md` is written.
//! Until it is finished, the rows are in `target/bench-files/NAME.lines`, so that an interrupted run can be
//! resumed.

pub(crate) mod machine;
mod notes;
pub(crate) mod render;
pub(crate) mod results;

use std::fs;
use std::path::{Path, PathBuf};

use crate::args::Args;
use crate::formats::{FORMATS, name_of};
use crate::python::Python;
use crate::sh::{About, Failure, Result, cargo, root, run, target_folder};
use notes::Notes;
use render::Section;
use results::{Keep, Results};

/// Benches that only run if they are named: the harness's test of itself, and the bench that has a task of
/// its own.
const APART: [&str; 2] = ["selftest", "scaling"];

/// The bench of the Python package, which is a script.
const PACKAGE: &str = "python";

/// What is to be run.
struct Request {
    bench: Option<String>,
    /// A part of the names of the cases to run.
    cases: Option<String>,
    /// Whether results are kept, and what becomes of those that were kept before.
    record: Option<Keep>,
    /// Continues a run that was interrupted.
    resume: bool,
}

/// The task. It fails if a goal is missed; if results are recorded, it fails only if a goal is missed for an
/// unknown reason.
pub(crate) fn task(mut args: Args) -> Result {
    let (all, render, record) = (args.flag("--all"), args.flag("--render"), args.flag("--record"));
    let record = match args.flag("--again") {
        true => Some(Keep::Runs),
        false => (record || all).then_some(Keep::Newest),
    };
    let bench = args.word().map(|word| name_of(&word).to_owned());
    let request = Request { bench, cases: args.word(), record, resume: args.flag("--resume") };
    args.end()?;
    if all && request.bench.is_some() {
        return Err(Failure::setup("--all runs every bench, so no bench can be named with it"));
    }
    let outcome = if render { Ok(()) } else { measure(&request) };
    if render || request.record.is_some() { publish() } else { outcome }
}

fn measure(request: &Request) -> Result {
    let mut all = programs(&root().join("bench").join("src").join("bin"))?;
    all.push(PACKAGE.to_owned());
    let chosen: Vec<&String> = match &request.bench {
        None => all.iter().filter(|name| !APART.contains(&name.as_str())).collect(),
        Some(asked) => all.iter().filter(|name| *name == asked).collect(),
    };
    if let (Some(asked), true) = (&request.bench, chosen.is_empty()) {
        return Err(Failure::setup(format!("no bench {asked}; there are: {}", all.join(", "))));
    }
    let mut missed = Vec::new();
    for name in chosen {
        let python = python(name);
        if let Err(failure) = &python {
            eprintln!("the Python peers cannot run: {failure}");
        }
        let lines = target_folder()?.join("bench-files").join(format!("{name}.lines"));
        let mut command = match &python {
            Ok(python) if name == PACKAGE => script(python, &lines)?,
            _ => program(name, python.as_ref().ok())?,
        };
        command.env("SCIFORMATS_BENCH_RECORD", &lines).args(&request.cases);
        if lines.exists() && !request.resume {
            fs::remove_file(&lines).about(&lines)?;
        }
        if run(&mut command).is_err() {
            missed.push(name.as_str());
        }
        if let Some(how) = request.record {
            let part = request.cases.is_some() || how == Keep::Runs;
            keep(name, &lines, (part, how), python.as_ref().ok())?;
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("these rows failed: {}", missed.join(", ")).into()) }
}

/// Returns the environment with the Python peers of a bench. Libraries that only compress are of no use to the
/// conformance run, so they have an environment of their own.
fn python(bench: &str) -> Result<Python> {
    match bench {
        "encoders" => Python::prepare_in("venv-encoders", "requirements-encoders.txt"),
        "tables" => crate::conform::tables_python(),
        PACKAGE => crate::wheel::released(),
        _ => Python::prepare(),
    }
}

/// Returns the command that builds and runs a program of `bench/`.
pub(crate) fn program(name: &str, python: Option<&Python>) -> Result<std::process::Command> {
    let place = target_folder()?.join("bench-files");
    fs::create_dir_all(&place).about(&place)?;
    let mut command = cargo();
    command.args(["run", "--release", "--bin", name, "--"]).current_dir(root().join("bench"));
    command.env("SCIFORMATS_BENCH_DIR", &place);
    if let Some(python) = python {
        command.env("SCIFORMATS_PYTHON", python.interpreter());
    }
    Ok(command)
}

/// Returns the command that runs the bench of the Python package.
fn script(python: &Python, lines: &Path) -> Result<std::process::Command> {
    let place = target_folder()?.join("bench-files");
    fs::create_dir_all(&place).about(&place)?;
    let mut command = python.script(&root().join("bench").join("python").join("package.py"));
    command.arg("pairs").arg(place.join("package")).arg(lines);
    Ok(command)
}

/// Keeps the rows that a bench has written. If only a part of its cases ran, or if a run is added to others, the other rows remain.
fn keep(name: &str, lines: &Path, (part, how): (bool, Keep), python: Option<&Python>) -> Result {
    let rows = results::rows(&fs::read_to_string(lines).about(lines)?)?;
    let path = Results::path(name);
    let mut results = if part { Results::read(&path)?.unwrap_or_default() } else { Results::default() };
    let machine = machine::machine();
    // Releases of the system and what it leaves of the memory differ from one start to the next.
    let is_same = |fact: &str| results.machine.get(fact) == machine.get(fact);
    let is_comparable =
        results.rows.is_empty() || ["compiler", "cores", "processor"].into_iter().all(is_same);
    let how = match (how, is_comparable) {
        (Keep::Runs, false) => {
            eprintln!(
                "{name}: the machine or its compiler is not that of the earlier runs, which are replaced"
            );
            Keep::Newest
        }
        (how, _) => how,
    };
    results.renew(rows, how);
    results.machine = machine;
    results.versions = machine::versions(name, python, &results.rows)?;
    results.write(&path)
}

/// Writes the document from the kept rows. Fails if a row misses its goal for an unknown reason, or could not
/// run.
fn publish() -> Result {
    let notes_file = root().join("bench").join("notes.toml");
    let text = fs::read_to_string(&notes_file).about(&notes_file)?;
    let mut sections = Vec::new();
    for bench in
        FORMATS.iter().map(|format| format.name).chain(["cli", PACKAGE, "encoders", "filters", "tables"])
    {
        if let Some(results) = Results::read(&Results::path(bench))? {
            sections.push(Section { notes: Notes::parse(&text, bench)?, results });
        }
    }
    let document = document();
    fs::write(&document, render::document(&sections)).about(&document)?;
    let mut all_faults = Vec::new();
    for Section { notes, results } in &sections {
        let (faults, idle) = notes.disagreements(results);
        all_faults.extend(faults);
        idle.iter().for_each(|line| eprintln!("{line}"));
    }
    println!("{}: {} benches", document.display(), sections.len());
    if all_faults.is_empty() { Ok(()) } else { Err(all_faults.join("\n").into()) }
}

fn document() -> PathBuf {
    root().join("docs").join("benchmarks.md")
}

/// Returns the names of the programs, sorted.
fn programs(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).about(folder)? {
        let entry = entry.about(folder)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().join("main.rs").is_file() {
            names.push(name);
        } else {
            names.extend(name.strip_suffix(".rs").map(str::to_owned));
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_and_each_folder_with_a_main_file_is_a_program() {
        let place = tempfile::tempdir().unwrap();
        for folder in ["hdf5", "empty"] {
            fs::create_dir(place.path().join(folder)).unwrap();
        }
        fs::write(place.path().join("hdf5/main.rs"), "").unwrap();
        for name in ["gsd.rs", "asdf.rs", "notes.md"] {
            fs::write(place.path().join(name), "").unwrap();
        }
        assert_eq!(programs(place.path()).unwrap(), ["asdf", "gsd", "hdf5"]);
    }
}
