//! How stored elements become values, piece by piece.

mod numbers;
mod order;

use std::sync::Arc;

use sciformats::{Datum, Decoder, ElementType, Error, Result};

pub use numbers::{Bound, Numbers};
pub(crate) use order::{Order, transposed};

use crate::time::{Calendar, DateTime, Period, TimeUnits};
use crate::values::Values;

/// How the stored elements of a variable become its values.
///
/// ```
/// use sciformats::ElementType;
/// use sciformats_conventions::decoding::Decoding;
///
/// let letters = Decoding::Categories { names: ["a".into(), "b".into()].into(), ordered: false };
/// let values = letters.decode(&ElementType::Int(1), vec![1, 255, 0])?;
/// assert_eq!(values.cells()?, [Some("b".into()), None, Some("a".into())]);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Decoding {
    /// The elements are the values.
    Stored,
    /// The numbers are packed, or some of them mean a missing value.
    Numbers(Numbers),
    /// The numbers count from a date.
    Time {
        /// The numbers that mean a missing value, and scales.
        numbers: Numbers,
        /// What the numbers count.
        units: TimeUnits,
    },
    /// The elements have eight bytes: the upper half counts seconds since the start of 1970, and the lower half
    /// microseconds, both with a sign.
    SecondsAndMicroseconds,
    /// The last dimension consists of characters that form a text: bytes of UTF-8, units of UTF-16, or code points of four
    /// bytes.
    Characters,
    /// The same, where each byte is a character of Latin-1 (ISO 8859-1).
    Latin1,
    /// As `Characters`, where an element without characters is a space, because elements are padded with spaces.
    Spaced,
    /// The integers count periods, such as months since 1970.
    Periods(Period),
    /// The values are texts, one of which means a missing value.
    Text {
        /// The text that means a missing value.
        missing: String,
    },
    /// The values are texts whose bytes are characters of Latin-1 (ISO 8859-1); one of the texts may mean a missing value.
    Latin1Text {
        /// The text that means a missing value.
        missing: Option<String>,
    },
    /// The elements are lists of the codes of characters: bytes of UTF-8, or code points of Unicode with four bytes.
    Codes,
    /// The elements are indices into a list of names; any other index means a missing value.
    Categories {
        /// The names.
        names: Arc<[String]>,
        /// Whether their order has a meaning.
        ordered: bool,
    },
    /// The elements are integers that are truth values: 0 is false, and anything else is true.
    Truth,
    /// The elements have another type with the same canonical bytes.
    As(ElementType),
}

/// Joins characters of several bytes: units of UTF-16, or code points of Unicode; `None` for others.
fn wide(element: &ElementType, bytes: &[u8], length: usize) -> Option<Vec<Option<String>>> {
    Some(match element {
        ElementType::UInt(2) | ElementType::Int(2) => {
            let units: Vec<u16> = bytes.as_chunks().0.iter().map(|two| u16::from_le_bytes(*two)).collect();
            units.chunks(length.max(1)).map(|units| Some(String::from_utf16_lossy(units))).collect()
        }
        ElementType::UInt(4) | ElementType::Int(4) => {
            let codes = bytes.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four));
            let codes: Vec<char> =
                codes.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
            codes.chunks(length.max(1)).map(|codes| Some(codes.iter().collect())).collect()
        }
        _ => return None,
    })
}

/// Joins the elements of a dimension of characters.
fn joined(
    element: &ElementType,
    bytes: &[u8],
    length: u64,
    decoding: &Decoding,
) -> Result<Vec<Option<String>>> {
    let filler = if *decoding == Decoding::Spaced { b' ' } else { 0 };
    let length = usize::try_from(length).map_err(|_| Error::usage("text", "is too long for this machine"))?;
    if let Some(texts) = wide(element, bytes, length) {
        return Ok(texts);
    }
    let mut texts = Vec::new();
    let mut text = Vec::new();
    let mut count = 0;
    for datum in Decoder::new(element, bytes) {
        match datum? {
            // A zero, or a space, is a character like any other, unless only such characters follow.
            Datum::Text([]) | Datum::Bytes([]) => text.push(filler),
            Datum::Text(part) | Datum::Bytes(part) => text.extend_from_slice(part),
            // Characters are bytes, also where these are stored with a sign.
            other => text.extend(other.to_i128().and_then(|code| {
                let signed = || i8::try_from(code).ok().map(i8::cast_unsigned);
                u8::try_from(code).ok().or_else(signed)
            })),
        }
        count += 1;
        if count == length {
            let ended = text.iter().rposition(|&byte| byte != filler).map_or(0, |last| last + 1);
            let bytes = text.get(..ended).unwrap_or_default();
            texts.push(Some(match decoding {
                // The first characters of Unicode are those of Latin-1.
                Decoding::Latin1 => bytes.iter().map(|&byte| char::from(byte)).collect(),
                _ => String::from_utf8_lossy(bytes).into_owned(),
            }));
            text.clear();
            count = 0;
        }
    }
    Ok(texts)
}

