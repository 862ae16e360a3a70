//! Elements as the caller's own type.

use sciformats_core::Error;

use crate::Result;
use crate::model::{Datum, Decoder, ElementType, Name};

/// A type that elements can be read as.
///
/// Numbers convert to any type that holds their value exactly: `300` reads as `f32` and as `u16`, but not as `u8`; `0.5`
/// reads as `f32`, but `0.1` stored as binary64 does not. NaN stays NaN. What does not fit is an error that names the
/// element, never a rounded value.
///
/// | type | reads |
/// |---|---|
/// | integers, `f32`, `f64` | integers, floating-point numbers, truth values, enumerations |
/// | `bool` | truth values, and the numbers 0 and 1 |
/// | `[f32; 2]`, `[f64; 2]` | complex numbers as real and imaginary part |
/// | `String` | strings and references, if they are UTF-8 |
/// | `Vec<u8>` | strings, references, opaque bytes |
///
/// ```
/// use sciformats::memory::{Memory, array, texts};
/// use sciformats::{Element, File, Format, Result};
///
/// fn read<T: Element>(file: &File) -> Result<Vec<T>> {
///     file.array("/")?.read()
/// }
/// let counts = File::from(Memory::single(Format::Npy, array::<i64>(&[2], &[0, 300])));
/// assert_eq!(read::<u16>(&counts)?, [0, 300]);
/// assert!(read::<u8>(&counts).is_err()); // 300 does not fit
/// let names = File::from(Memory::single(Format::Hdf5, texts(&[1], &["Vega"])));
/// assert_eq!(read::<String>(&names)?, ["Vega"]);
/// # Ok::<(), sciformats::Error>(())
/// ```
pub trait Element: Sized {
    /// The element as this type, if that loses nothing.
    fn from_datum(datum: &Datum<'_>) -> Option<Self>;

    /// All of `bytes` at once, where elements of type `element` are stored as this type is.
    #[doc(hidden)]
    fn from_bytes(_element: &ElementType, _bytes: &[u8], _out: &mut Vec<Self>) -> bool {
        false
    }
}

/// Appends the elements in `bytes` to `out`.
pub(crate) fn convert<T: Element>(element: &ElementType, bytes: &[u8], out: &mut Vec<T>) -> Result<()> {
    if T::from_bytes(element, bytes, out) {
        return Ok(());
    }
    for datum in Decoder::new(element, bytes) {
        let datum = datum?;
        let value = T::from_datum(&datum).ok_or_else(|| misfit::<T>(element, &datum, out.len()))?;
        out.push(value);
    }
    Ok(())
}

fn misfit<T>(element: &ElementType, datum: &Datum<'_>, index: usize) -> Error {
    let name = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
    Error::usage(
        "type",
        format!("{name} cannot hold element {index}, {datum} of type {element}, without loss"),
    )
}

macro_rules! integers {
    ($($type:ty => $element:pat),* $(,)?) => {$(
        impl Element for $type {
            fn from_datum(datum: &Datum<'_>) -> Option<Self> {
                match *datum {
                    Datum::UInt(value) => value.try_into().ok(),
                    Datum::Float(value, _) => integer(value)?.try_into().ok(),
                    _ => datum.to_i128()?.try_into().ok(),
                }
            }

            fn from_bytes(element: &ElementType, bytes: &[u8], out: &mut Vec<Self>) -> bool {
                let same = matches!(element, $element);
                if same {
                    out.extend(bytes.as_chunks().0.iter().copied().map(Self::from_le_bytes));
                }
                same
            }
        }
    )*};
}
integers! {
    i8 => ElementType::Int(1), i16 => ElementType::Int(2), i32 => ElementType::Int(4), i64 => ElementType::Int(8),
    i128 => ElementType::Int(16),
    u8 => ElementType::UInt(1), u16 => ElementType::UInt(2), u32 => ElementType::UInt(4), u64 => ElementType::UInt(8),
    u128 => ElementType::UInt(16),
}

/// The integer that a floating-point number is, if it is one; larger ones than 2^126 fit no use.
fn integer(value: f64) -> Option<i128> {
    let exact = value.fract() == 0.0 && value.abs() < 2f64.powi(126);
    exact.then_some(value as i128)
}

/// The number as binary64, if that is exact.
fn exact(datum: &Datum<'_>) -> Option<f64> {
    let value = datum.to_f64()?;
    let same = match *datum {
        Datum::Int(number) | Datum::Member(number, _) => integer(value) == Some(number),
        Datum::UInt(number) => integer(value).and_then(|value| u128::try_from(value).ok()) == Some(number),
        _ => true,
    };
    same.then_some(value)
}

fn narrow(value: f64) -> Option<f32> {
    let narrow = value as f32;
    (f64::from(narrow) == value || value.is_nan()).then_some(narrow)
}

impl Element for f64 {
    fn from_datum(datum: &Datum<'_>) -> Option<Self> {
        exact(datum)
    }

