//! The texts of an object of MATLAB's class `string`.
//!
//! Source: the documentation of the package `mat-io`, and files that this package writes. All numbers have eight
//! bytes; the texts are UTF-16, one after the other, in the order of the machine that wrote the file.
//!
//! | place | field |
//! |---|---|
//! | 0 | version: 1 |
//! | 1 | number of dimensions |
//! | 2 | length of each dimension |
//! | – | number of units of each text, the first dimension varying fastest; 2^64 - 1 if it is missing |
//! | – | units of all texts, padded to eight bytes |

use sciformats::{Error, Result};
use sciformats_core::{Fault, FaultKind};

/// The number of units of a missing text.
const MISSING: u64 = u64::MAX;

/// The largest number of dimensions.
pub(crate) const DIMENSIONS: u64 = 64;

fn fault(field: &'static str, kind: FaultKind, at: usize) -> Error {
    Fault::new(field, kind).at("texts of MATLAB", at as u64 * 8)
}

/// Parses the lengths of the dimensions, which are at the beginning.
///
/// # Errors
///
/// An error that names the field and its offset if it contradicts the layout.
pub(crate) fn shape(words: &[u64]) -> Result<Vec<u64>> {
    let word =
        |field, at: usize| words.get(at).copied().ok_or_else(|| fault(field, FaultKind::Truncated, at));
    let version = word("version", 0)?;
    if version != 1 {
        return Err(fault("version", FaultKind::Undefined { found: version }, 0));
    }
    let dimensions = word("number of dimensions", 1)?;
    if !(2..=DIMENSIONS).contains(&dimensions) {
        return Err(fault("number of dimensions", FaultKind::Undefined { found: dimensions }, 1));
    }
    (2..).zip(0..dimensions).map(|(at, _)| word("length of a dimension", at)).collect()
}

/// Parses all texts; `None` means a missing one.
///
/// # Errors
///
/// As [`shape`].
pub(crate) fn parse(words: &[u64], big: bool) -> Result<Vec<Option<String>>> {
    let shape = shape(words)?;
    let at = shape.len() + 2;
    let count = sciformats_core::slab::elements(&shape);
    let count = count.ok_or_else(|| fault("length of a dimension", FaultKind::Overflow, 2))?;
    let rest = words.get(at..).unwrap_or_default();
    let split = usize::try_from(count).ok().and_then(|count| rest.split_at_checked(count));
    let kind = FaultKind::OutOfBounds { found: count, end: rest.len() as u64 };
    let (counts, packed) = split.ok_or_else(|| fault("number of texts", kind, at))?;
    let units: Vec<u16> = packed
        .iter()
        .flat_map(|word| if big { word.to_be_bytes() } else { word.to_le_bytes() })
        .collect::<Vec<u8>>()
        .as_chunks::<2>()
        .0
        .iter()
        .map(|two| if big { u16::from_be_bytes(*two) } else { u16::from_le_bytes(*two) })
        .collect();
    let mut texts = Vec::new();
    let mut left = units.as_slice();
    for (of, &count) in counts.iter().enumerate() {
        if count == MISSING {
            texts.push(None);
            continue;
        }
        let kind = FaultKind::OutOfBounds { found: count, end: left.len() as u64 };
        let split = usize::try_from(count).ok().and_then(|count| left.split_at_checked(count));
        let (one, after) = split.ok_or_else(|| fault("number of units", kind, at + of))?;
        texts.push(Some(String::from_utf16_lossy(one)));
        left = after;
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[rustfmt::skip]
    const WORDS: &[u64] = &[
        1,                     // version
        2,                     // number of dimensions
        3, 1,                  // their lengths
        2, MISSING, 3,         // number of units of each text
        0x0063_0061_00FC_0061, // "aü", "ac"
        0x0000_0000_0000_0064, // "d", padding
    ];

    #[test]
    fn texts_and_missing_ones() {
        assert_eq!(shape(WORDS).unwrap(), [3, 1]);
        assert_eq!(parse(WORDS, false).unwrap(), [Some("aü".into()), None, Some("acd".into())]);
        let mut words = WORDS.to_vec();
        for word in &mut words[7..] {
            // Units are read in the order of the bytes of a machine whose highest byte is first.
            let bytes = word.to_le_bytes();
            *word = u64::from_be_bytes([1, 0, 3, 2, 5, 4, 7, 6].map(|at| bytes[at]));
        }
        assert_eq!(parse(&words, true).unwrap(), parse(WORDS, false).unwrap());
        assert_eq!(parse(&[1, 2, 0, 0], false).unwrap(), Vec::<Option<String>>::new());
    }

    #[test]
    fn errors_say_where() {
        let wrong = |words: &[u64]| parse(words, false).unwrap_err().to_string();
        assert_eq!(
            wrong(&[2]),
            "malformed texts of MATLAB at offset 0x0: version is 2 (0x2), which is not defined"
        );
        assert_eq!(
            wrong(&[1, 2, 9]),
            "malformed texts of MATLAB at offset 0x18: length of a dimension is truncated"
        );
        assert_eq!(
            wrong(&[1, 2, 9, 1, 0]),
            "malformed texts of MATLAB at offset 0x20: number of texts is 9, out of bounds (end 1)"
        );
        assert_eq!(
            wrong(&WORDS[..8]),
            "malformed texts of MATLAB at offset 0x30: number of units is 3, out of bounds (end 2)"
        );
    }

    proptest! {
        #[test]
        fn no_words_panic(mut words: Vec<u64>, start in 0usize..9, big: bool) {
            words.splice(..start.min(words.len()), WORDS[..start].iter().copied());
            let _ = parse(&words, big);
        }
    }
}
