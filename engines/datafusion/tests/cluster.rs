//! Queries over a thousand files, which several processes run.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod common;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use common::{ROWS, folder_of_runs};

const FILES: i64 = 1000;

/// A process that runs parts of queries.
struct Worker {
    process: Child,
    lines: BufReader<ChildStdout>,
    address: String,
}

impl Worker {
    fn start(root: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sciformats-datafusion"));
        command.args(["worker", "--listen", "127.0.0.1:0", "--root"]).arg(root).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        let mut first = String::new();
        lines.read_line(&mut first).unwrap();
        let address = first.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { process, lines, address }
    }

    /// Waits for the next part of a query, and returns the number of pieces in it.
    fn part(&mut self) -> usize {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn query(folder: &Path, workers: &[&Worker], statement: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sciformats-datafusion"));
    let table = format!("runs={}/*.h5:/log", folder.display());
    command.args([
        "query",
        "--file-column",
        "file",
        "--table",
        &table,
        "--format",
        "csv",
        "--partitions",
        "2",
    ]);
    let addresses: Vec<&str> = workers.iter().map(|worker| worker.address.as_str()).collect();
    command.args(["--workers", &addresses.join(",")]).arg(statement);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

const GROUPS: &str = "SELECT kind, count(*) AS n, sum(number) AS s, min(half) AS low, count(DISTINCT file) AS files \
                      FROM runs GROUP BY kind ORDER BY kind";

/// What [`GROUPS`] returns, computed from how the files were made.
fn groups() -> String {
    let mut text = "kind,n,s,low,files\n".to_owned();
    for kind in 0..13 {
        let of: Vec<i64> = (0..FILES * ROWS).filter(|row| row % 13 == kind).collect();
        let mut files: Vec<i64> = of.iter().map(|row| row / ROWS).collect();
        files.dedup();
        let (sum, low) = (of.iter().sum::<i64>(), kind as f64 / 2.0);
        text += &format!("{kind},{},{sum},{low:?},{}\n", of.len(), files.len());
    }
    text
}

#[test]
fn a_thousand_files_on_several_machines() {
    let folder = tempfile::tempdir().unwrap();
    folder_of_runs(folder.path(), FILES);
    let mut first = Worker::start(folder.path());
    let mut second = Worker::start(folder.path());

    let output = query(folder.path(), &[&first, &second], GROUPS).output().unwrap();
    assert_eq!(text(&output), groups());
    // Both have read a part, and together all.
    let (one, other) = (first.part(), second.part());
    assert_eq!((one + other, one.abs_diff(other) < 3), (1000, true), "{one} and {other}");

    // A join, whose sides are exchanged between the workers.
    let join = "SELECT count(*) AS n FROM runs a JOIN runs b ON a.number = b.number + 1 WHERE a.kind = 4";
    let output = query(folder.path(), &[&first, &second], join).output().unwrap();
    let expected = (1..FILES * ROWS).filter(|row| row % 13 == 4).count();
    assert_eq!(text(&output), format!("n\n{expected}\n"));

    // A worker that is lost while it reads: the query is run again by the others.
    let mut third = Worker::start(folder.path());
    let running = query(folder.path(), &[&first, &second, &third], GROUPS).spawn().unwrap();
    third.part();
    third.process.kill().unwrap();
    third.process.wait().unwrap();
    let output = running.wait_with_output().unwrap();
    assert_eq!(text(&output), groups());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("1 of 3 workers are lost"), "{told}");

    // A worker that is gone before the query begins is left out.
    let output = query(folder.path(), &[&first, &second, &third], GROUPS).output().unwrap();
    assert_eq!(text(&output), groups());
    assert!(String::from_utf8_lossy(&output.stderr).contains("2 of 3 workers answer"));

    // Files outside of the folders of a worker are not read.
    let elsewhere = tempfile::tempdir().unwrap();
    let strict = [Worker::start(elsewhere.path()), Worker::start(elsewhere.path())];
    let output = query(folder.path(), &[&strict[0], &strict[1]], GROUPS).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && told.contains(".h5"), "{told}");

    // A damaged file is an error that names it, not a lost worker.
    std::fs::write(common::run(folder.path(), 700), "no file of any format").unwrap();
    let output = query(folder.path(), &[&first, &second], GROUPS).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && told.contains("run0700.h5") && !told.contains("lost"), "{told}");
}

#[test]
fn programs_say_how_they_are_used() {
    let program = || Command::new(env!("CARGO_BIN_EXE_sciformats-datafusion"));
    let output = program().arg("worker").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--root DIR"));
    let output = program().args(["query", "SELECT 1 + 1 AS two"]).output().unwrap();
    assert!(text(&output).contains("| 2   |"));
    let output = program().args(["query", "SELECT * FROM missing"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
}
