//! Where an array is in its file, and how it is encoded. The header is checked for consistency and against the length of the
//! file.

use sciformats_core::commit::journal;
use sciformats_core::endian::ByteOrder;
use sciformats_core::fault::locate;
use sciformats_core::{Error, Fault, FaultKind, ReadAt, Result, arith, bound, slab};

use super::edit::row_size;
use super::element_type::ElementType;
use crate::codec::{bits, leb128, lz4};
use crate::spec::header::{DIMS_AT, FLAGS_AT, NDIMS_AT, Preamble, SIZE_AT, dims};
use crate::spec::{ElementKind, Flags, Header};

/// How the elements are stored.
///
/// ```
/// use rawarray::{Encoding, RawArray, Reader, WriteOptions};
///
/// let mask = RawArray::from(vec![true; 6400]);
/// let bytes = mask.encode(&WriteOptions::default().with_encoding(Encoding::Bits))?;
/// let reader = Reader::from_bytes(bytes)?;
/// assert_eq!((reader.encoding(), reader.stored_size()), (Encoding::Bits, 800));
/// # Ok::<(), rawarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Encoding {
    /// One after another, without an encoding.
    #[default]
    Raw,
    /// As a single LZ4 block, as the C library does it.
    Lz4,
    /// As integers in base 128, as the Julia package does it. The payload extends to the end of the file.
    Leb128,
    /// As truth values of one bit each, in words of 64 bits, as the Julia package does it.
    Bits,
}

/// A header, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) header: Header,
    /// The dimensions in C order, the slowest varying first.
    pub(crate) shape: Vec<u64>,
    pub(crate) element: ElementType,
    pub(crate) encoding: Encoding,
    pub(crate) order: ByteOrder,
    /// The number of elements.
    pub(crate) count: u64,
    /// The size of all decoded elements in bytes.
    pub(crate) bytes: u64,
    /// The offset of the payload.
    pub(crate) data: u64,
    /// The size of the payload in bytes.
    pub(crate) stored: u64,
    /// The length of the file.
    pub(crate) file_len: u64,
}

impl Layout {
    /// Derives the layout of a file of `file_len` bytes with this header.
    pub(crate) fn new(header: Header, file_len: u64, ignore_undefined_flags: bool) -> Result<Self> {
        let flags = header.flags;
        if let Some(bit) = flags.undefined_bit().filter(|_| !ignore_undefined_flags) {
            return Err(Error::unsupported_at(format!("flag bit {bit}"), FLAGS_AT));
        }
        if header.size == Header::UNFINISHED {
            return Err(Fault::new("size", FaultKind::Unfinished).at("header", SIZE_AT));
        }
        let element = ElementType::of(&header)?;
        let overflow = || Fault::new("dims", FaultKind::Overflow).at("header", DIMS_AT);
        let count = slab::elements(&header.dims).ok_or_else(overflow)?;
        let bytes = count.checked_mul(element.size()).ok_or_else(overflow)?;
        let encoding = encoding(&header, bytes);
        let data = header.end();
        let room = bound::left(file_len, data);
        let stored = if encoding == Encoding::Leb128 { room } else { header.size };
        let order = if flags.contains(Flags::BIG_ENDIAN) { ByteOrder::Big } else { ByteOrder::Little };
        let shape = header.dims.iter().rev().copied().collect();
        let layout = Self { header, shape, element, encoding, order, count, bytes, data, stored, file_len };
        layout.check_size(room)?;
        Ok(layout)
    }

    fn check_size(&self, room: u64) -> Result<()> {
        let found = self.header.size;
        let expected = match self.encoding {
            Encoding::Raw => self.bytes,
            Encoding::Bits => size_of_bits(self.count),
            Encoding::Lz4 | Encoding::Leb128 => found,
        };
        let size = |kind| Err(Fault::new("size", kind).at("header", SIZE_AT));
        if found != expected {
            return size(FaultKind::Mismatch { expected, found });
        }
        if self.stored > room || self.encoding == Encoding::Leb128 && self.stored < self.count {
            return Err(Fault::new("the array's data", FaultKind::Truncated).at("file", self.file_len));
        }
        if self.encoding == Encoding::Lz4 && bound::product(found, lz4::EXPANSION) < self.bytes {
            return size(FaultKind::Rule("is smaller than LZ4 can compress the array to"));
        }
        if self.encoding == Encoding::Leb128 && self.header.elbyte > leb128::WIDEST as u64 {
            return Err(Error::unsupported(format!("LEB128 of integers of {} bytes", self.header.elbyte)));
        }
        Ok(())
    }

    /// Returns the offset of the metadata, which extend to the end of the file.
    pub(crate) fn metadata(&self) -> u64 {
        // The payload is inside of the file, so the sum does not reach its bound.
        bound::sum(self.data, self.stored)
    }
}

