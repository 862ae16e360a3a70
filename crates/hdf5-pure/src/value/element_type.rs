//! The meaning of elements, whatever their byte order, padding and precision in the file.

use std::fmt;

use sciformats_core::number::Real;
use sciformats_core::{Error, Result, bound};

use crate::spec::Name;
use crate::spec::message::datatype::{
    BitField, Class, Datatype, FixedPoint, FloatOrder, FloatingPoint, Normalization, ReferenceKind,
    VariableLength,
};

/// The meaning of a datatype.
///
/// ```
/// use hdf5_pure::{Datatype, ElementType};
///
/// let counts = Datatype::signed(4).big_endian();
/// assert_eq!(counts.element_type()?, ElementType::Integer { signed: true, size: 4 });
/// assert_eq!(Datatype::string().element_type()?, ElementType::String);
/// let row = Datatype::compound([("x", Datatype::float64())]);
/// assert_eq!(row.element_type()?, ElementType::Compound(vec![("x".into(), ElementType::Float(8))]));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElementType {
    /// Integers.
    Integer {
        /// Whether they are signed, in two's complement.
        signed: bool,
        /// Their size in bytes.
        size: u32,
    },
    /// IEEE 754 numbers of 2, 4 or 8 bytes.
    Float(u32),
    /// bfloat16: the upper half of IEEE 754 binary32.
    BFloat16,
    /// Any other floating-point number.
    OtherFloat,
    /// Complex numbers of this size in bytes. Each consists of two floating-point numbers of half the size. Compounds
    /// of two such numbers named `r` and `i` are complex numbers too.
    Complex(u32),
    /// Strings.
    String,
    /// Opaque elements of this size in bytes.
    Opaque(u32),
    /// Bit fields of this size in bytes.
    Bits(u32),
    /// Times of this size in bytes.
    Time(u32),
    /// Integers whose values have names.
    Enumeration {
        /// The type of the integers.
        base: Box<ElementType>,
        /// The names and values in stored order.
        members: Vec<(Name, i128)>,
    },
    /// Compounds, given by the names and types of their members.
    Compound(Vec<(Name, ElementType)>),
    /// Arrays of fixed shape.
    Array {
        /// The type of the elements.
        base: Box<ElementType>,
        /// The shape of each array.
        shape: Vec<u32>,
    },
    /// Sequences of any length, given by the type of their items.
    Sequence(Box<ElementType>),
    /// References to objects.
    Reference,
    /// References to regions of datasets.
    RegionReference,
}

