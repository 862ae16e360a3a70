//! Conversions of numbers from one datatype to another.
//!
//! When elements are written, they are converted to the stored datatype only where no value changes. Reading follows
//! the same rule, in [`sciformats_core::number`]. With [`Conversion::Lossy`], and for the sources of a virtual dataset,
//! numbers are converted as the C library does it: an integer that does not fit becomes the nearest value that does,
//! fractions are cut off, and a NaN becomes 0 as an integer. Enumerations are converted by the names of their members.

use std::collections::BTreeMap;

use sciformats_core::arith::{mul, present};
use sciformats_core::endian::ByteOrder;
use sciformats_core::number::{BFloat16, Float16, Number, NumberType, Real, not_stored_as};
use sciformats_core::{Conversion, Error, Misfit, Result, bound};

use crate::spec::message::datatype::{
    Class, Datatype, EnumMember, FixedPoint, FloatOrder, Member, Padding, VariableLength,
};
use crate::value::canonical::unpadded;
use crate::value::element_type::{self, ElementType};
use crate::value::store::{self, Kept};

/// Returns the base type of an enumeration, and every other datatype as it is.
fn numeric(datatype: &Datatype) -> &Datatype {
    match &datatype.class {
        Class::Enumeration { base, .. } => base,
        _ => datatype,
    }
}

/// Returns whether elements of a datatype are numbers.
pub(crate) fn is_number(datatype: &Datatype) -> bool {
    matches!(numeric(datatype).class, Class::FixedPoint(_) | Class::BitField(_) | Class::FloatingPoint(_))
}

/// Returns the value of one number, or `None` if the datatype is not a number.
pub(crate) fn number(datatype: &Datatype, raw: &[u8]) -> Option<Result<Real>> {
    Some(match &numeric(datatype).class {
        Class::FixedPoint(fixed) => element_type::integer_value(fixed, raw),
        Class::BitField(field) => element_type::bit_field(field, raw).map(Real::from),
        Class::FloatingPoint(float) => element_type::float(float, raw),
        _ => return None,
    })
}

/// Returns the type and byte order of numbers that machines have in the same form: integers and bit fields that use all
/// of their bits, and the formats of IEEE 754 and bfloat16.
pub(crate) fn stored(datatype: &Datatype) -> Option<(NumberType, ByteOrder)> {
    let datatype = numeric(datatype);
    let size = u64::from(datatype.size);
    let digits = |offset: u16, precision: u16| offset == 0 && u64::from(precision) == size * 8;
    match &datatype.class {
        Class::FixedPoint(fixed) if digits(fixed.bit_offset, fixed.precision) => {
            Some((NumberType::integer(fixed.signed, size)?, fixed.order))
        }
        Class::BitField(field) if digits(field.bit_offset, field.precision) => {
            Some((NumberType::integer(false, size)?, field.order))
        }
        Class::FloatingPoint(float) => {
            let kind = match datatype.element_type().ok()? {
                ElementType::Float(size) => NumberType::float(size.into())?,
                ElementType::BFloat16 => NumberType::BFloat16,
                _ => return None,
            };
            Some((kind, if float.order == FloatOrder::Big { ByteOrder::Big } else { ByteOrder::Little }))
        }
        _ => None,
    }
}

/// Returns whether elements of both datatypes have the same bytes. The version in which a datatype is encoded does not
/// matter.
pub(crate) fn same(from: &Datatype, to: &Datatype) -> bool {
    from.size == to.size && same_class(&from.class, &to.class)
}

fn same_class(from: &Class, to: &Class) -> bool {
    match (from, to) {
        (Class::Compound(a), Class::Compound(b)) => {
            let alike = |(a, b): (&Member, &Member)| {
                a.name == b.name && a.offset == b.offset && same(&a.datatype, &b.datatype)
            };
            a.len() == b.len() && a.iter().zip(b).all(alike)
        }
        (Class::Array { dimensions: a, base: from }, Class::Array { dimensions: b, base: to }) => {
            a == b && same(from, to)
        }
        (Class::Enumeration { base: from, members: a }, Class::Enumeration { base: to, members: b }) => {
            a == b && same(from, to)
        }
        (Class::Complex { base: from }, Class::Complex { base: to })
        | (
            Class::VariableLength(VariableLength::Sequence(from)),
            Class::VariableLength(VariableLength::Sequence(to)),
        ) => same(from, to),
        _ => from == to,
    }
}

