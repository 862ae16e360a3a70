//! Compressions that consist of one stream, which decoders of other crates read.

use std::io::{self, BufRead, Read, Write};

use sciformats_core::{Error, Result};

use super::{DecodeError, fault};

/// Reads exactly `out` from a decoder, and checks that it then ends.
fn fill(mut decoder: impl Read, out: &mut [u8]) -> Result<(), DecodeError> {
    match decoder.read_exact(out) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return fault("ends early"),
        Err(_) => return fault("is damaged"),
    }
    // The decoder checks its own checksums when it reaches the end.
    loop {
        match decoder.read(&mut [0]) {
            Ok(0) => return Ok(()),
            Ok(_) => return fault("continues after its data"),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return fault("ends early"),
            Err(_) => return fault("is damaged"),
        }
    }
}

fn encoding(error: io::Error) -> Error {
    Error::io("compress", error)
}

pub(super) fn zlib(stored: impl BufRead, out: &mut [u8]) -> Result<(), DecodeError> {
    fill(flate2::bufread::ZlibDecoder::new(stored), out)
}

pub(super) fn bzip2(stored: impl BufRead, out: &mut [u8]) -> Result<(), DecodeError> {
    fill(bzip2::bufread::BzDecoder::new(stored), out)
}

pub(super) fn encode_bzip2(data: &[u8], level: u32) -> Result<Vec<u8>> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(level));
    encoder.write_all(data).and_then(|()| encoder.finish()).map_err(encoding)
}

pub(super) fn lz4_frame(stored: impl BufRead, out: &mut [u8]) -> Result<(), DecodeError> {
    fill(lz4_flex::frame::FrameDecoder::new(stored), out)
}

pub(super) fn encode_lz4_frame(data: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(data).map_err(encoding)?;
    encoder.finish().map_err(|e| encoding(io::Error::other(e)))
}

#[cfg(feature = "zstd")]
pub(super) fn zstd(stored: impl BufRead, out: &mut [u8]) -> Result<(), DecodeError> {
    match zstd::stream::read::Decoder::with_buffer(stored) {
        Ok(decoder) => fill(decoder.single_frame(), out),
        Err(_) => fault("is damaged"),
    }
}

#[cfg(feature = "zstd")]
pub(super) fn encode_zstd(data: &[u8], level: u32) -> Result<Vec<u8>> {
    zstd::bulk::compress(data, sciformats_core::arith::fit(level, "level of zstd")?).map_err(encoding)
}

#[cfg(not(feature = "zstd"))]
pub(super) fn zstd(stored: impl BufRead, out: &mut [u8]) -> Result<(), DecodeError> {
    pure_zstd(stored, out)
}

#[cfg(not(feature = "zstd"))]
pub(super) fn encode_zstd(_: &[u8], _: u32) -> Result<Vec<u8>> {
    Err(Error::missing_feature("writing block compression `zstd`", "zstd"))
}

#[cfg(any(test, not(feature = "zstd")))]
fn pure_zstd(stored: impl BufRead, out: &mut [u8]) -> Result<(), DecodeError> {
    match ruzstd::decoding::StreamingDecoder::new(stored) {
        Ok(decoder) => fill(decoder, out),
        Err(_) => fault("is damaged"),
    }
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use super::*;

    #[test]
    fn both_zstd_decoders_agree() {
        let data: Vec<u8> = (0..300_000u32).map(|i| (i.wrapping_mul(i) >> 9) as u8).collect();
        let stored = encode_zstd(&data, 3).unwrap();
        for decoder in [zstd, pure_zstd] {
            let mut out = vec![0; data.len()];
            decoder(stored.as_slice(), &mut out).unwrap();
            assert!(out == data);
            assert!(decoder(stored.as_slice(), &mut vec![0; data.len() + 1]).is_err());
            assert!(decoder(stored.as_slice(), &mut vec![0; data.len() - 1]).is_err());
        }
    }
}
