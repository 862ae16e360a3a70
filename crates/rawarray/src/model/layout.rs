//! Where an array stands in its file and how it is encoded: the header, checked against itself and the file's length.

use sciformats_core::commit::journal;
use sciformats_core::endian::ByteOrder;
use sciformats_core::fault::locate;
use sciformats_core::{Error, Fault, FaultKind, ReadAt, Result, bound, slab};

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
    /// As they are, one after another.
    #[default]
    Raw,
    /// All together as one LZ4 block, as the C library does it.
    Lz4,
    /// Integers in base 128, as the Julia package does it; the payload is the rest of the file.
    Leb128,
    /// Truth values as single bits in words of 64, as the Julia package does it.
    Bits,
}

/// A header and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) header: Header,
    /// The dimensions in C order, the slowest varying first.
    pub(crate) shape: Vec<u64>,
    pub(crate) element: ElementType,
    pub(crate) encoding: Encoding,
    pub(crate) order: ByteOrder,
    /// Number of elements.
    pub(crate) count: u64,
    /// Bytes of all decoded elements.
    pub(crate) bytes: u64,
    /// Offset of the payload.
    pub(crate) data: u64,
    /// Bytes of the payload.
    pub(crate) stored: u64,
    /// Length of the file.
    pub(crate) file_len: u64,
}

impl Layout {
    /// Derives the layout of a file of `file_len` bytes with this header.
    pub(crate) fn new(header: Header, file_len: u64, ignore_undefined_flags: bool) -> Result<Self> {
        let flags = header.flags;
        if let Some(bit) = flags.undefined_bit().filter(|_| !ignore_undefined_flags) {
            let what = format!("flag bit {bit}").into();
            return Err(Error::Unsupported { what, feature: None, offset: Some(FLAGS_AT) });
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
            return size(FaultKind::Rule("is less than the array can be compressed to"));
        }
        if self.encoding == Encoding::Leb128 && self.header.elbyte > leb128::WIDEST as u64 {
            return Err(Error::unsupported(format!("LEB128 of integers of {} bytes", self.header.elbyte)));
        }
        Ok(())
    }

    /// Offset of the metadata, which end with the file.
    pub(crate) fn metadata(&self) -> u64 {
        // What is stored lies in the file: the sum does not reach its bound.
        bound::sum(self.data, self.stored)
    }
}

/// Which encoding the flags mean. C and Julia use bit 1 for different ones; the size in the header tells them apart: C
/// states the compressed one, Julia the other.
fn encoding(header: &Header, bytes: u64) -> Encoding {
    let encoded = header.flags.contains(Flags::ENCODED);
    match header.eltype {
        _ if header.flags.contains(Flags::BITS) => Encoding::Bits,
        _ if !encoded => Encoding::Raw,
        _ if header.size != bytes => Encoding::Lz4,
        ElementKind::Int | ElementKind::UInt if bytes > 0 => Encoding::Leb128,
        // Julia sets the flag on request, but knows no encoding of other elements.
        _ => Encoding::Raw,
    }
}

/// Bytes of the words that hold `count` bits.
pub(crate) fn size_of_bits(count: u64) -> u64 {
    bound::product(count.div_ceil(64), bits::WORD as u64)
}

/// Reads the header of a file: its bytes and no others.
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

fn read_dims(storage: &(impl ReadAt + ?Sized), ndims: u64) -> Result<Vec<u64>> {
    let size = bound::addressable(bound::product(ndims, 8));
    let bytes = storage.read_at(DIMS_AT, size)?;
    locate("header", DIMS_AT, &bytes, dims(ndims))
}

/// Whether the size is the one of bits in these dimensions.
fn has_bits(header: &Header) -> bool {
    slab::elements(&header.dims).is_some_and(|count| header.size == size_of_bits(count))
}

/// The Julia package states the number of words in place of the number of dimensions of a `BitArray`, and sets the flag for
/// encoded integers with that for bits, as no other writer does. The words end the file, so its length tells how many
/// dimensions there are.
fn counted_in_words(storage: &(impl ReadAt + ?Sized), preamble: Preamble) -> Result<Option<Header>> {
    let rest = storage.size().checked_sub(DIMS_AT).and_then(|room| room.checked_sub(preamble.size));
    let Some(rest) = rest.filter(|rest| rest.is_multiple_of(8) && preamble.ndims == preamble.size / 8) else {
        return Ok(None);
    };
    let header = preamble.with_dims(read_dims(storage, rest / 8)?);
    Ok(has_bits(&header).then_some(header))
}

/// Whether a journal may stand after the data. The edits of this crate change neither what precedes the size in the
/// header nor the header's length, and write the size within one sector, so what the header says is true of the
/// file before the edit or after it, and the journal lies beyond both.
pub(crate) fn may_have_journal(header: &Header, len: u64) -> bool {
    bound::sum(header.end(), header.size) < len && len.is_multiple_of(sciformats_core::commit::SECTOR)
}

/// The header of a file and, if an edit was interrupted, the file as it left it.
pub(crate) fn open<S: ReadAt + 'static>(storage: S) -> Result<(Header, std::sync::Arc<dyn ReadAt>)> {
    let header = read_header(&storage)?;
    if may_have_journal(&header, storage.size()) && journal::is_interrupted(&storage)? {
        let view = journal::view(storage)?;
        return Ok((read_header(&view)?, std::sync::Arc::new(view)));
    }
    Ok((header, std::sync::Arc::new(storage)))
}
