//! Rust types for elements.

use bytemuck::{NoUninit, Zeroable};
use sciformats_core::endian::ByteOrder;
use sciformats_core::number::{Float16, Number, NumberType, not_stored_as};
use sciformats_core::{Conversion, Result};

use crate::model::datatype::ScalarType;

mod sealed {
    pub trait Sealed {}
}

/// A Rust type with the same values as a type of the standard. Arrays can be written from it, and read as any type that holds
/// their values: 300 can be read as `f32` and as `u16`, but not as `u8`; 0.5 can be read as `f32`, but the binary64 number 0.1
/// cannot.
///
/// ```
/// use asdf_core::{Array, Element, Result, ScalarType};
///
/// fn first<T: Element>(array: &Array<'_>) -> Result<Option<T>> {
///     Ok(array.read::<T>()?.first().copied())
/// }
/// # let mut document = asdf_core::Document::new();
/// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
/// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
/// assert_eq!(first::<f32>(&file.array("image")?)?, Some(1.0));
/// assert_eq!(f32::TYPE, ScalarType::Float32);
/// # Ok::<(), asdf_core::Error>(())
/// ```
pub trait Element: NoUninit + Zeroable + sealed::Sealed {
    /// The type of the standard.
    const TYPE: ScalarType;

    /// Returns the bytes of elements so that they can be overwritten; `None` if not all bytes are valid values.
    #[doc(hidden)]
    fn bytes_mut(out: &mut [Self]) -> Option<&mut [u8]>;

    /// Returns bytes as elements; `None` if they are not aligned, if they are not whole elements, or if a value is invalid.
    #[doc(hidden)]
    fn view(bytes: &[u8]) -> Option<&[Self]>;

    /// Fills `out` with the little-endian elements of another type in `bytes`.
    #[doc(hidden)]
    fn convert(stored: ScalarType, bytes: &[u8], conversion: Conversion, out: &mut [Self]) -> Result<()>;
}

macro_rules! elements {
    ($($rust:ty => $scalar:ident $convert:expr;)*) => {$(
        impl sealed::Sealed for $rust {}
        impl Element for $rust {
            const TYPE: ScalarType = ScalarType::$scalar;

            fn bytes_mut(out: &mut [Self]) -> Option<&mut [u8]> {
                Some(bytemuck::cast_slice_mut(out))
            }

            fn view(bytes: &[u8]) -> Option<&[Self]> {
                bytemuck::try_cast_slice(bytes).ok()
            }

            fn convert(stored: ScalarType, bytes: &[u8], conversion: Conversion, out: &mut [Self]) -> Result<()> {
                $convert(stored, bytes, conversion, out)
            }
        }
    )*};
}

elements! {
    i8 => Int8 numbers; i16 => Int16 numbers; i32 => Int32 numbers; i64 => Int64 numbers;
    u8 => UInt8 numbers; u16 => UInt16 numbers; u32 => UInt32 numbers; u64 => UInt64 numbers;
    f32 => Float32 numbers; f64 => Float64 numbers;
}

#[cfg(feature = "half")]
elements! { half::f16 => Float16 halves; }

#[cfg(feature = "num-complex")]
elements! {
    num_complex::Complex<f32> => Complex64 pairs; num_complex::Complex<f64> => Complex128 pairs;
}

impl sealed::Sealed for bool {}
impl Element for bool {
    const TYPE: ScalarType = ScalarType::Bool8;

    fn bytes_mut(_: &mut [Self]) -> Option<&mut [u8]> {
        None
    }

    fn view(_: &[u8]) -> Option<&[Self]> {
        None
    }

    fn convert(stored: ScalarType, bytes: &[u8], conversion: Conversion, out: &mut [Self]) -> Result<()> {
        let conversion = if stored == Self::TYPE { Conversion::Exact } else { conversion };
        numbers(stored, bytes, conversion, out)
    }
}

