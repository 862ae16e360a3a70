//! Class 0, integers: bit offset (2), bit precision (2). Class bits: 0 order, 1 and 2 padding bits, 3 signed.

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
/// let twelve_bits = Datatype::integer(false, 2).with_precision(12, 0)?;
/// assert!(matches!(twelve_bits.class, Class::FixedPoint(counts) if counts.precision == 12 && !counts.signed));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedPoint {
    /// Order of the bytes.
    pub order: ByteOrder,
    /// What fills the bits below the value.
    pub low_padding: bool,
    /// What fills the bits above the value.
    pub high_padding: bool,
    /// Two's complement.
    pub signed: bool,
    /// Bits below the value.
    pub bit_offset: u16,
    /// Bits of the value.
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
