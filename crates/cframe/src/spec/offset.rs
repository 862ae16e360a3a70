//! An entry of the offsets chunk: the position of a chunk, or its kind if nothing else is stored for it.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | a little-endian word |
//!
//! | bits | field |
//! |---|---|
//! | 63 | 0: the word is a position (frame: counted from the end of the header; directory: number of the chunk's file) |
//! | 56–58, if bit 63 is set | 1 zeros, 2 NaN, 4 uninitialised |

use nom::number::complete::le_u64;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::chunk_header::Special;

/// An entry of the offsets chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offset {
    /// A position, or the number of a file.
    At(u64),
    /// The whole chunk is of this kind, which is never [`Special::Value`].
    Special(Special),
}

impl Offset {
    /// The size of an entry in bytes.
    pub(crate) const SIZE: u32 = 8;

    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (rest, word) = field("chunk offset", le_u64)(i)?;
        if word >> 63 == 0 {
            return Ok((rest, Self::At(word)));
        }
        let kind = word >> 56;
        if kind & 1 != 0 {
            Ok((rest, Self::Special(Special::Zeros)))
        } else if kind & 4 != 0 {
            Ok((rest, Self::Special(Special::Uninit)))
        } else if kind & 2 != 0 {
            Ok((rest, Self::Special(Special::Nan)))
        } else {
            field("chunk offset", |i| fail(i, FaultKind::Undefined { found: word }))(i)
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let word = match self {
            Self::At(position) => position & (u64::MAX >> 1),
            // A repeated value does not fit an entry. Callers store such chunks.
            Self::Special(Special::Zeros | Special::Value) => 0x81 << 56,
            Self::Special(Special::Nan) => 0x82 << 56,
            Self::Special(Special::Uninit) => 0x84 << 56,
        };
        out.extend(word.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_byte_by_byte() {
        let bytes = [
            0x57, 1, 0, 0, 0, 0, 0, 0, // a position: 343
            0, 0, 0, 0, 0, 0, 0, 0x81, // zeros
            0, 0, 0, 0, 0, 0, 0, 0x82, // NaN
            0, 0, 0, 0, 0, 0, 0, 0x84, // uninitialised
        ];
        let expected = [Offset::At(343)]
            .into_iter()
            .chain([Special::Zeros, Special::Nan, Special::Uninit].map(Offset::Special));
        let mut rest = &bytes[..];
        for expected in expected {
            let (after, entry) = Offset::parse(rest).unwrap();
            let mut out = Vec::new();
            entry.encode(&mut out);
            assert_eq!((entry, &out[..]), (expected, &rest[..8]));
            rest = after;
        }
        assert!(rest.is_empty());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..12)) {
            if let Ok((_, entry)) = Offset::parse(&bytes) {
                let mut out = Vec::new();
                entry.encode(&mut out);
                prop_assert_eq!(Offset::parse(&out).unwrap().1, entry);
            }
        }
    }

    #[test]
    fn positions_and_kinds() {
        let all = [
            Offset::At(0),
            Offset::At(u64::MAX >> 1),
            Offset::Special(Special::Zeros),
            Offset::Special(Special::Nan),
            Offset::Special(Special::Uninit),
        ];
        for entry in all {
            let mut out = Vec::new();
            entry.encode(&mut out);
            assert_eq!(Offset::parse(&out), Ok((&[][..], entry)));
        }
        assert!(Offset::parse(&(0x80u64 << 56).to_le_bytes()).is_err());
        assert!(Offset::parse(&[1; 7]).is_err());
    }
}
