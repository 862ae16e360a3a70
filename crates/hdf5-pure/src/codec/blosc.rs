//! Blosc and Blosc2 (filters 32001 and 32026). Both are containers that describe themselves, so no client data values
//! are needed to decode them. A chunk of a dataset is a Blosc chunk in the one, and a Blosc2 frame in the other.

use cframe::{Array, Codec, Filter, Frame, Limits, OpenOptions, Params, Registry, SChunk};
use sciformats_core::{Error, Fault, FaultKind};

/// Returns options with one thread, because several threads decode different chunks already.
fn options(max: usize, registry: &Registry) -> OpenOptions {
    let limits = Limits::default().with_memory(max as u64);
    OpenOptions::default().with_limits(limits).with_threads(1).with_registry(registry.clone())
}

/// Decodes a Blosc chunk to at most `max` bytes. Offsets in errors count from the start of `input`.
pub(crate) fn chunk(input: &[u8], max: usize, registry: &Registry) -> Result<Vec<u8>, Error> {
    cframe::decompress_with(input, &options(max, registry))
}

/// Decodes a Blosc2 frame to at most `max` bytes. Offsets in errors count from the start of `input`.
pub(crate) fn frame(input: &[u8], max: usize, registry: &Registry) -> Result<Vec<u8>, Error> {
    let frame = Frame::from_bytes_with(input.to_vec(), &options(max, registry))?;
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

/// Interprets the client data values: revision, format or block size, bytes per element, bytes per chunk, level,
/// shuffle, compressor.
fn params(values: &[u32]) -> Result<Params, Error> {
    let value = |at: usize| values.get(at).copied().unwrap_or_default();
    let filter = match value(5) {
        0 => Filter::NONE,
        1 => Filter::SHUFFLE,
        2 => Filter::BITSHUFFLE,
        found => return Err(Error::usage("filter", format!("blosc has no shuffle mode {found}"))),
    };
    let byte = |argument, at| {
        u8::try_from(value(at))
            .map_err(|_| Error::usage(argument, format!("blosc has no {argument} {}", value(at))))
    };
    let (codec, level) = (Codec::from_id(byte("codec", 6)?), byte("level", 4)?);
    Params::new(value(2).max(1)).with_codec(codec).with_level(level).with_filters(&[filter])
}

/// Encodes a Blosc chunk.
pub(crate) fn encode_chunk(values: &[u32], input: &[u8], registry: &Registry) -> Result<Vec<u8>, Error> {
    cframe::compress_with(input, &params(values)?.with_blosc1(), &options(input.len(), registry))
}

/// Encodes a Blosc2 frame.
pub(crate) fn encode_frame(values: &[u32], input: &[u8], registry: &Registry) -> Result<Vec<u8>, Error> {
    let params = params(values)?.with_blocksize(values.get(1).copied().unwrap_or_default());
    let chunk = cframe::compress_with(input, &params, &options(input.len(), registry))?;
    let mut frame = SChunk::new(params);
    frame.insert_chunk(0, chunk)?;
    frame.to_bytes()
}
