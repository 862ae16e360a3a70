//! Everything before the elements.
//!
//! | offset | size | field |
//! |--:|--:|---|
//! | 0 | 6 | magic `\x93NUMPY` |
//! | 6 | 2 | version: 1.0; 2.0 if the header is longer than 65535 bytes; 3.0 if it is not Latin-1 |
//! | 8 | 2 or 4 | length of the header, little-endian; 4 bytes from version 2.0 on |
//! | 10, 12 | | header: a Python dictionary in Latin-1 or UTF-8, spaces, a line feed; ends at a multiple of 64 |
//!
//! The spaces leave room for the dimension along which the array can grow, up to 21 digits of it, as NumPy does.
//!
//! The dictionary has these keys, in any order:
//!
//! | text | field |
//! |---|---|
//! | `'descr': '<f4'` | the type of the elements |
//! | `'fortran_order': False` | whether the first index varies fastest, instead of the last |
//! | `'shape': (3, 4)` | the dimensions, which are a tuple of integers; empty for a single element |

use nom::Parser;
use nom::bytes::complete::tag;
use nom::combinator::map;
use nom::number::complete::{le_u8, le_u16, le_u32};
use sciformats_core::arith::{add, fit};
use sciformats_core::fault::{Parsed, fail, field, locate, locate_all};
use sciformats_core::literal::{Encoding, Literal, Tuple};
use sciformats_core::slab::elements;
use sciformats_core::{Error, FaultKind, Result, bound};

use super::dtype::{DType, dimensions};

/// The first bytes of every file.
pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The keys of the dictionary, besides which there are no others.
const KEYS: [&str; 3] = ["descr", "fortran_order", "shape"];

/// The alignment in bytes of the end of a header.
const ALIGNMENT: usize = 64;

/// The number of digits for which the dimension along which an array can grow has space.
const GROWTH: usize = 21;

/// The fields before the dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preamble {
    /// The major and the minor version.
    pub(crate) version: (u8, u8),
    /// The size of the dictionary and its padding in bytes.
    pub(crate) length: u32,
    /// The offset of the dictionary.
    pub(crate) start: u8,
}

impl Preamble {
    /// The largest size of these fields in bytes.
    pub(crate) const SIZE: usize = 12;

    /// Parses the fields before the dictionary.
    ///
    /// # Errors
    /// `Malformed`; `Unsupported` if the version is not known.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        match locate("header", 0, bytes, Self::parse)? {
            (version, Some((length, start))) => Ok(Self { version, length, start }),
            ((major, minor), None) => {
                Err(Error::unsupported(format!("version {major}.{minor} of the npy format")))
            }
        }
    }

    /// Parses the version, and if it is known, also the length of the dictionary and its offset.
    fn parse(i: &[u8]) -> Parsed<'_, Start> {
        const LENGTH: &str = "length of the header";
        let (i, version) = Self::version(i)?;
        let (i, length) = match version {
            (1, 0) => field(LENGTH, map(le_u16, |length| Some((length.into(), 10))))(i)?,
            (2 | 3, 0) => field(LENGTH, map(le_u32, |length| Some((length, 12))))(i)?,
            _ => (i, None),
        };
        Ok((i, (version, length)))
    }

    fn version(i: &[u8]) -> Parsed<'_, (u8, u8)> {
        let Ok((i, _)) = tag::<_, _, sciformats_core::fault::ParseError>(&MAGIC[..]).parse(i) else {
            return field("magic", |i| fail(i, FaultKind::Rule("is not that of an npy file")))(i);
        };
        let (i, major) = field("version", le_u8)(i)?;
        let (i, minor) = field("version", le_u8)(i)?;
        Ok((i, (major, minor)))
    }
}

/// A version, and the length and the offset of the dictionary.
type Start = ((u8, u8), Option<(u32, u8)>);

/// The description of the array in a file.
///
/// ```
/// use npy::{DType, Header, Kind};
///
/// let header = Header::new(DType::scalar(Kind::Float, 4), vec![3, 4]);
/// let bytes = header.to_bytes()?;
/// assert_eq!(bytes.len(), 128); // the elements follow at a multiple of 64
/// assert_eq!(bytes[..6], *b"\x93NUMPY");
/// assert_eq!(header.stored_size(), Some(48));
/// # Ok::<(), npy::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type of the elements.
    pub dtype: DType,
    /// Whether the first index varies fastest.
    pub fortran_order: bool,
    /// The dimensions. In C order, the slowest varying is the first.
    pub shape: Vec<u64>,
}

impl Header {
    /// Creates the header of an array in C order.
    pub fn new(dtype: DType, shape: impl Into<Vec<u64>>) -> Self {
        Self { dtype, fortran_order: false, shape: shape.into() }
    }

    /// Returns the dimension along which elements can be appended, which is the slowest varying one.
    pub(crate) fn growing(&self) -> Option<usize> {
        let last = self.shape.len().checked_sub(1)?;
        Some(if self.fortran_order { last } else { 0 })
    }

