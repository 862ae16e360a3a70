//! Class 5, opaque bytes.
//!
//! | bits | class bit field |
//! |---|---|
//! | 0–7 | length of the tag, n: a multiple of 8 |
//!
//! | offset | size | property |
//! |---|---|---|
//! | 8 | n | ASCII tag, padded with zeros |

use nom::Parser;
use nom::bytes::complete::take;
use sciformats_core::fault::{Parsed, field};

use super::super::super::{bits, trimmed};
use super::{Class, Head};

pub(super) fn parse(i: &[u8], head: Head) -> Parsed<'_, Class> {
    let (i, tag) = field("ASCII tag", take(bits(head.bits, 0, 8))).parse(i)?;
    Ok((i, Class::Opaque { tag: trimmed(tag).into() }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::super::test::near;
    use super::super::Datatype;
    use super::super::tests::both_ways;
    use super::*;

    const BYTES: [u8; 16] = [
        0x15, // version 1, class 5
        8, 0, 0, // class bit field: length of the tag
        3, 0, 0, 0, // size
        b'p', b'i', b'x', b'e', b'l', // ASCII tag
        0, 0, 0, // zeros
    ];

    #[test]
    fn a_tag() {
        both_ways(&BYTES, 1, 3, Class::Opaque { tag: "pixel".into() });
        assert!(Datatype::parse(&BYTES[..15]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes_bytes in near(&BYTES)) {
            let _ = Datatype::parse(&bytes_bytes);
        }
    }
}
