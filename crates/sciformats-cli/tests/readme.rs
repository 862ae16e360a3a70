//! The terminal sessions of the README and of the book show what the program prints.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A document in which each command, `$ …` in a fenced block, is followed by what it prints; and the number of commands.
fn renewed(text: &str, folder: &Path) -> (String, usize) {
    let (mut new, mut commands) = (String::new(), 0);
    let (mut fenced, mut output) = (false, false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            (fenced, output) = (!fenced, false);
        }
        let command = line.strip_prefix("$ ").filter(|_| fenced);
        if output && command.is_none() {
            continue; // what was printed before
        }
        new.push_str(line);
        new.push('\n');
        if let Some(command) = command {
            new.push_str(&run(command, folder));
            output = true;
            commands += 1;
        }
    }
    (new, commands)
}

/// The README, and all documents below `docs`.
fn documents(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.join("README.md")];
    let mut open = vec![root.join("docs")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|kind| kind == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Runs a line as a shell does, in a folder. The program is the one that was built for the tests.
fn run(line: &str, folder: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_sciformats")).parent().unwrap();
    let paths = env::var_os("PATH").unwrap_or_default();
    let paths = env::join_paths([program.to_path_buf()].into_iter().chain(env::split_paths(&paths))).unwrap();
    let mut shell = Command::new("sh");
    // Both streams go to one place, in the order in which they are written.
    shell.args(["-c", &format!("exec 2>&1\n{line}")]).current_dir(folder);
    for name in ["NO_COLOR", "LINES", "VISUAL"] {
        shell.env_remove(name);
    }
    let output = shell.env("PATH", paths).env("COLUMNS", "80").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// With `SCIFORMATS_RENEW` in the environment, documents that show something else are written anew.
#[test]
fn documents_show_what_is_printed() {
    let root = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    let (mut compared, mut wrong) = (0, String::new());
    for document in documents(&root) {
        // Files that are written go elsewhere; the commands of a document may use those of earlier ones.
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(root.join("fixtures"), dir.path().join("fixtures")).unwrap();
        let shown = fs::read_to_string(&document).unwrap();
        let (printed, commands) = renewed(&shown, dir.path());
        compared += commands;
        if printed == shown {
            continue;
        }
        if env::var_os("SCIFORMATS_RENEW").is_some() {
            fs::write(&document, printed).unwrap();
            continue;
        }
        let name = document.strip_prefix(&root).unwrap().display().to_string();
        let mut lines = shown.lines().zip(printed.lines()).enumerate();
        let (line, (old, new)) = lines.find(|(_, (old, new))| old != new).unwrap_or((0, ("", "")));
        wrong.push_str(&format!("{name}:{}: shows\n{old}\nand the program prints\n{new}\n", line + 1));
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(compared >= 40, "{compared}");
}
