//! The name list block, which contains the names of chunks. An index entry refers to a name by its position.
//!
//! Layers before 2.0 have a slot per name:
//!
//! | offset | size | field |
//! |--:|--:|---|
//! | 64·i | 1 to 63 | name i: UTF-8 text |
//! | | rest of 64 | zeros, at least one |
//!
//! Layer 2.0 and later layers store the names one after another:
//!
//! | offset | size | field |
//! |--:|--:|---|
//! | end of name i − 1 | 1 or more | name i: UTF-8 text |
//! | | 1 | zero |
//!
//! The list ends at the first empty slot or name, and what follows has no meaning. The size of the block is a multiple of 64
//! bytes in both cases. A packed block ends with a zero byte.

use nom::Parser;
use nom::bytes::complete::{tag, take, take_till1};
use nom::combinator::cut;
use nom::multi::many_m_n;
use nom::sequence::terminated;
use sciformats_core::arith::add;
use sciformats_core::fault::{Parsed, checked, fail, field};
use sciformats_core::{Error, FaultKind, Result};

/// How names are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// In slots of 64 bytes, as in layers before 2.0.
    Slots,
    /// One after another, as in layer 2.0 and later layers.
    Packed,
}

/// The unit in which the header counts the size of the block.
pub(crate) const UNIT: u64 = 64;
/// The largest size of a name in a slot, in bytes.
pub(crate) const SLOT_TEXT: usize = 63;
/// The largest number of names to which an `id` of 16 bits can refer.
pub(crate) const MAX_NAMES: usize = 1 << 16;

impl Encoding {
    /// Parses the names in `i`, which is the whole block. The rest is the end mark and what follows it.
    pub(crate) fn parse(self, i: &[u8]) -> Parsed<'_, Vec<&[u8]>> {
        let name = match self {
            Self::Slots => slot,
            Self::Packed => {
                ends_in_zero(i)?;
                string
            }
        };
        let (i, names) = many_m_n(0, MAX_NAMES, name).parse(i)?;
        if names.len() == MAX_NAMES && name(i).is_ok() {
            return field("name", |i| fail(i, FaultKind::Rule("is one more than an id can refer to")))(i);
        }
        Ok((i, names))
    }

    /// Appends a name. It must not be empty or contain a zero, and in a slot it has at most 63 bytes.
    pub(crate) fn encode(self, name: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let end = add(out.len(), self.size(name)?)?;
        out.extend(name);
        if out.len() >= end {
            return Err(Error::internal("a name does not fit its slot"));
        }
        out.resize(end, 0);
        Ok(())
    }

    /// Returns the number of bytes that the name needs in the block.
    pub(crate) fn size(self, name: &[u8]) -> Result<usize> {
        match self {
            Self::Slots => Ok(64),
            Self::Packed => add(name.len(), 1),
        }
    }
}

/// Parses a slot. An empty slot is an error, which ends the list; a slot without a zero byte is a failure.
fn slot(i: &[u8]) -> Parsed<'_, &[u8]> {
    let (rest, slot) = take(64usize)(i)?;
    let (end, name) = take_till1(|byte| byte == 0)(slot)?;
    if end.is_empty() {
        return cut(field("name", |_| fail(i, FaultKind::Rule("has no zero byte at its end")))).parse(i);
    }
    Ok((rest, name))
}

/// Parses a string that is not empty.
fn string(i: &[u8]) -> Parsed<'_, &[u8]> {
    terminated(take_till1(|byte| byte == 0), tag(&[0][..])).parse(i)
}

fn ends_in_zero(i: &[u8]) -> Parsed<'_, ()> {
    let Some(before) = i.len().checked_sub(1) else { return Ok((i, ())) };
    let (last, _) = take(before)(i)?;
    checked("last byte", nom::number::complete::u8, |&byte| {
        (byte != 0).then_some(FaultKind::Mismatch { expected: 0, found: byte.into() })
    })
    .map(drop)
    .parse(last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate;

    use super::*;

    fn parse(encoding: Encoding, bytes: &[u8]) -> Result<(Vec<&[u8]>, usize), String> {
        let with_rest = |i| encoding.parse(i).map(|(rest, names)| (rest, (names, rest.len())));
        locate("name list", 0x1100, bytes, with_rest).map_err(|e| e.to_string())
    }

    #[test]
    fn packed_names() {
        let bytes = [
            &b"a\0"[..],             // name 0
            b"particles/position\0", // name 1
            b"\0",                   // empty: the end of the list
            b"left over",            // no meaning
            &[0; 33],                // zeros up to a multiple of 64
        ]
        .concat();
        assert_eq!(bytes.len(), 64);
        let (names, rest) = parse(Encoding::Packed, &bytes).unwrap();
        assert_eq!(names, [&b"a"[..], b"particles/position"]);
        assert_eq!(rest, 64 - 21);
        let mut out = Vec::new();
        names.iter().try_for_each(|name| Encoding::Packed.encode(name, &mut out)).unwrap();
        assert_eq!(out, bytes[..21]);
        assert_eq!(parse(Encoding::Packed, b"").unwrap(), (vec![], 0));
        assert_eq!(parse(Encoding::Packed, b"ab\0").unwrap(), (vec![&b"ab"[..]], 0));
        assert_eq!(
            parse(Encoding::Packed, b"ab\0c").unwrap_err(),
            "malformed name list at offset 0x1103: last byte is 99, expected 0"
        );
    }

    #[test]
    fn names_in_slots() {
        let mut bytes = [
            &b"abc"[..], // slot 0: text
            &[0; 61],    // zeros
            &[b'x'; 63], // slot 1: as much text as there can be
            &[0],        // zero
            &[0; 64],    // slot 2: empty, the end of the list
            b"z",        // slot 3: no meaning
            &[0; 63],    // zeros
        ]
        .concat();
        let (names, rest) = parse(Encoding::Slots, &bytes).unwrap();
        assert_eq!(names, [&b"abc"[..], &[b'x'; 63]]);
        assert_eq!(rest, 128);
        let mut out = Vec::new();
        names.iter().try_for_each(|name| Encoding::Slots.encode(name, &mut out)).unwrap();
        assert_eq!(out, bytes[..128]);
        bytes[127] = b'x';
        assert_eq!(
            parse(Encoding::Slots, &bytes).unwrap_err(),
            "malformed name list at offset 0x1140: name has no zero byte at its end"
        );
    }

    #[test]
    fn no_more_names_than_ids() {
        let mut bytes = b"n\0".repeat(MAX_NAMES);
        assert_eq!(parse(Encoding::Packed, &bytes).unwrap().0.len(), MAX_NAMES);
        bytes.extend(b"m\0");
        assert_eq!(
            parse(Encoding::Packed, &bytes).unwrap_err(),
            "malformed name list at offset 0x21100: name is one more than an id can refer to"
        );
    }

    proptest! {
        #[test]
        fn parse_inverts_encode(
            names in prop::collection::vec(prop::collection::vec(1u8.., 1..64), 0..9),
            slots in any::<bool>(),
        ) {
            let encoding = if slots { Encoding::Slots } else { Encoding::Packed };
            let mut bytes = Vec::new();
            names.iter().try_for_each(|name| encoding.encode(name, &mut bytes)).unwrap();
            bytes.resize((bytes.len() + 1).next_multiple_of(64), 0);
            prop_assert_eq!(parse(encoding, &bytes).unwrap().0, names);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Encoding::Packed.parse(&bytes);
            let _ = Encoding::Slots.parse(&bytes);
        }
    }
}
