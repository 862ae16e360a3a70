//! Codes, and the entries of tables for what they stand for.

use super::bits::low;
use super::{END, LENGTH, LITERAL, LONGER, SPECIAL};
use crate::bound::addressable;

/// Returns the entry of a literal, a length or the end, whose code has `bits` bits.
pub(super) fn literal_or_length(symbol: u32, bits: u32) -> u32 {
    let (base, extra) = match symbol {
        0..256 => return LITERAL | symbol << 8 | bits,
        256 => return SPECIAL | END | bits,
        257..265 => (symbol - 257, 0),
        265..285 => {
            let (class, extra) = ((symbol - 257) & 3, ((symbol - 257) >> 2) - 1);
            ((4 + class) << extra, extra)
        }
        285 => (255, 0),
        _ => return SPECIAL,
    };
    LENGTH | base << 16 | extra << 5 | (bits + extra)
}

/// Returns the entry of a distance, whose code has `bits` bits.
pub(super) fn distance(symbol: u32, bits: u32) -> u32 {
    let (base, extra) = match symbol {
        0..4 => (symbol + 1, 0),
        4..30 => {
            let extra = (symbol >> 1) - 1;
            (((2 + (symbol & 1)) << extra) + 1, extra)
        }
        _ => return SPECIAL,
    };
    base << 16 | extra << 5 | (bits + extra)
}

/// Codes, of which only the lengths are stored (section 3.2.2): shorter ones come first, and among equals smaller symbols.
pub(super) struct Codes {
    sorted: [u16; 320],
    pub(super) counts: [u16; 16],
    /// Whether each sequence of bits begins with a code.
    pub(super) is_complete: bool,
}

impl Codes {
    /// Returns the codes of these lengths; `None` if there are more than the bits distinguish.
    pub(super) fn of(lengths: &[u8]) -> Option<Self> {
        let mut counts = [0u16; 16];
        for &length in lengths {
            *counts.get_mut(usize::from(length))? += 1;
        }
        *counts.first_mut()? = 0;
        let (mut starts, mut start, mut taken) = ([0u16; 16], 0, 0u32);
        for (place, (length, &count)) in starts.iter_mut().zip(counts.iter().enumerate()) {
            *place = start;
            start += count;
            taken = 2 * taken + u32::from(count);
            if taken > 1 << length {
                return None;
            }
        }
        let mut sorted = [0; 320];
        for (symbol, &length) in (0..).zip(lengths).filter(|(_, length)| **length > 0) {
            let place = starts.get_mut(usize::from(length))?;
            *sorted.get_mut(usize::from(*place))? = symbol;
            *place += 1;
        }
        Some(Self { sorted, counts, is_complete: taken == 1 << 15 })
    }

    /// Calls a function with each symbol, and the length and the bits of its code, the first of which is the lowest.
    pub(super) fn each(
        &self,
        lengths: std::ops::Range<u32>,
        mut f: impl FnMut(u32, u32, u32) -> Option<()>,
    ) -> Option<()> {
        let mut symbols = self.sorted.iter();
        let mut code = 0u32;
        for (length, &count) in (0u32..).zip(&self.counts).take_while(|(length, _)| *length < lengths.end) {
            for &symbol in symbols.by_ref().take(count.into()) {
                if lengths.contains(&length) {
                    f(symbol.into(), length, code)?;
                }
                // The next code is one more, counted from the last bit, which is the highest one here.
                let zeros = !code & ((1 << length) - 1);
                let bit = zeros.checked_ilog2().map_or(0, |at| 1u32 << at);
                code = code & bit.max(1).wrapping_sub(1) | bit;
            }
        }
        Some(())
    }

    /// Fills a table, and another one with the codes that are longer than its number of bits.
    pub(super) fn fill<const N: usize>(
        &self,
        table: &mut [u32; N],
        longer: &mut Vec<u32>,
        entry: impl Fn(u32, u32) -> u32,
    ) -> Option<()> {
        let bits = N.ilog2();
        longer.clear();
        *table.first_mut()? = SPECIAL;
        // With each length, the part that is filled doubles.
        let mut filled = 1;
        self.each(1..bits + 1, |symbol, length, code| {
            while filled < 1 << length {
                double(table, &mut filled)?;
            }
            *table.get_mut(addressable(code.into()))? = entry(symbol, length);
            Some(())
        })?;
        while filled < N {
            double(table, &mut filled)?;
        }
        let longest = (0u32..)
            .zip(&self.counts)
            .filter(|(_, count)| **count > 0)
            .last()
            .map_or(0, |(length, _)| length);
        if longest <= bits {
            return Some(());
        }
        let more = longest - bits;
        self.each(bits + 1..16, |symbol, length, code| {
            let slot = table.get_mut(addressable(low(code.into(), bits)))?;
            if *slot & LONGER == 0 {
                *slot = SPECIAL | LONGER | u32::try_from(longer.len()).ok()? << 8 | more;
                longer.resize(longer.len() + (1 << more), SPECIAL);
            }
            let start = addressable(u64::from((*slot >> 8 & 0xffff) + (code >> bits)));
            let part = longer.get_mut(start..)?.iter_mut().step_by(1 << (length - bits));
            part.take(1 << (longest - length)).for_each(|place| *place = entry(symbol, length));
            Some(())
        })
    }
}

/// Doubles the part of a table that is filled.
fn double(table: &mut [u32], filled: &mut usize) -> Option<()> {
    let (done, rest) = table.split_at_mut_checked(*filled)?;
    rest.get_mut(..*filled)?.copy_from_slice(done);
    *filled *= 2;
    Some(())
}
