//! Faults in bytes: which field is wrong, in which way, and where.
//!
//! Parsers are pure functions of a byte slice with the result [`Parsed`]. Their error counts its position
//! from the *end* of the input, so it needs no lifetime and remains right while the parser advances. The
//! layer that knows the origin of the bytes calls [`locate`], which converts the position to an absolute
//! offset.

use std::fmt;

use nom::Parser;
use nom::error::ErrorKind;

use crate::bound;
use crate::error::{Error, Place, Result};

/// The result of a parser: the rest of the input and the value, or a [`ParseError`].
///
/// ```
/// use nom::number::complete::le_u16;
/// use sciformats_core::fault::Parsed;
///
/// fn version(i: &[u8]) -> Parsed<'_, u16> {
///     le_u16(i)
/// }
/// assert_eq!(version(&[1, 0, 9]), Ok((&[9][..], 1)));
/// ```
pub type Parsed<'a, T> = nom::IResult<&'a [u8], T, ParseError>;

/// What is wrong with a field, as a predicate after its name.
///
/// ```
/// use sciformats_core::{Fault, FaultKind};
///
/// let fault = Fault::new("checksum", FaultKind::Checksum { stored: 0x17, computed: 0x2a });
/// assert_eq!(fault.to_string(), "checksum is 0x17, but the bytes have 0x2a");
/// let fault = Fault::from(FaultKind::Leftover { bytes: 3 }); // of a whole structure
/// assert_eq!(fault.to_string(), "it leaves 3 bytes unread");
/// let fault = Fault::from(FaultKind::Cut { found: 400_000, whole: 1_389_824 });
/// assert_eq!(fault.to_string(), "it is cut short: 400,000 of 1,389,824 bytes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The bytes end before the field does.
    Truncated,
    /// A signature or magic number is not the one of the structure.
    Signature,
    /// A value that the standard does not define.
    Undefined {
        /// The value found.
        found: u64,
    },
    /// A value differs from another one that it must equal.
    Mismatch {
        /// The value that the rest of the file requires.
        expected: u64,
        /// The stored value.
        found: u64,
    },
    /// An address, length or index is beyond the end of what it refers to.
    OutOfBounds {
        /// The value, or the end that it implies.
        found: u64,
        /// The first value that is out of bounds.
        end: u64,
    },
    /// A calculation with the field exceeds 64 bits.
    Overflow,
    /// A stored checksum differs from the one computed over the bytes.
    Checksum {
        /// The checksum in the file.
        stored: u64,
        /// The checksum computed over the bytes.
        computed: u64,
    },
    /// The text has another encoding than the standard requires.
    Encoding,
    /// Entries that must be in ascending order are not.
    Order,
    /// A chain of references returns to an earlier element.
    Loop,
    /// Bytes remain after the end of the structure.
    Leftover {
        /// The number of bytes.
        bytes: u64,
    },
    /// The file ends before its contents do.
    Cut {
        /// The number of bytes that it has.
        found: u64,
        /// The number of bytes that it had.
        whole: u64,
    },
    /// A writer stopped before it finished, so the rest of the structure is missing.
    Unfinished,
    /// A rule of the standard is broken: the text completes "`field` …".
    Rule(&'static str),
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated => f.write_str("is truncated"),
            Self::Signature => f.write_str("is not the expected signature"),
            Self::Undefined { found } => write!(f, "is {found} ({found:#x}), which is not defined"),
            Self::Mismatch { expected, found } => write!(f, "is {found}, expected {expected}"),
            Self::OutOfBounds { found, end } => write!(f, "is {found}, out of bounds (end {end})"),
            Self::Overflow => f.write_str("overflows"),
            Self::Checksum { stored, computed } => {
                write!(f, "is {stored:#x}, but the bytes have {computed:#x}")
            }
            Self::Encoding => f.write_str("is not valid text"),
            Self::Order => f.write_str("is out of order"),
            Self::Loop => f.write_str("leads back to itself"),
            Self::Leftover { bytes: 1 } => f.write_str("leaves 1 byte unread"),
            Self::Leftover { bytes } => write!(f, "leaves {bytes} bytes unread"),
            Self::Cut { found, whole } => {
                write!(f, "is cut short: {} of {} bytes", grouped(found), grouped(whole))
            }
            Self::Unfinished => f.write_str("is unfinished: its writer stopped early"),
            Self::Rule(predicate) => f.write_str(predicate),
        }
    }
}

