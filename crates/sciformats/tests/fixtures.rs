//! Every fixture through the common view: expected manifests, and bytes changed at random.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use sciformats::compare::{Options, compare};
use sciformats::{File, Limits, OpenOptions, Selection, manifest, verify};

const FORMATS: [&str; 2] = ["gsd", "rawarray"];

fn folder(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(format)
}

/// The files of a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

fn manifest_of(file: &File) -> Vec<serde_json::Value> {
    let mut out = Vec::new();
    manifest::write(file, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn manifests_are_as_expected_mapped_or_not_and_with_any_threads() {
    let mut compared = 0;
    for expected in FORMATS.iter().flat_map(|format| files(&folder(format).join("expected"))) {
        let path = expected.parent().unwrap().with_file_name(expected.file_stem().unwrap());
        let lines = fs::read_to_string(&expected).unwrap();
        let lines: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (mapped, threads) in [(true, 1), (false, 2)] {
            let options = OpenOptions::default().with_mapped(mapped).with_threads(threads);
            let file = sciformats::open_with(&path, &options).unwrap();
            assert_eq!(manifest_of(&file), lines, "{}", path.display());
        }
        compared += 1;
    }
    println!("{compared} manifests compared");
    assert!(compared >= 50);
}

#[test]
fn sound_files_are_sound_and_the_same_as_themselves() {
    for path in FORMATS.iter().flat_map(|format| files(&folder(format))) {
        let file = sciformats::open(&path).unwrap();
        let summary = verify::verify(&file, &mut |finding| panic!("{}: {}", path.display(), finding.error));
        assert!(summary.objects > 0);
        let same = compare(&file, &file, &Options::exact(), &mut |difference| {
            panic!("{}: {difference:?}", path.display())
        });
        assert!(same.is_same());
    }
}

/// Everything that the library does with a file whose bytes may be anything.
fn everything(bytes: Vec<u8>, sound: &File) {
    let options =
        OpenOptions::default().with_limits(Limits::default().with_memory(1 << 20).with_items(1 << 10));
    let Ok(file) = File::from_storage(Arc::new(bytes), &options.with_threads(1)) else { return };
    let lines = manifest_of(&file);
    assert!(!lines.is_empty());
    verify::verify(&file, &mut |_| {});
    compare(&file, sound, &Options::exact(), &mut |_| ControlFlow::Continue(()));
    let _ = file.source().structures(&mut |_| ControlFlow::Continue(()));
    let _ = (file.source().facts(), file.source().measures(), file.source().headline());
    for path in ["/", "/frames/0/particles/position", "/frames/1"] {
        let Ok(array) = file.array(path) else { continue };
        let Ok(selection) = Selection::parse("::-1", array.shape().unwrap_or_default()) else { continue };
        let mut elements = 0;
        let _ = array.for_each(&selection, &mut |_| {
            elements += 1;
            Ok(if elements < 1000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn changed_bytes_never_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        early in any::<bool>(),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let all: Vec<PathBuf> = FORMATS.iter().flat_map(|format| files(&folder(format))).collect();
        let path = which.get(&all);
        let mut bytes = fs::read(path).unwrap();
        // Headers and indices stand at the start: half of the runs change only those.
        let end = if early { bytes.len().min(512) } else { bytes.len() };
        for (at, byte) in changes {
            bytes[at.index(end)] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        everything(bytes, &sciformats::open(path).unwrap());
    }
}
