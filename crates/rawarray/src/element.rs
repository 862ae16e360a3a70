//! Rust types that can be elements of arrays.

use bytemuck::{CheckedBitPattern, NoUninit, Zeroable};
use sciformats_core::endian::ByteOrder;
use sciformats_core::number::{Number, NumberType, not_stored_as};
use sciformats_core::{Conversion, Result};

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
    /// The element type in the file.
    const TYPE: ElementType;

    /// Returns the bytes of elements so that they can be overwritten; `None` if not all bytes are valid values.
    #[doc(hidden)]
    fn bytes_mut(elements: &mut [Self]) -> Option<&mut [u8]>;

    /// Returns bytes as elements; `None` if they are not aligned, if they are not whole elements, or if a value is invalid.
    #[doc(hidden)]
    fn view(bytes: &[u8]) -> Option<&[Self]>;

    /// Fills `out` with converted elements of another type; `bytes` contains them in `order`.
    #[doc(hidden)]
    fn convert(
        stored: ElementType,
        _order: ByteOrder,
        _bytes: &[u8],
        _conversion: Conversion,
        _out: &mut [Self],
    ) -> Result<()> {
        Err(not_stored_as(Self::TYPE, stored))
    }
}

/// Makes plain structures ([`bytemuck::Pod`]) elements of arrays. They are user-defined elements (eltype 0) of the size of the
/// structure. Their bytes are written and read as they are in memory; the byte order of the file is not applied to their fields.
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

/// Implements [`Element`] for types for which all bytes are valid values.
#[doc(hidden)]
#[macro_export]
macro_rules! plain_elements {
    ($($element:ty => $kind:expr $(=> $converted:ident($($by:ty),+))?),+ $(,)?) => {$(
        impl $crate::Element for $element {
            const TYPE: $crate::ElementType = $kind;

            fn bytes_mut(elements: &mut [Self]) -> Option<&mut [u8]> {
                Some($crate::bytemuck::cast_slice_mut(elements))
            }

            fn view(bytes: &[u8]) -> Option<&[Self]> {
                $crate::bytemuck::try_cast_slice(bytes).ok()
            }

            $($converted!($($by),+);)?
        }
    )+};
}

/// Implements the conversion of numbers from other types.
macro_rules! number {
    ($by:ty) => {
        fn convert(
            stored: ElementType,
            order: ByteOrder,
            bytes: &[u8],
            conversion: Conversion,
            out: &mut [Self],
        ) -> Result<()> {
            let stored = stored.number().ok_or_else(|| not_stored_as(Self::TYPE, stored))?;
            <$by>::read(stored, order, bytes, conversion, out)
        }
    };
}

plain_elements! {
    i8 => ElementType::Int(1) => number(i8), i16 => ElementType::Int(2) => number(i16),
    i32 => ElementType::Int(4) => number(i32), i64 => ElementType::Int(8) => number(i64),
    i128 => ElementType::Int(16) => number(i128),
    u8 => ElementType::UInt(1) => number(u8), u16 => ElementType::UInt(2) => number(u16),
    u32 => ElementType::UInt(4) => number(u32), u64 => ElementType::UInt(8) => number(u64),
    u128 => ElementType::UInt(16) => number(u128),
    f32 => ElementType::Float(4) => number(f32), f64 => ElementType::Float(8) => number(f64),
}

/// Implements the conversion of numbers of 16 bits, for which the core has its own types.
#[cfg(feature = "half")]
macro_rules! half {
    ($by:ty) => {
        fn convert(
            stored: ElementType,
            order: ByteOrder,
            bytes: &[u8],
            conversion: Conversion,
            out: &mut [Self],
        ) -> Result<()> {
            let stored = stored.number().ok_or_else(|| not_stored_as(Self::TYPE, stored))?;
            let mut halves = <$by>::zeroed(out.len())?;
            <$by>::read(stored, order, bytes, conversion, &mut halves)?;
            out.iter_mut().zip(halves).for_each(|(out, half)| *out = Self::from_bits(half.0));
            Ok(())
        }
    };
}

#[cfg(feature = "half")]
plain_elements! {
    half::f16 => ElementType::Float(2) => half(sciformats_core::number::Float16),
    half::bf16 => ElementType::BFloat16 => half(sciformats_core::number::BFloat16),
}

/// Implements the conversion of complex numbers from other precisions, and from real numbers.
#[cfg(feature = "num-complex")]
macro_rules! complex {
    ($by:ty) => {
        fn convert(
            stored: ElementType,
            order: ByteOrder,
            bytes: &[u8],
            conversion: Conversion,
            out: &mut [Self],
        ) -> Result<()> {
            let ElementType::Complex(size) = stored else {
                let mut parts = sciformats_core::storage::zeroed::<$by>(out.len())?;
                <$by>::convert(stored, order, bytes, conversion, &mut parts)?;
                out.iter_mut().zip(parts).for_each(|(out, re)| *out = Self { re, ..Self::default() });
                return Ok(());
            };
            let mut parts =
                sciformats_core::storage::zeroed::<$by>(sciformats_core::arith::mul(out.len(), 2)?)?;
            <$by>::convert(ElementType::Float(size / 2), order, bytes, conversion, &mut parts)
                .map_err(sciformats_core::Error::of_pair)?;
            out.iter_mut().zip(parts.as_chunks().0).for_each(|(out, &[re, im])| *out = Self { re, im });
            Ok(())
        }
    };
}

#[cfg(feature = "num-complex")]
plain_elements! {
    num_complex::Complex<f32> => ElementType::Complex(8) => complex(f32),
    num_complex::Complex<f64> => ElementType::Complex(16) => complex(f64),
}

#[cfg(all(feature = "half", feature = "num-complex"))]
plain_elements! { num_complex::Complex<half::f16> => ElementType::Complex(4) => complex(half::f16) }

impl ElementType {
    /// Returns the type of the numbers, if the elements are numbers. Truth values are the numbers 0 and 1.
    fn number(self) -> Option<NumberType> {
        match self {
            Self::Int(size) => NumberType::integer(true, size),
            Self::UInt(size) => NumberType::integer(false, size),
            Self::Float(size) => NumberType::float(size),
            Self::BFloat16 => Some(NumberType::BFloat16),
            Self::Bool => Some(NumberType::U8),
            Self::Complex(_) | Self::Opaque(_) => None,
        }
    }
}

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

    number!(bool);
}

/// Returns the bytes of elements.
pub(crate) fn bytes<T: Element>(elements: &[T]) -> &[u8] {
    bytemuck::cast_slice(elements)
}
