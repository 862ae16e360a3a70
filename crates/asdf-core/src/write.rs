//! A document as bytes: the order of a file, and what each block becomes.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use sciformats_core::{Error, ReadAt, Result, WriteAt};

use crate::codec::{self, Compression, Md5Sum, in_parallel};
use crate::document::{BlockData, Document};
use crate::model::layout::BlockEntry;
use crate::reader::Asdf;
use crate::spec::block_header::{BlockHeader, Label, MIN_SIZE, STREAMED};
use crate::spec::block_index::BlockIndex;

/// Stored bytes are copied in pieces of this size.
const PIECE: u64 = 4 << 20;

/// Blocks up to this size are written in one call with their headers.
const SMALL: usize = 64 << 10;

/// The data of blocks begins at multiples of this, so that the elements of a mapped file can be used where they are.
const ALIGNMENT: u64 = 16;

/// What is kept free after the tree if nothing else is asked for.
const MAX_PADDING: u64 = 4096;
const PADDING_SHARE: u64 = 16;

/// A block ready to be written.
pub(crate) struct Prepared<'a> {
    /// The header; its checksum is zero if it is to be computed while the bytes are written.
    pub(crate) header: BlockHeader,
    pub(crate) payload: Payload<'a>,
    pub(crate) needs_checksum: bool,
}

pub(crate) enum Payload<'a> {
    Memory(Cow<'a, [u8]>),
    Storage { storage: &'a dyn ReadAt, offset: u64, len: u64 },
}

impl Payload<'_> {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Storage { len, .. } => *len,
        }
    }

    pub(crate) fn for_each_piece(&self, mut take: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        match self {
            Self::Memory(bytes) => take(0, bytes),
            Self::Storage { storage, offset, len } => {
                let mut at = 0;
                while at < *len {
                    let size = PIECE.min(len.saturating_sub(at));
                    let piece = storage
                        .read_at(offset.saturating_add(at), usize::try_from(size).unwrap_or(usize::MAX))?;
                    take(at, &piece)?;
                    at = at.saturating_add(size);
                }
                Ok(())
            }
        }
    }
}

/// The header lines and the tree's text.
pub(crate) fn head(document: &Document) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    document.header.encode(&mut out);
    out.extend_from_slice(document.tree.to_text()?.as_bytes());
    Ok(out)
}

/// Makes some blocks ready: those that must be compressed are, side by side.
pub(crate) fn prepare<'a>(
    document: &'a Document,
    range: std::ops::Range<usize>,
) -> Result<Vec<Prepared<'a>>> {
    let threads = threads(document);
    let jobs: Vec<(usize, &BlockData)> =
        document.blocks.iter().enumerate().skip(range.start).take(range.len()).collect();
    let within = if jobs.len() > 1 { 1 } else { threads };
    // Threads are for compression and sums; everything else is only looked up.
    let is_work = |block: &BlockData| match block {
        BlockData::New { compression, data, .. } => {
            *compression != Compression::None || data.len() > SMALL as u64
        }
        BlockData::Recoded { .. } => true,
        BlockData::Stored(_) | BlockData::Encoded { .. } => false,
    };
    let threads = if jobs.iter().any(|(_, block)| is_work(block)) { threads } else { 1 };
    in_parallel(jobs, threads, |(index, block)| {
        let mut prepared = prepare_one(document, index, block, within)?;
        // Of several blocks the sums are made side by side; that of one while it is written.
        if within < threads
            && prepared.needs_checksum
            && let Payload::Memory(bytes) = &prepared.payload
        {
            prepared.header.checksum = codec::md5(bytes);
            prepared.needs_checksum = false;
        }
        Ok(prepared)
    })
    .into_iter()
    .collect()
}

pub(crate) fn threads(document: &Document) -> usize {
    match document.options().threads {
        0 => codec::machine_threads(),
        threads => threads,
    }
}

