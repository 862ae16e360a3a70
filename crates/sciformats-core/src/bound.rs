//! Arithmetic of numbers that only bound something: what they cannot reach, nothing reaches.
//!
//! The end of the type's range stands for all that lies beyond. That is right where the result is compared with what
//! can be (a length of memory, of a file, a limit), is a hint of a size, or a position in a message. It is wrong where
//! the result is read from, written, or returned as a fact: those are computed by [`arith`](crate::arith), or by checked
//! operations whose failure is a fault of the file.
//!
//! ```
//! use sciformats_core::bound;
//!
//! // Whether a block ends inside of a file of 4096 bytes.
//! let inside = |offset: u64, len: u64| bound::sum(offset, len) <= 4096;
//! assert!(inside(4000, 96) && !inside(4000, u64::MAX));
//! ```

use crate::arith::Whole;

/// `a + b`, or the end of the range.
#[inline]
pub fn sum<T: Whole>(a: T, b: T) -> T {
    a.plus_or_nearest(b)
}

/// What is left of `a` without `b`, at least the beginning of the range: for unsigned numbers 0.
///
/// ```
/// assert_eq!(sciformats_core::bound::left(10u64, 12), 0);
/// ```
#[inline]
pub fn left<T: Whole>(a: T, b: T) -> T {
    a.minus_or_nearest(b)
}

/// `a * b`, or the end of the range.
///
/// ```
/// assert_eq!(sciformats_core::bound::product(1u64 << 40, 1 << 40), u64::MAX);
/// ```
#[inline]
pub fn product<T: Whole>(a: T, b: T) -> T {
    a.times_or_nearest(b)
}

/// The number as one that this machine can address, or the largest of those: more than any memory holds.
///
/// ```
/// assert_eq!(sciformats_core::bound::addressable(4096), 4096);
/// ```
#[inline]
pub fn addressable(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX) // a bound
}