/// Converts elements of `from` to elements of `to`. [`Conversion::Exact`] changes no value, and [`Conversion::Lossy`]
/// converts as the C library does.
pub(crate) fn elements(
    from: &Datatype,
    to: &Datatype,
    raw: Vec<u8>,
    conversion: Conversion,
) -> Result<Vec<u8>> {
    kept_elements(from, to, raw, conversion, None)
}

/// Returns whether converting elements changes how texts are stored: whether they have a fixed length, and which.
pub(crate) fn changes_texts(from: &Datatype, to: &Datatype) -> bool {
    match (&from.class, &to.class) {
        (Class::Compound(own), Class::Compound(wanted)) => {
            let source = |member: &Member| own.iter().find(|source| source.name == member.name);
            wanted.iter().any(|member| {
                source(member).is_some_and(|source| changes_texts(&source.datatype, &member.datatype))
            })
        }
        (Class::Array { base: inner, .. }, Class::Array { base: outer, .. }) => changes_texts(inner, outer),
        _ => is_text(from) && is_text(to) && !same(from, to),
    }
}

fn is_text(datatype: &Datatype) -> bool {
    matches!(datatype.class, Class::String { .. } | Class::VariableLength(VariableLength::String { .. }))
}

/// Works like [`elements`]. If elements of variable length are kept, these are stored too.
pub(crate) fn kept_elements(
    from: &Datatype,
    to: &Datatype,
    raw: Vec<u8>,
    conversion: Conversion,
    mut kept: Option<&mut Kept<'_>>,
) -> Result<Vec<u8>> {
    if same(from, to) && (kept.is_none() || !from.is_variable()) {
        return Ok(raw);
    }
    match (&from.class, &to.class) {
        (Class::Compound(own), Class::Compound(wanted)) => {
            return compounds((from, own), (to, wanted), &raw, (conversion, kept));
        }
        (Class::Array { dimensions: own, base: inner }, Class::Array { dimensions: wanted, base: outer })
            if own == wanted =>
        {
            let size = bound::addressable(from.size.into()).max(1);
            let mut out = Vec::new();
            for (index, array) in raw.chunks_exact(size).enumerate() {
                let converted = kept_elements(inner, outer, array.to_vec(), conversion, kept.as_deref_mut());
                out.extend(converted.map_err(|error| error.part_of(index as u64))?);
            }
            return Ok(out);
        }
        _ if is_text(from) && is_text(to) || from.is_variable() && same(from, to) => {
            if let Some(converted) = texts((from, to), &raw, (conversion, kept))? {
                return Ok(converted);
            }
        }
        _ => {}
    }
    match (&from.class, &to.class) {
        (Class::Enumeration { members: own, .. }, Class::Enumeration { members: wanted, .. })
            if from.size.max(to.size) <= MOST && (conversion != Conversion::None || alike(from, to)) =>
        {
            enumerations((from, own), (to, wanted), &raw, conversion)
        }
        _ => numbers(from, to, &raw, conversion),
    }
}

/// The size of the largest number. Sizes come from the file, and an absurd one must not cause a large allocation.
const MOST: u32 = 32;

fn numbers(from: &Datatype, to: &Datatype, raw: &[u8], conversion: Conversion) -> Result<Vec<u8>> {
    let refused = || match (from.element_type(), to.element_type()) {
        (Ok(from), Ok(to)) => Error::unsupported(format!("converting elements from {from} to {to}")),
        (Err(error), _) | (_, Err(error)) => error,
    };
    if from.size > MOST || to.size > MOST {
        return Err(refused());
    }
    let size = |datatype: &Datatype| bound::addressable(datatype.size.into()).max(1);
    let mut out = Vec::with_capacity(raw.len() / size(from) * size(to));
    for (index, element) in raw.chunks_exact(size(from)).enumerate() {
        let number = number(from, element).ok_or_else(refused)??;
        if conversion == Conversion::None && !alike(from, to) {
            return Err(not_stored_as(called(from), called(to)));
        }
        let put = match &numeric(to).class {
            Class::FixedPoint(fixed) => integer(number, fixed, size(to), conversion, &mut out),
            Class::FloatingPoint(float) => {
                float_bytes(number, &to.element_type()?, float.order, conversion, &mut out)
            }
            _ => None,
        };
        if put.ok_or_else(refused)?.is_err() {
            return Err(Error::Misfit(Misfit::new(index as u64, &number, called(to))));
        }
    }
    Ok(out)
}