/// Formats a number in groups of three digits.
///
/// ```
/// assert_eq!(sciformats_core::fault::grouped(1_389_824), "1,389,824");
/// ```
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A fault: the name of the field in the standard, and what is wrong with it.
///
/// ```
/// use sciformats_core::{Fault, FaultKind};
///
/// let fault = Fault::new("flags", FaultKind::Undefined { found: 8 });
/// assert_eq!(fault.to_string(), "flags is 8 (0x8), which is not defined");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The name of the field in the standard; `None` if the whole structure is wrong.
    pub field: Option<&'static str>,
    /// What is wrong with it.
    pub kind: FaultKind,
}

impl Fault {
    /// Creates a fault of a named field.
    pub fn new(field: &'static str, kind: FaultKind) -> Self {
        Self { field: Some(field), kind }
    }

    /// Adds the position: `structure` is the name of the structure in the standard, and `offset` is the byte
    /// in the file.
    ///
    /// ```
    /// use sciformats_core::{Fault, FaultKind};
    ///
    /// let error = Fault::new("size", FaultKind::Overflow).at("header", 0x40);
    /// assert_eq!(error.to_string(), "malformed header at offset 0x40: size overflows");
    /// ```
    pub fn at(self, structure: &'static str, offset: u64) -> Error {
        Error::Malformed { structure, offset, fault: self, place: Place::default() }
    }
}

impl From<FaultKind> for Fault {
    fn from(kind: FaultKind) -> Self {
        Self { field: None, kind }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field {
            Some(field) => write!(f, "{field} {}", self.kind),
            None => write!(f, "it {}", self.kind),
        }
    }
}

/// The error of a parser: the fault, and the number of bytes that were left where it was found.
///
/// It is as large as a pointer, because each parser passes its result on, and results of parsers that succeed should be small.
///
/// ```
/// use sciformats_core::FaultKind;
/// use sciformats_core::fault::field;
///
/// let parsed = field("size", nom::number::complete::le_u32)(&[1, 2]);
/// let Err(nom::Err::Error(error)) = parsed else { panic!("two bytes are no size") };
/// assert_eq!((error.remaining(), error.fault().field), (2, Some("size")));
/// assert_eq!(error.fault().kind, FaultKind::Truncated);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(Box<Found>);

/// A fault in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    /// The number of bytes from the fault to the end of the input.
    remaining: usize,
    fault: Fault,
}

impl ParseError {
    /// Creates the error of a fault that was found `remaining` bytes before the end of the input.
    #[cold]
    #[inline(never)]
    pub fn new(remaining: usize, fault: impl Into<Fault>) -> Self {
        Self(Box::new(Found { remaining, fault: fault.into() }))
    }

    /// Returns the number of bytes from the fault to the end of the input.
    pub fn remaining(&self) -> usize {
        self.0.remaining
    }

    /// Returns what is wrong.
    pub fn fault(&self) -> Fault {
        self.0.fault
    }
}

/// Names the field of a fault that has no name yet. It is a function of its own because it would otherwise be repeated in every
/// parser of a field.
#[cold]
#[inline(never)]
fn named(name: &'static str, error: nom::Err<ParseError>) -> nom::Err<ParseError> {
    error.map(|mut error| {
        error.0.fault.field.get_or_insert(name);
        error
    })
}

impl nom::error::ParseError<&[u8]> for ParseError {
    #[cold]
    #[inline(never)]
    fn from_error_kind(input: &[u8], kind: ErrorKind) -> Self {
        let kind = match kind {
            ErrorKind::Eof => FaultKind::Truncated,
            ErrorKind::Tag => FaultKind::Signature,
            _ => FaultKind::Rule("does not parse"),
        };
        Self::new(input.len(), kind)
    }

    fn append(_: &[u8], _: ErrorKind, other: Self) -> Self {
        other
    }
}

impl<E> nom::error::FromExternalError<&[u8], E> for ParseError {
    fn from_external_error(input: &[u8], kind: ErrorKind, _: E) -> Self {
        nom::error::ParseError::from_error_kind(input, kind)
    }
}

/// Fails at the start of `i`.
///
/// ```
/// use sciformats_core::FaultKind;
/// use sciformats_core::fault::{Parsed, fail, locate};
///
/// fn nothing(i: &[u8]) -> Parsed<'_, ()> {
///     if i.is_empty() { Ok((i, ())) } else { fail(i, FaultKind::Leftover { bytes: i.len() as u64 }) }
/// }
/// let error = locate("block", 8, &[0; 3], nothing).unwrap_err();
/// assert_eq!(error.to_string(), "malformed block at offset 0x8: it leaves 3 bytes unread");
/// ```
///
/// # Errors
/// Always.
pub fn fail<T>(i: &[u8], kind: FaultKind) -> Parsed<'_, T> {
    Err(nom::Err::Error(ParseError::new(i.len(), kind)))
}

