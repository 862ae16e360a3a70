//! Rust types that are elements of arrays.

use bytemuck::{CheckedBitPattern, NoUninit, Zeroable};

use crate::model::element_type::ElementType;

/// A type whose values can be elements of an array.
///
/// | Rust | stored as |
/// |---|---|
/// | `i8` … `i128`, `u8` … `u128` | signed and unsigned integers (eltype 1 and 2) |
/// | `f32`, `f64`, `half::f16` | floats (eltype 3) |
/// | `num_complex::Complex` of these | complex numbers (eltype 4) |
/// | `half::bf16` | brain floats (eltype 5, 2 bytes) |
/// | `bool` | truth values (eltype 5, 1 byte) |
/// | `[u8; N]` | user-defined (eltype 0), N bytes |
/// | structures given to [`user_element!`](crate::user_element) | user-defined (eltype 0), their bytes as they are |
///
/// ```
/// use rawarray::{Element, ElementType, RawArray, Result};
///
/// fn round_trip<T: Element>(values: Vec<T>) -> Result<Vec<T>> {
///     let bytes = RawArray::from(values).encode(&Default::default())?;
///     Ok(RawArray::from_bytes(bytes)?.into_data())
/// }
///
/// assert_eq!(round_trip(vec![true, false])?, [true, false]);
/// assert_eq!((f64::TYPE, <[u8; 12]>::TYPE), (ElementType::Float(8), ElementType::Opaque(12)));
/// # Ok::<(), rawarray::Error>(())
/// ```
pub trait Element: NoUninit + CheckedBitPattern + Zeroable {
    /// The type in the file.
    const TYPE: ElementType;

    /// The bytes of elements, for overwriting; `None` if not all bytes are a value.
    #[doc(hidden)]
    fn bytes_mut(elements: &mut [Self]) -> Option<&mut [u8]>;

    /// Bytes as elements; `None` if they are not aligned, not whole elements, or not all values.
    #[doc(hidden)]
    fn view(bytes: &[u8]) -> Option<&[Self]>;
}

/// Makes plain structures ([`bytemuck::Pod`]) elements of arrays: user-defined ones, eltype 0, with the size of the
/// structure. Their bytes are written and read as they are in memory; no byte order is applied to their fields.
///
/// ```
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
/// struct Foo {
///     info: [u8; 12],
///     index: u32,
///     v: [f64; 8],
/// }
/// rawarray::user_element!(Foo);
///
/// let foo = Foo { info: *b"twelve bytes", index: 7, v: [0.5; 8] };
/// let array = rawarray::RawArray::from(vec![foo; 3]);
/// let bytes = array.encode(&Default::default())?;
/// assert_eq!(bytes.len(), 56 + 3 * 80);
/// assert_eq!(rawarray::RawArray::<Foo>::from_bytes(bytes)?.data(), [foo; 3]);
/// # Ok::<(), rawarray::Error>(())
/// ```
#[macro_export]
macro_rules! user_element {
    ($($element:ty),+ $(,)?) => {
        $crate::plain_elements!($($element => $crate::ElementType::Opaque(size_of::<$element>() as u64)),+);
    };
}

/// Implements [`Element`] for types of which all bytes are values.
#[doc(hidden)]
#[macro_export]
macro_rules! plain_elements {
    ($($element:ty => $kind:expr),+ $(,)?) => {$(
        impl $crate::Element for $element {
            const TYPE: $crate::ElementType = $kind;

            fn bytes_mut(elements: &mut [Self]) -> Option<&mut [u8]> {
                Some($crate::bytemuck::cast_slice_mut(elements))
            }

            fn view(bytes: &[u8]) -> Option<&[Self]> {
                $crate::bytemuck::try_cast_slice(bytes).ok()
            }
        }
    )+};
}

plain_elements! {
    i8 => ElementType::Int(1), i16 => ElementType::Int(2), i32 => ElementType::Int(4),
    i64 => ElementType::Int(8), i128 => ElementType::Int(16),
    u8 => ElementType::UInt(1), u16 => ElementType::UInt(2), u32 => ElementType::UInt(4),
    u64 => ElementType::UInt(8), u128 => ElementType::UInt(16),
    f32 => ElementType::Float(4), f64 => ElementType::Float(8),
}

#[cfg(feature = "half")]
plain_elements! { half::f16 => ElementType::Float(2), half::bf16 => ElementType::BFloat16 }

#[cfg(feature = "num-complex")]
plain_elements! {
    num_complex::Complex<f32> => ElementType::Complex(8),
    num_complex::Complex<f64> => ElementType::Complex(16),
}

#[cfg(all(feature = "half", feature = "num-complex"))]
plain_elements! { num_complex::Complex<half::f16> => ElementType::Complex(4) }

impl<const N: usize> Element for [u8; N] {
    const TYPE: ElementType = ElementType::Opaque(N as u64);

    fn bytes_mut(elements: &mut [Self]) -> Option<&mut [u8]> {
        Some(bytemuck::cast_slice_mut(elements))
    }

    fn view(bytes: &[u8]) -> Option<&[Self]> {
        bytemuck::try_cast_slice(bytes).ok()
    }
}

impl Element for bool {
    const TYPE: ElementType = ElementType::Bool;

    fn bytes_mut(_: &mut [Self]) -> Option<&mut [u8]> {
        None
    }

    fn view(bytes: &[u8]) -> Option<&[Self]> {
        bytemuck::checked::try_cast_slice(bytes).ok()
    }
}

/// The bytes of elements.
pub(crate) fn bytes<T: Element>(elements: &[T]) -> &[u8] {
    bytemuck::cast_slice(elements)
}
