//! "File Structure": the header, in which every word is 64 bits wide, unsigned and little-endian.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic `rawarray` |
//! | 8 | 8 | flags |
//! | 16 | 8 | eltype: code of the kind of element |
//! | 24 | 8 | elbyte: bytes of an element |
//! | 32 | 8 | size: bytes of the data segment |
//! | 40 | 8 | ndims: number of dimensions |
//! | 48 | 8 × ndims | dims: the dimensions, the fastest varying first |
//!
//! The data follow at 48 + 8 × ndims.

use nom::Parser;
use nom::bytes::complete::tag;
use nom::multi::many_m_n;
use nom::number::complete::le_u64;

use super::{ElementKind, Flags};
use sciformats_core::fault::{Parsed, fail, field, locate};
use sciformats_core::{FaultKind, Result, bound};

/// The first eight bytes of every file.
pub(crate) const MAGIC: [u8; 8] = *b"rawarray";

/// Offset of the flags.
pub(crate) const FLAGS_AT: u64 = 8;
/// Offset of `eltype`.
pub(crate) const ELTYPE_AT: u64 = 16;
/// Offset of `elbyte`.
pub(crate) const ELBYTE_AT: u64 = 24;
/// Offset of the size.
pub(crate) const SIZE_AT: u64 = 32;
/// Offset of the number of dimensions.
pub(crate) const NDIMS_AT: u64 = 40;
/// Offset of the first dimension.
pub(crate) const DIMS_AT: u64 = 48;

/// The words before the dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preamble {
    /// Byte order and encoding.
    pub(crate) flags: Flags,
    /// Kind of the elements.
    pub(crate) eltype: ElementKind,
    /// Bytes of an element.
    pub(crate) elbyte: u64,
    /// Bytes of the data segment.
    pub(crate) size: u64,
    /// Number of dimensions that follow.
    pub(crate) ndims: u64,
}

impl Preamble {
    /// Its size in the file.
    pub(crate) const SIZE: usize = 48;

    /// Reads the six words.
    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, _) = field("magic", tag(&MAGIC[..]))(i)?;
        let (i, flags) = field("flags", le_u64)(i)?;
        let (i, eltype) = field("eltype", le_u64)(i)?;
        let (i, elbyte) = field("elbyte", le_u64)(i)?;
        let (i, size) = field("size", le_u64)(i)?;
        let (i, ndims) = field("ndims", le_u64)(i)?;
        let (flags, eltype) = (Flags::from_bits(flags), ElementKind::from_code(eltype));
        Ok((i, Self { flags, eltype, elbyte, size, ndims }))
    }

    /// The header with these words and `dims`.
    pub(crate) fn with_dims(self, dims: Vec<u64>) -> Header {
        let Self { flags, eltype, elbyte, size, .. } = self;
        Header { flags, eltype, elbyte, size, dims }
    }
}

/// The header of a file.
///
/// ```
/// use rawarray::{ElementKind, Flags, RawArray, Reader};
///
/// let reader = Reader::from_bytes(RawArray::new([3, 2], vec![0u16; 6])?.encode(&Default::default())?)?;
/// let header = reader.header();
/// assert_eq!((header.flags, header.eltype), (Flags::NONE, ElementKind::UInt));
/// assert_eq!(header.dims, [3, 2]);
/// # Ok::<(), rawarray::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Byte order and encoding.
    pub flags: Flags,
    /// Kind of the elements.
    pub eltype: ElementKind,
    /// Bytes of an element.
    pub elbyte: u64,
    /// Bytes of the data segment; [`UNFINISHED`](Self::UNFINISHED) while a stream is being written.
    pub size: u64,
    /// The dimensions, the fastest varying first. Empty for a single element.
    pub dims: Vec<u64>,
}

impl Header {
    /// The `size` of a file whose writer has not come to the end. No file can be that long, so every reader that
    /// compares it with the file's length refuses.
    pub const UNFINISHED: u64 = u64::MAX;

