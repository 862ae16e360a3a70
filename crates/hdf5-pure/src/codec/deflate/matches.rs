//! Which bytes of a deflate stream repeat earlier ones.
//!
//! Chains of positions with equal hashes lead from the latest to earlier ones, as far as the level allows. A match is taken
//! only if it costs fewer bits than its bytes would as literals, by what the bytes around it cost: in the planes that the
//! shuffle filter makes of measurements, short repetitions far away are frequent and worth nothing.

use sciformats_core::bound;

use super::blocks::{BitWriter, Block, offset_bits};

/// Bytes back that a match may lie.
const WINDOW: usize = 32_768;
/// The shortest match that is looked for.
const LEAST: usize = 4;
const MOST: usize = 258;
/// What literals cost is estimated for pieces of this many bytes.
const SEGMENT: usize = 8192;
/// A block has about this many literals and matches at most.
const BLOCK: usize = 24_576;
/// A block of fewer is not ended where the bytes change.
const SMALL_BLOCK: usize = 1024;
/// Bits that tell which length and which distance a match has, beside those that tell that it is one.
const WHICH: f32 = 6.0;
/// Bits that the symbols of a match cost where none were found yet.
const SYMBOLS: f32 = 8.0;
/// From so many literals and matches on, those of the block tell what others will cost.
const TELLING: usize = 512;
/// In a repetition of so few bytes, so many times, one position is as good as another.
const PERIOD: usize = 16;
const LONG_RUN: usize = 64;

/// How hard matches are looked for.
#[derive(Clone, Copy)]
struct Effort {
    /// Candidates that are compared.
    candidates: usize,
    /// A match of this length is good enough.
    enough: usize,
    /// After a match shorter than this, the next position is tried too.
    lazy: usize,
    /// Where nothing repeats, at most so many positions are passed over at a time.
    stride: usize,
}

/// After so many literals in a row, one position more is passed over at a time.
const BARREN: usize = 32;

const EFFORTS: [Effort; 9] = [
    Effort { candidates: 2, enough: 16, lazy: 0, stride: 16 },
    Effort { candidates: 4, enough: 24, lazy: 0, stride: 16 },
    Effort { candidates: 6, enough: 32, lazy: 0, stride: 8 },
    Effort { candidates: 8, enough: 32, lazy: 8, stride: 8 },
    Effort { candidates: 16, enough: 48, lazy: 16, stride: 4 },
    Effort { candidates: 48, enough: 128, lazy: 24, stride: 1 },
    Effort { candidates: 96, enough: 128, lazy: 48, stride: 1 },
    Effort { candidates: 384, enough: 258, lazy: 128, stride: 1 },
    Effort { candidates: 1536, enough: 258, lazy: 258, stride: 1 },
];

/// Length and distance.
#[derive(Clone, Copy, Default)]
struct Match {
    length: usize,
    distance: usize,
}

/// Positions of earlier bytes.
struct Chains<'a> {
    input: &'a [u8],
    effort: Effort,
    /// The last position of each hash, counted from 1; 0 is none.
    heads: Vec<u32>,
    shift: u32,
    /// The position before each with the same hash.
    before: Vec<u32>,
    /// Literals since the last match.
    barren: usize,
}

/// Compresses less than 2 GiB at `level` 1 to 9 to blocks of a deflate stream, of which they may be the last.
pub(super) fn compress(level: u32, input: &[u8], last: bool, bits: &mut BitWriter) {
    let effort = usize::try_from(level).ok().and_then(|level| EFFORTS.get(level.wrapping_sub(1)));
    let mut chains = Chains::new(input, effort.copied().unwrap_or(EFFORTS[5]));
    let mut segments = Segments::new();
    let mut block = Block::new();
    let (mut at, mut start) = (0, 0);
    while at < input.len() {
        if segments.enter(input, at) && block.len() >= SMALL_BLOCK || block.len() >= BLOCK {
            block.write(input.get(start..at).unwrap_or_default(), false, bits);
            start = at;
        }
        let end = segments.end.min(input.len());
        let costs =
            block.costs().unwrap_or(Costs { literal: segments.literal, symbols: SYMBOLS }).sixteenths();
        at = chains.segment(at, end, costs, &mut block);
    }
    block.write(input.get(start..).unwrap_or_default(), last, bits);
}

