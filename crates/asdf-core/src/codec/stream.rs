//! Compressions that consist of one stream, which coders of other crates read and write.

use std::io::{self, BufRead, Read, Write};

use sciformats_core::{Error, Result, bound};

use super::{Compression, DecodeError, Sink, fault, wrong};

/// The number of bytes of data that are decoded at a time when the data need not be in memory as a whole.
const PIECE: u64 = 1 << 20;

/// Returns the fault of the stored bytes that an error of a decoder stands for.
pub(super) fn damage(error: io::Error) -> DecodeError {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return wrong("ends early");
    }
    let own = error.into_inner().and_then(|inner| inner.downcast::<DecodeError>().ok());
    own.map_or_else(|| wrong("is damaged"), |own| *own)
}

/// Returns a decoder of a stream.
pub(super) fn decoder<'a>(
    compression: Compression,
    stored: impl BufRead + 'a,
) -> Result<Box<dyn Read + 'a>, DecodeError> {
    boxed(compression, Box::new(stored))
}

/// Takes a boxed reader, so that each decoder is compiled only once.
fn boxed<'a>(
    compression: Compression,
    stored: Box<dyn BufRead + 'a>,
) -> Result<Box<dyn Read + 'a>, DecodeError> {
    match compression {
        Compression::Zlib => Ok(Box::new(flate2::bufread::ZlibDecoder::new(stored))),
        Compression::Bzp2 => Ok(Box::new(bzip2::bufread::BzDecoder::new(stored))),
        Compression::Lz4Frame => Ok(Box::new(lz4_flex::frame::FrameDecoder::new(stored))),
        Compression::Zstd => zstd(stored),
        _ => fault("cannot be read as a stream"),
    }
}

/// Reads exactly `out` from a decoder, and checks that it then ends.
pub(super) fn fill(mut decoder: impl Read, out: &mut [u8]) -> Result<(), DecodeError> {
    decoder.read_exact(out).map_err(damage)?;
    end(decoder)
}

/// Reads exactly `size` bytes of data from a decoder, piece by piece, and checks that it then ends.
/// `at` is the offset of the stored bytes.
pub(super) fn pieces(
    mut decoder: impl Read,
    (size, at): (u64, u64),
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut piece = vec![0; bound::addressable(size.min(PIECE))];
    let mut left = size;
    while left > 0 {
        let len = left.min(PIECE);
        let Some(part) = piece.get_mut(..bound::addressable(len)) else { break };
        decoder.read_exact(part).map_err(|error| damage(error).at(at))?;
        take(part)?;
        left -= len;
    }
    end(decoder).map_err(|error| error.at(at))
}

/// Checks that a stream ends. The decoder checks its own checksums when it reaches the end.
fn end(mut decoder: impl Read) -> Result<(), DecodeError> {
    loop {
        match decoder.read(&mut [0]) {
            Ok(0) => return Ok(()),
            Ok(_) => return fault("continues after its data"),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(damage(e)),
        }
    }
}

fn encoding(error: io::Error) -> Error {
    Error::io("compress", error)
}

#[cfg(feature = "zstd")]
fn zstd<'a>(stored: Box<dyn BufRead + 'a>) -> Result<Box<dyn Read + 'a>, DecodeError> {
    match zstd::stream::read::Decoder::with_buffer(stored) {
        Ok(decoder) => Ok(Box::new(decoder.single_frame())),
        Err(_) => fault("is damaged"),
    }
}

#[cfg(not(feature = "zstd"))]
fn zstd<'a>(stored: Box<dyn BufRead + 'a>) -> Result<Box<dyn Read + 'a>, DecodeError> {
    pure_zstd(stored)
}

#[cfg(any(test, not(feature = "zstd")))]
fn pure_zstd<'a>(stored: Box<dyn BufRead + 'a>) -> Result<Box<dyn Read + 'a>, DecodeError> {
    let mut pure = PureZstd { decoder: ruzstd::decoding::FrameDecoder::new(), stored };
    match pure.decoder.init(&mut pure.stored) {
        Ok(()) => Ok(Box::new(pure)),
        Err(_) => fault("is damaged"),
    }
}

