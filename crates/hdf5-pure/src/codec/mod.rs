//! The filters, which turn bytes into bytes, with one module per filter. They do not depend on the rest of the file.
//!
//! The start of a stream is parsed with nom ([`front`]). The loops over the codes are written by hand, which is faster;
//! [`lzf`] says by how much.

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

/// Parses the start of a stream. Returns the rest of the stream and the result. The fault has no offset, because a codec
/// does not know the position of its stream in the file.
pub(crate) fn front<'a, P>(bytes: &'a [u8], mut parser: P) -> Result<(&'a [u8], P::Output), Fault>
where
    P: Parser<&'a [u8], Error = ParseError>,
{
    parser.parse(bytes).map_err(|error| match error {
        nom::Err::Error(error) | nom::Err::Failure(error) => error.fault(),
        nom::Err::Incomplete(_) => truncated("stream"),
    })
}
