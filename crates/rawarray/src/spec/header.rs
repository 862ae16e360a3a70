//! "File Structure": the header. Every word is a little-endian unsigned integer of 64 bits.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic `rawarray` |
//! | 8 | 8 | flags |
//! | 16 | 8 | eltype: code of the kind of element |
//! | 24 | 8 | elbyte: size of an element in bytes |
//! | 32 | 8 | size: size of the data segment in bytes |
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

/// The offset of the flags.
pub(crate) const FLAGS_AT: u64 = 8;
/// The offset of `eltype`.
pub(crate) const ELTYPE_AT: u64 = 16;
/// The offset of `elbyte`.
pub(crate) const ELBYTE_AT: u64 = 24;
/// The offset of the size.
pub(crate) const SIZE_AT: u64 = 32;
/// The offset of the number of dimensions.
pub(crate) const NDIMS_AT: u64 = 40;
/// The offset of the first dimension.
pub(crate) const DIMS_AT: u64 = 48;

/// The words before the dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preamble {
    /// The byte order and the encoding.
    pub(crate) flags: Flags,
    /// The kind of the elements.
    pub(crate) eltype: ElementKind,
    /// The size of an element in bytes.
    pub(crate) elbyte: u64,
    /// The size of the data segment in bytes.
    pub(crate) size: u64,
    /// The number of dimensions that follow.
    pub(crate) ndims: u64,
}

impl Preamble {
    /// Its size in the file.
    pub(crate) const SIZE: usize = 48;

    /// Parses the six words.
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

    /// Returns the header with these words and `dims`.
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
    /// The byte order and the encoding.
    pub flags: Flags,
    /// The kind of the elements.
    pub eltype: ElementKind,
    /// The size of an element in bytes.
    pub elbyte: u64,
    /// The size of the data segment in bytes, or [`UNFINISHED`](Self::UNFINISHED) while a stream is being written.
    pub size: u64,
    /// The dimensions, the fastest varying first. A single element has no dimensions.
    pub dims: Vec<u64>,
}

impl Header {
    /// The `size` of a file whose writer has not finished it. No file can be that long, so every reader that compares it with the
    /// length of the file refuses the file.
    pub const UNFINISHED: u64 = u64::MAX;

    /// Parses the header at the start of `bytes`, and ignores what follows. Only its form is checked.
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
    /// `Malformed` if the bytes begin with another magic number, or end within the header.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        locate("header", 0, bytes, Self::parse)
    }

    /// Parses a header.
    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, preamble) = Preamble::parse(i)?;
        let (i, dims) = dims(preamble.ndims)(i)?;
        Ok((i, preamble.with_dims(dims)))
    }

    /// Appends the bytes of the header to `out`.
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

    /// Returns the offset of the first byte after the header, where the data begin.
    ///
    /// ```
    /// use rawarray::{Header, RawArray};
    ///
    /// let file = RawArray::new([3, 2], vec![0u16; 6])?.encode(&Default::default())?;
    /// assert_eq!(Header::from_bytes(&file)?.end(), 48 + 2 * 8);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    pub fn end(&self) -> u64 {
        // The dimensions are in memory, so their size fits.
        bound::sum(bound::product(self.dims.len() as u64, 8), DIMS_AT)
    }
}

/// Parses `ndims` dimensions.
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
