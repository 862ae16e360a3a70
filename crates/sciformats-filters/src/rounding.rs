//! Filters that round floating-point numbers, so that what follows compresses them better: `BitGroom` (32022), Granular `BitRound` (32023) and
//! `BitRound` (32032). Undoing them changes nothing.
//!
//! The client data values: the digits or bits to keep, the bytes of an element, whether there is a fill value, and its low and high
//! half. NaN, infinities and the fill value stay as they are.

use sciformats_core::{Fault, FaultKind};

use crate::filter::{rule, value, within};
use crate::{Chunk, Filter, Kind};

/// One of the filters.
pub(crate) enum Rounding {
    /// Keeps decimal digits; bits after them are zeros and ones in turn.
    Groom,
    /// Keeps decimal digits, with as many bits as each value needs.
    Granular,
    /// Keeps bits of the significand.
    Round,
}

/// What a float consists of.
struct Float {
    /// The explicit bits of the significand.
    explicit: u32,
    /// The exponent that marks NaN and infinities.
    special: u64,
}

const SINGLE: Float = Float { explicit: 23, special: 0xff };
const DOUBLE: Float = Float { explicit: 52, special: 0x7ff };

impl Float {
    /// Returns whether the bits are those of a finite number that is not zero.
    fn is_plain(&self, bits: u64) -> bool {
        let exponent = bits >> self.explicit & self.special;
        let rest = bits & ((1 << self.explicit) - 1);
        exponent != self.special && (exponent > 0 || rest > 0)
    }

    /// Sets all but `keep` bits of the significand to zero, and rounds the kept ones to the nearest, of two alike to the even one.
    fn rounded(&self, bits: u64, keep: u32) -> u64 {
        let drop = self.explicit.saturating_sub(keep); // a bound: nothing is dropped
        if drop == 0 {
            return bits;
        }
        let (half, last) = (1u64 << (drop - 1), bits >> drop & 1);
        // A carry into the exponent is right: the number becomes the next power of two.
        (bits + (half - 1) + last) & !((1 << drop) - 1)
    }
}

impl Rounding {
    fn one(&self, float: &Float, bits: u64, index: usize, number: u32) -> u64 {
        const PER_DIGIT: f64 = std::f64::consts::LOG2_10;
        match self {
            Self::Round => float.rounded(bits, number),
            Self::Groom => {
                // One bit more than the digits have keeps their precision in spite of the alternation.
                let keep = (f64::from(number) * PER_DIGIT).ceil() as u32 + 1;
                let mask = (1u64 << float.explicit.saturating_sub(keep)) - 1; // a bound: nothing is dropped
                if index.is_multiple_of(2) { bits & !mask } else { bits | mask }
            }
            Self::Granular => {
                let number_of = match float.explicit {
                    23 => f64::from(f32::from_bits(u32::try_from(bits & 0xffff_ffff).unwrap_or_default())),
                    _ => f64::from_bits(bits),
                };
                let digits = number_of.abs().log10().floor() + 1.0;
                // The power of two that half a unit of the last digit must not be below.
                let power = (PER_DIGIT * (digits - f64::from(number))).floor();
                let exponent = number_of.abs().log2().floor();
                let keep = (exponent - power).max(0.0) as u32;
                float.rounded(bits, keep)
            }
        }
    }
}

/// Calls `each` with the number and the bits of every element, and replaces it by the result.
fn replace<const N: usize>(bytes: &mut [u8], mut each: impl FnMut(usize, u64) -> u64) {
    for (i, element) in bytes.chunks_exact_mut(N).enumerate() {
        let mut wide = [0; 8];
        for (to, from) in wide.iter_mut().zip(element.iter()) {
            *to = *from;
        }
        for (to, from) in element.iter_mut().zip(each(i, u64::from_le_bytes(wide)).to_le_bytes()) {
            *to = from;
        }
    }
}

impl Filter for Rounding {
    fn id(&self) -> u16 {
        match self {
            Self::Groom => 32022,
            Self::Granular => 32023,
            Self::Round => 32032,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Groom => "bitgroom",
            Self::Granular => "granularbr",
            Self::Round => "bitround",
        }
    }

    fn decode(&self, _values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
        within("chunk", input.len() as u64, max)?;
        Ok(input.to_vec())
    }

    fn is_identity(&self) -> bool {
        true
    }

    fn encode(&self, values: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let (number, size) = (value(values, 0)?, value(values, 1)?);
        let fill = match values.get(2) {
            Some(0) | None => None,
            Some(_) => {
                let low = u64::from(value(values, 3)?);
                Some(if size == 8 { low | u64::from(value(values, 4)?) << 32 } else { low })
            }
        };
        let float = match size {
            4 => &SINGLE,
            8 => &DOUBLE,
            found => {
                return Err(Fault::new("bytes of an element", FaultKind::Undefined { found: found.into() }));
            }
        };
        let round = |i: usize, bits: u64| match fill == Some(bits) || !float.is_plain(bits) {
            true => bits,
            false => self.one(float, bits, i, number),
        };
        let mut out = input.to_vec();
        if size == 4 {
            replace::<4>(&mut out, round);
        } else {
            replace::<8>(&mut out, round);
        }
        Ok(Some(out))
    }

