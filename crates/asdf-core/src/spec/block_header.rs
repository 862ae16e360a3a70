//! The header of a block (ASDF standard, "Block header").
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | magic token `\xD3BLK` |
//! | 4 | 2 | `header_size`: size of the header after this field, at least 48 |
//! | 6 | 4 | `flags` |
//! | 10 | 4 | `compression`: a label, or zeros |
//! | 14 | 8 | `allocated_size`: bytes that are reserved after the header |
//! | 22 | 8 | `used_size`: bytes of them that are used |
//! | 30 | 8 | `data_size`: bytes after decoding |
//! | 38 | 16 | `checksum`: MD5, or zeros |
//!
//! All numbers are big-endian. Further bytes of a larger header are skipped. Only their number is kept, because the standard
//! gives them no meaning.

use nom::bytes::complete::take;
use nom::number::complete::{be_u16, be_u32, be_u64};
use sciformats_core::bound;
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};

/// The four bytes at the start of a block.
pub(crate) const MAGIC: [u8; 4] = *b"\xD3BLK";
/// The flag of a block that extends to the end of the file.
pub(crate) const STREAMED: u32 = 1;
/// The size of the magic token and `header_size` in bytes.
pub(crate) const PREFIX: usize = 6;
/// The smallest valid `header_size`.
pub(crate) const MIN_SIZE: u16 = 48;

/// The label of a compression, which is four bytes; zeros mean that there is none.
///
/// ```
/// use asdf_core::structure::Label;
///
/// assert_eq!(Label(*b"lz4\0").to_string(), "lz4");
/// assert!(Label::NONE.is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Label(pub [u8; 4]);

impl Label {
    /// No compression.
    pub const NONE: Self = Self([0; 4]);

    /// Returns whether the block is uncompressed.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = self.0.iter().rposition(|&b| b != 0).map_or(0, |last| bound::sum(last, 1));
        write!(f, "{}", self.0.get(..end).unwrap_or_default().escape_ascii())
    }
}

/// The header of a block.
///
/// ```
/// use asdf_core::structure::Label;
///
/// # let mut document = asdf_core::Document::new();
/// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
/// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
/// let header = file.block(0)?.entry().header;
/// assert_eq!((header.flags, header.compression), (0, Label::NONE));
/// assert_eq!((header.used_size, header.data_size), (24, 24));
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// The size of the header after the field of this name.
    pub header_size: u16,
    /// The flags, including unknown ones.
    pub flags: u32,
    /// The label of the compression.
    pub compression: Label,
    /// The number of bytes that are reserved after the header. It has no meaning if the block is streamed.
    pub allocated_size: u64,
    /// The number of stored bytes. It has no meaning if the block is streamed.
    pub used_size: u64,
    /// The number of bytes after decoding. It has no meaning if the block is streamed.
    pub data_size: u64,
    /// The MD5 of the stored bytes, or zeros.
    pub checksum: [u8; 16],
}

impl BlockHeader {
    /// The size of the whole header of a new block, including the magic token.
    pub const SIZE: usize = 54;

    /// Returns whether the block extends to the end of the file.
    pub fn is_streamed(&self) -> bool {
        self.flags & STREAMED != 0
    }

    /// Returns the size of the whole header, including the magic token.
    pub fn size(&self) -> u64 {
        bound::sum(u64::from(self.header_size), PREFIX as u64)
    }

    /// Parses the header at the start of `bytes`, and ignores what follows. Only its form is checked.
    ///
    /// ```
    /// use asdf_core::structure::BlockHeader;
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// let bytes = document.to_bytes()?;
    /// let at = bytes.windows(4).position(|four| four == b"\xd3BLK").unwrap();
    /// assert_eq!(BlockHeader::from_bytes(&bytes[at..])?.used_size, 24); // found without the file's tree
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed`, with the offset in `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> sciformats_core::Result<Self> {
        sciformats_core::fault::locate("block header", 0, bytes, Self::parse)
    }

