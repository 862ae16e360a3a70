//! Types of elements.

use std::fmt;

use super::Name;

/// The type of an element: what its values mean, without byte order, padding or character set.
///
/// Every type has **canonical bytes**, which are the same for all formats: packed, little-endian, without
/// padding between fields.
///
/// | type | canonical bytes of one element |
/// |---|---|
/// | `Int`, `UInt`, `Bits`, `Time` | that many bytes, little-endian |
/// | `F16` … `F64`, `BF16` | IEEE 754 or bfloat16, little-endian |
/// | `FloatOther` | the value as binary64 |
/// | `Complex(n)` | two floats of n / 2 bytes: real, imaginary |
/// | `Bool` | one byte, 0 or 1 |
/// | `Text`, `Reference`, `Region` | byte count as u64, then the bytes |
/// | `Opaque(n)` | the n bytes |
/// | `Enum` | as its base type |
/// | `Compound` | its fields in order |
/// | `Array` | its elements in C order |
/// | `Vlen` | count as u64, then the elements |
///
/// ```
/// use sciformats::ElementType;
///
/// let star = ElementType::Compound(vec![("name".into(), ElementType::Text), ("flux".into(), ElementType::F64)]);
/// assert_eq!((star.to_string(), star.size()), ("{name: string, flux: float64}".into(), None)); // names differ in length
/// assert!(ElementType::UInt(2).is_real() && !star.is_real());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementType {
    /// A signed integer with this number of bytes.
    Int(u16),
    /// An unsigned integer with this number of bytes.
    UInt(u16),
    /// IEEE 754 binary16.
    F16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// bfloat16.
    BF16,
    /// A floating-point number in another layout, of which only the value is kept.
    FloatOther,
    /// A complex number with this number of bytes: 4, 8 or 16.
    Complex(u8),
    /// A truth value.
    Bool,
    /// A string of any length.
    Text,
    /// This number of bytes without a known meaning.
    Opaque(u64),
    /// A bit field with this number of bytes.
    Bits(u64),
    /// An HDF5 time with this number of bytes.
    Time(u64),
    /// An enumeration: an integer type, and names for some of its values in stored order.
    Enum {
        /// The integer type.
        base: Box<ElementType>,
        /// Names and their values.
        members: Vec<(Name, i128)>,
    },
    /// Named fields in stored order.
    Compound(Vec<(Name, ElementType)>),
    /// A small array of fixed shape in every element.
    Array {
        /// The type of its elements.
        element: Box<ElementType>,
        /// Its dimensions, slowest first.
        shape: Vec<u64>,
    },
    /// A sequence of individual length in every element.
    Vlen(Box<ElementType>),
    /// The canonical path of an object; empty for a null reference, and `?` if no hard link leads to the
    /// object.
    Reference,
    /// The canonical path of an array, and a selection of it.
    Region,
}

/// How the texts in one position of elements are stored. It makes no difference to their values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextForm {
    /// Each text has a length of its own.
    #[default]
    Variable,
    /// Each text has this number of bytes, or fewer and a padding.
    Bytes(u64),
    /// Each text has this number of characters of four bytes, or fewer and a padding.
    Characters(u64),
}

impl ElementType {
    /// Returns the number of canonical bytes of one element, if all elements have the same; `None` if they
    /// differ, or if the number exceeds 64 bits.
    ///
    /// ```
    /// use sciformats::ElementType;
    ///
    /// let vector = ElementType::Array { element: Box::new(ElementType::F32), shape: vec![3] };
    /// assert_eq!((vector.size(), ElementType::Text.size()), (Some(12), None));
    /// ```
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Int(bytes) | Self::UInt(bytes) => Some((*bytes).into()),
            Self::F16 | Self::BF16 => Some(2),
            Self::F32 => Some(4),
            Self::F64 | Self::FloatOther => Some(8),
            Self::Complex(bytes) => Some((*bytes).into()),
            Self::Bool => Some(1),
            Self::Opaque(bytes) | Self::Bits(bytes) | Self::Time(bytes) => Some(*bytes),
            Self::Enum { base, .. } => base.size(),
            Self::Compound(fields) => {
                fields.iter().try_fold(0u64, |sum, (_, field)| sum.checked_add(field.size()?))
            }
            Self::Array { element, shape } => {
                sciformats_core::slab::elements(shape)?.checked_mul(element.size()?)
            }
            Self::Text | Self::Vlen(_) | Self::Reference | Self::Region => None,
        }
    }

    /// Returns whether an element may have no canonical bytes at all.
    pub fn can_be_empty(&self) -> bool {
        match self {
            Self::Compound(fields) => fields.iter().all(|(_, field)| field.can_be_empty()),
            Self::Array { element, shape } => shape.contains(&0) || element.can_be_empty(),
            other => other.size() == Some(0),
        }
    }

    /// Returns whether elements lead to objects.
    pub fn refers(&self) -> bool {
        match self {
            Self::Reference | Self::Region => true,
            Self::Compound(fields) => fields.iter().any(|(_, field)| field.refers()),
            Self::Array { element, .. } | Self::Vlen(element) => element.refers(),
            _ => false,
        }
    }

    /// Returns whether the values are real numbers: integers, floating-point numbers, truth values and
    /// enumerations.
    pub fn is_real(&self) -> bool {
        match self {
            Self::Int(n) | Self::UInt(n) => *n <= 16,
            Self::F16 | Self::F32 | Self::F64 | Self::BF16 | Self::FloatOther | Self::Bool => true,
            Self::Enum { base, .. } => base.is_real(),
            _ => false,
        }
    }
}

