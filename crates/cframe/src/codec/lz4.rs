//! An LZ4 block without a length or a frame. It may have a dictionary, which precedes the first byte.
//!
//! | part of a sequence | meaning |
//! |---|---|
//! | token | high four bits: number of literals; low four bits: length of the match − 4 |
//! | bytes | if the number of literals is 15, they are added to it, up to and including the first that is not 255 |
//! | literals | |
//! | distance | two bytes, little-endian, not 0 |
//! | bytes | if the length is 15, they are added to it in the same way |
//!
//! The last sequence ends with its literals, of which there are at least five. No match begins in the last twelve bytes.

use sciformats_core::bound;

use super::{CORRUPT, Outcome, exact, lz};

/// The length of the shortest match.
pub(super) const MIN_MATCH: usize = 4;
/// The largest distance of a match.
pub(super) const WINDOW: usize = 65_535;
/// The number of bytes at the end of a block that are literals.
pub(super) const LAST_LITERALS: usize = 5;
/// The number of bytes at the end of a block in which no match begins.
pub(super) const MATCH_LIMIT: usize = 12;

/// Decodes into all of `out`.
pub(crate) fn decode(input: &[u8], dictionary: Option<&[u8]>, out: &mut [u8]) -> Outcome {
    let expected = out.len();
    let made = match dictionary {
        None => sciformats_core::lz4::decode(input, out).ok_or(CORRUPT)?,
        Some(dictionary) => {
            lz4_flex::block::decompress_into_with_dict(input, out, dictionary).map_err(|_| CORRUPT)?
        }
    };
    exact(made, expected)
}

/// Decodes the front of a block, up to the length of `out`.
pub(crate) fn decode_front(input: &[u8], out: &mut [u8]) -> Outcome {
    let expected = out.len();
    exact(sciformats_core::lz4::decode_front(input, out).ok_or(CORRUPT)?, expected)
}

/// Encodes `input` into the front of `out`, if it fits. Returns the number of bytes.
pub(crate) fn encode_with(input: &[u8], dictionary: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut made = vec![0; lz4_flex::block::get_maximum_output_size(input.len())];
    let len = lz4_flex::block::compress_into_with_dict(input, &mut made, dictionary).ok()?;
    out.get_mut(..len)?.copy_from_slice(made.get(..len)?);
    Some(len)
}

/// A position in a hash table, and the hash of positions.
pub(super) trait Slot: Copy {
    /// The largest distance between two positions of an input with this table.
    const REACH: usize;
    fn of(at: usize) -> Self;
    fn get(self) -> usize;
    /// Returns a hash of the first bytes of `word`. Its other bytes may have any value.
    fn hash(word: u64) -> usize;
}

/// The table for short inputs, which has more entries in the same space.
impl Slot for u16 {
    const REACH: usize = WINDOW;

    #[inline(always)]
    fn of(at: usize) -> Self {
        at as Self
    }

    #[inline(always)]
    fn get(self) -> usize {
        self.into()
    }

    #[inline(always)]
    fn hash(word: u64) -> usize {
        ((word as u32).wrapping_mul(0x9E37_79B1) >> 19) as usize
    }
}

impl Slot for u32 {
    const REACH: usize = usize::MAX;

    #[inline(always)]
    fn of(at: usize) -> Self {
        at as Self
    }

    #[inline(always)]
    fn get(self) -> usize {
        self as usize
    }

    /// The hash of five bytes. In long inputs, four bytes are too often equal by chance.
    #[inline(always)]
    fn hash(word: u64) -> usize {
        ((word << 24).wrapping_mul(0x9E37_79B1_85EB_CA87) >> 52) as usize
    }
}

/// A gain of less than one byte in this many is not worth the time of decoding.
const LITTLE: usize = 50;

const SHORT: usize = 1 << 13;
const LONG: usize = 1 << 12;

/// A fast encoder. It checks one earlier position for each position, and skips more and more positions while nothing matches. The level
/// says how fast it begins to skip, as in Blosc2. `lz4_flex` has no such levels, and needs room for the longest possible stream
/// instead of giving up.
#[derive(Default)]
pub(crate) struct Encoder {
    short: Option<Box<[u16; SHORT]>>,
    long: Option<Box<[u32; LONG]>>,
}