/// Converts numbers from other types.
fn numbers<T: Number>(stored: ScalarType, bytes: &[u8], conversion: Conversion, out: &mut [T]) -> Result<()> {
    if stored == ScalarType::Bool8 {
        // Every value but 0 is true.
        let truth: Vec<u8> = bytes.iter().map(|&byte| u8::from(byte != 0)).collect();
        return T::read(NumberType::U8, ByteOrder::Little, &truth, conversion, out);
    }
    let number = number_type(stored).ok_or_else(|| not_stored_as(T::NAME, stored.name()))?;
    T::read(number, ByteOrder::Little, bytes, conversion, out)
}

#[cfg(feature = "half")]
fn halves(stored: ScalarType, bytes: &[u8], conversion: Conversion, out: &mut [half::f16]) -> Result<()> {
    let mut halves = Float16::zeroed(out.len())?;
    numbers(stored, bytes, conversion, &mut halves)?;
    out.iter_mut().zip(halves).for_each(|(out, half)| *out = half::f16::from_bits(half.0));
    Ok(())
}

/// Converts complex numbers from another precision, and from real numbers.
#[cfg(feature = "num-complex")]
fn pairs<T: Number>(
    stored: ScalarType,
    bytes: &[u8],
    conversion: Conversion,
    out: &mut [num_complex::Complex<T>],
) -> Result<()> {
    use num_complex::Complex;
    use sciformats_core::{Error, arith};

    let part = match stored {
        ScalarType::Complex64 => ScalarType::Float32,
        ScalarType::Complex128 => ScalarType::Float64,
        real => {
            let mut parts = T::zeroed(out.len())?;
            numbers(real, bytes, conversion, &mut parts)?;
            out.iter_mut().zip(parts).for_each(|(out, re)| *out = Complex::new(re, T::default()));
            return Ok(());
        }
    };
    let mut parts = T::zeroed(arith::mul(out.len(), 2)?)?;
    numbers(part, bytes, conversion, &mut parts).map_err(Error::of_pair)?;
    out.iter_mut().zip(parts.as_chunks().0).for_each(|(out, &[re, im])| *out = Complex::new(re, im));
    Ok(())
}

fn number_type(scalar: ScalarType) -> Option<NumberType> {
    Some(match scalar {
        ScalarType::Int8 => NumberType::I8,
        ScalarType::Int16 => NumberType::I16,
        ScalarType::Int32 => NumberType::I32,
        ScalarType::Int64 => NumberType::I64,
        ScalarType::UInt8 | ScalarType::Bool8 => NumberType::U8,
        ScalarType::UInt16 => NumberType::U16,
        ScalarType::UInt32 => NumberType::U32,
        ScalarType::UInt64 => NumberType::U64,
        ScalarType::Float16 => NumberType::F16,
        ScalarType::Float32 => NumberType::F32,
        ScalarType::Float64 => NumberType::F64,
        ScalarType::Complex64 | ScalarType::Complex128 | ScalarType::Ascii(_) | ScalarType::Ucs4(_) => {
            return None;
        }
    })
}

/// Returns a little-endian element as an integer; `None` for types that are not integers or truth values.
pub(crate) fn integer(scalar: ScalarType, element: &[u8]) -> Option<i128> {
    macro_rules! read {
        ($type:ty) => {
            <$type>::from_le_bytes(element.try_into().ok()?).into()
        };
    }
    Some(match scalar {
        ScalarType::Int8 => read!(i8),
        ScalarType::Int16 => read!(i16),
        ScalarType::Int32 => read!(i32),
        ScalarType::Int64 => read!(i64),
        ScalarType::UInt8 => read!(u8),
        ScalarType::UInt16 => read!(u16),
        ScalarType::UInt32 => read!(u32),
        ScalarType::UInt64 => read!(u64),
        ScalarType::Bool8 => i128::from(element.first()? != &0),
        _ => return None,
    })
}

/// Returns a little-endian element as a real number, which may be rounded; `None` for types that are not real numbers.
pub(crate) fn number(scalar: ScalarType, element: &[u8]) -> Option<f64> {
    Some(match scalar {
        ScalarType::Float16 => Float16(u16::from_le_bytes(element.try_into().ok()?)).into(),
        ScalarType::Float32 => f32::from_le_bytes(element.try_into().ok()?).into(),
        ScalarType::Float64 => f64::from_le_bytes(element.try_into().ok()?),
        _ => integer(scalar, element)? as f64,
    })
}