    /// Reads the header at the start of `bytes`, whatever follows it. Nothing but its form is checked.
    ///
    /// ```
    /// use rawarray::{Header, RawArray};
    ///
    /// let file = RawArray::new([3, 2], vec![0u16; 6])?.encode(&Default::default())?;
    /// let header = Header::from_bytes(&file)?;
    /// assert_eq!((header.elbyte, header.size, header.dims), (2, 12, vec![3, 2]));
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the bytes begin with another magic number or end within the header.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        locate("header", 0, bytes, Self::parse)
    }

    /// Parses a header.
    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, preamble) = Preamble::parse(i)?;
        let (i, dims) = dims(preamble.ndims)(i)?;
        Ok((i, preamble.with_dims(dims)))
    }

    /// Appends the header's bytes to `out`.
    ///
    /// ```
    /// use rawarray::{Header, RawArray};
    ///
    /// let file = RawArray::from(vec![1u16, 2]).encode(&Default::default())?;
    /// let mut header = Vec::new();
    /// Header::from_bytes(&file)?.encode(&mut header);
    /// assert_eq!(header, file[..56]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    pub fn encode(&self, out: &mut Vec<u8>) {
        let ndims = self.dims.len() as u64;
        let words = [self.flags.bits(), self.eltype.code(), self.elbyte, self.size, ndims];
        out.extend(MAGIC);
        out.extend(words.iter().chain(&self.dims).flat_map(|word| word.to_le_bytes()));
    }

    /// Offset of the first byte after the header, where the data begin.
    ///
    /// ```
    /// use rawarray::{Header, RawArray};
    ///
    /// let file = RawArray::new([3, 2], vec![0u16; 6])?.encode(&Default::default())?;
    /// assert_eq!(Header::from_bytes(&file)?.end(), 48 + 2 * 8);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    pub fn end(&self) -> u64 {
        // The dimensions stand in memory, so their bytes are counted.
        bound::sum(bound::product(self.dims.len() as u64, 8), DIMS_AT)
    }
}

/// Reads `ndims` dimensions.
pub(crate) fn dims<'a>(ndims: u64) -> impl FnMut(&'a [u8]) -> Parsed<'a, Vec<u64>> {
    move |i| match usize::try_from(ndims) {
        Ok(n) if n <= i.len() / 8 => field("dims", many_m_n(n, n, le_u64)).parse(i),
        _ => field("dims", |i| fail(i, FaultKind::Truncated))(i),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate_all;

    use super::*;

    #[rustfmt::skip]
    const EXAMPLE: [u8; 64] = [
        b'r', b'a', b'w', b'a', b'r', b'r', b'a', b'y', // magic
        0, 0, 0, 0, 0, 0, 0, 0,                         // flags
        4, 0, 0, 0, 0, 0, 0, 0,                         // eltype: complex
        8, 0, 0, 0, 0, 0, 0, 0,                         // elbyte
        96, 0, 0, 0, 0, 0, 0, 0,                        // size
        2, 0, 0, 0, 0, 0, 0, 0,                         // ndims
        3, 0, 0, 0, 0, 0, 0, 0,                         // dims[0], the fastest
        4, 0, 0, 0, 0, 0, 0, 0,                         // dims[1]
    ];

    #[test]
    fn the_example_of_the_format() {
        let header = locate_all("header", 0, &EXAMPLE, Header::parse).unwrap();
        let expected = Header {
            flags: Flags::NONE,
            eltype: ElementKind::Complex,
            elbyte: 8,
            size: 96,
            dims: vec![3, 4],
        };
        assert_eq!(header, expected);
        assert_eq!(header.end(), 64);
        let mut out = Vec::new();
        header.encode(&mut out);
        assert_eq!(out, EXAMPLE);
    }

    #[test]
    fn faults_have_a_field_and_a_place() {
        let shows = |bytes: &[u8], expected: &str| {
            let error = locate("header", 0, bytes, Header::parse).unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        shows(b"rawarraz", "malformed header at offset 0x0: magic is not the expected signature");
        shows(b"rawarr", "malformed header at offset 0x0: magic is not the expected signature");
        shows(&EXAMPLE[..39], "malformed header at offset 0x20: size is truncated");
        shows(&EXAMPLE[..63], "malformed header at offset 0x30: dims is truncated");
        let mut huge = EXAMPLE;
        huge[47] = 0x10; // 2^60 dimensions
        shows(&huge, "malformed header at offset 0x30: dims is truncated");
    }

    proptest! {
        #[test]
        fn parse_reverses_encode(
            words in prop::array::uniform4(any::<u64>()),
            eltype in prop_oneof![0..8u64, any::<u64>()],
            dims in prop::collection::vec(any::<u64>(), 0..9),
            rest in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            let [flags, elbyte, size, _] = words;
            let (flags, eltype) = (Flags::from_bits(flags), ElementKind::from_code(eltype));
            let header = Header { flags, eltype, elbyte, size, dims };
            let mut bytes = Vec::new();
            header.encode(&mut bytes);
            prop_assert_eq!(bytes.len() as u64, header.end());
            bytes.extend(&rest);
            prop_assert_eq!(Header::parse(&bytes), Ok((&rest[..], header)));
        }

        #[test]
        fn no_bytes_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200), magic in any::<bool>()) {
            if magic && bytes.len() >= 8 {
                bytes[..8].copy_from_slice(&MAGIC);
            }
            let _ = Header::parse(&bytes);
        }
    }
}
