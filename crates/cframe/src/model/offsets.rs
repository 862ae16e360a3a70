//! The offsets chunk, which is decoded block by block as entries are needed.

use std::sync::OnceLock;

use sciformats_core::arith::{div, fit, mul, present, rem};
use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Limits, Result, bound};

use super::chunk::Chunk;
use crate::spec::offset::Offset;

const NAME: &str = "offsets chunk";

/// The places of all chunks of a frame.
#[derive(Clone)]
pub(crate) struct Offsets {
    chunk: Option<Chunk<'static>>,
    /// The positions of the first chunks that were found, if there is no index.
    walked: Vec<u64>,
    count: u64,
    /// Blocks that have been decoded. The list is empty if entries are not kept.
    blocks: Box<[OnceLock<Vec<u8>>]>,
}

impl Offsets {
    /// Returns the offsets of a frame without chunks.
    pub(crate) fn none() -> Self {
        Self { chunk: None, walked: Vec::new(), count: 0, blocks: Box::default() }
    }

    /// Returns the offsets of `count` chunks, of which the first begin at these positions. The others are missing.
    pub(crate) fn walked(at: Vec<u64>, count: u64) -> Self {
        Self { walked: at, count, ..Self::none() }
    }

    /// Returns the entries in `chunk`, which begins at `at`. If `expected` is known, there must be as many.
    pub(crate) fn new(
        chunk: Chunk<'static>,
        at: u64,
        expected: Option<u64>,
        limits: &Limits,
    ) -> Result<Self> {
        let size = u64::from(Offset::SIZE);
        let nbytes = chunk.nbytes() as u64;
        let count = div(nbytes, size)?;
        let wrong = if nbytes.is_multiple_of(size) { expected.filter(|&n| n != count) } else { Some(count) };
        if let Some(expected) = wrong {
            let kind = FaultKind::Mismatch { expected: bound::product(expected, size), found: nbytes };
            return Err(Fault::new("nbytes", kind).at(NAME, bound::sum(at, 4)));
        }
        limits.items("chunks", count)?;
        // Blocks that contain whole entries are kept. Other blocks, and chunks of one value, are decoded each time.
        let keeps = chunk.blocksize().is_some_and(|size| size.is_multiple_of(8)) && chunk.special().is_none();
        let kept = if keeps { chunk.blocks() } else { 0 };
        Ok(Self {
            chunk: Some(chunk),
            walked: Vec::new(),
            count,
            blocks: (0..kept).map(|_| OnceLock::new()).collect(),
        })
    }

    /// Returns the number of chunks.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// Returns the place of a chunk; `None` if there is no such chunk.
    pub(crate) fn get(&self, index: u64) -> Result<Option<Offset>> {
        if let Some(&at) = usize::try_from(index).ok().and_then(|index| self.walked.get(index)) {
            return Ok(Some(Offset::At(at)));
        }
        let Some(chunk) = self.chunk.as_ref().filter(|_| index < self.count) else { return Ok(None) };
        let at = fit(mul(index, Offset::SIZE.into())?, "position of a chunk's offset")?;
        let mut entry = [0; Offset::SIZE as usize];
        let size = chunk.blocksize().unwrap_or(1).max(1);
        let (block, skip) = (div(at, size)?, rem(at, size)?);
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
                let stored = bytes.get(skip..).and_then(<[u8]>::first_chunk);
                entry = *present(stored, "offset of a chunk")?;
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
