//! A chunk for reading: what its header says, where its blocks are, and how each is decoded.

mod body;
mod streams;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::storage::zeroed;
use sciformats_core::{Error, Limits, Result};

use streams::{Streams, stream_fault};

use crate::codec::registry::Registry;
use crate::model::coder::{Coder, Decoders};
use crate::model::kept::{Kept, Scratch, sized};
use crate::model::parallel::Threads;
use crate::model::source::Source;
use crate::model::stages::{Block, Buffers, Stages};
use crate::spec::chunk_header::{ChunkHeader, Special};
use crate::spec::pipeline::{Codec, Pipeline};

const HEADER: &str = "chunk header";

/// What a chunk cannot know about itself, and how it is to be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    /// Type size of the frame, which may exceed what a chunk can say.
    pub(crate) typesize: Option<u32>,
    /// Shape of a block, in an array.
    pub(crate) block_shape: Vec<u32>,
    pub(crate) registry: Registry,
    pub(crate) limits: Limits,
    pub(crate) threads: Threads,
}

pub(crate) static PLAIN: LazyLock<Context> = LazyLock::new(Context::default);

/// A compressed chunk. Opening reads the header and the block starts; blocks are decoded when they are asked for.
#[derive(Clone)]
pub struct Chunk<'a> {
    source: Source<'a>,
    header: ChunkHeader,
    body: Body,
    context: &'a Context,
}

#[derive(Clone)]
enum Body {
    /// The bytes as they are, behind the header.
    Raw,
    /// Nothing but one value.
    Special { value: Vec<u8> },
    /// Blocks of equal length.
    Blocks { parts: Vec<Range<u32>>, coding: Coding },
    /// Blocks that say their length.
    VlBlocks { parts: Vec<VlPart>, coding: Coding },
}

#[derive(Clone)]
struct Coding {
    coder: Coder,
    stages: Stages,
    /// Where the dictionary is, without its size.
    dictionary: Option<Range<u32>>,
    split: bool,
}

#[derive(Clone)]
struct VlPart {
    stored: Range<u32>,
    decoded: Range<u32>,
}

/// What a thread keeps from one block to the next.
#[derive(Default)]
pub(crate) struct State {
    decoders: Kept<Decoders>,
    buffers: Buffers,
    part: Kept<Scratch>,
}

/// What all blocks of a chunk need: the dictionary, and the first block decoded.
#[derive(Default)]
pub(crate) struct Shared<'c> {
    dictionary: Option<Cow<'c, [u8]>>,
    reference: Option<Vec<u8>>,
}

