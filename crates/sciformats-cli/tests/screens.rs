//! What the program shows of the fixtures, as it stands in `tests/screens`.
//!
//! With `SCIFORMATS_SCREENS=write` in the environment the files are written instead of compared: look at what has changed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "common/matlab.rs"]
mod matlab;

use std::fs;
use std::path::Path;

use crate::common::{Program, cells, climate, raw_array};
use sciformats::hdf5_pure;

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
    ("names-that-are-not-utf-8", "ls -r --attrs LATIN", 0),
    ("climate-60", "ls CLIMATE|60", 0),
    ("climate-80", "ls CLIMATE|80", 0),
    ("climate-160", "ls CLIMATE|160", 0),
    ("climate-attributes-80", "ls --attrs CLIMATE|80", 0),
    ("climate-long-160", "ls -l CLIMATE|160", 0),
    ("climate-info-60", "info CLIMATE|60", 0),
    ("climate-info-80", "info CLIMATE|80", 0),
    ("climate-info-160", "info CLIMATE|160", 0),
    ("climate-values", "cat CLIMATE /tas|80", 0),
    ("climate-dates-60", "cat CLIMATE /time|60", 0),
    ("climate-flags", "cat CLIMATE /sky|80", 0),
    ("climate-picture-60", "plot CLIMATE|60", 0),
    ("climate-picture-80", "plot CLIMATE|80", 0),
    ("climate-picture-160", "plot CLIMATE|160", 0),
    ("climate-line-80", "plot CLIMATE /tas -s lat=0,lon=0|80", 0),
    ("climate-lines-80", "plot CLIMATE /tas -s lat=0 -k line|80", 0),
    ("cells-80", "ls -r CELLS|80", 0),
    ("cells-info-80", "info CELLS|80", 0),
    ("cells-table-60", "cat CELLS /obs|60", 0),
    ("cells-matrix", "cat CELLS /X|80", 0),
    ("climate-attributes-60", "ls --attrs CLIMATE|60", 0),
    ("climate-attributes-160", "ls --attrs CLIMATE|160", 0),
    ("climate-attrs-60", "attrs CLIMATE /tas|60", 0),
    ("climate-attrs-80", "attrs CLIMATE /tas|80", 0),
    ("climate-attrs-160", "attrs CLIMATE /tas|160", 0),
    ("climate-stats-60", "stats CLIMATE|60", 0),
    ("climate-stats-80", "stats CLIMATE|80", 0),
    ("climate-stats-160", "stats CLIMATE|160", 0),
    ("climate-stats-of-one", "stats CLIMATE /tas|80", 0),
    ("climate-find-60", "find CLIMATE tas|60", 0),
    ("climate-find-80", "find CLIMATE tas|80", 0),
    ("climate-find-160", "find CLIMATE tas|160", 0),
    ("cells-60", "ls -r CELLS|60", 0),
    ("cells-info-60", "info CELLS|60", 0),
    ("cells-info-160", "info CELLS|160", 0),
    ("cells-table-20", "cat CELLS /obs|20", 0),
    ("cells-table-80", "cat CELLS /obs|80", 0),
    ("cells-head-60", "head CELLS /obs -n 2|60", 0),
    ("gsd-table-30", "cat gsd/hoomd-log.gsd /log|30", 0),
    ("help-ls-60", "ls --help|60", 0),
    ("help-ls-160", "ls --help|160", 0),
    ("objects-60", "ls -r MATLAB|60", 0),
    ("objects-80", "ls -r MATLAB|80", 0),
    ("objects-160", "ls -r MATLAB|160", 0),
    ("objects-info-80", "info MATLAB|80", 0),
    ("objects-of-one-80", "ls MATLAB /runs|80", 0),
    ("objects-table-60", "cat MATLAB /runs|60", 0),
    ("objects-table-80", "cat MATLAB /runs|80", 0),
    ("objects-table-160", "cat MATLAB /runs|160", 0),
    ("objects-text", "cat MATLAB /title|80", 0),
    ("objects-date", "cat MATLAB /start|80", 0),
    ("objects-of-a-class", "cat MATLAB /probe|80", 0),
    ("wrong-option", "ls --sizez CLIMATE|60", 2),
    ("no-such-object", "cat CLIMATE /taz|60", 3),
    ("no-such-file", "info missing.nc|60", 3),
];

/// An HDF5 file of names in Latin-1. Its structures are of the first generation, which has no checksums.
fn latin(path: &Path) {
    use sciformats::hdf5_pure::options::Bound;
    use sciformats::hdf5_pure::{CreateOptions, Writer};
    let options = CreateOptions::default().with_bound(Bound::Earliest);
    let mut writer = Writer::in_memory(&options).unwrap();
    let group = writer.dataset("Caf_/Gr__e").attribute("L_nge", "in m").write(&[1.5f32, 2.5]);
    assert!(group.is_ok());
    let mut bytes = writer.into_bytes().unwrap();
    for (plain, latin) in
        [(&b"Caf_\0"[..], b"Caf\xe9\0" as &[u8]), (b"Gr__e\0", b"Gr\xf6\xdfe\0"), (b"L_nge\0", b"L\xe4nge\0")]
    {
        let at = bytes.windows(plain.len()).position(|part| part == plain).unwrap();
        bytes[at..at + latin.len()].copy_from_slice(latin);
    }
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
    latin(&dir.path().join("latin.h5"));
    climate(&dir.path().join("climate.nc"));
    cells(&dir.path().join("cells.h5ad"));
    fs::write(dir.path().join("runs.mat"), matlab::runs()).unwrap();
    let place = |word: &str| match word {
        "LATIN" => dir.path().join("latin.h5"),
        "CLIMATE" => "climate.nc".into(),
        "CELLS" => "cells.h5ad".into(),
        "MATLAB" => "runs.mat".into(),
        "TWELVE" => twelve.clone(),
        "NAN" => nan.clone(),
        other => other.into(),
    };
    for (name, command, status) in SCREENS {
        let (arguments, columns) = command.rsplit_once('|').unwrap_or((command, ""));
        // Widths do not depend on the name of a folder.
        let own = ["CLIMATE", "CELLS", "MATLAB"].iter().any(|name| command.contains(name));
        let program = if own { Program::at(dir.path()) } else { Program::in_fixtures() };
        let mut program = program.command();
        if !columns.is_empty() {
            program.env("COLUMNS", columns);
        }
        let output = program.args(arguments.split(' ').map(place)).output().unwrap();
        let mut shown = String::from_utf8(output.stdout).unwrap();
        let mut errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(*status), "{command}\n{shown}{errors}");
        if *status > 1 {
            // What went wrong is the screen.
            shown.push_str(&std::mem::take(&mut errors));
        }
        assert_eq!(errors, "", "{command}");
        let shown = shown.replace(&format!("{}/", dir.path().display()), "");
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
