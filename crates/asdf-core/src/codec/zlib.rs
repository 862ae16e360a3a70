//! zlib streams (RFC 1950), which several threads can write.
//!
//! | size | field |
//! |---|---|
//! | 2 | header: method, window, level, and a check |
//! | rest | deflate blocks |
//! | 4 | Adler-32 of the data, big-endian |
//!
//! The data is cut into chunks, and each chunk is deflated separately up to a byte boundary. Together the chunks are one stream.
//! The cuts do not depend on the number of threads, so the bytes do not depend on it either.

use flate2::{Compress, Compression, FlushCompress};
use sciformats_core::arith::fit;
use sciformats_core::{Error, Result};
use simd_adler32::adler32;

use super::Sink;
use crate::parallel::in_order;

/// The size of a chunk, which is so large that starting each chunk with an empty window costs little.
const CHUNK: usize = 1 << 20;
/// The modulus of Adler-32.
const BASE: u32 = 65_521;

pub(super) fn encode(data: &[u8], level: u32, threads: usize, sink: &mut Sink<'_>) -> Result<()> {
    let chunks: Vec<&[u8]> = if data.is_empty() { vec![data] } else { data.chunks(CHUNK).collect() };
    let last = chunks.len() - 1;
    let mut sum = 1;
    sink(header(level).as_slice().into())?;
    in_order(
        chunks.into_iter().enumerate().collect(),
        threads,
        |(index, chunk)| {
            deflate(chunk, level, index == last).map(|stream| (stream, adler32(&chunk), chunk.len()))
        },
        |part| {
            let (stream, of_chunk, size) = part?;
            sum = joined(sum, of_chunk, size)?;
            sink(stream.into())
        },
    )?;
    sink(sum.to_be_bytes().as_slice().into())
}

/// Returns the header for deflate with a window of 32 KiB. Its level bits are those of other writers.
fn header(level: u32) -> [u8; 2] {
    match level {
        0 | 1 => [0x78, 0x01],
        2..=5 => [0x78, 0x5E],
        6 => [0x78, 0x9C],
        _ => [0x78, 0xDA],
    }
}

fn deflate(chunk: &[u8], level: u32, is_last: bool) -> Result<Vec<u8>> {
    let failed = || Error::io("compress", std::io::Error::other("deflate failed"));
    let mut coder = Compress::new(Compression::new(level), false);
    let flush = if is_last { FlushCompress::Finish } else { FlushCompress::Sync };
    // This is larger than what incompressible bytes need; the loop is only a precaution.
    let mut out = Vec::with_capacity(chunk.len() + chunk.len() / 1000 + 64);
    let mut rest = chunk;
    loop {
        let before = coder.total_in();
        let status = coder.compress_vec(rest, &mut out, flush).map_err(|_| failed())?;
        let taken = usize::try_from(coder.total_in() - before).map_err(|_| failed())?;
        rest = rest.get(taken..).ok_or_else(failed)?;
        // If there is space left, everything has been flushed.
        let done = match status {
            flate2::Status::StreamEnd => true,
            _ => !is_last && rest.is_empty() && out.len() < out.capacity(),
        };
        if done {
            return Ok(out);
        }
        out.reserve(CHUNK / 8);
    }
}

/// Returns the checksum of two adjacent pieces of data, from the checksum of each and the size of the second.
fn joined(first: u32, second: u32, size: usize) -> Result<u32> {
    let base = u64::from(BASE);
    let (a1, b1) = (u64::from(first & 0xFFFF), u64::from(first >> 16));
    let (a2, b2) = (u64::from(second & 0xFFFF), u64::from(second >> 16));
    let size = size as u64 % base;
    // The initial value 1 is part of both sums.
    let a = (a1 + a2 + base - 1) % base;
    let b = (b1 + b2 + size * (a1 + base - 1)) % base;
    fit(b << 16 | a, "Adler-32 of two pieces")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        let data: Vec<u8> = (0..100_000u32).map(|i| (i ^ i >> 5) as u8 | 0x80).collect();
        for at in [0, 1, 5552, 70_001, data.len()] {
            assert_eq!(
                joined(adler32(&&data[..at]), adler32(&&data[at..]), data.len() - at).unwrap(),
                adler32(&&data[..])
            );
        }
    }

    fn encoded(data: &[u8], level: u32, threads: usize) -> Vec<u8> {
        super::super::encode(super::super::Compression::Zlib, Some(level), data, threads).unwrap()
    }

    #[test]
    fn chunks_are_one_stream() {
        let random: Vec<u8> =
            (0..CHUNK as u32 + 77).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let runs: Vec<u8> = (0..3 * CHUNK as u32).map(|i| (i >> 10) as u8).collect();
        for data in [&random[..], &runs, &runs[..2 * CHUNK], b"", b"a"] {
            for level in [0, 1, 6, 9] {
                let stored = encoded(data, level, 2);
                assert!(stored == encoded(data, level, 1));
                let mut out = vec![0; data.len()];
                super::super::stream::zlib(stored.as_slice(), &mut out).unwrap();
                assert!(out == data, "{} at {level}", data.len());
            }
        }
    }
}