/// Converts compounds member by member. Every member that is stored must be one of the elements, in any order.
fn compounds(
    (from, own): (&Datatype, &[Member]),
    (to, wanted): (&Datatype, &[Member]),
    raw: &[u8],
    (conversion, mut kept): (Conversion, Option<&mut Kept<'_>>),
) -> Result<Vec<u8>> {
    let place = |offset: u32, size: u32| {
        let start = bound::addressable(offset.into());
        start..bound::sum(start, bound::addressable(size.into()))
    };
    let (old, new) = (place(0, from.size).len().max(1), place(0, to.size).len());
    let mut out = sciformats_core::storage::zeroed(mul(raw.len() / old, new)?)?;
    for member in wanted {
        let Some(source) = own.iter().find(|source| source.name == member.name) else {
            let problem = format!("lack the member {:?} of the stored compound", member.name.to_text());
            return Err(Error::usage("values", problem));
        };
        let part = place(source.offset, source.datatype.size);
        let mut column = Vec::new();
        for element in raw.chunks_exact(old) {
            column.extend_from_slice(present(element.get(part.clone()), "the part of an element")?);
        }
        let column =
            kept_elements(&source.datatype, &member.datatype, column, conversion, kept.as_deref_mut())?;
        let part = place(member.offset, member.datatype.size);
        for (value, element) in column.chunks_exact(part.len().max(1)).zip(out.chunks_exact_mut(new.max(1))) {
            present(element.get_mut(part.clone()), "the part of an element")?.copy_from_slice(value);
        }
    }
    if let Some(lost) = own.iter().find(|source| wanted.iter().all(|member| member.name != source.name)) {
        let problem = format!("have the member {:?}, which the stored compound lacks", lost.name.to_text());
        return Err(Error::usage("values", problem));
    }
    Ok(out)
}

/// Converts enumerations by the names of their members, as the C library does. A value without a name has none in the other
/// enumeration either; with [`Conversion::Lossy`] all its bits are set.
fn enumerations(
    (from, own): (&Datatype, &[EnumMember]),
    (to, wanted): (&Datatype, &[EnumMember]),
    raw: &[u8],
    conversion: Conversion,
) -> Result<Vec<u8>> {
    let size = |datatype: &Datatype| bound::addressable(datatype.size.into());
    let named: BTreeMap<&[u8], &[u8]> =
        wanted.iter().map(|member| (member.name.as_bytes(), &member.value[..])).collect();
    let mut values: BTreeMap<&[u8], Option<&[u8]>> = BTreeMap::new();
    for member in own {
        let value = values.entry(&member.value).or_default();
        *value = value.or_else(|| named.get(member.name.as_bytes()).copied());
    }
    let nameless = vec![0xff; size(to)];
    let mut out = Vec::new();
    for (index, element) in raw.chunks_exact(size(from).max(1)).enumerate() {
        let value = match (values.get(element), conversion) {
            (Some(value), _) => *value,
            (None, Conversion::Lossy) => Some(&nameless[..]),
            (None, _) => None,
        };
        match value.filter(|value| value.len() == nameless.len()) {
            Some(value) => out.extend_from_slice(value),
            None => {
                let integers = || Error::unsupported("an enumeration that is not based on integers");
                let number = number(from, element).ok_or_else(integers)??;
                return Err(Error::Misfit(Misfit::new(index as u64, &number, "the stored enumeration")));
            }
        }
    }
    Ok(out)
}

/// Converts texts from one storage to another, and stores elements of variable length that are kept. Returns `None` if there is
/// no place to store them.
fn texts(
    (from, to): (&Datatype, &Datatype),
    raw: &[u8],
    (conversion, mut kept): (Conversion, Option<&mut Kept<'_>>),
) -> Result<Option<Vec<u8>>> {
    let fixed = |text: &[u8], padding: Padding, out: &mut Vec<u8>| {
        // The C library cuts text that is too long.
        let room = bound::addressable(to.size.into()).min(text.len());
        let text = if conversion == Conversion::Lossy { text.get(..room).unwrap_or(text) } else { text };
        store::fixed_string(text, to.size, padding, out)
    };
    let mut out = Vec::new();
    for element in raw.chunks_exact(bound::addressable(from.size.into()).max(1)) {
        match (&from.class, &to.class, &mut kept) {
            (Class::String { padding, .. }, Class::String { padding: wanted, .. }, _) => {
                fixed(unpadded(element, *padding), *wanted, &mut out)?;
            }
            (Class::String { padding, .. }, _, Some(kept)) => {
                out.extend(kept.put_text(unpadded(element, *padding))?);
            }
            (_, Class::String { padding, .. }, Some(kept)) => {
                let text = kept.get(element)?.map_or(&[][..], |(_, text)| text);
                fixed(text, *padding, &mut out)?;
            }
            (_, _, Some(kept)) => out.extend(kept.put(element)?),
            (_, _, None) => return Ok(None),
        }
    }
    Ok(Some(out))
}

/// Returns whether both datatypes are numbers of the same type, in any byte order.
fn alike(from: &Datatype, to: &Datatype) -> bool {
    stored(from).zip(stored(to)).is_some_and(|((from, _), (to, _))| from == to)
}

/// Returns the name of a datatype's numbers for messages.
fn called(datatype: &Datatype) -> &'static str {
    match (stored(datatype), &numeric(datatype).class) {
        (Some((kind, _)), _) => kind_name(kind),
        (None, Class::FixedPoint(fixed)) if fixed.signed => "the stored signed integer",
        (None, Class::FixedPoint(_)) => "the stored unsigned integer",
        (None, _) => "the stored type",
    }
}

fn kind_name(kind: NumberType) -> &'static str {
    match kind {
        NumberType::I8 => i8::NAME,
        NumberType::I16 => i16::NAME,
        NumberType::I32 => i32::NAME,
        NumberType::I64 => i64::NAME,
        NumberType::I128 => i128::NAME,
        NumberType::U8 => u8::NAME,
        NumberType::U16 => u16::NAME,
        NumberType::U32 => u32::NAME,
        NumberType::U64 => u64::NAME,
        NumberType::U128 => u128::NAME,
        NumberType::F16 => Float16::NAME,
        NumberType::BFloat16 => BFloat16::NAME,
        NumberType::F32 => f32::NAME,
        NumberType::F64 => f64::NAME,
    }
}

