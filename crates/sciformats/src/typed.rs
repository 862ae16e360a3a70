//! Reads elements as a type of the caller.

use sciformats_core::bound;
use sciformats_core::endian::ByteOrder;
use sciformats_core::number::{Number, NumberType, Real, not_stored_as};
use sciformats_core::{Conversion, Error, Misfit};

use crate::Result;
use crate::model::{Datum, Decoder, ElementType, Name};

/// A type that elements can be read as.
///
/// Numbers convert to any type that can hold their value exactly: `300` can be read as `f32` and as `u16`,
/// but not as `u8`; `0.5` can be read as `f32`, but `0.1` stored as binary64 cannot. NaN stays NaN. A value
/// that does not fit is an [`Error::Misfit`] that names the element, and never a rounded value.
/// [`Array::with_conversion`](crate::Array::with_conversion) selects another [`Conversion`]. Numbers of the
/// type [`FloatOther`](ElementType::FloatOther) are read as the nearest binary64 number.
///
/// | type | what it can read |
/// |---|---|
/// | integers, `f32`, `f64` | integers, floating-point numbers, truth values, enumerations |
/// | `bool` | truth values, and the numbers 0 and 1 |
/// | `[f32; 2]`, `[f64; 2]` | complex numbers as real and imaginary part, real numbers |
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
    /// Converts an element to this type, if that loses nothing or `conversion` permits it.
    fn from_datum(datum: &Datum<'_>, conversion: Conversion) -> Option<Self>;

    /// Converts all of `bytes` at once, if that is possible. The index in an error counts from the first of
    /// these elements.
    #[doc(hidden)]
    fn from_bytes(_: &ElementType, _: &[u8], _: Conversion, _: &mut Vec<Self>) -> Option<Result<()>> {
        None
    }

    /// Returns `len` elements that are all zero, if that is possible.
    #[doc(hidden)]
    fn zeroed(_len: usize) -> Option<Result<Vec<Self>>> {
        None
    }

    /// Returns the bytes of elements to read into, if the canonical bytes of `element` are those of this
    /// type.
    #[doc(hidden)]
    fn in_place<'a>(_: &ElementType, _: &'a mut [Self]) -> Option<&'a mut [u8]> {
        None
    }

    /// Returns why an element cannot be converted to this type; `None` if this type cannot hold elements of
    /// this kind at all.
    #[doc(hidden)]
    fn misfit(_index: u64, _datum: &Datum<'_>) -> Option<Misfit> {
        None
    }
}

/// Converts the elements in `bytes`, and appends them to `out`.
pub(crate) fn convert<T: Element>(
    element: &ElementType,
    bytes: &[u8],
    conversion: Conversion,
    out: &mut Vec<T>,
) -> Result<()> {
    let before = out.len() as u64;
    if let Some(done) = T::from_bytes(element, bytes, conversion, out) {
        return done.map_err(|error| error.after(before));
    }
    for datum in Decoder::new(element, bytes) {
        let datum = datum?;
        let value = T::from_datum(&datum, conversion);
        out.push(value.ok_or_else(|| match T::misfit(out.len() as u64, &datum) {
            Some(misfit) => Error::Misfit(misfit),
            None => not_stored_as(name::<T>(), element),
        })?);
    }
    Ok(())
}

/// Returns the name of a type without its module.
fn name<T>() -> &'static str {
    let name = std::any::type_name::<T>();
    if name.contains(['<', '[']) { name } else { name.rsplit("::").next().unwrap_or(name) }
}

/// Returns the number type of the canonical bytes, if they are numbers of a usual width.
fn stored(element: &ElementType) -> Option<NumberType> {
    match element {
        ElementType::Int(size) => NumberType::integer(true, (*size).into()),
        ElementType::UInt(size) => NumberType::integer(false, (*size).into()),
        ElementType::Bits(size) | ElementType::Time(size) => NumberType::integer(false, *size),
        ElementType::F16 => Some(NumberType::F16),
        ElementType::BF16 => Some(NumberType::BFloat16),
        ElementType::F32 => Some(NumberType::F32),
        ElementType::F64 | ElementType::FloatOther => Some(NumberType::F64),
        ElementType::Enum { base, .. } => stored(base),
        _ => None,
    }
}