/// A frame that is decoded as it is read. The reader of `ruzstd` would bring all texts of its errors along, which nobody sees.
#[cfg(any(test, not(feature = "zstd")))]
struct PureZstd<R> {
    decoder: ruzstd::decoding::FrameDecoder,
    stored: R,
}

#[cfg(any(test, not(feature = "zstd")))]
impl<R: BufRead> Read for PureZstd<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Self { decoder, stored } = self;
        while decoder.can_collect() < out.len() && !decoder.is_finished() {
            let lacking = bound::left(out.len(), decoder.can_collect());
            let some = ruzstd::decoding::BlockDecodingStrategy::UptoBytes(lacking);
            decoder.decode_blocks(&mut *stored, some).map_err(|_| io::ErrorKind::InvalidData)?;
        }
        decoder.read(out)
    }
}

pub(super) fn encode_bzip2(data: &[u8], level: u32) -> Result<Vec<u8>> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(level));
    encoder.write_all(data).and_then(|()| encoder.finish()).map_err(encoding)
}

pub(super) fn encode_lz4_frame(data: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(data).map_err(encoding)?;
    encoder.finish().map_err(|e| encoding(io::Error::other(e)))
}

#[cfg(feature = "zstd")]
pub(super) fn encode_zstd(data: &[u8], level: u32) -> Result<Vec<u8>> {
    zstd::bulk::compress(data, sciformats_core::arith::fit(level, "level of zstd")?).map_err(encoding)
}

#[cfg(not(feature = "zstd"))]
pub(super) fn encode_zstd(_: &[u8], _: u32) -> Result<Vec<u8>> {
    Err(no_zstd())
}

#[cfg(not(feature = "zstd"))]
fn no_zstd() -> Error {
    Error::missing_feature("writing block compression `zstd`", "zstd")
}

/// Encodes data that arrives piece by piece.
pub(crate) enum Encoder {
    Lz4Frame(Box<lz4_flex::frame::FrameEncoder<Vec<u8>>>),
    #[cfg(feature = "zstd")]
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    pub(super) fn lz4_frame() -> Self {
        Self::Lz4Frame(Box::new(lz4_flex::frame::FrameEncoder::new(Vec::new())))
    }

    /// A Zstandard frame that says how much data it holds.
    #[cfg(feature = "zstd")]
    pub(super) fn zstd(level: u32, size: u64) -> Result<Self> {
        let level = sciformats_core::arith::fit(level, "level of zstd")?;
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), level).map_err(encoding)?;
        encoder.set_pledged_src_size(Some(size)).map_err(encoding)?;
        Ok(Self::Zstd(encoder))
    }

    #[cfg(not(feature = "zstd"))]
    pub(super) fn zstd(_: u32, _: u64) -> Result<Self> {
        Err(no_zstd())
    }

    pub(super) fn push(&mut self, piece: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        let out = match self {
            Self::Lz4Frame(encoder) => encoder.write_all(piece).map(|()| encoder.get_mut()),
            #[cfg(feature = "zstd")]
            Self::Zstd(encoder) => encoder.write_all(piece).map(|()| encoder.get_mut()),
        }
        .map_err(encoding)?;
        let ready = std::mem::take(out);
        if ready.is_empty() { Ok(()) } else { sink(ready.into()) }
    }

    pub(super) fn finish(self, sink: &mut Sink<'_>) -> Result<()> {
        let rest = match self {
            Self::Lz4Frame(encoder) => encoder.finish().map_err(io::Error::other),
            #[cfg(feature = "zstd")]
            Self::Zstd(encoder) => encoder.finish(),
        };
        sink(rest.map_err(encoding)?.into())
    }
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use super::*;

    #[test]
    fn both_zstd_decoders_agree() {
        let data: Vec<u8> = (0..300_000u32).map(|i| (i.wrapping_mul(i) >> 9) as u8).collect();
        let stored = encode_zstd(&data, 3).unwrap();
        for decoder in [zstd, pure_zstd] {
            let mut out = vec![0; data.len()];
            fill(decoder(Box::new(stored.as_slice())).unwrap(), &mut out).unwrap();
            assert!(out == data);
            for len in [data.len() + 1, data.len() - 1] {
                assert!(fill(decoder(Box::new(stored.as_slice())).unwrap(), &mut vec![0; len]).is_err());
            }
        }
    }
}
