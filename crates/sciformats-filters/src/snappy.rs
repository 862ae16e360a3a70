//! Snappy (filter 32003, and inside Blosc 1): a raw block, or the framed form, which begins with a stream identifier.

use std::io::Read;

use sciformats_core::lz::{self, Output};
use sciformats_core::{Fault, bound};

use crate::Filter;
use crate::filter::{rule, within};

/// The first chunk of the framed form.
const IDENTIFIER: &[u8] = b"\xff\x06\x00\x00sNaPpY";

/// The filter.
pub(crate) struct Snappy;

impl Filter for Snappy {
    fn id(&self) -> u16 {
        32003
    }

    fn name(&self) -> &'static str {
        "snappy"
    }

    fn decode(&self, _values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
        // These bytes are not the start of a raw block that can be decoded: they declare 895 bytes, and then copy from before the
        // start.
        if !input.starts_with(IDENTIFIER) {
            let len = snap::raw::decompress_len(input).map_err(|_| rule("decoded length", "is not valid"))?;
            let mut out = vec![0; within("decoded length", len as u64, max)?];
            block(input, &mut out)?;
            return Ok(out);
        }
        let mut out = Vec::new();
        let frames =
            snap::read::FrameDecoder::new(input).take(bound::sum(max as u64, 1)).read_to_end(&mut out);
        frames.map_err(|_| rule("snappy frame", "cannot be decoded"))?;
        within("decoded length", out.len() as u64, max)?;
        Ok(out)
    }

    fn encode(&self, _values: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        if u32::try_from(input.len()).is_err() {
            return Err(rule("chunk", "is too large for a block of Snappy"));
        }
        encoded(input).map(Some).ok_or_else(|| rule("chunk", "cannot be encoded"))
    }
}

/// Decodes a raw block into all of `out`.
pub(crate) fn block(input: &[u8], out: &mut [u8]) -> Result<(), Fault> {
    let wrong = || rule("snappy block", "cannot be decoded");
    let declared = snap::raw::decompress_len(input).map_err(|_| wrong())?;
    let made = if declared == out.len() { snap::raw::Decoder::new().decompress(input, out) } else { Ok(0) };
    if made.map_err(|_| wrong())? == out.len() { Ok(()) } else { Err(wrong()) }
}

const HASH_BITS: u32 = 14;
/// The search ends so many bytes before the end of the input. This is enough for all words that are read without looking.
const MARGIN: usize = 24;
/// Where nothing is found, the steps become longer; this stands for the longest one, of 512 bytes.
const LARGEST_SKIP: usize = 1 << 14;
/// The longest copy of one element.
const LONGEST_COPY: usize = 64;

