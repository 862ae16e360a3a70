//! Class 4, bits: bit offset (2), bit precision (2). Class bits: 0 order, 1 and 2 padding bits.

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
    /// Order of the bytes.
    pub order: ByteOrder,
    /// What fills the bits below.
    pub low_padding: bool,
    /// What fills the bits above.
    pub high_padding: bool,
    /// Bits below the field.
    pub bit_offset: u16,
    /// Bits of the field.
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
