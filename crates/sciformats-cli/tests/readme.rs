//! The README's terminal sessions, and those of the program's manual, show what the program prints.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;

use common::Program;

/// The commands of a document, and what stands below each: `$ sciformats …`, up to the next one or the end of the block.
fn sessions(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        match line.strip_prefix("$ sciformats ") {
            Some(command) => {
                found.push((command.to_owned(), String::new()));
                open = true;
            }
            None if line.starts_with("```") => open = false,
            None if open => {
                let (_, output) = found.last_mut().unwrap();
                output.push_str(line);
                output.push('\n');
            }
            None => {}
        }
    }
    found
}

#[test]
fn documents_show_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dir = tempfile::tempdir().unwrap();
    // Files that are written go elsewhere.
    std::os::unix::fs::symlink(fs::canonicalize(root.join("fixtures")).unwrap(), dir.path().join("fixtures"))
        .unwrap();
    let program = Program::at(dir.path()).with("COLUMNS", "80");
    let mut compared = 0;
    for document in ["README.md", "docs/cli.md"] {
        for (command, shown) in sessions(&fs::read_to_string(root.join(document)).unwrap()) {
            let output = program.run(&command.split_whitespace().collect::<Vec<_>>());
            let text = [output.stdout, output.stderr].concat();
            assert_eq!(String::from_utf8(text).unwrap(), shown, "{document}: {command}");
            compared += 1;
        }
    }
    assert!(compared >= 8, "{compared}");
}
