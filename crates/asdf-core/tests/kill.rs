//! A writer is killed while it updates a file, again and again.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

#[path = "../examples/until_killed/text.rs"]
mod text;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use asdf_core::{Asdf, Document, NewArray, StreamWriter};
use sciformats_core::commit::kill::example;
use text::text;

const ROUNDS: u64 = 12;

fn killed(path: &Path, round: u64) {
    let mut child = Command::new(example("until_killed").unwrap())
        .arg(path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The writer is not killed before it has begun to write.
    let before = std::fs::metadata(path).unwrap().modified().unwrap();
    let start = Instant::now();
    while std::fs::metadata(path).unwrap().modified().unwrap() == before {
        assert!(start.elapsed() < Duration::from_secs(60), "the writer does not write");
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_micros(3_700 * round));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_killed_update_leaves_the_old_file_or_the_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file.asdf");
    let mut document = Document::new();
    document.options_mut().tree_padding = Some(3000);
    document.set("n", &0).unwrap();
    document.set("text", &text(0)).unwrap();
    document.set_array("first", NewArray::new(&[1u8; 5000], &[5000]).unwrap()).unwrap();
    document.save(&path).unwrap();
    let mut last = 0;
    for round in 0..ROUNDS {
        killed(&path, round);
        let file = Asdf::open(&path).unwrap();
        let n = file.tree().get_as::<u64>("n").unwrap();
        assert!(n >= last);
        last = n;
        assert_eq!(file.tree().get_as::<String>("text").unwrap(), text(n));
        assert!(file.verify().unwrap().iter().all(|finding| !finding.is_error()));
        for m in (1..=n).filter(|m| m.is_multiple_of(7)) {
            assert_eq!(file.array(&format!("arrays/a{m}")).unwrap().read::<u64>().unwrap(), vec![m; 300]);
        }
    }
    assert!(last > 0);
    println!("crash matrix: asdf: updates in place: {ROUNDS} kills");
}

#[test]
fn a_killed_stream_keeps_its_rows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("stream.asdf");
    let datatype = asdf_core::ScalarType::UInt64.into();
    drop(StreamWriter::create(&path, Document::new(), "rows", &datatype, &[300]).unwrap());
    let mut rows = 0;
    for round in 0..ROUNDS / 2 {
        killed(&path, round);
        let file = Asdf::open(&path).unwrap();
        let array = file.array("rows").unwrap();
        assert!(array.shape()[0] >= rows);
        rows = array.shape()[0];
        let expected: Vec<u64> = (0..rows).flat_map(|row| [row; 300]).collect();
        assert!(array.read::<u64>().unwrap() == expected);
    }
    assert!(rows > 0);
    println!("crash matrix: asdf: streams: {} kills", ROUNDS / 2);
}
