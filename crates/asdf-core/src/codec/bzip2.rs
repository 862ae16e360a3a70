//! bzip2 streams, which several threads can write and read.
//!
//! | bits | field |
//! |---|---|
//! | 32 | `BZh` and the level, `1` to `9`, which is the size of blocks in units of 100,000 bytes |
//! | 48 | magic of a block, `0x314159265359` |
//! | 32 | checksum of the block's data |
//! | any | the block; the next one follows at the next bit |
//! | 48 | magic of the end, `0x177245385090` |
//! | 32 | checksum of the stream: the previous checksum, rotated left by one bit, exclusive or the checksum of the block |
//! | 0–7 | zeros up to a whole byte |
//!
//! A block does not depend on others. Blocks are therefore compressed as streams of one block each, and joined bit by bit. For
//! decoding, a stream is cut wherever the magic occurs into streams of one block each. If the cuts do not give the expected
//! data, one thread reads the stream from the start.

use sciformats_core::{Error, Result, bound};

use super::{Sink, stream};
use crate::parallel::in_parallel;

const BLOCK: u64 = 0x3141_5926_5359;
const END: u64 = 0x1772_4538_5090;
const MAGIC_BITS: usize = 48;
const HEADER: usize = 4;
/// The number of bits of the magic and the checksum at the end.
const END_BITS: usize = MAGIC_BITS + 32;

/// Bits one after another. The highest bit of a byte comes first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    /// The number of bits of the last byte that are used; 0 if it is full.
    used: u32,
}

impl Bits {
    /// Appends `len` bits of `source` from bit `start` on.
    fn append(&mut self, source: &[u8], start: usize, len: usize) {
        let mut at = start;
        let end = start + len;
        while at < end {
            let count = (end - at).min(8);
            let byte = peek(source, at, count) as u8;
            self.push(byte, count as u32);
            at += count;
        }
    }

    /// Appends the lowest `count` bits of a byte.
    fn push(&mut self, byte: u8, count: u32) {
        let left = u16::from(byte) << (16 - count);
        let [high, low] = (left >> self.used).to_be_bytes();
        match self.bytes.last_mut() {
            Some(last) if self.used > 0 => *last |= high,
            _ => self.bytes.push(high),
        }
        if self.used + count > 8 {
            self.bytes.push(low);
        }
        self.used = (self.used + count) % 8;
    }

    fn number(&mut self, value: u64, count: usize) {
        self.append(&(value << (64 - count)).to_be_bytes(), 0, count);
    }
}

/// Returns up to 56 bits, beginning with bit `at`. After the end, they are zeros.
fn peek(bytes: &[u8], at: usize, count: usize) -> u64 {
    let mut word = [0; 8];
    let from = bytes.get(at / 8..).unwrap_or_default();
    word.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    (u64::from_be_bytes(word) << (at % 8)) >> (64 - count)
}

/// Compresses with blocks of `level` times 100,000 bytes.
pub(super) fn encode(data: &[u8], level: u32, threads: usize) -> Result<Vec<u8>> {
    let chunks = chunks(data, room(level));
    if chunks.len() < 2 {
        return stream::encode_bzip2(data, level);
    }
    let mut joined = Joined::default();
    if !joined.append(chunks, level, threads)? {
        return stream::encode_bzip2(data, level);
    }
    Ok(joined.finish())
}

/// Data that fills a block at most.
fn room(level: u32) -> usize {
    level as usize * 100_000 - 1000
}

/// A stream that is made of streams of one block each.
#[derive(Default)]
struct Joined {
    out: Bits,
    sum: u32,
    /// Whether the first block is there, and the header before it.
    begun: bool,
}

impl Joined {
    /// Compresses chunks and appends them. Returns false if a chunk did not become exactly one block.
    fn append(&mut self, chunks: Vec<&[u8]>, level: u32, threads: usize) -> Result<bool> {
        for part in in_parallel(chunks, threads, |chunk| stream::encode_bzip2(chunk, level)) {
            let part = part?;
            let Some((end, of_block)) = only_block(&part) else { return Ok(false) };
            if !self.begun {
                self.out.append(&part, 0, 8 * HEADER);
                self.begun = true;
            }
            self.out.append(&part, 8 * HEADER, end - 8 * HEADER);
            self.sum = self.sum.rotate_left(1) ^ of_block;
        }
        Ok(true)
    }

