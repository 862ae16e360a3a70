//! The parts of a frame's storage, which are its header and its trailer, and reads that extend over several chunks.

use std::ops::Range;
use std::sync::Arc;

use sciformats_core::arith::{fit, increase, sub};
use sciformats_core::commit::journal;
use sciformats_core::fault::{Fault, FaultKind, locate, locate_all};
use sciformats_core::{Error, ReadAt, Result, bound};

use crate::model::chunk::{Chunk, Context};
use crate::model::source::Source;
use crate::spec::chunk_header::{ChunkHeader, Special};
use crate::spec::frame_header::FrameHeader;
use crate::spec::trailer::Trailer;

pub(crate) const FRAME_HEADER: &str = "frame header";
const TRAILER: &str = "frame trailer";
/// The number of bytes that contain both lengths at the start of a frame.
const LENGTHS: u64 = 24;

/// Reads decoded bytes that may extend over several chunks. `chunk_of` returns the chunk that contains a byte, and its range.
pub(crate) fn read_across<'a>(
    total: u64,
    start: u64,
    out: &mut [u8],
    chunk_of: impl Fn(u64) -> Result<(Chunk<'a>, Range<u64>)>,
) -> Result<()> {
    let end = start.checked_add(out.len() as u64).filter(|&end| end <= total);
    let end =
        end.ok_or_else(|| Error::usage("range", format!("is not inside the {total} bytes that exist")))?;
    let (mut at, mut rest) = (start, out);
    while at < end {
        let (chunk, range) = chunk_of(at)?;
        let len = bound::addressable(bound::left(range.end.min(end), at));
        let (piece, after) = rest.split_at_mut(len.min(rest.len()));
        if piece.is_empty() {
            return Err(Fault::new("chunk size", FaultKind::Undefined { found: 0 }).at(FRAME_HEADER, 58));
        }
        let skip = fit(sub(at, range.start)?, "position in a chunk")?;
        if piece.len() == chunk.nbytes() {
            chunk.decode_into(piece)?;
        } else {
            chunk.read_into(skip, piece)?;
        }
        increase(&mut at, piece.len() as u64)?;
        rest = after;
    }
    Ok(())
}

/// Returns a chunk that stores nothing but its kind.
pub(crate) fn special_chunk(
    special: Special,
    typesize: u32,
    nbytes: u32,
    context: &Context,
) -> Result<Chunk<'_>> {
    let header = ChunkHeader::plain(u8::try_from(typesize).unwrap_or(1), nbytes, nbytes.max(1));
    let mut bytes = Vec::new();
    header.special_kind(special).encode(&mut bytes);
    let len = bytes.len() as u64;
    Chunk::open(Source::shared(Arc::new(bytes), 0, len), context)
}

/// Returns the storage in the state of its last commit.
pub(super) fn plain_view(storage: impl ReadAt + 'static) -> Result<Arc<dyn ReadAt>> {
    if journal::is_interrupted(&storage)? {
        Ok(Arc::new(journal::view(storage)?))
    } else {
        Ok(Arc::new(storage))
    }
}

/// Parses the header of a frame. With `rescue`, the end of the frame may be missing.
pub(super) fn read_frame_header(storage: &dyn ReadAt, rescue: bool) -> Result<FrameHeader> {
    let head = storage.read_at(0, bound::addressable(storage.size().min(LENGTHS)))?;
    if !FrameHeader::begins(&head) {
        return Err(Error::not_this_format("a frame of Blosc2", storage));
    }
    let (header_len, frame_len) = locate(FRAME_HEADER, 0, &head, FrameHeader::parse_lengths)?;
    if frame_len > storage.size() && !rescue {
        let kind = FaultKind::OutOfBounds { found: frame_len, end: bound::sum(storage.size(), 1) };
        return Err(Fault::new("frame length", kind).at(FRAME_HEADER, 15));
    }
    let bytes = storage.read_at(0, bound::addressable(header_len.into()))?;
    locate(FRAME_HEADER, 0, &bytes, FrameHeader::parse)
}

pub(super) fn read_trailer(storage: &dyn ReadAt, header: &FrameHeader) -> Result<(u64, Trailer)> {
    let room = bound::left(header.frame_len, header.header_len.into());
    if room < u64::from(Trailer::MIN) {
        let kind = FaultKind::Rule("leaves no space for a trailer");
        return Err(Fault::new("frame length", kind).at(FRAME_HEADER, 15));
    }
    let tail_at = sub(header.frame_len, Trailer::TAIL as u64)?;
    let tail = storage.read_at(tail_at, Trailer::TAIL)?;
    let (len, _) = locate_all(TRAILER, tail_at, &tail, Trailer::parse_tail)?;
    if u64::from(len) > room || len < Trailer::MIN {
        let kind = FaultKind::OutOfBounds { found: len.into(), end: bound::sum(room, 1) };
        return Err(Fault::new("trailer length", kind).at(TRAILER, tail_at));
    }
    let at = sub(header.frame_len, len.into())?;
    let bytes = storage.read_at(at, bound::addressable(len.into()))?;
    Ok((at, locate_all(TRAILER, at, &bytes, Trailer::parse)?))
}
