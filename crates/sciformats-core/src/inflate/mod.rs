//! A decoder of deflate (RFC 1951) for streams that are in memory as a whole, without unsafe code.
//!
//! A stream is a series of blocks, whose numbers are packed from the lowest bit of each byte on:
//!
//! | bits | field |
//! |---|---|
//! | 1 | whether this is the last block |
//! | 2 | kind: 0 stored, 1 fixed codes, 2 codes of its own |
//! | – | stored: up to the end of the byte nothing, 16 bits the length, 16 bits its complement, then the bytes |
//! | 5, 5, 4 | codes of its own: the numbers of codes of literals and lengths less 257, of distances less 1, of lengths of codes less 4 |
//! | 3 each | the lengths of the codes of lengths, then with these codes all other lengths |
//! | – | codes of literals, and of lengths with their distances, up to the code of the end |
//!
//! What costs time is each decision that depends on the data and that the processor does not predict. The lengths of the codes of
//! a block tell how frequent literals are, which selects one of two loops:
//!
//! - If literals and copies are about as frequent, they come in an order that is hard to predict. One look into a table therefore
//!   decodes a literal *and* what follows it, and a copy is always made, of nothing if there is none.
//! - Otherwise literals are distinguished from copies, in the common way.
//!
//! An entry of a table is a number of 32 bits:
//!
//! | bits | of literals and lengths | of distances |
//! |---|---|---|
//! | 0–4 | the number of bits that the code takes, with its extra bits | the same |
//! | 5–8 | the number of extra bits | the same |
//! | 8–15 | the first literal | – |
//! | 16–23 | the second literal, or the length less 3 | from 16 on the distance |
//! | 24–25 | the number of literals | – |
//! | 26 | whether there is a length | – |
//! | 29, 31 | the code is longer: bits 8–23 are the start of its part of the second table, and bits 0–4 how many bits select in it | the same |
//! | 30, 31 | the end of the block | – |
//! | 31 | no code, if neither is set | the same |

mod bits;
mod codes;
mod output;
mod steps;

use self::bits::{Bits, look};
use self::codes::{Codes, distance, literal_or_length};
use self::output::Output;
use self::steps::stored;
use crate::bound::{addressable, product};

/// Longer codes are rare, and decoded with a second table.
const LITERAL_BITS: u32 = 12;
const DISTANCE_BITS: u32 = 8;
const LITERALS: usize = 1 << LITERAL_BITS;
const DISTANCES: usize = 1 << DISTANCE_BITS;

/// Copies are made in steps of as many bytes.
const STEP: usize = 16;

/// The longest copy.
const LONGEST: usize = 258;

/// As many bytes are there after the place of the output at which a fast loop goes on: eight literals, the longest copy, and two steps.
const ROOM: usize = 320;

/// No stream grows by more than this factor, in which a copy of 258 bytes takes two bits.
const MOST_GROWTH: usize = 1032;

/// What grows by more than this factor is the same over and over.
const REPETITIVE: usize = 60;

/// A table of pairs is made if as many bytes follow. For fewer ones, it would take longer than it saves.
const WORTH_PAIRS: usize = 4096;

/// The share of all codes together. A code of `n` bits has the share `ALL >> n`, which is about how frequent it is.
const ALL: u32 = 1 << 15;

/// With such a share of literals, whether one comes is hard to predict.
const EVEN: std::ops::Range<u32> = ALL / 16 * 6..ALL / 16 * 9;

/// With a smaller share of literals, pairs are rare.
const PAIRED: u32 = ALL / 4;

const LITERAL: u32 = 1 << 24;
const LENGTH: u32 = 1 << 26;
const LONGER: u32 = 1 << 29;
const END: u32 = 1 << 30;
/// What is neither a literal nor a length nor a distance.
const SPECIAL: u32 = 1 << 31;

