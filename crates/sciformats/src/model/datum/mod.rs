//! Single elements, decoded from canonical bytes.

mod show;

use sciformats_core::number::{BFloat16, Float16};

use super::canonical::{length, listed, short, take, text};
use super::{ElementType, Name};
use crate::Result;

/// The precision in which a floating-point number was stored, which determines how many digits it has.
///
/// ```
/// use sciformats::{Datum, FloatKind};
///
/// let stored = f64::from(0.1f32); // 0.10000000149011612
/// assert_eq!(Datum::Float(stored, FloatKind::F32).to_string(), "0.1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatKind {
    /// IEEE 754 binary16.
    F16,
    /// bfloat16.
    BF16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64, and all numbers that are rounded to it.
    F64,
}

/// One element. It borrows text and bytes.
///
/// ```
/// use sciformats::memory::{Memory, texts};
/// use sciformats::{Datum, File, Format, Selection};
/// use std::ops::ControlFlow;
///
/// let file = File::from(Memory::single(Format::Hdf5, texts(&[2], &["Vega", "Deneb"])));
/// file.array("/")?.for_each(&Selection::parse("1", &[2])?, &mut |datum| {
///     assert_eq!(datum, Datum::Text(b"Deneb"));
///     Ok(ControlFlow::Continue(()))
/// })?;
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Datum<'a> {
    /// A signed integer.
    Int(i128),
    /// An unsigned integer, a bit field or a time.
    UInt(u128),
    /// A floating-point number.
    Float(f64, FloatKind),
    /// A complex number: the real and the imaginary part.
    Complex(f64, f64, FloatKind),
    /// A truth value.
    Bool(bool),
    /// Text, or the path of a reference.
    Text(&'a [u8]),
    /// Bytes without a known meaning, and integers of more than 16 bytes.
    Bytes(&'a [u8]),
    /// A value of an enumeration, and its name if it has one.
    Member(i128, Option<&'a Name>),
    /// The elements of an array or a sequence.
    List(Vec<Datum<'a>>),
    /// The fields of a compound.
    Record(Vec<(&'a Name, Datum<'a>)>),
}

impl Datum<'_> {
    /// Returns the value as a binary64 number if it is a real number. Large integers are rounded.
    ///
    /// ```
    /// use sciformats::Datum;
    ///
    /// assert_eq!((Datum::Int(-3).to_f64(), Datum::Bool(true).to_f64()), (Some(-3.0), Some(1.0)));
    /// assert_eq!(Datum::Text(b"3").to_f64(), None);
    /// ```
    pub fn to_f64(&self) -> Option<f64> {
        match *self {
            Self::Int(value) | Self::Member(value, _) => Some(value as f64),
            Self::UInt(value) => Some(value as f64),
            Self::Float(value, _) => Some(value),
            Self::Bool(value) => Some(f64::from(u8::from(value))),
            _ => None,
        }
    }

    /// Returns the value as an integer if it is one and fits.
    ///
    /// ```
    /// use sciformats::{Datum, FloatKind};
    ///
    /// assert_eq!(Datum::UInt(3).to_i128(), Some(3));
    /// assert_eq!(Datum::Float(3.0, FloatKind::F64).to_i128(), None);
    /// ```
    pub fn to_i128(&self) -> Option<i128> {
        match *self {
            Self::Int(value) | Self::Member(value, _) => Some(value),
            Self::UInt(value) => i128::try_from(value).ok(),
            Self::Bool(value) => Some(value.into()),
            _ => None,
        }
    }
}

/// Iterates over the elements in canonical bytes.
///
/// ```
/// use sciformats::{Datum, Decoder, ElementType};
///
/// let bytes = [1, 0, 0xFE, 0xFF];
/// let mut elements = Decoder::new(&ElementType::Int(2), &bytes);
/// assert_eq!(elements.next().unwrap()?, Datum::Int(1));
/// assert_eq!(elements.next().unwrap()?, Datum::Int(-2));
/// assert!(elements.next().is_none());
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    element: &'a ElementType,
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    /// Decodes the elements of type `element` in `bytes`.
    ///
    /// ```
    /// use sciformats::{Decoder, ElementType};
    ///
    /// let bytes = [1.5f32, 2.5].map(f32::to_le_bytes).concat();
    /// let values: Result<Vec<String>, _> =
    ///     Decoder::new(&ElementType::F32, &bytes).map(|datum| datum.map(|datum| datum.to_string())).collect();
    /// assert_eq!(values?, ["1.5", "2.5"]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn new(element: &'a ElementType, bytes: &'a [u8]) -> Self {
        Self { element, rest: bytes }
    }
}

