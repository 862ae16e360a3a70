//! The files in `fixtures/gsd`. Valid files are read completely, and each hostile file fails with exactly the expected error.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gsd_rs::hoomd::Trajectory;
use gsd_rs::storage::FileStorage;
use gsd_rs::{Error, Limits, OpenOptions, Reader};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/gsd").join(name)
}

fn files(name: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "gsd")).collect();
    files.sort();
    files
}

/// Reads everything of a file up to the first error.
fn everything(reader: Reader) -> Result<u64, Error> {
    reader.verify()?;
    let mut chunks = 0;
    for chunk in reader.all_chunks() {
        let chunk = chunk?;
        let bytes = reader.read_bytes(&chunk, 0..chunk.n)?;
        assert_eq!(Some(bytes.len() as u64), chunk.size());
        assert!(reader.find(chunk.frame, chunk.name)?.is_some());
        chunks += 1;
    }
    assert_eq!(chunks, reader.entries());
    if reader.header().schema.as_bytes() == b"hoomd" {
        let trajectory = Trajectory::new(reader)?;
        for frame in 0..trajectory.len() {
            trajectory.frame(frame)?;
        }
        trajectory.read_log()?;
    }
    Ok(chunks)
}

#[test]
fn good_files_are_read_in_full_in_pages_and_directly() {
    let mut read = BTreeMap::new();
    for path in files("") {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let paged = everything(Reader::open(&path).unwrap()).unwrap();
        let plain = everything(
            Reader::from_storage(FileStorage::open(&path).unwrap(), &OpenOptions::default()).unwrap(),
        )
        .unwrap();
        assert_eq!(paged, plain, "{name}");
        read.insert(name, paged);
    }
    for (name, chunks) in
        [("types", 33), ("empty-chunks", 10), ("no-frames", 0), ("frames-beyond-the-entries", 2)]
    {
        assert_eq!(read[name], chunks, "{name}");
    }
    // The same frames in different files.
    for name in ["packed", "layer-1.0", "upgraded"] {
        assert_eq!(read[name], read["grown"], "{name}");
    }
}

const ERRORS: &str = "
    chunk-past-the-end: malformed index entry at offset 0x130: end of the data is 5705, out of bounds (end 5682)
    columns-0: no error, 19 chunks
    data-cut: malformed index entry at offset 0x2f0: end of the data is 5682, out of bounds (end 5681)
    empty: the file is not GSD; it is empty
    flags: malformed index entry at offset 0x13f: flags is 1, expected 0
    frame-2-to-63: no error, 19 chunks
    frame-2-to-64: malformed index entry at offset 0x340: frame overflows
    frames-out-of-order: malformed index entry at offset 0x160: frame is out of order
    header-cut: malformed header at offset 0x30: application is truncated
    hole-in-the-index: malformed index entry at offset 0x210: location is not positive
    hoomd-2-to-30-particles: 4294967296 bytes of default values exceed the limit of 1053956
    hoomd-negative-member: malformed data chunk at offset 0x1504: particle is negative
    hoomd-rows: malformed index entry at offset 0x128: N is 3, expected 2
    hoomd-type: malformed index entry at offset 0x13e: type is 3 (0x3), which is not defined
    hoomd-types-no-text: malformed data chunk at offset 0x1504: text is not valid text
    id-past-the-names: malformed index entry at offset 0x13c: id is 900, out of bounds (end 8)
    ids-out-of-order: malformed index entry at offset 0x17c: id is out of order
    index-2-to-60: malformed header at offset 0x8: index block overflows
    index-beyond-the-file: malformed header at offset 0x8: index block is 9779, out of bounds (end 5682)
    index-end-wraps: malformed header at offset 0x8: index block overflows
    index-past-the-end: malformed header at offset 0x8: index block is 5696, out of bounds (end 5682)
    index-size-wraps-to-0: malformed header at offset 0x8: index block overflows
    index-size-wraps-to-32: malformed header at offset 0x8: index block overflows
    layer-0.2: GSD file layer 0.2 is not supported (at offset 0x2c)
    layer-3.0: GSD file layer 3.0 is not supported (at offset 0x2c)
    location-2-to-63: malformed index entry at offset 0x130: end of the data is 9223372036854775831, out of bounds (end 5682)
    location-behind-the-file: malformed index entry at offset 0x130: end of the data is 5707, out of bounds (end 5682)
    location-negative: malformed index entry at offset 0x130: location is not positive
    name-no-text: malformed name list at offset 0x1100: name is not valid text
    names-65537: malformed name list at offset 0x20120: name is one more than an id can refer to
    names-past-the-end: malformed header at offset 0x18: name list block is 368000, out of bounds (end 5682)
    names-size-wraps: malformed header at offset 0x18: name list block overflows
    names-without-end: malformed name list at offset 0x14ff: last byte is 1, expected 0
    rows-2-to-62: malformed index entry at offset 0x110: end of the data is 4611686018427393280, out of bounds (end 5682)
    rows-times-columns-overflow: malformed index entry at offset 0x128: N × M overflows
    same-name-twice-in-a-frame: no error, 2 chunks
    slot-without-end: malformed name list at offset 0x1100: name has no zero byte at its end
    type-0: element type 0 is not supported (at offset 0x13e)
    type-12: element type 12 is not supported (at offset 0x13e)
    wrong-magic: the file is not GSD
";

#[test]
fn hostile_files_give_exactly_these_errors() {
    let options = OpenOptions::default().with_limits(Limits::default().with_memory(1 << 20));
    let found: Vec<String> = files("hostile")
        .iter()
        .map(|path| {
            let storage = FileStorage::open(path).unwrap();
            let error = match Reader::from_storage(storage, &options).and_then(everything) {
                Ok(chunks) => format!("no error, {chunks} chunks"),
                Err(error) => error.to_string(),
            };
            format!("{}: {error}", path.file_stem().unwrap().to_str().unwrap())
        })
        .collect();
    let expected: Vec<&str> = ERRORS.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(found.join("\n"), expected.join("\n"));
}
