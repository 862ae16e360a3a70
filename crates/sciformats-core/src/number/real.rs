//! Numbers of any type with all of their digits.

use std::fmt;

use crate::bound;

/// A number of any type that a file can store, without loss.
///
/// ```
/// use sciformats_core::number::{Number, Real};
///
/// let wide = Real::Finite { negative: true, mantissa: (1 << 64) - 1, exponent: -1 };
/// assert_eq!((f64::exact(wide), wide.to_f64()), (None, -9223372036854775808.0));
/// assert_eq!(i64::exact(Real::from(-3i128)), Some(-3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Real {
    /// `mantissa * 2^exponent`, or its negative.
    Finite {
        /// Whether the number is below zero, or a zero with a sign.
        negative: bool,
        /// The digits.
        mantissa: u128,
        /// The power of two.
        exponent: i64,
    },
    /// An infinity.
    Infinite {
        /// Whether it is the negative infinity.
        negative: bool,
    },
    /// Not a number.
    Nan,
}

impl From<i128> for Real {
    fn from(value: i128) -> Self {
        Self::Finite { negative: value < 0, mantissa: value.unsigned_abs(), exponent: 0 }
    }
}

impl From<u128> for Real {
    fn from(value: u128) -> Self {
        Self::Finite { negative: false, mantissa: value, exponent: 0 }
    }
}

impl From<f64> for Real {
    fn from(value: f64) -> Self {
        let negative = value.is_sign_negative();
        let bits = value.to_bits();
        let (exponent, fraction) = (((bits >> 52) & 0x7ff) as i64, u128::from(bits & ((1 << 52) - 1)));
        match exponent {
            0x7ff if fraction != 0 => Self::Nan,
            0x7ff => Self::Infinite { negative },
            0 => Self::Finite { negative, mantissa: fraction, exponent: -1074 },
            _ => Self::Finite { negative, mantissa: fraction | 1 << 52, exponent: exponent - 1075 },
        }
    }
}

impl Real {
    /// Returns the nearest binary64; ties are rounded to even.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Finite { negative, mantissa, exponent } => {
                signed(scaled(mantissa, exponent, Rounding::Nearest), negative)
            }
            Self::Infinite { negative } => signed(f64::INFINITY, negative),
            Self::Nan => f64::NAN,
        }
    }

    /// Returns a binary64 for which the nearest number of a narrower type is also the nearest one to this number.
    ///
    /// If this number were rounded to binary64 and then to the narrower type, the first rounding could create a tie.
    pub(super) fn to_narrow(self) -> f64 {
        match self {
            Self::Finite { negative, mantissa, exponent } => {
                signed(scaled(mantissa, exponent, Rounding::Odd), negative)
            }
            Self::Infinite { .. } | Self::Nan => self.to_f64(),
        }
    }

    /// Returns the number as a binary64, if it is one exactly.
    pub(super) fn exact_f64(self) -> Option<f64> {
        let Self::Finite { mantissa, exponent, .. } = self else { return Some(self.to_f64()) };
        let low = mantissa.trailing_zeros();
        let lowest = bound::sum(exponent, low.into());
        let bits = 128 - (mantissa.leading_zeros() + low).min(128);
        let fits = bits <= 53 && lowest >= -1074 && bound::sum(lowest, bits.into()) <= 1024;
        (mantissa == 0 || fits).then(|| self.to_f64())
    }

    /// Returns the sign and the magnitude, if the number is an integer whose magnitude is below 2^128.
    pub(super) fn integer(self) -> Option<(bool, u128)> {
        let Self::Finite { negative, mantissa, exponent } = self else { return None };
        if mantissa == 0 {
            return Some((false, 0));
        }
        let shift = u32::try_from(exponent.unsigned_abs()).ok()?;
        let magnitude = match exponent >= 0 {
            true if shift <= mantissa.leading_zeros() => mantissa << shift,
            false if shift <= mantissa.trailing_zeros() => mantissa >> shift,
            _ => return None,
        };
        Some((negative, magnitude))
    }

    /// Returns the sign and the magnitude without the fraction. A magnitude that is too large becomes the largest integer.
    pub(super) fn truncated(self) -> (bool, u128) {
        match self {
            Self::Nan => (false, 0),
            Self::Infinite { negative } => (negative, u128::MAX),
            Self::Finite { negative, mantissa, exponent } => {
                let shift = u32::try_from(exponent.unsigned_abs()).unwrap_or(u32::MAX); // a bound: no number has so many bits
                let magnitude = match exponent >= 0 {
                    _ if mantissa == 0 => 0,
                    true if shift > mantissa.leading_zeros() => u128::MAX,
                    true => mantissa << shift,
                    false => mantissa.unbounded_shr(shift),
                };
                (negative && magnitude > 0, magnitude)
            }
        }
    }
}

/// Shows decimal digits: all digits of an integer, and for other numbers those of the nearest binary64.
impl fmt::Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.integer(), self.exact_f64()) {
            (Some((negative, magnitude)), _) => {
                write!(f, "{}{magnitude}", if negative { "-" } else { "" })
            }
            (None, Some(value)) => write!(f, "{value}"),
            (None, None) => write!(f, "about {}", self.to_f64()),
        }
    }
}

fn signed(magnitude: f64, negative: bool) -> f64 {
    if negative { -magnitude } else { magnitude }
}

/// How the bits that do not fit a binary64 are treated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    /// The result is the nearest number; ties are rounded to even.
    Nearest,
    /// The bits are cut off, and the last bit of the result is set if one of them was set.
    Odd,
}

/// Returns `mantissa * 2^exponent`, rounded once.
fn scaled(mantissa: u128, exponent: i64, rounding: Rounding) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let top = 127 - i64::from(mantissa.leading_zeros()) + exponent; // the exponent of the highest bit
    if top > 1023 {
        return f64::INFINITY;
    }
    // Bits below the last bit of a binary64 of this magnitude are rounded off.
    let lowest = (top - 52).max(-1074);
    let drop = lowest - exponent;
    if drop > 0 {
        let drop = u32::try_from(drop.min(200)).unwrap_or(200);
        let kept = mantissa.unbounded_shr(drop);
        let half = 1u128.unbounded_shl(drop - 1);
        let rest = if drop < 128 { mantissa & ((1u128 << drop) - 1) } else { mantissa };
        let up = match rounding {
            Rounding::Nearest => half != 0 && (rest > half || rest == half && kept & 1 == 1),
            Rounding::Odd => rest != 0 && kept & 1 == 0,
        };
        return times_power(kept + u128::from(up), lowest);
    }
    times_power(mantissa, exponent)
}

/// Returns `value * 2^exponent` for a value of at most 53 bits, which is exact.
fn times_power(value: u128, exponent: i64) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let mut result = value as f64;
    let mut left = exponent;
    // The power is applied in steps that stay in the normal range as long as the result does.
    while left != 0 {
        let step =
            i32::try_from(left).map_or(if left < 0 { -900 } else { 900 }, |left| left.clamp(-900, 900));
        result *= 2f64.powi(step);
        left -= i64::from(step);
    }
    result
}
