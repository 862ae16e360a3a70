//! Datatype message (IV.A.2.d): what an element is.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 1 | bits 0–3: class, bits 4–7: version, 1 to 5 |
//! | 1 | 3 | class bit field, which depends on the class |
//! | 4 | 4 | size of an element in bytes, not 0 |
//! | 8 | | properties, which depend on the class |
//!
//! Classes: 0 [fixed-point](fixed_point), 1 [floating-point](floating_point), 2 [time], 3 [string], 4 [bit field](bit_field),
//! 5 [opaque], 6 [compound], 7 [reference], 8 [enumeration], 9 [variable-length](variable_length), 10 [array], 11 [complex].

mod array;
mod bit_field;
mod complex;
mod compound;
mod enumeration;
mod fixed_point;
mod floating_point;
mod opaque;
mod reference;
mod string;
mod time;
mod variable_length;

pub use bit_field::BitField;
pub use compound::Member;
pub use enumeration::EnumMember;
pub use fixed_point::FixedPoint;
pub use floating_point::{FloatOrder, FloatingPoint, Normalization};
pub use reference::ReferenceKind;
pub use string::{CharacterSet, Padding};
pub use variable_length::VariableLength;

use nom::number::complete::{le_u24, le_u32, u8 as byte};
use sciformats_core::arith::fit;
use sciformats_core::endian::ByteOrder;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};
use sciformats_core::{Result, bound};

use super::super::{Name, pad8, put_padding, put_uint};

/// The type of elements.
///
/// ```
/// use hdf5_pure::Datatype;
/// use hdf5_pure::structure::Class;
///
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// let datatype = file.dataset("surface/temperature")?.datatype().clone();
/// assert_eq!((datatype.size, &datatype), (8, &Datatype::float64()));
/// assert!(matches!(datatype.class, Class::FloatingPoint(float) if float.mantissa_size == 52));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datatype {
    /// The version of its encoding: 1 to 5.
    pub version: u8,
    /// The size of an element in bytes.
    pub size: u32,
    /// The class with its properties.
    pub class: Class,
}

/// The class of a datatype.
///
/// ```
/// use hdf5_pure::Datatype;
/// use hdf5_pure::structure::Class;
///
/// let particle = Datatype::compound([("mass", Datatype::float64()), ("charge", Datatype::signed(1))]);
/// if let Class::Compound(members) = &particle.class {
///     let names: Vec<String> = members.iter().map(|member| member.name.to_string()).collect();
///     assert_eq!(names, ["mass", "charge"]);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// Integers.
    FixedPoint(FixedPoint),
    /// Floating-point numbers.
    FloatingPoint(FloatingPoint),
    /// Times. The standard defines only the number of their bits.
    Time {
        /// The order of the bytes.
        order: ByteOrder,
        /// The number of significant bits.
        precision: u16,
    },
    /// Strings of fixed length.
    String {
        /// How shorter strings are padded.
        padding: Padding,
        /// The encoding.
        charset: CharacterSet,
    },
    /// Bit fields.
    BitField(BitField),
    /// Opaque bytes, which mean nothing to the library.
    Opaque {
        /// A description of the bytes by their writer.
        tag: Name,
    },
    /// Compounds.
    Compound(Vec<Member>),
    /// References to objects or to parts of objects.
    Reference(ReferenceKind),
    /// Integers whose values have names.
    Enumeration {
        /// The integers.
        base: Box<Datatype>,
        /// The names, in the order in which they are stored.
        members: Vec<EnumMember>,
    },
    /// Sequences of any length.
    VariableLength(VariableLength),
    /// Arrays of fixed shape.
    Array {
        /// The lengths of the dimensions.
        dimensions: Vec<u32>,
        /// The type of the elements.
        base: Box<Datatype>,
    },
    /// Complex numbers, which consist of a real and an imaginary part.
    Complex {
        /// The type of both parts.
        base: Box<Datatype>,
    },
}

