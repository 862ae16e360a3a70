//! Blocks that are one Blosc chunk, whose own header contains everything that is needed to decode it.

use cframe::{Chunk, Codec, Params};
use sciformats_core::arith::fit;
use sciformats_core::{Error, Result};

use super::{DecodeError, fault, wrong};

/// The size of the units that are shuffled, which is the size of the widest numbers and a multiple of the size of all others.
const ELEMENT: u32 = 8;

pub(super) fn decode(stored: &[u8], out: &mut [u8]) -> Result<(), DecodeError> {
    let chunk = Chunk::new(stored).map_err(placeless)?;
    match chunk.nbytes() {
        size if size < out.len() => fault("ends early"),
        size if size > out.len() => fault("continues after its data"),
        _ => chunk.decode_into(out).map_err(placeless),
    }
}

/// Compresses `data` as one chunk. Readers of Blosc 1 also know it if `one` is set.
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
