//! The streams of a block, which are stored one after another.

use std::ops::Range;

use sciformats_core::arith::{add, div, mul, present, sub};
use sciformats_core::fault::{Fault, FaultKind, field, locate};
use sciformats_core::{Error, Result, bound};

use super::Coding;
use crate::codec::shuffle;
use crate::model::coder::Decoders;
use crate::model::kept::sized;
use crate::spec::pipeline::Codec;
use crate::spec::stream::Stream;

/// The streams of a block, which are stored one after another.
pub(super) struct Streams<'s> {
    pub(super) bytes: &'s [u8],
    /// The absolute offset of the first byte.
    pub(super) at: u64,
    pub(super) count: usize,
}

/// What is needed to decode streams: what the chunk says, what the thread keeps, and the dictionary.
pub(super) type Means<'m> = (&'m Coding, &'m mut Decoders, Option<&'m [u8]>);

impl<'s> Streams<'s> {
    pub(super) fn decode(&self, (coding, decoders, dictionary): Means<'_>, out: &mut [u8]) -> Result<()> {
        let size = div(out.len(), self.count)?.max(1);
        let mut rest = self.bytes;
        for target in out.chunks_mut(size) {
            let (stream, at) = self.next(&mut rest, target.len())?;
            let all = target.len();
            decode_one(stream, at, (coding, decoders, dictionary), target, all)?;
        }
        Ok(())
    }

    /// Decodes only the bytes `wanted` of a block that was converted to `planes` planes of equal length.
    pub(super) fn decode_part(
        &self,
        means: Means<'_>,
        buffer: &mut Vec<u8>,
        (planes, wanted): (usize, Range<usize>),
        out: &mut [u8],
    ) -> Result<()> {
        let stride = div(out.len(), planes)?;
        if planes == 1 {
            return self.decode_fronts(means, (stride, wanted), out);
        }
        let first = div(wanted.start, planes)?;
        let last = wanted.end.div_ceil(planes).min(stride);
        let shuffled = sized(buffer, out.len())?;
        self.decode_fronts(means, (stride, first..last), shuffled)?;
        let elements = out.get_mut(mul(first, planes)?..mul(last, planes)?);
        shuffle::to_elements(shuffled, planes, present(elements, "part of a block")?, stride, first);
        Ok(())
    }

    /// Decodes as much of each stream as is needed for the bytes `wanted` of all planes, which are `stride` bytes apart.
    fn decode_fronts(
        &self,
        (coding, decoders, dictionary): Means<'_>,
        (stride, wanted): (usize, Range<usize>),
        out: &mut [u8],
    ) -> Result<()> {
        let size = div(out.len(), self.count)?.max(1);
        let mut rest = self.bytes;
        let mut start = 0usize;
        for target in out.chunks_mut(size) {
            let (stream, at) = self.next(&mut rest, target.len())?;
            let end = add(start, target.len())?;
            // The last plane for which the stream may contain something, and its end.
            let plane = end.checked_sub(add(wanted.start, 1)?).and_then(|n| n.checked_div(stride));
            let needed = match plane {
                Some(plane) => add(mul(plane, stride)?, wanted.end)?,
                None => 0,
            };
            let front = bound::left(needed.min(end), start);
            if front > 0 {
                decode_one(stream, at, (coding, &mut *decoders, dictionary), target, front)?;
            }
            start = end;
        }
        Ok(())
    }

    /// Decodes streams that are the `N` planes of a shuffle, and joins them. Uncompressed streams are not copied before.
    pub(super) fn join<const N: usize>(
        &self,
        (coding, decoders, dictionary): Means<'_>,
        buffer: &mut Vec<u8>,
        out: &mut [u8],
    ) -> Result<()> {
        let mut planes: [&[u8]; N] = [&[]; N];
        let width = div(out.len(), N)?;
        let size = width.max(1);
        let mut rest = self.bytes;
        for (plane, target) in planes.iter_mut().zip(sized(buffer, out.len())?.chunks_exact_mut(size)) {
            *plane = match self.next(&mut rest, target.len())? {
                (Stream::Raw(bytes), _) => bytes,
                (stream, at) => {
                    let all = target.len();
                    decode_one(stream, at, (coding, decoders, dictionary), target, all)?;
                    target
                }
            };
        }
        if planes.iter().any(|plane| plane.len() < width) {
            return Err(Error::internal("a plane is shorter than its block"));
        }
        shuffle::join_planes(&planes, out);
        Ok(())
    }

    /// Returns the next stream, and the offset of its payload in the file.
    fn next(&self, rest: &mut &'s [u8], len: usize) -> Result<(Stream<'s>, u64)> {
        let at = add(self.at, sub(self.bytes.len(), rest.len())? as u64)?;
        let (after, stream) = locate("block", at, rest, |i| {
            let (after, stream) = field("stream", |i| Stream::parse(i, len))(i)?;
            Ok((after, (after, stream)))
        })?;
        *rest = after;
        Ok((stream, add(at, Stream::PREFIX as u64)?))
    }
}

/// Fills at least the first `front` bytes of `target`.
fn decode_one(
    stream: Stream<'_>,
    at: u64,
    (coding, decoders, dictionary): Means<'_>,
    target: &mut [u8],
    front: usize,
) -> Result<()> {
    let part = target.get_mut(..front).unwrap_or_default();
    match stream {
        Stream::Repeat(value) => part.fill(value),
        Stream::Raw(bytes) => part.copy_from_slice(bytes.get(..front).unwrap_or_default()),
        Stream::Coded(bytes) => coding
            .coder
            .decode_front(decoders, dictionary, bytes, (target, front))
            .map_err(|kind| stream_fault(coding, kind, at))?,
    }
    Ok(())
}

pub(super) fn stream_fault(coding: &Coding, kind: FaultKind, at: u64) -> Error {
    Fault::new("payload", kind).at(stream_name(coding.coder.codec()), at)
}

pub(super) fn stream_name(codec: Codec) -> &'static str {
    match codec {
        Codec::BloscLz => "blosclz stream",
        Codec::Lz4 | Codec::Lz4Hc => "lz4 stream",
        Codec::Zlib => "zlib stream",
        Codec::Zstd => "zstd stream",
        Codec::NdLz => "ndlz stream",
        Codec::Snappy | Codec::Other(_) => "stream",
    }
}
