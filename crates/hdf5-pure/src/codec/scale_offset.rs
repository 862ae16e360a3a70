//! Scale-offset (filter 6): differences of numbers from their minimum, in as few bits as the largest difference needs.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | minimum number of bits: those of a packed value, little-endian |
//! | 4 | 1 | size of the minimum, always 8 |
//! | 5 | 8 | minimum, little-endian: as a number of 64 bits, or as the bits of a float |
//! | 13 | 8 | zeros |
//! | 21 | | packed values, the highest bit first |

use nom::bytes::complete::take;
use nom::number::complete::{le_u32, le_u64, u8 as byte};
use sciformats_core::fault::{Parsed, field};
use sciformats_core::{Fault, FaultKind, bound};

use super::bits::{BitWriter, Bits, low_word};

/// The meaning of the client data values.
struct Parameters {
    float_scale: Option<i32>,
    elements: usize,
    size: usize,
    big: bool,
    fill: Option<u64>,
}

fn parameters(values: &[u32]) -> Result<Parameters, Fault> {
    let value = |at: usize| values.get(at).copied().ok_or_else(|| super::truncated("client data"));
    let wrong = |found: u32| Fault::new("client data", FaultKind::Undefined { found: found.into() });
    let class = value(3)?;
    let float_scale = match (value(0)?, class) {
        (0, 1) => Some(value(1)?.cast_signed()),
        (2, 0) => None,
        (found, _) => return Err(wrong(found)),
    };
    let size = value(4)?;
    let known = if class == 1 { matches!(size, 4 | 8) } else { matches!(size, 1 | 2 | 4 | 8) };
    if !known {
        return Err(wrong(size));
    }
    let fill = match value(7)? {
        0 => None,
        _ => Some(u64::from(value(8)?) | u64::from(values.get(9).copied().unwrap_or_default()) << 32),
    };
    let elements = bound::addressable(value(2)?.into());
    let size = usize::try_from(size).unwrap_or(8);
    Ok(Parameters { float_scale, elements, size, big: value(6)? == 1, fill })
}

/// Parses the fields before the packed values. Returns the number of bits and the minimum.
fn head(i: &[u8]) -> Parsed<'_, (u32, u64)> {
    let (i, bits) = field("minimum number of bits", le_u32)(i)?;
    let (i, _) = field("size of the minimum", byte)(i)?;
    let (i, minimum) = field("minimum", le_u64)(i)?;
    let (i, _) = field("packed values", take(8usize))(i)?;
    Ok((i, (bits, minimum)))
}

/// Decodes at most `max` bytes.
pub(crate) fn decode(values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    let parameters = parameters(values)?;
    let Parameters { elements, size, .. } = parameters;
    let full = u32::try_from(size * 8).unwrap_or(64);
    if parameters.float_scale.is_none() && values.get(1) == Some(&full) {
        return Ok(input.to_vec()); // all bits are significant, so the elements are stored unchanged
    }
    let total =
        elements.checked_mul(size).filter(|&total| total <= max).ok_or_else(|| super::too_long(max))?;
    let (packed, (bits, minimum)) = super::front(input, head)?;
    if bits > full {
        return Err(Fault::new("minimum number of bits", FaultKind::Undefined { found: bits.into() }));
    }
    let mut out = Vec::with_capacity(total);
    if bits == full {
        out.extend_from_slice(packed.get(..total).ok_or_else(|| super::truncated("packed values"))?);
    } else {
        out.resize(total, 0);
        let coding = Coding { bits, fill: parameters.fill };
        match (parameters.float_scale, size) {
            (None, 1) => coding.restore(packed, &mut out, |value| low::<1>(value.wrapping_add(minimum))),
            (None, 2) => coding.restore(packed, &mut out, |value| low::<2>(value.wrapping_add(minimum))),
            (None, 4) => coding.restore(packed, &mut out, |value| low::<4>(value.wrapping_add(minimum))),
            (None, _) => coding.restore(packed, &mut out, |value| low::<8>(value.wrapping_add(minimum))),
            (Some(scale), 4) => {
                let (power, minimum) = (10f32.powi(scale), f32::from_bits(low_word(minimum)));
                #[allow(clippy::cast_precision_loss)]
                let number = |value: u64| value.cast_signed() as f32 / power + minimum;
                coding.restore(packed, &mut out, |value| number(value).to_le_bytes())
            }
            (Some(scale), _) => {
                let (power, minimum) = (10f64.powi(scale), f64::from_bits(minimum));
                #[allow(clippy::cast_precision_loss)]
                let number = |value: u64| value.cast_signed() as f64 / power + minimum;
                coding.restore(packed, &mut out, |value| number(value).to_le_bytes())
            }
        }?;
    }
    if parameters.big {
        out.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    Ok(out)
}

/// What packed values are.
struct Coding {
    bits: u32,
    fill: Option<u64>,
}

impl Coding {
    /// Restores elements of `N` bytes from packed values.
    fn restore<const N: usize>(
        &self,
        packed: &[u8],
        out: &mut [u8],
        number: impl Fn(u64) -> [u8; N],
    ) -> Result<(), Fault> {
        let mut reader = Bits::new(packed);
        // The largest value stands for the fill value. Values of no bits are the minimum.
        let fill = self.fill.filter(|_| self.bits > 0).map(|fill| ((1u64 << self.bits) - 1, low(fill)));
        for element in out.as_chunks_mut::<N>().0 {
            let value = reader.take_wide(self.bits)?;
            *element = match fill {
                Some((marker, fill)) if value == marker => fill,
                _ => number(value),
            };
        }
        Ok(())
    }
}

/// Returns the lowest bytes.
fn low<const N: usize>(value: u64) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.iter_mut().zip(value.to_le_bytes()).for_each(|(to, from)| *to = from);
    bytes
}

