//! The framing that the label `lz4` stands for: chunks one after another.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | size of the rest of the chunk, big-endian |
//! | 4 | 4 | size of the chunk's data, little-endian |
//! | 8 | rest | one LZ4 block |
//!
//! Writers cut the data into chunks of 4 MiB; chunks of any size can be read.

use std::io::{self, BufRead, Read};

use nom::bytes::complete::take;
use nom::number::complete::{be_u32, le_u32};
use sciformats_core::arith::{fit, present};
use sciformats_core::fault::Parsed;
use sciformats_core::{Result, bound};

use super::{DecodeError, Sink, fault, stream};
use crate::parallel::{in_order, in_parallel};

const ENDS: &str = "ends early";
const GOES_ON: &str = "continues after its data";
const NO_SIZE: &str = "has a chunk that lacks the length of its data";
const NO_BLOCK: &str = "has a chunk whose LZ4 block is damaged or does not have the declared length";

const CHUNK: usize = 4 << 20;
/// The number of chunks that a thread encodes at a time.
const RUN: usize = 4;
/// The first bytes of an LZ4 frame. They cannot be the size of a chunk.
const FRAME: [u8; 4] = [0x04, 0x22, 0x4D, 0x18];

/// Returns whether the stored bytes are an LZ4 frame, which one writer stores under this label.
pub(super) fn is_frame(stored: &[u8]) -> bool {
    stored.starts_with(&FRAME)
}

/// Parses a chunk without its length.
fn chunk(i: &[u8]) -> Parsed<'_, &[u8]> {
    let (i, length) = be_u32(i)?;
    take(length)(i)
}

/// Parses the size of a chunk's data, which precedes its block.
fn data_size(i: &[u8]) -> Parsed<'_, u32> {
    le_u32(i)
}

pub(super) fn decode(mut stored: &[u8], mut out: &mut [u8], threads: usize) -> Result<(), DecodeError> {
    let mut jobs = Vec::new();
    while !out.is_empty() {
        let Ok((rest, chunk)) = chunk(stored) else { return fault(ENDS) };
        let Ok((block, size)) = data_size(chunk) else {
            return fault(NO_SIZE);
        };
        let Some((part, left)) = out.split_at_mut_checked(bound::addressable(size.into())) else {
            return fault(GOES_ON);
        };
        jobs.push((block, part));
        (stored, out) = (rest, left);
    }
    // A chunk after the data would contain more data.
    if stored.iter().any(|&b| b != 0) {
        return fault(GOES_ON);
    }
    let threads = if jobs.len() > 1 { threads } else { 1 };
    in_parallel(jobs, threads, |(block, part)| decode_block(block, part)).into_iter().collect()
}

/// Decodes one LZ4 block into all of `part`.
fn decode_block(block: &[u8], part: &mut [u8]) -> Result<(), DecodeError> {
    match sciformats_core::lz4::decode(block, part) {
        Some(written) if written == part.len() => Ok(()),
        _ => fault(NO_BLOCK),
    }
}

pub(super) fn encode(data: &[u8], threads: usize, sink: &mut Sink<'_>) -> Result<()> {
    let run = |run: &[u8]| {
        let mut out = Vec::new();
        // The chunks of a run share a buffer of the size that an incompressible chunk needs.
        let mut room = vec![0; lz4_flex::block::get_maximum_output_size(run.len().min(CHUNK))];
        for chunk in run.chunks(CHUNK) {
            let size = lz4_flex::block::compress_into(chunk, &mut room).ok();
            let block = present(size.and_then(|size| room.get(..size)), "room for an LZ4 block")?;
            out.extend_from_slice(&fit::<u32, _>(block.len() + 4, "length of an LZ4 block")?.to_be_bytes());
            out.extend_from_slice(&fit::<u32, _>(chunk.len(), "length of an LZ4 chunk")?.to_le_bytes());
            out.extend_from_slice(block);
        }
        Ok(out)
    };
    in_order(data.chunks(RUN * CHUNK).collect(), threads, run, |run: Result<Vec<u8>>| sink(run?.into()))
}

/// Encodes data that arrives piece by piece.
pub(crate) struct Encoder {
    threads: usize,
    /// Data that is not compressed yet.
    waiting: Vec<u8>,
}

impl Encoder {
    pub(super) fn new(threads: usize) -> Self {
        Self { threads: threads.max(1), waiting: Vec::new() }
    }

    pub(super) fn push(&mut self, piece: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        self.waiting.extend_from_slice(piece);
        if self.waiting.len() < bound::product(RUN * CHUNK, self.threads) {
            return Ok(());
        }
        let rest = self.waiting.split_off(self.waiting.len() / CHUNK * CHUNK);
        let chunks = std::mem::replace(&mut self.waiting, rest);
        encode(&chunks, self.threads, sink)
    }

    pub(super) fn finish(self, sink: &mut Sink<'_>) -> Result<()> {
        encode(&self.waiting, self.threads, sink)
    }
}