impl<'a> Chunk<'a> {
    /// A chunk in memory; bytes after it are ignored.
    ///
    /// # Errors
    /// `Malformed` if the header or the block starts are; `Unsupported` if nobody has its codec or a filter.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        Self::open(Source::bytes(bytes), &PLAIN)
    }

    pub(crate) fn open(source: Source<'a>, context: &'a Context) -> Result<Self> {
        let header = read_header(&source)?;
        let base = source.base();
        if u64::from(header.cbytes) > source.len() {
            let kind =
                FaultKind::OutOfBounds { found: header.cbytes.into(), end: source.len().saturating_add(1) };
            return Err(Fault::new("cbytes", kind).at(HEADER, base.saturating_add(12)));
        }
        let source = source.cut(header.cbytes.into());
        let body = Body::read(&source, &header, context)?;
        let mut header = header;
        if !header.has_vl_blocks() {
            header.blocksize = header.blocksize.min(header.nbytes).max(1);
        }
        Ok(Self { source, header, body, context })
    }

    /// Size of the decoded chunk, in bytes.
    pub fn nbytes(&self) -> usize {
        to_usize(self.header.nbytes)
    }

    /// Size of the chunk as stored, in bytes.
    pub fn cbytes(&self) -> usize {
        to_usize(self.header.cbytes)
    }

    /// Size of an element in bytes, as the chunk has it: 1 where the real one exceeds 255.
    pub fn typesize(&self) -> usize {
        self.header.typesize.into()
    }

    /// Version of the chunk's format: up to 2 Blosc1, 6 blocks of variable length.
    pub fn version(&self) -> u8 {
        self.header.version
    }

    /// Size of a decoded block in bytes; `None` if blocks vary in length.
    pub fn blocksize(&self) -> Option<usize> {
        (!self.header.has_vl_blocks()).then_some(to_usize(self.header.blocksize))
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        match &self.body {
            Body::VlBlocks { parts, .. } => parts.len(),
            _ => self.nbytes().div_ceil(to_usize(self.header.blocksize).max(1)),
        }
    }

    /// The codec.
    pub fn codec(&self) -> Codec {
        self.header.codec()
    }

    /// The parameter of the codec.
    pub fn codec_meta(&self) -> u8 {
        self.header.codec_meta()
    }

    /// The filters.
    pub fn pipeline(&self) -> Pipeline {
        self.header.pipeline()
    }

    /// What all bytes are, if nothing but that is stored.
    pub fn special(&self) -> Option<Special> {
        self.header.special()
    }

    /// Whether a block is cut into one stream for each byte of an element.
    pub fn is_split(&self) -> bool {
        matches!(&self.body, Body::Blocks { coding: Coding { split: true, .. }, .. })
    }

    /// Whether a dictionary is stored with the chunk.
    pub fn has_dictionary(&self) -> bool {
        self.header.has_dictionary()
    }

    /// The chunk as stored, where it is in memory.
    pub fn as_stored(&self) -> Option<&[u8]> {
        self.source.as_slice()
    }

    /// The chunk as stored.
    ///
    /// # Errors
    /// `Io`.
    pub fn stored(&self) -> Result<Cow<'_, [u8]>> {
        self.source.read(0, self.header.cbytes.into())
    }

    /// The decoded bytes, without a copy, where the chunk holds them raw and is in memory.
    pub fn as_raw(&self) -> Option<&[u8]> {
        match self.body {
            Body::Raw => self.source.as_slice()?.get(to_usize(self.header.size())..),
            _ => None,
        }
    }

    /// Decodes the chunk.
    ///
    /// # Errors
    /// `Malformed` at the stream that does not decode; `LimitExceeded` if the result is larger than the limits allow.
    pub fn decode(&self) -> Result<Vec<u8>> {
        self.check_limit()?;
        let mut out = zeroed(self.nbytes());
        self.decode_into(&mut out)?;
        Ok(out)
    }

    /// Decodes the chunk into `out`.
    ///
    /// # Errors
    /// As [`decode`](Self::decode); [`Error::Usage`] if `out` is not [`nbytes`](Self::nbytes) long.
    pub fn decode_into(&self, out: &mut [u8]) -> Result<()> {
        if out.len() != self.nbytes() {
            let problem = format!("has {} bytes, the chunk {}", out.len(), self.nbytes());
            return Err(Error::usage("out", problem));
        }
        if let Body::VlBlocks { .. } = self.body {
            return self.read_into(0, out);
        }
        let mut first = State::default();
        let shared = self.shared(&mut first)?;
        let size = to_usize(self.header.blocksize);
        self.context.threads.each_piece((out, size), &mut first, State::default, |state, index, block| {
            self.decode_block(index, &shared, state, block)
        })
    }

    /// Fills `out` with decoded bytes from `start` on; only blocks that it touches are decoded.
    ///
    /// # Errors
    /// As [`decode`](Self::decode); [`Error::Usage`] if the range leaves the chunk.
    pub fn read_into(&self, start: usize, out: &mut [u8]) -> Result<()> {
        if start.checked_add(out.len()).is_none_or(|end| end > self.nbytes()) {
            return Err(Error::usage("range", format!("leaves the chunk of {} bytes", self.nbytes())));
        }
        if out.is_empty() {
            return Ok(());
        }
        let mut state = State::default();
        let shared = self.shared(&mut state)?;
        self.read_with(start, &shared, &mut state, out)
    }

    /// As [`read_into`](Self::read_into), of a range that lies in the chunk.
    pub(crate) fn read_with(
        &self,
        start: usize,
        shared: &Shared<'_>,
        state: &mut State,
        out: &mut [u8],
    ) -> Result<()> {
        let end = start.saturating_add(out.len()).min(self.nbytes());
        let (mut at, mut rest) = (start, out);
        let mut index = self.block_at(start);
        while at < end {
            let block = self.block_range(index);
            let (piece, after) = rest.split_at_mut(block.end.min(end).saturating_sub(at).min(rest.len()));
            if piece.is_empty() {
                // A block of variable length may be empty.
                index = index.saturating_add(1);
                rest = after;
                continue;
            }
            self.read_in_block(index, at.saturating_sub(block.start), shared, state, piece)?;
            at = block.end.min(end);
            index = index.saturating_add(1);
            rest = after;
        }
        Ok(())
    }

    /// Fills `piece` with the bytes of one block from `skip` on.
    fn read_in_block(
        &self,
        index: usize,
        skip: usize,
        shared: &Shared<'_>,
        state: &mut State,
        piece: &mut [u8],
    ) -> Result<()> {
        let block = self.block_range(index);
        match &self.body {
            Body::Special { value } => fill(value, block.start.saturating_add(skip), piece),
            Body::Raw => self.copy_raw(block.start.saturating_add(skip), piece)?,
            Body::Blocks { .. } | Body::VlBlocks { .. } => {
                if skip == 0 && piece.len() == block.len() {
                    return self.decode_block(index, shared, state, piece);
                }
                self.check_limit()?;
                let mut part = std::mem::take(&mut state.part);
                let whole = sized(&mut part.0, block.len());
                let outcome = self.decode_block(index, shared, state, whole);
                if let Some(source) = whole.get(skip..skip.saturating_add(piece.len())) {
                    piece.copy_from_slice(source);
                }
                state.part = part;
                outcome?;
            }
        }
        Ok(())
    }

    /// The bytes of the decoded chunk that a block holds.
    pub(crate) fn block_range(&self, index: usize) -> Range<usize> {
        match &self.body {
            Body::VlBlocks { parts, .. } => match parts.get(index) {
                Some(part) => to_usize(part.decoded.start)..to_usize(part.decoded.end),
                None => self.nbytes()..self.nbytes(),
            },
            _ => {
                let size = to_usize(self.header.blocksize);
                let start = index.saturating_mul(size).min(self.nbytes());
                start..start.saturating_add(size).min(self.nbytes())
            }
        }
    }

    /// The block that holds the decoded byte at `at`.
    fn block_at(&self, at: usize) -> usize {
        match &self.body {
            Body::VlBlocks { parts, .. } => parts.partition_point(|part| to_usize(part.decoded.end) <= at),
            _ => at.checked_div(to_usize(self.header.blocksize)).unwrap_or(0),
        }
    }

    /// What all blocks need: the dictionary, and the first block if others are differences from it.
    pub(crate) fn shared(&self, state: &mut State) -> Result<Shared<'_>> {
        let (Body::Blocks { coding, .. } | Body::VlBlocks { coding, .. }) = &self.body else {
            return Ok(Shared::default());
        };
        let dictionary = match &coding.dictionary {
            Some(range) => Some(self.source.read(range.start.into(), u64::from(width(range)))?),
            None => None,
        };
        let mut shared = Shared { dictionary, reference: None };
        let vl = matches!(self.body, Body::VlBlocks { .. });
        if coding.stages.needs_reference && !vl && self.blocks() > 1 {
            self.check_limit()?;
            let mut first = vec![0; self.block_range(0).len()];
            self.decode_block(0, &shared, state, &mut first)?;
            shared.reference = Some(first);
        }
        Ok(shared)
    }

    /// Decodes one block into `out`, which has its size.
    pub(crate) fn decode_block(
        &self,
        index: usize,
        shared: &Shared<'_>,
        state: &mut State,
        out: &mut [u8],
    ) -> Result<()> {
        let start = self.block_range(index).start;
        match &self.body {
            Body::Special { value } => fill(value, start, out),
            Body::Raw => self.copy_raw(start, out)?,
            Body::Blocks { parts, coding } => {
                let stored = parts.get(index).cloned().unwrap_or_default();
                let bytes = self.source.read(stored.start.into(), width(&stored).into())?;
                let block = match &shared.reference {
                    Some(reference) if index > 0 => Block::Other(reference),
                    _ => Block::First,
                };
                let at = self.source.base().saturating_add(stored.start.into());
                let whole = out.len() == to_usize(self.header.blocksize);
                let streams = if coding.split && whole { self.typesize() } else { 1 };
                let State { decoders, buffers, .. } = state;
                let dictionary = shared.dictionary.as_deref();
                let streams = Streams { bytes: &bytes, at, count: streams };
                let buffer = &mut buffers.a;
                match coding.stages.only_shuffle().filter(|&group| group == streams.count) {
                    Some(2) => streams.join::<2>((coding, decoders, dictionary), buffer, out)?,
                    Some(4) => streams.join::<4>((coding, decoders, dictionary), buffer, out)?,
                    Some(8) => streams.join::<8>((coding, decoders, dictionary), buffer, out)?,
                    Some(16) => streams.join::<16>((coding, decoders, dictionary), buffer, out)?,
                    _ => coding.stages.decode(block, buffers, out, |target| {
                        streams.decode((coding, decoders, dictionary), target)
                    })?,
                }
            }
            Body::VlBlocks { parts, coding } => {
                let stored = parts.get(index).map(|part| part.stored.clone()).unwrap_or_default();
                let bytes = self.source.read(stored.start.into(), width(&stored).into())?;
                let at = self.source.base().saturating_add(stored.start.into());
                let State { decoders, buffers, .. } = state;
                coding.stages.decode(Block::First, buffers, out, |target| {
                    if bytes.len() == target.len() {
                        target.copy_from_slice(&bytes);
                        return Ok(());
                    }
                    let outcome = coding.coder.decode(decoders, shared.dictionary.as_deref(), &bytes, target);
                    outcome.map_err(|kind| stream_fault(coding, kind, at))
                })?;
            }
        }
        Ok(())
    }

    fn copy_raw(&self, start: usize, out: &mut [u8]) -> Result<()> {
        let at = u64::from(self.header.size()).saturating_add(start as u64);
        out.copy_from_slice(&self.source.read(at, out.len() as u64)?);
        Ok(())
    }

    fn check_limit(&self) -> Result<()> {
        self.context.limits.memory("bytes of a decoded chunk", self.header.nbytes.into()).map(drop)
    }
}

impl std::fmt::Debug for Chunk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chunk").field("header", &self.header).finish_non_exhaustive()
    }
}

/// The header at the start of a source.
pub(crate) fn read_header(source: &Source<'_>) -> Result<ChunkHeader> {
    let head = source.read(0, source.len().min(ChunkHeader::LONG.into()))?;
    locate(HEADER, source.base(), &head, ChunkHeader::parse)
}

/// Fills `out`, whose first byte is byte `start` of the chunk, with a repeated value.
fn fill(value: &[u8], start: usize, out: &mut [u8]) {
    if let [byte] = value {
        out.fill(*byte);
        return;
    }
    let phase = start.checked_rem(value.len()).unwrap_or(0);
    out.iter_mut().zip(value.iter().cycle().skip(phase)).for_each(|(byte, value)| *byte = *value);
}

fn width(range: &Range<u32>) -> u32 {
    range.end.saturating_sub(range.start)
}

/// A size inside a chunk: 31 bits, so it fits.
fn to_usize(size: u32) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}
