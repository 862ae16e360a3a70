//! Class 2, times.
//!
//! | bits | class bit field |
//! |---|---|
//! | 0 | byte order: 0 little-endian, 1 big-endian |
//!
//! | offset | size | property |
//! |---|---|---|
//! | 8 | 2 | bit precision |

use nom::Parser;
use nom::number::complete::le_u16;
use sciformats_core::fault::{Parsed, field};

use super::{Class, Head, order};

pub(super) fn parse(i: &[u8], head: Head) -> Parsed<'_, Class> {
    field("bit precision", le_u16)
        .map(|precision| Class::Time { order: order(head.bits), precision })
        .parse(i)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::super::test::near;
    use super::super::Datatype;
    use super::super::tests::both_ways;
    use super::*;

    const BYTES: [u8; 10] = [
        0x12, // version 1, class 2
        1, 0, 0, // class bit field: big-endian
        4, 0, 0, 0, // size
        0x20, 0, // bit precision
    ];

    #[test]
    fn thirty_two_bits() {
        both_ways(
            &BYTES,
            1,
            4,
            Class::Time { order: sciformats_core::endian::ByteOrder::Big, precision: 32 },
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes_bytes in near(&BYTES)) {
            let _ = Datatype::parse(&bytes_bytes);
        }
    }
}
