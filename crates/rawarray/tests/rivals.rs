//! Several processes write to one file. Every edit that was reported as done to one of them is present at the end.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by panicking")]
#![cfg(unix)]

use std::path::Path;

use rawarray::{Editor, Error, Range, RawArray, Reader, Result, Slab, StreamWriter, WriteOptions};
use sciformats_core::commit::rivals::{PROCESSES, ROUNDS, is_rival, meet};

const TEST: &str = "rivals::no_writer_overwrites_another";
const MOST: u64 = ROUNDS * 4;

fn edit(path: &Path, kind: &str, number: u64) -> Result<()> {
    if kind == "stream" {
        let mut stream = StreamWriter::resume(path)?;
        stream.write(&[number + 1, number + 1])?;
        // Rows that were synced are present for the next process that continues the file.
        return stream.sync();
    }
    let mut editor = Editor::open(path)?;
    match kind {
        "append" => editor.append(&[number + 1, number + 1]),
        "overwrite" => {
            let at = Slab::new(editor.shape(), [Range::new(number, 1), Range::all(2)])?;
            editor.write_slab(&at, &[number + 1, number + 1])
        }
        _ => {
            let mut metadata = Reader::open(path)?.metadata()?.to_vec();
            metadata.extend(number.to_le_bytes());
            editor.set_metadata(&metadata)
        }
    }
}

fn there(path: &Path, kind: &str) -> Vec<u64> {
    if kind == "metadata" {
        let metadata = Reader::open(path).unwrap().metadata().unwrap().to_vec();
        assert_eq!(metadata.len() % 8, 0);
        return metadata.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    }
    if kind == "stream" {
        StreamWriter::resume(path).unwrap().finish().unwrap();
    }
    let array = RawArray::<u64>::read(path).unwrap();
    let rows = array.data().as_chunks::<2>().0.iter();
    rows.filter(|row| **row != [0, 0])
        .map(|row| {
            assert_eq!(row[0], row[1]);
            row[0] - 1
        })
        .collect()
}

#[test]
fn no_writer_overwrites_another() {
    if is_rival(edit).unwrap() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for kind in ["append", "overwrite", "metadata", "stream"] {
        for processes in PROCESSES {
            let path = folder.path().join(format!("{kind}-{processes}.ra"));
            let rows = if kind == "overwrite" { MOST } else { 1 };
            let zeros = vec![0u64; usize::try_from(rows * 2).unwrap()];
            if kind == "stream" {
                StreamWriter::create::<u64>(&path, &[2], &WriteOptions::default()).unwrap().sync().unwrap();
            } else {
                RawArray::new([2, rows], zeros).unwrap().write(&path).unwrap();
            }
            let outcome = meet(TEST, kind, &path, processes).unwrap();
            let there = there(&path, kind);
            assert_eq!(there.len(), outcome.kept.len(), "{kind}");
            assert!(outcome.kept.iter().all(|number| there.contains(number)), "{kind}");
            let operation = if kind == "stream" { "streams" } else { "edits in place" };
            println!("crash matrix: rawarray: {operation}: {} interleavings", outcome.rounds);
        }
    }
}

#[test]
fn a_file_that_another_program_changed_is_left_to_it() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.ra");
    type Change = fn(&Path);
    let changes: [Change; 3] = [
        |path| std::fs::write(path, [&std::fs::read(path).unwrap()[..], b"more"].concat()).unwrap(),
        // Returns the number of rows.
        |path| std::fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(&[2], 56).unwrap(),
        |path| RawArray::new([2, 2], vec![7u64; 4]).unwrap().write(path).unwrap(),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        RawArray::new([2, 3], vec![1u64; 6]).unwrap().write(&path).unwrap();
        let mut editor = Editor::open(&path).unwrap();
        if at == 2 {
            // While the file is edited, replacing it at the same path is refused.
            assert!(matches!(RawArray::from(vec![1u8]).write(&path), Err(Error::Conflict { .. })));
            std::fs::rename(&path, folder.path().join("aside.ra")).unwrap();
        }
        change(&path);
        let there = std::fs::read(&path).unwrap();
        assert!(matches!(editor.append(&[5u64, 6]), Err(Error::Conflict { .. })), "{at}");
        drop(editor);
        assert_eq!(std::fs::read(&path).unwrap(), there);
    }
}
