//! Tables that decode the prefix codes of DEFLATE (RFC 1951, section 3.2).
//!
//! The next bits of the stream are the index of an entry; codes that are longer than the index lead to a second table.
//!
//! | bits of an entry | mean |
//! |---|---|
//! | 0–7 | bits of the stream that it takes: code and extra bits; for a second table, those of the first index |
//! | 8–11 | length of the code alone; for a second table, bits of its index |
//! | 13, 14, 15 | no code; the end of the block; one of these or a second table |
//! | 16–30 | a literal, the base of a length or a distance, or where the second table begins |
//! | 31 | it is a literal |

/// The entry is a literal.
pub(super) const LITERAL: u32 = 1 << 31;
/// The entry is neither a literal nor a base.
pub(super) const SPECIAL: u32 = 1 << 15;
/// The end of the block.
pub(super) const END: u32 = 1 << 14;
/// No code begins with these bits.
pub(super) const INVALID: u32 = 1 << 13;

/// The longest code.
const LONGEST: usize = 15;
/// The most symbols of a code.
const SYMBOLS: usize = 288;

/// A table whose first index has `BITS` bits, in `N` entries.
#[derive(Clone)]
pub(super) struct Table<const BITS: usize, const N: usize> {
    entries: Box<[u32; N]>,
}

impl<const BITS: usize, const N: usize> Default for Table<BITS, N> {
    fn default() -> Self {
        Self { entries: Box::new([SPECIAL | INVALID; N]) }
    }
}

impl<const BITS: usize, const N: usize> Table<BITS, N> {
    /// The entry for the next bits of a stream.
    #[inline(always)]
    pub(super) fn first(&self, bits: u64) -> u32 {
        // The index is inside for every `BITS` and `N` in use; the mask tells the compiler.
        self.entries[bits as usize & ((1 << BITS) - 1)]
    }

    /// The entry in the second table that `entry` leads to, for the bits behind the first index.
    #[inline(always)]
    pub(super) fn second(&self, entry: u32, bits: u64) -> u32 {
        let index = bits & !(u64::MAX << (entry >> 8 & 15));
        self.entries.get((entry >> 16) as usize + index as usize).copied().unwrap_or(SPECIAL | INVALID)
    }

    /// Fills the table for symbols whose codes have `lengths`. `symbols` says what each means: the entry of a code without
    /// bits. `None` if there are no such codes.
    pub(super) fn build(&mut self, lengths: &[u8], symbols: &[u32]) -> Option<()> {
        let mut counts = [0usize; LONGEST + 1];
        for &len in lengths {
            *counts.get_mut(usize::from(len))? += 1;
        }
        let used = lengths.len() - counts[0];
        counts[0] = 0;
        let taken = |(len, count): (usize, &usize)| count << (LONGEST - len);
        let taken: usize = counts.iter().enumerate().map(taken).sum();
        // Only a code of one symbol, or of none, leaves some bits without a meaning.
        if taken > 1 << LONGEST || (taken < 1 << LONGEST && used > counts[1]) {
            return None;
        }
        if taken < 1 << LONGEST {
            self.entries.fill(SPECIAL | INVALID);
        }
        let sorted = sort(lengths, &counts)?;
        let mut sorted = sorted.get(..used)?.iter();
        let mut code = Code { bits: 0, len: 1 };
        for (len, &count) in counts.iter().enumerate().take(BITS + 1).skip(1) {
            code.lengthen(len);
            if len > 1 {
                // What the table says so far holds for both values of one bit more.
                self.entries.copy_within(..1 << (len - 1), 1 << (len - 1));
            }
            for &symbol in sorted.by_ref().take(count) {
                *self.entries.get_mut(code.reversed())? = entry(*symbols.get(usize::from(symbol))?, len);
                code.bits += 1;
            }
        }
        self.build_second(sorted, symbols, (code, &counts))
    }

    fn build_second<'s>(
        &mut self,
        mut sorted: impl Iterator<Item = &'s u16>,
        symbols: &[u32],
        (mut code, counts): (Code, &[usize; LONGEST + 1]),
    ) -> Option<()> {
        let mut end = 1 << BITS;
        let (mut prefix, mut start) = (usize::MAX, end);
        for len in BITS + 1..=LONGEST {
            code.lengthen(len);
            let count = *counts.get(len)?;
            for done in 0..count {
                let symbol = *sorted.next()?;
                let reversed = code.reversed();
                if reversed & ((1 << BITS) - 1) != prefix {
                    prefix = reversed & ((1 << BITS) - 1);
                    let index = index_bits(BITS, len, count - done, counts);
                    start = end;
                    end += 1 << index;
                    let pointer = SPECIAL | (start as u32) << 16 | (index as u32) << 8 | BITS as u32;
                    *self.entries.get_mut(prefix)? = pointer;
                }
                let entry = entry(*symbols.get(usize::from(symbol))?, len - BITS);
                let places = self.entries.get_mut(start + (reversed >> BITS)..end)?;
                places.iter_mut().step_by(1 << (len - BITS)).for_each(|place| *place = entry);
                code.bits += 1;
            }
        }
        Some(())
    }
}