/// The deepest nesting of types that is accepted.
const MAX_DEPTH: u8 = 64;

/// The fields before the properties.
#[derive(Clone, Copy)]
struct Head {
    version: u8,
    bits: u32,
    size: u32,
    depth: u8,
}

impl Datatype {
    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        parse(i, 0)
    }

    /// Returns the number of elements of an array type; the product is 1 if there are no dimensions.
    pub(crate) fn array_elements(dimensions: &[u32]) -> Option<u32> {
        dimensions.iter().try_fold(1u32, |product, &n| product.checked_mul(n))
    }

    /// Returns whether elements have parts of variable length, which are text and sequences in heaps.
    pub(crate) fn is_variable(&self) -> bool {
        match &self.class {
            Class::VariableLength(_) => true,
            Class::Compound(members) => members.iter().any(|member| member.datatype.is_variable()),
            Class::Array { base, .. } => base.is_variable(),
            _ => false,
        }
    }

    /// Returns whether elements refer to other places in the file: sequences and references do.
    pub(crate) fn is_indirect(&self) -> bool {
        match &self.class {
            Class::VariableLength(_) | Class::Reference(_) => true,
            Class::Compound(members) => members.iter().any(|member| member.datatype.is_indirect()),
            Class::Array { base, .. } => base.is_indirect(),
            _ => false,
        }
    }
}

fn parse(i: &[u8], depth: u8) -> Parsed<'_, Datatype> {
    if depth > MAX_DEPTH {
        return fail(i, FaultKind::Rule("is nested too deep"));
    }
    let (at, class_and_version) = field("class and version", byte)(i)?;
    let (at, bits) = field("class bit field", le_u24)(at)?;
    let (at, size) = field("size", le_u32)(at)?;
    let version = class_and_version >> 4;
    if !(1..=5).contains(&version) {
        return field("version", |i| fail(i, FaultKind::Undefined { found: version.into() }))(i);
    }
    let head = Head { version, bits, size, depth: bound::sum(depth, 1) };
    let (rest, class) = match class_and_version & 15 {
        0 => fixed_point::parse(at, head)?,
        1 => floating_point::parse(at, head)?,
        2 => time::parse(at, head)?,
        3 => string::parse(at, head)?,
        4 => bit_field::parse(at, head)?,
        5 => opaque::parse(at, head)?,
        6 => compound::parse(at, head)?,
        7 => reference::parse(at, head)?,
        8 => enumeration::parse(at, head)?,
        9 => variable_length::parse(at, head)?,
        10 => array::parse(at, head)?,
        11 => complex::parse(at, head)?,
        found => return field("class", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
    };
    if size == 0 {
        return field("size", |i| fail(i, FaultKind::Undefined { found: 0 }))(i);
    }
    Ok((rest, Datatype { version, size, class }))
}

/// Returns the byte order that bit 0 of the class bit field stands for.
fn order(bits: u32) -> ByteOrder {
    if bits & 1 == 1 { ByteOrder::Big } else { ByteOrder::Little }
}

/// Fails unless a value of `precision` bits after `offset` bits fits an element of `size` bytes.
fn bits_fit(at: &[u8], size: u32, offset: u16, precision: u16) -> Parsed<'_, ()> {
    let end = bound::sum(u64::from(offset), precision.into());
    let room = u64::from(size) * 8;
    if precision == 0 || end > room {
        let kind = FaultKind::OutOfBounds { found: end, end: bound::sum(room, 1) };
        return field("bit precision", |i| fail(i, kind))(at);
    }
    Ok((at, ()))
}