    fn finish(mut self) -> Vec<u8> {
        self.out.number(END, MAGIC_BITS);
        self.out.number(self.sum.into(), 32);
        self.out.bytes
    }
}

/// Encodes data that arrives piece by piece.
pub(crate) struct Encoder {
    level: u32,
    threads: usize,
    joined: Joined,
    /// Data that is not compressed yet.
    waiting: Vec<u8>,
}

impl Encoder {
    pub(super) fn new(level: u32, threads: usize) -> Self {
        Self { level, threads: threads.max(1), joined: Joined::default(), waiting: Vec::new() }
    }

    pub(super) fn push(&mut self, piece: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        self.waiting.extend_from_slice(piece);
        let room = room(self.level);
        if self.waiting.len() < bound::product(4 * room, self.threads) {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        let mut chunks = chunks(&waiting, room);
        // The last chunk may go on.
        self.waiting = chunks.pop().unwrap_or_default().to_vec();
        self.append(chunks)?;
        // The bits of the last byte are not all there yet.
        let bits = &mut self.joined.out;
        let last = if bits.used > 0 { bits.bytes.pop() } else { None };
        let ready = std::mem::replace(&mut bits.bytes, last.into_iter().collect());
        sink(ready.into())
    }

    pub(super) fn finish(mut self, sink: &mut Sink<'_>) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        if !self.joined.begun {
            return sink(encode(&waiting, self.level, self.threads)?.into());
        }
        self.append(chunks(&waiting, room(self.level)))?;
        sink(self.joined.finish().into())
    }

    fn append(&mut self, chunks: Vec<&[u8]>) -> Result<()> {
        if self.joined.append(chunks, self.level, self.threads)? {
            Ok(())
        } else {
            Err(Error::internal("a part of a bzip2 stream is not one block"))
        }
    }
}

/// Cuts data into parts that fit one block each. Before a block is compressed, runs of 4 to 255 equal bytes are replaced by 5
/// bytes.
fn chunks(data: &[u8], room: usize) -> Vec<&[u8]> {
    let mut chunks = Vec::new();
    let (mut start, mut filled) = (0, 0);
    let mut at = 0;
    while let Some(&byte) = data.get(at) {
        let rest = data.get(at..).unwrap_or_default();
        let run = rest.iter().take(255).take_while(|&&b| b == byte).count();
        let cost = if run < 4 { run } else { 5 };
        if filled + cost > room {
            chunks.push(data.get(start..at).unwrap_or_default());
            (start, filled) = (at, 0);
        }
        filled += cost;
        at += run;
    }
    chunks.push(data.get(start..).unwrap_or_default());
    chunks
}

/// Returns the end in bits and the checksum of the only block of a stream; `None` if there is not exactly one block.
fn only_block(stream: &[u8]) -> Option<(usize, u32)> {
    let sum = peek(stream, 8 * HEADER + MAGIC_BITS, 32);
    // The end is within the bits of the last byte, and the checksum of the stream is that of the only block.
    let is_end =
        |&at: &usize| peek(stream, at, MAGIC_BITS) == END && peek(stream, at + MAGIC_BITS, 32) == sum;
    let last = (8 * stream.len()).checked_sub(END_BITS)?;
    let end = (bound::left(last, 7)..=last).rev().find(is_end)?;
    Some((end, u32::try_from(sum).ok()?))
}

/// Decodes a stream into all of `out` with several threads. Returns whether this succeeded; if it did not, the contents of `out`
/// are undefined.
pub(super) fn decode(stored: &[u8], out: &mut [u8], threads: usize) -> bool {
    let Some(marks) = marks(stored) else { return false };
    let ranges: Vec<(usize, usize)> =
        marks.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))).collect();
    let mut rest = out;
    let mut sum = 0u32;
    for wave in ranges.chunks(threads.max(1)) {
        let room = rest.len();
        let parts = in_parallel(wave.to_vec(), threads, |(start, end)| block(stored, start, end, room));
        for (part, (start, _)) in parts.into_iter().zip(wave) {
            let Some(part) = part else { return false };
            let Some((to, left)) = std::mem::take(&mut rest).split_at_mut_checked(part.len()) else {
                return false;
            };
            to.copy_from_slice(&part);
            rest = left;
            sum = sum.rotate_left(1) ^ peek(stored, start + MAGIC_BITS, 32) as u32;
        }
    }
    let expected = marks.last().map(|&end| peek(stored, end + MAGIC_BITS, 32));
    rest.is_empty() && expected == Some(sum.into())
}

