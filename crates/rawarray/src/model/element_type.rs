//! The element type that the kind, the width and the flags of a header mean together.

use std::fmt;

use sciformats_core::{Fault, FaultKind, Result};

use crate::spec::header::ELBYTE_AT;
use crate::spec::{ElementKind, Flags, Header};

/// The type of an array's elements. Sizes are in bytes.
///
/// ```
/// use rawarray::{Element, ElementType};
///
/// assert_eq!(i16::TYPE, ElementType::Int(2));
/// assert_eq!(ElementType::Float(4).to_string(), "f4");
/// assert_eq!(ElementType::Complex(16).size(), 16); // of both parts together
/// assert_eq!(ElementType::Opaque(80).to_string(), "opaque of 80 bytes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// A signed integer of this size.
    Int(u64),
    /// An unsigned integer of this size.
    UInt(u64),
    /// An IEEE 754 float of this size.
    Float(u64),
    /// A brain float, which is the upper half of a 32-bit float.
    BFloat16,
    /// Two floats, the real part first. The size is that of both together.
    Complex(u64),
    /// A truth value, which is a byte with the value 0 or 1.
    Bool,
    /// Bytes that the format does not interpret: a structure of the user, a string, or another file.
    Opaque(u64),
}

impl ElementType {
    /// Returns the size of a decoded element in bytes.
    pub fn size(self) -> u64 {
        match self {
            Self::Int(size)
            | Self::UInt(size)
            | Self::Float(size)
            | Self::Complex(size)
            | Self::Opaque(size) => size,
            Self::BFloat16 => 2,
            Self::Bool => 1,
        }
    }

    /// Returns the size of the numbers in an element, to which the byte order applies; 1 if the byte order has no effect.
    ///
    /// ```
    /// use rawarray::ElementType;
    ///
    /// assert_eq!(ElementType::Complex(16).component(), 8); // two floats of 8 bytes
    /// assert_eq!(ElementType::Int(4).component(), 4);
    /// assert_eq!(ElementType::Opaque(80).component(), 1);
    /// ```
    pub fn component(self) -> u64 {
        match self {
            Self::Complex(size) => size / 2,
            Self::Bool | Self::Opaque(_) => 1,
            number => number.size(),
        }
    }

    /// Returns the same number as [`component`](Self::component), for [`swap`](sciformats_core::endian::swap).
    pub(crate) fn swap_width(self) -> usize {
        sciformats_core::bound::addressable(self.component())
    }

    /// Returns the kind that the header declares for this type. The width that it declares is the size.
    ///
    /// ```
    /// use rawarray::{ElementKind, ElementType};
    ///
    /// assert_eq!(ElementType::Float(8).kind(), ElementKind::Float);
    /// assert_eq!(ElementType::Bool.kind(), ElementKind::Brain); // of one byte
    /// ```
    pub fn kind(self) -> ElementKind {
        match self {
            Self::Int(_) => ElementKind::Int,
            Self::UInt(_) => ElementKind::UInt,
            Self::Float(_) => ElementKind::Float,
            Self::BFloat16 | Self::Bool => ElementKind::Brain,
            Self::Complex(_) => ElementKind::Complex,
            Self::Opaque(_) => ElementKind::User,
        }
    }

    /// Returns the type that a header declares. Kinds that the format does not define are opaque.
    pub(crate) fn of(header: &Header) -> Result<Self> {
        let elbyte = header.elbyte;
        let rule = |predicate| Err(Fault::new("elbyte", FaultKind::Rule(predicate)).at("header", ELBYTE_AT));
        Ok(match header.eltype {
            ElementKind::Brain if header.flags.contains(Flags::BITS) => match elbyte {
                8 => Self::Bool,
                _ => return rule("is not 8, which is the size of a word of bits"),
            },
            _ if header.flags.contains(Flags::BITS) => {
                return Err(Fault::new(
                    "eltype",
                    FaultKind::Rule("is not 5, although the flag for single bits is set"),
                )
                .at("header", crate::spec::header::ELTYPE_AT));
            }
            ElementKind::Brain if elbyte == 1 => Self::Bool,
            ElementKind::Brain if elbyte == 2 => Self::BFloat16,
            ElementKind::User | ElementKind::Brain | ElementKind::Unknown(_) => Self::Opaque(elbyte),
            _ if elbyte == 0 => return rule("is 0, but the elements are numbers"),
            ElementKind::Int => Self::Int(elbyte),
            ElementKind::UInt => Self::UInt(elbyte),
            ElementKind::Float => Self::Float(elbyte),
            ElementKind::Complex if elbyte.is_multiple_of(2) => Self::Complex(elbyte),
            ElementKind::Complex => return rule("is odd, but a complex number has two equal parts"),
        })
    }
}

/// The short names of NumPy. Brain floats are `bf2`, and opaque elements are written as `opaque` with their size.
impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(size) => write!(f, "i{size}"),
            Self::UInt(size) => write!(f, "u{size}"),
            Self::Float(size) => write!(f, "f{size}"),
            Self::BFloat16 => f.write_str("bf2"),
            Self::Complex(size) => write!(f, "c{size}"),
            Self::Bool => f.write_str("bool"),
            Self::Opaque(size) => write!(f, "opaque of {size} bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(flags: u64, code: u64, elbyte: u64) -> Result<ElementType> {
        let (flags, eltype) = (Flags::from_bits(flags), ElementKind::from_code(code));
        ElementType::of(&Header { flags, eltype, elbyte, size: 0, dims: Vec::new() })
    }

    #[test]
    fn kind_width_and_flags_make_the_type() {
        assert_eq!(of(0, 0, 80).unwrap(), ElementType::Opaque(80));
        assert_eq!(of(0, 1, 16).unwrap(), ElementType::Int(16));
        assert_eq!(of(1, 4, 8).unwrap(), ElementType::Complex(8));
        assert_eq!(of(0, 5, 2).unwrap(), ElementType::BFloat16);
        assert_eq!(of(0, 5, 1).unwrap(), ElementType::Bool);
        assert_eq!(of(6, 5, 8).unwrap(), ElementType::Bool);
        assert_eq!(of(0, 5, 8).unwrap(), ElementType::Opaque(8));
        assert_eq!(of(0, 99, 3).unwrap(), ElementType::Opaque(3));
        let message = |flags, code, elbyte| of(flags, code, elbyte).unwrap_err().to_string();
        assert_eq!(
            message(0, 4, 7),
            "malformed header at offset 0x18: elbyte is odd, but a complex number has two equal parts"
        );
        assert_eq!(
            message(0, 3, 0),
            "malformed header at offset 0x18: elbyte is 0, but the elements are numbers"
        );
        assert_eq!(
            message(4, 5, 1),
            "malformed header at offset 0x18: elbyte is not 8, which is the size of a word of bits"
        );
        assert_eq!(
            message(4, 2, 8),
            "malformed header at offset 0x10: eltype is not 5, although the flag for single bits is set"
        );
    }

    #[test]
    fn kind_and_size_lead_back_to_the_type() {
        use ElementType::*;
        for element in [Int(4), UInt(1), Float(16), BFloat16, Complex(32), Bool, Opaque(0), Opaque(7)] {
            assert_eq!(of(0, element.kind().code(), element.size()).unwrap(), element);
        }
    }
}