fn prepare_one<'a>(
    document: &'a Document,
    index: usize,
    block: &'a BlockData,
    threads: usize,
) -> Result<Prepared<'a>> {
    let streamed = document.streamed && index.checked_add(1) == Some(document.blocks.len());
    let checksums = document.options().checksums;
    let plain = |data: &'a Arc<dyn ReadAt>| match data.as_slice() {
        Some(bytes) => Payload::Memory(Cow::Borrowed(bytes)),
        None => Payload::Storage { storage: &**data, offset: 0, len: data.len() },
    };
    let mut prepared = match block {
        BlockData::Stored(stored) => {
            let origin = origin(document, *stored)?;
            let entry = origin.block(*stored)?.entry();
            Prepared { header: entry.header, payload: stored_bytes(origin, entry), needs_checksum: false }
        }
        BlockData::Recoded { stored, compression: Compression::None, .. } => {
            let origin = origin(document, *stored)?;
            let block = origin.block(*stored)?;
            let payload = match block.compression() {
                Compression::None => stored_bytes(origin, block.entry()),
                _ => Payload::Memory(block.data()?),
            };
            new_block(Compression::None, payload.len(), payload, checksums)
        }
        BlockData::Recoded { stored, compression, level } => {
            let data = origin(document, *stored)?.block(*stored)?.data()?;
            let encoded = Payload::Memory(Cow::Owned(codec::encode(*compression, *level, &data, threads)?));
            new_block(*compression, data.len() as u64, encoded, checksums)
        }
        BlockData::Encoded { header, stored } => {
            Prepared { header: *header, payload: plain(stored), needs_checksum: false }
        }
        BlockData::New { data, compression: Compression::None, .. } => {
            new_block(Compression::None, data.len(), plain(data), checksums)
        }
        BlockData::New { data, compression, level } => {
            let size =
                usize::try_from(data.len()).map_err(|_| Error::usage("data", "is too large for memory"))?;
            let stored = codec::encode(*compression, *level, &data.read_at(0, size)?, threads)?;
            new_block(*compression, data.len(), Payload::Memory(Cow::Owned(stored)), checksums)
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
        // It was the last block, and is one among others now.
        header.flags &= !STREAMED;
        header.data_size = header.used_size;
        prepared.needs_checksum = checksums;
    }
    Ok(prepared)
}

fn origin(document: &Document, block: usize) -> Result<&Asdf> {
    document.origin.as_ref().ok_or_else(|| Error::not_found("block", block.to_string()))
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
    let header = BlockHeader {
        header_size: MIN_SIZE,
        flags: 0,
        compression: Label(compression.label()),
        allocated_size: 0,
        used_size: 0,
        data_size,
        checksum: [0; 16],
    };
    Prepared { header, payload, needs_checksum }
}

