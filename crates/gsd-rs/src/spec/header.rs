//! The header, which is the first 256 bytes of the file.
//!
//! | offset | size | field |
//! |--:|--:|---|
//! | 0 | 8 | `magic`: 0x65DF65DF65DF65DF |
//! | 8 | 8 | `index_location`: byte offset of the index block |
//! | 16 | 8 | `index_allocated_entries`: its size in entries of 32 bytes |
//! | 24 | 8 | `namelist_location`: byte offset of the name list block |
//! | 32 | 8 | `namelist_allocated_entries`: its size in units of 64 bytes |
//! | 40 | 4 | `schema_version` |
//! | 44 | 4 | `gsd_version`: version of the file layer |
//! | 48 | 64 | `application`: text, then zeros |
//! | 112 | 64 | `schema`: text, then zeros |
//! | 176 | 80 | `reserved`: zeros |
//!
//! The numbers of entries and names in use are not stored; they follow from the blocks. The header is inside one sector, so it is
//! replaced completely or not at all.

use std::borrow::Cow;
use std::fmt;

use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::le_u64;
use sciformats_core::FaultKind;
use sciformats_core::fault::{Parsed, checked, field};

use super::Version;

const MAGIC: u64 = 0x65DF_65DF_65DF_65DF;

/// The position of a block in the file, and its allocated size.
///
/// ```
/// use gsd_rs::Reader;
///
/// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
/// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
/// # writer.write("step", 1, &[1000u64])?;
/// # writer.end_frame()?;
/// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
/// let index = reader.header().index;
/// assert!(index.allocated >= reader.entries()); // room for more
/// assert!(index.location >= 256); // behind the header
/// # Ok::<(), gsd_rs::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The byte offset in the file.
    pub location: u64,
    /// The allocated units: index entries of 32 bytes, or units of 64 bytes of the name list.
    pub allocated: u64,
}

/// The fields of the first 256 bytes.
///
/// ```
/// use gsd_rs::{CreateOptions, Version, Writer};
///
/// let options = CreateOptions::new("my program", "hoomd", Version::new(1, 4));
/// let writer = Writer::create_in(Vec::new(), &options)?;
/// let header = writer.header();
/// assert_eq!((header.version, header.schema_version), (Version::new(2, 1), Version::new(1, 4)));
/// assert_eq!(header.schema.as_bytes(), b"hoomd");
/// # Ok::<(), gsd_rs::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The index block, in entries of 32 bytes.
    pub index: Block,
    /// The name list block, in units of 64 bytes.
    pub names: Block,
    /// The version of the schema.
    pub schema_version: Version,
    /// The version of the file layer.
    pub version: Version,
    /// The program that created the file.
    pub application: Label,
    /// The schema, which defines the meaning of the chunks.
    pub schema: Label,
    /// Bytes that have no meaning yet.
    pub reserved: [u8; 80],
}

impl Header {
    /// The size in bytes.
    pub(crate) const SIZE: usize = 256;
    /// The offset of `gsd_version`.
    pub(crate) const VERSION_OFFSET: u64 = 44;
    /// The offset of `index_location`.
    pub(crate) const INDEX_OFFSET: u64 = 8;
    /// The offset of `namelist_location`.
    pub(crate) const NAMES_OFFSET: u64 = 24;

    /// Returns whether a file that begins with these bytes has the signature of the format.
    pub(crate) fn begins(head: &[u8]) -> bool {
        head.starts_with(&MAGIC.to_le_bytes())
    }

    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, _) = checked("magic", le_u64, |&magic| (magic != MAGIC).then_some(FaultKind::Signature))(i)?;
        let (i, index_location) = field("index_location", le_u64)(i)?;
        let (i, index_allocated) = field("index_allocated_entries", le_u64)(i)?;
        let (i, names_location) = field("namelist_location", le_u64)(i)?;
        let (i, names_allocated) = field("namelist_allocated_entries", le_u64)(i)?;
        let (i, schema_version) = field("schema_version", Version::parse)(i)?;
        let (i, version) = field("gsd_version", Version::parse)(i)?;
        let (i, application) = field("application", bytes)(i)?;
        let (i, schema) = field("schema", bytes)(i)?;
        let (i, reserved) = field("reserved", bytes)(i)?;
        Ok((
            i,
            Self {
                index: Block { location: index_location, allocated: index_allocated },
                names: Block { location: names_location, allocated: names_allocated },
                schema_version,
                version,
                application: Label(application),
                schema: Label(schema),
                reserved,
            },
        ))
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let words =
            [MAGIC, self.index.location, self.index.allocated, self.names.location, self.names.allocated];
        words.iter().for_each(|word| out.extend(word.to_le_bytes()));
        self.schema_version.encode(out);
        self.version.encode(out);
        out.extend(self.application.0);
        out.extend(self.schema.0);
        out.extend(self.reserved);
    }
}

