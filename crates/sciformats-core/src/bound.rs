//! Arithmetic for numbers that are only bounds.
//!
//! A result that does not fit is replaced by the limit of its type. This is right for a number that is
//! compared with a possible size (of memory, of a file, a limit), for a hint of a size, or for a position in
//! a message. It is wrong for a number that is read from, written, or returned as a fact. Such numbers need
//! [`arith`](crate::arith), or checked operations whose failure is a fault of the file.
//!
//! ```
//! use sciformats_core::bound;
//!
//! // Whether a block ends inside of a file of 4096 bytes.
//! let inside = |offset: u64, len: u64| bound::sum(offset, len) <= 4096;
//! assert!(inside(4000, 96) && !inside(4000, u64::MAX));
//! ```

use crate::arith::Whole;

/// Returns `a + b`, or the limit of the type.
#[inline]
pub fn sum<T: Whole>(a: T, b: T) -> T {
    a.plus_or_nearest(b)
}

/// Returns `a - b`, or the lower limit of the type, which is 0 for unsigned numbers.
///
/// ```
/// assert_eq!(sciformats_core::bound::left(10u64, 12), 0);
/// ```
#[inline]
pub fn left<T: Whole>(a: T, b: T) -> T {
    a.minus_or_nearest(b)
}

/// Returns `a * b`, or the limit of the type.
///
/// ```
/// assert_eq!(sciformats_core::bound::product(1u64 << 40, 1 << 40), u64::MAX);
/// ```
#[inline]
pub fn product<T: Whole>(a: T, b: T) -> T {
    a.times_or_nearest(b)
}

/// Returns the number as a `usize`, or the largest `usize`, which exceeds any memory.
///
/// ```
/// assert_eq!(sciformats_core::bound::addressable(4096), 4096);
/// ```
#[inline]
pub fn addressable(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX) // a bound
}
