//! The fixtures contain what their manifests say, and each hostile fixture causes its error.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too, fail by panicking")]

use std::path::PathBuf;

use cframe::{Array, ByteOrder, DType, Error, Frame, Kind, Limits, OpenOptions, Result, SChunk};
use sha2::{Digest, Sha256};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/blosc2")
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the bytes that manifests hash: little-endian numbers, and texts after their lengths.
fn meaning(array: &Array) -> Vec<u8> {
    let bytes = array.read_bytes().unwrap();
    match array.element().unwrap() {
        DType::Scalar { kind: Kind::Bytes, size, .. } => {
            let end = |text: &[u8]| text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            let texts = bytes.chunks(size).map(|text| &text[..end(text)]);
            texts.flat_map(|text| [&(text.len() as u64).to_le_bytes(), text].concat()).collect()
        }
        DType::Scalar { order: ByteOrder::Big, size, .. } => {
            bytes.chunks(size).flat_map(|element| element.iter().rev().copied()).collect()
        }
        _ => bytes,
    }
}

#[test]
fn fixtures_hold_what_their_manifests_say() {
    let mut files = 0;
    for entry in std::fs::read_dir(folder().join("expected")).unwrap() {
        let manifest = entry.unwrap().path();
        let name = manifest.file_stem().unwrap().to_str().unwrap().to_owned();
        let frame = Frame::open(folder().join(&name)).unwrap();
        files += 1;
        let has_zstd = cfg!(any(feature = "zstd", feature = "ruzstd"));
        match frame.verify() {
            Err(Error::Unsupported { feature: Some("zstd"), .. }) if !has_zstd => continue,
            verified => verified.unwrap(),
        };
        let mut found = Vec::new();
        if name.ends_with(".b2nd") {
            let array = Array::open(folder().join(&name)).unwrap();
            found.push((String::new(), hash(&meaning(&array))));
            assert!(array.element().is_ok(), "{name}");
        } else {
            let mut bytes = vec![0; frame.nbytes() as usize];
            frame.read_bytes(0, &mut bytes).unwrap();
            found.push((String::new(), hash(&bytes)));
        }
        found.extend(frame.metalayers().map(|(layer, bytes)| (format!("meta:{layer}"), hash(bytes))));
        let layers: Vec<_> = frame.vlmeta_names().collect();
        found.extend(
            layers.iter().map(|layer| (format!("vlmeta:{layer}"), hash(&frame.vlmeta(layer).unwrap()))),
        );
        let expected: Vec<(String, String)> = std::fs::read_to_string(&manifest)
            .unwrap()
            .lines()
            .skip(1)
            .map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                let name = line["name"].as_str().unwrap_or_default().to_owned();
                (name, line["sha256"].as_str().unwrap().to_owned())
            })
            .collect();
        assert_eq!(found, expected, "{name}");
    }
    assert!(files >= 30);
}

fn all_of(name: &str) -> Result<()> {
    let limits = Limits::default().with_memory(1 << 24).with_items(1 << 20);
    let options = OpenOptions::default().with_limits(limits);
    let frame = Frame::open_with(folder().join("hostile").join(name).with_extension("b2frame"), &options)?;
    frame.verify()?;
    // A chunk that repeats one value is valid, however long it is, and need not be expanded.
    (0..frame.chunks()).try_for_each(|index| frame.chunk(index)?.decode().map(drop))
}

#[test]
fn hostile_files_give_exact_errors() {
    for (name, expected) in HOSTILE {
        let error = all_of(name).map_or_else(|error| error.to_string(), |()| "no error".to_owned());
        assert_eq!(&error, expected, "{name}");
    }
    let files = std::fs::read_dir(folder().join("hostile")).unwrap().count();
    assert_eq!(files, HOSTILE.len(), "every hostile file is in the list");
}

#[test]
fn a_frame_that_is_no_array_says_so() {
    let schunk = SChunk::open(folder().join("lz4.b2frame")).unwrap();
    let error = Array::from_schunk(schunk).unwrap_err().to_string();
    assert_eq!(error, "frame has no metalayer b2nd, so it is not an array");
}

const HOSTILE: &[(&str, &str)] = &[
    ("bomb", "1073741824 bytes of a decoded chunk exceed the limit of 16777216"),
    (
        "compressed-size",
        "malformed frame header at offset 0x27: compressed size is 4611686018427387904, out of bounds (end 1072)",
    ),
    (
        "frame-length",
        "malformed frame header at offset 0xf: frame length is 4611686018427387904, out of bounds (end 1205)",
    ),
    ("header-length", "malformed frame header at offset 0xf: frame length is less than the header's"),
    ("long-match", "malformed blosclz stream at offset 0x89: payload is 792, expected 1000"),
    ("magic", "the file is not a frame of Blosc2"),
    ("many-chunks", "134217728 chunks exceed the limit of 1048576"),
    ("no-block-size", "malformed chunk header at offset 0x69: blocksize is 0, out of bounds (end 536866816)"),
    ("no-chunk-size", "malformed frame header at offset 0x39: chunk size is negative"),
    (
        "offset-beyond",
        "malformed offsets chunk at offset 0x469: chunk offset is 1099511627776, out of bounds (end 1032)",
    ),
    (
        "offset-into-chunk",
        "malformed chunk header at offset 0x261: cbytes is 151587081, out of bounds (end 533)",
    ),
    ("short-payload", "malformed block at offset 0x89: payload is truncated"),
    ("starts-outside", "malformed block starts at offset 0x81: block start is 0, out of bounds (end 44)"),
    ("starts-overlap", "malformed block at offset 0x89: csize is truncated"),
    ("token", "malformed block at offset 0x89: token is 2 (0x2), which is not defined"),
    (
        "too-many-blocks",
        "malformed block starts at offset 0x81: number of blocks is 1000, out of bounds (end 4)",
    ),
    (
        "trailer-length",
        "malformed frame trailer at offset 0x49d: trailer length is 2147483648, out of bounds (end 1108)",
    ),
    ("uncompressed-size", "malformed offsets chunk at offset 0x46d: nbytes is 8, expected 36893488147419104"),
    ("unknown-codec", "codec 77 (unknown) is not supported"),
    ("unknown-filter", "filter 99 (unknown) is not supported"),
    ("version", "malformed frame header at offset 0x19: general flags is 31 (0x1f), which is not defined"),
];
