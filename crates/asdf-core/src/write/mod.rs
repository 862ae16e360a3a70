//! The bytes of a document: the order of the parts in a file, and what is written for each block.

mod blocks;
mod prepared;

use sciformats_core::arith::{increase, sub};
use sciformats_core::storage::machine_threads;
use sciformats_core::{Error, Result, WriteAt};

pub(crate) use self::blocks::blocks;
use crate::document::Document;
use crate::spec::block_header::BlockHeader;
use crate::spec::block_index::BlockIndex;

/// The alignment of the data of blocks, so that the elements of a mapped file can be used without a copy.
const ALIGNMENT: u64 = 16;

/// The largest number of unused bytes after the tree, unless the caller requests more.
const MAX_PADDING: u64 = 4096;
const PADDING_SHARE: u64 = 16;

/// Returns the header lines and the tree's text.
pub(crate) fn head(document: &Document) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    document.header.encode(&mut out);
    out.extend_from_slice(document.tree_text()?.as_bytes());
    Ok(out)
}

/// Writes the header lines and the tree's text part by part; returns where they end.
fn write_head(document: &Document, out: &mut dyn WriteAt) -> Result<u64> {
    let mut header = Vec::new();
    document.header.encode(&mut header);
    out.write_at(0, &header)?;
    let mut at = header.len() as u64;
    let mut take = |text: &str| {
        out.write_at(at, text.as_bytes())?;
        increase(&mut at, text.len() as u64)
    };
    match document.kept_text()? {
        Some(text) => take(&text)?,
        None => document.tree.write_text(&mut take)?,
    }
    Ok(at)
}

pub(crate) fn threads(document: &Document) -> usize {
    match document.options().threads {
        0 => machine_threads(),
        threads => threads,
    }
}

/// Returns the first offset for a block whose data is aligned, at least `padding` bytes after `end`.
fn aligned(end: u64, padding: u64) -> Result<u64> {
    let header = BlockHeader::SIZE as u64;
    let data = end.checked_add(padding).and_then(|offset| offset.checked_add(header));
    let data = data.and_then(|data| data.checked_next_multiple_of(ALIGNMENT)).ok_or_else(too_long)?;
    sub(data, header)
}

fn too_long() -> Error {
    Error::usage("padding", "makes the file longer than 2^63 bytes")
}

/// Fails if the requested unused bytes make the file longer than possible.
fn check_padding(document: &Document, head: u64, bytes: u64) -> Result<()> {
    let blocks = document.blocks.len() as u64;
    let options = document.options();
    let each = options.block_padding.checked_add(BlockHeader::SIZE as u64 + ALIGNMENT);
    let padded = each
        .and_then(|each| each.checked_mul(blocks)?.checked_add(options.tree_padding.unwrap_or_default()))
        .and_then(|padding| padding.checked_add(head)?.checked_add(bytes));
    padded.filter(|&end| i64::try_from(end).is_ok()).map(drop).ok_or_else(too_long)
}

/// Returns the offset of the first block after a tree that ends at `end`; `bytes` is the size of the blocks.
fn first_block(document: &Document, end: u64, bytes: u64) -> Result<u64> {
    if document.blocks.is_empty() {
        return end.checked_add(document.options().tree_padding.unwrap_or_default()).ok_or_else(too_long);
    }
    let padding = document.options().tree_padding.unwrap_or_else(|| {
        let share = bytes / PADDING_SHARE;
        // A stream is expected to become long.
        if document.streamed { MAX_PADDING } else { share.min(MAX_PADDING) }
    });
    aligned(end, padding)
}

/// Writes a whole file.
pub(crate) fn whole(document: &Document, out: &mut dyn WriteAt) -> Result<()> {
    if let Some(origin) = &document.origin {
        origin.check_last()?;
    }
    let bytes = document.bytes_of_blocks()?;
    let head = write_head(document, out)?;
    check_padding(document, head, bytes)?;
    let first = first_block(document, head, bytes)?;
    if first > head {
        out.set_size(first)?;
    }
    let (offsets, at) = blocks(document, 0..document.blocks.len(), first, out)?;
    if let Some(index) = index(document, offsets) {
        out.write_at(at, &index)?;
    }
    Ok(())
}

/// Returns the text of the block index, if the file has one.
pub(crate) fn index(document: &Document, offsets: Vec<u64>) -> Option<Vec<u8>> {
    if offsets.is_empty() || document.streamed || !document.options().index {
        return None;
    }
    let mut text = Vec::new();
    BlockIndex { offsets }.encode(&mut text);
    Some(text)
}