    /// Returns the number of elements, or `None` if it does not fit 64 bits.
    pub fn elements(&self) -> Option<u64> {
        elements(&self.shape)
    }

    /// Returns the size of all elements in bytes, or `None` if it does not fit 64 bits.
    pub fn stored_size(&self) -> Option<u64> {
        self.elements()?.checked_mul(self.dtype.size()?)
    }

    /// Parses the dictionary, which is at the offset `start` of the file.
    ///
    /// # Errors
    /// `Malformed`. The offset is that of the dictionary, or of the place where the text is not valid Python.
    pub(crate) fn read(bytes: &[u8], version: (u8, u8), start: u64) -> Result<Self> {
        let encoding = if version.0 == 3 { Encoding::Utf8 } else { Encoding::Latin1 };
        locate_all("header", start, bytes, |i| Self::parse(i, encoding))
    }

    fn parse(i: &[u8], encoding: Encoding) -> Parsed<'_, Self> {
        let (rest, literal) = field("header", Literal::parse(encoding))(i)?;
        let wrong = |rule| field("header", |i| fail(i, FaultKind::Rule(rule)))(i);
        let Literal::Dictionary(pairs) = literal else { return wrong("is not a Python dictionary") };
        let value = |key: &str| {
            // Of keys that are repeated, the last one counts in Python.
            pairs.iter().rfind(|(name, _)| *name == Literal::Text(key.into())).map(|(_, value)| value)
        };
        let is_known = |key: &Literal| matches!(key, Literal::Text(key) if KEYS.contains(&key.as_str()));
        if !pairs.iter().all(|(key, _)| is_known(key)) {
            return wrong("has a key that is neither descr nor fortran_order nor shape");
        }
        let Some(descr) = value("descr") else { return wrong("lacks the key descr") };
        let Some(dtype) = DType::of(descr) else { return wrong("has a descr that is not a type") };
        let Some(Literal::Bool(fortran_order)) = value("fortran_order") else {
            return wrong("lacks the key fortran_order, or its value is neither True nor False");
        };
        let Some(shape) = value("shape").and_then(dimensions) else {
            return wrong("lacks the key shape, or its value is not a tuple of integers");
        };
        Ok((rest, Self { dtype, fortran_order: *fortran_order, shape }))
    }

    /// Appends everything before the elements to `out`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the header would have 4 GiB; [`Error::Usage`] if two fields have the same name, which NumPy cannot
    /// read.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        let Self { dtype, fortran_order, shape } = self;
        if let Some(name) = dtype.repeated_name() {
            return Err(Error::usage("type", format!("has several fields of the name {name:?}")));
        }
        let order = if *fortran_order { "True" } else { "False" };
        let shape = Tuple(shape);
        let mut dictionary = format!("{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {shape}, }}");
        if let Some(length) = self.growing().and_then(|axis| self.shape.get(axis)) {
            let room = bound::left(GROWTH, length.to_string().len());
            dictionary.extend(std::iter::repeat_n(' ', room));
        }
        let wide = || Error::unsupported("a header of 4 GiB");
        // The line feed is the last byte before a multiple of 64 bytes.
        let padded = |before: usize| {
            let end = dictionary.len().checked_add(before)?.checked_add(1)?;
            end.checked_next_multiple_of(ALIGNMENT)?.checked_sub(before)
        };
        let (version, before, length) = match (dictionary.is_ascii(), padded(10).ok_or_else(wide)?) {
            (true, length) if u16::try_from(length).is_ok() => (1, 10, length),
            (ascii, _) => (if ascii { 2 } else { 3 }, 12, padded(12).ok_or_else(wide)?),
        };
        let begin = out.len();
        out.extend(MAGIC);
        out.extend([version, 0]);
        match version {
            1 => out.extend(fit::<u16, _>(length, "length of the header")?.to_le_bytes()),
            _ => out.extend(u32::try_from(length).map_err(|_| wide())?.to_le_bytes()),
        }
        out.extend(dictionary.as_bytes());
        let end = add(add(begin, before)?, length)?;
        out.resize(sciformats_core::arith::sub(end, 1)?, b' ');
        out.push(b'\n');
        Ok(())
    }

    /// Returns everything before the elements.
    ///
    /// # Errors
    /// Those of [`encode`](Self::encode).
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.encode(&mut out)?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::spec::{Field, Kind};

    fn read(bytes: &[u8]) -> Result<Header> {
        let preamble = Preamble::read(bytes)?;
        let start = usize::from(preamble.start);
        Header::read(&bytes[start..][..preamble.length as usize], preamble.version, preamble.start.into())
    }

    #[test]
    fn a_header_byte_by_byte() {
        let header = Header::new(DType::scalar(Kind::Float, 4), [3, 4]);
        let expected = [
            &b"\x93NUMPY"[..],           // magic
            &[1, 0],                     // version: 1.0
            &[118, 0],                   // length of the header
            b"{'descr': '<f4', ",        // type of the elements
            b"'fortran_order': False, ", // the last index varies fastest
            b"'shape': (3, 4), }",       // dimensions
            &[b' '; 58],                 // spaces up to a multiple of 64
            b"\n",                       // line feed
        ]
        .concat();
        assert_eq!(expected.len(), 128);
        assert_eq!(header.to_bytes().unwrap(), expected);
        assert_eq!(read(&expected).unwrap(), header);
    }

    #[test]
    fn long_and_foreign_headers_take_later_versions() {
        let float = DType::scalar(Kind::Float, 4);
        let many = (0..6000).map(|i| Field::new(format!("x{i}"), float.clone())).collect();
        let long = Header::new(DType::Record(many), []);
        let bytes = long.to_bytes().unwrap();
        assert_eq!((bytes[6], bytes.len() % 64), (2, 0));
        assert_eq!(u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize, bytes.len() - 12);
        assert_eq!(read(&bytes).unwrap(), long);
        let foreign = Header::new(DType::Record(vec![Field::new("µ", float)]), [1]);
        let bytes = foreign.to_bytes().unwrap();
        assert_eq!((bytes[6], bytes.len() % 64, bytes.last()), (3, 0, Some(&b'\n')));
        assert_eq!(read(&bytes).unwrap(), foreign);
    }

    #[test]
    fn what_is_wrong_is_told_where_it_is() {
        let header = |dictionary: &str| {
            let mut bytes = b"\x93NUMPY\x01\0".to_vec();
            bytes.extend(u16::try_from(dictionary.len()).unwrap().to_le_bytes());
            bytes.extend(dictionary.as_bytes());
            read(&bytes).unwrap_err().to_string()
        };
        for (dictionary, message) in [
            ("(1,)", "malformed header at offset 0xa: header is not a Python dictionary"),
            ("{'descr': x}", "malformed header at offset 0x14: header is not a Python literal"),
            ("{'descr': '<f4'", "malformed header at offset 0x19: header is not a Python literal"),
            (
                "{'descr': '<f4', 'more': 1}",
                "malformed header at offset 0xa: header has a key that is neither descr nor fortran_order nor shape",
            ),
            (
                "{'descr': [('a', '<f4'), ('b', '<f4'), ('a', '<i2')], 'fortran_order': False, 'shape': ()}",
                "malformed header at offset 0xa: header has a descr that is not a type",
            ),
            ("{}", "malformed header at offset 0xa: header lacks the key descr"),
        ] {
            assert_eq!(header(dictionary), message);
        }
        for (bytes, message) in [
            (&b"\x93NUMPI\x01\0"[..], "malformed header at offset 0x0: magic is not that of an npy file"),
            (b"\x93NUMPY\x01", "malformed header at offset 0x7: version is truncated"),
            (b"\x93NUMPY\x01\0\xff", "malformed header at offset 0x8: length of the header is truncated"),
            (b"\x93NUMPY\x04\0aaaa", "version 4.0 of the npy format is not supported"),
        ] {
            assert_eq!(Preamble::read(bytes).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn the_last_of_several_equal_keys_counts() {
        let dictionary =
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'shape': (2,), 'descr': '<i2'}";
        let header = Header::read(dictionary, (1, 0), 10).unwrap();
        assert_eq!(header, Header::new(DType::scalar(Kind::Int, 2), [2]));
    }

    #[test]
    fn fields_of_equal_names_are_not_written() {
        let field = |name: &str| Field::new(name, DType::scalar(Kind::Float, 4));
        let header = |names: [&str; 3]| Header::new(DType::Record(names.map(field).to_vec()), [1]);
        let refused = header(["a", "b", "a"]).to_bytes().unwrap_err();
        assert_eq!(refused.to_string(), "type has several fields of the name \"a\"");
        assert!(header(["a", "", ""]).to_bytes().is_ok());
    }

    proptest! {
        #[test]
        fn headers_come_back(shape in prop::collection::vec(any::<u64>(), 0..5), name: String, fortran_order: bool) {
            let dtype = DType::Record(vec![Field::new(name, DType::scalar(Kind::Text, 8))]);
            let header = Header { dtype, fortran_order, shape };
            prop_assert_eq!(read(&header.to_bytes().unwrap()).unwrap(), header);
        }

        #[test]
        fn no_bytes_panic(version in 0u8..5, bytes in prop::collection::vec(any::<u8>(), 0..40), text in r"[{}()\[\]'a-z:,<0-9 ]{0,60}") {
            let _ = Preamble::read(&bytes);
            let _ = Preamble::read(&[&MAGIC[..], &[version, 0], &bytes].concat());
            for dictionary in [&bytes[..], text.as_bytes()] {
                let _ = Header::read(dictionary, (version, 0), 10);
            }
        }
    }
}
