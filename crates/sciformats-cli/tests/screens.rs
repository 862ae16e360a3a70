//! What the program shows of the fixtures, as it stands in `tests/screens`.
//!
//! With `SCIFORMATS_SCREENS=write` in the environment the files are written instead of compared: look at what has changed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// The name of a screen, the command that shows it, and the exit status; `|40` after a command for a terminal of 40 columns.
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
    ("tree-of-40-columns", "ls -rl hdf5/filters.h5|40", 0),
    ("tree-of-20-columns", "ls -r --attrs gsd/hoomd-log.gsd|20", 0),
    ("values-of-20-columns", "cat rawarray/five-dimensions.ra|20", 0),
    ("picture-of-a-line", "plot gsd/hoomd-log.gsd /log/energy|60", 0),
    ("picture-without-colours", "plot blosc2/grid.b2nd|60", 0),
    ("picture-of-bars", "plot blosc2/grid.b2nd -k histogram|60", 0),
    ("twelve-dimensions", "cat TWELVE -s 0,:,0,0,0,0,0,0,0", 0),
    ("no-numbers", "cat NAN", 0),
    ("picture-of-no-numbers", "plot NAN|60", 0),
];

/// A RawArray file of 64-bit floats, byte by byte as the format states it.
fn raw_array(path: &Path, dims: &[u64], values: &[f64]) {
    let mut bytes = b"rawarray".to_vec(); // magic
    for word in [0, 3, 8, 8 * values.len() as u64, dims.len() as u64] {
        bytes.extend(word.to_le_bytes()); // flags, eltype, elbyte, size, ndims
    }
    dims.iter().for_each(|dim| bytes.extend(dim.to_le_bytes()));
    values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
    fs::write(path, bytes).unwrap();
}

#[test]
fn screens_are_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let write = std::env::var_os("SCIFORMATS_SCREENS").is_some_and(|value| value == "write");
    let dir = tempfile::tempdir().unwrap();
    let (twelve, nan) = (dir.path().join("twelve.ra"), dir.path().join("nan.ra"));
    let ramp: Vec<f64> = (0..4096).map(f64::from).collect();
    raw_array(&twelve, &[2; 12], &ramp);
    let holes: Vec<f64> = (0..400).map(|i| if i % 3 == 0 { f64::from(i).sin() } else { f64::NAN }).collect();
    raw_array(&nan, &[20, 20], &holes);
    let place = |word: &str| match word {
        "TWELVE" => twelve.clone(),
        "NAN" => nan.clone(),
        other => other.into(),
    };
    for (name, command, status) in SCREENS {
        let (arguments, columns) = command.split_once('|').unwrap_or((command, ""));
        let mut program = Command::new(env!("CARGO_BIN_EXE_sciformats"));
        program.current_dir(folder.join("../../fixtures")).env_remove("COLUMNS").env_remove("LINES");
        if !columns.is_empty() {
            program.env("COLUMNS", columns);
        }
        let output = program.args(arguments.split(' ').map(place)).output().unwrap();
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
