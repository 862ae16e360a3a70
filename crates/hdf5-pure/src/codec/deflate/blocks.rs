//! Writes the blocks of a deflate stream (RFC 1951, section 3.2.3): literals and matches become bits.
//!
//! | field | bits |
//! |---|---|
//! | last block | 1 |
//! | kind: 0 stored, 1 fixed codes, 2 codes that the block defines | 2 |
//! | kind 0: padding up to a byte, length, complement of the length, bytes | 16, 16, 8 each |
//! | kind 2: number of literal and length codes − 257, of distance codes − 1, of code lengths − 4 | 5, 5, 4 |
//! | code lengths, encoded with a code whose own lengths come first | 3 each |
//! | symbols; the last one is 256 | |

use sciformats_core::bound;

use super::huffman::Code;

const END: usize = 256;
const LITERALS: usize = 286;
const DISTANCES: usize = 30;
/// The bit that marks a match. The length and the distance of a match share a word, and in literals this bit is clear.
const MATCH: u32 = 1 << 31;
/// The position of the length of a match in its word. The distance is in the bits below.
const LENGTH_SHIFT: u32 = 16;
/// The largest number of bytes in a stored block.
const MOST_STORED: usize = 65_535;
/// The order in which the lengths of the code for code lengths are stored.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// The symbol less 257, the number of extra bits, and their value, for each length less 3.
const LENGTHS: [(u8, u8, u8); 256] = {
    let mut all = [(0, 0, 0); 256];
    let mut at = 0;
    while at < 256 {
        all[at] = if at == 255 {
            (28, 0, 0)
        } else if at < 8 {
            (at as u8, 0, 0)
        } else {
            let bits = at.ilog2() - 2;
            (((bits << 2) + (at as u32 >> bits)) as u8, bits as u8, (at & ((1 << bits) - 1)) as u8)
        };
        at += 1;
    }
    all
};

/// Returns the symbol, the number of extra bits, and their value, for a distance less 1.
fn distance_symbol(distance: u32) -> (usize, u32, u32) {
    match distance {
        0..4 => (distance as usize, 0, 0),
        _ => {
            let bits = distance.ilog2() - 1;
            ((2 * bits + (distance >> bits)) as usize, bits, distance & ((1 << bits) - 1))
        }
    }
}

/// Returns the number of extra bits that a match takes beside its symbols.
pub(super) fn offset_bits(length: usize, distance: usize) -> u32 {
    let (_, bits, _) = LENGTHS.get(length.wrapping_sub(3)).copied().unwrap_or_default();
    u32::from(bits) + bound::left(distance as u32, 1).max(2).ilog2() - 1
}

/// Writes bits, the first bit lowest.
#[derive(Default)]
pub(super) struct BitWriter {
    out: Vec<u8>,
    bits: u64,
    count: u32,
}

impl BitWriter {
    /// Creates a writer that appends to `out`.
    pub(super) fn new(out: Vec<u8>) -> Self {
        Self { out, bits: 0, count: 0 }
    }

    /// Appends `count` bits, at most 32.
    fn put(&mut self, bits: u32, count: u32) {
        self.bits |= u64::from(bits) << self.count;
        self.count += count;
        if self.count >= 32 {
            self.out.extend_from_slice(&(self.bits as u32).to_le_bytes());
            self.bits >>= 32;
            self.count -= 32;
        }
    }

    /// Pads the last byte.
    fn align(&mut self) {
        while self.count > 0 {
            self.out.push(self.bits as u8);
            self.bits >>= 8;
            self.count = bound::left(self.count, 8);
        }
    }

    /// Returns the bytes.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.align();
        self.out
    }
}

/// The literals and matches of a block that is being collected.
pub(super) struct Block {
    tokens: Vec<u32>,
    literals: [u32; LITERALS],
    distances: [u32; DISTANCES],
}

/// The code lengths of a block in the form in which they are stored.
struct Description {
    literals: usize,
    distances: usize,
    /// The symbol, the extra value and the number of extra bits of each.
    symbols: Vec<(u8, u8, u8)>,
    code: Code,
    kept: usize,
    bits: u64,
}

impl Block {
    pub(super) fn new() -> Self {
        Self { tokens: Vec::new(), literals: [0; LITERALS], distances: [0; DISTANCES] }
    }

    /// Returns the number of literals and matches.
    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Returns how often each literal occurs.
    pub(super) fn literals(&self) -> &[u32] {
        self.literals.get(..END).unwrap_or_default()
    }

    pub(super) fn literal(&mut self, byte: u8) {
        self.tokens.push(byte.into());
        self.literals[usize::from(byte)] += 1;
    }

