//! What is written for each block: its header, and its stored bytes.

use std::borrow::Cow;
use std::sync::Arc;

use sciformats_core::arith::{add, increase, sub};
use sciformats_core::{Error, ReadAt, Result, bound};

use crate::codec::{self, Compression};
use crate::document::{BlockData, Document};
use crate::model::layout::BlockEntry;
use crate::reader::{Asdf, Block};
use crate::spec::block_header::{BlockHeader, Label, MIN_SIZE, STREAMED};

/// The size of the pieces in which stored bytes are copied.
pub(super) const PIECE: u64 = 4 << 20;

/// Data of at least this size is compressed in parts, if the compression has parts.
const PARTED: u64 = 2 << 20;
/// Other data is neither compressed nor decompressed as a whole from this size on, so that the memory that several blocks take at
/// the same time has a bound.
const LARGE: u64 = 64 << 20;

/// A block that is ready to be written.
pub(super) struct Prepared<'a> {
    /// The header. Its checksum is zero if it will be computed while the bytes are written.
    pub(super) header: BlockHeader,
    pub(super) payload: Payload<'a>,
    pub(super) needs_checksum: bool,
}

pub(super) enum Payload<'a> {
    Memory(Cow<'a, [u8]>),
    Storage { storage: &'a dyn ReadAt, offset: u64, len: u64 },
}

impl Payload<'_> {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Storage { len, .. } => *len,
        }
    }

    /// Returns up to `size` bytes from `at` on. There are none at the end.
    pub(super) fn piece(&self, at: u64, size: u64) -> Result<Cow<'_, [u8]>> {
        let size = bound::addressable(size.min(sub(self.len(), at)?));
        match self {
            Self::Memory(bytes) => bytes[..].read_at(at, size),
            Self::Storage { storage, offset, .. } => storage.read_at(add(*offset, at)?, size),
        }
    }
}

/// The work that is necessary before a block can be written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Nothing, because its bytes exist.
    Nothing,
    /// The block must be compressed or decompressed, and its size is only known after that.
    Whole,
    /// The block is large, and is compressed or decompressed in parts.
    Parts,
}

impl Work {
    pub(super) fn of(document: &Document, index: usize) -> Result<Self> {
        let Some(block) = document.blocks.get(index) else { return Ok(Self::Nothing) };
        let (compression, size) = match block {
            BlockData::Stored(_) | BlockData::Encoded { .. } => return Ok(Self::Nothing),
            BlockData::New { compression: Compression::None, .. } => return Ok(Self::Nothing),
            BlockData::New { compression, data, .. } => (*compression, data.size()),
            BlockData::Recoded { stored, compression, .. } => {
                (*compression, document.stored_block(*stored)?.data_size())
            }
        };
        let from = if compression.has_parts() { PARTED } else { LARGE };
        let is_parted = size >= from && !is_streamed(document, index);
        Ok(if is_parted { Self::Parts } else { Self::Whole })
    }
}

/// Prepares a block. Uses up to `threads` threads if it must be compressed.
pub(super) fn prepare<'a>(document: &'a Document, index: usize, threads: usize) -> Result<Prepared<'a>> {
    let block = document.blocks.get(index).ok_or_else(|| Error::not_found("block", index.to_string()))?;
    let streamed = is_streamed(document, index);
    let checksums = document.options().checksums;
    let plain = |data: &'a Arc<dyn ReadAt>| match data.as_slice() {
        Some(bytes) => Payload::Memory(Cow::Borrowed(bytes)),
        None => Payload::Storage { storage: &**data, offset: 0, len: data.size() },
    };
    let mut prepared = match block {
        BlockData::Stored(stored) => {
            let origin = origin(document, *stored)?;
            let block = origin.block(*stored)?;
            let payload = stored_bytes(origin, &block.entry());
            Prepared { header: block.entry().header, payload, needs_checksum: false }
        }
        BlockData::Recoded { stored, compression: Compression::None, .. } => {
            let origin = origin(document, *stored)?;
            let block = sound(origin, *stored)?;
            let payload = match block.compression() {
                Compression::None => stored_bytes(origin, &block.entry()),
                _ => Payload::Memory(block.data()?),
            };
            new_block(Compression::None, payload.len(), payload, checksums)
        }
        BlockData::Encoded { header, stored } => {
            Prepared { header: **header, payload: plain(stored), needs_checksum: false }
        }
        BlockData::New { data, compression: Compression::None, .. } => {
            new_block(Compression::None, data.size(), plain(data), checksums)
        }
        BlockData::New { compression, level, .. } | BlockData::Recoded { compression, level, .. } => {
            let data = data(document, block)?;
            let encoded = codec::encode(*compression, *level, &data, threads)?;
            new_block(*compression, data.len() as u64, Payload::Memory(encoded.into()), checksums)
        }
    };
    let header = &mut prepared.header;
    header.header_size = MIN_SIZE;
    header.used_size = prepared.payload.len();
    header.allocated_size = header.used_size;
    if streamed {
        *header = stream_header();
        prepared.needs_checksum = false;
    } else if header.is_streamed() {
        // It was the last block, but now other blocks follow.
        header.flags &= !STREAMED;
        header.data_size = header.used_size;
        prepared.needs_checksum = checksums;
    }
    Ok(prepared)
}

