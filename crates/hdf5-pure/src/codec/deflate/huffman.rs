//! Huffman codes of a deflate block (RFC 1951, section 3.2.2).

/// The largest number of symbols of an alphabet.
pub(super) const MAX_SYMBOLS: usize = 288;

/// A code for each symbol: its bits, the first one lowest, and their number. Symbols that do not occur have no bits.
#[derive(Clone)]
pub(super) struct Code {
    words: [(u16, u8); MAX_SYMBOLS],
}

impl Code {
    /// Returns the code that takes the fewest bits for symbols with these frequencies, with at most `longest` bits per
    /// symbol.
    pub(super) fn new(counts: &[u32], longest: u8) -> Self {
        Self::from_lengths(&lengths(counts, longest))
    }

    /// Returns the code whose words have these lengths: shorter words come first, and words of equal length are in the
    /// order of their symbols.
    pub(super) fn from_lengths(lengths: &[u8]) -> Self {
        let mut number = [0u16; 16];
        for &length in lengths {
            number[usize::from(length & 15)] += 1;
        }
        number[0] = 0;
        let mut next = [0u16; 16];
        let mut code = 0u16;
        for (next, number) in next.iter_mut().skip(1).zip(&number) {
            code = (code + number) << 1;
            *next = code;
        }
        let mut words = [(0, 0); MAX_SYMBOLS];
        for (word, &length) in words.iter_mut().zip(lengths) {
            if length > 0 {
                let next = &mut next[usize::from(length & 15)];
                *word = (next.reverse_bits() >> (16 - u16::from(length)), length);
                *next = next.wrapping_add(1);
            }
        }
        Self { words }
    }

    /// Returns the bits of a symbol, and their number.
    pub(super) fn word(&self, symbol: usize) -> (u32, u32) {
        let (bits, length) = self.words.get(symbol).copied().unwrap_or_default();
        (bits.into(), length.into())
    }

    /// Returns the lengths of the words.
    pub(super) fn lengths(&self) -> impl Iterator<Item = u8> {
        self.words.iter().map(|&(_, length)| length)
    }

    /// Returns the number of bits that symbols with these frequencies take.
    pub(super) fn cost(&self, counts: &[u32]) -> u64 {
        counts.iter().zip(self.lengths()).map(|(&count, length)| u64::from(count) * u64::from(length)).sum()
    }
}

/// Returns the lengths of the best code in which no word is longer than `longest`.
fn lengths(counts: &[u32], longest: u8) -> [u8; MAX_SYMBOLS] {
    let mut lengths = [0u8; MAX_SYMBOLS];
    let mut symbols: Vec<(u32, usize)> = counts
        .iter()
        .enumerate()
        .filter(|&(_, &count)| count > 0)
        .map(|(symbol, &count)| (count, symbol))
        .collect();
    if symbols.len() < 2 {
        // Some decoders require two words, even if only one symbol occurs or none.
        let only = symbols.first().map_or(0, |&(_, symbol)| symbol);
        for symbol in [only, usize::from(only == 0)] {
            if let Some(length) = lengths.get_mut(symbol) {
                *length = 1;
            }
        }
        return lengths;
    }
    symbols.sort_unstable();
    let number = limited(&depths(&symbols), longest);
    // The rarest symbols get the longest words.
    let all = (1..=longest).rev().zip(number.iter().skip(1).take(longest.into()).rev());
    let all = all.flat_map(|(length, &number)| std::iter::repeat_n(length, usize::from(number)));
    for (&(_, symbol), length) in symbols.iter().zip(all) {
        if let Some(slot) = lengths.get_mut(symbol) {
            *slot = length;
        }
    }
    lengths
}

