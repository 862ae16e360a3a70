//! Types as they are stored, in plain words, so that whatever differs between two types differs between their words.
//!
//! The version of a datatype message and the width of addresses are left out, because they say nothing about the elements.

use std::collections::HashMap;

use hdf5_pure::structure::{
    BitField, CharacterSet, Class, FixedPoint, FloatOrder, FloatingPoint, Member, Normalization, Padding,
    ReferenceKind, VariableLength,
};
use hdf5_pure::{Datatype, ElementType, Name};
use sciformats_core::bound;
use sciformats_core::endian::ByteOrder;

use super::describe::leads_elsewhere;

/// Describes a type as it is stored.
pub(super) fn class(datatype: &Datatype) -> String {
    let size = datatype.size;
    match &datatype.class {
        Class::FixedPoint(fixed) => fixed_point(fixed, size),
        Class::FloatingPoint(float) => floating_point(float, size),
        Class::Time { order, precision } => {
            format!("time of {size} bytes, {precision} bits{}", byte_order(*order))
        }
        Class::String { padding, charset } => {
            format!("text of {size} bytes in {}, {}", characters(*charset), padded(*padding))
        }
        Class::BitField(field) => bit_field(field, size),
        Class::Opaque { tag } => format!("opaque of {size} bytes, {:?}", shown(tag)),
        Class::Compound(members) => compound(datatype, members),
        Class::Reference(kind) => reference(*kind).to_owned(),
        Class::Enumeration { base, members } => {
            // A value of integers is told as a number, and another one by its bytes.
            let numbers = match datatype.element_type() {
                Ok(ElementType::Enumeration { members, .. }) => members,
                _ => Vec::new(),
            };
            let members = members.iter().enumerate().map(|(at, one)| {
                let value = numbers.get(at).map_or_else(|| hex(&one.value), |(_, value)| value.to_string());
                format!("{:?}: {value}", shown(&one.name))
            });
            format!("enumeration of {} {{{}}}", class(base), members.collect::<Vec<_>>().join(", "))
        }
        Class::VariableLength(VariableLength::Sequence(base)) => format!("sequence of {}", class(base)),
        Class::VariableLength(VariableLength::String { padding, charset }) => {
            format!("text of any length in {}, {}", characters(*charset), padded(*padding))
        }
        Class::Array { dimensions, base } => format!("array of {}, each {}", by(dimensions), class(base)),
        Class::Complex { base } => format!("complex of {}", class(base)),
    }
}

/// The lengths of dimensions: `2 × 3`.
pub(super) fn by(lengths: &[impl ToString]) -> String {
    lengths.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × ")
}

/// Bytes in hexadecimal: `00 ff`.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// A name or a path, with what is not UTF-8 as it is shown elsewhere.
pub(super) fn shown(name: &Name) -> String {
    let names = name.as_bytes().split(|byte| *byte == b'/');
    let names = names.map(|name| crate::model::Name::from(name).shown().into_owned());
    names.collect::<Vec<_>>().join("/")
}

/// The name of an encoding.
pub(super) fn characters(set: CharacterSet) -> &'static str {
    match set {
        CharacterSet::Ascii => "ASCII",
        CharacterSet::Utf8 => "UTF-8",
    }
}

fn padded(padding: Padding) -> &'static str {
    match padding {
        Padding::NullTerminated => "ended by NUL",
        Padding::NullPadded => "padded with NUL",
        Padding::SpacePadded => "padded with spaces",
    }
}

fn reference(kind: ReferenceKind) -> &'static str {
    match kind {
        ReferenceKind::Object => "reference to objects",
        ReferenceKind::Region => "reference to regions",
        ReferenceKind::Standard => "reference to objects, regions or attributes",
    }
}

/// Little-endian is what is not said.
fn byte_order(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::Little => "",
        ByteOrder::Big => ", big-endian",
    }
}

/// What is unusual about the bits of a number: that it does not take all of them, and that the others are ones.
fn bits(size: u32, offset: u16, precision: u16, ones: &[(bool, &str)]) -> String {
    let full = offset == 0 && u32::from(precision) == bound::product(size, 8);
    let mut told = if full { String::new() } else { format!(", {precision} bits from bit {offset}") };
    for (_, place) in ones.iter().filter(|(ones, _)| *ones) {
        told += &format!(", ones {place}");
    }
    told
}

fn fixed_point(fixed: &FixedPoint, size: u32) -> String {
    let word = if fixed.signed { "int" } else { "uint" };
    let ones = [(fixed.low_padding, "below"), (fixed.high_padding, "above")];
    let bits = bits(size, fixed.bit_offset, fixed.precision, &ones);
    format!("{word}{}{}{bits}", bound::product(u64::from(size), 8), byte_order(fixed.order))
}