/// Returns the starts of the blocks in bits, followed by the end of the stream; `None` if there is no end or fewer than two
/// blocks.
fn marks(stored: &[u8]) -> Option<Vec<usize>> {
    if !stored.starts_with(b"BZh") {
        return None;
    }
    let mut marks = Vec::new();
    for (byte, window) in stored.windows(8).enumerate() {
        let word = window.first_chunk::<8>().map_or(0, |word| u64::from_be_bytes(*word));
        for bit in 0..8 {
            match word << bit >> (64 - MAGIC_BITS) {
                BLOCK => marks.push(8 * byte + bit),
                END => {
                    marks.push(8 * byte + bit);
                    return (marks.len() > 2 && marks.first() == Some(&(8 * HEADER))).then_some(marks);
                }
                _ => {}
            }
        }
    }
    None
}

/// Decodes one block of at most `room` bytes.
fn block(stored: &[u8], start: usize, end: usize, room: usize) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut bits = Bits::default();
    bits.append(stored, 0, 8 * HEADER);
    bits.append(stored, start, end.checked_sub(start)?);
    bits.number(END, MAGIC_BITS);
    bits.number(peek(stored, start + MAGIC_BITS, 32), 32);
    let mut data = Vec::new();
    let most = u64::try_from(room).ok()?.checked_add(1)?;
    bzip2::bufread::BzDecoder::new(bits.bytes.as_slice()).take(most).read_to_end(&mut data).ok()?;
    (data.len() <= room).then_some(data)
}

#[cfg(test)]
mod tests {
    use super::super::Compression;
    use super::*;

    fn samples() -> Vec<Vec<u8>> {
        let random = |i: u32| (i.wrapping_mul(2_654_435_761) >> 13) as u8;
        vec![
            (0..350_000).map(random).collect(),
            // Runs of four bytes become longer before they become shorter.
            (0..350_000).map(|i| random(i / 4)).collect(),
            vec![7; 6_000_000],
            (0..250_000u32).map(|i| (i >> 9) as u8).collect(),
        ]
    }

    #[test]
    fn joined_blocks_are_one_stream() {
        for data in samples() {
            let stored = encode(&data, 1, 2).unwrap();
            let mut out = vec![0; data.len()];
            stream::fill(stream::decoder(Compression::Bzp2, stored.as_slice()).unwrap(), &mut out).unwrap();
            assert!(out == data);
            let mut out = vec![0; data.len()];
            assert_eq!(decode(&stored, &mut out, 2), marks(&stored).is_some());
            assert!(out == data || marks(&stored).is_none());
            assert!(!decode(&stored, &mut vec![0; data.len() + 1], 2));
            assert!(!decode(&stored, &mut vec![0; data.len() - 1], 2));
        }
    }

    #[test]
    fn streams_of_one_thread_are_cut() {
        let data = samples().concat();
        let mut stored = stream::encode_bzip2(&data, 1).unwrap();
        assert!(marks(&stored).unwrap().len() > 9);
        let mut out = vec![0; data.len()];
        assert!(decode(&stored, &mut out, 2));
        assert!(out == data);
        let middle = stored.len() / 2;
        stored[middle] ^= 1;
        assert!(!decode(&stored, &mut out, 2));
    }

    #[test]
    fn magic_inside_a_block_does_no_harm() {
        let data: Vec<u8> = BLOCK.to_be_bytes().repeat(40_000);
        let stored = encode(&data, 1, 2).unwrap();
        let mut out = vec![0; data.len()];
        assert!(decode(&stored, &mut out, 2) || marks(&stored).is_none());
    }
}
