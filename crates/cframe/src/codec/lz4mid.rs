//! A compressor for LZ4 blocks between the fast and the strong one. For each position it knows the last positions of the same
//! eight bytes and of the same four bytes.

use sciformats_core::bound;

use super::lz;
use super::lz4::{LAST_LITERALS, MATCH_LIMIT, MIN_MATCH, Sequences, WINDOW, back};

const ENTRIES: usize = 1 << 14;

/// An encoder that is used for one stream after another.
#[derive(Default)]
pub(crate) struct Encoder {
    tables: Option<Box<Tables>>,
}

/// The last positions of bytes by their hash, counted through all streams so far.
struct Tables {
    long: [u32; ENTRIES],
    short: [u32; ENTRIES],
    /// The start of the present stream. Smaller positions belong to earlier streams.
    base: u32,
}

#[derive(Clone, Copy)]
struct Match {
    begin: usize,
    from: usize,
    len: usize,
}

impl Encoder {
    /// Encodes `input` into the front of `out`, if it fits. Returns the number of bytes.
    pub(crate) fn encode(&mut self, input: &[u8], out: &mut [u8]) -> Option<usize> {
        let fresh = || Box::new(Tables { long: [0; ENTRIES], short: [0; ENTRIES], base: 1 });
        let tables = self.tables.get_or_insert_with(fresh);
        let len = u32::try_from(input.len()).ok()?;
        if tables.base.checked_add(len).is_none() {
            *tables = fresh();
        }
        let next = tables.base.checked_add(len)?;
        let search = Search {
            input,
            tables,
            last: bound::left(input.len(), MATCH_LIMIT),
            end: bound::left(input.len(), LAST_LITERALS),
        };
        let made = search.run(Sequences { input, out, len: 0, anchor: 0 });
        tables.base = next;
        made
    }
}

struct Search<'a> {
    input: &'a [u8],
    tables: &'a mut Tables,
    /// The last position where a match may begin, and the position where all matches must have ended.
    last: usize,
    end: usize,
}

impl Search<'_> {
    #[inline(never)]
    fn run(mut self, mut made: Sequences<'_>) -> Option<usize> {
        let mut at = 0;
        while at <= self.last && self.last > 0 {
            let Some(found) = self.find(at) else {
                at += 1 + ((at - made.anchor) >> 9);
                continue;
            };
            let back = back(self.input, made.anchor, found.from, found.begin);
            self.learn(at + 1, at + 3, at + 2);
            made.matched(found.begin - back, found.begin - found.from, found.len + back)?;
            at = made.anchor;
            // The bytes that follow are probably similar to those that followed the ends of other matches.
            let ends = bound::left(at, 3)..at;
            self.learn(ends.start, ends.end - 1, ends.start + 1);
            self.learn(ends.end - 1, ends.end - 1, ends.end);
        }
        made.finish()
    }

    /// Returns a match at `at` or one after it.
    #[inline(always)]
    fn find(&mut self, at: usize) -> Option<Match> {
        let word = lz::long_word(self.input, at);
        let from = self.tables.long(word, at);
        if let Some(found) = self.matching(from, at) {
            return Some(found);
        }
        let from = self.tables.short(word, at);
        let found = self.matching(from, at)?;
        if at == self.last {
            return Some(found);
        }
        let from = self.tables.long(lz::long_word(self.input, at + 1), at + 1);
        let longer = self.matching(from, at + 1);
        Some(longer.filter(|longer| longer.len > found.len).unwrap_or(found))
    }

    /// Returns the match between `at` and an earlier position, if there is one.
    #[inline(always)]
    fn matching(&self, from: Option<usize>, at: usize) -> Option<Match> {
        let from = from.filter(|from| at - from <= WINDOW)?;
        if lz::word(self.input, from) != lz::word(self.input, at) {
            return None;
        }
        let len = MIN_MATCH + lz::common(self.input, from + MIN_MATCH, at + MIN_MATCH, self.end);
        Some(Match { begin: at, from, len })
    }

    /// Records eight bytes at positions up to `long`, and four bytes at positions up to `short`, both beginning at `begin`.
    #[inline(always)]
    fn learn(&mut self, begin: usize, long: usize, short: usize) {
        for at in begin..long.min(self.last) {
            self.tables.long(lz::long_word(self.input, at), at);
        }
        for at in begin..short.min(self.last) {
            self.tables.short(lz::long_word(self.input, at), at);
        }
    }
}

impl Tables {
    /// Returns the last position of the first seven bytes of `word`, and replaces it by `at`.
    #[inline(always)]
    fn long(&mut self, word: u64, at: usize) -> Option<usize> {
        let hash = (word << 8).wrapping_mul(0x9E37_79B1_85EB_CA87) >> 50;
        exchange(&mut self.long, hash as usize, self.base, at)
    }

    /// Returns the last position of the first four bytes of `word`, and replaces it by `at`.
    #[inline(always)]
    fn short(&mut self, word: u64, at: usize) -> Option<usize> {
        let hash = (word as u32).wrapping_mul(0x9E37_79B1) >> 18;
        exchange(&mut self.short, hash as usize, self.base, at)
    }
}

#[inline(always)]
fn exchange(table: &mut [u32; ENTRIES], hash: usize, base: u32, at: usize) -> Option<usize> {
    // The mask does not change the index, but shows the compiler that it is in range.
    let before = std::mem::replace(&mut table[hash & (ENTRIES - 1)], base.wrapping_add(at as u32));
    before.checked_sub(base).map(|from| from as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lz4;
    use super::*;

    fn round_trip(encoder: &mut Encoder, input: &[u8]) -> usize {
        let mut out = vec![0; input.len() + input.len() / 255 + 16];
        let len = encoder.encode(input, &mut out).unwrap();
        lz4::tests::check_end(&out[..len], input.len());
        let mut again = vec![0; input.len()];
        lz4::decode(&out[..len], None, &mut again).unwrap();
        assert!(again == input);
        assert_eq!(encoder.encode(input, &mut out[..len - 1]), None);
        assert_eq!(encoder.encode(input, &mut out[..len]), Some(len), "whatever was before");
        len
    }

    #[test]
    fn it_beats_the_fast_compressor() {
        let text = lz4::tests::words(30_000);
        let mut encoder = Encoder::default();
        let fast = lz4::Encoder::default().encode(&text, 9, false, &mut vec![0; text.len()]).unwrap();
        let len = round_trip(&mut encoder, &text);
        assert!(len < fast, "{len} {fast}");
        assert!(round_trip(&mut encoder, &[3; 100_000]) < 500);
        (0..40).for_each(|len| assert!(round_trip(&mut encoder, &text[..len]) <= len + 2));
    }

    #[test]
    fn positions_begin_anew_before_they_overflow() {
        let mut encoder = Encoder::default();
        let input = b"abcdefgh".repeat(20);
        let len = round_trip(&mut encoder, &input);
        encoder.tables.as_mut().unwrap().base = u32::MAX - 10;
        assert_eq!(round_trip(&mut encoder, &input), len);
        assert!(encoder.tables.unwrap().base < 1000);
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes(seed in proptest::collection::vec(0u8..4, 0..3000)) {
            round_trip(&mut Encoder::default(), &seed);
        }
    }
}
