//! The filters, in one file each. They turn bytes into bytes and know nothing about the file.

pub(crate) mod bits;
pub(crate) mod bitshuffle;
#[cfg(feature = "blosc2")]
pub(crate) mod blosc;
#[cfg(feature = "bzip2")]
pub(crate) mod bzip2;
#[cfg(feature = "deflate")]
pub(crate) mod deflate;
pub(crate) mod fletcher32;
#[cfg(feature = "lz4")]
pub(crate) mod lz4;
pub(crate) mod lzf;
pub(crate) mod nbit;
pub(crate) mod scale_offset;
pub(crate) mod shuffle;
pub(crate) mod szip;
#[cfg(any(feature = "zstd", feature = "ruzstd"))]
pub(crate) mod zstd;

use sciformats_core::{Fault, FaultKind, bound};

/// Returns the fault of a stream that ends early.
pub(crate) fn truncated(field: &'static str) -> Fault {
    Fault::new(field, FaultKind::Truncated)
}

/// Returns the fault of a stream that unfolds to more bytes than allowed.
pub(crate) fn too_long(max: usize) -> Fault {
    let max = max as u64;
    Fault::new(
        "decoded length",
        FaultKind::OutOfBounds { found: bound::sum(max, 1), end: bound::sum(max, 1) },
    )
}

/// Returns a length that is stored in four bytes of an encoded stream.
pub(crate) fn length(field: &'static str, len: usize) -> Result<u32, Fault> {
    u32::try_from(len)
        .map_err(|_| Fault::new(field, FaultKind::OutOfBounds { found: len as u64, end: u32::MAX.into() }))
}

/// Returns the big-endian number at the start of `bytes`, and the rest.
pub(crate) fn big_endian<'a>(
    field: &'static str,
    bytes: &'a [u8],
    width: usize,
) -> Result<(u64, &'a [u8]), Fault> {
    let (number, rest) = bytes.split_at_checked(width).ok_or_else(|| truncated(field))?;
    Ok((number.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)), rest))
}