impl Decoding {
    /// Returns whether the last dimension of the elements consists of characters.
    pub fn joins_characters(&self) -> bool {
        matches!(self, Self::Characters | Self::Latin1 | Self::Spaced)
    }

    /// Returns the type of the values in canonical bytes; see [`Values::into_canonical`].
    pub fn element(&self, stored: &ElementType) -> ElementType {
        match self {
            Self::Stored => stored.clone(),
            Self::Numbers(numbers) => numbers.element().clone(),
            Self::Truth => ElementType::Bool,
            Self::As(element) => element.clone(),
            _ => ElementType::Text,
        }
    }

    /// Returns whether the values are the stored elements.
    pub fn is_stored(&self) -> bool {
        match self {
            Self::Stored => true,
            Self::Numbers(numbers) => numbers.to.is_none(),
            _ => false,
        }
    }

    /// Decodes stored elements. Characters need [`Decoding::decode_texts`].
    ///
    /// # Errors
    ///
    /// An error if elements have a type that cannot be decoded in this way.
    pub fn decode(&self, element: &ElementType, bytes: Vec<u8>) -> Result<Values> {
        Ok(match self {
            Self::Stored => Values::plain(element.clone(), bytes),
            Self::Numbers(numbers) if numbers.to.is_none() => Values::plain(numbers.from.clone(), bytes),
            Self::Numbers(numbers) => Values::plain(numbers.element().clone(), numbers.decode(&bytes)?),
            Self::Time { numbers, units } if units.is_in_utc() => {
                let moments = times(numbers, units, &bytes)?.into_iter();
                Values::Text(moments.map(|moment| moment.map(|moment| format!("{moment}Z"))).collect())
            }
            Self::Time { numbers, units } => Values::Times(times(numbers, units, &bytes)?),
            Self::SecondsAndMicroseconds => Values::Times(halves(&bytes)),
            Self::As(element) => Values::plain(element.clone(), bytes),
            Self::Characters | Self::Latin1 | Self::Spaced => self.decode_texts(element, &bytes, 1)?,
            Self::Periods(period) => {
                let mut labels = Vec::new();
                for datum in Decoder::new(element, &bytes) {
                    let ordinal = datum?.to_i128().and_then(|ordinal| i64::try_from(ordinal).ok());
                    labels.push(ordinal.and_then(|ordinal| period.label(ordinal)));
                }
                Values::Text(labels)
            }
            Self::Text { missing } => {
                let cells = Values::plain(element.clone(), bytes).cells()?;
                Values::Text(cells.into_iter().map(|cell| cell.filter(|text| text != missing)).collect())
            }
            Self::Latin1Text { missing } => {
                let mut texts = Vec::new();
                for datum in Decoder::new(element, &bytes) {
                    let (Datum::Text(text) | Datum::Bytes(text)) = datum? else {
                        return Err(Error::unsupported(format!("a Latin-1 text of the type {element}")));
                    };
                    let text: String = text.iter().map(|&byte| char::from(byte)).collect();
                    texts.push(Some(text).filter(|text| Some(text) != missing.as_ref()));
                }
                Values::Text(texts)
            }
            Self::Codes => {
                let mut texts = Vec::new();
                for datum in Decoder::new(element, &bytes) {
                    texts.push(Some(of_codes(element, &datum?)?));
                }
                Values::Text(texts)
            }
            Self::Categories { names, ordered } => {
                let mut codes = Vec::new();
                for datum in Decoder::new(element, &bytes) {
                    let code = datum?.to_i128().and_then(|code| usize::try_from(code).ok());
                    codes.push(code.filter(|&code| code < names.len()));
                }
                Values::Categories { codes, names: Arc::clone(names), ordered: *ordered }
            }
            Self::Truth => {
                let mut truths = Vec::new();
                for datum in Decoder::new(element, &bytes) {
                    truths.push(u8::from(datum?.to_f64().is_some_and(|value| value != 0.0)));
                }
                Values::plain(ElementType::Bool, truths)
            }
        })
    }

    /// Decodes texts of `length` characters each.
    ///
    /// # Errors
    ///
    /// As [`decode`](Self::decode).
    pub fn decode_texts(&self, element: &ElementType, bytes: &[u8], length: u64) -> Result<Values> {
        joined(element, bytes, length, self).map(Values::Text)
    }
}

/// Returns the text that a list of codes forms.
fn of_codes(element: &ElementType, datum: &Datum<'_>) -> Result<String> {
    let wrong = || Error::unsupported(format!("a character code of the type {element}"));
    let Datum::List(list) = datum else { return Err(wrong()) };
    let codes =
        list.iter().map(|code| code.to_i128().and_then(|code| u32::try_from(code).ok()).ok_or_else(wrong));
    let codes = codes.collect::<Result<Vec<u32>>>()?;
    let bytes: Option<Vec<u8>> = match element {
        ElementType::Vlen(of) if of.size() == Some(1) => {
            codes.iter().map(|&code| u8::try_from(code).ok()).collect()
        }
        _ => None,
    };
    Ok(match bytes {
        Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        None => codes
            .into_iter()
            .map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
    })
}

