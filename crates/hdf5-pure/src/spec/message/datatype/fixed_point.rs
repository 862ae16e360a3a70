//! Class 0, integers.
//!
//! | bits | class bit field |
//! |---|---|
//! | 0 | byte order: 0 little-endian, 1 big-endian |
//! | 1 | padding of the bits below the value |
//! | 2 | padding of the bits above the value |
//! | 3 | 1: signed, in two's complement |
//!
//! | offset | size | property |
//! |---|---|---|
//! | 8 | 2 | bit offset |
//! | 10 | 2 | bit precision, not 0 |

use nom::number::complete::le_u16;
use sciformats_core::endian::ByteOrder;
use sciformats_core::fault::{Parsed, field};

use super::{Class, Head, bits_fit, order};

/// An integer type.
///
/// ```
/// use hdf5_pure::Datatype;
/// use hdf5_pure::structure::Class;
///
/// let twelve_bits = Datatype::unsigned(2).with_precision(12, 0)?;
/// assert!(matches!(twelve_bits.class, Class::FixedPoint(counts) if counts.precision == 12 && !counts.signed));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedPoint {
    /// The order of the bytes.
    pub order: ByteOrder,
    /// Whether the bits below the value are filled with ones.
    pub low_padding: bool,
    /// Whether the bits above the value are filled with ones.
    pub high_padding: bool,
    /// Whether the type is signed, in two's complement.
    pub signed: bool,
    /// The number of bits below the value.
    pub bit_offset: u16,
    /// The number of bits of the value.
    pub precision: u16,
}

pub(super) fn parse(i: &[u8], head: Head) -> Parsed<'_, Class> {
    let at = i;
    let (i, bit_offset) = field("bit offset", le_u16)(i)?;
    let (i, precision) = field("bit precision", le_u16)(i)?;
    bits_fit(at, head.size, bit_offset, precision)?;
    let fixed = FixedPoint {
        order: order(head.bits),
        low_padding: head.bits & 2 != 0,
        high_padding: head.bits & 4 != 0,
        signed: head.bits & 8 != 0,
        bit_offset,
        precision,
    };
    Ok((i, Class::FixedPoint(fixed)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::super::test::near;
    use super::super::Datatype;
    use super::super::tests::both_ways;
    use super::*;

    const BYTES: [u8; 12] = [
        0x10, // version 1, class 0
        0x0b, 0, 0, // class bit field: big-endian, ones below, signed
        4, 0, 0, 0, // size
        4, 0, // bit offset
        0x1c, 0, // bit precision
    ];

    #[test]
    fn twenty_eight_bits() {
        let fixed = FixedPoint {
            order: ByteOrder::Big,
            low_padding: true,
            high_padding: false,
            signed: true,
            bit_offset: 4,
            precision: 28,
        };
        both_ways(&BYTES, 1, 4, Class::FixedPoint(fixed));
        let mut wrong = BYTES;
        wrong[10] = 29; // one bit too many
        assert!(Datatype::parse(&wrong).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes_bytes in near(&BYTES)) {
            let _ = Datatype::parse(&bytes_bytes);
        }
    }
}