impl Encoder {
    /// Encodes `input` into the front of `out`, if it fits. Returns the number of bytes. If `uniform` is set, all parts of the
    /// input are similar, so that encoding stops after the first part if it gains nothing.
    pub(crate) fn encode(&mut self, input: &[u8], level: u8, uniform: bool, out: &mut [u8]) -> Option<usize> {
        let stride = usize::from(10 - level.clamp(1, 9));
        let probe = if uniform { input.len() / 4 } else { usize::MAX };
        if input.len() <= usize::from(u16::MAX) + 1 {
            let table = self.short.get_or_insert_with(|| Box::new([0; SHORT]));
            table.fill(0);
            compress(input, table, (stride, probe), out)
        } else {
            let table = self.long.get_or_insert_with(|| Box::new([0; LONG]));
            table.fill(0);
            compress(input, table, (stride, probe), out)
        }
    }
}

/// `stride` is the distance of positions while nothing matches, and `probe` is the position at which encoding stops without a
/// gain.
#[inline(never)]
fn compress<S: Slot, const N: usize>(
    input: &[u8],
    table: &mut [S; N],
    (stride, mut probe): (usize, usize),
    out: &mut [u8],
) -> Option<usize> {
    let end = bound::left(input.len(), LAST_LITERALS);
    let last = bound::left(input.len(), MATCH_LIMIT);
    let mut made = Sequences { input, out, len: 0, anchor: 0 };
    let mut at = 1;
    let (mut patience, mut step) = (stride << 6, 1);
    // All entries of the table are initially position 0, so every entry is verified before it is used.
    while at <= last && last > 0 {
        let word = lz::long_word(input, at);
        let from = exchange(table, word, at);
        if (S::REACH > WINDOW && at - from > WINDOW) || lz::word(input, from) != word as u32 {
            at += step;
            step = patience >> 6;
            patience += 1;
            continue;
        }
        let back = back(input, made.anchor, from, at);
        let (mut from, mut begin) = (from - back, at - back);
        loop {
            let len = MIN_MATCH + lz::common(input, from + MIN_MATCH, begin + MIN_MATCH, end);
            made.matched(begin, begin - from, len)?;
            at = begin + len;
            if at > last {
                break;
            }
            exchange(table, lz::long_word(input, at - 2), at - 2);
            let word = lz::long_word(input, at);
            from = exchange(table, word, at);
            if (S::REACH > WINDOW && at - from > WINDOW) || lz::word(input, from) != word as u32 {
                at += 1;
                break;
            }
            begin = at;
        }
        (patience, step) = (stride << 6, 1);
        if at >= probe {
            if made.len * LITTLE > at * (LITTLE - 1) && lz::hopeless(input.get(at..).unwrap_or_default()) {
                return None;
            }
            probe = usize::MAX;
        }
    }
    made.finish()
}

/// Returns the last position of the hash of `word`, and replaces it by `at`.
#[inline(always)]
fn exchange<S: Slot, const N: usize>(table: &mut [S; N], word: u64, at: usize) -> usize {
    // The mask does not change the index, but shows the compiler that it is in range.
    let slot = &mut table[S::hash(word) & (N - 1)];
    std::mem::replace(slot, S::of(at)).get()
}

/// Returns the number of equal bytes before two positions, at most down to `anchor` before the later one.
#[inline(always)]
pub(super) fn back(input: &[u8], anchor: usize, from: usize, at: usize) -> usize {
    let most = from.min(at - anchor);
    let mut back = 0;
    while back + 8 <= most {
        let (a, b) = (from - back - 8, at - back - 8);
        let differ = lz::long_word(input, a) ^ lz::long_word(input, b);
        if differ != 0 {
            return back + (differ.leading_zeros() / 8) as usize;
        }
        back += 8;
    }
    while back < most && input.get(from - back - 1) == input.get(at - back - 1) {
        back += 1;
    }
    back
}

/// The block that is being written.
pub(super) struct Sequences<'a> {
    pub(super) input: &'a [u8],
    pub(super) out: &'a mut [u8],
    pub(super) len: usize,
    /// The first byte of the input that is not in the block yet.
    pub(super) anchor: usize,
}

