//! Every fixture, sound or damaged on purpose, through every command that reads: a right answer or a right refusal.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value as Json;

const FORMATS: [&str; 5] = ["asdf", "blosc2", "gsd", "hdf5", "rawarray"];

/// Commands that take a file; the last ones print JSON Lines or JSON.
const COMMANDS: &[&[&str]] = &[
    &["info"],
    &["ls", "-rl", "--attrs"],
    &["attrs"],
    &["verify"],
    &["inspect"],
    &["manifest"],
    &["ls", "-r", "--attrs", "--json"],
    &["info", "--json"],
    &["verify", "--json"],
];

/// Files of a folder, and the folders that are files themselves.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.is_file() || path.join("chunks.b2frame").is_file()).collect();
    files.sort();
    files
}

fn run(args: &[&str], file: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sciformats"));
    let output = command.args(args).arg(file).args(["--limit-memory", "64M"]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{args:?} {}: {errors}", file.display());
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{args:?} {}: {errors}", file.display());
    // A refusal is one line, and says which file.
    if output.status.code() == Some(3) {
        assert_eq!(errors.lines().count(), 1, "{args:?} {}: {errors}", file.display());
        let name = file.file_name().unwrap().to_string_lossy();
        assert!(errors.contains(&*name), "{args:?} {}: {errors}", file.display());
    }
    if args.contains(&"--json") || args.contains(&"manifest") {
        for line in String::from_utf8(output.stdout.clone()).unwrap().lines() {
            assert!(serde_json::from_str::<Json>(line).is_ok(), "{args:?} {}: {line}", file.display());
        }
    }
    output
}

/// Runs every command on the files of one folder of each format.
fn all(folder: &str, check: impl Fn(&Path, &[&str], &Output) + Sync) -> usize {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let files: Vec<PathBuf> = FORMATS
        .iter()
        .map(|format| fixtures.join(format).join(folder))
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| files(&folder))
        .collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    COMMANDS.iter().for_each(|args| check(file, args, &run(args, file)));
                    arrays(file);
                }
            });
        }
    });
    files.len()
}

/// The first arrays of a file, printed and drawn.
fn arrays(file: &Path) {
    let listed = run(&["ls", "-r", "--json"], file);
    let lines = String::from_utf8(listed.stdout).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    // A few bytes may stand for many: not all that is declared is worth the wait.
    let small = |line: &Json| line["logical"].as_u64().is_none_or(|size| size <= 1 << 20);
    let paths = lines
        .filter(|line| line["kind"] == "array" && small(line))
        .filter_map(|line| line["path"].as_str().map(String::from));
    for path in paths.take(3) {
        for args in [&["cat"][..], &["cat", "--json"], &["plot"], &["plot", "-k", "histogram"]] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_sciformats"));
            let output =
                command.args(args).arg(file).args([&path, "--limit-memory", "64M"]).output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            let what = format!("{args:?} {} {path}: {errors}", file.display());
            // What is no number, or a single one, has no picture.
            assert!(matches!(output.status.code(), Some(0..=3)), "{what}");
            // The caller may want what there is none of, or what is not opened unless it is asked for.
            let refused = errors.contains("null") || errors.contains("not opened");
            assert!(args[0] == "plot" || !matches!(output.status.code(), Some(1 | 2)) || refused, "{what}");
            // Beside the one line of an error there may be remarks about other files that are missing.
            let remarks = ["are shown as fill values", "the stored values are shown"];
            let lines = errors.lines().filter(|line| !remarks.iter().any(|remark| line.contains(remark)));
            assert!(!errors.contains("panicked") && lines.count() <= 1, "{what}");
        }
    }
}

#[test]
fn sound_files() {
    let count = all("", |file, args, output| {
        let refused = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?} {}: {refused}", file.display());
    });
    assert!(count >= 130, "{count}");
}

#[test]
fn damaged_files() {
    let sound = AtomicUsize::new(0);
    let count = all("hostile", |_, args, output| {
        if args == ["verify"] && output.status.code() == Some(0) {
            sound.fetch_add(1, Ordering::Relaxed);
        }
    });
    // Some are odd, or wrong by a schema that is not the format's, and no more.
    let sound = sound.into_inner();
    assert!(count >= 40 && sound <= count / 4, "{sound} of {count} are said to be sound");
}