impl<'a> Iterator for Decoder<'a> {
    type Item = Result<Datum<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let before = self.rest.len();
        let datum = decode(self.element, &mut self.rest);
        if datum.is_err() || self.rest.len() == before {
            // Decoding ends after an error, and elements without bytes would never end.
            self.rest = &[];
        }
        Some(datum)
    }
}

fn decode<'a>(element: &'a ElementType, rest: &mut &'a [u8]) -> Result<Datum<'a>> {
    Ok(match element {
        ElementType::Int(bytes) if *bytes <= 16 => Datum::Int(signed(take(rest, (*bytes).into())?)),
        ElementType::UInt(bytes) if *bytes <= 16 => Datum::UInt(unsigned(take(rest, (*bytes).into())?)),
        ElementType::Bits(bytes) | ElementType::Time(bytes) if *bytes <= 16 => {
            Datum::UInt(unsigned(take(rest, *bytes)?))
        }
        ElementType::F16 => Datum::Float(float(rest, FloatKind::F16)?, FloatKind::F16),
        ElementType::BF16 => Datum::Float(float(rest, FloatKind::BF16)?, FloatKind::BF16),
        ElementType::F32 => Datum::Float(float(rest, FloatKind::F32)?, FloatKind::F32),
        ElementType::F64 | ElementType::FloatOther => {
            Datum::Float(float(rest, FloatKind::F64)?, FloatKind::F64)
        }
        ElementType::Complex(bytes) => {
            let kind = match bytes {
                4 => FloatKind::F16,
                8 => FloatKind::F32,
                _ => FloatKind::F64,
            };
            let real = float(rest, kind)?;
            Datum::Complex(real, float(rest, kind)?, kind)
        }
        ElementType::Bool => Datum::Bool(take(rest, 1)?.iter().any(|&byte| byte != 0)),
        ElementType::Text | ElementType::Reference | ElementType::Region => Datum::Text(text(rest)?),
        ElementType::Enum { base, members } => member(base, members, rest)?,
        ElementType::Compound(fields) => {
            let mut record = Vec::with_capacity(fields.len());
            for (name, field) in fields {
                record.push((name, decode(field, rest)?));
            }
            Datum::Record(record)
        }
        ElementType::Array { element, shape } => {
            let count = listed(element, sciformats_core::slab::elements(shape), rest)?;
            list(element, count, rest)?
        }
        ElementType::Vlen(element) => {
            let count = length(rest)?;
            let count = listed(element, Some(count), rest)?;
            list(element, count, rest)?
        }
        // A type whose size exceeds 64 bits cannot be in the bytes.
        wide => Datum::Bytes(take(rest, wide.size().unwrap_or(u64::MAX))?), // a bound
    })
}

fn list<'a>(element: &'a ElementType, count: u64, rest: &mut &'a [u8]) -> Result<Datum<'a>> {
    // No capacity is reserved for `count`, so the list only grows as far as there are bytes.
    (0..count).map(|_| decode(element, rest)).collect::<Result<_>>().map(Datum::List)
}

fn member<'a>(base: &'a ElementType, members: &'a [(Name, i128)], rest: &mut &'a [u8]) -> Result<Datum<'a>> {
    let value = decode(base, rest)?;
    Ok(match value.to_i128() {
        Some(value) => {
            let name = members.iter().find(|(_, of)| *of == value).map(|(name, _)| name);
            Datum::Member(value, name)
        }
        None => value,
    })
}

fn unsigned(bytes: &[u8]) -> u128 {
    let mut wide = [0; 16];
    wide.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u128::from_le_bytes(wide)
}

fn signed(bytes: &[u8]) -> i128 {
    let negative = bytes.last().is_some_and(|&byte| byte >= 0x80);
    let mut wide = if negative { [0xFF; 16] } else { [0; 16] };
    wide.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    i128::from_le_bytes(wide)
}