/// The order in which the lengths of the codes of lengths are stored.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Returns what follows the header of a zlib stream (RFC 1950, section 2.2): a deflate stream and its checksum, Adler-32.
///
/// ```
/// assert_eq!(sciformats_core::inflate::zlib_body(&[0x78, 0x9c, 3, 0]), Some(&[3, 0][..]));
/// assert_eq!(sciformats_core::inflate::zlib_body(&[0x78, 0x9d, 3, 0]), None);
/// ```
pub fn zlib_body(input: &[u8]) -> Option<&[u8]> {
    let (&[method, flags], stream) = input.split_first_chunk()?;
    let is_deflate = method & 15 == 8 && method >> 4 < 8 && flags & 32 == 0;
    (is_deflate && u16::from_be_bytes([method, flags]) % 31 == 0).then_some(stream)
}

/// Returns whether a stream that decodes to `len` bytes is mostly the same over and over. The decoder of this project is then faster than
/// zlib-rs on processors with vectors, too. This does not hold for all that quick encoders write with fixed codes.
///
/// ```
/// // Codes of its own, and 4096 zeros.
/// let zeros = [0xed, 0xc1, 1, 13, 0, 0, 0, 0xc2, 0xa0, 0xf7, 0x4f, 0x6d, 15, 7, 20, 0, 0, 0, 0xf0, 0x6e];
/// assert!(sciformats_core::inflate::is_repetitive(&zeros, 4096));
/// assert!(!sciformats_core::inflate::is_repetitive(&zeros, 300));
/// ```
pub fn is_repetitive(stream: &[u8], len: usize) -> bool {
    let has_own_codes = stream.first().is_some_and(|head| head >> 1 & 3 == 2);
    has_own_codes && len > product(stream.len(), REPETITIVE)
}

/// The tables of a decoder, which may decode several streams one after the other.
pub struct Inflater {
    /// One literal or length per entry.
    single: Box<[u32; LITERALS]>,
    /// Up to two literals, or a literal and a length.
    pairs: Box<[u32; LITERALS]>,
    has_pairs: bool,
    /// Whether the tables are those of the fixed codes.
    is_fixed: bool,
    /// Whether literals and copies are about as frequent, in a long block.
    is_even: bool,
    longer: Vec<u32>,
    /// Distances, and after them as many entries that are no distance and take no bits.
    distances: Box<[u32; 2 * DISTANCES]>,
    longer_distances: Vec<u32>,
}

impl std::fmt::Debug for Inflater {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inflater").finish_non_exhaustive()
    }
}

impl Default for Inflater {
    fn default() -> Self {
        Self::new()
    }
}

impl Inflater {
    /// Makes a decoder, whose tables take 34 KB.
    pub fn new() -> Self {
        Self {
            single: Box::new([0; LITERALS]),
            pairs: Box::new([0; LITERALS]),
            has_pairs: false,
            is_fixed: false,
            is_even: false,
            longer: Vec::new(),
            distances: Box::new([0; 2 * DISTANCES]),
            longer_distances: Vec::new(),
        }
    }

    /// Decodes a stream of about `expected` and at most `max` bytes into `out`, and returns how many bytes of `input` it took.
    ///
    /// It returns `None` for a stream that is damaged, incomplete or longer, and for the few kinds of codes that no encoder
    /// makes; `out` then contains anything. It takes no more memory than `max` and some bytes.
    ///
    /// ```
    /// // The last block, stored: its length, the complement of it, and three bytes.
    /// let stream = [1, 3, 0, 0xfc, 0xff, b'a', b'b', b'c'];
    /// let mut out = Vec::new();
    /// let used = sciformats_core::inflate::Inflater::new().inflate(&stream, 3, 3, &mut out);
    /// assert_eq!((used, &out[..]), (Some(8), &b"abc"[..]));
    /// ```
    pub fn inflate(&mut self, input: &[u8], expected: usize, max: usize, out: &mut Vec<u8>) -> Option<usize> {
        let possible = product(input.len(), MOST_GROWTH);
        // What `out` has from the stream before is not cleared, because all of it is written.
        out.resize(expected.min(max).min(possible).checked_add(ROOM)?, 0);
        let (used, end) = self.stream(input, max, out)?;
        out.truncate(end);
        Some(used)
    }

