//! Converts files of other programs to another format and back. Everything that both formats can hold must be unchanged.

#![cfg(all(feature = "asdf", feature = "blosc2", feature = "gsd", feature = "hdf5", feature = "rawarray"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sciformats::{File, Format, OpenOptions};
use sciformats_convert::compare;
use sciformats_convert::convert::{Loss, Options, Plan};
use sciformats_convert::manifest;
use sciformats_convert::sink::WriteOptions;

fn fixtures(format: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(format);
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// The lines of a manifest by path, or by `PATH@NAME` for attributes.
type Lines = BTreeMap<String, serde_json::Value>;

fn lines(file: &File) -> Lines {
    let mut out = Vec::new();
    manifest::write(file, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines = text.lines().skip(1).map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let keyed = lines.map(|line| {
        let path = line["path"].as_str().unwrap();
        let key = match line["name"].as_str() {
            Some(name) => format!("{path}@{name}"),
            None => path.to_owned(),
        };
        (key, line)
    });
    // In Blosc2, the shape and type of an array are also a metalayer.
    keyed.filter(|(key, _)| !key.ends_with("@meta:b2nd")).collect()
}

/// Converts a file and opens the result. Returns it with the losses.
fn through(file: &Arc<File>, target: Format, select: &[&str], path: &Path) -> (Arc<File>, Vec<Loss>) {
    let options = Options::default().with_select(select.iter().copied());
    let plan = Plan::new(file, target, &options).unwrap();
    plan.write(path, &WriteOptions::default()).unwrap();
    let difference = plan.check(path, &OpenOptions::default()).unwrap();
    assert_eq!(difference, None, "{}", path.display());
    (Arc::new(sciformats::open(path).unwrap()), plan.losses().to_vec())
}

/// Returns whether something at a path, or an object or group that it belongs to, was lost.
fn is_lost(key: &str, losses: &BTreeSet<String>) -> bool {
    let object = key.split('@').next().unwrap_or_default();
    let above = object.match_indices('/').map(|(at, _)| &object[..at]).chain([object, key]);
    above.filter(|path| !path.is_empty()).any(|path| losses.contains(path))
}

/// Compares the manifests before and after. Returns the number of lines that are the same.
fn compare(name: &str, before: &Lines, after: &Lines, losses: &[Loss]) -> usize {
    let lost: BTreeSet<String> = losses.iter().map(|loss| loss.path.clone()).collect();
    let mut same = 0;
    for (key, line) in before.iter().filter(|(key, _)| !is_lost(key, &lost)) {
        assert_eq!(Some(line), after.get(key), "{name}: {key} with {losses:#?}");
        same += 1;
    }
    for key in after.keys().filter(|key| !is_lost(key, &lost)) {
        assert!(before.contains_key(key), "{name}: {key} was not there before");
    }
    same
}

/// Converts every fixture of a format to another format and back.
fn there_and_back(format: &str, of: Format, via: Format) -> (usize, usize) {
    let dir = tempfile::tempdir().unwrap();
    let (mut files, mut same) = (0, 0);
    for path in fixtures(format) {
        let Ok(file) = sciformats::open(&path) else { continue };
        if file.format() != of {
            continue;
        }
        let file = Arc::new(file);
        let (other, mut losses) = through(&file, via, &[], &dir.path().join("there"));
        let (back, further) = through(&other, of, &[], &dir.path().join("back"));
        losses.extend(further);
        same += compare(&path.display().to_string(), &lines(&file), &lines(&back), &losses);
        files += 1;
    }
    (files, same)
}

#[test]
fn hdf5_through_asdf() {
    let (files, same) = there_and_back("hdf5", Format::Hdf5, Format::Asdf);
    println!("HDF5 through ASDF and back: {files} files, {same} lines of manifests are the same");
    assert!(files >= 10 && same >= 150, "{files} {same}");
}

#[test]
fn gsd_through_hdf5() {
    let (files, same) = there_and_back("gsd", Format::Gsd, Format::Hdf5);
    println!("GSD through HDF5 and back: {files} files, {same} lines of manifests are the same");
    assert!(files >= 10 && same >= 150, "{files} {same}");
}

/// Converts arrays one by one, because a Blosc2 file contains one array.
#[test]
fn hdf5_through_blosc2() {
    let dir = tempfile::tempdir().unwrap();
    let (mut same, mut refused) = (0, 0);
    for path in fixtures("hdf5") {
        let file = Arc::new(sciformats::open(&path).unwrap());
        let before = lines(&file);
        for (key, line) in before.iter().filter(|(key, line)| line["kind"] == "array" && !key.contains('*')) {
            let options = Options::default().with_select([key.as_str()]);
            let Ok(plan) = Plan::new(&file, Format::Blosc2, &options) else {
                refused += 1;
                continue;
            };
            // Blosc2 cannot hold attributes. The array itself is kept unless a loss says otherwise.
            if plan.losses().iter().any(|loss| loss.path == *key) {
                refused += 1;
                continue;
            }
            let (other, _) = through(&file, Format::Blosc2, &[key], &dir.path().join("there"));
            let (back, losses) = through(&other, Format::Hdf5, &[], &dir.path().join("back"));
            assert!(losses.is_empty(), "{key}: {losses:?}");
            let after = lines(&back);
            let found = after.get("/data").unwrap_or(&serde_json::Value::Null);
            for what in ["type", "shape", "sha256"] {
                assert_eq!(line[what], found[what], "{}: {key}", path.display());
            }
            same += 1;
        }
    }
    println!("{same} arrays of HDF5 through Blosc2, {refused} that it cannot hold");
    assert!(same >= 40, "{same}");
}

#[test]
fn rawarray_through_every_format() {
    let dir = tempfile::tempdir().unwrap();
    for via in [Format::Asdf, Format::Blosc2, Format::Gsd, Format::Hdf5, Format::Npy] {
        let (mut same, mut other_types) = (0, 0);
        for path in fixtures("rawarray") {
            let file = Arc::new(sciformats::open(&path).unwrap());
            let before = lines(&file);
            let Ok(plan) = Plan::new(&file, via, &Options::default()) else {
                other_types += 1;
                continue;
            };
            let whole = |loss: &Loss| loss.what.contains("after its array");
            if !plan.losses().iter().all(whole) {
                other_types += 1;
                continue;
            }
            let (other, _) = through(&file, via, &[], &dir.path().join("there"));
            let (back, losses) = through(&other, Format::RawArray, &[], &dir.path().join("back"));
            let kept: Vec<&Loss> = losses.iter().filter(|loss| !loss.path.contains('@')).collect();
            assert!(kept.is_empty(), "{}: {kept:?}", path.display());
            let (a, b) = (before.get("/").unwrap(), lines(&back));
            for what in ["type", "shape", "sha256"] {
                assert_eq!(a[what], b["/"][what], "{} through {via}", path.display());
            }
            same += 1;
        }
        println!(
            "RawArray through {via} and back: {same} files, {other_types} that it cannot hold as they are"
        );
        assert!(same >= 10, "{via}: {same}");
    }
}

/// The times of an array, as a manifest has them.
fn times(file: &File) -> Option<String> {
    lines(file)["/"]["times"].as_str().map(str::to_owned)
}

#[test]
fn dates_and_time_spans_keep_their_units_or_are_losses() {
    let dir = tempfile::tempdir().unwrap();
    for (descr, stored, shown) in [
        ("'<M8[D]'", "'<M8[D]'", "datetime64[D]"),
        ("'>m8[25s]'", "'<m8[25s]'", "timedelta64[25s]"),
        (
            "[('t', '>M8[ns]', (2,)), ('i', '<i8')]",
            "[('t', '<M8[ns]', (2,)), ('i', '<i8')]",
            "{t: datetime64[ns]}",
        ),
    ] {
        let dtype = npy::DType::parse(descr).unwrap();
        let size = usize::try_from(dtype.size().unwrap()).unwrap();
        let mut bytes = npy::Header::new(dtype, [2]).to_bytes().unwrap();
        bytes.extend((0u8..).take(2 * size));
        let first = Arc::new(File::from_bytes(bytes).unwrap());
        let (frame, losses) = through(&first, Format::Blosc2, &[], &dir.path().join("a.b2nd"));
        assert!(losses.is_empty(), "{losses:?}");
        assert_eq!(times(&frame).as_deref(), Some(shown));
        let path = dir.path().join("a.npy");
        let (back, losses) = through(&frame, Format::Npy, &[], &path);
        assert!(losses.is_empty(), "{losses:?}");
        assert_eq!(lines(&first), lines(&back));
        let written = npy::Reader::open(&path).unwrap();
        assert_eq!(written.dtype().to_string(), stored);
        for (target, ending) in [(Format::Hdf5, "h5"), (Format::Asdf, "asdf"), (Format::RawArray, "ra")] {
            let (other, losses) = through(&frame, target, &[], &dir.path().join(format!("a.{ending}")));
            assert!(losses.iter().any(|loss| loss.what.contains(shown)), "{losses:?}");
            let mut told = Vec::new();
            let options = compare::Options::exact();
            compare::compare(&frame, &other, &options, &mut |difference| {
                told.push(difference.what.word());
                ControlFlow::Continue(())
            });
            assert!(
                target != Format::RawArray || told.contains(&"type") || told.contains(&"incomparable"),
                "{told:?}"
            );
        }
    }
}

#[test]
fn texts_of_gsd_are_texts_elsewhere_and_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.gsd");
    let options = gsd_rs::CreateOptions::new("tests", "none", gsd_rs::Version::new(1, 0));
    let mut writer = gsd_rs::Writer::create(&path, &options).unwrap();
    for note in ["heated", "", "µ"] {
        writer.write_text("log/note", note).unwrap();
        writer.write_bytes("columns", gsd_rs::ElementType::Character, 2, b"abcd").unwrap();
        writer.end_frame().unwrap();
    }
    writer.finish().unwrap();
    let first = Arc::new(sciformats::open(&path).unwrap());
    let note = |file: &File, frame: u64| {
        file.array(&format!("/frames/{frame}/log/note")).unwrap().read::<String>().unwrap()
    };
    assert_eq!([note(&first, 0), note(&first, 1), note(&first, 2)].concat(), ["heated", "", "µ"]);
    for (target, ending) in [(Format::Hdf5, "h5"), (Format::Asdf, "asdf")] {
        let (other, losses) = through(&first, target, &[], &dir.path().join(format!("b.{ending}")));
        assert_eq!(losses.len(), 3, "{losses:?}");
        assert!(losses.iter().all(|loss| loss.what.contains("characters in columns")), "{losses:?}");
        if target == Format::Hdf5 {
            assert_eq!(note(&other, 2), ["µ"]);
        }
        let (back, losses) = through(&other, Format::Gsd, &[], &dir.path().join("c.gsd"));
        assert!(losses.is_empty(), "{losses:?}");
        assert_eq!([note(&back, 0), note(&back, 1), note(&back, 2)].concat(), ["heated", "", "µ"]);
        let reader = gsd_rs::Reader::open(dir.path().join("c.gsd")).unwrap();
        let chunk = reader.find(0, "log/note").unwrap().unwrap();
        assert_eq!((chunk.element, chunk.n, chunk.m), (gsd_rs::ElementType::Character, 6, 1));
    }
    // A format without texts says what it leaves out.
    let select = ["/frames/0/log/note"];
    let options = Options::default().with_select(select);
    assert!(Plan::new(&first, Format::RawArray, &options).is_err());
    let (array, losses) = through(&first, Format::Npy, &select, &dir.path().join("d.npy"));
    assert!(losses.is_empty(), "{losses:?}");
    assert_eq!(array.array("/").unwrap().read::<String>().unwrap(), ["heated"]);
}

#[test]
fn who_wrote_an_asdf_file_stays_text() {
    let folder = tempfile::tempdir().unwrap();
    let mut document = asdf_core::Document::new();
    document.add_history(&asdf_core::HistoryEntry::now("dark subtracted")).unwrap();
    let original = folder.path().join("a.asdf");
    document.save(&original).unwrap();
    let (hdf5, _) = through(
        &Arc::new(sciformats::open(&original).unwrap()),
        Format::Hdf5,
        &[],
        &folder.path().join("a.h5"),
    );
    let back = folder.path().join("back.asdf");
    through(&hdf5, Format::Asdf, &[], &back);
    // The package asdf refuses a file in which these entries are arrays.
    let file = asdf_core::Asdf::open(&back).unwrap();
    assert_eq!(file.library().unwrap(), asdf_core::Asdf::open(&original).unwrap().library().unwrap());
    assert_eq!(file.history().unwrap()[0].description, "dark subtracted");
}
