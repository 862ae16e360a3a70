//! Floating-point numbers of 16 bits.

/// An IEEE 754 binary16, given by its bits.
///
/// ```
/// use sciformats_core::number::Float16;
///
/// assert_eq!(f32::from(Float16(0x3e00)), 1.5);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Float16(pub u16);

/// The upper half of an IEEE 754 binary32, given by its bits.
///
/// ```
/// use sciformats_core::number::BFloat16;
///
/// assert_eq!(f32::from(BFloat16(0x3fc0)), 1.5);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BFloat16(pub u16);

impl From<Float16> for f32 {
    fn from(Float16(bits): Float16) -> Self {
        let (sign, rest) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff));
        let magnitude = match rest {
            // Zero and denormal numbers are multiples of 2^-24.
            0..0x0400 => (rest as Self * Self::from_bits(0x3380_0000)).to_bits(),
            0x7c00.. => 0x7f80_0000 | (rest & 0x03ff) << 13,
            _ => (rest << 13) + ((127 - 15) << 23),
        };
        Self::from_bits(sign | magnitude)
    }
}

impl From<BFloat16> for f32 {
    fn from(BFloat16(bits): BFloat16) -> Self {
        Self::from_bits(u32::from(bits) << 16)
    }
}

impl From<Float16> for f64 {
    fn from(value: Float16) -> Self {
        f32::from(value).into()
    }
}

impl From<BFloat16> for f64 {
    fn from(value: BFloat16) -> Self {
        f32::from(value).into()
    }
}

impl Float16 {
    /// Returns the nearest number; ties are rounded to even.
    ///
    /// ```
    /// use sciformats_core::number::Float16;
    ///
    /// assert_eq!(Float16::nearest(1.5), Float16(0x3e00));
    /// assert_eq!(Float16::nearest(1e9), Float16(0x7c00)); // infinity
    /// ```
    pub fn nearest(value: f64) -> Self {
        Self(narrow::<5, 10>(value))
    }
}

impl BFloat16 {
    /// Returns the nearest number; ties are rounded to even.
    pub fn nearest(value: f64) -> Self {
        Self(narrow::<8, 7>(value))
    }
}

/// Returns the bits of the nearest number with this many bits of exponent and fraction.
fn narrow<const EXPONENT: u32, const FRACTION: u32>(value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 63) as u16) << 15;
    let infinity = ((1u16 << EXPONENT) - 1) << FRACTION;
    let (exponent, fraction) = (((bits >> 52) & 0x7ff) as i32, bits & ((1 << 52) - 1));
    if exponent == 0x7ff {
        return sign | infinity | if fraction == 0 { 0 } else { 1 << (FRACTION - 1) };
    }
    let bias = (1i32 << (EXPONENT - 1)) - 1;
    let biased = exponent - 1023 + bias;
    if biased >= (1 << EXPONENT) - 1 {
        return sign | infinity;
    }
    // Denormal numbers have no hidden bit. They lose one more bit of the fraction for each power of two below the least exponent.
    let lost = 52 - FRACTION + (1 - biased).max(0).unsigned_abs();
    if exponent == 0 || lost > 54 {
        return sign;
    }
    let significand = fraction | 1 << 52;
    let (kept, rest, half) = (significand >> lost, significand & ((1 << lost) - 1), 1u64 << (lost - 1));
    let up = u64::from(rest > half || rest == half && kept & 1 == 1);
    // A carry out of the fraction correctly increases the exponent.
    let hidden = if biased > 0 { (biased as u64 - 1) << FRACTION } else { 0 };
    sign | (hidden + kept + up) as u16
}
