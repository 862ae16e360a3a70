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

/// The explicit bits of the significand of a single and of a double.
const SINGLE: u32 = 23;
const DOUBLE: u32 = 52;

/// Calls `each` with the number and the bits of every element, and returns the results.
fn replaced<const N: usize>(input: &[u8], each: impl Fn(usize, [u8; N]) -> [u8; N]) -> Vec<u8> {
    let mut out = input.to_vec();
    for (i, element) in out.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        *element = each(i, *element);
    }
    out
}

/// The arithmetic of floats of one size. Their loops have no branches, so that several elements are rounded at once.
macro_rules! floats {
    ($name:ident, $bits:ty, $float:ty, $explicit:expr, $size:expr) => {
        mod $name {
            use super::{Rounding, replaced};

            const EXPLICIT: u32 = $explicit;
            /// The bits without the sign from which on they are those of infinities and NaN.
            const SPECIAL: $bits = ((1 << ($size * 8 - 1 - EXPLICIT)) - 1) << EXPLICIT;
            const SIGN: $bits = 1 << ($size * 8 - 1);

            /// Returns whether the bits are those of a finite number that is not zero.
            #[inline(always)]
            fn is_plain(bits: $bits) -> bool {
                (bits & !SIGN).wrapping_sub(1) < SPECIAL - 1
            }

            /// Sets the lowest `drop` bits to zero, and rounds the kept ones to the nearest, of two alike to the even one.
            #[inline(always)]
            fn rounded(bits: $bits, drop: u32) -> $bits {
                if drop == 0 {
                    return bits;
                }
                let (half, last): ($bits, $bits) = (1 << (drop - 1), bits >> drop & 1);
                // A carry into the exponent is right: the number becomes the next power of two.
                (bits + (half - 1) + last) & !((1 << drop) - 1)
            }

            pub(super) fn encode(filter: &Rounding, input: &[u8], number: u32, fill: u64) -> Vec<u8> {
                const PER_DIGIT: f64 = std::f64::consts::LOG2_10;
                // Zero is not changed anyway, and stands for no fill value.
                let fill = fill as $bits;
                match filter {
                    Rounding::Round => {
                        let drop = EXPLICIT.saturating_sub(number); // a bound: nothing is dropped
                        replaced(input, |_, element| {
                            let bits = <$bits>::from_le_bytes(element);
                            let changes = is_plain(bits) & (bits != fill);
                            (if changes { rounded(bits, drop) } else { bits }).to_le_bytes()
                        })
                    }
                    Rounding::Groom => {
                        // One bit more than the digits have keeps their precision in spite of the alternation.
                        let keep = ((f64::from(number) * PER_DIGIT).ceil() as u32).saturating_add(1); // a bound
                        let mask: $bits = (1 << EXPLICIT.saturating_sub(keep)) - 1; // a bound: nothing is dropped
                        replaced(input, |i, element| {
                            let bits = <$bits>::from_le_bytes(element);
                            let changes = is_plain(bits) & (bits != fill);
                            // Ones in every second element, and zeros in the others.
                            let ones = mask & (i as $bits & 1).wrapping_neg();
                            (if changes { bits & !mask | ones } else { bits }).to_le_bytes()
                        })
                    }
                    Rounding::Granular => replaced(input, |_, element| {
                        let bits = <$bits>::from_le_bytes(element);
                        if !is_plain(bits) || bits == fill {
                            return element;
                        }
                        let size = f64::from(<$float>::from_bits(bits)).abs();
                        let digits = size.log10().floor() + 1.0;
                        // The power of two that half a unit of the last digit must not be below.
                        let power = (PER_DIGIT * (digits - f64::from(number))).floor();
                        let exponent = match size.to_bits() >> 52 {
                            0 => size.log2().floor(), // subnormal
                            biased => biased as f64 - 1023.0,
                        };
                        let keep = (exponent - power).max(0.0) as u32;
                        rounded(bits, EXPLICIT.saturating_sub(keep)).to_le_bytes() // a bound: nothing is dropped
                    }),
                }
            }
        }
    };
}

floats!(single, u32, f32, super::SINGLE, 4);
floats!(double, u64, f64, super::DOUBLE, 8);

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
        let fill = fill.unwrap_or(0);
        match size {
            4 => Ok(Some(single::encode(self, input, number, fill))),
            8 => Ok(Some(double::encode(self, input, number, fill))),
            found => Err(Fault::new("bytes of an element", FaultKind::Undefined { found: found.into() })),
        }
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
    let all = if size == 4 { SINGLE } else { DOUBLE };
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
    fn more_digits_than_there_are_change_nothing() {
        let numbers = [1.234_567_9f32, -9.876_543e20, 3e-40];
        for filter in [Rounding::Groom, Rounding::Granular, Rounding::Round] {
            for digits in [1_292_913_987, u32::MAX] {
                assert_eq!(through(&filter, &[digits, 4, 0, 0, 0], &numbers), numbers, "{}", filter.name());
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