/// Encodes a raw block. A copy refers to the latest known position at which the next four bytes occurred, up to 65,535 bytes before.
#[inline(never)] // as a part of a larger function, the loop has too few registers
fn encoded(input: &[u8]) -> Option<Vec<u8>> {
    let longest = bound::sum(bound::sum(input.len(), input.len() / 6), 32);
    let mut out = Output::new(longest, longest);
    let mut rest = input.len();
    while rest >= 0x80 {
        out.few([low(rest) | 0x80, 0, 0, 0], 1)?;
        rest >>= 7;
    }
    out.few([low(rest), 0, 0, 0], 1)?;
    // The lower bits of positions, which tell how far back one is: never before the start. What is farther back is told apart by its bytes.
    let mut seen = Box::new([0u16; 1 << HASH_BITS]);
    let mut latest = |word: u32, at: usize| {
        // The mask does not change the index, but shows the compiler that it is in range.
        let slot = (word.wrapping_mul(0x1e35_a7bd) >> (32 - HASH_BITS)) as usize & ((1 << HASH_BITS) - 1);
        let here = (at & 0xffff) as u16;
        let before = std::mem::replace(&mut seen[slot], here);
        usize::from(here.wrapping_sub(before))
    };
    let matches = |word: u32, at: usize, distance: usize| {
        distance != 0 && lz::word(input, at.wrapping_sub(distance)) == word
    };
    let mut literals = 0; // the start of the literals that are not written yet
    let mut at = 1;
    let mut next = lz::long_word(input, at);
    'search: while input.len() >= bound::sum(at, MARGIN) {
        let (mut word, mut skip) = (next as u32, 32);
        let mut distance = latest(word, at);
        while !matches(word, at, distance) {
            let step = skip >> 5;
            at += step;
            skip = (skip + step).min(LARGEST_SKIP);
            let Some(bytes) = input.get(at..).and_then(<[u8]>::first_chunk::<MARGIN>) else { break 'search };
            word = lz::word(bytes, 0);
            distance = latest(word, at);
        }
        run(&mut out, input, literals, at)?;
        // Often the bytes after a copy have occurred before, too.
        loop {
            let len;
            (len, next) = equal(input, at - distance, at);
            copy(&mut out, distance, len)?;
            at += len;
            literals = at;
            if input.len() < bound::sum(at, MARGIN) {
                break 'search;
            }
            latest(lz::word(input, at - 1), at - 1);
            word = next as u32;
            distance = latest(word, at);
            if !matches(word, at, distance) {
                break;
            }
        }
        next >>= 8;
        at += 1;
    }
    run(&mut out, input, literals, input.len())?;
    Some(out.into_bytes())
}

/// Returns the number of equal bytes, of which there are four or more, and the bytes after them, of which five are right. Mostly these are
/// among those that were compared. To shift them takes less time than to read them again, and the search cannot go on without them.
#[inline(always)]
fn equal(input: &[u8], from: usize, at: usize) -> (usize, u64) {
    let first = input.get(from..).and_then(<[u8]>::first_chunk::<12>);
    if let (Some(a), Some(b)) = (first, input.get(at..).and_then(<[u8]>::first_chunk::<16>)) {
        let (near, far) = (lz::long_word(b, 4), lz::long_word(b, 8));
        let differ = lz::long_word(a, 4) ^ near;
        if differ != 0 {
            let bits = differ.trailing_zeros();
            // Without a branch, because nobody can predict it.
            let mask = u64::from(differ as u32 == 0).wrapping_neg();
            return (4 + (bits / 8) as usize, (near ^ ((near ^ far) & mask)) >> (bits & 24));
        }
        let len = 12 + lz::common(input, from + 12, at + 12, input.len());
        return (len, lz::long_word(input, at + len));
    }
    let len = lz::common(input, from, at, input.len());
    (len, lz::long_word(input, at + len))
}

/// Appends the literals from one position to another.
#[inline(always)]
fn run(out: &mut Output, input: &[u8], from: usize, to: usize) -> Option<()> {
    match to - from {
        0 => return Some(()),
        len @ 1..=60 => out.few([low((len - 1) << 2), 0, 0, 0], 1)?,
        len => long_run(out, len - 1)?,
    }
    out.literals(input, from, to - from)
}

/// Appends the beginning of a run of literals whose length less 1 follows the tag.
#[cold]
fn long_run(out: &mut Output, len: usize) -> Option<()> {
    let (bytes, count) = match len {
        0..=0xff => (1, 60),
        0x100..=0xffff => (2, 61),
        0x1_0000..=0xff_ffff => (3, 62),
        _ => (4, 63),
    };
    out.few([count << 2, 0, 0, 0], 1)?;
    out.few(u32::try_from(len).ok()?.to_le_bytes(), bytes)
}

/// Appends copies of together `len` bytes, of which there are four or more.
#[inline(always)]
fn copy(out: &mut Output, distance: usize, mut len: usize) -> Option<()> {
    let two = |len: usize| [low((len - 1) << 2 | 2), low(distance), low(distance >> 8), 0];
    // The last one has four bytes or more, too.
    while len >= LONGEST_COPY + 4 {
        out.few(two(LONGEST_COPY), 3)?;
        len -= LONGEST_COPY;
    }
    if len > LONGEST_COPY {
        out.few(two(LONGEST_COPY - 4), 3)?;
        len -= LONGEST_COPY - 4;
    }
    let is_short = len < 12 && distance < 2048;
    let one = [low((distance >> 8) << 5 | (len - 4) << 2 | 1), low(distance), 0, 0];
    out.few(if is_short { one } else { two(len) }, if is_short { 2 } else { 3 })
}

