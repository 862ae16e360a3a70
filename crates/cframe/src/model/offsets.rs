//! The offsets chunk: decoded block by block, as entries are asked for.

use std::sync::OnceLock;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Limits, Result};

use super::chunk::Chunk;
use crate::spec::offset::Offset;

const NAME: &str = "offsets chunk";

/// The places of all chunks of a frame.
#[derive(Clone)]
pub(crate) struct Offsets {
    chunk: Option<Chunk<'static>>,
    count: u64,
    /// Blocks that have been decoded; empty if entries are not kept.
    blocks: Box<[OnceLock<Vec<u8>>]>,
}

impl Offsets {
    /// The offsets of a frame without chunks.
    pub(crate) fn none() -> Self {
        Self { chunk: None, count: 0, blocks: Box::default() }
    }

    /// The entries of `chunk`, which stands at `at`; `expected` of them, if that is known.
    pub(crate) fn new(
        chunk: Chunk<'static>,
        at: u64,
        expected: Option<u64>,
        limits: &Limits,
    ) -> Result<Self> {
        let size = u64::from(Offset::SIZE);
        let nbytes = chunk.nbytes() as u64;
        let count = nbytes.checked_div(size).unwrap_or(0);
        let wrong = if nbytes.is_multiple_of(size) { expected.filter(|&n| n != count) } else { Some(count) };
        if let Some(expected) = wrong {
            let kind = FaultKind::Mismatch { expected: expected.saturating_mul(size), found: nbytes };
            return Err(Fault::new("nbytes", kind).at(NAME, at.saturating_add(4)));
        }
        limits.items("chunks", count)?;
        // Blocks that hold whole entries are kept; the rest, and what is nothing but a value, is decoded each time.
        let keeps = chunk.blocksize().is_some_and(|size| size.is_multiple_of(8)) && chunk.special().is_none();
        let kept = if keeps { chunk.blocks() } else { 0 };
        Ok(Self { chunk: Some(chunk), count, blocks: (0..kept).map(|_| OnceLock::new()).collect() })
    }

    /// The number of chunks.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// The place of a chunk; `None` past the last.
    pub(crate) fn get(&self, index: u64) -> Result<Option<Offset>> {
        let Some(chunk) = self.chunk.as_ref().filter(|_| index < self.count) else { return Ok(None) };
        let at = usize::try_from(index.saturating_mul(Offset::SIZE.into())).unwrap_or(usize::MAX);
        let mut entry = [0; Offset::SIZE as usize];
        let size = chunk.blocksize().unwrap_or(1).max(1);
        let (block, skip) = (at.checked_div(size).unwrap_or(0), at.checked_rem(size).unwrap_or(0));
        match self.blocks.get(block) {
            None => chunk.read_into(at, &mut entry)?,
            Some(kept) => {
                let bytes = match kept.get() {
                    Some(bytes) => bytes,
                    None => {
                        let bytes = decode(chunk, block)?;
                        kept.get_or_init(|| bytes)
                    }
                };
                if let Some(stored) = bytes.get(skip..).and_then(<[u8]>::first_chunk) {
                    entry = *stored;
                }
            }
        }
        locate(NAME, at as u64, &entry, Offset::parse).map(Some)
    }
}

fn decode(chunk: &Chunk<'static>, block: usize) -> Result<Vec<u8>> {
    let range = chunk.block_range(block);
    let mut out = vec![0; range.len()];
    chunk.read_into(range.start, &mut out)?;
    Ok(out)
}