    /// Decodes a stream that fills `out` exactly, and returns how many bytes of `input` it took.
    ///
    /// It returns `None` as [`inflate`](Self::inflate) does, and for a shorter stream; `out` then contains anything.
    ///
    /// ```
    /// // The last block, stored: its length, the complement of it, and three bytes.
    /// let stream = [1, 3, 0, 0xfc, 0xff, b'a', b'b', b'c'];
    /// let mut out = [0; 3];
    /// let used = sciformats_core::inflate::Inflater::new().inflate_into(&stream, &mut out);
    /// assert_eq!((used, &out), (Some(8), b"abc"));
    /// ```
    pub fn inflate_into(&mut self, input: &[u8], mut out: &mut [u8]) -> Option<usize> {
        let len = out.len();
        let (used, end) = self.stream(input, len, &mut out)?;
        (end == len).then_some(used)
    }

    /// Decodes a stream, and returns how many bytes of `input` it took, and where the output ends.
    fn stream(&mut self, input: &[u8], max: usize, out: &mut impl Output) -> Option<(usize, usize)> {
        let mut bits = Bits { data: input, at: 0, buffer: 0, count: 0 };
        let mut at = 0;
        loop {
            bits.refill();
            let is_last = bits.take(1)? == 1;
            at = match bits.take(2)? {
                0 => stored(&mut bits, max, out, at)?,
                1 => {
                    self.fixed_codes()?;
                    self.block(&mut bits, max, out, at)?
                }
                2 => {
                    self.own_codes(&mut bits)?;
                    self.block(&mut bits, max, out, at)?
                }
                _ => return None,
            };
            if is_last {
                return Some((bits.position(), at));
            }
        }
    }

    /// Makes the tables of the fixed codes, if they are not those of the block before.
    fn fixed_codes(&mut self) -> Option<()> {
        if !self.is_fixed {
            let mut lengths = [8; 288];
            lengths.get_mut(144..256)?.fill(9);
            lengths.get_mut(256..280)?.fill(7);
            // No two of these codes fit into an entry, so that there are no pairs.
            self.tables(&lengths, &[5; 32], false)?;
            self.is_fixed = true;
        }
        Some(())
    }

    /// Reads the lengths of the codes of a block, and makes its tables.
    fn own_codes(&mut self, bits: &mut Bits<'_>) -> Option<()> {
        self.is_fixed = false;
        bits.refill();
        let literals = addressable(bits.take(5)?) + 257;
        let distances = addressable(bits.take(5)?) + 1;
        let count = addressable(bits.take(4)?) + 4;
        if literals > 286 || distances > 30 {
            return None;
        }
        let mut lengths = [0; 19];
        for &at in ORDER.iter().take(count) {
            bits.refill();
            *lengths.get_mut(at)? = u8::try_from(bits.take(3)?).ok()?;
        }
        let codes = Codes::of(&lengths).filter(|codes| codes.is_complete)?;
        let mut table = [0; 128];
        codes.fill(&mut table, &mut Vec::new(), |symbol, length| symbol << 8 | length)?;
        let all = literals + distances;
        let mut lengths = [0; 316];
        let mut at = 0usize;
        while at < all {
            bits.refill();
            let entry = look(&table, bits.buffer);
            bits.take(entry & 31)?;
            let (length, times) = match entry >> 8 {
                16 => (*lengths.get(at.checked_sub(1)?)?, bits.take(2)? + 3),
                17 => (0, bits.take(3)? + 3),
                18 => (0, bits.take(7)? + 11),
                length => (u8::try_from(length).ok()?, 1),
            };
            let end = at + addressable(times);
            lengths.get_mut(..all)?.get_mut(at..end)?.fill(length);
            at = end;
        }
        let (literals, distances) = lengths.get(..all)?.split_at_checked(literals)?;
        // A block that cannot end is wrong.
        literals.get(256).filter(|length| **length > 0)?;
        let is_long = bits.data.len() - bits.position() >= WORTH_PAIRS;
        self.tables(literals, distances, is_long)
    }