    fn from_bytes(element: &ElementType, bytes: &[u8], out: &mut Vec<Self>) -> bool {
        let same = matches!(element, ElementType::F64 | ElementType::FloatOther);
        if same {
            out.extend(bytes.as_chunks().0.iter().copied().map(Self::from_le_bytes));
        }
        same
    }
}

impl Element for f32 {
    fn from_datum(datum: &Datum<'_>) -> Option<Self> {
        narrow(exact(datum)?)
    }

    fn from_bytes(element: &ElementType, bytes: &[u8], out: &mut Vec<Self>) -> bool {
        let same = matches!(element, ElementType::F32);
        if same {
            out.extend(bytes.as_chunks().0.iter().copied().map(Self::from_le_bytes));
        }
        same
    }
}

impl Element for bool {
    fn from_datum(datum: &Datum<'_>) -> Option<Self> {
        match exact(datum)? {
            0.0 => Some(false),
            1.0 => Some(true),
            _ => None,
        }
    }
}

impl Element for [f64; 2] {
    fn from_datum(datum: &Datum<'_>) -> Option<Self> {
        match *datum {
            Datum::Complex(real, imaginary, _) => Some([real, imaginary]),
            _ => None,
        }
    }
}

impl Element for [f32; 2] {
    fn from_datum(datum: &Datum<'_>) -> Option<Self> {
        let [real, imaginary] = <[f64; 2]>::from_datum(datum)?;
        Some([narrow(real)?, narrow(imaginary)?])
    }
}

impl Element for String {
    fn from_datum(datum: &Datum<'_>) -> Option<Self> {
        match datum {
            Datum::Text(bytes) => Self::from_utf8(bytes.to_vec()).ok(),
            Datum::Member(_, Some(name)) => Some(Name::shown(name).into_owned()),
            _ => None,
        }
    }
}

impl Element for Vec<u8> {
    fn from_datum(datum: &Datum<'_>) -> Option<Self> {
        match datum {
            Datum::Text(bytes) | Datum::Bytes(bytes) => Some(bytes.to_vec()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Memory, MemoryArray, array, texts};
    use crate::{File, Format};

    fn read<T: Element>(array: MemoryArray) -> Result<Vec<T>> {
        File::from(Memory::single(Format::RawArray, array)).array("/")?.read()
    }

    #[test]
    fn the_same_type_and_wider_ones() {
        assert_eq!(read::<i32>(array::<i32>(&[3], &[1, -2, i32::MIN])).unwrap(), [1, -2, i32::MIN]);
        assert_eq!(read::<f64>(array::<f32>(&[2], &[0.5, 1e9])).unwrap(), [0.5, 1e9]);
        assert_eq!(read::<u8>(array::<f64>(&[2], &[0.0, 255.0])).unwrap(), [0, 255]);
        assert_eq!(read::<f32>(array::<u64>(&[1], &[1 << 40])).unwrap(), [(1u64 << 40) as f32]);
        assert_eq!(read::<u128>(array::<u128>(&[1], &[u128::MAX])).unwrap(), [u128::MAX]);
        assert_eq!(read::<bool>(array::<i8>(&[2], &[0, 1])).unwrap(), [false, true]);
        assert!(read::<f32>(array::<f64>(&[1], &[f64::NAN])).unwrap()[0].is_nan());
        assert_eq!(read::<String>(texts(&[2], &["", "µ"])).unwrap(), ["", "µ"]);
    }

    #[test]
    fn loss_is_an_error_that_names_the_element() {
        let error = read::<u8>(array::<i32>(&[3], &[1, 2, 300])).unwrap_err();
        assert_eq!(error.to_string(), "type u8 cannot hold element 2, 300 of type i4, without loss");
        assert!(read::<f32>(array::<f64>(&[1], &[0.1])).is_err());
        assert!(read::<f64>(array::<i64>(&[1], &[(1 << 53) + 1])).is_err());
        assert!(read::<i128>(array::<u128>(&[1], &[u128::MAX])).is_err());
        assert!(read::<f64>(array::<u128>(&[1], &[u128::MAX])).is_err());
        assert!(read::<i64>(array::<f64>(&[1], &[0.5])).is_err());
        assert!(read::<i64>(array::<f64>(&[1], &[f64::INFINITY])).is_err());
        assert!(read::<u32>(texts(&[1], &["1"])).is_err());
        assert!(read::<String>(array::<u8>(&[1], &[65])).is_err());
    }
}