fn bytes<const N: usize>(i: &[u8]) -> Parsed<'_, [u8; N]> {
    take(N).map(|part: &[u8]| part.try_into().unwrap_or([0; N])).parse(i)
}

/// A text of at most 63 bytes in a field of 64, padded with zeros.
///
/// ```
/// use gsd_rs::Label;
///
/// assert_eq!(Label::new("hoomd").map(|label| label.to_text().into_owned()), Some("hoomd".into()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Label([u8; 64]);

impl Label {
    /// The longest text, in bytes.
    pub const MAX: usize = 63;

    /// Creates a label; `None` if the text has more than 63 bytes or contains a NUL.
    ///
    /// ```
    /// use gsd_rs::Label;
    ///
    /// assert!(Label::new("my program 3.1").is_some());
    /// assert!(Label::new(&"x".repeat(64)).is_none());
    /// ```
    pub fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; 64];
        let target = bytes.get_mut(..text.len()).filter(|target| target.len() <= Self::MAX)?;
        target.copy_from_slice(text.as_bytes());
        (!text.contains('\0')).then_some(Self(bytes))
    }

    /// Returns the bytes before the first zero.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.split(|&byte| byte == 0).next().unwrap_or_default()
    }

    /// Returns the text, for display: bytes that are not UTF-8 are shown as `U+FFFD`.
    pub fn to_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.as_bytes())
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_text(), f)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate_all;

    use super::*;

    fn example() -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend([0xDF, 0x65, 0xDF, 0x65, 0xDF, 0x65, 0xDF, 0x65]); // magic
        bytes.extend([0x00, 0x01, 0, 0, 0, 0, 0, 0]); // index_location: 256
        bytes.extend([0x80, 0x00, 0, 0, 0, 0, 0, 0]); // index_allocated_entries: 128
        bytes.extend([0x00, 0x11, 0, 0, 0, 0, 0, 0]); // namelist_location: 4352
        bytes.extend([0x10, 0x00, 0, 0, 0, 0, 0, 0]); // namelist_allocated_entries: 16
        bytes.extend([0x04, 0x00, 0x01, 0x00]); // schema_version: 1.4
        bytes.extend([0x01, 0x00, 0x02, 0x00]); // gsd_version: 2.1
        bytes.extend(*b"app\0");
        bytes.extend([0; 60]); // application
        bytes.extend(*b"hoomd\0");
        bytes.extend([0; 58]); // schema
        bytes.extend([0; 80]); // reserved
        bytes
    }

    #[test]
    fn fields_in_their_places() {
        let bytes = example();
        let header = locate_all("header", 0, &bytes, Header::parse).unwrap();
        let expected = Header {
            index: Block { location: 256, allocated: 128 },
            names: Block { location: 4352, allocated: 16 },
            schema_version: Version::new(1, 4),
            version: Version::new(2, 1),
            application: Label::new("app").unwrap(),
            schema: Label::new("hoomd").unwrap(),
            reserved: [0; 80],
        };
        assert_eq!(header, expected);
        let mut out = Vec::new();
        header.encode(&mut out);
        assert_eq!(out, bytes);
    }

    #[test]
    fn faults_name_the_field() {
        let fault = |bytes: &[u8]| locate_all("header", 0, bytes, Header::parse).unwrap_err().to_string();
        let mut bytes = example();
        assert_eq!(
            fault(&bytes[..20]),
            "malformed header at offset 0x10: index_allocated_entries is truncated"
        );
        bytes[3] = 0;
        assert_eq!(fault(&bytes), "malformed header at offset 0x0: magic is not the expected signature");
    }

    #[test]
    fn labels_have_63_bytes_at_most() {
        assert_eq!(Label::new(&"x".repeat(63)).unwrap().as_bytes(), [b'x'; 63]);
        assert_eq!(Label::new(&"x".repeat(64)), None);
        assert_eq!(Label::new(&"x".repeat(65)), None);
        assert_eq!(Label::new("a\0b"), None);
    }

    proptest! {
        #[test]
        fn parse_inverts_encode(bytes in prop::collection::vec(any::<u8>(), 248)) {
            let bytes = [&MAGIC.to_le_bytes()[..], &bytes].concat();
            let header = locate_all("header", 0, &bytes, Header::parse).unwrap();
            let mut out = Vec::new();
            header.encode(&mut out);
            prop_assert_eq!(out, bytes);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Header::parse(&bytes);
        }
    }
}