/// Encodes a chunk. Returns `None` if its values need all of their bits, or a value is NaN, or if it has more or fewer elements than the
/// client data values say, as after a filter that changed its length, because nothing else could be restored.
pub(crate) fn encode(values: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    let parameters = parameters(values)?;
    let size = parameters.size;
    let full = u32::try_from(size * 8).unwrap_or(64);
    if parameters.float_scale.is_none() && values.get(1) == Some(&full) {
        return Ok(Some(input.to_vec()));
    }
    if parameters.elements.checked_mul(size) != Some(input.len()) {
        return Ok(None);
    }
    let elements: Vec<u64> = input
        .chunks_exact(size)
        .map(|element| {
            let byte = |word: u64, &byte: &u8| word << 8 | u64::from(byte);
            if parameters.big { element.iter().fold(0, byte) } else { element.iter().rev().fold(0, byte) }
        })
        .collect();
    let signed = values.get(5) == Some(&1);
    let coded = match parameters.float_scale {
        None => integers(&elements, &parameters, signed, values.get(1).copied().unwrap_or_default()),
        Some(scale) => floats(&elements, &parameters, scale),
    };
    let Some(Coded { bits, minimum, values }) = coded.filter(|coded| coded.bits < full) else {
        return Ok(None);
    };
    let mut out = Vec::with_capacity(21 + input.len() / 4);
    out.extend(bits.to_le_bytes());
    out.push(8);
    out.extend(minimum.to_le_bytes());
    out.extend([0; 8]);
    let mut writer = BitWriter::with_capacity(input.len());
    let marker = (1u64 << bits) - 1;
    values.into_iter().for_each(|value| writer.put_wide(value.unwrap_or(marker), bits));
    out.extend(writer.finish_open());
    Ok(Some(out))
}

/// The differences from the smallest value; `None` stands for the fill value.
struct Coded {
    bits: u32,
    minimum: u64,
    values: Vec<Option<u64>>,
}

/// Returns the number of bits for values below `span`, plus one more value for the fill value if there is one.
fn bits_for(span: u64, filled: bool) -> u32 {
    let last = if filled { span } else { bound::left(span, 1) };
    64 - last.leading_zeros()
}

fn integers(elements: &[u64], parameters: &Parameters, signed: bool, factor: u32) -> Option<Coded> {
    let shift = 64 - u32::try_from(parameters.size * 8).unwrap_or(64);
    // With the sign bit inverted, signed numbers have the order of unsigned numbers.
    let turn = if signed { 1u64 << 63 } else { 0 };
    let key = |value: u64| value << shift ^ turn;
    let fill = parameters.fill.map(|fill| fill << shift >> shift);
    let used = || elements.iter().copied().filter(|&value| Some(value) != fill);
    // If all values are the fill value, any minimum is right.
    let least = used().min_by_key(|&value| key(value)).unwrap_or_default();
    let most = used().max_by_key(|&value| key(value)).unwrap_or_default();
    let difference = |value: u64| value.wrapping_sub(least) << shift >> shift;
    let span = difference(most);
    if span > bound::left(u64::MAX >> shift, 2) {
        return None;
    }
    // A chunk says how many bits it has, so that integers that need more than was asked for are not cut off.
    let bits = factor.max(bits_for(span + 1, fill.is_some()));
    let minimum = match signed {
        true => ((least << shift).cast_signed() >> shift).cast_unsigned(),
        false => least,
    };
    let code = |value: u64| (Some(value) != fill).then(|| difference(value));
    Some(Coded { bits, minimum, values: elements.iter().map(|&value| code(value)).collect() })
}