    /// Makes the tables of a block, which may be long enough for pairs, from the lengths of its codes.
    fn tables(&mut self, literals: &[u8], distances: &[u8], is_long: bool) -> Option<()> {
        let codes = Codes::of(literals).filter(|codes| codes.is_complete)?;
        codes.fill(&mut self.single, &mut self.longer, literal_or_length)?;
        // How long the codes of literals are says how frequent they are.
        let share: u32 =
            literals.iter().take(256).filter(|length| **length > 0).map(|length| ALL >> length).sum();
        self.is_even = is_long && EVEN.contains(&share);
        self.has_pairs = is_long && share >= PAIRED;
        if self.has_pairs {
            self.pair(&codes)?;
        }
        let codes = Codes::of(distances)?;
        // A single distance has a code of one bit, of which the other value is no code.
        let is_single = codes.counts.iter().sum::<u16>() <= 1;
        if !codes.is_complete && !is_single {
            return None;
        }
        let table = self.distances.first_chunk_mut::<DISTANCES>()?;
        codes.fill(table, &mut self.longer_distances, distance)
    }

    /// Makes the table of pairs: each literal is joined with what follows it, if there are bits for both.
    fn pair(&mut self, codes: &Codes) -> Option<()> {
        *self.pairs = *self.single;
        // What each entry is as the second of a pair. No room has 31 bits.
        let mut second = [31; LITERALS];
        for (second, &entry) in second.iter_mut().zip(self.single.iter()) {
            if entry & LENGTH != 0 {
                *second = entry;
            } else if entry & SPECIAL == 0 {
                *second = LITERAL | (entry & 0xff00) << 8 | entry & 0xff;
            }
        }
        codes.each(1..LITERAL_BITS, |symbol, length, code| {
            if symbol < 256 {
                let (room, first) = (LITERAL_BITS - length, LITERAL | symbol << 8 | length);
                let entries = self.pairs.get_mut(addressable(code.into())..)?.iter_mut().step_by(1 << length);
                for (entry, &second) in entries.zip(second.iter().take(1 << room)) {
                    let own = (second & 31) - (second >> 5 & 7);
                    *entry = if own <= room { second + first } else { *entry };
                }
            }
            Some(())
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn inflated(stream: &[u8], max: usize) -> Option<(usize, Vec<u8>)> {
        let mut out = Vec::new();
        Inflater::new().inflate(stream, max, max, &mut out).map(|used| (used, out))
    }

    #[test]
    fn blocks_of_each_kind() {
        let stored = [
            0x01, // the last block, stored
            3, 0, 0xfc, 0xff, // length, its complement
            b'a', b'b', b'c', // bytes
        ];
        assert_eq!(inflated(&stored, 3), Some((8, b"abc".to_vec())));
        // With fixed codes: "abca", a length of 8 with a distance of 3, and the end.
        let fixed = [0x4b, 0x4c, 0x4a, 0x4e, 0x84, 0x21, 0x00];
        assert_eq!(inflated(&fixed, 12), Some((7, b"abcabcabcabc".to_vec())));
        // With codes of its own.
        let own = [
            0x5d, 0x90, 0x51, 0x16, 0x44, 0x21, 0x08, 0x42, 0xd7, 0x0a, 0x22, 0xfb, 0x5f, 0xc2, 0xa4, 0x59,
            0xd3, 0x79, 0xf6, 0x13, 0x1a, 0x78, 0x4f, 0x36, 0x6d, 0x87, 0xd3, 0x55, 0xec, 0xb3, 0xe4, 0x53,
            0x5a, 0x72, 0xf5, 0x72, 0x64, 0x74, 0xeb, 0x1d, 0xef, 0x3a, 0x73, 0x13, 0xa8, 0x20, 0xe3, 0x0e,
            0x43, 0x31, 0xd6, 0xa5, 0xa3, 0xf3, 0x59, 0x39, 0xbc, 0x21, 0x67, 0xfb, 0xf8, 0x58, 0x4e, 0xe2,
            0x9b, 0x4f, 0x89, 0xfd, 0x14, 0xa0, 0xea, 0x61, 0xc8, 0xe0, 0xc3, 0x9b, 0xde, 0x1e, 0x03, 0x7f,
            0xc0, 0xba, 0x66, 0x21, 0x9c, 0x1e, 0xd2, 0xca, 0x62, 0xd9, 0xd1, 0xc2, 0x25, 0xa1, 0x66, 0x63,
            0xff, 0xc2, 0x50, 0x05, 0x36, 0x6d, 0xf8, 0x07,
        ];
        let mut state = 1u32;
        let letters = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345) & 0x7fff_ffff;
            b'a' + (state >> 16 & 15).min(5) as u8
        });
        assert_eq!(inflated(&own, 300), Some((own.len(), letters.take(300).collect())));
        for stream in [&stored[..], &fixed, &own] {
            for cut in 0..stream.len() {
                assert_eq!(inflated(&stream[..cut], 300), None);
            }
            assert_eq!(inflated(stream, 2), None);
        }
        assert_eq!(inflated(&[7], 9), None, "a kind of block that does not exist");
        assert_eq!(inflated(&[1, 3, 0, 3, 0, 1, 2, 3], 9), None, "no complement");
    }

