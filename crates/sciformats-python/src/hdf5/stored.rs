//! What elements have in the file but not in NumPy: the padding of texts, and the formats of unusual numbers.

use hdf5_pure::structure::{ByteOrder, Class, FloatOrder, FloatingPoint, Normalization, Padding};
use hdf5_pure::{Datatype, Error, Result};
use pyo3::prelude::*;

/// The datatype of a dataset as it is stored, with all that no type of NumPy has.
#[pyclass(frozen, module = "sciformats._sciformats", name = "Hdf5Type")]
pub(crate) struct Stored(pub(super) Datatype);

/// Returns whether elements contain texts that do not end as those of NumPy do, which are filled with NULs.
pub(super) fn is_padded(datatype: &Datatype) -> bool {
    match &datatype.class {
        Class::String { padding, .. } => *padding != Padding::NullPadded,
        Class::Array { base, .. } => is_padded(base),
        Class::Compound(members) => members.iter().any(|member| is_padded(&member.datatype)),
        _ => false,
    }
}

/// Fills texts with NULs: in place of spaces, or of what follows the NUL that ends a text.
pub(super) fn unpad(datatype: &Datatype, elements: &mut [u8]) {
    texts(datatype, elements, &|padding, text| {
        let end = match padding {
            Padding::NullTerminated => text.iter().position(|&byte| byte == 0),
            Padding::SpacePadded => {
                text.iter().rposition(|&byte| byte != b' ').map_or(Some(0), |at| at.checked_add(1))
            }
            Padding::NullPadded => None,
        };
        if let Some(rest) = end.and_then(|end| text.get_mut(end..)) {
            rest.fill(0);
        }
    });
}

/// Fills texts as their type says. A text that leaves no room for the NUL that should end it keeps its last byte.
pub(super) fn pad(datatype: &Datatype, elements: &mut [u8]) {
    texts(datatype, elements, &|padding, text| {
        if padding == Padding::SpacePadded {
            let end = text.iter().rposition(|&byte| byte != 0).map_or(Some(0), |at| at.checked_add(1));
            if let Some(rest) = end.and_then(|end| text.get_mut(end..)) {
                rest.fill(b' ');
            }
        }
    });
}

/// Calls a function with each text of fixed length in elements.
fn texts(datatype: &Datatype, elements: &mut [u8], change: &dyn Fn(Padding, &mut [u8])) {
    if !is_padded(datatype) {
        return;
    }
    let size = wide(datatype.size).max(1);
    for element in elements.chunks_exact_mut(size) {
        match &datatype.class {
            Class::String { padding, .. } => change(*padding, element),
            Class::Array { base, .. } => texts(base, element, change),
            Class::Compound(members) => {
                for member in members {
                    let start = wide(member.offset);
                    let end = start.saturating_add(wide(member.datatype.size)); // a bound: no element is that large
                    if let Some(part) = element.get_mut(start..end) {
                        texts(&member.datatype, part, change);
                    }
                }
            }
            _ => {}
        }
    }
}

fn wide(size: u32) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX) // a bound: no element is that large
}

/// Returns whether [`number`] stores such numbers.
pub(super) fn is_number(datatype: &Datatype) -> bool {
    match &datatype.class {
        Class::FixedPoint(_) | Class::BitField(_) | Class::FloatingPoint(_) => true,
        Class::Enumeration { base, .. } => is_number(base),
        _ => false,
    }
}

/// Returns the stored bytes of a number, which is given as a little-endian integer, or as a little-endian number of 64 bits if it is a
/// floating-point number.
///
/// # Errors
///
/// `Usage` if the type cannot hold an integer, and `Unsupported` for formats that hold more than numbers of 64 bits do.
pub(super) fn number(datatype: &Datatype, value: &[u8]) -> Result<Vec<u8>> {
    let bits = datatype.size.saturating_mul(8); // a bound: larger numbers are refused below
    if bits == 0 || bits > 128 {
        return Err(Error::unsupported(format!("writing numbers of {} bytes", datatype.size)));
    }
    let (word, big) = match &datatype.class {
        Class::Enumeration { base, .. } => return number(base, value),
        Class::FixedPoint(fixed) => {
            let place = Place { offset: fixed.bit_offset.into(), precision: fixed.precision.into(), bits };
            let word = place.integer(fixed.signed, value)?;
            (place.filled(word, u128::MAX, [fixed.low_padding, fixed.high_padding, false]), fixed.order)
        }
        Class::BitField(field) => {
            let place = Place { offset: field.bit_offset.into(), precision: field.precision.into(), bits };
            let word = place.integer(false, value)?;
            (place.filled(word, u128::MAX, [field.low_padding, field.high_padding, false]), field.order)
        }
        Class::FloatingPoint(float) => {
            let value = <[u8; 8]>::try_from(value).map_err(|_| wrong())?;
            let (word, used) = floating(float, f64::from_le_bytes(value))?;
            let place = Place { offset: float.bit_offset.into(), precision: float.precision.into(), bits };
            let order = if float.order == FloatOrder::Big { ByteOrder::Big } else { ByteOrder::Little };
            (place.filled(word, used, float.padding), order)
        }
        _ => return Err(wrong()),
    };
    let mut bytes: Vec<u8> = word.to_le_bytes().into_iter().take(wide(datatype.size)).collect();
    if big == ByteOrder::Big {
        bytes.reverse();
    }
    Ok(bytes)
}

