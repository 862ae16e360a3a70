//! Deflate (filter 1): a zlib stream.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use sciformats_core::{Fault, FaultKind};

/// Decodes a stream of about `expected` and at most `max` bytes into `out`; bytes after the stream are ignored.
pub(crate) fn decode(input: &[u8], expected: usize, max: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let mut stream = Decompress::new(true);
    out.clear();
    out.reserve(expected.min(max));
    loop {
        let read = usize::try_from(stream.total_in()).unwrap_or(usize::MAX);
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
            Err(_) => return Err(Fault::new("zlib stream", FaultKind::Rule("does not decode"))),
        }
    }
}

/// Encodes a zlib stream at `level` 0 to 9.
pub(crate) fn encode(level: u32, input: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut stream = Compress::new(Compression::new(level.min(9)), true);
    // Never too small: a stored block of 16 KiB adds 5 bytes at most.
    let mut out = Vec::with_capacity(input.len() + input.len() / 1024 + 64);
    loop {
        let read = usize::try_from(stream.total_in()).unwrap_or(usize::MAX);
        match stream.compress_vec(input.get(read..).unwrap_or_default(), &mut out, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => return Ok(out),
            Ok(_) => out.reserve(input.len() / 8 + 1024),
            Err(_) => return Err(Fault::new("zlib stream", FaultKind::Rule("does not encode"))),
        }
    }
}
