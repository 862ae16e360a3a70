//! Wrong numbers in a file are faults of the file: none of them is an error of this library.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use asdf_core::{Asdf, Error, Limits, OpenOptions};

/// The numbers that replace those in a tree.
const NUMBERS: [&str; 5] =
    ["18446744073709551615", "9223372036854775808", "-9223372036854775808", "-1", "4294967296"];

/// Reads everything of a file, and returns the errors.
fn asked(bytes: Vec<u8>) -> Vec<Error> {
    let options = OpenOptions::default().with_limits(Limits::default().with_memory(1 << 22));
    let file = match Asdf::from_storage(bytes, &options) {
        Ok(file) => file,
        Err(error) => return vec![error],
    };
    let mut errors = Vec::new();
    for node in file.tree().reachable() {
        errors.extend(file.tree().value(node).err());
        if file.is_array(node) {
            match file.array_at(node) {
                Ok(array) if array.len() < 1 << 16 => {
                    errors.extend(array.read_bytes().err());
                    errors.extend(array.read_mask().err());
                }
                Ok(_) => {}
                Err(error) => errors.push(error),
            }
        }
    }
    errors.extend(file.tree().to_text().err());
    errors
}

/// Returns the runs of digits in the text of a file.
fn digits(bytes: &[u8]) -> Vec<(usize, usize)> {
    let text = bytes.windows(4).position(|part| part == b"\xd3BLK").unwrap_or(bytes.len());
    let mut runs = Vec::new();
    let mut start = None;
    for at in 0..=text {
        match (bytes.get(at).filter(|_| at < text).is_some_and(u8::is_ascii_digit), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                runs.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    runs
}

#[test]
fn extreme_numbers_are_no_internal_errors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/asdf");
    let mut refused = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_file() || path.extension().is_none_or(|end| end != "asdf") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut check = |bytes: Vec<u8>, what: &str| {
            for error in asked(bytes) {
                refused += 1;
                assert!(!matches!(error, Error::Internal { .. }), "{name}, {what}: {error}");
            }
        };
        for (start, end) in digits(&bytes).into_iter().take(120) {
            for number in NUMBERS {
                let changed = [&bytes[..start], number.as_bytes(), &bytes[end..]].concat();
                check(changed, &format!("{number} at {start}"));
            }
        }
        // The header of the first block.
        if let Some(block) = bytes.windows(4).position(|part| part == b"\xd3BLK") {
            for at in block..(block + 54).min(bytes.len()) {
                for value in [[0xFFu8; 8], [0x7F; 8], [0; 8]] {
                    let mut changed = bytes.clone();
                    changed[at..].iter_mut().zip(value).for_each(|(byte, new)| *byte = new);
                    check(changed, &format!("{value:x?} at {at}"));
                }
            }
        }
    }
    assert!(refused > 0);
}
