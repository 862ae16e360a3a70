//! Reads every fixture through the common view: compares manifests with the expected ones, and changes bytes at random.

#![cfg(all(feature = "asdf", feature = "blosc2", feature = "gsd", feature = "hdf5", feature = "rawarray"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sciformats::source::Listed;
use sciformats::{Access, Error, File, Limits, Object, ObjectId, OpenOptions, Selection, Source, Target};
use sciformats_convert::compare::{Options, compare};
use sciformats_convert::{manifest, verify};

const FORMATS: [&str; 5] = ["asdf", "blosc2", "gsd", "hdf5", "rawarray"];

fn folder(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(format)
}

/// Returns the files of a folder in the order of their names.
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
fn manifests_are_as_expected_in_pages_or_directly_and_with_any_threads() {
    let mut compared = 0;
    for expected in FORMATS.iter().flat_map(|format| files(&folder(format).join("expected"))) {
        let path = expected.parent().unwrap().with_file_name(expected.file_stem().unwrap());
        let lines = fs::read_to_string(&expected).unwrap();
        let lines: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (access, threads) in [(Access::paged(), 1), (Access::direct(), 2)] {
            let options = OpenOptions::default().with_access(access).with_threads(threads);
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
        let mut links = 0;
        let summary = verify::verify(&file, &mut |finding| match finding.error {
            // Some links lead to files that never existed, or back to themselves.
            Error::Missing { what: "file of an external link" | "link", .. } => links += 1,
            error => panic!("{}: {error}", path.display()),
        });
        assert!(summary.objects > 0 && summary.findings == 0 && summary.missing == 0);
        assert_eq!(summary.links, links);
        let same = compare(&file, &file, &Options::exact(), &mut |difference| {
            panic!("{}: {difference:?}", path.display())
        });
        assert!(same.is_same());
    }
}

/// Returns what is at and below an object, without values and offsets, or `None` if some of it cannot be described.
fn structure(source: &dyn Source, id: ObjectId) -> Option<String> {
    match source.object(id).ok()? {
        Object::Array(info) => Some(format!("{} {:?} {:?}", info.element, info.shape, info.stored)),
        Object::Group => {
            let mut text = String::new();
            for member in source.members(id).ok()? {
                let member = member.ok()?;
                let Target::Object(id) = member.target else { return None };
                text += &format!("{}: {}; ", member.name, structure(source, id)?);
            }
            Some(text)
        }
        _ => None,
    }
}

/// Checks that the listing of `/frames` has all frames in order, and that frames that it calls alike are alike.
fn frames_in_ranges(file: &File) -> (u64, u64) {
    let source = file.source();
    let Ok(frames) = file.resolve("/frames") else { return (0, 0) };
    let Ok(listing) = source.listing(frames) else { return (0, 0) };
    let (mut number, mut ranges, mut before) = (0, 0, None);
    for listed in listing {
        let Listed { member, alike } = listed.unwrap();
        assert_eq!(member.name.to_string(), number.to_string());
        let Target::Object(id) = member.target else { panic!("{member:?}") };
        let now = structure(source, id);
        if alike {
            assert!(now.is_some());
            assert_eq!(now, before, "frame {number}");
        } else {
            ranges += 1;
        }
        before = now;
        number += 1;
    }
    assert_eq!(number, source.members(frames).unwrap().count() as u64);
    (number, ranges)
}

#[test]
fn frames_in_one_range_are_alike() {
    let folders = [folder("gsd"), folder("gsd").join("hostile")];
    let (mut frames, mut ranges) = (0, 0);
    for path in folders.iter().flat_map(|folder| files(folder)) {
        let Ok(file) = sciformats::open(&path) else { continue };
        let (listed, apart) = frames_in_ranges(&file);
        (frames, ranges) = (frames + listed, ranges + apart);
    }
    println!("{frames} frames in {ranges} ranges");
    assert!(ranges > 50 && frames > ranges);
    let file = sciformats::open(folder("gsd").join("hoomd-log.gsd")).unwrap();
    assert_eq!(frames_in_ranges(&file), (5, 2));
}

/// Does everything that the library offers with a file of arbitrary bytes.
fn everything(bytes: Vec<u8>, sound: &File) {
    let options =
        OpenOptions::default().with_limits(Limits::default().with_memory(1 << 20).with_items(1 << 10));
    let Ok(file) = File::from_storage(bytes, &options.with_threads(1)) else { return };
    let lines = manifest_of(&file);
    assert!(!lines.is_empty());
    verify::verify(&file, &mut |_| {});
    compare(&file, sound, &Options::exact(), &mut |_| ControlFlow::Continue(()));
    let _ = file.source().structures(&mut |_| ControlFlow::Continue(()));
    let _ = (file.source().facts(), file.source().measures(), file.source().headline());
    let _ = (frames_in_ranges(&file), file.source().summaries());
    for path in ["/", "/frames/0/particles/position", "/frames/1", "/log", "/log/energy"] {
        let Ok(array) = file.array(path) else { continue };
        let Ok(selection) = Selection::parse("::-1", array.shape()) else { continue };
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
        // Headers and indexes are at the start of a file, so half of the runs change only the start.
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