/// Reads the next chunk of a stream: the size of its data, and its block.
fn next_chunk(stored: &mut dyn BufRead) -> Result<(u32, Vec<u8>), DecodeError> {
    let mut length = [0; 4];
    stored.read_exact(&mut length).map_err(stream::damage)?;
    let length = u32::from_be_bytes(length).into();
    let mut chunk = Vec::new();
    stored.take(length).read_to_end(&mut chunk).map_err(stream::damage)?;
    let Ok((block, size)) = data_size(&chunk) else {
        return fault(if (chunk.len() as u64) < length { ENDS } else { NO_SIZE });
    };
    if (chunk.len() as u64) < length {
        return fault(ENDS);
    }
    Ok((size, block.to_vec()))
}

/// Checks that the rest of a stream consists of zeros, which some writers leave there.
fn only_zeros(stored: &mut dyn BufRead) -> Result<(), DecodeError> {
    loop {
        let rest = stored.fill_buf().map_err(stream::damage)?;
        if rest.iter().any(|&b| b != 0) {
            return fault(GOES_ON);
        }
        let count = rest.len();
        if count == 0 {
            return Ok(());
        }
        stored.consume(count);
    }
}

/// Works like [`decode`] on chunks that need not be in memory.
pub(super) fn decode_stream(
    stored: &mut dyn BufRead,
    mut out: &mut [u8],
    threads: usize,
) -> Result<(), DecodeError> {
    let together = bound::product(threads.max(1), 2);
    while !out.is_empty() {
        let mut jobs = Vec::new();
        while !out.is_empty() && jobs.len() < together {
            let (size, block) = next_chunk(stored)?;
            let parts = std::mem::take(&mut out).split_at_mut_checked(bound::addressable(size.into()));
            let Some((part, left)) = parts else { return fault(GOES_ON) };
            jobs.push((block, part));
            out = left;
        }
        let done = in_parallel(jobs, threads, |(block, part)| decode_block(&block, part));
        done.into_iter().collect::<Result<(), _>>()?;
    }
    only_zeros(stored)
}

/// Reads the data of the chunks, one chunk after the other.
pub(super) struct Decoder<'a> {
    stored: &'a mut dyn BufRead,
    /// How much of the data is still to come.
    left: u64,
    data: Vec<u8>,
    /// How much of `data` has been taken.
    taken: usize,
}

impl<'a> Decoder<'a> {
    /// Decodes chunks that hold `size` bytes of data.
    pub(super) fn new(stored: &'a mut dyn BufRead, size: u64) -> Self {
        Self { stored, left: size, data: Vec::new(), taken: 0 }
    }

    fn next(&mut self) -> Result<(), DecodeError> {
        let (size, block) = next_chunk(self.stored)?;
        let Some(left) = self.left.checked_sub(size.into()) else { return fault(GOES_ON) };
        // A byte of an LZ4 block stands for at most 255 bytes of data. A chunk that declares more is not given the memory.
        if u64::from(size) > bound::product(block.len() as u64, 255) {
            return fault(NO_BLOCK);
        }
        self.data.resize(bound::addressable(size.into()), 0);
        decode_block(&block, &mut self.data)?;
        (self.left, self.taken) = (left, 0);
        Ok(())
    }
}

impl Read for Decoder<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.taken >= self.data.len() {
            if self.left == 0 {
                only_zeros(self.stored).map_err(io::Error::other)?;
                return Ok(0);
            }
            self.next().map_err(io::Error::other)?;
        }
        let size = self.data.get(self.taken..).unwrap_or_default().read(out)?;
        self.taken += size;
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, lengths in any::<[u8; 2]>(), len in 0usize..300) {
            let framed = [&[0, 0, 0, lengths[0], lengths[1], 0, 0, 0], &bytes[..]].concat();
            for stored in [&bytes, &framed] {
                let _ = decode(stored, &mut vec![0; len], 1);
            }
        }
    }

    #[test]
    fn chunks_of_any_size() {
        let stored = [
            &[0, 0, 0, 8][..], // length of the chunk
            &[3, 0, 0, 0],     // length of its data
            &[0x30, 1, 2, 3],  // an LZ4 block of three literals
            &[0, 0, 0, 6],     // length of the next
            &[1, 0, 0, 0],     // length of its data
            &[0x10, 4],        // one literal
        ]
        .concat();
        let mut out = [0; 4];
        decode(&stored, &mut out, 2).unwrap();
        assert_eq!(out, [1, 2, 3, 4]);
        assert!(decode(&stored, &mut [0; 3], 1).is_err());
        assert!(decode(&stored, &mut [0; 5], 1).is_err());
        assert!(decode(&stored[..stored.len() - 1], &mut [0; 4], 1).is_err());
    }

    fn encoded(data: &[u8], threads: usize) -> Vec<u8> {
        super::super::encode(super::super::Compression::Lz4, None, data, threads).unwrap()
    }

    #[test]
    fn large_data_has_several_chunks() {
        let data: Vec<u8> = (0..5 * CHUNK as u32 + 5).map(|i| (i >> 10) as u8).collect();
        let stored = encoded(&data, 2);
        assert_eq!(stored, encoded(&data, 1));
        let mut out = vec![0; data.len()];
        decode(&stored, &mut out, 2).unwrap();
        assert!(out == data);
    }
}
