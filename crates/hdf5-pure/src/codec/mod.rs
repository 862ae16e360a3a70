//! Filters: bytes to bytes, one file each. They know nothing of the file.
//!
//! What stands at the front of a stream is parsed with nom ([`front`]); the loops over its codes are written by hand, which is
//! faster ([`lzf`] says how much).

pub(crate) mod bits;
pub(crate) mod bitshuffle;
#[cfg(feature = "blosc2")]
pub(crate) mod blosc;
#[cfg(feature = "bzip2")]
pub(crate) mod bzip2;
#[cfg(feature = "deflate")]
pub(crate) mod deflate;
pub(crate) mod fletcher32;
pub(crate) mod framed;
#[cfg(feature = "lz4")]
pub(crate) mod lz4;
pub(crate) mod lzf;
pub(crate) mod nbit;
pub(crate) mod scale_offset;
pub(crate) mod shuffle;
pub(crate) mod szip;
#[cfg(any(feature = "zstd", feature = "ruzstd"))]
pub(crate) mod zstd;

use nom::Parser;
use sciformats_core::fault::ParseError;
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

/// What stands at the front of a stream, and what follows it. A codec does not know where it is: only the fault counts.
pub(crate) fn front<'a, P>(bytes: &'a [u8], mut parser: P) -> Result<(&'a [u8], P::Output), Fault>
where
    P: Parser<&'a [u8], Error = ParseError>,
{
    parser.parse(bytes).map_err(|error| match error {
        nom::Err::Error(error) | nom::Err::Failure(error) => error.fault,
        nom::Err::Incomplete(_) => truncated("stream"),
    })
}
