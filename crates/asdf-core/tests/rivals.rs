//! Several processes write to one file. Every change that was reported as done to one of them is present at the end.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by panicking")]
#![cfg(unix)]

use std::path::Path;

use asdf_core::{Asdf, Compression, Document, Error, NewArray, Result, ScalarType, StreamWriter};
use sciformats_core::commit::rivals::{PROCESSES, is_rival, meet};

const TEST: &str = "rivals::no_writer_overwrites_another";

fn edit(path: &Path, kind: &str, number: u64) -> Result<()> {
    if kind == "rows" {
        let mut writer = StreamWriter::append_to(path)?;
        writer.append(&[number, number])?;
        return writer.sync();
    }
    let mut document = Document::open(path)?;
    match kind {
        "array" => {
            let (tens, array) = (number / 10, NewArray::new(&[number; 3], &[3])?);
            document.set_array(&format!("arrays/{tens}/{number}"), array)?;
        }
        "rewrite" => {
            let codec = if number.is_multiple_of(2) { Compression::Zlib } else { Compression::None };
            document.recompress(codec, None)?;
        }
        _ => {}
    }
    if kind != "array" {
        let log: String = document.tree().get_as("log")?;
        document.set("log", &format!("{log} {number}"))?;
    }
    document.update().map(drop)
}

fn there(path: &Path, kind: &str) -> Vec<u64> {
    let file = Asdf::open(path).unwrap();
    assert!(file.verify().unwrap().iter().all(|finding| !finding.is_error()));
    match kind {
        "rows" => {
            let values = file.array("rows").unwrap().read::<u64>().unwrap();
            let (rows, rest) = values.as_chunks::<2>();
            assert!(rest.is_empty() && rows.iter().all(|row| row[0] == row[1]));
            rows.iter().map(|row| row[0]).collect()
        }
        "array" => (0..file.blocks().len())
            .map(|block| {
                let data = file.block(block).unwrap().data().unwrap().into_owned();
                let number = u64::from_le_bytes(*data.first_chunk().unwrap());
                let array = file.array(&format!("arrays/{}/{number}", number / 10)).unwrap();
                assert_eq!(array.read::<u64>().unwrap(), [number; 3]);
                number
            })
            .collect(),
        _ => {
            let log: String = file.tree().get_as("log").unwrap();
            log.split_whitespace().map(|number| number.parse().unwrap()).collect()
        }
    }
}

fn create(path: &Path, kind: &str) {
    let mut document = Document::new();
    document.set("log", "").unwrap();
    document.options_mut().tree_padding = Some(if kind == "array" { 1 << 19 } else { 1 << 15 });
    match kind {
        "rows" => {
            let datatype = ScalarType::UInt64.into();
            StreamWriter::create(path, document, "rows", &datatype, &[2]).unwrap().finish().unwrap();
            return;
        }
        "array" => {}
        _ => drop(document.set_array("data", NewArray::new(&[7u8; 900], &[900]).unwrap()).unwrap()),
    }
    document.save(path).unwrap();
}

#[test]
fn no_writer_overwrites_another() {
    if is_rival(edit).unwrap() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (kind, operation) in [
        ("tree", "updates in place"),
        ("array", "updates in place"),
        ("rewrite", "files written anew"),
        ("rows", "streams"),
    ] {
        for processes in PROCESSES {
            let start = std::time::Instant::now();
            let path = folder.path().join(format!("{kind}-{processes}.asdf"));
            create(&path, kind);
            let outcome = meet(TEST, kind, &path, processes).unwrap();
            let there = there(&path, kind);
            let lost: Vec<_> = outcome.kept.iter().filter(|number| !there.contains(number)).collect();
            assert!(lost.is_empty(), "{kind}: {lost:?} of {:?}", outcome.kept);
            assert_eq!(there.len(), outcome.kept.len(), "{kind}");
            assert!(outcome.kept.iter().all(|number| there.contains(number)), "{kind}");
            println!("crash matrix: asdf: {operation}: {} interleavings", outcome.rounds);
            println!("{kind}: {processes} processes took {:.1} s", start.elapsed().as_secs_f64());
        }
    }
}

#[test]
fn a_file_that_another_writer_changed_is_left_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.asdf");
    type Change = fn(&Path);
    let changes: [Change; 4] = [
        // The new text has the same length, in place.
        |path| {
            let mut document = Document::open(path).unwrap();
            document.set("log", "b").unwrap();
            document.update().unwrap();
        },
        // The new file has the same length, and replaces the old one.
        |path| {
            std::fs::write(path.with_extension("new"), std::fs::read(path).unwrap())
                .and_then(|()| std::fs::rename(path.with_extension("new"), path))
                .unwrap();
        },
        |path| std::fs::write(path, [&std::fs::read(path).unwrap()[..], b"more"].concat()).unwrap(),
        |path| std::fs::remove_file(path).unwrap(),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        create(&path, "tree");
        let mut document = Document::open(&path).unwrap();
        document.set("log", "a").unwrap();
        change(&path);
        let there = std::fs::read(&path).ok();
        let refused = document.update();
        let gone = matches!(&refused, Err(Error::Io { .. })) && at == 3;
        assert!(gone || matches!(refused, Err(Error::Conflict { .. })), "{at}: {refused:?}");
        assert_eq!(std::fs::read(&path).ok(), there, "{at}");
    }
}
