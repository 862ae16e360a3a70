//! A slower, stronger compressor for LZ4 blocks: chains of equal hashes, and matches chosen with a look at the next
//! positions.

use super::lz;

/// The largest distance of a match.
const WINDOW: usize = 65_535;
/// The shortest match.
const MIN_MATCH: usize = 4;
/// The last bytes of a block that are literals.
const LAST_LITERALS: usize = 5;
/// No match begins in the last bytes.
const MATCH_LIMIT: usize = 12;
const HASH_BITS: u32 = 15;

/// Encodes `input` behind what `out` holds, if that takes less than `limit` bytes. Returns whether it did; if it did
/// not, `out` is as it was.
pub(crate) fn encode(input: &[u8], level: u8, out: &mut Vec<u8>, limit: usize) -> bool {
    let start = out.len();
    let done = Encoder::new(input, level).run(out, start.saturating_add(limit));
    let fits = done && out.len() - start < limit;
    if !fits {
        out.truncate(start);
    }
    fits
}

#[derive(Clone, Copy)]
struct Match {
    from: usize,
    len: usize,
}

struct Encoder<'a> {
    input: &'a [u8],
    /// Position + 1 of the latest occurrence of each hash; 0 for none.
    heads: Vec<u32>,
    /// For each position modulo the window, how far back the one before it with the same hash is; 0 for none.
    chain: Vec<u16>,
    /// Positions below this are in the chains.
    known: usize,
    attempts: usize,
    /// Where no match may begin any more, and where all must have ended.
    begin_limit: usize,
    end_limit: usize,
}

impl<'a> Encoder<'a> {
    fn new(input: &'a [u8], level: u8) -> Self {
        Self {
            input,
            heads: vec![0; 1 << HASH_BITS],
            chain: vec![0; WINDOW + 1],
            known: 0,
            attempts: 4 << level.clamp(1, 9),
            begin_limit: input.len().saturating_sub(MATCH_LIMIT),
            end_limit: input.len().saturating_sub(LAST_LITERALS),
        }
    }

    /// Puts the positions below `to` into the chains.
    fn learn(&mut self, to: usize) {
        while self.known < to {
            let hash = lz::word(self.input, self.known).wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS);
            let Some(head) = self.heads.get_mut(hash as usize) else { return };
            let distance = (self.known + 1).saturating_sub(*head as usize);
            let back = if *head == 0 || distance > WINDOW { 0 } else { distance as u16 };
            *head = self.known as u32 + 1;
            if let Some(link) = self.chain.get_mut(self.known & WINDOW) {
                *link = back;
            }
            self.known += 1;
        }
    }

    /// The longest match at `at` that is longer than `longer_than`.
    fn best(&mut self, at: usize, longer_than: usize) -> Option<Match> {
        if at >= self.begin_limit {
            return None;
        }
        self.learn(at + 1);
        let mut found = None;
        let mut len = longer_than.max(MIN_MATCH - 1);
        let mut from = at;
        for _ in 0..self.attempts {
            let back = usize::from(self.chain.get(from & WINDOW).copied().unwrap_or(0));
            from = match from.checked_sub(back) {
                Some(from) if back != 0 && at - from <= WINDOW => from,
                _ => break,
            };
            // A longer match must agree where the best one so far ended.
            if at + len < self.end_limit && self.input.get(from + len) != self.input.get(at + len) {
                continue;
            }
            let common = lz::common(self.input, from, at, self.end_limit);
            if common > len {
                len = common;
                found = Some(Match { from, len });
            }
        }
        found
    }

    fn run(&mut self, out: &mut Vec<u8>, end: usize) -> bool {
        let (mut at, mut anchor) = (0, 0);
        while at < self.begin_limit {
            let Some(mut chosen) = self.best(at, 0) else {
                at += 1;
                continue;
            };
            // A match that begins one or two bytes later and is longer by more than that wins.
            for _ in 0..8 {
                let later = (1..=2).find_map(|skip| {
                    self.best(at + skip, chosen.len + skip).map(|better| (at + skip, better))
                });
                let Some((begin, better)) = later else { break };
                (at, chosen) = (begin, better);
            }
            while at > anchor && chosen.from > 0 && self.input.get(at - 1) == self.input.get(chosen.from - 1)
            {
                at -= 1;
                chosen = Match { from: chosen.from - 1, len: chosen.len + 1 };
            }
            let literals = self.input.get(anchor..at).unwrap_or_default();
            sequence(out, literals, Some((at - chosen.from, chosen.len)));
            if out.len() >= end {
                return false;
            }
            at += chosen.len;
            anchor = at;
            self.learn(at.min(self.begin_limit));
        }
        sequence(out, self.input.get(anchor..).unwrap_or_default(), None);
        true
    }
}

/// Appends one sequence: literals, and the distance and length of the match that follows unless it is the last.
fn sequence(out: &mut Vec<u8>, literals: &[u8], matched: Option<(usize, usize)>) {
    let extra = matched.map_or(0, |(_, len)| len - MIN_MATCH);
    out.push((literals.len().min(15) << 4 | extra.min(15)) as u8);
    length(out, literals.len());
    out.extend_from_slice(literals);
    if let Some((distance, _)) = matched {
        out.extend((distance as u16).to_le_bytes());
        length(out, extra);
    }
}

/// What of a length does not fit the four bits of the token.
fn length(out: &mut Vec<u8>, len: usize) {
    let mut rest = len.checked_sub(15);
    while let Some(more) = rest {
        out.push(more.min(255) as u8);
        rest = more.checked_sub(255);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lz4;
    use super::*;

    fn round_trip(input: &[u8], level: u8) -> Option<usize> {
        let mut out = Vec::new();
        if !encode(input, level, &mut out, input.len()) {
            assert!(out.is_empty());
            return None;
        }
        let mut again = vec![0; input.len()];
        lz4::decode(&out, None, &mut again).unwrap();
        assert!(again == input);
        Some(out.len())
    }

    #[test]
    fn it_beats_the_fast_compressor() {
        let words = ["alpha ", "beta ", "gamma ", "delta ", "epsilon ", "be ", "ta "];
        let mut state = 5usize;
        let text: Vec<u8> = (0..30_000)
            .flat_map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                words[(state >> 33) % words.len()].bytes()
            })
            .collect();
        let mut fast = Vec::new();
        assert!(lz4::encode(&text, None, &mut fast, text.len()));
        let sizes: Vec<_> = [1, 5, 9].map(|level| round_trip(&text, level).unwrap()).into();
        assert!(
            sizes[2] <= sizes[1] && sizes[1] <= sizes[0] && sizes[0] < fast.len(),
            "{sizes:?} {}",
            fast.len()
        );
        assert!(round_trip(&[3; 100_000], 9).unwrap() < 500);
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes(seed in proptest::collection::vec(0u8..4, 0..3000), level in 1u8..10) {
            round_trip(&seed, level);
        }
    }
}
