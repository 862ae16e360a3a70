//! Rust types as which elements can be read and written.

use sciformats_core::number::Number;

use crate::spec::{DType, Kind};

/// A Rust type of numbers as which arrays can be read and written.
///
/// Reading converts elements if no value changes: 300 can be read as `f32` and as `u16`, but not as `u8`. Truth values are read
/// as the numbers 0 and 1. Points in time and durations are read as the integers that store them.
///
/// ```
/// use npy::{DType, Element, Kind};
///
/// fn described<T: Element>(_: &[T]) -> DType {
///     T::dtype()
/// }
/// assert_eq!(described(&[0.5f32]), DType::scalar(Kind::Float, 4));
/// ```
pub trait Element: Number {
    /// Returns the type in a file.
    fn dtype() -> DType;

    /// Appends the bytes of the element in a file.
    #[doc(hidden)]
    fn put(self, out: &mut Vec<u8>);
}

macro_rules! elements {
    ($($kind:ident: $($number:ty)*;)*) => {$($(
        impl Element for $number {
            fn dtype() -> DType {
                DType::scalar(Kind::$kind, size_of::<$number>() as u64)
            }

            fn put(self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }
        }
    )*)*};
}
elements! {
    Int: i8 i16 i32 i64;
    UInt: u8 u16 u32 u64;
    Float: f32 f64;
}

impl Element for bool {
    fn dtype() -> DType {
        DType::scalar(Kind::Bool, 1)
    }

    fn put(self, out: &mut Vec<u8>) {
        out.push(self.into());
    }
}
