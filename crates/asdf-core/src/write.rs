//! A document as bytes: the order of a file, and what each block becomes.

use std::borrow::Cow;
use std::sync::Arc;

use sciformats_core::{Error, ReadAt, Result, WriteAt};

use crate::codec::{self, Compression, Md5Sum, in_parallel};
use crate::document::{BlockData, Document};
use crate::spec::block_header::{BlockHeader, Label, MIN_SIZE, STREAMED};
use crate::spec::block_index::BlockIndex;

/// Stored bytes are copied in pieces of this size.
const PIECE: u64 = 4 << 20;

/// Blocks up to this size are written in one call with their headers.
const SMALL: usize = 64 << 10;

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
    // Threads are for compression; everything else is only looked up.
    let is_plain = |block: &BlockData| match block {
        BlockData::New { compression, .. } => *compression == Compression::None,
        BlockData::Stored(_) | BlockData::Encoded { .. } => true,
    };
    let threads = if jobs.iter().all(|(_, block)| is_plain(block)) { 1 } else { threads };
    in_parallel(jobs, threads, |(index, block)| prepare_one(document, index, block, within))
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
    let plain = |data: &'a Arc<dyn ReadAt>| match data.as_slice() {
        Some(bytes) => Payload::Memory(Cow::Borrowed(bytes)),
        None => Payload::Storage { storage: &**data, offset: 0, len: data.len() },
    };
    let mut prepared = match block {
        BlockData::Stored(stored) => {
            let origin =
                document.origin.as_ref().ok_or_else(|| Error::not_found("block", stored.to_string()))?;
            let entry = origin.block(*stored)?.entry();
            let payload = Payload::Storage {
                storage: &*origin.storage,
                offset: entry.data_offset(),
                len: entry.stored,
            };
            Prepared { header: entry.header, payload, needs_checksum: false }
        }
        BlockData::Encoded { header, stored } => {
            Prepared { header: *header, payload: plain(stored), needs_checksum: false }
        }
        BlockData::New { data, compression: Compression::None, .. } => {
            new_block(Compression::None, data.len(), plain(data), document.options().checksums)
        }
        BlockData::New { data, compression, level } => {
            let size =
                usize::try_from(data.len()).map_err(|_| Error::usage("data", "is too large for memory"))?;
            let stored = codec::encode(*compression, *level, &data.read_at(0, size)?, threads)?;
            new_block(
                *compression,
                data.len(),
                Payload::Memory(Cow::Owned(stored)),
                document.options().checksums,
            )
        }
    };
    let header = &mut prepared.header;
    header.header_size = MIN_SIZE;
    header.used_size = prepared.payload.len();
    header.allocated_size = header.used_size.saturating_add(document.options().block_padding);
    if streamed {
        *header = stream_header();
        prepared.needs_checksum = false;
    } else if header.is_streamed() {
        // It was the last block, and is one among others now.
        header.flags &= !STREAMED;
        header.data_size = header.used_size;
        prepared.needs_checksum = document.options().checksums;
    }
    Ok(prepared)
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

/// Writes one block at `at`: the bytes first, then the header, which has their sum. Returns the end.
pub(crate) fn block(prepared: &Prepared<'_>, at: u64, out: &mut dyn WriteAt) -> Result<u64> {
    let start = at.saturating_add(prepared.header.size());
    let mut header = prepared.header;
    let padding = header.allocated_size.saturating_sub(header.used_size);
    if let Payload::Memory(stored) = &prepared.payload
        && stored.len() <= SMALL
        && padding == 0
    {
        if prepared.needs_checksum {
            header.checksum = codec::md5(stored);
        }
        let mut bytes = Vec::with_capacity(stored.len().saturating_add(BlockHeader::SIZE));
        header.encode(&mut bytes);
        bytes.extend_from_slice(stored);
        out.write_at(at, &bytes)?;
        return Ok(at.saturating_add(bytes.len() as u64));
    }
    let mut sum = prepared.needs_checksum.then(Md5Sum::default);
    prepared.payload.for_each_piece(|position, piece| {
        if let Some(sum) = &mut sum {
            sum.update(piece);
        }
        out.write_at(start.saturating_add(position), piece)
    })?;
    if let Some(sum) = sum {
        header.checksum = sum.finish();
    }
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    out.write_at(at, &bytes)?;
    let end = start.saturating_add(prepared.payload.len());
    if padding > 0 {
        out.set_size(end.saturating_add(padding))?;
    }
    Ok(end.saturating_add(padding))
}

/// Writes a whole file.
pub(crate) fn whole(document: &Document, out: &mut dyn WriteAt) -> Result<()> {
    let head = head(document)?;
    out.write_at(0, &head)?;
    let mut at = (head.len() as u64).saturating_add(document.options().tree_padding);
    if document.options().tree_padding > 0 {
        out.set_size(at)?;
    }
    let mut offsets = Vec::with_capacity(document.blocks.len());
    let batch = threads(document).max(1);
    for start in (0..document.blocks.len()).step_by(batch) {
        let end = start.saturating_add(batch).min(document.blocks.len());
        for prepared in prepare(document, start..end)? {
            offsets.push(at);
            at = block(&prepared, at, out)?;
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
