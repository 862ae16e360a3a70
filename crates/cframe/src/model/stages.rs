//! The filters of a chunk as stages, whose parameters are all known.

use std::sync::Arc;

use sciformats_core::arith::sub;
use sciformats_core::{Error, Result};

use super::chunk::Context;
use super::kept::{Kept, Pair, sized};
use crate::codec::bytedelta::{self, Restart};
use crate::codec::registry::UserFilter;
use crate::codec::{bitshuffle, cells, delta, shuffle, truncate};
use crate::spec::pipeline::{Filter, Pipeline};

/// The filters that change bytes, in the order of compression.
#[derive(Clone, Default)]
pub(crate) struct Stages {
    stages: Vec<Stage>,
    /// Whether blocks other than the first need the decoded first one.
    pub(crate) needs_reference: bool,
}

#[derive(Clone)]
enum Stage {
    Shuffle { group: usize },
    BitShuffle { size: usize, only_whole_octets: bool },
    Delta { size: usize },
    Truncate { size: usize, meta: u8, float: bool },
    ByteDelta { planes: usize, restart: Restart },
    Cells { size: usize, shape: Vec<usize>, side: Vec<usize>, mean: bool, portable: bool },
    User { filter: Arc<dyn UserFilter>, size: usize, meta: u8 },
}

/// What a stage must know about the block.
#[derive(Clone, Copy)]
pub(crate) enum Block<'a> {
    /// It is the first block, or a separate one.
    First,
    /// It is another block; this is the decoded first one.
    Other(&'a [u8]),
}

/// Two buffers that are used in turn.
pub(crate) type Buffers = Kept<Pair>;

impl Stages {
    /// Returns the stages of a pipeline in a chunk of type size `size`. If `blosc1` is set, the version of the chunk is at most
    /// that of Blosc 1.
    ///
    /// # Errors
    /// `Unsupported` if one of the filters is not available, or needs something that is not known here.
    pub(crate) fn new(pipeline: &Pipeline, size: usize, blosc1: bool, context: &Context) -> Result<Self> {
        let stages: Result<Vec<_>> =
            pipeline.filters().map(|filter| Stage::new(filter, size, blosc1, context)).collect();
        let stages = stages?;
        let needs_reference = stages.iter().any(|stage| matches!(stage, Stage::Delta { .. }));
        Ok(Self { stages, needs_reference })
    }

    /// Returns the number of planes of bytes into which a block is divided, if this is the only change.
    pub(crate) fn planes(&self) -> Option<usize> {
        match self.stages[..] {
            [] => Some(1),
            [Stage::Shuffle { group }] => Some(group),
            _ => None,
        }
    }

    /// Decodes a block into `out`. `fill` writes the contents of the streams to a buffer of the block's size.
    pub(crate) fn decode(
        &self,
        block: Block<'_>,
        buffers: &mut Buffers,
        out: &mut [u8],
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let moving = self.stages.iter().filter(|stage| stage.moves()).count();
        let Pair { a, b } = &mut **buffers;
        let (mut from, mut to): (&mut Vec<u8>, &mut Vec<u8>) = (a, b);
        let mut left = moving;
        if moving == 0 {
            fill(out)?;
        } else {
            fill(sized(from, out.len())?)?;
        }
        for stage in self.stages.iter().rev() {
            if !stage.moves() {
                let current = if left == 0 { &mut *out } else { sized(from, out.len())? };
                stage.decode_in_place(block, current);
                continue;
            }
            let input = from.get(..out.len()).unwrap_or_default();
            if left == 1 {
                stage.decode_moving(input, out)?;
            } else {
                stage.decode_moving(input, sized(to, out.len())?)?;
                std::mem::swap(&mut from, &mut to);
            }
            left = sub(left, 1)?;
        }
        Ok(())
    }

    /// Applies the stages to a block, and returns the result.
    pub(crate) fn encode<'b>(
        &self,
        block: Block<'_>,
        buffers: &'b mut Buffers,
        input: &'b [u8],
    ) -> Result<&'b [u8]> {
        let Pair { a, b } = &mut **buffers;
        let (mut from, mut to): (&mut Vec<u8>, &mut Vec<u8>) = (a, b);
        let mut first = true;
        for stage in &self.stages {
            let source = if first { input } else { from.get(..input.len()).unwrap_or_default() };
            stage.encode(block, source, sized(to, input.len())?)?;
            std::mem::swap(&mut from, &mut to);
            first = false;
        }
        Ok(if first { input } else { from.get(..input.len()).unwrap_or_default() })
    }
}

impl Stage {
    fn new(filter: Filter, size: usize, blosc1: bool, context: &Context) -> Result<Self> {
        let meta = filter.meta;
        let given = |default: usize| if meta == 0 { default } else { usize::from(meta) };
        let frame_size = context.typesize.and_then(|size| usize::try_from(size).ok()).unwrap_or(size);
        Ok(match filter.id {
            1 => Self::Shuffle { group: given(size) },
            2 => Self::BitShuffle { size, only_whole_octets: blosc1 },
            3 => Self::Delta { size },
            4 => Self::Truncate { size, meta, float: true },
            36 => Self::Truncate { size, meta, float: false },
            34 => Self::ByteDelta { planes: given(frame_size), restart: Restart::AfterVectors },
            35 => Self::ByteDelta { planes: given(frame_size), restart: Restart::Never },
            32 | 33 => Self::cells(filter, size, context)?,
            id => match context.registry.filter(id) {
                Some(user) => Self::User { filter: user.clone(), size, meta },
                None => return Err(unknown(filter)),
            },
        })
    }