fn wrong() -> Error {
    Error::usage("element", "does not have the form of its type")
}

/// The lowest `n` bits.
fn mask(n: u32) -> u128 {
    1u128.checked_shl(n).map_or(u128::MAX, |bit| bit.wrapping_sub(1))
}

/// Which bits of a number count.
struct Place {
    offset: u32,
    precision: u32,
    bits: u32,
}

impl Place {
    /// Returns the word with an integer at its place.
    fn integer(&self, signed: bool, value: &[u8]) -> Result<u128> {
        let negative = signed && value.last().is_some_and(|byte| *byte > 0x7f);
        let mut bytes = [if negative { 0xff } else { 0 }; 16];
        bytes.get_mut(..value.len()).ok_or_else(wrong)?.copy_from_slice(value);
        let value = u128::from_le_bytes(bytes);
        let lost = if signed { self.precision.saturating_sub(1) } else { self.precision }; // a bound: no bits, no values
        let beyond = value & !mask(lost);
        if beyond != 0 && !(negative && beyond == !mask(lost)) {
            let problem =
                format!("is an integer for which the {} bits of its type are too few", self.precision);
            return Err(Error::usage("element", problem));
        }
        (value & mask(self.precision)).checked_shl(self.offset).ok_or_else(wrong)
    }

    /// Sets the bits that do not count, if the type says that they are ones: below the value, above it, and between its fields.
    fn filled(&self, word: u128, used: u128, [low, high, between]: [bool; 3]) -> u128 {
        let below = mask(self.offset);
        let above = mask(self.bits) & !mask(self.offset.saturating_add(self.precision)); // a bound: all bits are below it
        let inside = mask(self.bits) & !below & !above & !used;
        let ones = |set: bool, bits: u128| if set { bits } else { 0 };
        word | ones(low, below) | ones(high, above) | ones(between, inside)
    }
}

/// Returns the bits of a floating-point number, rounded to the nearest even one, and which bits its fields have.
fn floating(of: &FloatingPoint, value: f64) -> Result<(u128, u128)> {
    let (exponent_size, size) = (u32::from(of.exponent_size), u32::from(of.mantissa_size));
    let ones = (1i64 << exponent_size.min(31)).wrapping_sub(1);
    let bias = i64::from(of.bias);
    // All values are also numbers of 64 bits, so that none was changed when it was read.
    let within = of.order != FloatOrder::Vax
        && of.normalization == Normalization::Implied
        && size <= 52
        && (1..=11).contains(&exponent_size)
        && 1 - bias - i64::from(size) >= -1074
        && ones - 1 - bias <= 1023;
    if !within {
        return Err(Error::unsupported("writing floating-point numbers that not all fit into 64 bits"));
    }
    let bits = value.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let (exponent, mantissa): (i64, u128) = if value.is_nan() {
        (ones, 1u128 << size.saturating_sub(1)) // a bound: without a mantissa there is only infinity
    } else if value.is_infinite() {
        (ones, 0)
    } else if value == 0.0 {
        (0, 0)
    } else {
        // The value is `significand` times two to the power of `power`, and has 53 significant bits.
        let stored = (bits >> 52) & 0x7ff;
        let (significand, power) = match stored {
            0 => {
                let shift = fraction.leading_zeros().saturating_sub(11); // a bound: the upper 12 bits are 0
                (fraction << shift, -1074 - i64::from(shift))
            }
            _ => (fraction | (1 << 52), i64::try_from(stored).unwrap_or(0) - 1075), // a bound: it has 11 bits
        };
        let biased = power + 52 + bias;
        let below = (1 - biased).max(0);
        let drop = 52 - i64::from(size) + below;
        let rounded = rounded(significand.into(), u32::try_from(drop).unwrap_or(u32::MAX)); // a bound: all bits are dropped
        let exponent = biased.max(1) - 1;
        // The implied bit, and the one that rounding may carry into, are added to the exponent.
        let word = (u128::from(exponent.unsigned_abs()) << size).wrapping_add(rounded);
        let exponent = i64::try_from(word >> size).unwrap_or(ones); // a bound: it has few bits
        if exponent >= ones { (ones, 0) } else { (exponent, word & mask(size)) }
    };
    let field = |value: u128, at: u8| value.checked_shl(at.into()).ok_or_else(wrong);
    let sign = u128::from(value.is_sign_negative());
    let word = field(sign, of.sign_location)?
        | field(exponent.unsigned_abs().into(), of.exponent_location)?
        | field(mantissa, of.mantissa_location)?;
    let used = field(1, of.sign_location)?
        | field(mask(exponent_size), of.exponent_location)?
        | field(mask(size), of.mantissa_location)?;
    Ok((word, used))
}

/// Drops bits of a number, and rounds it to the nearest, or the even one of two.
fn rounded(value: u128, drop: u32) -> u128 {
    if drop == 0 {
        return value;
    }
    let kept = value.checked_shr(drop).unwrap_or(0); // a bound: all bits are dropped
    let rest = value & mask(drop);
    let half = 1u128.checked_shl(drop.saturating_sub(1)).unwrap_or(u128::MAX); // a bound: the value is far smaller
    if rest > half || (rest == half && kept & 1 == 1) { kept.wrapping_add(1) } else { kept }
}
