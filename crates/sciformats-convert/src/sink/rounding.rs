//! Rounds floating-point numbers to fewer bits, so that they compress better.
//!
//! | method | what it keeps | bound of the error |
//! |---|---|---|
//! | `BitRound` | a number of bits of the significand | relative: 2⁻ᵇ⁻¹ |
//! | Granular `BitRound` | a number of significant decimal digits, each number in as few bits as that takes | half a unit of the last digit |
//! | `BitRound` by information | the bits that hold a share of what neighbours tell about each other, found for each dataset | relative: 2⁻ᵇ⁻¹ |
//!
//! Numbers are rounded to the nearest, and ties to even. NaN and infinite numbers stay, and so do numbers that would become infinite.
//! The names of the attributes that tell readers of it are those of the netCDF library.

use sciformats::{Error, Result};

const BITS: &str = "_QuantizeBitRoundNumberOfSignificantBits";
const DIGITS: &str = "_QuantizeGranularBitRoundNumberOfSignificantDigits";

/// How floating-point numbers are rounded.
///
/// ```
/// use sciformats_convert::sink::Rounding;
///
/// let digits = Rounding::Digits(3);
/// let mut u = [3.14159265f32, -273.15];
/// u.iter_mut().for_each(|x| *x = digits.round_f32(*x));
/// assert!((u[0] - 3.14159265).abs() <= 0.005 && (u[1] + 273.15).abs() <= 0.5);
/// assert_eq!(Rounding::Bits(3).round_f64(1.06), 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// `BitRound`: this many explicit bits of the significand stay.
    Bits(u8),
    /// Granular `BitRound`: this many significant decimal digits stay.
    Digits(u8),
    /// `BitRound` with the number of bits that keeps this share, in hundredths of a percent, of the information that neighbours have about
    /// each other. The number is found for each dataset from its elements. Datasets whose neighbours tell nothing about each other are
    /// not rounded.
    Information(u16),
}

impl Rounding {
    /// Checks the number of bits or digits, or the share.
    ///
    /// # Errors
    /// [`Error::Usage`] if it is 0, or more than a number of 64 bits has, or a share is all of the information.
    pub fn check(self) -> Result<()> {
        match self {
            Self::Bits(1..=52) | Self::Digits(1..=15) | Self::Information(1..=9999) => Ok(()),
            Self::Bits(_) => Err(Error::usage("rounding", "must keep 1 to 52 bits")),
            Self::Digits(_) => Err(Error::usage("rounding", "must keep 1 to 15 digits")),
            Self::Information(_) => {
                Err(Error::usage("rounding", "must keep 0.01 to 99.99 percent of the information"))
            }
        }
    }

    /// Returns the largest relative error of a number. For a share of the information it is that of one bit, because the
    /// number of bits is only known after measuring.
    pub fn relative_error(self) -> f64 {
        match self {
            Self::Bits(bits) => 0.5f64.powi(i32::from(bits) + 1),
            Self::Digits(digits) => 0.5 * 10f64.powi(1 - i32::from(digits)),
            Self::Information(_) => 0.25,
        }
    }

