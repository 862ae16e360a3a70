//! What the program shows of the fixtures, as it stands in `tests/screens`.
//!
//! With `SCIFORMATS_SCREENS=write` in the environment the files are written instead of compared: look at what has changed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// The name of a screen, the command that shows it, and the exit status.
const SCREENS: &[(&str, &str, i32)] = &[
    ("info-gsd", "info gsd/hoomd-log.gsd", 0),
    ("info-blosc2", "info blosc2/grid.b2nd", 0),
    ("tree-gsd", "ls -r gsd/hoomd-log.gsd", 0),
    ("tree-asdf", "ls -r --attrs asdf/main.asdf", 0),
    ("tree-hdf5", "ls -rl hdf5/filters.h5", 0),
    ("folder", "ls asdf", 0),
    ("five-dimensions", "cat rawarray/five-dimensions.ra", 0),
    ("table", "cat gsd/hoomd-log.gsd /log", 0),
    ("attributes", "attrs hdf5/attributes.h5", 0),
    ("structures", "inspect rawarray/metadata.ra", 0),
    ("differences", "diff rawarray/f4.ra rawarray/f8.ra", 1),
    ("damage", "verify rawarray/f4.ra asdf/hostile/after-header.asdf", 1),
    ("conversion", "convert gsd/hoomd-log.gsd run.asdf --dry-run", 0),
    ("losses", "convert asdf/main.asdf run.gsd --dry-run", 1),
];

#[test]
fn screens_are_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let write = std::env::var_os("SCIFORMATS_SCREENS").is_some_and(|value| value == "write");
    for (name, command, status) in SCREENS {
        let output = Command::new(env!("CARGO_BIN_EXE_sciformats"))
            .current_dir(folder.join("../../fixtures"))
            .args(command.split(' '))
            .output()
            .unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*status), "{command}\n{shown}{errors}");
        assert_eq!(errors, "", "{command}");
        let file = folder.join("tests/screens").join(format!("{name}.txt"));
        if write {
            fs::create_dir_all(folder.join("tests/screens")).unwrap();
            fs::write(&file, &shown).unwrap();
        }
        // Line feeds of another system are no difference.
        let expected = fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n");
        assert_eq!(shown, expected, "{command} is not as in {}", file.display());
    }
}
