//! Several processes write to one file. Every edit that was reported as done to one of them is present at the end.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by panicking")]
#![cfg(unix)]

use std::path::Path;

use npy::{Editor, Error, Range, Reader, Result, Slab};
use sciformats_core::commit::rivals::{PROCESSES, ROUNDS, is_rival, meet};

const TEST: &str = "rivals::no_writer_overwrites_another";
const MOST: u64 = ROUNDS * 4;

fn edit(path: &Path, kind: &str, number: u64) -> Result<()> {
    let mut editor = Editor::open(path)?;
    if kind == "append" {
        return editor.append(&[number + 1, number + 1]);
    }
    let at = Slab::new(editor.shape(), [Range::new(number, 1), Range::all(2)])?;
    editor.write_slab(&at, &[number + 1, number + 1])
}

fn there(path: &Path) -> Vec<u64> {
    let elements = Reader::open(path).unwrap().read::<u64>().unwrap();
    let rows = elements.as_chunks::<2>().0.iter();
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
    for kind in ["append", "overwrite"] {
        for processes in PROCESSES {
            let path = folder.path().join(format!("{kind}-{processes}.npy"));
            let rows = if kind == "overwrite" { MOST } else { 1 };
            npy::write(&path, &[rows, 2], &vec![0u64; usize::try_from(rows * 2).unwrap()]).unwrap();
            let outcome = meet(TEST, kind, &path, processes).unwrap();
            let there = there(&path);
            assert_eq!(there.len(), outcome.kept.len(), "{kind}");
            assert!(outcome.kept.iter().all(|number| there.contains(number)), "{kind}");
            println!("crash matrix: npy: edits in place: {} interleavings", outcome.rounds);
        }
    }
}

#[test]
fn a_file_that_another_program_changed_is_left_to_it() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.npy");
    type Change = fn(&Path);
    let changes: [Change; 3] = [
        |path| std::fs::write(path, [&std::fs::read(path).unwrap()[..], b"more"].concat()).unwrap(),
        |path| {
            // Returns the number of rows.
            let at = std::fs::read(path).unwrap().windows(6).position(|text| text == b"(3, 2)").unwrap();
            let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
            file.write_all_at(b"2", at as u64 + 1).unwrap();
        },
        |path| npy::write(path, &[2, 2], &[7u64; 4]).unwrap(),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        npy::write(&path, &[3, 2], &[1u64; 6]).unwrap();
        let mut editor = Editor::open(&path).unwrap();
        if at == 2 {
            // While the file is edited, replacing it at the same path is refused.
            assert!(matches!(npy::write(&path, &[1], &[1u8]), Err(Error::Conflict { .. })));
            std::fs::rename(&path, folder.path().join("aside.npy")).unwrap();
        }
        change(&path);
        let there = std::fs::read(&path).unwrap();
        assert!(matches!(editor.append(&[5u64, 6]), Err(Error::Conflict { .. })), "{at}");
        drop(editor);
        assert_eq!(std::fs::read(&path).unwrap(), there);
    }
}