fn float(rest: &mut &[u8], kind: FloatKind) -> Result<f64> {
    let mut fixed = |count| take(rest, count);
    Ok(match kind {
        FloatKind::F16 => Float16(u16::from_le_bytes(fixed(2)?.try_into().map_err(|_| short())?)).into(),
        FloatKind::BF16 => BFloat16(u16::from_le_bytes(fixed(2)?.try_into().map_err(|_| short())?)).into(),
        FloatKind::F32 => f32::from_le_bytes(fixed(4)?.try_into().map_err(|_| short())?).into(),
        FloatKind::F64 => f64::from_le_bytes(fixed(8)?.try_into().map_err(|_| short())?),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::canonical::spans;
    use super::*;

    fn shown(element: &ElementType, bytes: &[u8]) -> Vec<String> {
        Decoder::new(element, bytes)
            .map(|datum| datum.map_or_else(|e| e.to_string(), |datum| datum.to_string()))
            .collect()
    }

    #[test]
    fn numbers_of_every_width() {
        assert_eq!(shown(&ElementType::Int(1), &[0xFF, 0x7F]), ["-1", "127"]);
        assert_eq!(shown(&ElementType::Int(3), &[0xFE, 0xFF, 0xFF]), ["-2"]);
        assert_eq!(shown(&ElementType::UInt(16), &[0xFF; 16]), [u128::MAX.to_string()]);
        assert_eq!(shown(&ElementType::UInt(17), &[0xAB; 17]), [format!("0x{}", "ab".repeat(17))]);
        assert_eq!(shown(&ElementType::F16, &Float16::nearest(0.1).0.to_le_bytes()), ["0.1"]);
        assert_eq!(shown(&ElementType::F16, &Float16::nearest(65504.0).0.to_le_bytes()), ["65500.0"]);
        assert_eq!(shown(&ElementType::BF16, &BFloat16::nearest(2.7).0.to_le_bytes()), ["2.7"]);
        assert_eq!(shown(&ElementType::F64, &f64::NEG_INFINITY.to_le_bytes()), ["-inf"]);
        assert_eq!(shown(&ElementType::Complex(4), &[0, 0x3C, 0, 0xC0]), ["1.0-2.0j"]);
    }

    #[test]
    fn compounds_lists_and_text() {
        let element = ElementType::Compound(vec![
            ("id".into(), ElementType::UInt(1)),
            ("tags".into(), ElementType::Vlen(Box::new(ElementType::Text))),
            ("ab".into(), ElementType::Array { element: Box::new(ElementType::Bool), shape: vec![2] }),
        ]);
        let mut bytes = vec![7]; // id
        bytes.extend(2u64.to_le_bytes()); // tags: two of them
        bytes.extend(1u64.to_le_bytes());
        bytes.push(b'x');
        bytes.extend(0u64.to_le_bytes());
        bytes.extend([1, 0]); // ab
        assert_eq!(shown(&element, &bytes), [r#"{id: 7, tags: ["x", ""], ab: [true, false]}"#]);
        let mut json = String::new();
        Decoder::new(&element, &bytes).next().unwrap().unwrap().write_json(&mut json);
        assert_eq!(json, r#"{"id":7,"tags":["x",""],"ab":[true,false]}"#);
        assert_eq!(spans(&element, &bytes.repeat(3)).unwrap(), vec![&bytes[..]; 3]);
        assert_eq!(shown(&element, &bytes[..9]), ["canonical bytes end inside an element"]);
    }

    #[test]
    fn enumerations_show_names() {
        let element =
            ElementType::Enum { base: Box::new(ElementType::Int(2)), members: vec![("RED".into(), -1)] };
        assert_eq!(shown(&element, &[0xFF, 0xFF, 3, 0]), ["RED", "3"]);
    }

    #[test]
    fn counts_without_bytes_are_refused() {
        let nothing = ElementType::Vlen(Box::new(ElementType::Opaque(0)));
        assert!(spans(&nothing, &u64::MAX.to_le_bytes()).is_err());
        let array = ElementType::Array { element: Box::new(nothing), shape: vec![1 << 40] };
        assert!(Decoder::new(&array, &[0; 64]).next().unwrap().is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let element = ElementType::Compound(vec![
                ("a".into(), ElementType::Vlen(Box::new(ElementType::Text))),
                ("b".into(), ElementType::Complex(8)),
            ]);
            let _ = shown(&element, &bytes);
            let _ = spans(&element, &bytes);
        }
    }
}