    /// Adds a match of 3 to 258 bytes, which starts 1 to 32768 bytes back.
    pub(super) fn put_match(&mut self, length: usize, distance: usize) {
        let (length, distance) =
            ((length as u32).wrapping_sub(3) & 255, (distance as u32).wrapping_sub(1) & 0x7fff);
        self.tokens.push(MATCH | length << LENGTH_SHIFT | distance);
        let symbol = usize::from(LENGTHS[length as usize].0) + END + 1;
        if let Some(count) = self.literals.get_mut(symbol) {
            *count += 1;
        }
        if let Some(count) = self.distances.get_mut(distance_symbol(distance).0) {
            *count += 1;
        }
    }

    /// Writes the block, which stands for the bytes `plain`, in the shortest of the three forms, and starts a new
    /// block.
    pub(super) fn write(&mut self, plain: &[u8], last: bool, bits: &mut BitWriter) {
        self.literals[END] = 1;
        let (literals, distances) = (Code::new(&self.literals, 15), Code::new(&self.distances, 15));
        let description = Description::new(&literals, &distances);
        let own = description.bits + literals.cost(&self.literals) + distances.cost(&self.distances);
        let (fixed_literals, fixed_distances) = fixed();
        let fixed = fixed_literals.cost(&self.literals) + fixed_distances.cost(&self.distances);
        let offsets = self.offsets();
        let stored = (plain.len() as u64 + 5 * (plain.len() as u64 / MOST_STORED as u64 + 1)) * 8;
        if stored <= own.min(fixed) + offsets {
            store(plain, last, bits);
        } else if fixed <= own {
            bits.put(u32::from(last) | 1 << 1, 3);
            self.symbols(&fixed_literals, &fixed_distances, bits);
        } else {
            bits.put(u32::from(last) | 2 << 1, 3);
            description.write(bits);
            self.symbols(&literals, &distances, bits);
        }
        self.tokens.clear();
        self.literals.fill(0);
        self.distances.fill(0);
    }

    /// Returns the number of all extra bits.
    fn offsets(&self) -> u64 {
        let lengths = self.literals.iter().skip(END + 1).zip(0u8..);
        let of_length = |symbol: u8| if (8..28).contains(&symbol) { u64::from(symbol) / 4 - 1 } else { 0 };
        let distances = self.distances.iter().zip(0u64..);
        lengths.map(|(&count, symbol)| u64::from(count) * of_length(symbol)).sum::<u64>()
            + distances.map(|(&count, symbol)| u64::from(count) * bound::left(symbol / 2, 1)).sum::<u64>()
    }

    fn symbols(&self, literals: &Code, distances: &Code, bits: &mut BitWriter) {
        let bytes: [(u32, u32); 256] = std::array::from_fn(|byte| literals.word(byte));
        // A length symbol and its extra bits are written as one word.
        let lengths: [(u32, u32); 256] = std::array::from_fn(|at| {
            let (symbol, more, offset) = LENGTHS[at];
            let (word, count) = literals.word(usize::from(symbol) + END + 1);
            (word | u32::from(offset) << count, count + u32::from(more))
        });
        for &token in &self.tokens {
            if token & MATCH == 0 {
                let (word, count) = bytes[(token & 255) as usize];
                bits.put(word, count);
                continue;
            }
            let (word, count) = lengths[(token >> LENGTH_SHIFT & 255) as usize];
            bits.put(word, count);
            let (symbol, more, offset) = distance_symbol(token & 0x7fff);
            let (word, count) = distances.word(symbol);
            bits.put(word | offset << count, count + more);
        }
        let (word, count) = literals.word(END);
        bits.put(word, count);
    }
}

fn fixed() -> (Code, Code) {
    let lengths: [u8; 288] = std::array::from_fn(|symbol| match symbol {
        0..144 => 8,
        144..256 => 9,
        256..280 => 7,
        _ => 8,
    });
    (Code::from_lengths(&lengths), Code::from_lengths(&[5; 30]))
}

/// Writes bytes as stored blocks.
pub(super) fn store(plain: &[u8], last: bool, bits: &mut BitWriter) {
    let mut rest = plain;
    loop {
        let (part, after) = rest.split_at(rest.len().min(MOST_STORED));
        bits.put(u32::from(last && after.is_empty()), 3);
        bits.align();
        let len = part.len() as u16;
        bits.out.extend_from_slice(&len.to_le_bytes());
        bits.out.extend_from_slice(&(!len).to_le_bytes());
        bits.out.extend_from_slice(part);
        rest = after;
        if rest.is_empty() {
            return;
        }
    }
}