/// What the symbols of a literal and of a match cost.
#[derive(Clone, Copy)]
struct Costs<T> {
    literal: T,
    symbols: T,
}

impl Costs<f32> {
    /// The same in sixteenths of a bit; a literal costs a bit at least.
    fn sixteenths(self) -> Costs<usize> {
        Costs { literal: (self.literal.max(1.0) * 16.0) as usize, symbols: (self.symbols * 16.0) as usize }
    }
}

impl Block {
    /// What symbols cost by those of the block, if there are enough.
    fn costs(&self) -> Option<Costs<f32>> {
        if self.len() < TELLING {
            return None;
        }
        let (literals, all) = (self.literals(), self.len() as f32);
        let count: u32 = literals.iter().sum();
        let (count, matches) = (count as f32, all - count as f32);
        let literal = entropy(literals) + (all / count.max(1.0)).log2();
        let symbols = if matches < 1.0 { SYMBOLS } else { (all / matches).log2().min(4.0) + WHICH };
        Some(Costs { literal, symbols })
    }
}

/// Bits of a byte, where bytes come this often.
fn entropy(counts: &[u32]) -> f32 {
    let total = counts.iter().sum::<u32>() as f32;
    let bits = counts.iter().filter(|&&n| n > 0).map(|&n| n as f32 * (total / n as f32).log2());
    bits.sum::<f32>() / total.max(1.0)
}

impl<'a> Chains<'a> {
    fn new(input: &'a [u8], effort: Effort) -> Self {
        let bits = input.len().max(256).ilog2().min(15);
        Self {
            input,
            effort,
            heads: vec![0; 1 << bits],
            shift: 32 - bits,
            before: vec![0; input.len().next_power_of_two().clamp(1, WINDOW)],
            barren: 0,
        }
    }

    /// Puts the bytes from `at` to `end`, and what a match at the end takes with it, into `block`; returns the next
    /// position.
    fn segment(&mut self, mut at: usize, end: usize, costs: Costs<usize>, block: &mut Block) -> usize {
        let worth = |found: Match| {
            let bits = offset_bits(found.length, found.distance) as usize;
            found.length * costs.literal > costs.symbols + 16 * bits
        };
        while at < end {
            let mut found = self.find(at, LEAST - 1);
            if found.length < LEAST || !worth(found) {
                let passed = (1 + self.barren / BARREN).min(self.effort.stride).min(end - at);
                self.input.iter().skip(at).take(passed).for_each(|&byte| block.literal(byte));
                self.barren += passed;
                at += passed;
                continue;
            }
            self.barren = 0;
            // The next position may have a better one.
            let mut inserted = at + 1;
            while found.length < self.effort.lazy {
                let next = self.find(at + 1, found.length - 1);
                inserted = at + 2;
                if next.length < found.length || !is_better(next, found) {
                    break;
                }
                block.literal(self.input.get(at).copied().unwrap_or(0)); // a bound: `at` is inside
                (at, found) = (at + 1, next);
            }
            block.put_match(found.length, found.distance);
            let behind = at + found.length;
            if found.distance <= PERIOD && found.length >= LONG_RUN {
                inserted = behind - PERIOD;
            }
            (inserted..behind).for_each(|at| self.insert(at));
            at = behind;
        }
        at
    }

    fn load(&self, at: usize) -> Option<u32> {
        self.input.get(at..).and_then(<[u8]>::first_chunk).map(|&bytes| u32::from_le_bytes(bytes))
    }

    /// Enters a position into its chain; returns the one before it, counted from 1.
    fn enter(&mut self, at: usize, key: u32) -> u32 {
        let hash = key.wrapping_mul(0x9e37_79b1) >> self.shift;
        let Some(head) = self.heads.get_mut(hash as usize) else { return 0 };
        let before = std::mem::replace(head, at as u32 + 1);
        if let Some(slot) = self.before.get_mut(at & (WINDOW - 1)) {
            *slot = before;
        }
        before
    }