impl Sequences<'_> {
    /// Adds the bytes before `at` that are not in the block yet as literals, and then a match. `None` if they do not fit.
    #[inline(always)]
    pub(super) fn matched(&mut self, at: usize, distance: usize, len: usize) -> Option<()> {
        let literals = at - self.anchor;
        let extra = len - MIN_MATCH;
        // Most sequences are short, and are far from both ends.
        if literals < 15
            && let Some(bytes) = self.input.get(self.anchor..).and_then(<[u8]>::first_chunk::<16>)
            && let Some(place) = self.out.get_mut(self.len..).and_then(<[u8]>::first_chunk_mut::<24>)
        {
            place[0] = (literals << 4 | extra.min(15)) as u8;
            place[1..17].copy_from_slice(bytes);
            place[literals + 1..literals + 3].copy_from_slice(&(distance as u16).to_le_bytes());
            self.len += literals + 3;
            self.anchor = at + len;
            return if extra < 15 { Some(()) } else { self.rest(extra) };
        }
        if self.len + literals + literals / 255 + extra / 255 + 6 > self.out.len() {
            return None;
        }
        *self.out.get_mut(self.len)? = (literals.min(15) << 4 | extra.min(15)) as u8;
        self.len += 1;
        self.literals(literals)?;
        *self.out.get_mut(self.len..)?.first_chunk_mut::<2>()? = (distance as u16).to_le_bytes();
        self.len += 2;
        self.rest(extra)?;
        self.anchor = at + len;
        Some(())
    }

    /// Adds the last literals. Returns the length of the block.
    pub(super) fn finish(mut self) -> Option<usize> {
        let literals = self.input.len() - self.anchor;
        *self.out.get_mut(self.len)? = (literals.min(15) << 4) as u8;
        self.len += 1;
        self.literals(literals)?;
        Some(self.len)
    }

    #[inline(always)]
    fn literals(&mut self, count: usize) -> Option<()> {
        self.rest(count)?;
        lz::literals(self.input, self.anchor, self.out, self.len, count)?;
        self.len += count;
        Some(())
    }

    /// Returns the part of a length that does not fit the four bits of the token.
    #[inline(always)]
    fn rest(&mut self, len: usize) -> Option<()> {
        let mut rest = len.checked_sub(15);
        while let Some(more) = rest {
            *self.out.get_mut(self.len)? = more.min(255) as u8;
            self.len += 1;
            rest = more.checked_sub(255);
        }
        Some(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns some words in random order.
    pub(in super::super) fn words(count: usize) -> Vec<u8> {
        let words = ["alpha ", "beta ", "gamma ", "delta ", "epsilon ", "be ", "ta "];
        let mut state = 5u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            words[(state >> 33) as usize % words.len()]
        };
        std::iter::repeat_with(next).take(count).flat_map(str::bytes).collect()
    }

    /// Returns the length that begins in half a token.
    fn length(half: usize, bytes: &mut impl Iterator<Item = usize>) -> usize {
        let (mut sum, mut goes_on) = (half, half == 15);
        while goes_on {
            let more = bytes.next().unwrap();
            (sum, goes_on) = (sum + more, more == 255);
        }
        sum
    }

    /// Checks the end of a block of `len` bytes. The decoder of the LZ4 library is stricter there than ours.
    pub(in super::super) fn check_end(block: &[u8], len: usize) {
        let mut bytes = block.iter().copied().map(usize::from);
        let mut at = 0;
        while let Some(token) = bytes.next() {
            let literals = length(token >> 4, &mut bytes);
            assert_eq!(bytes.by_ref().take(literals).count(), literals);
            let begin = at + literals;
            if bytes.next().is_none() {
                assert!(begin == len && (at == 0 || literals >= LAST_LITERALS), "{literals} literals");
                return;
            }
            assert!(begin + MATCH_LIMIT <= len, "a match begins at {begin} of {len}");
            bytes.next().unwrap();
            at = begin + MIN_MATCH + length(token & 15, &mut bytes);
        }
        panic!("the last literals are missing");
    }

    #[test]
    fn a_block_by_hand() {
        let bytes = [
            0x32, b'a', b'b', b'c', 3, 0, // three literals, six bytes from three back
            0x50, b'h', b'e', b'l', b'l', b'o', // five literals
        ];
        let mut out = [0; 14];
        decode(&bytes, None, &mut out).unwrap();
        assert_eq!(&out, b"abcabcabchello");
        assert!(decode(&bytes, None, &mut [0; 13]).is_err() && decode(&bytes, None, &mut [0; 15]).is_err());
        assert!(decode(&bytes[..5], None, &mut [0; 14]).is_err());
    }

    #[test]
    fn a_dictionary_stands_before() {
        let dictionary: Vec<u8> = (0..=255).collect();
        let input: Vec<u8> = (10..200).collect();
        let mut out = vec![0; 300];
        let len = encode_with(&input, &dictionary, &mut out).unwrap();
        check_end(&out[..len], input.len());
        assert!(len < 30);
        let mut again = vec![0; input.len()];
        decode(&out[..len], Some(&dictionary), &mut again).unwrap();
        assert_eq!(again, input);
        assert!(decode(&out[..len], None, &mut again).is_err());
        assert_eq!(encode_with(&input, &dictionary, &mut out[..len - 1]), None);
    }

    fn round_trip(input: &[u8], level: u8) -> usize {
        let mut out = vec![0; input.len() + input.len() / 255 + 16];
        let mut encoder = Encoder::default();
        let len = encoder.encode(input, level, false, &mut out).unwrap();
        check_end(&out[..len], input.len());
        let mut again = vec![0; input.len()];
        decode(&out[..len], None, &mut again).unwrap();
        assert!(again == input);
        // Another decoder gives the same result.
        let made = lz4_flex::block::decompress_into(&out[..len], &mut again);
        assert_eq!(made.unwrap(), input.len());
        assert!(again == input);
        assert_eq!(encoder.encode(input, level, false, &mut out[..len - 1]), None);
        assert_eq!(encoder.encode(input, level, false, &mut out[..len]), Some(len));
        len
    }

    #[test]
    fn the_front_of_a_block() {
        let mut input: Vec<u8> = (0..3000u32).map(|i| ((i * i) >> 7) as u8).collect();
        input.extend([9; 700]);
        input.extend_from_within(100..2100);
        let mut block = vec![0; 10_000];
        let len = Encoder::default().encode(&input, 5, false, &mut block).unwrap();
        for front in (0..input.len()).step_by(13).chain([input.len()]) {
            let mut out = vec![0xEE; front];
            decode_front(&block[..len], &mut out).unwrap();
            assert!(out == input[..front], "{front}");
        }
        assert!(decode_front(&block[..len], &mut vec![0; input.len() + 1]).is_err());
    }

    #[test]
    fn short_and_long_inputs() {
        let noise = |len: u32| (0..len).map(|i| (i.wrapping_mul(i).wrapping_mul(0x9E37_79B1) >> 24) as u8);
        assert!(round_trip(&[7; 100_000], 5) < 500);
        let mut input: Vec<u8> = noise(70_000).collect();
        input.extend_from_within(3000..9000);
        input.extend_from_within(69_990..);
        for level in [1, 5, 9] {
            round_trip(&input, level);
            round_trip(&input[..65_536], level);
        }
        (0..40).for_each(|len| assert!(round_trip(&input[..len], 9) <= len + 2));
    }

    #[test]
    fn what_is_uniform_is_given_up_early() {
        let noise = |len: u32| (0..len).map(|i| (i.wrapping_mul(i).wrapping_mul(0x9E37_79B1) >> 24) as u8);
        let mut input: Vec<u8> = noise(30_000).collect();
        for at in (100..30_000).step_by(1000) {
            input.copy_within(at..at + 6, at + 50);
        }
        let mut out = vec![0; 31_000];
        let mut encoder = Encoder::default();
        assert_eq!(encoder.encode(&input, 9, true, &mut out), None);
        assert!(encoder.encode(&input, 9, false, &mut out).is_some());
        input[20_000..].fill(3);
        assert!(encoder.encode(&input, 9, true, &mut out).unwrap() < 21_000);
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes(seed in proptest::collection::vec(0u8..4, 0..3000), level in 1u8..10) {
            round_trip(&seed, level);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, len in 0usize..5000) {
            let mut out = vec![0; len];
            let ours = decode(&bytes, None, &mut out);
            // A stricter decoder refuses more inputs, but never decodes to something else.
            let mut theirs = vec![0; len];
            if lz4_flex::block::decompress_into(&bytes, &mut theirs).ok() == Some(len) {
                prop_assert_eq!(ours, Ok(()));
                prop_assert_eq!(out, theirs);
            }
        }
    }
}