impl Description {
    fn new(literals: &Code, distances: &Code) -> Self {
        let used = |code: &Code, least: usize, most: usize| {
            let lengths: Vec<u8> = code.lengths().take(most).collect();
            let end = lengths.iter().rposition(|&length| length > 0).map_or(0, |last| last + 1);
            lengths.into_iter().take(end.max(least)).collect::<Vec<_>>()
        };
        let (literals, distances) = (used(literals, END + 1, LITERALS), used(distances, 1, DISTANCES));
        let symbols = runs(&[&literals[..], &distances[..]].concat());
        let mut counts = [0u32; 19];
        for &(symbol, ..) in &symbols {
            if let Some(count) = counts.get_mut(usize::from(symbol)) {
                *count += 1;
            }
        }
        let code = Code::new(&counts, 7);
        let kept =
            ORDER.iter().rposition(|&symbol| code.word(symbol).1 > 0).map_or(4, |last| (last + 1).max(4));
        let repeats: u64 = symbols.iter().map(|&(_, _, bits)| u64::from(bits)).sum();
        let bits = 14 + 3 * kept as u64 + code.cost(&counts) + repeats;
        Self { literals: literals.len(), distances: distances.len(), symbols, code, kept, bits }
    }

    fn write(&self, bits: &mut BitWriter) {
        bits.put((self.literals as u32).wrapping_sub(257), 5);
        bits.put((self.distances as u32).wrapping_sub(1), 5);
        bits.put((self.kept as u32).wrapping_sub(4), 4);
        ORDER.iter().take(self.kept).for_each(|&symbol| bits.put(self.code.word(symbol).1, 3));
        for &(symbol, value, count) in &self.symbols {
            let (word, length) = self.code.word(symbol.into());
            bits.put(word | u32::from(value) << length, length + u32::from(count));
        }
    }
}

/// Returns code lengths as symbols: 16 repeats the previous length 3 to 6 times, 17 and 18 stand for 3 to 10 and for 11
/// to 138 zeros.
fn runs(lengths: &[u8]) -> Vec<(u8, u8, u8)> {
    let mut symbols = Vec::new();
    for run in lengths.chunk_by(|a, b| a == b) {
        let Some(&length) = run.first() else { continue };
        let mut left = run.len();
        if length > 0 {
            symbols.push((length, 0, 0));
            left -= 1;
        }
        while left > 0 {
            let (symbol, bits, least, most) = match (length, left) {
                (_, 1 | 2) => {
                    symbols.push((length, 0, 0));
                    left -= 1;
                    continue;
                }
                (0, 3..11) => (17, 3, 3, 10),
                (0, _) => (18, 7, 11, 138),
                _ => (16, 2, 3, 6),
            };
            let taken = left.min(most);
            symbols.push((symbol, (taken - least) as u8, bits));
            left -= taken;
        }
    }
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_distances_have_the_symbols_of_the_standard() {
        let length = |n: usize| (usize::from(LENGTHS[n - 3].0) + 257, LENGTHS[n - 3].1, LENGTHS[n - 3].2);
        assert_eq!(length(3), (257, 0, 0));
        assert_eq!(length(10), (264, 0, 0));
        assert_eq!(length(12), (265, 1, 1));
        assert_eq!(length(19), (269, 2, 0));
        assert_eq!(length(130), (280, 4, 15));
        assert_eq!(length(257), (284, 5, 30));
        assert_eq!(length(258), (285, 0, 0));
        assert_eq!(distance_symbol(0), (0, 0, 0)); // 1
        assert_eq!(distance_symbol(5), (4, 1, 1)); // 6
        assert_eq!(distance_symbol(6), (5, 1, 0)); // 7
        assert_eq!(distance_symbol(32_767), (29, 13, 8191)); // 32768
        assert_eq!((offset_bits(3, 1), offset_bits(12, 6), offset_bits(258, 32_768)), (0, 2, 13));
    }

    #[test]
    fn code_lengths_are_run_length_coded() {
        let lengths = [&[0; 140][..], &[5; 8], &[0, 0, 7, 7, 0, 0, 0]].concat();
        let symbols =
            [(18, 127, 7), (0, 0, 0), (0, 0, 0), (5, 0, 0), (16, 3, 2), (5, 0, 0), (0, 0, 0), (0, 0, 0)];
        assert_eq!(runs(&lengths), [&symbols[..], &[(7, 0, 0), (7, 0, 0), (17, 0, 3)]].concat());
    }
}
