//! Reading numbers of one stored type as another type.
//!
//! A typed read converts elements if no value changes. Otherwise it fails with the index and the value of the first element that
//! does not fit. [`Conversion`] selects other rules, [`NumberType`] is a stored type, and [`Number`] is a type as which numbers
//! can be read.

mod half;
mod information;
mod kernel;
mod real;
mod vectors;

pub use half::{BFloat16, Float16};
pub use information::Information;
pub use real::Real;
pub use vectors::{Loop, vectorized};

use crate::endian::ByteOrder;
use crate::{Error, Result};

/// What a typed read does with elements whose stored type is not the requested one.
///
/// ```
/// use sciformats_core::endian::ByteOrder::Little;
/// use sciformats_core::number::{Number, NumberType};
/// use sciformats_core::{Conversion, Error};
///
/// let stored = [1i16, 300].map(i16::to_le_bytes).concat();
/// let read = |conversion| {
///     let mut out = [0u8; 2];
///     u8::read(NumberType::I16, Little, &stored, conversion, &mut out).map(|()| out)
/// };
/// let error = read(Conversion::Exact).unwrap_err();
/// assert!(matches!(&error, Error::Misfit(misfit) if misfit.index == 1));
/// assert_eq!(error.to_string(), "element 1 is 300, which u8 cannot hold");
/// assert_eq!(read(Conversion::Lossy)?, [1, 255]);
/// assert!(matches!(read(Conversion::None), Err(Error::Usage { .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Conversion {
    /// Elements are converted if no value changes. A value that the type cannot hold is an [`Error::Misfit`].
    #[default]
    Exact,
    /// Only the byte order is converted. Elements of another stored type are an [`Error::Usage`].
    None,
    /// Elements are converted as by C libraries, without errors. Integers that do not fit become the nearest value that does,
    /// fractions are cut off, NaN becomes the integer 0, floating-point numbers are rounded to the nearest value, and bytes of
    /// text that are not UTF-8 become replacement characters.
    Lossy,
}

/// A type of numbers in files.
///
/// ```
/// use sciformats_core::number::{Number, NumberType};
///
/// assert_eq!((NumberType::U16.size(), NumberType::BFloat16.to_string()), (2, "bf16".into()));
/// assert_eq!((f32::STORED, bool::STORED), (Some(NumberType::F32), None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum NumberType {
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    U128,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of an IEEE 754 binary32.
    BFloat16,
    F32,
    F64,
}

impl NumberType {
    /// Returns the integer type of this size in bytes, if there is one.
    ///
    /// ```
    /// use sciformats_core::number::NumberType;
    ///
    /// assert_eq!(NumberType::integer(true, 4), Some(NumberType::I32));
    /// assert_eq!(NumberType::integer(true, 3), None);
    /// ```
    pub fn integer(signed: bool, size: u64) -> Option<Self> {
        Some(match (signed, size) {
            (true, 1) => Self::I8,
            (true, 2) => Self::I16,
            (true, 4) => Self::I32,
            (true, 8) => Self::I64,
            (true, 16) => Self::I128,
            (false, 1) => Self::U8,
            (false, 2) => Self::U16,
            (false, 4) => Self::U32,
            (false, 8) => Self::U64,
            (false, 16) => Self::U128,
            _ => return None,
        })
    }

    /// Returns the IEEE 754 floating-point type of this size in bytes, if there is one.
    pub fn float(size: u64) -> Option<Self> {
        match size {
            2 => Some(Self::F16),
            4 => Some(Self::F32),
            8 => Some(Self::F64),
            _ => None,
        }
    }

    /// Returns the number of bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BFloat16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
            Self::I128 | Self::U128 => 16,
        }
    }
}

/// Shows the name of the type in Rust.
impl std::fmt::Display for NumberType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::I8 => i8::NAME,
            Self::I16 => i16::NAME,
            Self::I32 => i32::NAME,
            Self::I64 => i64::NAME,
            Self::I128 => i128::NAME,
            Self::U8 => u8::NAME,
            Self::U16 => u16::NAME,
            Self::U32 => u32::NAME,
            Self::U64 => u64::NAME,
            Self::U128 => u128::NAME,
            Self::F16 => Float16::NAME,
            Self::BFloat16 => BFloat16::NAME,
            Self::F32 => f32::NAME,
            Self::F64 => f64::NAME,
        })
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type as which stored numbers can be read: the integers, `f32`, `f64`, [`Float16`], [`BFloat16`], and `bool` for the numbers
/// 0 and 1.
///
/// ```
/// use sciformats_core::number::{Number, Real};
///
/// let quarter = Real::Finite { negative: false, mantissa: 1, exponent: -2 };
/// assert_eq!((f32::exact(quarter), u8::exact(quarter), u8::nearest(quarter)), (Some(0.25), None, 0));
/// ```
pub trait Number: Copy + Default + PartialEq + Send + Sync + sealed::Sealed + 'static {
    /// The name of the type.
    const NAME: &'static str;
    /// The stored type that has exactly the same values.
    const STORED: Option<NumberType>;

    /// Returns the number as this type, if no digit is lost.
    fn exact(real: Real) -> Option<Self>;

    /// Returns the number as this type, converted as by [`Conversion::Lossy`].
    fn nearest(real: Real) -> Self;

    /// Fills `out` with the elements in `bytes`. There must be as many; they are packed, and stored as `stored` in the byte order
    /// `order`.
    ///
    /// ```
    /// use sciformats_core::Conversion::Exact;
    /// use sciformats_core::endian::ByteOrder::Big;
    /// use sciformats_core::number::{Number, NumberType};
    ///
    /// let mut out = [0.0f32; 2];
    /// f32::read(NumberType::U16, Big, &[0, 1, 1, 0], Exact, &mut out)?;
    /// assert_eq!(out, [1.0, 256.0]);
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Misfit`] with the index in `out` of the first value that this type cannot hold; [`Error::Usage`] if `conversion`
    /// is [`Conversion::None`] and another type is stored, or if the number of bytes is wrong.
    fn read(
        stored: NumberType,
        order: ByteOrder,
        bytes: &[u8],
        conversion: Conversion,
        out: &mut [Self],
    ) -> Result<()>;

    /// Returns this many zeros.
    #[doc(hidden)]
    fn zeroed(len: usize) -> Result<Vec<Self>> {
        let mut zeros = Vec::new();
        zeros
            .try_reserve_exact(len)
            .map_err(|_| Error::io("allocate", std::io::ErrorKind::OutOfMemory.into()))?;
        zeros.resize(len, Self::default());
        Ok(zeros)
    }

    /// Returns the bytes of numbers, so that they can be overwritten by stored bytes; `None` if not all bytes are valid values.
    #[doc(hidden)]
    fn bytes_mut(_: &mut [Self]) -> Option<&mut [u8]> {
        None
    }

    /// Returns bytes as numbers, if they are aligned, are whole numbers, and if all bytes are valid values.
    #[doc(hidden)]
    fn view(_: &[u8]) -> Option<&[Self]> {
        None
    }
}

/// Returns the error of [`Conversion::None`] if `stored` elements are read as `wanted`.
///
/// ```
/// let error = sciformats_core::number::not_stored_as("f64", "f32");
/// assert_eq!(error.to_string(), "element type is f64, but the elements are stored as f32");
/// ```
pub fn not_stored_as(wanted: impl std::fmt::Display, stored: impl std::fmt::Display) -> Error {
    Error::usage("element type", format!("is {wanted}, but the elements are stored as {stored}"))
}

#[cfg(test)]
mod tests;