    fn insert(&mut self, at: usize) {
        if let Some(key) = self.load(at) {
            self.enter(at, key);
        }
    }

    /// The longest match for the bytes at `at` that is longer than `least`, and enters the position. Its length is 0 if
    /// there is none.
    fn find(&mut self, at: usize, least: usize) -> Match {
        let least = least.max(LEAST - 1);
        let mut best = Match::default();
        let Some(key) = self.load(at) else { return best };
        let mut candidate = self.enter(at, key) as usize;
        let Some(ahead) = self.input.get(at..self.input.len().min(at + MOST)) else { return best };
        let lowest = bound::left(at + 1, WINDOW);
        let mut longest = least;
        // The last four bytes of a match that is longer.
        let Some(mut tail) = self.load(at + longest - 3).filter(|_| longest < ahead.len()) else {
            return best;
        };
        for _ in 0..self.effort.candidates {
            if candidate <= lowest {
                break;
            }
            let from = candidate - 1;
            if self.load(from + longest - 3) == Some(tail) {
                let length = common(self.input.get(from..from + ahead.len()).unwrap_or_default(), ahead);
                if length > longest {
                    longest = length;
                    best = Match { length, distance: at - from };
                    if length >= self.effort.enough || length == ahead.len() {
                        break;
                    }
                    match self.load(at + longest - 3) {
                        Some(next) => tail = next,
                        None => break,
                    }
                }
            }
            candidate = self.before.get(from & (WINDOW - 1)).copied().unwrap_or(0) as usize; // a bound: it is inside
            // A slot that a later position has taken ends the chain.
            if candidate > from {
                break;
            }
        }
        best
    }
}

/// Whether the match at the next position is better by more than the literal before it.
fn is_better(next: Match, found: Match) -> bool {
    let far = |found: Match| i64::from(found.distance.max(1).ilog2());
    4 * (next.length as i64 - found.length as i64) + far(found) - far(next) > 2
}

/// Bytes that both begin with.
fn common(a: &[u8], b: &[u8]) -> usize {
    let ((wide_a, rest_a), (wide_b, rest_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (i, (a, b)) in wide_a.iter().zip(wide_b).enumerate() {
        let different = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if different != 0 {
            return 8 * i + different.trailing_zeros() as usize / 8;
        }
    }
    8 * wide_a.len().min(wide_b.len()) + rest_a.iter().zip(rest_b).take_while(|(a, b)| a == b).count()
}

/// What literals cost, piece by piece of the input.
struct Segments {
    end: usize,
    /// Bits.
    literal: f32,
    counts: [u32; 256],
}

impl Segments {
    fn new() -> Self {
        Self { end: 0, literal: 0.0, counts: [0; 256] }
    }

    /// Goes on to the piece that begins at `at`, if the last one is done; whether its bytes are of another kind.
    fn enter(&mut self, input: &[u8], at: usize) -> bool {
        if at < self.end {
            return false;
        }
        self.end = at + SEGMENT;
        let piece = input.get(at..self.end.min(input.len())).unwrap_or_default();
        let counts = histogram(piece);
        let different: u64 =
            counts.iter().zip(&self.counts).map(|(&now, &before)| u64::from(now.abs_diff(before))).sum();
        self.counts = counts;
        self.literal = entropy(&self.counts);
        different > piece.len() as u64
    }
}

fn histogram(bytes: &[u8]) -> [u32; 256] {
    // Several counters of each byte: equal bytes in a row do not wait for each other.
    let mut counts = [[0u32; 256]; 4];
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        for (count, &byte) in counts.iter_mut().zip(word) {
            count[usize::from(byte)] += 1;
        }
    }
    let [mut all, others @ ..] = counts;
    rest.iter().for_each(|&byte| all[usize::from(byte)] += 1);
    for other in &others {
        all.iter_mut().zip(other).for_each(|(to, from)| *to += from);
    }
    all
}