/// The data of a block that is written in parts.
pub(super) enum Source<'a> {
    Memory(&'a [u8]),
    Storage(&'a dyn ReadAt),
    /// A block of another file, which is decoded while it is written.
    Block(Block<'a>),
}

impl<'a> Source<'a> {
    pub(super) fn of(document: &'a Document, block: &'a BlockData) -> Result<Self> {
        match block {
            BlockData::Stored(stored) | BlockData::Recoded { stored, .. } => {
                Ok(Self::Block(sound(origin(document, *stored)?, *stored)?))
            }
            BlockData::New { data, .. } | BlockData::Encoded { stored: data, .. } => {
                Ok(data.as_slice().map_or(Self::Storage(&**data), Self::Memory))
            }
        }
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Memory(data) => data.len() as u64,
            Self::Storage(data) => data.size(),
            Self::Block(block) => block.data_size(),
        }
    }

    pub(super) fn for_each_piece(&self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self {
            Self::Memory(data) => data.chunks(bound::addressable(PIECE)).try_for_each(take),
            Self::Storage(storage) => {
                let payload = Payload::Storage { storage: *storage, offset: 0, len: storage.size() };
                let mut at = 0;
                while at < payload.len() {
                    let piece = payload.piece(at, PIECE)?;
                    take(&piece)?;
                    increase(&mut at, piece.len() as u64)?;
                }
                Ok(())
            }
            Self::Block(block) => block.for_each_piece(take),
        }
    }
}

/// Returns the data of a block that will be compressed.
pub(super) fn data<'a>(document: &'a Document, block: &'a BlockData) -> Result<Cow<'a, [u8]>> {
    match block {
        BlockData::Stored(stored) | BlockData::Recoded { stored, .. } => {
            sound(origin(document, *stored)?, *stored)?.data()
        }
        BlockData::New { data, .. } | BlockData::Encoded { stored: data, .. } => {
            let size =
                usize::try_from(data.size()).map_err(|_| Error::usage("data", "is too large for memory"))?;
            data.read_at(0, size)
        }
    }
}

/// Returns whether a block extends to the end of the file.
fn is_streamed(document: &Document, index: usize) -> bool {
    document.streamed && index.checked_add(1) == Some(document.blocks.len())
}

fn origin(document: &Document, block: usize) -> Result<&Asdf> {
    document.origin.as_ref().ok_or_else(|| Error::not_found("block", block.to_string()))
}

/// Returns a block that gets another compression and therefore another checksum, if it agrees with the checksum that it has.
fn sound(origin: &Asdf, index: usize) -> Result<Block<'_>> {
    origin.check_block(index)?;
    origin.block(index)
}

fn stored_bytes<'a>(origin: &'a Asdf, entry: &BlockEntry) -> Payload<'a> {
    Payload::Storage { storage: &*origin.storage, offset: entry.data_offset(), len: entry.stored }
}

fn new_block(
    compression: Compression,
    data_size: u64,
    payload: Payload<'_>,
    needs_checksum: bool,
) -> Prepared<'_> {
    Prepared { header: new_header(compression, data_size), payload, needs_checksum }
}

/// Returns the header of a block whose stored size and checksum are not known yet.
pub(super) fn new_header(compression: Compression, data_size: u64) -> BlockHeader {
    BlockHeader {
        header_size: MIN_SIZE,
        flags: 0,
        compression: Label(compression.label()),
        allocated_size: 0,
        used_size: 0,
        data_size,
        checksum: [0; 16],
    }
}

/// Returns the header of a block that extends to the end of the file. Its sizes are zero.
fn stream_header() -> BlockHeader {
    BlockHeader {
        header_size: MIN_SIZE,
        flags: STREAMED,
        compression: Label::NONE,
        allocated_size: 0,
        used_size: 0,
        data_size: 0,
        checksum: [0; 16],
    }
}