impl Datatype {
    /// Appends the message body. Each part is encoded in the version that it declares.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        let (class, bits) = self.class.code()?;
        out.push(self.version << 4 | class);
        put_uint(out, bits.into(), 3)?;
        out.extend(self.size.to_le_bytes());
        match &self.class {
            Class::FixedPoint(fixed) => put_shorts(out, [fixed.bit_offset, fixed.precision])?,
            Class::FloatingPoint(float) => float.encode(out)?,
            Class::Time { precision, .. } => out.extend(precision.to_le_bytes()),
            Class::String { .. } | Class::Reference(_) => {}
            Class::BitField(field) => put_shorts(out, [field.bit_offset, field.precision])?,
            Class::Opaque { tag } => {
                let start = out.len();
                out.extend(tag.as_bytes());
                put_padding(out, start, pad8(tag.as_bytes().len())?)?;
            }
            Class::Compound(members) => {
                members.iter().try_for_each(|member| member.encode(out, self.version, self.size))?;
            }
            Class::Enumeration { base, members } => enumeration::encode(out, self.version, base, members)?,
            Class::VariableLength(VariableLength::Sequence(base)) | Class::Complex { base } => {
                base.encode(out)?;
            }
            Class::VariableLength(VariableLength::String { .. }) => out.extend(variable_length::BYTE),
            Class::Array { dimensions, base } => array::encode(out, self.version, dimensions, base)?,
        }
        Ok(())
    }
}

fn put_shorts(out: &mut Vec<u8>, values: [u16; 2]) -> Result<()> {
    values.iter().for_each(|value| out.extend(value.to_le_bytes()));
    Ok(())
}