/// The bits of the index of a second table whose first code has `len` bits: as many as its longest code needs. Of that
/// length `left` codes are left.
fn index_bits(first: usize, len: usize, left: usize, counts: &[usize; LONGEST + 1]) -> usize {
    let mut index = len - first;
    let mut taken = left;
    while taken < 1 << index && first + index < LONGEST {
        index += 1;
        taken = 2 * taken + counts.get(first + index).copied().unwrap_or(0);
    }
    index
}

/// What a code of `len` bits stands for.
fn entry(symbol: u32, len: usize) -> u32 {
    symbol + (len as u32) * 0x101
}

/// The symbols that have codes, shorter codes first.
fn sort(lengths: &[u8], counts: &[usize; LONGEST + 1]) -> Option<[u16; SYMBOLS]> {
    let mut next = [0; LONGEST + 1];
    let mut sum = 0;
    for (next, count) in next.iter_mut().zip(counts) {
        *next = sum;
        sum += count;
    }
    let mut sorted = [0; SYMBOLS];
    for (symbol, &len) in lengths.iter().enumerate().filter(|(_, len)| **len > 0) {
        let place = next.get_mut(usize::from(len))?;
        *sorted.get_mut(*place)? = symbol as u16;
        *place += 1;
    }
    Some(sorted)
}

/// A code: codes of one length are consecutive numbers.
#[derive(Clone, Copy)]
struct Code {
    bits: u16,
    len: usize,
}

impl Code {
    fn lengthen(&mut self, len: usize) {
        self.bits <<= len - self.len;
        self.len = len;
    }

    /// The code as it comes in the stream: its highest bit first.
    fn reversed(self) -> usize {
        usize::from(self.bits.reverse_bits() >> (16 - self.len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals() -> Vec<u32> {
        (0..288).map(|symbol| LITERAL | symbol << 16).collect()
    }

    #[test]
    fn the_example_of_the_standard() {
        // RFC 1951, section 3.2.2: A to H have 3, 3, 3, 3, 3, 2, 4, 4 bits.
        let mut table = Table::<3, 16>::default();
        table.build(&[3, 3, 3, 3, 3, 2, 4, 4], &literals()).unwrap();
        // The code of F is 00, that of A 010, that of H 1111; bits come highest first, so they are reversed here.
        assert_eq!(table.first(0b100), LITERAL | 5 << 16 | 0x202);
        assert_eq!(table.first(0b000), LITERAL | 5 << 16 | 0x202);
        assert_eq!(table.first(0b010), LITERAL | 0x303);
        let second = table.first(0b111);
        assert_eq!(second & (SPECIAL | END | INVALID), SPECIAL);
        assert_eq!((second & 0xff, second >> 8 & 15), (3, 1));
        assert_eq!(table.second(second, 1), LITERAL | 7 << 16 | 0x101);
        assert_eq!(table.second(second, 0), LITERAL | 6 << 16 | 0x101);
    }

    #[test]
    fn codes_that_are_none() {
        let mut table = Table::<8, 402>::default();
        assert_eq!(table.build(&[1, 1, 1], &literals()), None, "too many");
        assert_eq!(table.build(&[2, 2], &literals()), None, "too few");
        assert_eq!(table.build(&[2], &literals()), None, "one that is too long");
        table.build(&[0, 1], &literals()).unwrap();
        assert_eq!(table.first(0), LITERAL | 1 << 16 | 0x101);
        assert_eq!(table.first(1), SPECIAL | INVALID);
        table.build(&[0, 0], &literals()).unwrap();
        assert_eq!(table.first(0), SPECIAL | INVALID);
        assert_eq!(table.build(&[16], &literals()), None);
    }

    #[test]
    fn every_code_of_a_long_set_is_found() {
        // One code of each length, and two of the longest.
        let lengths: Vec<u8> = (1..=15).chain([15]).collect();
        let mut table = Table::<8, 402>::default();
        table.build(&lengths, &literals()).unwrap();
        for (symbol, &len) in lengths.iter().enumerate() {
            // All ones, and a zero at the end but in the last.
            let bits = (1u64 << len) - 1 - if symbol < 15 { 1 << (len - 1) } else { 0 };
            let mut found = table.first(bits);
            if found & SPECIAL != 0 {
                found = table.second(found, bits >> 8);
            }
            assert_eq!(found >> 16 & 0x7fff, symbol as u32);
        }
    }
}