    fn cells(filter: Filter, size: usize, context: &Context) -> Result<Self> {
        let shape: Vec<usize> = context.block_shape.iter().filter_map(|&n| usize::try_from(n).ok()).collect();
        let side = usize::from(filter.meta);
        if shape.is_empty() || side == 0 {
            return Err(Error::unsupported(format!(
                "filter {} ({}) outside an array",
                filter.id,
                filter.name()
            )));
        }
        let mean = filter.id == 33;
        let portable = cells::is_portable(filter.meta, &shape, mean);
        let side = shape.iter().map(|&n| if mean { side.min(n.max(1)) } else { side }).collect();
        Ok(Self::Cells { size, shape, side, mean, portable })
    }

    /// Returns whether decoding needs a second buffer.
    fn moves(&self) -> bool {
        !matches!(self, Self::Delta { .. } | Self::Truncate { .. } | Self::ByteDelta { .. })
    }

    fn decode_in_place(&self, block: Block<'_>, bytes: &mut [u8]) {
        match (self, block) {
            (Self::Delta { size }, Block::First) => delta::decode_first(bytes, *size),
            (Self::Delta { size }, Block::Other(reference)) => delta::apply(bytes, *size, reference),
            (Self::ByteDelta { planes, restart }, _) => bytedelta::decode(bytes, *planes, *restart),
            _ => {}
        }
    }

    fn decode_moving(&self, input: &[u8], out: &mut [u8]) -> Result<()> {
        // The kernels rely on this.
        if input.len() != out.len() {
            return Err(Error::internal("the size of a block changes between two filters"));
        }
        let done = match self {
            Self::Shuffle { group } => {
                shuffle::unshuffle(input, *group, out);
                true
            }
            Self::BitShuffle { size, only_whole_octets } => {
                if stored_plain(input.len(), *size, *only_whole_octets) {
                    out.copy_from_slice(input);
                } else {
                    bitshuffle::unshuffle(input, *size, out);
                }
                true
            }
            Self::Cells { size, shape, side, .. } => cells::decode(input, *size, shape, side, out).is_some(),
            Self::User { filter, size, meta } => filter.decode(input, *size, *meta, out),
            Self::Delta { .. } | Self::Truncate { .. } | Self::ByteDelta { .. } => true,
        };
        if done { Ok(()) } else { Err(self.refused()) }
    }

    fn encode(&self, block: Block<'_>, input: &[u8], out: &mut [u8]) -> Result<()> {
        let done = match self {
            Self::Shuffle { group } => {
                shuffle::shuffle(input, *group, out);
                true
            }
            Self::BitShuffle { size, only_whole_octets } => {
                if stored_plain(input.len(), *size, *only_whole_octets) {
                    out.copy_from_slice(input);
                } else {
                    bitshuffle::shuffle(input, *size, out);
                }
                true
            }
            Self::Delta { size } => {
                match block {
                    Block::First => delta::encode_first(input, *size, out),
                    Block::Other(reference) => {
                        out.copy_from_slice(input);
                        delta::apply(out, *size, reference);
                    }
                }
                true
            }
            Self::Truncate { size, meta, float: true } => {
                truncate::mantissa(input, *size, *meta, out).is_some()
            }
            Self::Truncate { size, meta, float: false } => {
                truncate::integer(input, *size, *meta, out).is_some()
            }
            Self::ByteDelta { planes, restart } => {
                bytedelta::encode(input, *planes, *restart, out);
                true
            }
            Self::Cells { portable: false, .. } => false,
            Self::Cells { size, shape, side, mean: true, .. } => {
                cells::encode_means(input, *size, shape, side, out).is_some()
            }
            Self::Cells { size, shape, side, .. } => cells::encode(input, *size, shape, side, out).is_some(),
            Self::User { filter, size, meta } => filter.encode(input, *size, *meta, out),
        };
        if done { Ok(()) } else { Err(self.refused()) }
    }

    fn refused(&self) -> Error {
        let what = match self {
            Self::Truncate { .. } => "truncation with these bits and this type size",
            Self::Cells { size, mean: true, .. } if !matches!(size, 4 | 8) => {
                "writing elements other than floats of 4 or 8 bytes with filter 33 (ndmean)"
            }
            Self::Cells { portable: false, .. } => {
                "writing blocks of this shape with filter 32 or 33 (ndcell, ndmean) and sides of this length, which the C library cannot read,"
            }
            Self::Cells { .. } => {
                "a block whose size does not agree with its shape, with filter 32 or 33 (ndcell, ndmean),"
            }
            _ => "a block that its filter refuses",
        };
        Error::unsupported(what)
    }
}

/// Blosc 1 did not shuffle blocks whose number of elements is not a multiple of eight.
fn stored_plain(len: usize, size: usize, only_whole_octets: bool) -> bool {
    only_whole_octets && len.checked_div(size).is_some_and(|count| !count.is_multiple_of(8))
}

fn unknown(filter: Filter) -> Error {
    Error::unsupported(format!("filter {} ({})", filter.id, filter.name()))
}