/// Names the field that `parser` reads, for its faults.
///
/// ```
/// use nom::number::complete::le_u32;
/// use sciformats_core::fault::{field, locate};
///
/// let error = locate("header", 64, &[1, 2], field("size", le_u32)).unwrap_err();
/// assert_eq!(error.to_string(), "malformed header at offset 0x40: size is truncated");
/// ```
pub fn field<'a, P>(name: &'static str, mut parser: P) -> impl FnMut(&'a [u8]) -> Parsed<'a, P::Output>
where
    P: Parser<&'a [u8], Error = ParseError>,
{
    move |i| parser.parse(i).map_err(|error| named(name, error))
}

/// Reads a field and checks its value. `check` returns what is wrong, if anything is.
///
/// ```
/// use nom::number::complete::le_u8;
/// use sciformats_core::FaultKind;
/// use sciformats_core::fault::{checked, locate};
///
/// let version = |bytes| {
///     let known = |found: &u8| (*found > 2).then_some(FaultKind::Undefined { found: (*found).into() });
///     locate("header", 0, bytes, checked("version", le_u8, known))
/// };
/// assert_eq!(version(&[2]).unwrap(), 2);
/// assert_eq!(version(&[3]).unwrap_err().to_string(), "malformed header at offset 0x0: version is 3 (0x3), which is not defined");
/// ```
pub fn checked<'a, P>(
    name: &'static str,
    mut parser: P,
    check: impl Fn(&P::Output) -> Option<FaultKind>,
) -> impl FnMut(&'a [u8]) -> Parsed<'a, P::Output>
where
    P: Parser<&'a [u8], Error = ParseError>,
{
    move |i| {
        let (rest, value) = parser.parse(i).map_err(|error| named(name, error))?;
        match check(&value) {
            None => Ok((rest, value)),
            Some(kind) => Err(nom::Err::Error(ParseError::new(i.len(), Fault::new(name, kind)))),
        }
    }
}

/// Reads a field that has only one permitted value.
///
/// ```
/// use nom::number::complete::le_u16;
/// use sciformats_core::fault::{constant, locate};
///
/// assert!(locate("header", 0, &[7, 0], constant("rank", le_u16, 7)).is_ok());
/// assert!(locate("header", 0, &[8, 0], constant("rank", le_u16, 7)).is_err());
/// ```
pub fn constant<'a, P, T>(name: &'static str, parser: P, expected: T) -> impl FnMut(&'a [u8]) -> Parsed<'a, T>
where
    P: Parser<&'a [u8], Output = T, Error = ParseError>,
    T: Copy + PartialEq + Into<u64>,
{
    checked(name, parser, move |&found| {
        (found != expected).then(|| FaultKind::Mismatch { expected: expected.into(), found: found.into() })
    })
}

/// Takes exactly `size` bytes and runs `parser` on them; bytes that are left over are a fault.
///
/// ```
/// use nom::number::complete::le_u16;
/// use sciformats_core::fault::{locate, sized};
///
/// assert_eq!(locate("record", 0, &[1, 0, 9], sized(2, le_u16)).unwrap(), 1);
/// assert_eq!(
///     locate("record", 0, &[1, 0, 9], sized(3, le_u16)).unwrap_err().to_string(),
///     "malformed record at offset 0x2: it leaves 1 byte unread",
/// );
/// ```
pub fn sized<'a, P>(size: usize, mut parser: P) -> impl FnMut(&'a [u8]) -> Parsed<'a, P::Output>
where
    P: Parser<&'a [u8], Error = ParseError>,
{
    move |i| {
        let (rest, part) = nom::bytes::complete::take(size)(i)?;
        match whole(part, &mut parser) {
            Ok(value) => Ok((rest, value)),
            Err(e) => Err(e.map(|mut error| {
                // Both are parts of the same input.
                error.0.remaining += rest.len();
                error
            })),
        }
    }
}

/// Runs `parser` on `bytes`, which are at `base` in the file, and returns its value; bytes after it are
/// ignored.
///
/// ```
/// use nom::number::complete::le_u32;
/// use sciformats_core::fault::locate;
///
/// assert_eq!(locate("header", 0, &[1, 0, 0, 0, 99], le_u32).unwrap(), 1);
/// assert_eq!(locate("header", 512, &[1, 0], le_u32).unwrap_err().offset(), Some(512));
/// ```
///
/// # Errors
/// [`Error::Malformed`] in `structure` at the absolute offset of the fault.
pub fn locate<'a, P>(structure: &'static str, base: u64, bytes: &'a [u8], mut parser: P) -> Result<P::Output>
where
    P: Parser<&'a [u8], Error = ParseError>,
{
    parser.parse(bytes).map(|(_, value)| value).map_err(|e| place(structure, base, bytes.len(), e))
}

