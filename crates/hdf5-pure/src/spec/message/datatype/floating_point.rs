//! Class 1, floating-point numbers: bit offset (2), bit precision (2), location and size of the exponent and of the
//! mantissa (1 each), exponent bias (4). Class bits: 0 and 6 order, 1–3 padding, 4–5 normalization, 8–15 sign location.

use nom::number::complete::{le_u16, le_u32, u8 as byte};
use sciformats_core::fault::{FaultKind, Parsed, fail, field};
use sciformats_core::{Result, bound};

use super::super::super::bits;
use super::{Class, Head, bits_fit};

/// A floating-point type.
///
/// ```
/// use hdf5_pure::Datatype;
/// use hdf5_pure::structure::Class;
///
/// if let Class::FloatingPoint(half) = Datatype::float16().class {
///     assert_eq!((half.exponent_size, half.mantissa_size, half.bias), (5, 10, 15));
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatingPoint {
    /// Order of the bytes.
    pub order: FloatOrder,
    /// What fills unused bits: below, above, and inside.
    pub padding: [bool; 3],
    /// What is known of the mantissa's highest bit.
    pub normalization: Normalization,
    /// The sign's bit.
    pub sign_location: u8,
    /// Bits below the value.
    pub bit_offset: u16,
    /// Bits of the value.
    pub precision: u16,
    /// The exponent's lowest bit.
    pub exponent_location: u8,
    /// Bits of the exponent.
    pub exponent_size: u8,
    /// The mantissa's lowest bit.
    pub mantissa_location: u8,
    /// Bits of the mantissa.
    pub mantissa_size: u8,
    /// What is added to the exponent.
    pub bias: u32,
}

/// The order of the bytes of a floating-point number.
///
/// ```
/// use hdf5_pure::structure::FloatOrder;
/// use hdf5_pure::Datatype;
/// use hdf5_pure::structure::Class;
///
/// let big = Datatype::float32().big_endian();
/// assert!(matches!(big.class, Class::FloatingPoint(float) if float.order == FloatOrder::Big));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
    /// Words of 2 bytes, most significant word first, each least significant byte first.
    Vax,
}

/// What is known of the mantissa's highest bit.
///
/// ```
/// use hdf5_pure::structure::Normalization;
/// use hdf5_pure::Datatype;
/// use hdf5_pure::structure::Class;
///
/// let class = Datatype::float64().class;
/// assert!(matches!(class, Class::FloatingPoint(float) if float.normalization == Normalization::Implied));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalization {
    /// Nothing.
    None,
    /// It is always set, and stored.
    AlwaysSet,
    /// It is always set, and not stored.
    Implied,
}

pub(super) fn parse(i: &[u8], head: Head) -> Parsed<'_, Class> {
    let at = i;
    let (i, bit_offset) = field("bit offset", le_u16)(i)?;
    let (i, precision) = field("bit precision", le_u16)(i)?;
    let (i, exponent_location) = field("exponent location", byte)(i)?;
    let (i, exponent_size) = field("exponent size", byte)(i)?;
    let (i, mantissa_location) = field("mantissa location", byte)(i)?;
    let (i, mantissa_size) = field("mantissa size", byte)(i)?;
    let (i, bias) = field("exponent bias", le_u32)(i)?;
    bits_fit(at, head.size, bit_offset, precision)?;
    let order = match head.bits & 0x41 {
        0 => FloatOrder::Little,
        1 => FloatOrder::Big,
        0x41 => FloatOrder::Vax,
        found => return field("byte order", |i| fail(i, FaultKind::Undefined { found: found.into() }))(at),
    };
    let normalization = match bits(head.bits, 4, 2) {
        0 => Normalization::None,
        1 => Normalization::AlwaysSet,
        2 => Normalization::Implied,
        found => {
            return field("mantissa normalization", |i| {
                fail(i, FaultKind::Undefined { found: found.into() })
            })(at);
        }
    };
    let padding = [head.bits & 2 != 0, head.bits & 4 != 0, head.bits & 8 != 0];
    let sign_location = bits(head.bits, 8, 8);
    let room = bound::sum(u64::from(precision), bit_offset.into());
    let ends = [
        bound::sum(u64::from(exponent_location), exponent_size.into()),
        bound::sum(u64::from(mantissa_location), mantissa_size.into()),
        u64::from(sign_location) + 1,
    ];
    if let Some(&found) = ends.iter().find(|&&end| end > room) {
        let kind = FaultKind::OutOfBounds { found, end: bound::sum(room, 1) };
        return field("floating-point field", |i| fail(i, kind))(at);
    }
    let float = FloatingPoint {
        order,
        padding,
        normalization,
        sign_location,
        bit_offset,
        precision,
        exponent_location,
        exponent_size,
        mantissa_location,
        mantissa_size,
        bias,
    };
    Ok((i, Class::FloatingPoint(float)))
}

impl FloatingPoint {
    pub(super) fn bits(&self) -> u32 {
        let order = match self.order {
            FloatOrder::Little => 0,
            FloatOrder::Big => 1,
            FloatOrder::Vax => 0x41,
        };
        let normalization = match self.normalization {
            Normalization::None => 0,
            Normalization::AlwaysSet => 1,
            Normalization::Implied => 2,
        };
        let [low, high, inside] = self.padding.map(u32::from);
        order | low << 1 | high << 2 | inside << 3 | normalization << 4 | u32::from(self.sign_location) << 8
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        super::put_shorts(out, [self.bit_offset, self.precision])?;
        out.extend([self.exponent_location, self.exponent_size, self.mantissa_location, self.mantissa_size]);
        out.extend(self.bias.to_le_bytes());
        Ok(())
    }
}
