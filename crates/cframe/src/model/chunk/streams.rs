//! The streams of a block, one after another.

use sciformats_core::fault::{Fault, FaultKind, field, locate};
use sciformats_core::{Error, Result};

use super::Coding;
use crate::model::coder::Decoders;
use crate::spec::pipeline::Codec;
use crate::spec::stream::Stream;

/// The streams of a block, one after another.
pub(super) struct Streams<'s> {
    pub(super) bytes: &'s [u8],
    /// Absolute offset of the first byte.
    pub(super) at: u64,
    pub(super) count: usize,
}

impl<'s> Streams<'s> {
    pub(super) fn decode(
        &self,
        coding: &Coding,
        decoders: &mut Decoders,
        dictionary: Option<&[u8]>,
        out: &mut [u8],
    ) -> Result<()> {
        let size = out.len().checked_div(self.count).unwrap_or(0).max(1);
        let mut rest = self.bytes;
        for target in out.chunks_mut(size) {
            match self.next(&mut rest, target.len())? {
                (Stream::Raw(bytes), _) => target.copy_from_slice(bytes),
                (stream, at) => decode_one(stream, at, (coding, decoders, dictionary), target)?,
            }
        }
        Ok(())
    }

    /// The streams one by one, decoded into `buffer` where they are not stored as they are. `N` is their number.
    pub(super) fn planes<'p, const N: usize>(
        &self,
        coding: &Coding,
        decoders: &mut Decoders,
        dictionary: Option<&[u8]>,
        buffer: &'p mut [u8],
    ) -> Result<[&'p [u8]; N]>
    where
        's: 'p,
    {
        let mut planes: [&'p [u8]; N] = [&[]; N];
        let size = buffer.len().checked_div(N).unwrap_or(0).max(1);
        let mut rest = self.bytes;
        for (plane, target) in planes.iter_mut().zip(buffer.chunks_exact_mut(size)) {
            *plane = match self.next(&mut rest, target.len())? {
                (Stream::Raw(bytes), _) => bytes,
                (stream, at) => {
                    decode_one(stream, at, (coding, decoders, dictionary), target)?;
                    target
                }
            };
        }
        Ok(planes)
    }

    /// The next stream, and where its payload is in the file.
    fn next(&self, rest: &mut &'s [u8], len: usize) -> Result<(Stream<'s>, u64)> {
        let at = self.at.saturating_add(self.bytes.len().saturating_sub(rest.len()) as u64);
        let (after, stream) = locate("block", at, rest, |i| {
            let (after, stream) = field("stream", |i| Stream::parse(i, len))(i)?;
            Ok((after, (after, stream)))
        })?;
        *rest = after;
        Ok((stream, at.saturating_add(Stream::PREFIX as u64)))
    }
}

fn decode_one(
    stream: Stream<'_>,
    at: u64,
    (coding, decoders, dictionary): (&Coding, &mut Decoders, Option<&[u8]>),
    target: &mut [u8],
) -> Result<()> {
    match stream {
        Stream::Repeat(value) => target.fill(value),
        Stream::Raw(bytes) => target.copy_from_slice(bytes),
        Stream::Coded(bytes) => coding
            .coder
            .decode(decoders, dictionary, bytes, target)
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
