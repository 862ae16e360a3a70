//! A slower and stronger compressor for LZ4 blocks. It uses chains of positions with equal hashes, and shortens or drops matches
//! in favour of longer ones that begin inside them.

use sciformats_core::bound;

use super::lz;
use super::lz4::{LAST_LITERALS, MATCH_LIMIT, MIN_MATCH, Sequences, WINDOW, back};

const HEADS: usize = 1 << 15;
const LINKS: usize = WINDOW + 1;
/// The largest distance of a match: a link of `WINDOW` leads beyond it, and ends each chain without a question of its own.
const REACH: usize = WINDOW - 1;

/// An encoder that is used for one stream after another.
#[derive(Default)]
pub(crate) struct Encoder {
    tables: Option<Tables>,
}

struct Tables {
    /// The latest position of each hash plus 1; 0 if there is none.
    heads: Box<[u32; HEADS]>,
    /// For each position modulo the window, the distance to the previous position with the same hash; `WINDOW` if it is so far away
    /// or farther.
    links: Box<[u16; LINKS]>,
}

impl Encoder {
    /// Encodes `input` into the front of `out`, if it fits. Returns the number of bytes.
    pub(crate) fn encode(&mut self, input: &[u8], level: u8, out: &mut [u8]) -> Option<usize> {
        let fresh = || Tables { heads: Box::new([0; HEADS]), links: Box::new([0; LINKS]) };
        let tables = self.tables.get_or_insert_with(fresh);
        // The heads of this stream do not lead to links of earlier streams.
        tables.heads.fill(0);
        let search = Search {
            input,
            tables,
            known: 0,
            attempts: 1 << (level.clamp(3, 9) - 1),
            patience: 5 + u32::from(level.clamp(3, 9)) / 3,
            last: bound::left(input.len(), MATCH_LIMIT),
            end: bound::left(input.len(), LAST_LITERALS),
        };
        search.run(Sequences { input, out, len: 0, anchor: 0 })
    }
}

#[derive(Clone, Copy)]
struct Match {
    begin: usize,
    from: usize,
    len: usize,
}

/// A run of one byte.
#[derive(Clone, Copy)]
struct Run {
    start: usize,
    /// From this position on, the run is as long as another one, or as nearly as long as possible.
    best: usize,
}

struct Search<'a> {
    input: &'a [u8],
    tables: &'a mut Tables,
    /// Positions below this one are in the chains.
    known: usize,
    attempts: usize,
    /// The binary logarithm of the number of positions without a match after which positions are skipped.
    patience: u32,
    /// The last position where a match may begin, and the position where all matches must have ended.
    last: usize,
    end: usize,
}

/// The longest match whose length fits the token.
const IN_TOKEN: usize = MIN_MATCH + 14;
/// A match of this length is long enough. Anything longer is found as the next match.
const ENOUGH: usize = 1 << 10;

/// The largest number of positions that are skipped at once.
const MAX_SKIP: usize = 31;