    fn configure(&self, asked: &[u32], chunk: &Chunk<'_>) -> Result<Vec<u32>, Fault> {
        let element = chunk.element;
        if element.kind != Kind::Float || !matches!(element.size, 4 | 8) || element.big_endian {
            return Err(rule("elements", "must be little-endian floats of 4 or 8 bytes"));
        }
        let number = value(asked, 0)?;
        let most = match (self, element.size) {
            (Self::Round, 4) => 23,
            (Self::Round, _) => 52,
            (_, 4) => 7,
            _ => 15,
        };
        if number == 0 || number > most {
            return Err(rule("number of digits or bits", "must be at least 1 and at most what a float has"));
        }
        let fill = asked.get(2..).unwrap_or_default().iter().chain(&[0, 0, 0]).take(3).copied();
        Ok([number, element.size].into_iter().chain(fill).collect())
    }
}

/// Returns how many bits of the significand of floats have to be kept so that the share `kept` of the information that neighbours have
/// about each other stays. `floats` are the bytes of little-endian floats of `size` bytes, 4 or 8, in the order in which they are
/// neighbours. NaN, infinities and zeros are left out. If neighbours tell nothing about each other, nothing can be said, and all bits are
/// kept.
///
/// ```
/// let smooth: Vec<u8> = (0..4000u32).flat_map(|i| (1.0 + f64::from(i) * 1e-3).sin().to_le_bytes()).collect();
/// let mut state = 1u64;
/// let mut random = || {
///     for (left, by) in [(true, 13), (false, 7), (true, 17)] {
///         state ^= if left { state << by } else { state >> by };
///     }
///     1.0 + (state >> 12) as f64 / (1u64 << 52) as f64
/// };
/// let noise: Vec<u8> = (0..4000).flat_map(|_| random().to_le_bytes()).collect();
/// let keep = sciformats_filters::bits_to_keep(&smooth, 8, 0.99).unwrap();
/// assert!((8..=11).contains(&keep));
/// assert_eq!(sciformats_filters::bits_to_keep(&noise, 8, 0.99).unwrap(), 52);
/// # assert!(sciformats_filters::bits_to_keep(&smooth, 3, 0.99).is_err());
/// ```
///
/// [`sciformats_core::number::Information`] measures arrays piece by piece, and along each axis.
///
/// # Errors
/// Returns a fault if the size is neither 4 nor 8.
pub fn bits_to_keep(floats: &[u8], size: usize, kept: f64) -> Result<u32, Fault> {
    let Some(mut information) = sciformats_core::number::Information::of_floats(size, 1) else {
        return Err(Fault::new("bytes of an element", FaultKind::Undefined { found: size as u64 }));
    };
    information.add(floats, &[floats.len() / size], &|_| false);
    let all = if size == 4 { SINGLE.explicit } else { DOUBLE.explicit };
    Ok(information.bits_to_keep(kept).unwrap_or(all))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn through(filter: &Rounding, values: &[u32], numbers: &[f32]) -> Vec<f32> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let out = filter.encode(values, &bytes).unwrap().unwrap();
        assert_eq!(filter.decode(values, &out, out.len()).unwrap(), out);
        out.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
    }

    #[test]
    fn halves_go_to_the_even_neighbour() {
        // With two bits, 1, 1.25, 1.5 and 1.75 are left.
        let found = through(&Rounding::Round, &[2, 4, 0, 0, 0], &[1.125, 1.375, 1.126, -1.9, 1e-40]);
        assert_eq!(found[..4], [1.0, 1.5, 1.25, -2.0]);
    }

    #[test]
    fn digits_are_kept() {
        let numbers: Vec<f32> = (1..2000).map(|i| (i as f32).powi(3) * 0.001_234_5).collect();
        for digits in 1..6 {
            for filter in [Rounding::Groom, Rounding::Granular] {
                for (number, found) in numbers.iter().zip(through(&filter, &[digits, 4, 0, 0, 0], &numbers)) {
                    let unit = 10f64.powf(f64::from(*number).abs().log10().floor() + 1.0 - f64::from(digits));
                    let error = (f64::from(*number) - f64::from(found)).abs();
                    assert!(error <= unit * 0.5001, "{}: {number} became {found}", filter.name());
                }
            }
        }
    }

    #[test]
    fn special_values_stay() {
        let fill = 1.234_567_9f32;
        let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, fill];
        for filter in [Rounding::Groom, Rounding::Granular, Rounding::Round] {
            let found = through(&filter, &[2, 4, 1, fill.to_bits(), 0], &special);
            assert!(found.iter().zip(special).all(|(a, b)| a.to_bits() == b.to_bits()), "{}", filter.name());
        }
    }

    proptest! {
        #[test]
        fn rounding_is_near_and_done_once(number: f64, keep in 1u32..53) {
            prop_assume!(number.is_finite() && number.abs() < f64::MAX / 2.0);
            let bytes = number.to_le_bytes();
            let out = Rounding::Round.encode(&[keep, 8, 0, 0, 0], &bytes).unwrap().unwrap();
            prop_assert_eq!(&Rounding::Round.encode(&[keep, 8, 0, 0, 0], &out).unwrap().unwrap(), &out);
            let found = f64::from_le_bytes(out.try_into().unwrap());
            prop_assert!(!number.is_normal() || (found - number).abs() <= number.abs() * 0.5f64.powi(keep as i32 + 1));
        }

        #[test]
        fn no_bytes_panic(values: Vec<u32>, input: Vec<u8>) {
            for filter in [Rounding::Groom, Rounding::Granular, Rounding::Round] {
                let _ = filter.encode(&values, &input);
                let _ = filter.decode(&values, &input, 1000);
            }
        }
    }
}