impl Class {
    /// Returns the number of the class and the class bit field.
    fn code(&self) -> Result<(u8, u32)> {
        let flag = |set: bool, bits: u32| if set { bits } else { 0 };
        let big = |order: &ByteOrder| flag(*order == ByteOrder::Big, 1);
        let count = |n: usize, what| fit::<u16, _>(n, what).map(u32::from);
        Ok(match self {
            Self::FixedPoint(fixed) => {
                let padding = flag(fixed.low_padding, 2) | flag(fixed.high_padding, 4);
                (0, big(&fixed.order) | padding | flag(fixed.signed, 8))
            }
            Self::FloatingPoint(float) => (1, float.bits()),
            Self::Time { order, .. } => (2, big(order)),
            Self::String { padding, charset } => (3, padding.code() | charset.code() << 4),
            Self::BitField(field) => {
                (4, big(&field.order) | flag(field.low_padding, 2) | flag(field.high_padding, 4))
            }
            Self::Opaque { tag } => (5, count(pad8(tag.as_bytes().len())?, "length of a tag")?),
            Self::Compound(members) => (6, count(members.len(), "number of members")?),
            Self::Reference(ReferenceKind::Object) => (7, 0),
            Self::Reference(ReferenceKind::Region) => (7, 1),
            Self::Reference(ReferenceKind::Standard) => (7, 0x12),
            Self::Enumeration { members, .. } => (8, count(members.len(), "number of members")?),
            Self::VariableLength(VariableLength::Sequence(_)) => (9, 0),
            Self::VariableLength(VariableLength::String { padding, charset }) => {
                (9, 1 | padding.code() << 4 | charset.code() << 8)
            }
            Self::Array { .. } => (10, 0),
            Self::Complex { .. } => (11, 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::{self, hex};
    use super::*;

    /// Checks that `bytes` are parsed as a datatype with these properties, and that it is encoded as the same bytes.
    #[track_caller]
    pub(super) fn both_ways(bytes: &[u8], version: u8, size: u32, class: Class) {
        let datatype = Datatype { version, size, class };
        test::both_ways(bytes, &datatype, Datatype::parse, Datatype::encode);
    }

    #[test]
    fn byte_by_byte() {
        let bytes = [
            0x10, // version 1, class 0: fixed-point
            8, 0, 0, // class bit field: little-endian, signed
            4, 0, 0, 0, // size
            0, 0, // bit offset
            32, 0, // bit precision
        ];
        let Datatype { version, size, class } = Datatype::signed(4);
        both_ways(&bytes, version, size, class);
    }

    fn parse(text: &str) -> Option<Datatype> {
        let bytes = hex(text);
        Datatype::parse(&bytes).ok().filter(|(rest, _)| rest.is_empty()).map(|(_, datatype)| datatype)
    }

    #[test]
    fn published_types() {
        let int = parse("10080000 04000000 0000 2000").unwrap();
        assert!(matches!(int.class, Class::FixedPoint(FixedPoint { signed: true, precision: 32, .. })));
        let vax = parse("31611f00 04000000 0000 2000 17 08 00 17 81000000").unwrap();
        let Class::FloatingPoint(float) = vax.class else { panic!() };
        assert_eq!((float.order, float.bias), (FloatOrder::Vax, 129));
        let complex = parse("5b010000 08000000 11201f00 04000000 0000 2000 17080017 7f000000").unwrap();
        assert!(matches!(complex.class, Class::Complex { .. }));
        assert_eq!(parse("17000000 08000000").unwrap().class, Class::Reference(ReferenceKind::Object));
        assert_eq!(parse("47120000 12000000").unwrap().class, Class::Reference(ReferenceKind::Standard));
        assert_eq!(parse("60080000 04000000 0000 2000"), None, "version 6");
        assert_eq!(parse("10080000 04000000 0100 2000"), None, "33 bits in 4 bytes");
    }

    #[test]
    fn a_compound_of_version_3() {
        let text = "36020000 05000000 \
                    6100 00 10000000 01000000 0000 0800 \
                    6200 01 10080000 04000000 0000 2000";
        let Class::Compound(members) = parse(text).unwrap().class else { panic!() };
        assert_eq!((members.len(), members[1].offset, members[1].name.as_str()), (2, 1, Some("b")));
    }

    #[test]
    fn deep_nesting_is_refused() {
        let mut bytes = Vec::new();
        for _ in 0..200 {
            bytes.extend(hex("39000000 10000000"));
        }
        assert!(Datatype::parse(&bytes).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(class in 0u8..12, version in 1u8..6, rest in proptest::collection::vec(any::<u8>(), 0..80)) {
            let mut bytes = vec![version << 4 | class];
            bytes.extend(rest);
            let _ = Datatype::parse(&bytes);
        }
    }

    fn any_datatype() -> impl Strategy<Value = Datatype> {
        let plain = |class: Class, size| Datatype { version: 1, size, class };
        let leaf = prop_oneof![
            (0u32..4).prop_map(|width| Datatype::signed(1 << width)),
            (0u32..4).prop_map(|width| Datatype::unsigned(1 << width)),
            Just(Datatype::float64().big_endian()),
            Just(Datatype::string()),
            (1u32..40).prop_map(Datatype::fixed_string),
            (1u32..40, "[a-z]{0,7}").prop_map(|(size, tag)| Datatype::opaque(size, &tag)),
            Just(plain(Class::Reference(ReferenceKind::Region), 12)),
            Just(Datatype::bits(2)),
            Just(Datatype::time(4)),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                inner.clone().prop_map(|base| Datatype::sequence(&base)),
                (1u32..4, inner.clone()).prop_map(|(n, base)| Datatype::array(&[n, 2], &base)),
                proptest::collection::vec(inner, 1..4).prop_map(|members| {
                    let names = ["a", "longer name", "c"];
                    Datatype::compound(names.into_iter().zip(members))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn encoded_and_parsed(datatype in any_datatype()) {
            for bound in [crate::options::Bound::Earliest, crate::options::Bound::V18] {
                let datatype = bound.datatype(&datatype, crate::spec::test::SIZES).unwrap();
                let mut bytes = Vec::new();
                datatype.encode(&mut bytes).unwrap();
                prop_assert_eq!(Datatype::parse(&bytes).unwrap(), (&[][..], datatype));
            }
        }
    }
}
