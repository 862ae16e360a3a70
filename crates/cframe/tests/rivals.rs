//! Several processes write to one frame, in a file or a folder. Every change that was reported as committed to one of them is
//! present at the end.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by panicking")]
#![cfg(unix)]

use std::path::Path;

use cframe::{Error, Frame, Params, Result, SChunk};
use sciformats_core::commit::rivals::{PROCESSES, ROUNDS, is_rival, meet};

const TEST: &str = "rivals::no_writer_overwrites_another";
/// The largest number of changes.
const MOST: u64 = ROUNDS * 4;
/// The number of changes whose numbers are in one chunk.
const IN_CHUNK: u64 = 500;

fn edit(path: &Path, kind: &str, number: u64) -> Result<()> {
    let mut schunk = SChunk::open(path)?;
    let bytes = (number + 1).to_le_bytes();
    match kind.split_once('-').map_or(kind, |(kind, _)| kind) {
        "append" => schunk.append(&bytes)?,
        "vlmeta" => {
            let mut log = schunk.vlmeta("log")?;
            log.extend(bytes);
            schunk.set_vlmeta("log", &log)?;
        }
        "compact" => {
            schunk.write_bytes(number * 8, &bytes)?;
            return schunk.compact();
        }
        _ => schunk.write_bytes(number * 8, &bytes)?,
    }
    schunk.commit()
}

fn there(path: &Path, kind: &str) -> Vec<u64> {
    let frame = Frame::open(path).unwrap();
    let bytes = if kind.starts_with("vlmeta") {
        frame.vlmeta("log").unwrap()
    } else {
        let mut bytes = vec![0; usize::try_from(frame.nbytes()).unwrap()];
        frame.read_bytes(0, &mut bytes).unwrap();
        bytes
    };
    let (numbers, rest) = bytes.as_chunks::<8>();
    assert!(rest.is_empty());
    numbers
        .iter()
        .map(|bytes| u64::from_le_bytes(*bytes))
        .filter(|number| *number > 0)
        .map(|n| n - 1)
        .collect()
}

fn create(path: &Path, kind: &str) {
    let params = Params::new(8);
    let sparse = kind.ends_with("folder");
    let mut schunk = if sparse {
        SChunk::create_sparse(path, params).unwrap()
    } else {
        SChunk::create(path, params).unwrap()
    };
    schunk.set_vlmeta("log", b"").unwrap();
    if kind.starts_with("append") {
        schunk.append(&[0; 8]).unwrap();
    } else {
        (0..MOST / IN_CHUNK).for_each(|_| schunk.append(&[0; IN_CHUNK as usize * 8]).unwrap());
    }
    schunk.commit().unwrap();
}

#[test]
fn no_writer_overwrites_another() {
    if is_rival(edit).unwrap() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (kind, operation) in [
        ("append-file", "commits to files"),
        ("update-file", "commits to files"),
        ("vlmeta-file", "commits to files"),
        ("compact-file", "files written anew"),
        ("append-folder", "commits to folders"),
        ("update-folder", "commits to folders"),
        ("vlmeta-folder", "commits to folders"),
    ] {
        for processes in PROCESSES {
            let start = std::time::Instant::now();
            let path = folder.path().join(format!("{kind}-{processes}.b2frame"));
            create(&path, kind);
            let outcome = meet(TEST, kind, &path, processes).unwrap();
            let there = there(&path, kind);
            let lost: Vec<_> = outcome.kept.iter().filter(|number| !there.contains(number)).collect();
            assert!(lost.is_empty(), "{kind}: {lost:?}");
            assert_eq!(there.len(), outcome.kept.len(), "{kind}");
            println!("crash matrix: blosc2: {operation}: {} interleavings", outcome.rounds);
            println!("{kind}: {processes} processes took {:.1} s", start.elapsed().as_secs_f64());
        }
    }
}

#[test]
fn a_frame_that_another_writer_changed_is_left_to_it() {
    let folder = tempfile::tempdir().unwrap();
    for sparse in [false, true] {
        let path = folder.path().join(format!("{sparse}.b2frame"));
        let kind = if sparse { "update-folder" } else { "update-file" };
        create(&path, kind);
        let mut first = SChunk::open(&path).unwrap();
        let mut second = SChunk::open(&path).unwrap();
        // The new bytes have the same length: zeros replace zeros.
        first.write_bytes(0, &[0; 8]).unwrap();
        second.write_bytes(8, &[7; 8]).unwrap();
        first.commit().unwrap();
        let listing = || {
            let files = if sparse { std::fs::read_dir(&path).unwrap().count() } else { 1 };
            let index = if sparse { path.join("chunks.b2frame") } else { path.clone() };
            (files, std::fs::read(index).unwrap())
        };
        let there = listing();
        assert!(matches!(second.commit(), Err(Error::Conflict { .. })));
        assert!(matches!(second.compact(), Err(Error::Conflict { .. })));
        assert_eq!(listing(), there);
        first.write_bytes(16, &[9; 8]).unwrap();
        first.commit().unwrap();
    }
}

/// C-Blosc2 counts its changes in a file beside the frame, and this crate does so too if the file exists.
#[test]
fn the_lock_file_of_other_writers_is_honoured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.b2frame");
    create(&path, "update-file");
    let lock = folder.path().join("file.b2frame.b2lock");
    let count = |n: u64| [[0; 8], n.to_le_bytes()].concat();
    std::fs::write(&lock, count(3)).unwrap();
    let mut schunk = SChunk::open(&path).unwrap();
    schunk.write_bytes(0, &[1; 8]).unwrap();
    schunk.commit().unwrap();
    assert_eq!(std::fs::read(&lock).unwrap(), count(4));
    schunk.write_bytes(0, &[2; 8]).unwrap();
    std::fs::write(&lock, count(5)).unwrap();
    assert!(matches!(schunk.commit(), Err(Error::Conflict { .. })));
    let mut schunk = SChunk::open(&path).unwrap();
    schunk.write_bytes(0, &[2; 8]).unwrap();
    let other = std::fs::File::open(&lock).unwrap();
    other.lock_shared().unwrap();
    assert!(matches!(schunk.commit(), Err(Error::Conflict { .. })));
    drop(other);
    schunk.commit().unwrap();
    assert_eq!(std::fs::read(&lock).unwrap(), count(6));
}

#[test]
fn a_chunk_that_another_writer_replaced_is_a_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replaced.b2frame");
    create(&path, "update-folder");
    // The chunk of zeros, which has no file, becomes one that has.
    edit(&path, "update-folder", 2).unwrap();
    let mut first = SChunk::open(&path).unwrap();
    // Times of files are not more exact than this.
    std::thread::sleep(std::time::Duration::from_millis(20));
    edit(&path, "update-folder", 3).unwrap();
    let error = first.write_bytes(8, &[1; 8]).unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
    assert_eq!(there(&path, "update-folder"), [2, 3]);
}
