//! bzip2 (filter 307).

use std::io::{Read, Write};

use sciformats_core::{Fault, FaultKind, bound};

/// Decodes a stream of at most `max` bytes.
pub(crate) fn decode(input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    let limit = bound::sum(max as u64, 1);
    let read = ::bzip2::read::BzDecoder::new(input).take(limit).read_to_end(&mut out);
    match read {
        Ok(_) if out.len() > max => Err(super::too_long(max)),
        Ok(_) => Ok(out),
        Err(_) => Err(Fault::new("bzip2 stream", FaultKind::Rule("cannot be decoded"))),
    }
}

/// Encodes a stream with blocks of `level` times 100 kB; the level is 1 to 9.
pub(crate) fn encode(level: u32, input: &[u8]) -> Result<Vec<u8>, Fault> {
    let wrong = |_| Fault::new("bzip2 stream", FaultKind::Rule("cannot be encoded"));
    let mut encoder =
        ::bzip2::write::BzEncoder::new(Vec::new(), ::bzip2::Compression::new(level.clamp(1, 9)));
    encoder.write_all(input).map_err(wrong)?;
    encoder.finish().map_err(wrong)
}