/// Returns the number that an element stands for.
fn real(datum: &Datum<'_>) -> Option<Real> {
    Some(match *datum {
        Datum::Int(value) | Datum::Member(value, _) => value.into(),
        Datum::UInt(value) => value.into(),
        Datum::Float(value, _) => value.into(),
        Datum::Bool(value) => i128::from(value).into(),
        _ => return None,
    })
}

fn number<T: Number>(real: Real, conversion: Conversion) -> Option<T> {
    match conversion {
        Conversion::Lossy => Some(T::nearest(real)),
        _ => T::exact(real),
    }
}

fn numbers<T: Number>(
    element: &ElementType,
    bytes: &[u8],
    conversion: Conversion,
    out: &mut Vec<T>,
) -> Option<Result<()>> {
    let Some(stored) = stored(element) else {
        // Truth values are stored as `bool`; numbers of unusual widths have no type here.
        let truth = T::STORED.is_none() && *element == ElementType::Bool;
        return (conversion == Conversion::None && !truth).then(|| Err(not_stored_as(T::NAME, element)));
    };
    let (before, count) = (out.len(), bytes.len() / stored.size());
    let bytes = bytes.get(..bound::product(count, stored.size())).unwrap_or_default();
    out.resize(bound::sum(before, count), T::default());
    let places = out.get_mut(before..).unwrap_or_default();
    match T::bytes_mut(places).filter(|_| T::STORED == Some(stored)) {
        Some(places) => {
            places.copy_from_slice(bytes);
            ByteOrder::Little.convert(ByteOrder::NATIVE, places, stored.size());
            Some(Ok(()))
        }
        None => Some(T::read(stored, ByteOrder::Little, bytes, conversion, places)),
    }
}

macro_rules! elements {
    ($($type:ty)*) => {$(
        impl Element for $type {
            fn from_datum(datum: &Datum<'_>, conversion: Conversion) -> Option<Self> {
                number(real(datum)?, conversion)
            }

            fn from_bytes(
                element: &ElementType,
                bytes: &[u8],
                conversion: Conversion,
                out: &mut Vec<Self>,
            ) -> Option<Result<()>> {
                numbers(element, bytes, conversion, out)
            }

            fn zeroed(len: usize) -> Option<Result<Vec<Self>>> {
                Some(<Self as Number>::zeroed(len))
            }

            fn in_place<'a>(element: &ElementType, out: &'a mut [Self]) -> Option<&'a mut [u8]> {
                let little = ByteOrder::NATIVE == ByteOrder::Little;
                let same = Self::STORED.is_some() && Self::STORED == stored(element);
                if little && same { Self::bytes_mut(out) } else { None }
            }

            fn misfit(index: u64, datum: &Datum<'_>) -> Option<Misfit> {
                real(datum).map(|_| Misfit::new(index, datum, Self::NAME))
            }
        }
    )*};
}
elements!(i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 bool);

macro_rules! complex {
    ($($part:ty: $bytes:literal;)*) => {$(
        impl Element for [$part; 2] {
            fn from_datum(datum: &Datum<'_>, conversion: Conversion) -> Option<Self> {
                let (re, im) = match *datum {
                    Datum::Complex(re, im, _) => (re.into(), im.into()),
                    _ => (real(datum)?, 0i128.into()),
                };
                Some([number(re, conversion)?, number(im, conversion)?])
            }

            fn from_bytes(
                element: &ElementType,
                _: &[u8],
                conversion: Conversion,
                _: &mut Vec<Self>,
            ) -> Option<Result<()>> {
                let allowed = conversion != Conversion::None || *element == ElementType::Complex($bytes);
                (!allowed).then(|| Err(not_stored_as(name::<Self>(), element)))
            }

            fn misfit(index: u64, datum: &Datum<'_>) -> Option<Misfit> {
                let number = matches!(datum, Datum::Complex(..)) || real(datum).is_some();
                number.then(|| Misfit::new(index, datum, name::<Self>()))
            }
        }
    )*};
}
complex! { f32: 8; f64: 16; }