/// Returns how many leaves the tree of the sorted symbols has at each depth. Leaves deeper than 31 count as 31.
fn depths(symbols: &[(u32, usize)]) -> [u16; 32] {
    let n = symbols.len();
    // The leaves come first, then the inner nodes in the order in which they are created, which is also the order of
    // their weights.
    let mut weights: Vec<u64> = symbols.iter().map(|&(count, _)| count.into()).collect();
    let mut parents = vec![0usize; 2 * n];
    let (mut leaf, mut inner) = (0, n);
    for made in n..2 * n - 1 {
        let mut weight = 0;
        for _ in 0..2 {
            let of = |at: usize, end: usize| if at < end { weights.get(at).copied() } else { None };
            let take = match (of(leaf, n), of(inner, made)) {
                (Some(a), Some(b)) if b < a => &mut inner,
                (None, _) => &mut inner,
                _ => &mut leaf,
            };
            weight += weights.get(*take).copied().unwrap_or(0); // a bound: the index is always in range
            if let Some(parent) = parents.get_mut(*take) {
                *parent = made;
            }
            *take += 1;
        }
        weights.push(weight);
    }
    let mut depth = vec![0u8; 2 * n];
    let mut number = [0u16; 32];
    for at in (0..2 * n - 2).rev() {
        let above = parents.get(at).and_then(|&parent| depth.get(parent)).copied();
        let own = above.map_or(1, |above| (above + 1).min(31));
        if let Some(depth) = depth.get_mut(at) {
            *depth = own;
        }
        if at < n {
            number[usize::from(own & 31)] += 1;
        }
    }
    number
}

/// Returns the same number of leaves, with none deeper than `longest`.
fn limited(number: &[u16; 32], longest: u8) -> [u16; 32] {
    let mut number = *number;
    let deepest = usize::from(longest & 15);
    let (kept, cut) = number.split_at_mut(deepest + 1);
    let Some(last) = kept.last_mut() else { return number };
    *last += cut.iter_mut().map(std::mem::take).sum::<u16>();
    // This is the space of words that the leaves take, in multiples of the smallest word.
    let mut taken: u32 =
        kept.iter().enumerate().skip(1).map(|(depth, &n)| u32::from(n) << (deepest - depth)).sum();
    while taken > 1 << deepest {
        // A leaf moves down one level and becomes a neighbour of one of the deepest leaves, which frees one of the
        // deepest words.
        let Some(depth) = (1..deepest).rev().find(|&depth| kept.get(depth).is_some_and(|&n| n > 0)) else {
            break;
        };
        for (at, change) in [(depth, -1i16), (depth + 1, 2), (deepest, -1)] {
            if let Some(n) = kept.get_mut(at) {
                *n = n.wrapping_add_signed(change);
            }
        }
        taken -= 1;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(lengths: &[u8]) -> f64 {
        lengths.iter().filter(|&&length| length > 0).map(|&length| 0.5f64.powi(length.into())).sum()
    }

    #[test]
    fn words_fill_the_space_and_stay_short() {
        for longest in [7u8, 15] {
            for (n, step) in [(2usize, 1.0f64), (3, 1.0), (19, 2.0), (100, 1.0), (100, 1.1), (120, 1.17)] {
                if n > 1 << longest {
                    continue;
                }
                let counts: Vec<u32> = (0..n).map(|i| step.powi(i as i32).min(1e8) as u32 + 1).collect();
                let lengths = lengths(&counts, longest);
                assert!(lengths.iter().all(|&length| length <= longest));
                assert_eq!(lengths.iter().filter(|&&length| length > 0).count(), n);
                assert_eq!(space(&lengths), 1.0, "{n} symbols, {longest} bits");
            }
        }
    }

    #[test]
    fn frequent_symbols_have_short_words() {
        let code = Code::new(&[1, 1, 2, 4, 0, 8], 15);
        assert_eq!(code.lengths().take(6).collect::<Vec<_>>(), [4, 4, 3, 2, 0, 1]);
        assert_eq!(code.cost(&[1, 1, 2, 4, 0, 8]), 4 + 4 + 6 + 8 + 8);
        // This is the example of the standard: the lengths 3, 3, 3, 3, 3, 2, 4, 4.
        let code = Code::from_lengths(&[3, 3, 3, 3, 3, 2, 4, 4]);
        assert_eq!(code.word(5), (0, 2));
        assert_eq!(code.word(0), (0b010, 3));
        assert_eq!(code.word(7), (0b1111, 4));
    }

    #[test]
    fn one_symbol_or_none_has_two_words() {
        for counts in [&[0u32, 0, 5][..], &[7], &[]] {
            assert_eq!(space(&lengths(counts, 15)), 1.0);
        }
    }
}
