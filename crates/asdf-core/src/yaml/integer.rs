//! Whole numbers of any size.

use std::fmt;

/// A whole number. It has a sign, and a magnitude in 32-bit words, the least significant first. The last word is not zero.
///
/// ```
/// use asdf_core::yaml::Integer;
///
/// let two_to_128 = Integer::new(false, vec![0, 0, 0, 0, 1]);
/// assert_eq!(two_to_128.to_string(), "340282366920938463463374607431768211456");
/// assert!(i128::try_from(&two_to_128).is_err());
/// assert_eq!(i128::try_from(&Integer::from(-5))?, -5);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Integer {
    negative: bool,
    words: Vec<u32>,
}

impl Integer {
    /// Creates a number from its words, the least significant first. Zero has no sign.
    ///
    /// ```
    /// use asdf_core::yaml::Integer;
    ///
    /// let number = Integer::new(true, vec![7, 1]);
    /// assert_eq!((number.is_negative(), number.words()), (true, &[7, 1][..]));
    /// assert_eq!(number.to_string(), "-4294967303");
    /// ```
    pub fn new(negative: bool, mut words: Vec<u32>) -> Self {
        while words.last() == Some(&0) {
            words.pop();
        }
        Self { negative: negative && !words.is_empty(), words }
    }

    /// Returns whether it is below zero.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Returns the words of its magnitude, the least significant first.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Parses `digits` of a base up to 36; underscores are ignored. The result is `None` for anything else.
    ///
    /// The time grows with the square of the number of digits, so the caller must limit it.
    ///
    /// ```
    /// use asdf_core::yaml::Integer;
    ///
    /// let number = Integer::from_digits(false, "FF_FF", 16);
    /// assert_eq!(number.map(|number| number.to_string()), Some("65535".into()));
    /// assert_eq!(Integer::from_digits(false, "12x", 10), None);
    /// ```
    pub fn from_digits(negative: bool, digits: &str, base: u32) -> Option<Self> {
        let mut words: Vec<u32> = Vec::new();
        let mut any = false;
        for digit in digits.chars().filter(|&c| c != '_') {
            let mut carry = u64::from(digit.to_digit(base)?);
            any = true;
            for word in &mut words {
                carry = u64::from(*word).checked_mul(base.into())?.checked_add(carry)?;
                *word = low(carry);
                carry >>= 32;
            }
            if carry > 0 {
                words.push(low(carry));
            }
        }
        any.then(|| Self::new(negative, words))
    }
}

/// Returns the low half.
fn low(value: u64) -> u32 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

impl From<i128> for Integer {
    fn from(value: i128) -> Self {
        let magnitude = value.unsigned_abs().to_le_bytes();
        let words = magnitude.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        Self::new(value < 0, words.collect())
    }
}

impl TryFrom<&Integer> for i128 {
    type Error = sciformats_core::Error;

    fn try_from(value: &Integer) -> Result<Self, Self::Error> {
        let too_large = || sciformats_core::Error::usage("integer", "does not fit 128 bits");
        if value.words.len() > 4 {
            return Err(too_large());
        }
        let magnitude = value.words.iter().rev().fold(0u128, |sum, &word| sum << 32 | u128::from(word));
        let positive = i128::try_from(magnitude);
        match value.negative {
            false => positive.map_err(|_| too_large()),
            true if magnitude == 1 << 127 => Ok(i128::MIN),
            true => positive.ok().and_then(i128::checked_neg).ok_or_else(too_large),
        }
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CHUNK: u64 = 1_000_000_000;
        let mut words = self.words.clone();
        let mut chunks = Vec::new();
        while !words.is_empty() {
            let mut rest = 0u64;
            for word in words.iter_mut().rev() {
                let value = rest << 32 | u64::from(*word);
                *word = low(value / CHUNK);
                rest = value % CHUNK;
            }
            chunks.push(rest);
            while words.last() == Some(&0) {
                words.pop();
            }
        }
        if self.negative {
            f.write_str("-")?;
        }
        let Some(first) = chunks.pop() else { return f.write_str("0") };
        write!(f, "{first}")?;
        chunks.iter().rev().try_for_each(|chunk| write!(f, "{chunk:09}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn beyond_every_machine_word() {
        let text = "-123456789012345678901234567890123456789012345678901234567890";
        let number = Integer::from_digits(true, &text[1..], 10).unwrap();
        assert_eq!(number.to_string(), text);
        assert_eq!(number.words().len(), 7);
        assert!(i128::try_from(&number).is_err());
        assert_eq!(Integer::from_digits(true, "0_0", 10).unwrap(), Integer::default());
        assert_eq!(Integer::from_digits(false, "__", 10), None);
        assert_eq!(Integer::from_digits(false, "8", 8), None);
    }

    proptest! {
        #[test]
        fn machine_numbers_come_back(value in any::<i128>(), base in 2u32..=16) {
            let number = Integer::from(value);
            prop_assert_eq!(number.to_string(), value.to_string());
            prop_assert_eq!(i128::try_from(&number).unwrap(), value);
            if base == 16 {
                let hex = format!("{:x}", value.unsigned_abs());
                prop_assert_eq!(Integer::from_digits(value < 0, &hex, 16).unwrap(), number);
            }
        }
    }
}
