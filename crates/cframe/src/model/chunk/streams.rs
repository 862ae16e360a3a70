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

impl Streams<'_> {
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
            let at = self.at.saturating_add(self.bytes.len().saturating_sub(rest.len()) as u64);
            let (after, stream) = locate("block", at, rest, |i| {
                let (after, stream) = field("stream", |i| Stream::parse(i, target.len()))(i)?;
                Ok((after, (after, stream)))
            })?;
            match stream {
                Stream::Repeat(value) => target.fill(value),
                Stream::Raw(bytes) => target.copy_from_slice(bytes),
                Stream::Coded(bytes) => coding
                    .coder
                    .decode(decoders, dictionary, bytes, target)
                    .map_err(|kind| stream_fault(coding, kind, at.saturating_add(4)))?,
            }
            rest = after;
        }
        Ok(())
    }
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