/// Returns the lowest eight bits.
fn low(number: usize) -> u8 {
    (number & 0xff) as u8
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BLOCK: [u8; 8] = [
        10,          // decoded length
        0b0000_1000, // literal of 3 bytes
        b'a',
        b'b',
        b'c', //
        0b0000_1101,
        3,    // copy of 7 bytes from 3 bytes before
        0xff, // more than there should be
    ];

    #[test]
    fn a_block_and_its_faults() {
        assert_eq!(Snappy.decode(&[], &BLOCK[..7], 10).unwrap(), b"abcabcabca");
        assert!(Snappy.decode(&[], &BLOCK[..7], 9).is_err());
        assert!(Snappy.decode(&[], &BLOCK, 10).is_err());
        assert!(Snappy.decode(&[], &BLOCK[..6], 10).is_err());
        assert!(Snappy.decode(&[], &[], 10).is_err());
    }

    #[test]
    fn the_framed_form() {
        let mut framed = snap::read::FrameEncoder::new(&[7u8; 5000][..]);
        let mut bytes = Vec::new();
        framed.read_to_end(&mut bytes).unwrap();
        assert_eq!(Snappy.decode(&[], &bytes, 5000).unwrap(), [7; 5000]);
        assert!(Snappy.decode(&[], &bytes, 4999).is_err());
        assert!(Snappy.decode(&[], &bytes[..bytes.len() - 1], 5000).is_err());
    }

    /// Encodes and decodes, and returns the size of the stream.
    fn round(input: &[u8]) -> usize {
        let bytes = Snappy.encode(&[], input).unwrap().unwrap();
        assert!(Snappy.decode(&[], &bytes, input.len()).unwrap() == input);
        bytes.len()
    }

    #[test]
    fn runs_and_copies_of_every_length() {
        let mut state = 1u32;
        let mut noise = |len: usize| -> Vec<u8> {
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            };
            (0..len).map(|_| next()).collect()
        };
        for len in
            (0..140).chain([255, 256, 257, 258, 65_535, 65_536, 65_537, 70_000, 1 << 24, (1 << 24) + 1])
        {
            let run = noise(len);
            assert!(round(&run) <= len + len / 1000 + 8, "{len}");
            let far = noise(1 + len % 3000);
            let size = round(&[&run[..], &far, &run, &far, b"the end that is not searched"].concat());
            // A copy is not always found at once after bytes without one.
            assert!(
                (len + far.len() > 60_000 || len < 30) || size < len + far.len() + len / 12 + 600,
                "{len} {size}"
            );
        }
        assert!(round(&[7; 100_000]) < 5000);
    }

    #[test]
    fn a_block_byte_by_byte() {
        let text = b"abcdefgh-abcdefgh-and nothing that has been there before";
        let expected = [
            &[56, 8 << 2][..], // the length; nine literals
            &text[..9],
            &[6 << 2 | 1, 9], // a copy of ten bytes from nine before
            &[36 << 2],       // 37 literals
            &text[19..],
        ]
        .concat();
        assert_eq!(encoded(text).unwrap(), expected);
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(
            input: Vec<u8>,
            few in prop::collection::vec(0u8..3, 0..900),
            times in 1usize..40,
        ) {
            for data in [&input, &few, &input.repeat(times), &few.repeat(times), &[&few[..], &input].concat()] {
                round(data);
            }
        }

        #[test]
        fn no_bytes_panic(input: Vec<u8>) {
            let _ = Snappy.decode(&[], &input, 1000);
        }
    }
}