/// A number that its target datatype cannot hold.
struct Unfit;

/// Appends an integer, or returns `None` if integers of this size do not exist.
fn integer(
    number: Real,
    fixed: &FixedPoint,
    size: usize,
    conversion: Conversion,
    out: &mut Vec<u8>,
) -> Option<Result<(), Unfit>> {
    let precision = u32::from(fixed.precision);
    if size > 8 {
        return None;
    }
    let (low, high) = match fixed.signed {
        true => (-(1i128 << (precision - 1)), (1i128 << (precision - 1)) - 1),
        false => (0, (1i128 << precision) - 1),
    };
    let value = match conversion {
        Conversion::Lossy => i128::nearest(number).clamp(low, high),
        Conversion::Exact | Conversion::None => {
            match i128::exact(number).filter(|value| (low..=high).contains(value)) {
                Some(value) => value,
                None => return Some(Err(Unfit)),
            }
        }
    };
    let bits = value.cast_unsigned() & ((1u128 << precision) - 1);
    let bytes = (bits << fixed.bit_offset).to_le_bytes();
    put(&bytes, size, fixed.order == ByteOrder::Big, out);
    Some(Ok(()))
}

/// Appends a floating-point number, or returns `None` if the format is not supported.
fn float_bytes(
    number: Real,
    to: &ElementType,
    order: FloatOrder,
    conversion: Conversion,
    out: &mut Vec<u8>,
) -> Option<Result<(), Unfit>> {
    fn as_asked<T: Number>(number: Real, conversion: Conversion) -> Option<T> {
        if conversion == Conversion::Lossy { Some(T::nearest(number)) } else { T::exact(number) }
    }
    let bytes = match to {
        ElementType::Float(2) => {
            as_asked(number, conversion).map(|half: Float16| half.0.to_le_bytes().to_vec())
        }
        ElementType::BFloat16 => {
            as_asked(number, conversion).map(|half: BFloat16| half.0.to_le_bytes().to_vec())
        }
        ElementType::Float(4) => as_asked(number, conversion).map(|float: f32| float.to_le_bytes().to_vec()),
        ElementType::Float(8) => as_asked(number, conversion).map(|float: f64| float.to_le_bytes().to_vec()),
        _ => return None,
    };
    let Some(bytes) = bytes else { return Some(Err(Unfit)) };
    put(&bytes, bytes.len(), order == FloatOrder::Big, out);
    Some(Ok(()))
}