/// The header of a block that extends to the end of the file: its sizes are zero.
pub(crate) fn stream_header() -> BlockHeader {
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

/// Writes one block at `at`, and keeps `padding` bytes free after it: the bytes first, then the header, which has their
/// sum. Returns the end, where the data of the next would be aligned.
pub(crate) fn block(
    prepared: &Prepared<'_>,
    at: u64,
    (padding, threads): (u64, usize),
    out: &mut dyn WriteAt,
) -> Result<u64> {
    let mut header = prepared.header;
    let start = at.saturating_add(header.size());
    let end = start.saturating_add(prepared.payload.len());
    let room = match header.is_streamed() {
        true => end,
        false => aligned(end.saturating_add(padding)),
    };
    if !header.is_streamed() {
        header.allocated_size = room.saturating_sub(start);
    }
    if let Payload::Memory(stored) = &prepared.payload
        && stored.len() <= SMALL
        && room.saturating_sub(end) <= SMALL as u64
    {
        if prepared.needs_checksum {
            header.checksum = codec::md5(stored);
        }
        let mut bytes = Vec::with_capacity(stored.len().saturating_add(BlockHeader::SIZE));
        header.encode(&mut bytes);
        bytes.extend_from_slice(stored);
        bytes.resize(bytes.len().saturating_add(usize::try_from(room.saturating_sub(end)).unwrap_or(0)), 0);
        out.write_at(at, &bytes)?;
        return Ok(room);
    }
    if let Some(sum) = data(prepared, start, threads, out)? {
        header.checksum = sum;
    }
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    out.write_at(at, &bytes)?;
    if room > end {
        out.set_size(room)?;
    }
    Ok(room)
}

/// Writes the bytes of a block; returns their sum if it is needed. Where there are threads for it the sum is made by
/// another than writes.
fn data(
    prepared: &Prepared<'_>,
    start: u64,
    threads: usize,
    out: &mut dyn WriteAt,
) -> Result<Option<[u8; 16]>> {
    let mut write = |position: u64, piece: &[u8]| out.write_at(start.saturating_add(position), piece);
    if !prepared.needs_checksum {
        return prepared.payload.for_each_piece(write).map(|()| None);
    }
    if threads < 2 || cfg!(target_family = "wasm") {
        let mut sum = Md5Sum::default();
        prepared.payload.for_each_piece(|position, piece| {
            sum.update(piece);
            write(position, piece)
        })?;
        return Ok(Some(sum.finish()));
    }
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Vec<u8>>(1);
        let summing = scope.spawn(move || match &prepared.payload {
            Payload::Memory(bytes) => codec::md5(bytes),
            Payload::Storage { .. } => {
                let mut sum = Md5Sum::default();
                receiver.iter().for_each(|piece| sum.update(&piece));
                sum.finish()
            }
        });
        let is_stored = matches!(prepared.payload, Payload::Storage { .. });
        let written = prepared.payload.for_each_piece(|position, piece| {
            write(position, piece)?;
            if is_stored {
                // It takes pieces until there are no more.
                let _ = sender.send(piece.to_vec());
            }
            Ok(())
        });
        drop(sender);
        match summing.join() {
            Ok(sum) => written.map(|()| Some(sum)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The first place from `offset` on for a block whose data is aligned.
fn aligned(offset: u64) -> u64 {
    let header = BlockHeader::SIZE as u64;
    let data = offset.checked_add(header).and_then(|data| data.checked_next_multiple_of(ALIGNMENT));
    data.map_or(offset, |data| data.saturating_sub(header))
}

/// Where the first block begins after a tree that ends at `end`.
fn first_block(document: &Document, end: u64) -> u64 {
    if document.blocks.is_empty() {
        return end.saturating_add(document.options().tree_padding.unwrap_or(0));
    }
    let padding = document.options().tree_padding.unwrap_or_else(|| {
        let share = document.bytes_of_blocks() / PADDING_SHARE;
        // A stream is going to be long.
        if document.streamed { MAX_PADDING } else { share.min(MAX_PADDING) }
    });
    aligned(end.saturating_add(padding))
}

/// Writes a whole file.
pub(crate) fn whole(document: &Document, out: &mut dyn WriteAt) -> Result<()> {
    let head = head(document)?;
    out.write_at(0, &head)?;
    let mut at = first_block(document, head.len() as u64);
    if at > head.len() as u64 {
        out.set_size(at)?;
    }
    let mut offsets = Vec::with_capacity(document.blocks.len());
    let batch = threads(document).max(1);
    let how = (document.options().block_padding, threads(document));
    for start in (0..document.blocks.len()).step_by(batch) {
        let end = start.saturating_add(batch).min(document.blocks.len());
        for prepared in prepare(document, start..end)? {
            offsets.push(at);
            at = block(&prepared, at, how, out)?;
        }
    }
    if let Some(index) = index(document, offsets) {
        out.write_at(at, &index)?;
    }
    Ok(())
}

/// The text of the block index, if the file gets one.
pub(crate) fn index(document: &Document, offsets: Vec<u64>) -> Option<Vec<u8>> {
    if offsets.is_empty() || document.streamed || !document.options().index {
        return None;
    }
    let mut text = Vec::new();
    BlockIndex { offsets }.encode(&mut text);
    Some(text)
}
