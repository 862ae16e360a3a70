//! Writing of the blocks of a chunk.

use sciformats_core::arith::{add, fit, increase, mul, present, sum};
use sciformats_core::{Error, Result, bound};

use super::chunk::Context;
use super::coder::{Coder, Effort, Encoders};
use super::kept::Kept;
use super::params::Params;
use super::stages::{Block, Buffers, Stages};
use crate::codec::zstd;
use crate::spec::block_starts;
use crate::spec::chunk_header::{ChunkHeader, MAX_DICTIONARY, VERSION_BLOSC1};
use crate::spec::pipeline::{Codec, Filter, Pipeline};
use crate::spec::stream::Stream;

/// What a thread keeps between blocks.
#[derive(Default)]
pub(super) struct State {
    encoders: Kept<Encoders>,
    buffers: Buffers,
}

/// The result for a block.
#[derive(Clone, Copy, Default)]
struct Made {
    /// The size of the block in the chunk.
    len: usize,
    /// Whether it became smaller and has been written. Otherwise it is stored uncompressed later.
    smaller: bool,
}

/// What is the same for all blocks.
pub(super) struct Job<'a> {
    params: Params,
    coder: Coder,
    stages: Stages,
    blocksize: usize,
    split: bool,
    data: &'a [u8],
    /// The first block as readers will decode it, if the others are differences from it.
    reference: Option<Vec<u8>>,
}

impl<'a> Job<'a> {
    pub(super) fn new(data: &'a [u8], params: &Params, context: &Context) -> Result<Self> {
        params.check()?;
        let coder = Coder::writing(params.codec, params.codec_meta, params.typesize, context)?;
        let mut params = *params;
        if params.blosc1 {
            check_blosc1(&params)?;
            params = params.for_every_reader(fit(data.len(), "size of a chunk")?);
        }
        let size = usize::from(params.stored_typesize());
        let stages = Stages::new(&params.pipeline, size, params.blosc1, context)?;
        let blocksize = params.blocksize_for(fit(data.len(), "size of a chunk")?);
        let mut job = Self {
            params,
            coder,
            stages,
            blocksize: blocksize as usize,
            split: params.splits(blocksize),
            data,
            reference: None,
        };
        if job.stages.needs_reference {
            job.reference = Some(job.first_as_read()?);
        }
        Ok(job)
    }

    pub(super) fn header(&self, nbytes: u32) -> Result<ChunkHeader> {
        let Params { codec, codec_meta, pipeline, .. } = self.params;
        let blocksize = fit(self.blocksize, "block size")?;
        let long = ChunkHeader::plain(self.params.stored_typesize(), nbytes, blocksize);
        if !self.params.blosc1 {
            return Ok(long.with_coding(codec, codec_meta, pipeline, self.split));
        }
        let shuffle = if pipeline.contains(1) { 1 } else { u8::from(pipeline.contains(2)) << 2 };
        let unsplit = if self.split { 0 } else { 0x10 };
        let flags = shuffle | unsplit | (codec.format() << 5);
        Ok(ChunkHeader { version: VERSION_BLOSC1, flags, extension: None, ..long })
    }

    /// Returns the first block as readers will decode it, because filters may lose information.
    fn first_as_read(&self) -> Result<Vec<u8>> {
        let first = self.data.get(..self.blocksize.min(self.data.len())).unwrap_or_default();
        let mut encoding = Buffers::default();
        let stored = self.stages.encode(Block::First, &mut encoding, first)?.to_vec();
        let mut out = vec![0; first.len()];
        self.stages.decode(Block::First, &mut Buffers::default(), &mut out, |target| {
            target.copy_from_slice(&stored);
            Ok(())
        })?;
        Ok(out)
    }

    fn block(&self, index: usize) -> (&'a [u8], Block<'_>) {
        let start = bound::product(index, self.blocksize);
        let end = bound::sum(start, self.blocksize).min(self.data.len());
        let bytes = self.data.get(start..end).unwrap_or_default();
        match &self.reference {
            Some(reference) if index > 0 => (bytes, Block::Other(reference)),
            _ => (bytes, Block::First),
        }
    }

    /// Writes the block starts, the dictionary and the blocks. Returns their total size, or `None` if they do not fit. `start` is
    /// the position of `out` in the chunk.
    pub(super) fn write_body(
        &self,
        start: usize,
        dictionary: Option<&[u8]>,
        out: &mut [u8],
        context: &Context,
    ) -> Result<Option<usize>> {
        let count = self.data.len().div_ceil(self.blocksize.max(1));
        let mut head = vec![0; mul(count, block_starts::SIZE)?];
        if let Some(dictionary) = dictionary {
            head.extend(fit::<u32, _>(dictionary.len(), "size of a dictionary")?.to_le_bytes());
            head.extend(dictionary);
        }
        let Some((target, blocks)) = out.split_at_mut_checked(head.len()) else { return Ok(None) };
        let Some(lens) = self.write_blocks(dictionary, blocks, context, count)? else { return Ok(None) };
        let mut at = add(start, head.len())?;
        let mut starts = Vec::with_capacity(lens.len());
        for len in &lens {
            starts.push(fit(at, "start of a block")?);
            increase(&mut at, *len)?;
        }
        let mut encoded = Vec::new();
        block_starts::encode(&starts, &mut encoded);
        head.iter_mut().zip(encoded).for_each(|(to, from)| *to = from);
        target.copy_from_slice(&head);
        Ok(at.checked_sub(start))
    }

