//! Blosc and Blosc2 (filters 32001 and 32026): containers of their own, which tell all that is needed to undo them. A
//! chunk is a chunk of Blosc in the one, a frame in the other.

use cframe::{Array, Frame, Limits, Options, Threads};
use sciformats_core::{Error, Fault, FaultKind};

/// Chunks are decoded by several threads as it is.
fn options(max: usize) -> Options {
    let limits = Limits::default().with_memory(max as u64);
    Options::default().with_limits(limits).with_threads(Threads::One)
}

/// Decodes a chunk of Blosc to at most `max` bytes. Offsets in errors count from the start of `input`.
pub(crate) fn chunk(input: &[u8], max: usize) -> Result<Vec<u8>, Error> {
    cframe::decompress_with(input, &options(max))
}

/// Decodes a frame of Blosc2 to at most `max` bytes. Offsets in errors count from the start of `input`.
pub(crate) fn frame(input: &[u8], max: usize) -> Result<Vec<u8>, Error> {
    let frame = Frame::from_bytes_with(input.to_vec(), &options(max))?;
    if frame.metalayer("b2nd").is_some() {
        return Array::from_frame(frame)?.read();
    }
    let len = usize::try_from(frame.nbytes()).ok().filter(|&len| len <= max).ok_or_else(|| {
        let kind = FaultKind::OutOfBounds { found: frame.nbytes(), end: max as u64 };
        Fault::new("uncompressed size", kind).at("frame", 0)
    })?;
    let mut out = vec![0; len];
    frame.read_bytes(0, &mut out)?;
    Ok(out)
}
