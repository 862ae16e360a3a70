//! Class 1, floating-point numbers.
//!
//! | bits | class bit field |
//! |---|---|
//! | 0, 6 | byte order: 0 little-endian, 1 big-endian; if both bits are set, VAX |
//! | 1 | padding of the bits below the value |
//! | 2 | padding of the bits above the value |
//! | 3 | padding of the bits between the fields |
//! | 4–5 | mantissa normalization: 0 none, 1 the highest bit is always set, 2 the highest bit is implied |
//! | 8–15 | sign location |
//!
//! | offset | size | property |
//! |---|---|---|
//! | 8 | 2 | bit offset |
//! | 10 | 2 | bit precision |
//! | 12 | 1 | exponent location |
//! | 13 | 1 | exponent size |
//! | 14 | 1 | mantissa location |
//! | 15 | 1 | mantissa size |
//! | 16 | 4 | exponent bias |

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
    /// The order of the bytes.
    pub order: FloatOrder,
    /// Whether unused bits are filled with ones: below the value, above it, and between its fields.
    pub padding: [bool; 3],
    /// What is known about the highest bit of the mantissa.
    pub normalization: Normalization,
    /// The position of the sign bit.
    pub sign_location: u8,
    /// The number of bits below the value.
    pub bit_offset: u16,
    /// The number of bits of the value.
    pub precision: u16,
    /// The position of the lowest bit of the exponent.
    pub exponent_location: u8,
    /// The number of bits of the exponent.
    pub exponent_size: u8,
    /// The position of the lowest bit of the mantissa.
    pub mantissa_location: u8,
    /// The number of bits of the mantissa.
    pub mantissa_size: u8,
    /// The number that is added to the exponent.
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
    /// The least significant byte is the first.
    Little,
    /// The most significant byte is the first.
    Big,
    /// The value consists of words of 2 bytes. The most significant word is the first, and in each word the least significant
    /// byte.
    Vax,
}

/// What is known about the highest bit of the mantissa.
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
    /// Nothing is known.
    None,
    /// The bit is always set, and is stored.
    AlwaysSet,
    /// The bit is always set, and is not stored.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::super::test::near;
    use super::super::Datatype;
    use super::super::tests::both_ways;
    use super::*;

    const BYTES: [u8; 20] = [
        0x11, // version 1, class 1
        0x21, 0x1f, 0, // class bit field: big-endian, implied bit, sign in bit 31
        4, 0, 0, 0, // size
        0, 0, // bit offset
        0x20, 0,    // bit precision
        0x17, // exponent location
        8,    // exponent size
        0,    // mantissa location
        0x17, // mantissa size
        0x7f, 0, 0, 0, // exponent bias
    ];

    const VAX: [u8; 20] = [
        0x31, // version 3, class 1
        0x61, 0x1f, 0, // class bit field: VAX, implied bit, sign in bit 31
        4, 0, 0, 0, // size
        0, 0, // bit offset
        0x20, 0,    // bit precision
        0x17, // exponent location
        8,    // exponent size
        0,    // mantissa location
        0x17, // mantissa size
        0x81, 0, 0, 0, // exponent bias
    ];

    #[test]
    fn single_precision_and_vax() {
        let float = FloatingPoint {
            order: FloatOrder::Big,
            padding: [false; 3],
            normalization: Normalization::Implied,
            sign_location: 31,
            bit_offset: 0,
            precision: 32,
            exponent_location: 23,
            exponent_size: 8,
            mantissa_location: 0,
            mantissa_size: 23,
            bias: 127,
        };
        both_ways(&BYTES, 1, 4, Class::FloatingPoint(float));
        let vax = FloatingPoint { order: FloatOrder::Vax, bias: 129, ..float };
        both_ways(&VAX, 3, 4, Class::FloatingPoint(vax));
        // A byte order, a normalization, a sign location and an exponent that are invalid.
        for (at, value) in [(1, 0x60), (1, 0x30), (2, 32), (13, 10)] {
            let mut wrong = BYTES;
            wrong[at] = value;
            assert!(Datatype::parse(&wrong).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes_bytes in near(&BYTES), vax_bytes in near(&VAX)) {
            let _ = Datatype::parse(&bytes_bytes);
            let _ = Datatype::parse(&vax_bytes);
        }
    }
}