fn bit_field(field: &BitField, size: u32) -> String {
    let ones = [(field.low_padding, "below"), (field.high_padding, "above")];
    let bits = bits(size, field.bit_offset, field.precision, &ones);
    format!("bits of {size} bytes{}{bits}", byte_order(field.order))
}

/// The types of everyday have their names. Of others all fields are told.
fn floating_point(float: &FloatingPoint, size: u32) -> String {
    let order = match float.order {
        FloatOrder::Little => "",
        FloatOrder::Big => ", big-endian",
        FloatOrder::Vax => ", VAX order",
    };
    let little = Class::FloatingPoint(FloatingPoint { order: FloatOrder::Little, ..*float });
    let known = [
        ("float16", Datatype::float16()),
        ("float32", Datatype::float32()),
        ("float64", Datatype::float64()),
        ("bfloat16", Datatype::bfloat16()),
    ];
    if let Some((name, _)) = known.iter().find(|(_, known)| (&known.class, known.size) == (&little, size)) {
        return format!("{name}{order}");
    }
    let normalization = match float.normalization {
        Normalization::None => "",
        Normalization::AlwaysSet => " whose highest bit is set",
        Normalization::Implied => " whose highest bit is implied",
    };
    let [below, above, between] = float.padding;
    let ones = [(below, "below"), (above, "above"), (between, "between")];
    format!(
        "float of {size} bytes{order}{}, sign at bit {}, exponent of {} bits from bit {} with bias {}, mantissa of {} bits from bit {}{normalization}",
        bits(size, float.bit_offset, float.precision, &ones),
        float.sign_location,
        float.exponent_size,
        float.exponent_location,
        float.bias,
        float.mantissa_size,
        float.mantissa_location,
    )
}

/// Describes a compound. If members lead elsewhere, their sizes depend on the width of addresses, but the bytes between members do
/// not.
fn compound(datatype: &Datatype, members: &[Member]) -> String {
    let moves = leads_elsewhere(datatype);
    let mut order: Vec<&Member> = members.iter().collect();
    order.sort_by_key(|member| member.offset);
    let mut end = 0i64;
    let mut gaps = HashMap::new();
    for member in order {
        let start = i64::from(member.offset);
        gaps.insert(member.offset, bound::left(start, end));
        end = bound::sum(start, i64::from(member.datatype.size));
    }
    let member = |member: &Member| {
        let place = match gaps.get(&member.offset) {
            Some(gap) if moves => format!(" after {gap} bytes"),
            _ => format!(" at {}", member.offset),
        };
        format!("{:?}{place}: {}", shown(&member.name), class(&member.datatype))
    };
    let rest = bound::left(i64::from(datatype.size), end);
    let size = if moves { format!("{rest} bytes more") } else { format!("{} bytes", datatype.size) };
    format!("compound of {size} {{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn types_are_told_in_words() {
        let mut late = Datatype::unsigned(4);
        if let Class::FixedPoint(fixed) = &mut late.class {
            (fixed.bit_offset, fixed.precision, fixed.high_padding) = (3, 12, true);
        }
        let mut odd = Datatype::float32().big_endian();
        if let Class::FloatingPoint(float) = &mut odd.class {
            float.bias = 100;
        }
        let pair = Datatype::compound([("a", Datatype::float64()), ("b", Datatype::string())]);
        for (datatype, told) in [
            (Datatype::signed(2), "int16"),
            (Datatype::signed(2).big_endian(), "int16, big-endian"),
            (Datatype::float64().big_endian(), "float64, big-endian"),
            (Datatype::fixed_string(8), "text of 8 bytes in UTF-8, padded with NUL"),
            (Datatype::string(), "text of any length in UTF-8, ended by NUL"),
            (Datatype::opaque(2, "a"), "opaque of 2 bytes, \"a\""),
            (late, "uint32, 12 bits from bit 3, ones above"),
            (
                odd,
                "float of 4 bytes, big-endian, sign at bit 31, exponent of 8 bits from bit 23 with bias 100, \
                 mantissa of 23 bits from bit 0 whose highest bit is implied",
            ),
            (
                pair,
                "compound of 0 bytes more {\"a\" after 0 bytes: float64, \"b\" after 0 bytes: text of any length \
                 in UTF-8, ended by NUL}",
            ),
        ] {
            assert_eq!(class(&datatype), told);
        }
    }
}
