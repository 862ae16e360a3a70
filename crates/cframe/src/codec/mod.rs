//! Codecs and filters convert bytes in both directions, with one file each. They know neither chunks nor files.
//!
//! A codec decodes one stream into a slice of exactly the size that the stream must have, and fails if it is longer or shorter. A
//! filter converts a block to a block of equal size.
//!
//! The loops over the codes of a stream are written by hand and not with nom. A parser for each code takes 1.4 times the
//! instructions, measured with LZF, whose codes are similar to those of `BloscLZ` and LZ4.

pub(crate) mod bitshuffle;
pub(crate) mod blosclz;
pub(crate) mod bytedelta;
pub(crate) mod cells;
pub(crate) mod delta;
pub(crate) mod lz4;
pub(crate) mod lz4hc;
pub(crate) mod lz4mid;
pub(crate) mod ndlz;
pub(crate) mod registry;
pub(crate) mod shuffle;
mod simd;
pub(crate) mod truncate;
pub(crate) mod zlib;
pub(crate) mod zstd;

use sciformats_core::FaultKind;
pub(crate) use sciformats_core::lz;

/// The result of decoding, which is an error in the payload or nothing.
pub(crate) type Outcome = Result<(), FaultKind>;

/// A payload that the codec does not understand.
pub(crate) const CORRUPT: FaultKind = FaultKind::Rule("cannot be decoded");

/// Checks that a codec produced the expected number of bytes.
pub(crate) fn exact(made: usize, expected: usize) -> Outcome {
    if made == expected {
        return Ok(());
    }
    Err(FaultKind::Mismatch { expected: expected as u64, found: made as u64 })
}
