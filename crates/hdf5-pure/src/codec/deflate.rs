//! Deflate (filter 1): a zlib stream.

mod blocks;
mod compress;
mod huffman;
mod matches;

use flate2::{Decompress, FlushDecompress, Status};
use sciformats_core::{Fault, FaultKind, bound};

pub(crate) use compress::compress as encode;

/// Decodes a stream of about `expected` and at most `max` bytes into `out`. Bytes after the stream are ignored.
pub(crate) fn decode(input: &[u8], expected: usize, max: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let mut stream = Decompress::new(true);
    out.clear();
    out.reserve(expected.min(max));
    loop {
        let read = bound::addressable(stream.total_in());
        let before = (stream.total_in(), stream.total_out());
        let input = input.get(read..).unwrap_or_default();
        match stream.decompress_vec(input, out, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) => return Ok(()),
            Ok(_) if out.len() >= max => return Err(super::too_long(max)),
            Ok(_) if out.len() == out.capacity() => out.reserve((max - out.len()).min(out.len().max(4096))),
            Ok(_) if before == (stream.total_in(), stream.total_out()) => {
                return Err(super::truncated("zlib stream"));
            }
            Ok(_) => {}
            Err(_) => return Err(Fault::new("zlib stream", FaultKind::Rule("cannot be decoded"))),
        }
    }
}
