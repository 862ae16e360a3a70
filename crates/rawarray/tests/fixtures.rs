//! The files in `fixtures/rawarray`. The valid files contain what their manifests say, and the others are refused with the
//! expected error.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail like tests")]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rawarray::{Access, Editor, ElementType, Limits, OpenOptions, Reader, Slab, StreamWriter};
use sha2::{Digest, Sha256};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/rawarray")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "ra"));
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().to_owned()
}

/// Returns the line of a content manifest for an array.
fn manifest(reader: &Reader) -> String {
    let element = match reader.element() {
        ElementType::Opaque(size) => format!(r#"{{"opaque":{size}}}"#),
        element => format!("{:?}", element.to_string()),
    };
    let shape: Vec<String> = reader.shape().iter().map(u64::to_string).collect();
    let hash = Sha256::digest(reader.read_bytes().unwrap());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let shape = shape.join(",");
    format!(r#"{{"path":"/","kind":"array","type":{element},"shape":[{shape}],"sha256":"{hash}"}}"#)
}

#[test]
fn good_files_hold_what_their_manifests_say() {
    let files = files(&folder());
    assert!(files.len() > 40, "{}", files.len());
    for path in files {
        let expected = format!("expected/{}.jsonl", path.file_name().unwrap().to_str().unwrap());
        let expected = std::fs::read_to_string(folder().join(expected)).unwrap();
        #[cfg(not(feature = "lz4"))]
        if name(&path).starts_with("lz4") {
            let error = Reader::open(&path).unwrap().read_bytes().unwrap_err();
            assert!(error.to_string().contains("cargo feature `lz4`"));
            continue;
        }
        for reader in [
            Reader::open(&path).unwrap(),
            Reader::open_with(&path, &OpenOptions::default().with_access(Access::direct())).unwrap(),
        ] {
            let lines = format!("{{\"manifest\":1,\"format\":\"rawarray\"}}\n{}\n", manifest(&reader));
            assert_eq!(lines, expected, "{}", path.display());
        }
    }
}

/// The error for each file, without `malformed`.
const HOSTILE: &[(&str, &str)] = &[
    ("bits-cut", "file at offset 0x47: the array's data is truncated"),
    ("bits-of-4-bytes", "header at offset 0x18: elbyte is not 8, which is the size of a word of bits"),
    ("bits-of-another-size", "header at offset 0x20: size is 8, expected 16"),
    ("bits-of-integers", "header at offset 0x10: eltype is not 5, although the flag for single bits is set"),
    ("bool-of-2", "array at offset 0x38: element is neither 0 nor 1"),
    ("bytes-overflow", "header at offset 0x30: dims overflows"),
    ("complex-of-odd-size", "header at offset 0x18: elbyte is odd, but a complex number has two equal parts"),
    ("data-cut", "file at offset 0x57: the array's data is truncated"),
    ("data-of-an-exabyte", "file at offset 0x38: the array's data is truncated"),
    ("dims-overflow", "header at offset 0x30: dims overflows"),
    ("empty", "the file is not RawArray; it is empty"),
    ("header-cut-in-the-dims", "header at offset 0x28: ndims is 2, out of bounds (end 2)"),
    ("header-cut-in-the-flags", "header at offset 0x8: flags is truncated"),
    ("integer-of-no-size", "header at offset 0x18: elbyte is 0, but the elements are numbers"),
    ("journal-damaged", "journal at offset 0x200: body checksum is"),
    ("leb128-cut", "LEB128 payload at offset 0x3b: element is truncated"),
    ("leb128-endless", "LEB128 payload at offset 0x3b: element overflows"),
    ("leb128-left-over", "LEB128 payload at offset 0x3e: it leaves 1 byte unread"),
    ("leb128-of-17-bytes", "LEB128 of integers of 17 bytes is not supported"),
    ("leb128-short-payload", "file at offset 0x3b: the array's data is truncated"),
    ("leb128-too-wide", "LEB128 payload at offset 0x3b: element overflows"),
    ("lz4-bomb", "header at offset 0x20: size is smaller than LZ4 can compress the array to"),
    ("lz4-cut", "file at offset 0x4d: the array's data is truncated"),
    ("lz4-nonsense", "LZ4 block at offset 0x38: it is not a valid LZ4 block"),
    ("lz4-offset-before-the-start", "LZ4 block at offset 0x38: it is not a valid LZ4 block"),
    ("lz4-too-little", "LZ4 block at offset 0x38: its decompressed size is 3000, expected 3100"),
    ("lz4-too-much", "LZ4 block at offset 0x38: it contains more bytes than the dimensions require"),
    ("ndims-2-to-60", "header at offset 0x28: ndims is 1152921504606846976, out of bounds (end 6)"),
    ("nested-cut", "file at offset 0x3c: the array's data is truncated"),
    ("size-above-dims", "header at offset 0x20: size is 28, expected 24"),
    ("size-below-dims", "header at offset 0x20: size is 20, expected 24"),
    ("undefined-flag-3", "flag bit 3 is not supported (at offset 0x8)"),
    ("undefined-flag-63", "flag bit 63 is not supported (at offset 0x8)"),
    ("unfinished-stream", "header at offset 0x20: size is unfinished: its writer stopped early"),
    ("wrong-magic", "the file is not RawArray"),
];

#[test]
fn the_others_are_refused_for_what_is_wrong_with_them() {
    let files = files(&folder().join("hostile"));
    let names: Vec<String> = files.iter().map(|path| name(path)).collect();
    assert_eq!(names, HOSTILE.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (path, (name, expected)) in files.iter().zip(HOSTILE) {
        let error = Reader::open(path).and_then(|reader| match *name {
            "bool-of-2" => reader.read::<bool>().map(drop),
            "nested-cut" => reader.nested(0).map(drop),
            _ => reader.read_bytes().map(drop),
        });
        let error = error.unwrap_err().to_string();
        let expected = match name.starts_with("lz4") && expected.contains("LZ4 block") {
            true if cfg!(not(feature = "lz4")) => "LZ4 compression is not supported",
            _ => expected,
        };
        let error = error.strip_prefix("malformed ").unwrap_or(&error);
        assert!(error.starts_with(expected), "{name}: {error}");
    }
}

/// Calls everything that reads or changes a file, and ignores the results.
fn walk(file: &[u8]) {
    let limits = Limits::default().with_memory(1 << 20);
    let options = OpenOptions::default().with_limits(limits).with_undefined_flags_ignored(true);
    let Ok(reader) = Reader::from_storage(file.to_vec(), &options) else {
        let _ = StreamWriter::resume_in(file.to_vec()).map(StreamWriter::finish);
        return;
    };
    reader.metadata().unwrap();
    let _ = reader.read::<bool>();
    let _ = reader.view::<f32>();
    let bytes = reader.read_bytes();
    let size = reader.len() * reader.element().size();
    if let (Ok(slab), Ok(bytes)) = (Slab::all(reader.shape()), bytes) {
        let mut out = vec![0; size as usize];
        reader.read_slab_bytes_into(&slab, &mut out).unwrap();
        assert!(out == bytes);
    }
    let _ = reader.nested(0).and_then(|nested| nested.read_bytes());
    if let Ok(mut editor) = Editor::in_storage(file.to_vec()) {
        let _ = editor.set_metadata(b"other");
        let _ = editor.append_bytes(&[0; 12]);
        Reader::from_storage(editor.into_storage(), &options).unwrap();
    }
}

proptest! {
    // Failures are printed with the input that repeats them.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_change_of_a_file_panics(
        file in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut files = files(&folder());
        files.extend(self::files(&folder().join("hostile")));
        let mut bytes = std::fs::read(file.get(&files)).unwrap();
        for (at, byte) in changes.iter().filter(|_| !bytes.is_empty()).collect::<Vec<_>>() {
            // Half of the changes affect the header.
            let end = if byte % 2 == 0 { bytes.len().min(72) } else { bytes.len() };
            bytes[at.index(end)] = *byte;
        }
        if let Some(cut) = cut.filter(|_| !bytes.is_empty()) {
            bytes.truncate(cut.index(bytes.len()));
        }
        walk(&bytes);
    }
}