/// Writes the type in one line as messages show it: `f32`, `text`, `compound (id u32, mass f64)`.
///
/// ```
/// use hdf5_pure::Datatype;
///
/// let particle = Datatype::compound([("mass", Datatype::float64()), ("position", Datatype::array(&[3], &Datatype::float32()))]);
/// assert_eq!(particle.element_type()?.to_string(), "compound (mass f64, position f32[3])");
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = |size: &u32| u64::from(*size) * 8;
        match self {
            Self::Integer { signed, size } => write!(f, "{}{}", if *signed { 'i' } else { 'u' }, bits(size)),
            Self::Float(size) => write!(f, "f{}", bits(size)),
            Self::BFloat16 => f.write_str("bf16"),
            Self::OtherFloat => f.write_str("floating-point numbers of another format"),
            Self::Complex(size) => write!(f, "complex{}", bits(size)),
            Self::String => f.write_str("text"),
            Self::Opaque(size) => write!(f, "opaque elements of {size} bytes"),
            Self::Bits(size) => write!(f, "bit fields of {size} bytes"),
            Self::Time(size) => write!(f, "times of {size} bytes"),
            Self::Enumeration { base, .. } => write!(f, "enumeration of {base}"),
            Self::Compound(members) => {
                f.write_str("compound (")?;
                for (number, (name, member)) in members.iter().enumerate() {
                    write!(f, "{}{name} {member}", if number == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
            Self::Array { base, shape } => write!(f, "{base}{shape:?}"),
            Self::Sequence(base) => write!(f, "sequences of {base}"),
            Self::Reference => f.write_str("references"),
            Self::RegionReference => f.write_str("region references"),
        }
    }
}

impl Datatype {
    /// Decodes a datatype from the bytes of its message.
    ///
    /// ```
    /// use hdf5_pure::{Datatype, ElementType};
    ///
    /// // Class 0 of version 1, signed, 4 bytes, of which all 32 bits count.
    /// let datatype = Datatype::from_bytes(&[0x10, 8, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0])?;
    /// assert_eq!(datatype.element_type()?, ElementType::Integer { signed: true, size: 4 });
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed`, whose offset counts from the start of the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        sciformats_core::fault::locate("datatype message", 0, bytes, Self::parse)
    }

    /// Returns the meaning of the elements.
    ///
    /// ```
    /// use hdf5_pure::ElementType;
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// assert_eq!(temperature.datatype().element_type()?, ElementType::Float(8));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Unsupported`] for integers of more than 16 bytes.
    pub fn element_type(&self) -> Result<ElementType> {
        let size = self.size;
        Ok(match &self.class {
            Class::FixedPoint(fixed) => ElementType::Integer { signed: fixed.signed, size },
            Class::FloatingPoint(float) => float_type(float, size),
            Class::Time { .. } => ElementType::Time(size),
            Class::String { .. } | Class::VariableLength(VariableLength::String { .. }) => {
                ElementType::String
            }
            Class::BitField(_) => ElementType::Bits(size),
            Class::Opaque { .. } => ElementType::Opaque(size),
            Class::Compound(members) => match self.complex_parts() {
                Some(_) => ElementType::Complex(size),
                None => ElementType::Compound(
                    members
                        .iter()
                        .map(|member| Ok((member.name.clone(), member.datatype.element_type()?)))
                        .collect::<Result<_>>()?,
                ),
            },
            Class::Reference(ReferenceKind::Region) => ElementType::RegionReference,
            Class::Reference(_) => ElementType::Reference,
            Class::Enumeration { base, members } => {
                let value = |bytes: &[u8]| match &base.class {
                    Class::FixedPoint(fixed) => integer(fixed, bytes),
                    _ => Err(Error::unsupported("an enumeration whose values are not integers")),
                };
                let members = members.iter().map(|member| Ok((member.name.clone(), value(&member.value)?)));
                ElementType::Enumeration {
                    base: Box::new(base.element_type()?),
                    members: members.collect::<Result<_>>()?,
                }
            }
            Class::VariableLength(VariableLength::Sequence(base)) => {
                ElementType::Sequence(Box::new(base.element_type()?))
            }
            Class::Array { dimensions, base } => {
                ElementType::Array { base: Box::new(base.element_type()?), shape: dimensions.clone() }
            }
            Class::Complex { base } => match base.element_type()? {
                ElementType::Float(part) => ElementType::Complex(bound::product(part, 2)),
                _ => ElementType::Complex(16),
            },
        })
    }

    /// Returns the offset and datatype of the real and the imaginary part if this compound represents a complex number.
    pub(crate) fn complex_parts(&self) -> Option<[(u32, &Datatype); 2]> {
        let Class::Compound(members) = &self.class else { return None };
        let [real, imaginary] = &members[..] else { return None };
        let float = |datatype: &Datatype| match datatype.class {
            Class::FloatingPoint(ref float) => float_type(float, datatype.size),
            _ => ElementType::OtherFloat,
        };
        let same =
            real.datatype == imaginary.datatype && matches!(float(&real.datatype), ElementType::Float(_));
        let packed = self.size == bound::product(real.datatype.size, 2);
        (same && packed && real.name == *"r" && imaginary.name == *"i")
            .then_some([(real.offset, &real.datatype), (imaginary.offset, &imaginary.datatype)])
    }
}

/// Recognizes the named formats by their size, exponent bits, mantissa bits and bias.
fn float_type(float: &FloatingPoint, size: u32) -> ElementType {
    let layout = |precision: u16, exponent: u8, mantissa: u8, bias: u32| {
        float.order != FloatOrder::Vax
            && float.normalization == Normalization::Implied
            && (float.bit_offset, float.precision) == (0, precision)
            && u32::from(float.sign_location) == u32::from(precision) - 1
            && (float.exponent_location, float.exponent_size) == (mantissa, exponent)
            && (float.mantissa_location, float.mantissa_size) == (0, mantissa)
            && float.bias == bias
            && u64::from(size) * 8 == u64::from(precision)
    };
    match size {
        2 if layout(16, 5, 10, 15) => ElementType::Float(2),
        4 if layout(32, 8, 23, 127) => ElementType::Float(4),
        8 if layout(64, 11, 52, 1023) => ElementType::Float(8),
        2 if layout(16, 8, 7, 127) => ElementType::BFloat16,
        _ => ElementType::OtherFloat,
    }
}

/// Returns the value of an integer of at most 16 bytes.
pub(crate) fn integer(fixed: &FixedPoint, bytes: &[u8]) -> Result<i128> {
    let raw = significant(bytes, fixed.order, fixed.bit_offset, fixed.precision)?;
    let unused = 128 - u32::from(fixed.precision.min(128));
    Ok(if fixed.signed { (raw << unused).cast_signed() >> unused } else { raw.cast_signed() })
}

/// Returns the value of an integer of at most 16 bytes, of which all bits may be significant.
pub(crate) fn integer_value(fixed: &FixedPoint, bytes: &[u8]) -> Result<Real> {
    let value = integer(fixed, bytes)?;
    Ok(if fixed.signed { Real::from(value) } else { Real::from(value.cast_unsigned()) })
}

/// Returns the bits of a bit field of at most 16 bytes.
pub(crate) fn bit_field(field: &BitField, bytes: &[u8]) -> Result<u128> {
    significant(bytes, field.order, field.bit_offset, field.precision)
}

fn significant(
    bytes: &[u8],
    order: sciformats_core::endian::ByteOrder,
    offset: u16,
    precision: u16,
) -> Result<u128> {
    let raw = little(bytes, order == sciformats_core::endian::ByteOrder::Big)
        .ok_or_else(|| Error::unsupported(format!("a number of {} bytes", bytes.len())))?;
    let shifted = raw.checked_shr(offset.into()).unwrap_or(0); // a bound: bits beyond the word are 0
    let unused = 128 - u32::from(precision.min(128));
    Ok(shifted.checked_shl(unused).map_or(0, |bits| bits >> unused))
}

/// Returns the bytes as one number.
fn little(bytes: &[u8], big: bool) -> Option<u128> {
    let mut word = [0u8; 16];
    let slots = word.get_mut(..bytes.len())?;
    slots.copy_from_slice(bytes);
    if big {
        slots.reverse();
    }
    Some(u128::from_le_bytes(word))
}

/// Returns the value of a floating-point number of at most 16 bytes.
pub(crate) fn float(float: &FloatingPoint, bytes: &[u8]) -> Result<Real> {
    let raw = match float.order {
        FloatOrder::Vax => {
            // In VAX byte order the 16-bit words come most significant first, but within a word the least significant
            // byte comes first.
            let words: Vec<u8> = bytes.chunks(2).rev().flatten().copied().collect();
            little(&words, false)
        }
        order => little(bytes, order == FloatOrder::Big),
    };
    let raw = raw.ok_or_else(|| Error::unsupported(format!("a number of {} bytes", bytes.len())))?;
    let bits = |at: u8, n: u8| {
        let mask = 1u128.checked_shl(n.into()).map_or(u128::MAX, |bit| bit - 1);
        raw.checked_shr(at.into()).unwrap_or(0) & mask // a bound: bits beyond the word are 0
    };
    let negative = bits(float.sign_location, 1) == 1;
    let exponent = bits(float.exponent_location, float.exponent_size.min(31));
    let mantissa = bits(float.mantissa_location, float.mantissa_size);
    let all_ones = float.exponent_size > 0 && exponent == (1u128 << float.exponent_size.min(31)) - 1;
    let size = i64::from(float.mantissa_size);
    let exponent = i64::try_from(exponent).unwrap_or(i64::MAX); // a bound: it has 31 bits at most
    // Returns the word with this bit set, or 0 if the word has no such bit.
    let bit = |at: i64| if (0..128).contains(&at) { 1u128 << at } else { 0 };
    let unbiased = |e: i64| e - i64::from(float.bias);
    let special = |mantissa: u128| if mantissa == 0 { Real::Infinite { negative } } else { Real::Nan };
    let scaled = |mantissa: u128, exponent: i64| Real::Finite { negative, mantissa, exponent };
    Ok(match float.normalization {
        // VAX formats have neither infinities nor denormalized numbers.
        _ if float.order == FloatOrder::Vax && exponent == 0 => scaled(0, 0),
        Normalization::Implied if all_ones && float.order != FloatOrder::Vax => special(mantissa),
        Normalization::Implied if exponent == 0 => scaled(mantissa, unbiased(1) - size),
        Normalization::Implied => scaled(mantissa | bit(size), unbiased(exponent) - size),
        _ if all_ones => special(mantissa & !bit(bound::left(size, 1).max(0))),
        _ => scaled(mantissa, unbiased(exponent.max(1)) - (size - 1)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUAD: FloatingPoint = FloatingPoint {
        order: FloatOrder::Little,
        padding: [false; 3],
        normalization: Normalization::Implied,
        sign_location: 127,
        bit_offset: 0,
        precision: 128,
        exponent_location: 112,
        exponent_size: 15,
        mantissa_location: 0,
        mantissa_size: 112,
        bias: 16383,
    };

    #[test]
    fn every_binary64_as_binary128() {
        for value in [1.0, -2.5, 1e-300, 5e-324, f64::MAX, f64::MIN_POSITIVE, 0.1, -0.0] {
            let bits = f64::to_bits(value);
            let sign = u128::from(bits >> 63) << 127;
            let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i64, u128::from(bits & ((1 << 52) - 1)));
            let quad = if exponent == 0 && fraction == 0 {
                sign
            } else if exponent == 0 {
                let shift = fraction.leading_zeros() - (127 - 51);
                let fraction = fraction << (shift + 1) & ((1 << 52) - 1);
                sign | ((16383 - 1022 - 1 - i64::from(shift)) as u128) << 112 | fraction << 60
            } else {
                sign | ((exponent - 1023 + 16383) as u128) << 112 | fraction << 60
            };
            assert_eq!(float(&QUAD, &quad.to_le_bytes()).unwrap().to_f64().to_bits(), bits, "{value:e}");
        }
    }

    #[test]
    fn x87_and_vax() {
        let x87 = FloatingPoint {
            normalization: Normalization::None,
            sign_location: 79,
            precision: 80,
            exponent_location: 64,
            mantissa_size: 64,
            ..QUAD
        };
        let mut one = [0; 16];
        one[..10].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f]);
        assert_eq!(float(&x87, &one).unwrap().to_f64(), 1.0);
        let vax = FloatingPoint {
            order: FloatOrder::Vax,
            sign_location: 31,
            precision: 32,
            exponent_location: 23,
            exponent_size: 8,
            mantissa_size: 23,
            bias: 129,
            ..QUAD
        };
        assert_eq!(float(&vax, &[0x80, 0x40, 0, 0]).unwrap().to_f64(), 1.0);
    }

    #[test]
    fn integers_of_odd_widths() {
        let fixed = FixedPoint {
            order: sciformats_core::endian::ByteOrder::Big,
            low_padding: false,
            high_padding: false,
            signed: true,
            bit_offset: 4,
            precision: 12,
        };
        assert_eq!(integer(&fixed, &[0xff, 0xe0]).unwrap(), -2);
        assert_eq!(integer(&FixedPoint { signed: false, ..fixed }, &[0xff, 0xe0]).unwrap(), 0xffe);
    }
}