    /// Writes the blocks one after another. Returns the size of each block, or `None` if they do not fit.
    fn write_blocks(
        &self,
        dictionary: Option<&[u8]>,
        out: &mut [u8],
        context: &Context,
        count: usize,
    ) -> Result<Option<Vec<usize>>> {
        let mut made = vec![Made::default(); count];
        let shared = context.threads.share(
            (&mut *out, self.blocksize),
            &mut made,
            State::default,
            |state, index, slot| self.encode_block(index, dictionary, state, slot),
        )?;
        if shared && self.close_ranks(&made, out) {
            return self.store_blocks(&made, out);
        }
        if shared && made.iter().all(|made| !made.smaller) {
            return Ok(None);
        }
        let mut state = State::default();
        let mut at = 0usize;
        for (index, made) in made.iter_mut().enumerate() {
            let Some(rest) = out.get_mut(at..) else { return Ok(None) };
            *made = self.encode_block(index, dictionary, &mut state, rest)?;
            increase(&mut at, made.len)?;
        }
        self.store_blocks(&made, out)
    }

    /// Moves blocks from slots of the size of a decoded block to their final places. Returns `false` if a block would overwrite a
    /// later one, or would not fit.
    fn close_ranks(&self, made: &[Made], out: &mut [u8]) -> bool {
        let mut at = 0usize;
        for (index, made) in made.iter().enumerate() {
            let slot = bound::product(index, self.blocksize);
            let end = bound::sum(at, made.len);
            // A block without a slot has not been tried.
            if made.len == 0 || at > slot || end > out.len() || end > bound::sum(slot, self.blocksize) {
                return false;
            }
            if made.smaller {
                out.copy_within(slot..bound::sum(slot, made.len), at);
            }
            at = end;
        }
        true
    }

    /// Writes the blocks that did not become smaller, after it is known that compressing the others is worth it. Returns the
    /// sizes of all blocks, or `None` if they do not fit.
    fn store_blocks(&self, made: &[Made], out: &mut [u8]) -> Result<Option<Vec<usize>>> {
        let total = sum(made.iter().map(|made| made.len))?;
        if total > out.len() {
            return Ok(None);
        }
        let mut at = 0usize;
        let mut buffers = Buffers::default();
        for (index, made) in made.iter().enumerate() {
            let end = add(at, made.len)?;
            let mut place = present(out.get_mut(at..end), "place of a block")?;
            if !made.smaller {
                let (bytes, block) = self.block(index);
                let filtered = self.stages.encode(block, &mut buffers, bytes)?;
                for stream in filtered.chunks(self.stream_size(filtered.len())) {
                    let len = present(Stream::Raw(stream).encode(place), "room for a stream")?;
                    place = present(place.get_mut(len..), "room for a stream")?;
                }
            }
            at = end;
        }
        Ok(Some(made.iter().map(|made| made.len).collect()))
    }

    /// Encodes a block into the front of `out`, if this makes it smaller.
    fn encode_block(
        &self,
        index: usize,
        dictionary: Option<&[u8]>,
        state: &mut State,
        out: &mut [u8],
    ) -> Result<Made> {
        let (bytes, block) = self.block(index);
        let State { encoders, buffers } = state;
        let filtered = self.stages.encode(block, buffers, bytes)?;
        let size = self.stream_size(filtered.len());
        let stored = mul(filtered.chunks(size).count(), Stream::PREFIX)?;
        let stored = Made { len: add(filtered.len(), stored)?, smaller: false };
        let effort = Effort { level: self.params.level, dictionary, uniform: self.split };
        let made = self.streams(filtered.chunks(size), out, |stream, payload| {
            self.coder.encode(encoders, effort, stream, payload)
        });
        Ok(made.filter(|&len| len < filtered.len()).map_or(stored, |len| Made { len, smaller: true }))
    }

