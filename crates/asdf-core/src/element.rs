//! Rust's types for elements.

use half::f16;
use num_complex::Complex;

use crate::model::datatype::ScalarType;

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that has the layout of one of the standard's.
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
pub trait Element: bytemuck::Pod + sealed::Sealed {
    /// The standard's type.
    const TYPE: ScalarType;
}

macro_rules! elements {
    ($($rust:ty => $scalar:ident),* $(,)?) => {$(
        impl sealed::Sealed for $rust {}
        impl Element for $rust {
            const TYPE: ScalarType = ScalarType::$scalar;
        }
    )*};
}

elements! {
    i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64,
    u8 => UInt8, u16 => UInt16, u32 => UInt32, u64 => UInt64,
    f16 => Float16, f32 => Float32, f64 => Float64,
    Complex<f32> => Complex64, Complex<f64> => Complex128,
}

/// A little-endian element as a real number; `None` for types that are not real numbers.
pub(crate) fn number(scalar: ScalarType, element: &[u8]) -> Option<f64> {
    macro_rules! read {
        ($type:ty) => {
            <$type>::from_le_bytes(element.try_into().ok()?)
        };
    }
    Some(match scalar {
        ScalarType::Int8 => read!(i8).into(),
        ScalarType::Int16 => read!(i16).into(),
        ScalarType::Int32 => read!(i32).into(),
        ScalarType::Int64 => read!(i64) as f64,
        ScalarType::UInt8 => read!(u8).into(),
        ScalarType::UInt16 => read!(u16).into(),
        ScalarType::UInt32 => read!(u32).into(),
        ScalarType::UInt64 => read!(u64) as f64,
        ScalarType::Float16 => read!(f16).into(),
        ScalarType::Float32 => read!(f32).into(),
        ScalarType::Float64 => read!(f64),
        ScalarType::Bool8 => f64::from(u8::from(element.first()? != &0)),
        ScalarType::Complex64 | ScalarType::Complex128 | ScalarType::Ascii(_) | ScalarType::Ucs4(_) => {
            return None;
        }
    })
}