impl Element for String {
    fn from_datum(datum: &Datum<'_>, conversion: Conversion) -> Option<Self> {
        let bytes = match datum {
            Datum::Text(bytes) => bytes,
            Datum::Member(_, Some(name)) => name.as_bytes(),
            _ => return None,
        };
        match conversion {
            Conversion::Lossy => Some(Self::from_utf8_lossy(bytes).into_owned()),
            _ => std::str::from_utf8(bytes).map(Self::from).ok(),
        }
    }

    fn misfit(index: u64, datum: &Datum<'_>) -> Option<Misfit> {
        match datum {
            Datum::Text(bytes) => Some(Misfit::text(index, bytes)),
            Datum::Member(_, Some(name)) => Some(Misfit::text(index, Name::as_bytes(name))),
            Datum::Member(..) => Some(Misfit::new(index, datum, "String")),
            _ => None,
        }
    }
}

impl Element for Vec<u8> {
    fn from_datum(datum: &Datum<'_>, _: Conversion) -> Option<Self> {
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
        assert_eq!(error.to_string(), "element 2 is 300, which u8 cannot hold");
        assert!(matches!(&error, Error::Misfit(misfit) if misfit.index == 2 && misfit.wanted == "u8"));
        assert!(read::<f32>(array::<f64>(&[1], &[0.1])).is_err());
        assert!(read::<f64>(array::<i64>(&[1], &[(1 << 53) + 1])).is_err());
        assert!(read::<i128>(array::<u128>(&[1], &[u128::MAX])).is_err());
        assert!(read::<f64>(array::<u128>(&[1], &[u128::MAX])).is_err());
        assert!(read::<i64>(array::<f64>(&[1], &[0.5])).is_err());
        assert!(read::<i64>(array::<f64>(&[1], &[f64::INFINITY])).is_err());
        let kind = read::<u32>(texts(&[1], &["1"]));
        assert!(matches!(kind, Err(Error::Usage { argument: "element type", .. })), "{kind:?}");
        let kind = read::<String>(array::<u8>(&[1], &[65]));
        assert!(matches!(kind, Err(Error::Usage { argument: "element type", .. })), "{kind:?}");
    }

    #[test]
    fn other_conversions_are_asked_for() {
        let file = File::from(Memory::single(Format::RawArray, array::<f64>(&[3], &[0.1, -3.5, f64::NAN])));
        let array = file.array("/").unwrap();
        let lossy = array.clone().with_conversion(Conversion::Lossy);
        assert_eq!(lossy.read::<u8>().unwrap(), [0, 0, 0]);
        assert_eq!(lossy.read::<f32>().unwrap()[..2], [0.1, -3.5]);
        assert_eq!(lossy.read::<[f32; 2]>().unwrap()[0], [0.1, 0.0]);
        let stored = array.with_conversion(Conversion::None);
        assert_eq!(stored.read::<f64>().unwrap()[..2], [0.1, -3.5]);
        for refused in [stored.read::<f32>().err(), stored.read::<[f64; 2]>().err()] {
            assert!(matches!(refused, Some(Error::Usage { argument: "element type", .. })), "{refused:?}");
        }
    }

    #[test]
    fn text_that_is_not_utf8_is_an_error_with_its_place() {
        let texts: [&[u8]; 2] = [b"Vega", b"caf\xe9"];
        let bytes: Vec<u8> = texts
            .iter()
            .flat_map(|text| (text.len() as u64).to_le_bytes().into_iter().chain(text.to_vec()))
            .collect();
        let mut read = Vec::<String>::new();
        let error = convert(&ElementType::Text, &bytes, Conversion::Exact, &mut read).unwrap_err();
        assert_eq!(error.to_string(), r#"element 1 is "caf\xe9", which is not UTF-8 from its byte 3 on"#);
        let mut lossy = Vec::<String>::new();
        convert(&ElementType::Text, &bytes, Conversion::Lossy, &mut lossy).unwrap();
        assert_eq!(lossy, ["Vega", "caf\u{fffd}"]);
        let mut raw = Vec::<Vec<u8>>::new();
        convert(&ElementType::Text, &bytes, Conversion::Exact, &mut raw).unwrap();
        assert_eq!(raw, texts);
    }
}