    fn deflated(data: &[u8], level: u32) -> Vec<u8> {
        use flate2::{Compress, Compression, FlushCompress};
        let mut stream = Vec::with_capacity(data.len() + 1000);
        let mut state = Compress::new(Compression::new(level), false);
        state.compress_vec(data, &mut stream, FlushCompress::Finish).unwrap();
        stream
    }

    #[test]
    fn the_longest_copy_wherever_room_ends() {
        let mut state = 1u32;
        let mixed: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 25) as u8
        })
        .take(1000)
        .collect();
        for before in 640..742 {
            let mut data = mixed.clone();
            let same = data[before - 1];
            data[before..before + LONGEST].fill(same);
            for level in [1, 6, 9] {
                let stream = deflated(&data, level);
                let mut out = vec![1; data.len()];
                assert_eq!(Inflater::new().inflate_into(&stream, &mut out), Some(stream.len()));
                assert!(out == data, "a copy after {before} bytes");
            }
        }
    }

    #[test]
    fn the_longest_copy_again_and_again() {
        for distance in [1, 2, 3, 7, 8, 15, 16, 17, 255, 256, 257, 258, 300, 5000] {
            for len in [258, 259, 1000, 65_536, 300_001] {
                let pattern: Vec<u8> = (0..distance as u32).map(|i| ((i * i) >> 3) as u8).collect();
                let mut data: Vec<u8> = pattern.into_iter().cycle().take(len).collect();
                data.extend(b"the end");
                for level in [1, 6, 9] {
                    let stream = deflated(&data, level);
                    assert!(inflated(&stream, data.len()) == Some((stream.len(), data.clone())));
                    let mut out = vec![1; data.len()];
                    assert_eq!(Inflater::new().inflate_into(&stream, &mut out), Some(stream.len()));
                    assert!(out == data, "{len} bytes at {distance}");
                    assert_eq!(Inflater::new().inflate_into(&stream, &mut out[1..]), None);
                    out.push(0);
                    assert_eq!(Inflater::new().inflate_into(&stream, &mut out), None);
                    assert_eq!(inflated(&stream, data.len() - 1), None);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn repeated_patterns_of_any_length(
            parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..20), 1usize..3000), 1..12),
            level in 1u32..10,
        ) {
            let repeated = |(pattern, len): (Vec<u8>, usize)| pattern.into_iter().cycle().take(len);
            let data: Vec<u8> = parts.into_iter().flat_map(repeated).collect();
            let stream = deflated(&data, level);
            let mut out = vec![1; data.len()];
            prop_assert_eq!(Inflater::new().inflate_into(&stream, &mut out), Some(stream.len()));
            prop_assert!(out == data);
            prop_assert!(inflated(&stream, data.len()) == Some((stream.len(), data)));
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, max in 0usize..2000) {
            if let Some((used, out)) = inflated(&bytes, max) {
                prop_assert!(used <= bytes.len() && out.len() <= max);
                let mut again = vec![1; out.len()];
                prop_assert_eq!(Inflater::new().inflate_into(&bytes, &mut again), Some(used));
                prop_assert_eq!(again, out);
            }
        }
    }
}
