//! Blosc and Blosc2 (filters 32001 and 32026): containers of their own, which tell all that is needed to undo them. A
//! chunk is a chunk of Blosc in the one, a frame in the other.

use cframe::{Array, Codec, Filter, Frame, Limits, OpenOptions, Params, SChunk};
use sciformats_core::{Error, Fault, FaultKind};

/// Chunks are decoded by several threads as it is.
fn options(max: usize) -> OpenOptions {
    let limits = Limits::default().with_memory(max as u64);
    OpenOptions::default().with_limits(limits).with_threads(1)
}

/// Decodes a chunk of Blosc to at most `max` bytes. Offsets in errors count from the start of `input`.
pub(crate) fn chunk(input: &[u8], max: usize) -> Result<Vec<u8>, Error> {
    cframe::decompress_with(input, &options(max))
}

/// Decodes a frame of Blosc2 to at most `max` bytes. Offsets in errors count from the start of `input`.
pub(crate) fn frame(input: &[u8], max: usize) -> Result<Vec<u8>, Error> {
    let frame = Frame::from_bytes_with(input.to_vec(), &options(max))?;
    if frame.metalayer("b2nd").is_some() {
        return Array::from_frame(frame)?.read_bytes();
    }
    let len = usize::try_from(frame.nbytes()).ok().filter(|&len| len <= max).ok_or_else(|| {
        let kind = FaultKind::OutOfBounds { found: frame.nbytes(), end: max as u64 };
        Fault::new("uncompressed size", kind).at("frame", 0)
    })?;
    let mut out = vec![0; len];
    frame.read_bytes(0, &mut out)?;
    Ok(out)
}

/// What the client values ask for: revision, format or block size, bytes of an element, bytes of a chunk, level, shuffle,
/// codec.
fn params(values: &[u32]) -> Result<Params, Error> {
    let value = |at: usize| values.get(at).copied().unwrap_or_default();
    let filter = match value(5) {
        0 => Filter::NONE,
        1 => Filter::SHUFFLE,
        2 => Filter::BITSHUFFLE,
        found => return Err(Error::usage("filter", format!("blosc has no shuffle {found}"))),
    };
    let byte = |argument, at| {
        u8::try_from(value(at))
            .map_err(|_| Error::usage(argument, format!("blosc has no {argument} {}", value(at))))
    };
    let (codec, level) = (Codec::from_id(byte("codec", 6)?), byte("level", 4)?);
    Params::new(value(2).max(1)).with_codec(codec).with_level(level).with_filters(&[filter])
}

/// Encodes a chunk of Blosc.
pub(crate) fn encode_chunk(values: &[u32], input: &[u8]) -> Result<Vec<u8>, Error> {
    cframe::compress_with(input, &params(values)?.with_blosc1(), &options(input.len()))
}

/// Encodes a frame of Blosc2.
pub(crate) fn encode_frame(values: &[u32], input: &[u8]) -> Result<Vec<u8>, Error> {
    let params = params(values)?.with_blocksize(values.get(1).copied().unwrap_or_default());
    let chunk = cframe::compress_with(input, &params, &options(input.len()))?;
    let mut frame = SChunk::new(params);
    frame.insert_chunk(0, chunk)?;
    frame.to_bytes()
}
