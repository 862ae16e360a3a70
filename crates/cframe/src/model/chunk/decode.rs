//! Decoding of whole chunks, of ranges of bytes, and of blocks or the requested parts of them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use sciformats_core::arith::{add, increase, present, rem, sub};
use sciformats_core::storage::{copy, zeroed};
use sciformats_core::{Error, Result, bound};

use super::held::{Held, Known};
use super::streams::{Streams, stream_fault};
use super::{Body, Chunk, Coding, to_usize};
use crate::model::coder::Decoders;
use crate::model::kept::{Kept, Scratch, sized};
use crate::model::stages::{Block, Buffers};

/// The largest size of a chunk in bytes that is not checked block by block.
const AT_ONCE: usize = 64 << 20;

/// What a thread keeps between blocks.
#[derive(Default)]
pub(crate) struct State {
    decoders: Kept<Decoders>,
    buffers: Buffers,
    part: Kept<Scratch>,
}

/// What all blocks of a chunk need: the dictionary, and the decoded first block.
#[derive(Default)]
pub(crate) struct Shared<'c> {
    dictionary: Option<Cow<'c, [u8]>>,
    reference: Option<Arc<Vec<u8>>>,
}

impl Chunk<'_> {
    /// Decodes the chunk.
    ///
    /// ```
    /// use cframe::{Chunk, Params};
    ///
    /// let bytes = cframe::compress(&[21; 4000], &Params::new(4))?;
    /// assert_eq!(Chunk::new(&bytes)?.decode()?, [21; 4000]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` at the stream that cannot be decoded; `LimitExceeded` if the result is larger than the limits allow.
    pub fn decode(&self) -> Result<Vec<u8>> {
        self.check_limit()?;
        let mut out = zeroed(self.nbytes())?;
        self.decode_into(&mut out)?;
        Ok(out)
    }

    /// Decodes the chunk into `out`.
    ///
    /// ```
    /// use cframe::{Chunk, Params};
    ///
    /// let bytes = cframe::compress(&[21; 4000], &Params::new(4))?;
    /// let mut out = [0; 4000];
    /// Chunk::new(&bytes)?.decode_into(&mut out)?;
    /// assert_eq!(out, [21; 4000]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`decode`](Self::decode); [`Error::Usage`] if the length of `out` is not [`nbytes`](Self::nbytes).
    pub fn decode_into(&self, out: &mut [u8]) -> Result<()> {
        if out.len() != self.nbytes() {
            let problem = format!("has {} bytes, but the chunk has {}", out.len(), self.nbytes());
            return Err(Error::usage("out", problem));
        }
        if let Body::VlBlocks { .. } = self.body {
            return self.read_into(0, out);
        }
        if let Body::Special { .. } | Body::Raw = self.body {
            return self.fill_from(0, out);
        }
        let mut first = State::default();
        let shared = self.shared(&mut first)?;
        let size = to_usize(self.header.blocksize);
        self.context.threads.each_piece((out, size), &mut first, State::default, |state, index, block| {
            self.decode_block(index, &shared, state, block)
        })
    }

    /// Fills `out` with decoded bytes, beginning at byte `start`. Only the blocks that contain them are decoded.
    ///
    /// ```
    /// use cframe::{Chunk, Params};
    ///
    /// let counts: Vec<u8> = (0..50_000u32).flat_map(u32::to_le_bytes).collect();
    /// let bytes = cframe::compress(&counts, &Params::new(4).with_blocksize(4096))?;
    /// let mut count = [0; 4];
    /// Chunk::new(&bytes)?.read_into(4 * 31_000, &mut count)?; // decodes one block of 49
    /// assert_eq!(u32::from_le_bytes(count), 31_000);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`decode`](Self::decode); [`Error::Usage`] if the range is not inside the chunk.
    pub fn read_into(&self, start: usize, out: &mut [u8]) -> Result<()> {
        if start.checked_add(out.len()).is_none_or(|end| end > self.nbytes()) {
            return Err(Error::usage("range", format!("is not inside the chunk of {} bytes", self.nbytes())));
        }
        if out.is_empty() {
            return Ok(());
        }
        let mut state = State::default();
        let shared = self.shared(&mut state)?;
        self.read_with(start, &shared, &mut state, out)
    }

    /// Does the same as [`read_into`](Self::read_into), for a range that is inside the chunk.
    pub(crate) fn read_with(
        &self,
        start: usize,
        shared: &Shared<'_>,
        state: &mut State,
        out: &mut [u8],
    ) -> Result<()> {
        let end = add(start, out.len())?;
        sub(self.nbytes(), end)?; // the range is inside the chunk
        if let Body::Special { .. } | Body::Raw = self.body {
            // The blocks have no meaning, however many are declared.
            return self.fill_from(start, out);
        }
        let (mut at, mut rest) = (start, out);
        let mut index = self.block_at(start)?;
        while at < end {
            let block = self.block_range(index);
            let (piece, after) = rest.split_at_mut(sub(block.end.min(end), at)?.min(rest.len()));
            if piece.is_empty() {
                // A block of variable length may be empty.
                increase(&mut index, 1)?;
                rest = after;
                continue;
            }
            self.read_in_block(index, sub(at, block.start)?, shared, state, piece)?;
            at = block.end.min(end);
            increase(&mut index, 1)?;
            rest = after;
        }
        Ok(())
    }

    /// Fills `piece` with the bytes of one block, beginning at byte `skip`.
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
            Body::Special { .. } | Body::Raw => self.fill_from(add(block.start, skip)?, piece)?,
            Body::Blocks { .. } | Body::VlBlocks { .. } => {
                if skip == 0 && piece.len() == block.len() {
                    return self.decode_block(index, shared, state, piece);
                }
                self.check_limit()?;
                if let Some(whole) = self.held_block(index, shared, state)? {
                    let wanted = whole.get(skip..add(skip, piece.len())?);
                    piece.copy_from_slice(present(wanted, "part of a block")?);
                    return Ok(());
                }
                let mut part = std::mem::take(&mut state.part);
                let whole = sized(&mut part.0, block.len())?;
                let wanted = skip..add(skip, piece.len())?;
                let outcome = self.decode_part(index, wanted.clone(), (shared, state), whole);
                let outcome = outcome.and_then(|()| present(whole.get(wanted), "part of a block"));
                let outcome = outcome.map(|decoded| piece.copy_from_slice(decoded));
                state.part = part;
                outcome?;
            }
        }
        Ok(())
    }

    /// Returns what all blocks need: the dictionary, and the first block if the others are differences from it.
    pub(crate) fn shared(&self, state: &mut State) -> Result<Shared<'_>> {
        let (Body::Blocks { coding, .. } | Body::VlBlocks { coding, .. }) = &self.body else {
            return Ok(Shared::default());
        };
        let dictionary = match &coding.dictionary {
            Some(range) => Some(self.source.read(range.start.into(), u64::from(width(range)?))?),
            None => None,
        };
        let mut shared = Shared { dictionary, reference: None };
        let vl = matches!(self.body, Body::VlBlocks { .. });
        if coding.stages.needs_reference && !vl && self.blocks() > 1 {
            self.check_limit()?;
            let len = self.block_range(0).len();
            let held = self.held.filter(|_| len >= Held::LARGE);
            let known = held.and_then(|(held, number)| held.reference(number));
            let first = match known {
                Some(first) => first,
                None => {
                    let mut first = zeroed(len)?;
                    self.decode_block(0, &shared, state, &mut first)?;
                    let first = Arc::new(first);
                    if let Some((held, number)) = held {
                        held.keep_reference(number, &first);
                    }
                    first
                }
            };
            shared.reference = Some(first);
        }
        Ok(shared)
    }

    /// Decodes a block into `out`, which must have its size.
    pub(crate) fn decode_block(
        &self,
        index: usize,
        shared: &Shared<'_>,
        state: &mut State,
        out: &mut [u8],
    ) -> Result<()> {
        let start = self.block_range(index).start;
        match &self.body {
            Body::Special { .. } | Body::Raw => self.fill_from(start, out)?,
            Body::Blocks { parts, coding } => {
                let bytes = self.stored_block(parts.get(index))?;
                let streams = self.streams(coding, (parts.get(index), &bytes), out.len());
                let block = match &shared.reference {
                    Some(reference) if index > 0 => Block::Other(reference),
                    _ => Block::First,
                };
                let State { decoders, buffers, .. } = state;
                let dictionary = shared.dictionary.as_deref();
                let buffer = &mut buffers.a;
                match coding.stages.planes().filter(|&planes| planes == streams.count) {
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
                let stored = parts.get(index).map(|part| &part.stored);
                let bytes = self.stored_block(stored)?;
                let at = self.position(stored);
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

    /// Decodes the bytes `wanted` of a block into `out`, which must have the size of the block. The contents of the other bytes
    /// are undefined, because codecs and filters skip what they need not process.
    fn decode_part(
        &self,
        index: usize,
        wanted: Range<usize>,
        (shared, state): (&Shared<'_>, &mut State),
        out: &mut [u8],
    ) -> Result<()> {
        let Body::Blocks { parts, coding } = &self.body else {
            return self.decode_block(index, shared, state, out);
        };
        let even = |planes: &usize| out.len().checked_rem(*planes) == Some(0);
        let Some(planes) = coding.stages.planes().filter(even) else {
            return self.decode_block(index, shared, state, out);
        };
        let bytes = self.stored_block(parts.get(index))?;
        let streams = self.streams(coding, (parts.get(index), &bytes), out.len());
        let means = (coding, &mut *state.decoders, shared.dictionary.as_deref());
        streams.decode_part(means, &mut state.buffers.a, (planes, wanted), out)
    }

    fn stored_block(&self, place: Option<&Range<u32>>) -> Result<Cow<'_, [u8]>> {
        let place = present(place, "place of a block")?;
        self.source.read(place.start.into(), width(place)?.into())
    }

    /// Returns the offset of a block in the file, for messages.
    fn position(&self, place: Option<&Range<u32>>) -> u64 {
        bound::sum(self.source.base(), place.map_or(0, |place| place.start).into())
    }

    /// Returns the streams of a block with `len` decoded bytes.
    fn streams<'s>(
        &self,
        coding: &Coding,
        (place, bytes): (Option<&Range<u32>>, &'s [u8]),
        len: usize,
    ) -> Streams<'s> {
        let whole = len == to_usize(self.header.blocksize);
        let count = if coding.split && whole { self.typesize() } else { 1 };
        Streams { bytes, at: self.position(place), count }
    }

    /// Returns a block that is large and of which a part has been read before. More parts will be read, so it is decoded once for
    /// all.
    fn held_block(
        &self,
        index: usize,
        shared: &Shared<'_>,
        state: &mut State,
    ) -> Result<Option<Arc<Vec<u8>>>> {
        let len = self.block_range(index).len();
        let Some((held, number)) = self.held.filter(|_| len >= Held::LARGE) else { return Ok(None) };
        match held.look((number, index)) {
            Known::Nothing => Ok(None),
            Known::Block(block) => Ok(Some(block)),
            Known::Asked => {
                let mut block = zeroed(len)?;
                self.decode_block(index, shared, state, &mut block)?;
                let block = Arc::new(block);
                held.keep((number, index), &block);
                Ok(Some(block))
            }
        }
    }

    /// Decodes every block, and keeps none of them. The blocks of a large chunk are decoded one after another.
    pub(crate) fn check(&self) -> Result<()> {
        match self.body {
            Body::Special { .. } | Body::Raw => Ok(()),
            _ if self.nbytes() <= AT_ONCE => self.decode().map(drop),
            _ => {
                let mut state = State::default();
                let shared = self.shared(&mut state)?;
                let mut block = Kept::<Scratch>::default();
                (0..self.blocks()).try_for_each(|index| {
                    let len = self.block_range(index).len();
                    self.context.limits.memory("bytes of a block", len as u64)?;
                    self.decode_block(index, &shared, &mut state, sized(&mut block.0, len)?)
                })
            }
        }
    }

    /// Fills `out` from byte `start` on, in a chunk without blocks.
    fn fill_from(&self, start: usize, out: &mut [u8]) -> Result<()> {
        if let Body::Special { value } = &self.body {
            return fill(value, start, out);
        }
        let at = add(u64::from(self.header.size()), start as u64)?;
        copy(&self.source.read(at, out.len() as u64)?, out)
    }

    fn check_limit(&self) -> Result<()> {
        self.context.limits.memory("bytes of a decoded chunk", self.header.nbytes.into()).map(drop)
    }
}

/// Fills `out` with a repeated value. The first byte of `out` is byte `start` of the chunk.
pub(crate) fn fill(value: &[u8], start: usize, out: &mut [u8]) -> Result<()> {
    if let [byte] = value {
        out.fill(*byte);
        return Ok(());
    }
    let phase = rem(start, value.len())?;
    let mut known = value.len().min(out.len());
    out.iter_mut().zip(value.iter().cycle().skip(phase)).take(known).for_each(|(byte, value)| *byte = *value);
    // The bytes so far are a whole number of values, so the same bytes follow.
    while known < out.len() {
        let more = known.min(sub(out.len(), known)?);
        out.copy_within(..more, known);
        increase(&mut known, more)?;
    }
    Ok(())
}

fn width(range: &Range<u32>) -> Result<u32> {
    sub(range.end, range.start)
}
