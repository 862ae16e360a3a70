//! Coding of a single stream, and what a codec keeps between streams.

use std::cell::Cell;
use std::sync::Arc;
use std::thread::LocalKey;

use sciformats_core::{Error, FaultKind, Result, bound};

use super::chunk::Context;
use super::kept::Keep;
use crate::codec::registry::{BlockOf, UserCodec};
use crate::codec::{CORRUPT, Outcome, blosclz, lz4, lz4hc, lz4mid, ndlz, zlib, zstd};
use crate::spec::pipeline::Codec;

/// A codec that this build has, with its parameter.
#[derive(Clone)]
pub(crate) struct Coder {
    codec: Codec,
    meta: u8,
    user: Option<User>,
    /// The shape of a block, which some codecs need for writing.
    shape: (u32, u32),
}

/// A codec of the caller, and what it may want to know.
#[derive(Clone)]
struct User {
    codec: Arc<dyn UserCodec>,
    typesize: usize,
    shape: Vec<u32>,
}

impl User {
    fn block(&self, meta: u8) -> BlockOf<'_> {
        BlockOf { meta, typesize: self.typesize, shape: &self.shape }
    }
}

/// What a thread keeps between streams.
#[derive(Default)]
pub(crate) struct Decoders {
    zlib: zlib::Decoder,
    zstd: zstd::Decoder,
}

impl Keep for Decoders {
    fn place() -> &'static LocalKey<Cell<Self>> {
        thread_local!(static PLACE: Cell<Decoders> = Cell::default());
        &PLACE
    }

    fn shrink(&mut self) {
        self.zstd.forget_dictionary();
    }
}

/// The effort of encoding.
#[derive(Clone, Copy)]
pub(crate) struct Effort<'d> {
    pub(crate) level: u8,
    /// Bytes that the decoder knows before the stream.
    pub(crate) dictionary: Option<&'d [u8]>,
    /// Whether all parts of a stream are similar.
    pub(crate) uniform: bool,
}

/// What a thread keeps between streams.
#[derive(Default)]
pub(crate) struct Encoders {
    blosclz: blosclz::Encoder,
    lz4: lz4::Encoder,
    lz4mid: lz4mid::Encoder,
    lz4hc: lz4hc::Encoder,
    zlib: zlib::Encoder,
    zstd: zstd::Encoder,
}

impl Keep for Encoders {
    fn place() -> &'static LocalKey<Cell<Self>> {
        thread_local!(static PLACE: Cell<Encoders> = Cell::default());
        &PLACE
    }

    fn shrink(&mut self) {
        self.zstd.shrink();
    }
}

impl Coder {
    /// Returns a codec for reading.
    ///
    /// # Errors
    /// `Unsupported` if it is not available.
    pub(crate) fn reading(codec: Codec, meta: u8, typesize: usize, context: &Context) -> Result<Self> {
        let user = || {
            let codec = context.registry.codec(codec.id())?.clone();
            Some(User { codec, typesize, shape: context.block_shape.clone() })
        };
        match codec {
            Codec::Zstd if !zstd::READS => Err(Error::missing_feature("codec 5 (zstd)", "zstd")),
            Codec::BloscLz | Codec::Lz4 | Codec::Lz4Hc | Codec::Zlib | Codec::Zstd | Codec::NdLz => {
                Ok(Self { codec, meta, user: None, shape: (0, 0) })
            }
            Codec::Snappy | Codec::Other(_) => match user() {
                Some(user) => Ok(Self { codec, meta, user: Some(user), shape: (0, 0) }),
                None => Err(unknown(codec)),
            },
        }
    }