    /// Parses a header without the additional bytes that `header_size` may declare.
    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, _) = field("magic token", |i| match take(MAGIC.len())(i)? {
            (rest, magic) if magic == MAGIC => Ok((rest, ())),
            _ => fail(i, FaultKind::Signature),
        })(i)?;
        let (i, header_size) = checked("header_size", be_u16, |&size| {
            (size < MIN_SIZE).then_some(FaultKind::Rule("is below 48"))
        })(i)?;
        let (i, flags) = field("flags", be_u32)(i)?;
        let (i, label) =
            field("compression", nom::combinator::map_opt(take(4usize), |b: &[u8]| b.try_into().ok()))(i)?;
        let streamed = flags & STREAMED != 0;
        let compression = Label(label);
        let (i, allocated_size) = field("allocated_size", be_u64)(i)?;
        let (i, used_size) = checked("used_size", be_u64, |&found| {
            (!streamed && found > allocated_size)
                .then_some(FaultKind::OutOfBounds { found, end: bound::sum(allocated_size, 1) })
        })(i)?;
        let (i, data_size) = checked("data_size", be_u64, |&found| {
            (!streamed && compression.is_none() && found != used_size)
                .then_some(FaultKind::Mismatch { expected: used_size, found })
        })(i)?;
        let (i, checksum) =
            field("checksum", nom::combinator::map_opt(take(16usize), |b: &[u8]| b.try_into().ok()))(i)?;
        if streamed && !compression.is_none() {
            return field("compression", |i| fail(i, FaultKind::Rule("of a streamed block is not empty")))(i);
        }
        Ok((i, Self { header_size, flags, compression, allocated_size, used_size, data_size, checksum }))
    }

    /// Appends the header. Additional bytes that it declares are written as zeros.
    ///
    /// ```
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let mut bytes = Vec::new();
    /// file.block(0)?.entry().header.encode(&mut bytes);
    /// assert_eq!((&bytes[..4], bytes.len()), (&b"\xD3BLK"[..], 54));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.header_size.to_be_bytes());
        let surplus = bound::left(self.header_size, MIN_SIZE);
        out.extend_from_slice(&self.flags.to_be_bytes());
        out.extend_from_slice(&self.compression.0);
        out.extend_from_slice(&self.allocated_size.to_be_bytes());
        out.extend_from_slice(&self.used_size.to_be_bytes());
        out.extend_from_slice(&self.data_size.to_be_bytes());
        out.extend_from_slice(&self.checksum);
        out.extend(std::iter::repeat_n(0, surplus.into()));
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::{locate, locate_all};

    use super::*;

    fn annotated() -> Vec<u8> {
        [
            &b"\xD3BLK"[..],              // magic token
            &[0, 48],                     // header_size
            &[0, 0, 0, 0],                // flags
            b"zlib",                      // compression
            &[0, 0, 0, 0, 0, 0, 1, 0],    // allocated_size
            &[0, 0, 0, 0, 0, 0, 0, 0x20], // used_size
            &[0, 0, 0, 0, 0, 0, 2, 0],    // data_size
            &[1; 16],                     // checksum
        ]
        .concat()
    }

    #[test]
    fn fields_in_the_standards_order() {
        let header = locate_all("block header", 0, &annotated(), BlockHeader::parse).unwrap();
        assert_eq!(
            header,
            BlockHeader {
                header_size: 48,
                flags: 0,
                compression: Label(*b"zlib"),
                allocated_size: 256,
                used_size: 32,
                data_size: 512,
                checksum: [1; 16],
            }
        );
        assert_eq!((header.compression.to_string(), header.size()), ("zlib".into(), 54));
        let mut out = Vec::new();
        header.encode(&mut out);
        assert_eq!(out, annotated());
        assert_eq!(Label(*b"lz4\0").to_string(), "lz4");
    }

    #[test]
    fn faults_name_their_field() {
        let shown = |at: usize, value: u8| {
            let mut bytes = annotated();
            bytes[at] = value;
            locate("block header", 0x100, &bytes, BlockHeader::parse).unwrap_err().to_string()
        };
        assert_eq!(
            shown(0, 0),
            "malformed block header at offset 0x100: magic token is not the expected signature"
        );
        assert_eq!(shown(5, 47), "malformed block header at offset 0x104: header_size is below 48");
        assert_eq!(
            shown(28, 2),
            "malformed block header at offset 0x116: used_size is 544, out of bounds (end 257)"
        );
        let mut plain = annotated();
        plain[10..14].fill(0);
        assert_eq!(
            locate("block header", 0, &plain, BlockHeader::parse).unwrap_err().to_string(),
            "malformed block header at offset 0x1e: data_size is 512, expected 32"
        );
        plain[9] = 1; // streamed: the sizes have no meaning
        assert!(locate("block header", 0, &plain, BlockHeader::parse).is_ok());
    }

    fn header() -> impl Strategy<Value = BlockHeader> {
        (48u16..300, any::<[u8; 4]>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<[u8; 16]>()).prop_map(
            |(header_size, label, a, b, data, checksum)| {
                let (used_size, allocated_size) = (a.min(b), a.max(b));
                let compression = Label(label);
                let data_size = if compression.is_none() { used_size } else { data };
                BlockHeader {
                    header_size,
                    flags: 0,
                    compression,
                    allocated_size,
                    used_size,
                    data_size,
                    checksum,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_parsed(header in header()) {
            let mut bytes = Vec::new();
            header.encode(&mut bytes);
            prop_assert_eq!(bytes.len() as u64, header.size());
            let (rest, parsed) = BlockHeader::parse(&bytes).unwrap();
            prop_assert_eq!(bytes.len() - rest.len(), BlockHeader::SIZE);
            prop_assert_eq!(parsed, header);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = BlockHeader::parse(&bytes);
            let _ = BlockHeader::parse(&[&MAGIC[..], &[0, 48], &bytes].concat());
        }
    }
}