/// The name of a type for people: `float32`, `int16`, `complex64`, `string`, `opaque(5)`, `enum(uint8)`,
/// `{x: float64, y: float64}`, `int32[3,3]`, `sequence(int32)`.
///
/// ```
/// use sciformats::ElementType;
///
/// let record = ElementType::Compound(vec![("id".into(), ElementType::UInt(1)), ("name".into(), ElementType::Text)]);
/// assert_eq!(record.to_string(), "{id: uint8, name: string}");
/// assert_eq!(record.short(), "{id: u1, name: str}");
/// ```
impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.composed("sequence", &Self::name))
    }
}

impl ElementType {
    /// The type with the words of the manifest, as the output for programs has it: `f4`, `str`, `enum(u1)`, `{x: f8, y: f8}`,
    /// `i4[3,3]`, `vlen(i4)`. In the words of numbers the digits count bytes.
    pub fn short(&self) -> String {
        self.composed("vlen", &Self::word)
    }

    /// Puts the name of a type together from the names of its parts.
    fn composed(&self, sequence: &str, plain: &dyn Fn(&Self) -> Option<String>) -> String {
        let part = |element: &Self| element.composed(sequence, plain);
        match self {
            Self::Opaque(bytes) => format!("opaque({bytes})"),
            Self::Bits(bytes) => format!("bits({bytes})"),
            Self::Time(bytes) => format!("time({bytes})"),
            Self::Enum { base, .. } => format!("enum({})", part(base)),
            Self::Compound(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, field)| format!("{name}: {}", part(field))).collect();
                format!("{{{}}}", fields.join(", "))
            }
            Self::Array { element, shape } => {
                let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
                format!("{}[{}]", part(element), shape.join(","))
            }
            Self::Vlen(element) => format!("{sequence}({})", part(element)),
            other => plain(other).unwrap_or_default(),
        }
    }

    /// The name for people of a type without parts.
    fn name(&self) -> Option<String> {
        Some(match self {
            Self::Int(bytes) => format!("int{}", u32::from(*bytes) * 8),
            Self::UInt(bytes) => format!("uint{}", u32::from(*bytes) * 8),
            Self::F16 => "float16".into(),
            Self::F32 => "float32".into(),
            Self::F64 => "float64".into(),
            Self::BF16 => "bfloat16".into(),
            Self::FloatOther => "float64*".into(),
            Self::Complex(bytes) => format!("complex{}", u32::from(*bytes) * 8),
            Self::Text => "string".into(),
            Self::Reference => "reference".into(),
            Self::Region => "region reference".into(),
            other => return other.word(),
        })
    }

    /// The manifest's word for a type without parts.
    pub(super) fn word(&self) -> Option<String> {
        Some(match self {
            Self::Int(bytes) => format!("i{bytes}"),
            Self::UInt(bytes) => format!("u{bytes}"),
            Self::F16 => "f2".into(),
            Self::F32 => "f4".into(),
            Self::F64 => "f8".into(),
            Self::BF16 => "bf2".into(),
            Self::FloatOther => "f8*".into(),
            Self::Complex(bytes) => format!("c{bytes}"),
            Self::Bool => "bool".into(),
            Self::Text => "str".into(),
            Self::Reference => "ref".into(),
            Self::Region => "regref".into(),
            _ => return None,
        })
    }
}
