//! Finds repetitions of earlier bytes for a deflate stream.
//!
//! Positions with equal hashes form chains, which are followed from the latest position to earlier ones as far as the
//! level allows. A match is used only if it costs fewer bits than its bytes would as literals; the cost of literals is
//! estimated from the surrounding bytes. In the byte planes that the shuffle filter makes of measurements, short
//! repetitions at long distances are frequent and not worth their bits.

use sciformats_core::bound;

use super::blocks::{BitWriter, Block, offset_bits};

/// The largest distance of a match in bytes.
const WINDOW: usize = 32_768;
/// The length of the shortest match that is searched for.
const LEAST: usize = 4;
const MOST: usize = 258;
/// The number of bytes for which the cost of literals is estimated together.
const SEGMENT: usize = 8192;
/// The approximate largest number of literals and matches of a block.
const BLOCK: usize = 24_576;
/// The smallest number of literals and matches after which a block is ended because the kind of bytes changes.
const SMALL_BLOCK: usize = 1024;
/// The estimated bits for the length and the distance of a match, beside those that say that it is a match.
const WHICH: f32 = 6.0;
/// The estimated bits for the symbols of a match as long as none were found.
const SYMBOLS: f32 = 8.0;
/// The number of literals and matches in a block from which their frequencies are used to estimate further costs.
const TELLING: usize = 512;
/// Repetitions of at most so many bytes are recognized as periodic; all of their positions are equally good.
const PERIOD: usize = 16;
const LONG_RUN: usize = 64;

/// How much effort is spent on matches.
#[derive(Clone, Copy)]
struct Effort {
    /// The number of candidates that are compared.
    candidates: usize,
    /// The length from which a match is good enough.
    enough: usize,
    /// If a match is shorter than this, the next position is tried too.
    lazy: usize,
    /// The largest number of positions that are skipped at a time where nothing repeats.
    stride: usize,
}

/// The number of consecutive literals after which one more position is skipped at a time.
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

/// The length and the distance of a match.
#[derive(Clone, Copy, Default)]
struct Match {
    length: usize,
    distance: usize,
}

/// The positions of earlier bytes.
struct Chains<'a> {
    input: &'a [u8],
    effort: Effort,
    /// The last position of each hash, counted from 1; 0 means none.
    heads: Vec<u32>,
    shift: u32,
    /// For each position, the previous position with the same hash.
    before: Vec<u32>,
    /// The number of literals since the last match.
    barren: usize,
}

/// Compresses less than 2 GiB at a `level` of 1 to 9 into blocks of a deflate stream. `last` tells whether the stream
/// ends here.
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

/// The cost of the symbols of a literal and of a match.
#[derive(Clone, Copy)]
struct Costs<T> {
    literal: T,
    symbols: T,
}

impl Costs<f32> {
    /// Returns the costs in sixteenths of a bit. A literal costs at least one bit.
    fn sixteenths(self) -> Costs<usize> {
        Costs { literal: (self.literal.max(1.0) * 16.0) as usize, symbols: (self.symbols * 16.0) as usize }
    }
}

impl Block {
    /// Returns the costs that follow from the symbols of the block, if there are enough.
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

/// Returns the number of bits per byte for bytes with these frequencies.
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

    /// Adds the bytes from `at` to `end`, and those that a match at the end covers, to `block`. Returns the next
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
            // The next position may have a better match.
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

    /// Adds a position to its chain. Returns the previous position in the chain, counted from 1.
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

    /// Returns the longest match for the bytes at `at` that is longer than `least`, and adds the position to its chain.
    /// The length is 0 if there is no such match.
    fn find(&mut self, at: usize, least: usize) -> Match {
        let least = least.max(LEAST - 1);
        let mut best = Match::default();
        let Some(key) = self.load(at) else { return best };
        let mut candidate = self.enter(at, key) as usize;
        let Some(ahead) = self.input.get(at..self.input.len().min(at + MOST)) else { return best };
        let lowest = bound::left(at + 1, WINDOW);
        let mut longest = least;
        // These are the last four bytes of a match that would be longer. Comparing them first rejects most candidates.
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
            candidate = self.before.get(from & (WINDOW - 1)).copied().unwrap_or(0) as usize; // a bound: always in range
            // A slot that a later position has taken ends the chain.
            if candidate > from {
                break;
            }
        }
        best
    }
}

/// Returns whether the match at the next position saves more than the literal before it costs.
fn is_better(next: Match, found: Match) -> bool {
    let far = |found: Match| i64::from(found.distance.max(1).ilog2());
    4 * (next.length as i64 - found.length as i64) + far(found) - far(next) > 2
}

/// Returns the number of bytes with which both start.
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

/// The cost of literals, for one segment of the input after another.
struct Segments {
    end: usize,
    /// The number of bits.
    literal: f32,
    counts: [u32; 256],
}

impl Segments {
    fn new() -> Self {
        Self { end: 0, literal: 0.0, counts: [0; 256] }
    }

    /// Enters the segment that starts at `at`, if the previous one is done. Returns whether its bytes are of another
    /// kind.
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
    // Several counters per byte value are used, so that equal bytes in a row need not wait for each other.
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
