//! Blocks that are one Blosc chunk: its own header says all that is needed to decode it.

use cframe::{Chunk, Codec, Params};
use sciformats_core::arith::fit;
use sciformats_core::{Error, Result};

use super::{DecodeError, fault, wrong};

/// Bytes that are shuffled as one element: those of the widest numbers, which narrower ones divide.
const ELEMENT: u32 = 8;

pub(super) fn decode(stored: &[u8], out: &mut [u8]) -> Result<(), DecodeError> {
    let chunk = Chunk::new(stored).map_err(placeless)?;
    match chunk.nbytes() {
        size if size < out.len() => fault("ends early"),
        size if size > out.len() => fault("goes on after its data"),
        _ => chunk.decode_into(out).map_err(placeless),
    }
}

/// One chunk, which readers of Blosc 1 know too if `one` is set.
pub(super) fn encode(data: &[u8], one: bool, level: u32) -> Result<Vec<u8>> {
    let params = Params::new(ELEMENT).with_codec(Codec::Lz4).with_level(fit(level, "level of Blosc")?);
    cframe::compress(data, &if one { params.with_blosc1() } else { params })
}

fn placeless(error: Error) -> DecodeError {
    match error {
        Error::Unsupported { .. } | Error::LimitExceeded { .. } => DecodeError::Unsupported(error),
        _ => wrong("is damaged"),
    }
}