/// Decodes moments from their halves, which are in the little-endian order of canonical bytes.
fn halves(bytes: &[u8]) -> Vec<Option<DateTime>> {
    let moment = |eight: &[u8]| {
        let (lower, upper) = eight.split_at_checked(4)?;
        let seconds = i32::from_le_bytes(upper.try_into().ok()?);
        // A fraction has the sign of the number: half a second before 1970 is -500000 microseconds.
        let micros = i32::from_le_bytes(lower.try_into().ok()?);
        let nanoseconds = i128::from(seconds) * 1_000_000_000 + i128::from(micros) * 1_000;
        DateTime::at(Calendar::ProlepticGregorian, nanoseconds)
    };
    bytes.chunks_exact(8).map(moment).collect()
}

/// Decodes dates. Integers are converted without floating-point numbers.
fn times(numbers: &Numbers, units: &TimeUnits, bytes: &[u8]) -> Result<Vec<Option<DateTime>>> {
    let whole = matches!(numbers.from, ElementType::Int(_) | ElementType::UInt(_));
    let plain = numbers.scale.is_none() && numbers.offset.is_none();
    let mut moments = Vec::new();
    if whole && plain {
        let least = numbers.valid.0.and_then(|bound| bound.integer(true));
        let most = numbers.valid.1.and_then(|bound| bound.integer(false));
        for datum in Decoder::new(&numbers.from, bytes) {
            let value = datum?.to_i128();
            let stands = |value: &i128| {
                !numbers.fill.contains(&(*value as f64))
                    && least.is_none_or(|least| *value >= least)
                    && most.is_none_or(|most| *value <= most)
            };
            moments.push(value.filter(stands).and_then(|value| units.moment_of_integer(value)));
        }
        return Ok(moments);
    }
    let mut wide = numbers.clone();
    wide.to.get_or_insert(ElementType::F64);
    let values = Values::plain(wide.element().clone(), wide.decode(bytes)?).numbers()?;
    Ok(values.into_iter().map(|value| units.moment(value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_before_1970_have_negative_fractions() {
        let halves = |seconds: i32, micros: i32| {
            let bytes = [micros.to_le_bytes(), seconds.to_le_bytes()].concat();
            Decoding::SecondsAndMicroseconds.decode(&ElementType::Time(8), bytes).unwrap().cells().unwrap()
        };
        assert_eq!(halves(0, -500_000), [Some("1969-12-31T23:59:59.500000".to_owned())]);
        assert_eq!(halves(-1, -250_000), [Some("1969-12-31T23:59:58.750000".to_owned())]);
        assert_eq!(halves(1, 500_000), [Some("1970-01-01T00:00:01.500000".to_owned())]);
    }

    #[test]
    fn characters_of_every_width_are_texts() {
        let texts = |element: ElementType, bytes: &[u8], length: u64| {
            let texts = Decoding::Characters.decode_texts(&element, bytes, length).unwrap().cells().unwrap();
            texts.into_iter().flatten().collect::<Vec<_>>()
        };
        let bytes = "gr\u{f6}\u{df}e\0\0A\0\0\0\0\0\0\0\0".as_bytes();
        for element in [ElementType::Int(1), ElementType::UInt(1)] {
            assert_eq!(texts(element, bytes, 9), ["gr\u{f6}\u{df}e", "A"]);
        }
        let units: Vec<u8> = "\u{f6}\u{1f600}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let codes: Vec<u8> = [0xf6u32, 0x1f600, 0x61].iter().flat_map(|code| code.to_le_bytes()).collect();
        for signed in [false, true] {
            let of = |size| if signed { ElementType::Int(size) } else { ElementType::UInt(size) };
            assert_eq!(texts(of(2), &units, 3), ["\u{f6}\u{1f600}"]);
            assert_eq!(texts(of(4), &codes, 3), ["\u{f6}\u{1f600}a"]);
        }
    }

    #[test]
    fn bytes_of_latin_1_and_lists_of_codes_are_texts() {
        let mut bytes = Vec::new();
        for text in [&b"gr\xf6\xdfe"[..], b"nan"] {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text);
        }
        let latin = Decoding::Latin1Text { missing: Some("nan".into()) };
        let cells = latin.decode(&ElementType::Text, bytes).unwrap().cells().unwrap();
        assert_eq!(cells, [Some("größe".to_owned()), None]);
        let codes = |width: u16, text: &[u32]| {
            let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
            for code in text {
                bytes.extend(code.to_le_bytes().iter().take(usize::from(width)));
            }
            let element = ElementType::Vlen(Box::new(ElementType::UInt(width)));
            Decoding::Codes.decode(&element, bytes).unwrap().cells().unwrap()
        };
        assert_eq!(codes(1, &[0x61, 0xc3, 0xa9]), [Some("aé".to_owned())]);
        assert_eq!(codes(4, &[0x61, 0x1f600]), [Some("a😀".to_owned())]);
    }
}
