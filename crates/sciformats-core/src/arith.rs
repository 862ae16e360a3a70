//! Exact arithmetic for code that plans or encodes what goes into a file.
//!
//! A number that reaches a file must be right. If it cannot be computed exactly, these functions return an
//! [`Error::Internal`] with the line of the caller. A value from the user that the format cannot hold is
//! refused earlier, as [`Error::Usage`] or [`Error::Unsupported`], so a failure here is a fault of this
//! library. A number that is only a bound may saturate; the functions for such numbers are in
//! [`bound`](crate::bound).
//!
//! ```
//! use sciformats_core::arith::{add, fit, mul};
//!
//! /// Bytes of a table of `n` entries behind a header.
//! fn size(n: u64) -> sciformats_core::Result<u32> {
//!     fit(add(mul(n, 24)?, 8)?, "size of a table")
//! }
//! assert_eq!(size(2)?, 56);
//! let error = size(1 << 40).unwrap_err();
//! assert_eq!(error.blame(), sciformats_core::Blame::Library);
//! assert!(error.to_string().starts_with("internal error: size of a table is out of range"));
//! # Ok::<(), sciformats_core::Error>(())
//! ```

use crate::error::{Error, Result};

/// An integer type whose arithmetic can be checked.
pub trait Whole: Copy + sealed::Sealed {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Returns the sum, if it fits this type.
    fn plus(self, other: Self) -> Option<Self>;
    /// Returns the difference, if it fits this type.
    fn minus(self, other: Self) -> Option<Self>;
    /// Returns the product, if it fits this type.
    fn times(self, other: Self) -> Option<Self>;
    /// Returns the quotient without its fraction, if there is one.
    fn over(self, other: Self) -> Option<Self>;
    /// Returns the remainder, if there is one.
    fn modulo(self, other: Self) -> Option<Self>;
    /// Returns the sum, or the nearest number of this type.
    fn plus_or_nearest(self, other: Self) -> Self;
    /// Returns the difference, or the nearest number of this type.
    fn minus_or_nearest(self, other: Self) -> Self;
    /// Returns the product, or the nearest number of this type.
    fn times_or_nearest(self, other: Self) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! whole {
    ($($number:ty)*) => {$(
        impl sealed::Sealed for $number {}
        impl Whole for $number {
            const ZERO: Self = 0;
            const ONE: Self = 1;

            #[inline]
            fn plus(self, other: Self) -> Option<Self> {
                self.checked_add(other)
            }

            #[inline]
            fn minus(self, other: Self) -> Option<Self> {
                self.checked_sub(other)
            }

            #[inline]
            fn times(self, other: Self) -> Option<Self> {
                self.checked_mul(other)
            }

            #[inline]
            fn over(self, other: Self) -> Option<Self> {
                self.checked_div(other)
            }

            #[inline]
            fn modulo(self, other: Self) -> Option<Self> {
                self.checked_rem(other)
            }

            #[inline]
            fn plus_or_nearest(self, other: Self) -> Self {
                self.saturating_add(other) // a bound
            }

            #[inline]
            fn minus_or_nearest(self, other: Self) -> Self {
                self.saturating_sub(other) // a bound
            }

            #[inline]
            fn times_or_nearest(self, other: Self) -> Self {
                self.saturating_mul(other) // a bound
            }
        }
    )*};
}

whole!(u8 u16 u32 u64 usize u128 i32 i64 isize);

/// Returns `a + b`.
///
/// # Errors
/// [`Error::Internal`] if the result does not fit the type.
#[inline]
#[track_caller]
pub fn add<T: Whole>(a: T, b: T) -> Result<T> {
    match a.plus(b) {
        Some(sum) => Ok(sum),
        None => Err(Error::internal("a sum is out of range")),
    }
}

/// Returns `a - b`.
///
/// # Errors
/// [`Error::Internal`] if the result does not fit the type.
#[inline]
#[track_caller]
pub fn sub<T: Whole>(a: T, b: T) -> Result<T> {
    match a.minus(b) {
        Some(difference) => Ok(difference),
        None => Err(Error::internal("a difference is out of range")),
    }
}

/// Returns `a * b`.
///
/// # Errors
/// [`Error::Internal`] if the result does not fit the type.
#[inline]
#[track_caller]
pub fn mul<T: Whole>(a: T, b: T) -> Result<T> {
    match a.times(b) {
        Some(product) => Ok(product),
        None => Err(Error::internal("a product is out of range")),
    }
}

/// Returns `a / b` without its fraction.
///
/// # Errors
/// [`Error::Internal`] if `b` is 0.
#[inline]
#[track_caller]
pub fn div<T: Whole>(a: T, b: T) -> Result<T> {
    match a.over(b) {
        Some(quotient) => Ok(quotient),
        None => Err(Error::internal("a quotient is out of range")),
    }
}

/// Returns the remainder of `a / b`.
///
/// # Errors
/// [`Error::Internal`] if `b` is 0.
#[inline]
#[track_caller]
pub fn rem<T: Whole>(a: T, b: T) -> Result<T> {
    match a.modulo(b) {
        Some(rest) => Ok(rest),
        None => Err(Error::internal("a remainder is out of range")),
    }
}

/// Adds `more` to a number in place.
///
/// ```
/// let mut records = 7u16;
/// sciformats_core::arith::increase(&mut records, 2)?;
/// assert_eq!(records, 9);
/// assert!(sciformats_core::arith::increase(&mut records, u16::MAX).is_err() && records == 9);
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Internal`] if the result does not fit the type; the number is then unchanged.
#[inline]
#[track_caller]
pub fn increase<T: Whole>(number: &mut T, more: T) -> Result<()> {
    *number = add(*number, more)?;
    Ok(())
}

/// Returns the sum of all numbers.
///
/// # Errors
/// [`Error::Internal`] if the result does not fit the type.
#[inline]
#[track_caller]
pub fn sum<T: Whole>(numbers: impl IntoIterator<Item = T>) -> Result<T> {
    match numbers.into_iter().try_fold(T::ZERO, T::plus) {
        Some(sum) => Ok(sum),
        None => Err(Error::internal("a sum is out of range")),
    }
}

/// Returns the product of all numbers.
///
/// # Errors
/// [`Error::Internal`] if the result does not fit the type.
#[inline]
#[track_caller]
pub fn product<T: Whole>(numbers: impl IntoIterator<Item = T>) -> Result<T> {
    match numbers.into_iter().try_fold(T::ONE, T::times) {
        Some(product) => Ok(product),
        None => Err(Error::internal("a product is out of range")),
    }
}

/// Converts a number to another type; `what` names it, as in `length of a link's name`.
///
/// # Errors
///
/// [`Error::Internal`] if the type cannot hold it.
#[inline]
#[track_caller]
pub fn fit<T: TryFrom<U>, U>(value: U, what: &'static str) -> Result<T> {
    match T::try_from(value) {
        Ok(value) => Ok(value),
        Err(_) => Err(Error::internal(format!("{what} is out of range"))),
    }
}

/// Returns a value that must be present; `what` names it, as in `address of an object`.
///
/// ```
/// use sciformats_core::arith::present;
///
/// let placed: [Option<u64>; 2] = [Some(96), None];
/// assert_eq!(present(placed[0], "address of an object")?, 96);
/// let error = present(placed[1], "address of an object").unwrap_err();
/// assert!(error.to_string().starts_with("internal error: address of an object is missing"));
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Internal`] if it is missing.
#[inline]
#[track_caller]
pub fn present<T>(value: Option<T>, what: &'static str) -> Result<T> {
    match value {
        Some(value) => Ok(value),
        None => Err(Error::internal(format!("{what} is missing"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_an_error_that_names_the_line() {
        let results: [Result<u8>; 8] = [
            add(255, 1),
            sub(0, 1),
            mul(16, 16),
            div(1, 0),
            rem(1, 0),
            fit(256u64, "count"),
            sum([200, 56]),
            present(None, "count"),
        ];
        for result in results {
            let error = result.unwrap_err();
            assert!(matches!(error, Error::Internal { .. }));
            assert!(error.to_string().contains("arith.rs:"), "{error}");
        }
        assert_eq!(product([2u8, 3, 42]).unwrap(), 252);
        assert!(product([2u8, 128]).is_err());
    }
}