    /// Returns the name of the attribute that tells of the rounding. Its value is the number of bits or digits.
    pub fn attribute(self) -> &'static str {
        match self {
            Self::Bits(_) | Self::Information(_) => BITS,
            Self::Digits(_) => DIGITS,
        }
    }

    /// Returns the rounding of which an attribute tells, from its name and its value.
    ///
    /// ```
    /// use sciformats_convert::sink::Rounding;
    ///
    /// let rounding = Rounding::Bits(7);
    /// assert_eq!(Rounding::told(rounding.attribute(), 7), Some(rounding));
    /// assert_eq!(Rounding::told("units", 7), None);
    /// ```
    pub fn told(name: &str, value: i32) -> Option<Self> {
        let number = u8::try_from(value).ok()?;
        let rounding = match name {
            BITS => Self::Bits(number),
            DIGITS => Self::Digits(number),
            _ => return None,
        };
        rounding.check().is_ok().then_some(rounding)
    }

    /// The names of the attributes that tell of a rounding.
    pub const ATTRIBUTES: [&str; 2] = [BITS, DIGITS];

    /// Rounds a number.
    #[must_use]
    pub fn round_f32(self, x: f32) -> f32 {
        if !x.is_finite() || x == 0.0 {
            return x;
        }
        let Some(drop) = 23u32.checked_sub(self.kept(x.into(), 23)).filter(|drop| *drop > 0) else {
            return x;
        };
        let bits = x.to_bits();
        let odd = (bits >> drop) & 1;
        // A carry out of the significand raises the exponent, which is what rounding up means.
        let up = bits.wrapping_add((1u32 << (drop - 1)) - 1 + odd);
        let rounded = f32::from_bits(up & !((1u32 << drop) - 1));
        if rounded.is_finite() { rounded } else { x }
    }

    /// Rounds a number.
    #[must_use]
    pub fn round_f64(self, x: f64) -> f64 {
        if !x.is_finite() || x == 0.0 {
            return x;
        }
        let Some(drop) = 52u32.checked_sub(self.kept(x, 52)).filter(|drop| *drop > 0) else { return x };
        let bits = x.to_bits();
        let odd = (bits >> drop) & 1;
        let up = bits.wrapping_add((1u64 << (drop - 1)) - 1 + odd);
        let rounded = f64::from_bits(up & !((1u64 << drop) - 1));
        if rounded.is_finite() { rounded } else { x }
    }

    /// Returns the number of bits of the significand that stay, of `all`.
    fn kept(self, x: f64, all: u32) -> u32 {
        let digits = match self {
            Self::Bits(bits) => return u32::from(bits).min(all),
            Self::Digits(digits) => i32::from(digits),
            // Nothing is rounded before the bits are known.
            Self::Information(_) => return all,
        };
        let size = x.abs();
        // The place of the first digit. A logarithm that is off by a rounding error keeps a bit more or less of a digit, so the
        // place is corrected.
        let mut place = size.log10().floor();
        if 10f64.powf(place) > size {
            place -= 1.0;
        }
        // The largest power of two that is at most a unit of the last digit.
        let unit = 10f64.powf(place + 1.0 - f64::from(digits));
        let kept = exponent(size) - exponent(unit);
        // A number below the range of normal ones has fewer bits, so all of them stay.
        if unit < f64::MIN_POSITIVE { all } else { u32::try_from(kept.max(0)).unwrap_or(0).min(all) } // a bound
    }
}

/// Returns the power of two of the highest bit of a normal positive number.
fn exponent(x: f64) -> i64 {
    (x.to_bits() >> 52).cast_signed() - 1023
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_to_even_and_numbers_without_a_size_stay() {
        let one = Rounding::Bits(1);
        assert_eq!((one.round_f64(1.25), one.round_f64(1.75), one.round_f64(1.3)), (1.0, 2.0, 1.5));
        assert_eq!(one.round_f32(f32::MAX), f32::MAX);
        assert!(one.round_f32(f32::NAN).is_nan() && one.round_f64(f64::INFINITY).is_infinite());
        assert!(one.round_f32(-0.0).is_sign_negative());
        assert!(Rounding::Bits(0).check().is_err() && Rounding::Digits(16).check().is_err());
        assert!(Rounding::Bits(52).check().is_ok() && Rounding::Digits(1).check().is_ok());
    }

    proptest! {
        #[test]
        fn errors_are_within_their_bounds(x in any::<f64>(), bits in 1u8..=52, digits in 1u8..=15) {
            prop_assume!(x.is_normal());
            let rounded = Rounding::Bits(bits).round_f64(x);
            prop_assert!((rounded - x).abs() <= Rounding::Bits(bits).relative_error() * x.abs());
            let rounded = Rounding::Digits(digits).round_f64(x);
            prop_assert!((rounded - x).abs() <= Rounding::Digits(digits).relative_error() * x.abs() * (1.0 + 1e-12));
        }

        #[test]
        fn errors_of_narrow_numbers_too(x in any::<f32>(), bits in 1u8..=23, digits in 1u8..=7) {
            prop_assume!(x.is_normal());
            let wide = |x: f32| f64::from(x);
            let rounded = Rounding::Bits(bits).round_f32(x);
            prop_assert!((wide(rounded) - wide(x)).abs() <= Rounding::Bits(bits).relative_error() * wide(x).abs());
            let rounded = Rounding::Digits(digits).round_f32(x);
            let bound = Rounding::Digits(digits).relative_error() * wide(x).abs() * (1.0 + 1e-12);
            prop_assert!((wide(rounded) - wide(x)).abs() <= bound);
        }

        #[test]
        fn rounding_again_changes_nothing(x in any::<f64>(), bits in 1u8..=52) {
            let once = Rounding::Bits(bits).round_f64(x);
            prop_assert_eq!(Rounding::Bits(bits).round_f64(once).to_bits(), once.to_bits());
        }
    }
}
