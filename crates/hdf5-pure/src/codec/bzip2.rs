//! bzip2 (filter 307).

use std::io::Read;

use sciformats_core::{Fault, FaultKind};

/// Decodes a stream of at most `max` bytes.
pub(crate) fn decode(input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    let limit = (max as u64).saturating_add(1);
    let read = ::bzip2::read::BzDecoder::new(input).take(limit).read_to_end(&mut out);
    match read {
        Ok(_) if out.len() > max => Err(super::too_long(max)),
        Ok(_) => Ok(out),
        Err(_) => Err(Fault::new("bzip2 stream", FaultKind::Rule("does not decode"))),
    }
}
