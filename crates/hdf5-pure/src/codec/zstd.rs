//! Zstandard (filter 32015): one frame.

use std::io::Read;

use sciformats_core::{Fault, FaultKind};

/// Decodes a frame of at most `max` bytes.
pub(crate) fn decode(input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    let wrong = |_| Fault::new("zstd frame", FaultKind::Rule("does not decode"));
    let mut out = Vec::new();
    let limit = (max as u64).saturating_add(1);
    let decoder = ::zstd::stream::read::Decoder::with_buffer(input).map_err(wrong)?;
    decoder.single_frame().take(limit).read_to_end(&mut out).map_err(wrong)?;
    if out.len() > max { Err(super::too_long(max)) } else { Ok(out) }
}

/// Encodes a frame that says how long its content is.
pub(crate) fn encode(level: i32, input: &[u8]) -> Result<Vec<u8>, Fault> {
    ::zstd::bulk::compress(input, level)
        .map_err(|_| Fault::new("zstd frame", FaultKind::Rule("does not encode")))
}
