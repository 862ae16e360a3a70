//! Class 4, bit fields.
//!
//! | bits | class bit field |
//! |---|---|
//! | 0 | byte order: 0 little-endian, 1 big-endian |
//! | 1 | padding of the bits below the field |
//! | 2 | padding of the bits above the field |
//!
//! | offset | size | property |
//! |---|---|---|
//! | 8 | 2 | bit offset |
//! | 10 | 2 | bit precision, not 0 |

use nom::number::complete::le_u16;
use sciformats_core::endian::ByteOrder;
use sciformats_core::fault::{Parsed, field};

use super::{Class, Head, bits_fit, order};

/// A bit field type.
///
/// ```
/// use hdf5_pure::Datatype;
/// use hdf5_pure::structure::Class;
///
/// assert!(matches!(Datatype::bits(2).class, Class::BitField(flags) if flags.precision == 16));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitField {
    /// The order of the bytes.
    pub order: ByteOrder,
    /// Whether the bits below the field are filled with ones.
    pub low_padding: bool,
    /// Whether the bits above the field are filled with ones.
    pub high_padding: bool,
    /// The number of bits below the field.
    pub bit_offset: u16,
    /// The number of bits of the field.
    pub precision: u16,
}

pub(super) fn parse(i: &[u8], head: Head) -> Parsed<'_, Class> {
    let at = i;
    let (i, bit_offset) = field("bit offset", le_u16)(i)?;
    let (i, precision) = field("bit precision", le_u16)(i)?;
    bits_fit(at, head.size, bit_offset, precision)?;
    let low_padding = head.bits & 2 != 0;
    let high_padding = head.bits & 4 != 0;
    Ok((
        i,
        Class::BitField(BitField {
            order: order(head.bits),
            low_padding,
            high_padding,
            bit_offset,
            precision,
        }),
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::super::test::near;
    use super::super::Datatype;
    use super::super::tests::both_ways;
    use super::*;

    const BYTES: [u8; 12] = [
        0x14, // version 1, class 4
        5, 0, 0, // class bit field: big-endian, ones above
        2, 0, 0, 0, // size
        3, 0, // bit offset
        9, 0, // bit precision
    ];

    #[test]
    fn nine_bits() {
        let bits = BitField {
            order: ByteOrder::Big,
            low_padding: false,
            high_padding: true,
            bit_offset: 3,
            precision: 9,
        };
        both_ways(&BYTES, 1, 2, Class::BitField(bits));
        let mut wrong = BYTES;
        wrong[8] = 8; // one bit too many
        assert!(Datatype::parse(&wrong).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes_bytes in near(&BYTES)) {
            let _ = Datatype::parse(&bytes_bytes);
        }
    }
}
