//! The header's `flags`.
//!
//! | bit | meaning |
//! |---|---|
//! | 0 | the elements are big-endian (the header never is) |
//! | 1 | the payload is encoded: with LZ4 in files by C, with LEB128 in files by Julia |
//! | 2 | the elements are single bits, packed into words of 64 |
//! | 3–63 | undefined |

use std::ops::BitOr;

/// A set of flags. Undefined bits are kept.
///
/// ```
/// use rawarray::{ByteOrder, Flags, RawArray, Reader, WriteOptions};
///
/// let big = WriteOptions::default().with_byte_order(ByteOrder::Big);
/// let reader = Reader::from_bytes(RawArray::from(vec![1u16]).encode(&big)?)?;
/// let flags = reader.header().flags;
/// assert!(flags.contains(Flags::BIG_ENDIAN) && !flags.contains(Flags::ENCODED));
/// assert_eq!((flags | Flags::BITS).bits(), 5);
/// # Ok::<(), rawarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Flags(u64);

impl Flags {
    /// No flags.
    pub const NONE: Self = Self(0);
    /// Bit 0: the elements are big-endian.
    pub const BIG_ENDIAN: Self = Self(1);
    /// Bit 1: the payload is encoded.
    pub const ENCODED: Self = Self(1 << 1);
    /// Bit 2: the elements are single bits.
    pub const BITS: Self = Self(1 << 2);

    /// Returns the flags of a word.
    ///
    /// ```
    /// use rawarray::Flags;
    ///
    /// assert_eq!(Flags::from_bits(5), Flags::BIG_ENDIAN | Flags::BITS);
    /// ```
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the word.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Returns whether all flags of `other` are set.
    ///
    /// ```
    /// use rawarray::Flags;
    ///
    /// let flags = Flags::ENCODED | Flags::BITS;
    /// assert!(flags.contains(Flags::BITS));
    /// assert!(!flags.contains(Flags::BITS | Flags::BIG_ENDIAN)); // not both
    /// ```
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the number of the lowest bit that is set and that the format does not define.
    ///
    /// ```
    /// use rawarray::Flags;
    ///
    /// assert_eq!(Flags::from_bits(0b1001_0001).undefined_bit(), Some(4));
    /// assert_eq!(Flags::BITS.undefined_bit(), None);
    /// ```
    pub fn undefined_bit(self) -> Option<u32> {
        let undefined = self.0 & !(Self::BIG_ENDIAN | Self::ENCODED | Self::BITS).0;
        (undefined != 0).then(|| undefined.trailing_zeros())
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_undefined_bit_is_named() {
        assert_eq!(Flags::from_bits(0b111).undefined_bit(), None);
        assert_eq!(Flags::from_bits(0b1001_0001).undefined_bit(), Some(4));
        assert_eq!(Flags::from_bits(1 << 63).undefined_bit(), Some(63));
    }

    #[test]
    fn sets() {
        let both = Flags::BIG_ENDIAN | Flags::BITS;
        assert!(both.contains(Flags::BITS) && !both.contains(Flags::ENCODED));
        assert_eq!(both.bits(), 5);
    }
}