impl Search<'_> {
    /// Adds the positions below `to` to the chains.
    #[inline(never)]
    fn learn(&mut self, to: usize) {
        let (input, Tables { heads, links }) = (self.input, &mut *self.tables);
        // No match begins in the last bytes, so that four bytes follow each of these positions.
        let words = input.get(self.known..to + MIN_MATCH - 1).unwrap_or_default().windows(MIN_MATCH);
        for (at, word) in (self.known..to).zip(words) {
            add(heads, links, at, lz::word(word, 0));
        }
        self.known = self.known.max(to);
    }

    /// Returns the longest match of more than `least` bytes that contains position `at` and begins at `low` or later. If `least` is
    /// not 0, `low + least` is behind `at`.
    #[inline(always)]
    fn best(&mut self, at: usize, low: usize, least: usize) -> Option<Match> {
        if self.known < at {
            self.learn(at);
        }
        let input = self.input;
        let here = lz::word(input, at);
        if self.known == at {
            let Tables { heads, links } = &mut *self.tables;
            add(heads, links, at, here);
            self.known = at + 1;
        }
        if here == here.rotate_left(8) {
            return self.best_of_runs(at, low, least);
        }
        let (links, lowest) = (&*self.tables.links, bound::left(at, REACH));
        let (mut from, mut left) = (at, self.attempts);
        let (mut found, mut least) = (None, least);
        // The loops over chains are small enough for the registers, and there is one for each question, because all time is spent here.
        if least == 0 {
            loop {
                let link = usize::from(links[from & WINDOW]);
                if left == 0 || from < lowest + link {
                    return None;
                }
                left -= 1;
                from -= link;
                if lz::word(input, from) == here {
                    break;
                }
            }
            let known = self.compare(from, at, low);
            least = known.len;
            found = Some(known);
        }
        while least < ENOUGH {
            // A longer match extends beyond the end of the best one so far. This is where to look for it, and what must be there.
            let probe = bound::left(low + least, at + MIN_MATCH - 1);
            let wanted = lz::word(input, at + probe);
            let known = loop {
                loop {
                    let link = usize::from(links[from & WINDOW]);
                    if left == 0 || from < lowest + link {
                        return found;
                    }
                    left -= 1;
                    from -= link;
                    if lz::word(input, from + probe) == wanted && lz::word(input, from) == here {
                        break;
                    }
                }
                let known = self.compare(from, at, low);
                if known.len > least {
                    break known;
                }
            };
            least = known.len;
            found = Some(known);
        }
        found
    }

    /// Does the same as `best` where the first four bytes are equal. In a run of one byte, only its start is useful, and the position
    /// from which it is as long as the run at `at`.
    #[inline(never)]
    fn best_of_runs(&self, at: usize, low: usize, least: usize) -> Option<Match> {
        let (links, lowest) = (&*self.tables.links, bound::left(at, REACH));
        let (mut from, mut found, mut least) = (at, None, least.max(MIN_MATCH - 1));
        for _ in 0..self.attempts {
            let link = usize::from(links[from & WINDOW]);
            if from < lowest + link {
                break;
            }
            from -= link;
            let Some(run) = self.in_run(from, at) else { continue };
            from = run.start;
            let known = self.compare(run.best, at, low);
            if known.len > least {
                least = known.len;
                found = Some(known);
            }
            if least >= ENOUGH {
                break;
            }
        }
        found
    }

    /// Returns the match between two positions with the same four bytes.
    #[inline(always)]
    fn compare(&self, from: usize, at: usize, low: usize) -> Match {
        let before = back(self.input, low, from, at);
        let after = lz::common(self.input, from + MIN_MATCH, at + MIN_MATCH, self.end);
        Match { begin: at - before, from: from - before, len: before + MIN_MATCH + after }
    }

    /// Returns the run of one byte around `from`, if there is one and if `at` begins with the same byte.
    #[inline(always)]
    fn in_run(&self, from: usize, at: usize) -> Option<Run> {
        let input = self.input;
        if lz::word(input, from) != lz::word(input, at) {
            return None;
        }
        let lowest = bound::left(at, WINDOW);
        let start = from - back(input, lowest, from, from + 1).min(from - lowest);
        let (left, wanted) =
            (lz::common(input, from, from + 1, self.end), lz::common(input, at, at + 1, self.end));
        Some(Run { start, best: from - bound::left(wanted, left).min(from - start) })
    }

    #[inline(never)]
    fn run(mut self, mut made: Sequences<'_>) -> Option<usize> {
        let (mut at, mut misses) = (0, 0);
        while at <= self.last && self.last > 0 {
            // A match that begins earlier would have been found there, if no position was skipped.
            let low = if misses >> self.patience == 0 { at } else { made.anchor };
            let Some(mut chosen) = self.best(at, low, 0) else {
                // All positions are added to the chains, so a match that begins at a skipped position is found a little later.
                misses += 1;
                at += 1 + (misses >> self.patience).min(MAX_SKIP);
                continue;
            };
            misses = 0;
            loop {
                let end = chosen.begin + chosen.len;
                if end - 2 > self.last || chosen.len >= ENOUGH {
                    break;
                }
                let Some(mut longer) = self.best(end - 2, chosen.begin, chosen.len) else { break };
                let mut kept = longer.begin - chosen.begin;
                // If too much of the first match is lost, the rest becomes literals.
                if kept >= MIN_MATCH {
                    // Lengths that fit the token cost nothing, so the first match keeps as much as fits.
                    let more = bound::left(chosen.len.min(IN_TOKEN), kept).min(longer.len - MIN_MATCH);
                    let more = more.min(bound::left(self.last, longer.begin));
                    let Match { begin, from, len } = longer;
                    longer = Match { begin: begin + more, from: from + more, len: len - more };
                    kept += more;
                    made.matched(chosen.begin, chosen.begin - chosen.from, kept.min(chosen.len))?;
                }
                chosen = longer;
            }
            made.matched(chosen.begin, chosen.begin - chosen.from, chosen.len)?;
            at = made.anchor;
            if chosen.len >= ENOUGH {
                // The inside of a long match has occurred before, and its ends are enough to find it.
                self.known = self.known.max(at - ENOUGH / 2);
            }
            self.learn(at.min(self.last));
        }
        made.finish()
    }
}