/// Does the same as [`locate`], but `parser` must consume all of `bytes`.
///
/// ```
/// use nom::number::complete::le_u32;
/// use sciformats_core::fault::locate_all;
///
/// assert_eq!(locate_all("header", 0, &[1, 0, 0, 0], le_u32).unwrap(), 1);
/// assert_eq!(locate_all("header", 0, &[1, 0, 0, 0, 99], le_u32).unwrap_err().offset(), Some(4));
/// ```
///
/// # Errors
/// [`Error::Malformed`] in `structure` at the absolute offset of the fault.
pub fn locate_all<'a, P>(
    structure: &'static str,
    base: u64,
    bytes: &'a [u8],
    mut parser: P,
) -> Result<P::Output>
where
    P: Parser<&'a [u8], Error = ParseError>,
{
    whole(bytes, &mut parser).map_err(|e| place(structure, base, bytes.len(), e))
}

fn whole<'a, P>(bytes: &'a [u8], parser: &mut P) -> Result<P::Output, nom::Err<ParseError>>
where
    P: Parser<&'a [u8], Error = ParseError>,
{
    let (rest, value) = parser.parse(bytes)?;
    if rest.is_empty() {
        return Ok(value);
    }
    Err(nom::Err::Error(ParseError::new(rest.len(), FaultKind::Leftover { bytes: rest.len() as u64 })))
}

/// Converts the error of a parser of `len` bytes to an absolute offset.
#[cold]
#[inline(never)]
fn place(structure: &'static str, base: u64, len: usize, e: nom::Err<ParseError>) -> Error {
    match e {
        nom::Err::Error(e) | nom::Err::Failure(e) => {
            let position = bound::left(len, e.remaining()) as u64;
            e.fault().at(structure, bound::sum(base, position)) // a position in a message
        }
        nom::Err::Incomplete(_) => Fault::from(FaultKind::Truncated).at(structure, base),
    }
}

#[cfg(test)]
mod tests {
    use nom::number::complete::{le_u16, le_u32};

    use super::*;

    fn pair(i: &[u8]) -> Parsed<'_, (u16, u32)> {
        let (i, a) = constant("a", le_u16, 7)(i)?;
        let (i, b) = checked("b", le_u32, |&b| {
            (b > 9).then_some(FaultKind::OutOfBounds { found: b.into(), end: 10 })
        })(i)?;
        Ok((i, (a, b)))
    }

    #[track_caller]
    fn shows(bytes: &[u8], expected: &str) {
        assert_eq!(locate_all("pair", 0x100, bytes, pair).unwrap_err().to_string(), expected);
    }

    #[test]
    fn faults_name_field_and_absolute_offset() {
        shows(&[7], "malformed pair at offset 0x100: a is truncated");
        shows(&[8, 0, 1, 0, 0, 0], "malformed pair at offset 0x100: a is 8, expected 7");
        shows(&[7, 0, 1, 0], "malformed pair at offset 0x102: b is truncated");
        shows(&[7, 0, 10, 0, 0, 0], "malformed pair at offset 0x102: b is 10, out of bounds (end 10)");
        shows(&[7, 0, 1, 0, 0, 0, 5, 5], "malformed pair at offset 0x106: it leaves 2 bytes unread");
        assert_eq!(locate("pair", 0, &[7, 0, 1, 0, 0, 0, 5], pair).unwrap(), (7, 1));
    }

    #[test]
    fn the_offset_survives_a_sub_slice() {
        fn two(i: &[u8]) -> Parsed<'_, ((u16, u32), (u16, u32))> {
            let (i, first) = sized(6, pair)(i)?;
            let (i, second) = sized(6, pair)(i)?;
            Ok((i, (first, second)))
        }
        let mut bytes = vec![7, 0, 1, 0, 0, 0, 7, 0, 2, 0, 0, 0];
        assert_eq!(locate_all("two", 0, &bytes, two).unwrap(), ((7, 1), (7, 2)));
        bytes[2] = 99;
        assert_eq!(
            locate_all("two", 0x40, &bytes, two).unwrap_err().to_string(),
            "malformed two at offset 0x42: b is 99, out of bounds (end 10)"
        );
        let long = sized(7, pair);
        bytes[2] = 1;
        assert_eq!(
            locate("long", 0, &bytes, long).unwrap_err().to_string(),
            "malformed long at offset 0x6: it leaves 1 byte unread"
        );
    }
}
