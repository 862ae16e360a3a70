//! Wrong numbers in a file are faults of the file: none of them is an error of this library.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use cframe::{Array, Error, Frame, OpenOptions};

/// The numbers that replace those of a file.
const EXTREMES: [[u8; 8]; 4] = [
    [0xFF; 8],
    [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
    [0xFF, 0xFF, 0xFF, 0x7F, 0, 0, 0, 0],
    [0; 8],
];

/// The number of bytes at the beginning and at the end of a file that are replaced.
const REACH: usize = 160;

/// Reads everything of a frame, and returns the errors.
fn asked(bytes: &[u8], options: &OpenOptions) -> Vec<Error> {
    let mut errors = Vec::new();
    let frame = match Frame::from_bytes_with(bytes.to_vec(), options) {
        Ok(frame) => frame,
        Err(error) => return vec![error],
    };
    for index in (0..frame.chunks().min(4)).chain([frame.chunks(), u64::MAX]) {
        errors.extend(frame.chunk(index).and_then(|chunk| chunk.decode()).err());
        errors.extend(frame.chunk_range(index).err());
        errors.extend(frame.stored_bytes(index).err());
        errors.extend(frame.special(index).err());
        if let Ok(chunk) = frame.chunk(index) {
            let middle = chunk.nbytes() / 2;
            errors.extend(chunk.read_into(middle, &mut [0; 3]).err());
        }
    }
    for byte in [0, 1, frame.nbytes() / 2, frame.nbytes().wrapping_sub(1), u64::MAX] {
        errors.extend(frame.chunk_at(byte).err());
        errors.extend(frame.read_bytes(byte, &mut [0; 9]).err());
    }
    if frame.chunks() < 100 {
        frame.check(&mut |error| errors.push(error));
    }
    errors.extend(Array::from_frame(frame).err());
    errors
}

#[test]
fn extreme_numbers_are_no_internal_errors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/blosc2");
    let limits = cframe::Limits::default().with_memory(1 << 22);
    let mut refused = 0;
    for name in
        ["special.b2frame", "batches.b2b", "filter-shuffle.b2frame", "dictionary.b2frame", "grid.b2nd"]
    {
        let bytes = fs::read(folder.join(name)).unwrap();
        let ends = (0..REACH.min(bytes.len())).chain(bytes.len().saturating_sub(REACH)..bytes.len());
        for at in ends {
            for (value, size) in EXTREMES.iter().flat_map(|value| [(value, 4), (value, 8)]) {
                let mut changed = bytes.clone();
                changed[at..].iter_mut().zip(&value[..size]).for_each(|(byte, new)| *byte = *new);
                for rescue in [false, true] {
                    let options =
                        OpenOptions::default().with_limits(limits).with_threads(1).with_rescue(rescue);
                    for error in asked(&changed, &options) {
                        refused += 1;
                        assert!(
                            !matches!(error, Error::Internal { .. }),
                            "{name}, {at}, {value:x?}: {error}"
                        );
                    }
                }
            }
        }
    }
    assert!(refused > 0);
}

#[test]
fn a_place_behind_the_end_of_a_storage_holds_no_frame() {
    for offset in [1, 63, 64, 65, u64::MAX - 1, u64::MAX] {
        let error = Frame::from_storage(vec![0u8; 64], offset, &OpenOptions::default()).unwrap_err();
        assert!(!matches!(error, Error::Internal { .. }), "{offset}: {error}");
    }
}