    /// Writes the streams of a block. Each is encoded by `code` if this makes it smaller. Returns `None` if they do not fit, or
    /// if none of them became smaller.
    fn streams<'s>(
        &self,
        streams: impl Iterator<Item = &'s [u8]>,
        out: &mut [u8],
        mut code: impl FnMut(&[u8], &mut [u8]) -> Option<usize>,
    ) -> Option<usize> {
        // Streams are only stored uncompressed after it is known that encoding others is worth it.
        let mut raw: Vec<(usize, &[u8])> = Vec::new();
        let (mut at, mut smaller) = (0usize, false);
        for stream in streams {
            let rest = out.get_mut(at..)?;
            let value = if self.params.blosc1 { None } else { repeated(stream) };
            let made = match value {
                Some(value) => Some(Stream::Repeat(value).encode(rest)?),
                None => {
                    let room = rest.get_mut(Stream::PREFIX..)?;
                    let room = room.get_mut(..room.len().min(bound::left(stream.len(), 1)))?;
                    let payload = code(stream, room);
                    payload.and_then(|payload| Stream::seal(payload, rest))
                }
            };
            smaller |= made.is_some();
            let len = made.unwrap_or_else(|| {
                raw.push((at, stream));
                bound::sum(stream.len(), Stream::PREFIX)
            });
            at = at.checked_add(len)?;
        }
        if !smaller || at > out.len() {
            return None;
        }
        for (at, stream) in raw {
            Stream::Raw(stream).encode(out.get_mut(at..)?)?;
        }
        Some(at)
    }

    /// Returns a block of variable length, preceded by its size.
    pub(super) fn encode_alone(&self, state: &mut State, block: &[u8]) -> Result<Vec<u8>> {
        let State { encoders, buffers } = state;
        let filtered = self.stages.encode(Block::First, buffers, block)?;
        let mut payload = vec![0; bound::left(filtered.len(), 1)];
        let effort = Effort { level: self.params.level, dictionary: None, uniform: false };
        let made = self.coder.encode(encoders, effort, filtered, &mut payload);
        let payload = made.and_then(|made| payload.get(..made)).unwrap_or(filtered);
        let size = fit::<u32, _>(block.len(), "size of a block")?.to_le_bytes();
        Ok([&size, payload].concat())
    }

    fn stream_size(&self, len: usize) -> usize {
        let streams =
            if self.split && len == self.blocksize { usize::from(self.params.stored_typesize()) } else { 1 };
        len.checked_div(streams).unwrap_or(len).max(1)
    }

    /// Returns a dictionary for the blocks of this chunk; `None` if the codec has no dictionaries, or if none can be made of the
    /// data.
    pub(super) fn dictionary(&self, context: &Context) -> Result<Option<Vec<u8>>> {
        let largest = bound::addressable(MAX_DICTIONARY.into()).min(self.data.len() / 32);
        let count = self.data.len().div_ceil(self.blocksize.max(1));
        if largest < 256 || count < 2 {
            return Ok(None);
        }
        let filtered: Vec<Vec<u8>> =
            context.threads.collect(count, self.data.len(), State::default, |state, index| {
                let (bytes, block) = self.block(index);
                self.stages.encode(block, &mut state.buffers, bytes).map(<[u8]>::to_vec)
            })?;
        match self.params.codec {
            Codec::Zstd => {
                let samples: Vec<&[u8]> = filtered.iter().flat_map(|block| block.chunks(1 << 10)).collect();
                let lengths: Vec<usize> = samples.iter().map(|sample| sample.len()).collect();
                Ok(zstd::train(&samples.concat(), &lengths, largest))
            }
            Codec::Lz4 | Codec::Lz4Hc => {
                // Any text can be a dictionary. A part of each block is used, so that it contains what recurs in all of them.
                let share = largest.checked_div(count).unwrap_or_default().max(64);
                let pieces = filtered.iter().filter_map(|block| block.get(..share.min(block.len())));
                let mut dictionary: Vec<u8> = pieces.flatten().copied().collect();
                dictionary.truncate(largest);
                Ok(Some(dictionary))
            }
            _ => Ok(None),
        }
    }
}

/// Checks the restrictions of Blosc 1, which has one slot for a shuffle, and four codecs.
fn check_blosc1(params: &Params) -> Result<()> {
    let plain = |filter: Filter| (filter.id == 1 || filter.id == 2) && filter.meta == 0;
    let Pipeline(_) = params.pipeline;
    let filters = params.pipeline.filters().count();
    if filters > 1 || !params.pipeline.filters().all(plain) {
        return Err(Error::usage(
            "filters",
            "must be a single shuffle, because Blosc 1 has no other filters",
        ));
    }
    if params.codec.format() > 4 || params.dictionary || params.typesize > 255 {
        return Err(Error::usage("codec, dictionary or type size", "does not exist in Blosc 1"));
    }
    Ok(())
}

/// Returns the byte of which `bytes` consists, if all bytes are equal.
pub(super) fn repeated(bytes: &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    // Most streams differ early; the rest is compared in long steps.
    let head = rest.iter().take(16).all(|byte| byte == first);
    (head && bytes.chunks(4096).all(|piece| piece.iter().fold(0, |all, byte| all | (byte ^ first)) == 0))
        .then_some(*first)
}