fn floats(elements: &[u64], parameters: &Parameters, scale: i32) -> Option<Coded> {
    let filled = parameters.fill.is_some();
    // All arithmetic is done in the precision of the elements, because decoding in the C library does so too.
    macro_rules! coded {
        ($float:ty, $of:expr) => {{
            let of = $of;
            let power = <$float>::powi(10.0, scale);
            let near = <$float>::powi(10.0, -scale);
            let fill: Option<$float> = parameters.fill.map(of);
            let numbers: Vec<$float> = elements.iter().map(|&bits| of(bits)).collect();
            if numbers.iter().any(|number| !(number * power).is_finite()) {
                return None;
            }
            let is_fill = |number: $float| fill.is_some_and(|fill| (number - fill).abs() < near);
            let used = || numbers.iter().copied().filter(|&number| !is_fill(number));
            let least = used()
                .fold(None, |least: Option<$float>, number| Some(least.map_or(number, |l| l.min(number))));
            let most = used()
                .fold(None, |most: Option<$float>, number| Some(most.map_or(number, |m| m.max(number))));
            let (least, most) = (least.unwrap_or(0.0), most.unwrap_or(0.0));
            let scaled = |number: $float| (number * power - least * power).round();
            // Differences that exceed the mantissa could not be restored.
            if scaled(most) >= <$float>::powi(2.0, <$float>::MANTISSA_DIGITS.cast_signed() - 1) {
                return None;
            }
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let code = |number: $float| (!is_fill(number)).then(|| scaled(number).max(0.0) as u64);
            let span = code(most).unwrap_or_default();
            Some(Coded {
                bits: bits_for(span + 1, filled),
                minimum: least.to_bits().into(),
                values: numbers.iter().map(|&number| code(number)).collect(),
            })
        }};
    }
    if parameters.size == 4 {
        coded!(f32, |bits: u64| f32::from_bits(low_word(bits)))
    } else {
        coded!(f64, f64::from_bits)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{decode, encode};

    /// Client data values for four unsigned integers of two bytes with the fill value 99.
    fn client_values() -> [u32; 20] {
        let mut values = [0; 20];
        (values[0], values[2], values[4], values[7], values[8]) = (2, 4, 2, 1, 99);
        values
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, bits in 0u8..20, class in 0u32..2, scale: u32, elements in 0u32..50) {
            let mut values = client_values();
            (values[1], values[2], values[3]) = (scale, elements, class);
            (values[0], values[4]) = if class == 1 { (0, 4) } else { (2, 2) };
            let framed = [&[bits, 0, 0, 0, 8], &bytes[..]].concat();
            for input in [&bytes, &framed] {
                let _ = decode(&values, input, 200);
            }
        }
    }

    #[test]
    fn all_elements_and_nothing_else_are_encoded() {
        let (values, input) = (client_values(), [5, 0, 6, 0, 7, 0, 99, 0, 1, 2, 3, 4]);
        assert!(encode(&values, &input[..8]).unwrap().is_some());
        for len in [0, 6, 7, 9, 10, 12] {
            assert_eq!(encode(&values, &input[..len]).unwrap(), None, "{len}");
        }
    }

    #[test]
    fn small_integers_with_a_fill_value() {
        let values = client_values();
        let chunk = [
            2,
            0,
            0,
            0, // minimum number of bits
            8, // size of the minimum
            5,
            0,
            0,
            0,
            0,
            0,
            0,
            0, // minimum
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0, // zeros
            0b00_01_10_11,
            0, // packed values: 5, 6, 7, the fill value
        ];
        assert_eq!(decode(&values, &chunk, 100).unwrap(), [5, 0, 6, 0, 7, 0, 99, 0]);
        assert!(decode(&values, &chunk[..21], 100).is_err());
        let fault = |len: usize| decode(&values, &chunk[..len], 100).unwrap_err().to_string();
        assert_eq!(fault(3), "minimum number of bits is truncated");
        assert_eq!(fault(12), "minimum is truncated");
        assert_eq!(fault(20), "packed values is truncated");
    }
}