    /// Returns a codec for writing.
    ///
    /// # Errors
    /// `Unsupported` if it is not available.
    pub(crate) fn writing(codec: Codec, meta: u8, typesize: u32, context: &Context) -> Result<Self> {
        match codec {
            Codec::Zstd if !zstd::WRITES => {
                Err(Error::missing_feature("writing with codec 5 (zstd)", "zstd"))
            }
            Codec::NdLz => match context.block_shape[..] {
                [height, width] if typesize == 1 && matches!(meta, 4 | 8) => {
                    Ok(Self { codec, meta, user: None, shape: (height, width) })
                }
                _ => Err(Error::unsupported(
                    "writing with codec 32 (ndlz) anything but two-dimensional arrays of bytes with the parameter 4 or 8",
                )),
            },
            _ => Self::reading(codec, meta, bound::addressable(typesize.into()), context),
        }
    }

    pub(crate) fn codec(&self) -> Codec {
        self.codec
    }

    /// Decodes `input` into all of `out`. All streams that use `state` must have the same `dictionary`.
    pub(crate) fn decode(
        &self,
        state: &mut Decoders,
        dictionary: Option<&[u8]>,
        input: &[u8],
        out: &mut [u8],
    ) -> Outcome {
        match self.codec {
            Codec::BloscLz => blosclz::decode(input, out),
            Codec::Lz4 | Codec::Lz4Hc => lz4::decode(input, dictionary, out),
            Codec::Zlib => state.zlib.decode(input, out),
            Codec::Zstd => state.zstd.decode(input, dictionary, out),
            Codec::NdLz => ndlz::decode(input, self.meta, out),
            Codec::Snappy | Codec::Other(_) => match &self.user {
                Some(user) if user.codec.decode_block(input, &user.block(self.meta), out) => Ok(()),
                Some(_) => Err(CORRUPT),
                None => Err(FaultKind::Undefined { found: self.codec.id().into() }),
            },
        }
    }

    /// Does the same as [`decode`](Self::decode), but only the first `front` bytes of `out` matter, so codecs may stop there.
    pub(crate) fn decode_front(
        &self,
        state: &mut Decoders,
        dictionary: Option<&[u8]>,
        input: &[u8],
        (out, front): (&mut [u8], usize),
    ) -> Outcome {
        match (self.codec, dictionary, out.split_at_mut_checked(front)) {
            (Codec::BloscLz, _, Some((part, [_, ..]))) => blosclz::decode_front(input, part),
            (Codec::Lz4 | Codec::Lz4Hc, None, Some((part, [_, ..]))) => lz4::decode_front(input, part),
            _ => self.decode(state, dictionary, input, out),
        }
    }

    /// Encodes `input` into the front of `out`, if it fits, and returns the number of bytes. All streams that use `state` must
    /// have the same dictionary.
    pub(crate) fn encode(
        &self,
        state: &mut Encoders,
        effort: Effort<'_>,
        input: &[u8],
        out: &mut [u8],
    ) -> Option<usize> {
        let Effort { level, dictionary, uniform } = effort;
        match (self.codec, dictionary) {
            (Codec::Lz4 | Codec::Lz4Hc, Some(dictionary)) => lz4::encode_with(input, dictionary, out),
            (Codec::BloscLz, _) => state.blosclz.encode(input, level, uniform, out),
            (Codec::Lz4, None) => state.lz4.encode(input, level, uniform, out),
            (Codec::Lz4Hc, None) if level <= 2 => state.lz4mid.encode(input, out),
            (Codec::Lz4Hc, None) => state.lz4hc.encode(input, level, out),
            (Codec::Zlib, _) => state.zlib.encode(input, level, out),
            (Codec::Zstd, _) => state.zstd.encode(input, (level, dictionary), out),
            (Codec::NdLz, _) => ndlz::encode(input, self.meta, self.shape, out),
            (Codec::Snappy | Codec::Other(_), _) => {
                let mut made = Vec::new();
                let encoded =
                    |user: &&User| user.codec.encode_block(input, level, &user.block(self.meta), &mut made);
                self.user.as_ref().filter(encoded)?;
                out.get_mut(..made.len())?.copy_from_slice(&made);
                Some(made.len())
            }
        }
    }
}

fn unknown(codec: Codec) -> Error {
    Error::unsupported(format!("codec {} ({})", codec.id(), codec.name()))
}