fn put(little: &[u8], size: usize, big: bool, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(little.iter().take(size));
    if big && let Some(added) = out.get_mut(start..) {
        added.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(size: u32, signed: bool, order: ByteOrder) -> Datatype {
        let precision = u16::try_from(size * 8).unwrap_or(0);
        let fixed =
            FixedPoint { order, low_padding: false, high_padding: false, signed, bit_offset: 0, precision };
        Datatype { version: 1, size, class: Class::FixedPoint(fixed) }
    }

    #[test]
    fn enumerations_are_converted_by_name() {
        let of = |base: &Datatype, members: [(&str, i64); 3]| Datatype::enumeration(base, members).unwrap();
        let from = of(&Datatype::unsigned(1), [("off", 0), ("on", 1), ("broken", 2)]);
        let to = of(&fixed(2, true, ByteOrder::Big), [("on", -1), ("off", 7), ("lost", 2)]);
        for how in [Conversion::Exact, Conversion::Lossy] {
            assert_eq!(elements(&from, &to, vec![1, 0, 1], how).unwrap(), [0xff, 0xff, 0, 7, 0xff, 0xff]);
            // The other enumeration has no such name.
            assert!(matches!(elements(&from, &to, vec![2], how), Err(Error::Misfit(_))));
        }
        // A value without a name.
        assert!(matches!(elements(&from, &to, vec![0, 9], Conversion::Exact), Err(Error::Misfit(_))));
        assert_eq!(elements(&from, &to, vec![0, 9], Conversion::Lossy).unwrap(), [0, 7, 0xff, 0xff]);
        // A number is no name.
        assert_eq!(elements(&Datatype::unsigned(1), &to, vec![2], Conversion::Exact).unwrap(), [0, 2]);
    }

    #[test]
    fn integers_are_clamped_only_where_that_is_asked_for() {
        let (wide, narrow) = (fixed(4, true, ByteOrder::Big), fixed(1, false, ByteOrder::Little));
        let raw: Vec<u8> = [7i32, 300, -5].iter().flat_map(|value| value.to_be_bytes()).collect();
        assert_eq!(elements(&wide, &narrow, raw.clone(), Conversion::Lossy).unwrap(), [7, 255, 0]);
        assert_eq!(elements(&narrow, &wide, vec![9], Conversion::Exact).unwrap(), [0, 0, 0, 9]);
        let error = elements(&wide, &narrow, raw.clone(), Conversion::Exact).unwrap_err();
        assert_eq!(error.to_string(), "element 1 is 300, which u8 cannot hold");
        assert!(elements(&wide, &narrow, raw.clone(), Conversion::None).is_err());
        let turned = fixed(4, true, ByteOrder::Little);
        assert_eq!(elements(&wide, &turned, raw, Conversion::None).unwrap()[..4], [7, 0, 0, 0]);
    }

    #[test]
    fn floating_point_numbers_keep_their_digits() {
        let raw = |value: f64| value.to_le_bytes().to_vec();
        let convert = |to: &Datatype, value, how| elements(&Datatype::float64(), to, raw(value), how);
        let [single, half] = [Datatype::float32(), Datatype::float16()];
        assert_eq!(convert(&single, 0.5, Conversion::Exact).unwrap(), 0.5f32.to_le_bytes());
        assert_eq!(convert(&half, 0.5, Conversion::Exact).unwrap(), [0, 0x38]);
        assert_eq!(convert(&Datatype::bfloat16(), -2.0, Conversion::Exact).unwrap(), [0, 0xc0]);
        for to in [&single, &half] {
            assert!(matches!(convert(to, 0.1, Conversion::Exact), Err(Error::Misfit(_))));
        }
        assert_eq!(convert(&single, 0.1, Conversion::Lossy).unwrap(), 0.1f32.to_le_bytes());
        assert!(convert(&single, f64::NAN, Conversion::Exact).is_ok());
    }
}
