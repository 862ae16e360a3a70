//! Numbers that are stored as one type and wanted as another.
//!
//! A typed read converts where no value changes, and fails otherwise with the number of the first element that does not
//! fit and its value. [`Conversion`] tells what else a caller can ask for, [`NumberType`] what is stored, and [`Number`]
//! is a type that numbers can be had as.

mod half;
mod kernel;
mod real;

pub use half::{BFloat16, Float16};
pub use real::Real;

use crate::endian::ByteOrder;
use crate::{Error, Result};

/// What a typed read does with elements of another type than the one that it is asked for.
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
    /// Converts where no value changes; a value that the type cannot hold is an [`Error::Misfit`].
    #[default]
    Exact,
    /// Converts nothing but the byte order: elements that are stored as another type are an [`Error::Usage`].
    None,
    /// Converts as C libraries do, without a word: integers that do not fit become the nearest value that
    /// does, fractions are cut off, a NaN becomes the integer 0, floating-point numbers are rounded to the nearest, and
    /// bytes of text that are not UTF-8 become replacement characters.
    Lossy,
}

/// The types that files store numbers as.
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
    /// Returns the integer of so many bytes, if there is one.
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

    /// Returns the IEEE 754 floating-point number of so many bytes, if there is one.
    pub fn float(size: u64) -> Option<Self> {
        match size {
            2 => Some(Self::F16),
            4 => Some(Self::F32),
            8 => Some(Self::F64),
            _ => None,
        }
    }

    /// Bytes of an element.
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

/// As Rust spells the type.
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

/// A type that stored numbers can be had as: the integers, `f32`, `f64`, [`Float16`], [`BFloat16`], and `bool` for the
/// numbers 0 and 1.
///
/// ```
/// use sciformats_core::number::{Number, Real};
///
/// let quarter = Real::Finite { negative: false, mantissa: 1, exponent: -2 };
/// assert_eq!((f32::exact(quarter), u8::exact(quarter), u8::nearest(quarter)), (Some(0.25), None, 0));
/// ```
pub trait Number: Copy + Default + PartialEq + Send + Sync + sealed::Sealed + 'static {
    /// Its name.
    const NAME: &'static str;
    /// The type that stores exactly its values.
    const STORED: Option<NumberType>;

    /// Returns the number as this, if no digit is lost.
    fn exact(real: Real) -> Option<Self>;

    /// Returns the number as [`Conversion::Lossy`] makes it.
    fn nearest(real: Real) -> Self;

    /// Fills `out` with the elements in `bytes`, which are as many, packed, and stored as `stored` in `order`.
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
    /// [`Error::Misfit`] with the index in `out` of the first value that this cannot hold; [`Error::Usage`] if
    /// `conversion` is [`Conversion::None`] and another type is stored, or the bytes are not as many as they must be.
    fn read(
        stored: NumberType,
        order: ByteOrder,
        bytes: &[u8],
        conversion: Conversion,
        out: &mut [Self],
    ) -> Result<()>;

    /// So many zeros.
    #[doc(hidden)]
    fn zeroed(len: usize) -> Result<Vec<Self>> {
        let mut zeros = Vec::new();
        zeros
            .try_reserve_exact(len)
            .map_err(|_| Error::io("allocate", std::io::ErrorKind::OutOfMemory.into()))?;
        zeros.resize(len, Self::default());
        Ok(zeros)
    }

    /// Returns the bytes of numbers, for overwriting with what is stored as they are; `None` if not all bytes are a value.
    #[doc(hidden)]
    fn bytes_mut(_: &mut [Self]) -> Option<&mut [u8]> {
        None
    }

    /// Bytes as numbers, if they are aligned, of a whole number of them, and all bytes are values.
    #[doc(hidden)]
    fn view(_: &[u8]) -> Option<&[Self]> {
        None
    }
}

/// Returns the refusal of [`Conversion::None`] to read `stored` elements as `wanted`.
///
/// ```
/// let error = sciformats_core::number::not_stored_as("f64", "f32");
/// assert_eq!(error.to_string(), "element type is f64, stored is f32");
/// ```
pub fn not_stored_as(wanted: impl std::fmt::Display, stored: impl std::fmt::Display) -> Error {
    Error::usage("element type", format!("is {wanted}, stored is {stored}"))
}

#[cfg(test)]
mod tests;
