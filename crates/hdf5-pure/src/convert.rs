//! Numbers of one datatype as numbers of another.
//!
//! Elements of a type in memory or of a source become those of a stored type as the C library makes them: integers that do
//! not fit take the nearest value that does, fractions are cut off, and a number that is not one becomes 0 as an integer.
//! What a caller reads is converted by [`sciformats_core::number`], which changes no value unasked.

use sciformats_core::endian::ByteOrder;
use sciformats_core::number::{Number, NumberType, Real};
use sciformats_core::{Error, Result};

use crate::element_type::{self, ElementType};
use crate::spec::message::datatype::{Class, Datatype, FixedPoint, FloatOrder, Member, VariableLength};

/// The type of the numbers that a datatype means, if it means any.
fn numeric(datatype: &Datatype) -> &Datatype {
    match &datatype.class {
        Class::Enumeration { base, .. } => base,
        _ => datatype,
    }
}

/// Whether a datatype means numbers.
pub(crate) fn is_number(datatype: &Datatype) -> bool {
    matches!(numeric(datatype).class, Class::FixedPoint(_) | Class::BitField(_) | Class::FloatingPoint(_))
}

/// One number; `None` if the datatype means something else.
pub(crate) fn number(datatype: &Datatype, raw: &[u8]) -> Option<Result<Real>> {
    Some(match &numeric(datatype).class {
        Class::FixedPoint(fixed) => element_type::integer_value(fixed, raw),
        Class::BitField(field) => element_type::bit_field(field, raw).map(Real::from),
        Class::FloatingPoint(float) => element_type::float(float, raw),
        _ => return None,
    })
}

/// The type and byte order of the numbers that a datatype means, if they are as machines have them: integers and bit
/// fields whose bits are all digits, and the formats of IEEE 754 and bfloat16.
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

/// Whether elements of both types have the same bytes. In which version of the format a type is told does not matter.
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

/// Elements of `from` as elements of `to`.
pub(crate) fn elements(from: &Datatype, to: &Datatype, raw: Vec<u8>) -> Result<Vec<u8>> {
    /// No number has more bytes; what a file says of its types must not select an allocation.
    const MOST: u32 = 32;
    if same(from, to) {
        return Ok(raw);
    }
    let refused = || match (from.element_type(), to.element_type()) {
        (Ok(from), Ok(to)) => {
            Error::unsupported(format!("the conversion of elements of type {from:?} to {to:?}"))
        }
        (Err(error), _) | (_, Err(error)) => error,
    };
    if from.size > MOST || to.size > MOST {
        return Err(refused());
    }
    let size = |datatype: &Datatype| usize::try_from(datatype.size).unwrap_or(usize::MAX).max(1);
    let mut out = Vec::with_capacity(raw.len() / size(from) * size(to));
    for element in raw.chunks_exact(size(from)) {
        let number = number(from, element).ok_or_else(refused)??;
        match &numeric(to).class {
            Class::FixedPoint(fixed) => integer(number, fixed, size(to), &mut out).ok_or_else(refused)?,
            Class::FloatingPoint(float) => {
                float_bytes(number, &to.element_type()?, float.order, &mut out).ok_or_else(refused)?;
            }
            _ => return Err(refused()),
        }
    }
    Ok(out)
}

fn integer(number: Real, fixed: &FixedPoint, size: usize, out: &mut Vec<u8>) -> Option<()> {
    let precision = u32::from(fixed.precision);
    if size > 8 {
        return None;
    }
    let (low, high) = match fixed.signed {
        true => (-(1i128 << (precision - 1)), (1i128 << (precision - 1)) - 1),
        false => (0, (1i128 << precision) - 1),
    };
    let bits = i128::nearest(number).clamp(low, high).cast_unsigned() & ((1u128 << precision) - 1);
    let bytes = (bits << fixed.bit_offset).to_le_bytes();
    put(&bytes, size, fixed.order == ByteOrder::Big, out);
    Some(())
}

fn float_bytes(number: Real, to: &ElementType, order: FloatOrder, out: &mut Vec<u8>) -> Option<()> {
    let big = order == FloatOrder::Big;
    match to {
        ElementType::Float(4) => put(&f32::nearest(number).to_le_bytes(), 4, big, out),
        ElementType::Float(8) => put(&f64::nearest(number).to_le_bytes(), 8, big, out),
        _ => return None,
    }
    Some(())
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
    fn integers_are_clamped() {
        let (wide, narrow) = (fixed(4, true, ByteOrder::Big), fixed(1, false, ByteOrder::Little));
        let raw = [300i32, -5, 7].iter().flat_map(|value| value.to_be_bytes()).collect();
        assert_eq!(elements(&wide, &narrow, raw).ok(), Some(vec![255, 0, 7]));
        assert_eq!(elements(&narrow, &wide, vec![9]).ok(), Some(vec![0, 0, 0, 9]));
    }
}
