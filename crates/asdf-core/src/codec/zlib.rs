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
use sciformats_core::{Error, Result, bound};
use simd_adler32::adler32;

use super::Sink;
use crate::parallel::in_order;

/// The size of a chunk, which is so large that starting each chunk with an empty window costs little.
const CHUNK: usize = 1 << 20;
/// Data that waits for each thread, so that all of them have something to do.
const BATCH: usize = 4 * CHUNK;
/// The modulus of Adler-32.
const BASE: u32 = 65_521;

/// Encodes data that arrives piece by piece.
pub(crate) struct Encoder {
    level: u32,
    threads: usize,
    /// The Adler-32 of the data so far.
    sum: u32,
    /// Data that is not compressed yet. A chunk waits until it is known whether it is the last one.
    waiting: Vec<u8>,
}

impl Encoder {
    pub(super) fn new(level: u32, threads: usize, sink: &mut Sink<'_>) -> Result<Self> {
        sink(header(level).as_slice().into())?;
        Ok(Self { level, threads: threads.max(1), sum: 1, waiting: Vec::new() })
    }

    pub(super) fn push(&mut self, piece: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        self.waiting.extend_from_slice(piece);
        if self.waiting.len() > bound::product(BATCH, self.threads) {
            // At least one byte stays, as the last chunk has to be known as such.
            let whole = (self.waiting.len() - 1) / CHUNK * CHUNK;
            let rest = self.waiting.split_off(whole);
            let chunks = std::mem::replace(&mut self.waiting, rest);
            self.chunks(&chunks, false, sink)?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self, sink: &mut Sink<'_>) -> Result<()> {
        let rest = std::mem::take(&mut self.waiting);
        self.last(&rest, sink)
    }

    fn last(mut self, data: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        self.chunks(data, true, sink)?;
        sink(self.sum.to_be_bytes().as_slice().into())
    }

    /// Compresses data that begins a chunk.
    fn chunks(&mut self, data: &[u8], is_last: bool, sink: &mut Sink<'_>) -> Result<()> {
        let chunks: Vec<&[u8]> = if data.is_empty() { vec![data] } else { data.chunks(CHUNK).collect() };
        let last = chunks.len() - 1;
        let Self { level, threads, sum, .. } = self;
        in_order(
            chunks.into_iter().enumerate().collect(),
            *threads,
            |(index, chunk)| {
                let stream = deflate(chunk, *level, is_last && index == last)?;
                Ok((stream, adler32(&chunk), chunk.len()))
            },
            |part: Result<_>| {
                let (stream, of_chunk, size) = part?;
                *sum = joined(*sum, of_chunk, size)?;
                sink(Vec::into(stream))
            },
        )
    }
}

pub(super) fn encode(data: &[u8], level: u32, threads: usize, sink: &mut Sink<'_>) -> Result<()> {
    Encoder::new(level, threads, sink)?.last(data, sink)
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
    use super::super::stream;
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
                let decoder = stream::decoder(super::super::Compression::Zlib, stored.as_slice()).unwrap();
                stream::fill(decoder, &mut out).unwrap();
                assert!(out == data, "{} at {level}", data.len());
            }
        }
    }
}