/// Adds a position to the chain of its hash.
#[inline(always)]
fn add(heads: &mut [u32; HEADS], links: &mut [u16; LINKS], at: usize, word: u32) {
    let hash = word.wrapping_mul(0x9E37_79B1) >> 17;
    // The masks do not change the indices, but show the compiler that they are in range.
    let head = &mut heads[hash as usize & (HEADS - 1)];
    links[at & WINDOW] = (at + 1 - *head as usize).min(WINDOW) as u16;
    *head = at as u32 + 1;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lz4;
    use super::*;

    fn round_trip(input: &[u8], level: u8) -> Option<usize> {
        let mut out = vec![0; input.len()];
        let mut encoder = Encoder::default();
        let len = encoder.encode(input, level, &mut out)?;
        lz4::tests::check_end(&out[..len], input.len());
        let mut again = vec![0; input.len()];
        lz4::decode(&out[..len], None, &mut again).unwrap();
        assert!(again == input);
        assert_eq!(encoder.encode(input, level, &mut out[..len - 1]), None);
        assert_eq!(encoder.encode(input, level, &mut out[..len]), Some(len));
        Some(len)
    }

    #[test]
    fn a_match_that_is_shortened_for_the_one_before_it_does_not_begin_too_late() {
        let input = b"\0ba\0ba\0aabaaaba\0\0ba\0b\0\0\0a\0\0b\0\0\0\0\0\0\0\0\0\0\0";
        round_trip(input, 9).unwrap();
        let mut state = 7u64;
        for _ in 0..20_000 {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 40) as usize
            };
            let input: Vec<u8> = (0..20 + next() % 60).map(|_| b"ab\0\0"[next() % 4]).collect();
            round_trip(&input, 9);
        }
    }

    #[test]
    fn it_beats_the_fast_compressor() {
        let text = lz4::tests::words(30_000);
        let fast = lz4::Encoder::default().encode(&text, 9, false, &mut vec![0; text.len()]).unwrap();
        let sizes: Vec<_> = [1, 5, 9].map(|level| round_trip(&text, level).unwrap()).into();
        assert!(sizes[2] <= sizes[1] && sizes[1] <= sizes[0] && sizes[0] < fast, "{sizes:?} {fast}");
        assert!(round_trip(&[3; 100_000], 9).unwrap() < 500);
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes(seed in proptest::collection::vec(0u8..4, 0..3000), level in 1u8..10) {
            round_trip(&seed, level);
        }
    }
}