/// Returns the encoding that the flags mean. C and Julia use bit 1 for different encodings, which the size in the header tells
/// apart: C stores the size of the compressed data, and Julia the size of the decoded data.
fn encoding(header: &Header, bytes: u64) -> Encoding {
    let encoded = header.flags.contains(Flags::ENCODED);
    match header.eltype {
        _ if header.flags.contains(Flags::BITS) => Encoding::Bits,
        _ if !encoded => Encoding::Raw,
        _ if header.size != bytes => Encoding::Lz4,
        ElementKind::Int | ElementKind::UInt if bytes > 0 => Encoding::Leb128,
        // Julia sets the flag on request, but only encodes integers.
        _ => Encoding::Raw,
    }
}

/// Returns the size in bytes of the words that contain `count` bits.
pub(crate) fn size_of_bits(count: u64) -> u64 {
    bound::product(count.div_ceil(64), bits::WORD as u64)
}

/// Reads the header of a file, and no other bytes.
pub(crate) fn read_header(storage: &(impl ReadAt + ?Sized)) -> Result<Header> {
    let len = storage.size();
    let head = storage.read_at(0, Preamble::SIZE.min(bound::addressable(len)))?;
    let preamble = locate("header", 0, &head, Preamble::parse)?;
    let room = bound::left(len, DIMS_AT) / 8;
    if preamble.ndims > room {
        let kind = FaultKind::OutOfBounds { found: preamble.ndims, end: bound::sum(room, 1) };
        return Err(Fault::new("ndims", kind).at("header", NDIMS_AT));
    }
    let header = preamble.with_dims(read_dims(storage, preamble.ndims)?);
    let julia = preamble.flags.contains(Flags::ENCODED | Flags::BITS);
    if julia && !(has_bits(&header) && header.end().checked_add(header.size) == Some(len)) {
        return Ok(counted_in_words(storage, preamble)?.unwrap_or(header));
    }
    Ok(header)
}

/// Returns the header of an unfinished file of this length as it would be if the file were finished after its last whole row.
pub(crate) fn so_far(mut header: Header, file_len: u64) -> Result<Header> {
    let unfinished = || Fault::new("size", FaultKind::Unfinished).at("header", SIZE_AT);
    let row = row_size(&header, ElementType::of(&header)?.size()).map_err(|_| unfinished())?;
    let rows = arith::div(bound::left(file_len, header.end()), row)?;
    let size = arith::mul(rows, row)?;
    let slowest = header.dims.last_mut().ok_or_else(unfinished)?;
    (*slowest, header.size) = (rows, size);
    Ok(header)
}

fn read_dims(storage: &(impl ReadAt + ?Sized), ndims: u64) -> Result<Vec<u64>> {
    let size = bound::addressable(bound::product(ndims, 8));
    let bytes = storage.read_at(DIMS_AT, size)?;
    locate("header", DIMS_AT, &bytes, dims(ndims))
}

/// Returns whether the size is that of bits with these dimensions.
fn has_bits(header: &Header) -> bool {
    slab::elements(&header.dims).is_some_and(|count| header.size == size_of_bits(count))
}

/// Returns the header if it is that of a `BitArray` by the Julia package, which stores the number of words in place of the
/// number of dimensions. It also sets the flag for encoded integers together with that for bits, as no other writer does. The
/// words extend to the end of the file, so its length determines the number of dimensions.
fn counted_in_words(storage: &(impl ReadAt + ?Sized), preamble: Preamble) -> Result<Option<Header>> {
    let rest = storage.size().checked_sub(DIMS_AT).and_then(|room| room.checked_sub(preamble.size));
    let Some(rest) = rest.filter(|rest| rest.is_multiple_of(8) && preamble.ndims == preamble.size / 8) else {
        return Ok(None);
    };
    let header = preamble.with_dims(read_dims(storage, rest / 8)?);
    Ok(has_bits(&header).then_some(header))
}

/// Returns whether a journal may follow the data. Edits of this crate do not change the fields before the size or the length of
/// the header, and they write the size within one sector. What the header declares is therefore true of the file before or after
/// the edit, and the journal is beyond both.
pub(crate) fn may_have_journal(header: &Header, len: u64) -> bool {
    bound::sum(header.end(), header.size) < len && len.is_multiple_of(sciformats_core::commit::SECTOR)
}

/// Reads the header of a file. If an edit was interrupted, the file is in the state that the journal determines.
pub(crate) fn open<S: ReadAt + 'static>(storage: S) -> Result<(Header, std::sync::Arc<dyn ReadAt>)> {
    let header = match read_header(&storage) {
        // The signature is only looked at by itself if the header cannot be read, so that opening reads the header once.
        Err(Error::Malformed { .. }) if !crate::is_rawarray(&storage) => {
            return Err(Error::not_this_format("RawArray", &storage));
        }
        header => header?,
    };
    if may_have_journal(&header, storage.size()) && journal::is_interrupted(&storage)? {
        let view = journal::view(storage)?;
        return Ok((read_header(&view)?, std::sync::Arc::new(view)));
    }
    Ok((header, std::sync::Arc::new(storage)))
}
