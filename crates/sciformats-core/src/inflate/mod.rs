//! A decoder of deflate (RFC 1951) for streams that are in memory as a whole, without unsafe code.
//!
//! A stream is a series of blocks, whose numbers are packed from the lowest bit of each byte on:
//!
//! | bits | field |
//! |---|---|
//! | 1 | whether this is the last block |
//! | 2 | kind: 0 stored, 1 fixed codes, 2 codes of its own |
//! | – | stored: up to the end of the byte nothing, 16 bits the length, 16 bits its complement, then the bytes |
//! | 5, 5, 4 | codes of its own: the numbers of codes of literals and lengths less 257, of distances less 1, of lengths of codes less 4 |
//! | 3 each | the lengths of the codes of lengths, then with these codes all other lengths |
//! | – | codes of literals, and of lengths with their distances, up to the code of the end |
//!
//! What costs time is each decision that depends on the data and that the processor does not predict. The lengths of the codes of
//! a block tell how frequent literals are, which selects one of two loops:
//!
//! - If literals and copies are about as frequent, they come in an order that is hard to predict. One look into a table therefore
//!   decodes a literal *and* what follows it, and a copy is always made, of nothing if there is none.
//! - Otherwise literals are distinguished from copies, in the common way.
//!
//! An entry of a table is a number of 32 bits:
//!
//! | bits | of literals and lengths | of distances |
//! |---|---|---|
//! | 0–4 | the number of bits that the code takes, with its extra bits | the same |
//! | 5–8 | the number of extra bits | the same |
//! | 8–15 | the first literal | – |
//! | 16–23 | the second literal, or the length less 3 | from 16 on the distance |
//! | 24–25 | the number of literals | – |
//! | 26 | whether there is a length | – |
//! | 29, 31 | the code is longer: bits 8–23 are the start of its part of the second table, and bits 0–4 how many bits select in it | the same |
//! | 30, 31 | the end of the block | – |
//! | 31 | no code, if neither is set | the same |

mod codes;

use self::codes::{Codes, distance, literal_or_length};
use crate::bound::{addressable, product, sum};

/// Longer codes are rare, and decoded with a second table.
const LITERAL_BITS: u32 = 12;
const DISTANCE_BITS: u32 = 8;
const LITERALS: usize = 1 << LITERAL_BITS;
const DISTANCES: usize = 1 << DISTANCE_BITS;

/// Copies are made in steps of as many bytes.
const STEP: usize = 16;

/// As many bytes are there after the place of the output at which a fast loop goes on: eight literals, the longest copy, and two steps.
const ROOM: usize = 320;

/// No stream grows by more than this factor, in which a copy of 258 bytes takes two bits.
const MOST_GROWTH: usize = 1032;

/// A table of pairs is made if as many bytes follow. For fewer ones, it would take longer than it saves.
const WORTH_PAIRS: usize = 4096;

/// The share of all codes together. A code of `n` bits has the share `ALL >> n`, which is about how frequent it is.
const ALL: u32 = 1 << 15;

/// With such a share of literals, whether one comes is hard to predict.
const EVEN: std::ops::Range<u32> = ALL / 16 * 6..ALL / 16 * 9;

/// With a smaller share of literals, pairs are rare.
const PAIRED: u32 = ALL / 4;

const LITERAL: u32 = 1 << 24;
const LENGTH: u32 = 1 << 26;
const LONGER: u32 = 1 << 29;
const END: u32 = 1 << 30;
/// What is neither a literal nor a length nor a distance.
const SPECIAL: u32 = 1 << 31;

/// The order in which the lengths of the codes of lengths are stored.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// The tables of a decoder, which may decode several streams one after the other.
pub struct Inflater {
    /// One literal or length per entry.
    single: Box<[u32; LITERALS]>,
    /// Up to two literals, or a literal and a length.
    pairs: Box<[u32; LITERALS]>,
    has_pairs: bool,
    /// Whether literals and copies are about as frequent, in a long block.
    is_even: bool,
    longer: Vec<u32>,
    /// Distances, and after them as many entries that are no distance and take no bits.
    distances: Box<[u32; 2 * DISTANCES]>,
    longer_distances: Vec<u32>,
}

impl std::fmt::Debug for Inflater {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inflater").finish_non_exhaustive()
    }
}

impl Default for Inflater {
    fn default() -> Self {
        Self::new()
    }
}

impl Inflater {
    /// Makes a decoder, whose tables take 34 KB.
    pub fn new() -> Self {
        Self {
            single: Box::new([0; LITERALS]),
            pairs: Box::new([0; LITERALS]),
            has_pairs: false,
            is_even: false,
            longer: Vec::new(),
            distances: Box::new([0; 2 * DISTANCES]),
            longer_distances: Vec::new(),
        }
    }

    /// Decodes a stream of about `expected` and at most `max` bytes into `out`, and returns how many bytes of `input` it took.
    ///
    /// It returns `None` for a stream that is damaged, incomplete or longer, and for the few kinds of codes that no encoder
    /// makes; `out` then contains anything. It takes no more memory than `max` and some bytes.
    ///
    /// ```
    /// // The last block, stored: its length, the complement of it, and three bytes.
    /// let stream = [1, 3, 0, 0xfc, 0xff, b'a', b'b', b'c'];
    /// let mut out = Vec::new();
    /// let used = sciformats_core::inflate::Inflater::new().inflate(&stream, 3, 3, &mut out);
    /// assert_eq!((used, &out[..]), (Some(8), &b"abc"[..]));
    /// ```
    pub fn inflate(&mut self, input: &[u8], expected: usize, max: usize, out: &mut Vec<u8>) -> Option<usize> {
        let possible = product(input.len(), MOST_GROWTH);
        // What `out` has from the stream before is not cleared, because all of it is written.
        out.resize(expected.min(max).min(possible).checked_add(ROOM)?, 0);
        let mut bits = Bits { data: input, at: 0, buffer: 0, count: 0 };
        let mut at = 0;
        loop {
            bits.refill();
            let is_last = bits.take(1)? == 1;
            at = match bits.take(2)? {
                0 => stored(&mut bits, max, out, at)?,
                1 => {
                    let mut lengths = [8; 288];
                    lengths.get_mut(144..256)?.fill(9);
                    lengths.get_mut(256..280)?.fill(7);
                    self.tables(&lengths, &[5; 32], &bits)?;
                    self.block(&mut bits, max, out, at)?
                }
                2 => {
                    self.own_codes(&mut bits)?;
                    self.block(&mut bits, max, out, at)?
                }
                _ => return None,
            };
            if is_last {
                out.truncate(at);
                return Some(bits.position());
            }
        }
    }

    /// Reads the lengths of the codes of a block, and makes its tables.
    fn own_codes(&mut self, bits: &mut Bits<'_>) -> Option<()> {
        bits.refill();
        let literals = addressable(bits.take(5)?) + 257;
        let distances = addressable(bits.take(5)?) + 1;
        let count = addressable(bits.take(4)?) + 4;
        if literals > 286 || distances > 30 {
            return None;
        }
        let mut lengths = [0; 19];
        for &at in ORDER.iter().take(count) {
            bits.refill();
            *lengths.get_mut(at)? = u8::try_from(bits.take(3)?).ok()?;
        }
        let codes = Codes::of(&lengths).filter(|codes| codes.is_complete)?;
        let mut table = [0; 128];
        codes.fill(&mut table, &mut Vec::new(), |symbol, length| symbol << 8 | length)?;
        let all = literals + distances;
        let mut lengths = [0; 316];
        let mut at = 0usize;
        while at < all {
            bits.refill();
            let entry = look(&table, bits.buffer);
            bits.take(entry & 31)?;
            let (length, times) = match entry >> 8 {
                16 => (*lengths.get(at.checked_sub(1)?)?, bits.take(2)? + 3),
                17 => (0, bits.take(3)? + 3),
                18 => (0, bits.take(7)? + 11),
                length => (u8::try_from(length).ok()?, 1),
            };
            let end = at + addressable(times);
            lengths.get_mut(..all)?.get_mut(at..end)?.fill(length);
            at = end;
        }
        let (literals, distances) = lengths.get(..all)?.split_at_checked(literals)?;
        // A block that cannot end is wrong.
        literals.get(256).filter(|length| **length > 0)?;
        self.tables(literals, distances, bits)
    }

    /// Makes the tables of a block from the lengths of its codes.
    fn tables(&mut self, literals: &[u8], distances: &[u8], bits: &Bits<'_>) -> Option<()> {
        let codes = Codes::of(literals).filter(|codes| codes.is_complete)?;
        codes.fill(&mut self.single, &mut self.longer, literal_or_length)?;
        // How long the codes of literals are says how frequent they are.
        let share: u32 =
            literals.iter().take(256).filter(|length| **length > 0).map(|length| ALL >> length).sum();
        let is_long = bits.data.len() - bits.position() >= WORTH_PAIRS;
        self.is_even = is_long && EVEN.contains(&share);
        self.has_pairs = is_long && share >= PAIRED;
        if self.has_pairs {
            self.pair(&codes)?;
        }
        let codes = Codes::of(distances)?;
        // A single distance has a code of one bit, of which the other value is no code.
        let is_single = codes.counts.iter().sum::<u16>() <= 1;
        if !codes.is_complete && !is_single {
            return None;
        }
        let table = self.distances.first_chunk_mut::<DISTANCES>()?;
        codes.fill(table, &mut self.longer_distances, distance)
    }

    /// Makes the table of pairs: each literal is joined with what follows it, if there are bits for both.
    fn pair(&mut self, codes: &Codes) -> Option<()> {
        *self.pairs = *self.single;
        // What each entry is as the second of a pair. No room has 31 bits.
        let mut second = [31; LITERALS];
        for (second, &entry) in second.iter_mut().zip(self.single.iter()) {
            if entry & LENGTH != 0 {
                *second = entry;
            } else if entry & SPECIAL == 0 {
                *second = LITERAL | (entry & 0xff00) << 8 | entry & 0xff;
            }
        }
        codes.each(1..LITERAL_BITS, |symbol, length, code| {
            if symbol < 256 {
                let (room, first) = (LITERAL_BITS - length, LITERAL | symbol << 8 | length);
                let entries = self.pairs.get_mut(addressable(code.into())..)?.iter_mut().step_by(1 << length);
                for (entry, &second) in entries.zip(second.iter().take(1 << room)) {
                    let own = (second & 31) - (second >> 5 & 7);
                    *entry = if own <= room { second + first } else { *entry };
                }
            }
            Some(())
        })
    }

    /// Decodes a block into `vec` from `at` on, and returns where it ends.
    fn block(&self, bits: &mut Bits<'_>, max: usize, vec: &mut Vec<u8>, mut at: usize) -> Option<usize> {
        loop {
            let step = if self.is_even { Self::uniform } else { Self::branching };
            let (end, is_over) = step(self, bits, vec, at)?;
            at = end;
            if at > max {
                return None;
            }
            if is_over {
                return Some(at);
            }
            // There are few bytes of the input or of the output: one literal or copy is decoded with care.
            if at + ROOM > vec.len() {
                let more = product(vec.len(), 2).min(sum(max, ROOM));
                vec.resize(more.max(at + ROOM), 0);
            }
            bits.refill();
            let entry = code(look(&self.single, bits.buffer), &self.longer, bits.buffer >> LITERAL_BITS)?;
            let (used, extra) = (entry & 31, entry >> 5 & 7);
            let taken = bits.take(used)?;
            if entry & SPECIAL != 0 {
                return (entry & END != 0).then_some(at);
            }
            let [_, literal, length, _] = entry.to_le_bytes();
            if entry & LENGTH == 0 {
                *vec.get_mut(at)? = literal;
                at += 1;
                continue;
            }
            let length = 3 + usize::from(length) + addressable(taken >> (used - extra));
            bits.refill();
            let entry = look(&self.distances, bits.buffer & (DISTANCES as u64 - 1));
            let entry = code(entry, &self.longer_distances, bits.buffer >> DISTANCE_BITS)?;
            if entry & SPECIAL != 0 {
                return None;
            }
            let (used, extra) = (entry & 31, entry >> 5 & 15);
            let distance = u64::from(entry >> 16) + (bits.take(used)? >> (used - extra));
            repeat(vec, at.checked_sub(addressable(distance))?, at, length)?;
            at += length;
        }
    }

    /// Decodes as long as no step can pass the end of the input or of the output, in the same steps for all that may come. Returns
    /// where it stopped, and whether the block is over.
    #[inline]
    fn uniform(&self, bits: &mut Bits<'_>, out: &mut [u8], mut at: usize) -> Option<(usize, bool)> {
        let table = if self.has_pairs { &*self.pairs } else { &*self.single };
        let last = out.len().checked_sub(ROOM)?;
        let Bits { data, at: mut from, mut buffer, mut count } = *bits;
        let mut is_over = false;
        while at <= last {
            let Some(next) = data.get(from..).and_then(<[u8]>::first_chunk::<8>) else { break };
            // Afterwards there are 56 bits or more. A literal and a length take 20 of them at most, and a distance 28.
            buffer |= u64::from_le_bytes(*next) << count;
            from += addressable(u64::from((63 - count) >> 3));
            count |= 56;
            let mut entry = look(table, buffer);
            if entry & SPECIAL != 0 {
                entry = code(entry, &self.longer, buffer >> LITERAL_BITS)?;
                if entry & SPECIAL != 0 {
                    is_over = entry & END != 0;
                    buffer >>= entry & 31;
                    count -= entry & 31;
                    break;
                }
            }
            let [_, first, second, literals] = entry.to_le_bytes();
            // The second one is written over, if it is not a literal.
            *out.get_mut(at..)?.first_chunk_mut()? = [first, second];
            at += usize::from(literals & 3);
            let (used, extra) = (entry & 31, entry >> 5 & 7);
            // Without a length, both the length and the distance are 0.
            let no_length = u64::from(entry & LENGTH == 0);
            let length = 3 + u64::from(second) + low(buffer >> (used - extra), extra);
            let length = addressable(length & no_length.wrapping_sub(1));
            buffer >>= used;
            count -= used;
            let place = buffer & (DISTANCES as u64 - 1) | no_length << DISTANCE_BITS;
            let mut entry = look(&self.distances, place);
            if entry & SPECIAL != 0 {
                entry = code(entry, &self.longer_distances, buffer >> DISTANCE_BITS)?;
                if entry & SPECIAL != 0 {
                    return None;
                }
            }
            let (used, extra) = (entry & 31, entry >> 5 & 15);
            let distance = addressable(u64::from(entry >> 16) + low(buffer >> (used - extra), extra));
            buffer >>= used;
            count -= used;
            let source = at.checked_sub(distance)?;
            let step = *out.get(source..)?.first_chunk::<STEP>()?;
            *out.get_mut(at..)?.first_chunk_mut()? = step;
            if length > STEP || length > distance {
                repeat(out, source, at, length)?;
            }
            at += length;
        }
        *bits = Bits { data, at: from, buffer: low(buffer, count), count };
        Some((at, is_over))
    }

    /// Does the same as [`uniform`](Self::uniform) with branches, which is faster where they are predicted.
    #[inline]
    fn branching(&self, bits: &mut Bits<'_>, out: &mut [u8], mut at: usize) -> Option<(usize, bool)> {
        let table = if self.has_pairs { &*self.pairs } else { &*self.single };
        let last = out.len().checked_sub(ROOM)?;
        let Bits { data, at: mut from, mut buffer, mut count } = *bits;
        let mut is_over = false;
        while at <= last {
            let Some(next) = data.get(from..).and_then(<[u8]>::first_chunk::<8>) else { break };
            buffer |= u64::from_le_bytes(*next) << count;
            from += addressable(u64::from((63 - count) >> 3));
            count |= 56;
            let mut entry = look(table, buffer);
            // Each of these entries takes 12 bits at most, so that 20 are left for a length.
            for _ in 0..3 {
                if entry & (LENGTH | SPECIAL) != 0 {
                    break;
                }
                let [_, first, second, literals] = entry.to_le_bytes();
                *out.get_mut(at..)?.first_chunk_mut()? = [first, second];
                at += usize::from(literals & 3);
                // Without a length there are no extra bits, so that six bits are the number.
                buffer >>= entry & 63;
                count -= entry & 63;
                entry = look(table, buffer);
            }
            if entry & SPECIAL != 0 {
                entry = code(entry, &self.longer, buffer >> LITERAL_BITS)?;
                if entry & SPECIAL != 0 {
                    is_over = entry & END != 0;
                    buffer >>= entry & 31;
                    count -= entry & 31;
                    break;
                }
            }
            // A length takes 20 bits at most, and its distance 28.
            if count < 48 && entry & LENGTH != 0 {
                let Some(next) = data.get(from..).and_then(<[u8]>::first_chunk::<8>) else { break };
                buffer |= u64::from_le_bytes(*next) << count;
                from += addressable(u64::from((63 - count) >> 3));
                count |= 56;
            }
            let [_, first, second, literals] = entry.to_le_bytes();
            *out.get_mut(at..)?.first_chunk_mut()? = [first, second];
            at += usize::from(literals & 3);
            let (used, extra) = (entry & 31, entry >> 5 & 7);
            if entry & LENGTH == 0 {
                buffer >>= used;
                count -= used;
                continue;
            }
            let length = addressable(3 + u64::from(second) + low(buffer >> (used - extra), extra));
            buffer >>= used;
            count -= used;
            let entry = look(&self.distances, buffer & (DISTANCES as u64 - 1));
            let entry = code(entry, &self.longer_distances, buffer >> DISTANCE_BITS)?;
            if entry & SPECIAL != 0 {
                return None;
            }
            let (used, extra) = (entry & 31, entry >> 5 & 15);
            let distance = addressable(u64::from(entry >> 16) + low(buffer >> (used - extra), extra));
            buffer >>= used;
            count -= used;
            let source = at.checked_sub(distance)?;
            let step = *out.get(source..)?.first_chunk::<STEP>()?;
            *out.get_mut(at..)?.first_chunk_mut()? = step;
            let step = *out.get(source + STEP..)?.first_chunk::<STEP>()?;
            *out.get_mut(at + STEP..)?.first_chunk_mut()? = step;
            // A second step is wrong for short distances, but nothing is lost by it.
            let enough = if distance < STEP { distance } else { 2 * STEP };
            if length > enough {
                repeat(out, source, at, length)?;
            }
            at += length;
        }
        *bits = Bits { data, at: from, buffer: low(buffer, count), count };
        Some((at, is_over))
    }
}

/// Copies a stored block to `at`, and returns where it ends.
fn stored(bits: &mut Bits<'_>, max: usize, out: &mut Vec<u8>, at: usize) -> Option<usize> {
    let start = bits.position();
    let (head, rest) = bits.data.get(start..)?.split_first_chunk::<4>()?;
    let [a, b, c, d] = *head;
    let length = u16::from_le_bytes([a, b]);
    if length != !u16::from_le_bytes([c, d]) {
        return None;
    }
    let bytes = rest.get(..length.into())?;
    let end = at + bytes.len();
    if end > max {
        return None;
    }
    if end + ROOM > out.len() {
        out.resize(end + ROOM, 0);
    }
    out.get_mut(at..end)?.copy_from_slice(bytes);
    *bits = Bits { data: bits.data, at: start + 4 + bytes.len(), buffer: 0, count: 0 };
    Some(end)
}

/// Copies `length` bytes from `source` to `at`, which is after it; what is copied may be copied again. Up to a step more is
/// written.
#[inline(never)]
fn repeat(out: &mut [u8], source: usize, at: usize, length: usize) -> Option<()> {
    let distance = at.checked_sub(source)?;
    if distance >= length {
        let (before, rest) = out.split_at_mut_checked(at)?;
        rest.get_mut(..length)?.copy_from_slice(before.get(source..)?.get(..length)?);
        return Some(());
    }
    if distance == 1 {
        let byte = *out.get(source)?;
        out.get_mut(at..)?.get_mut(..length)?.fill(byte);
        return Some(());
    }
    if distance >= STEP {
        for done in (0..length).step_by(STEP) {
            let step = *out.get(source + done..)?.first_chunk::<STEP>()?;
            *out.get_mut(at + done..)?.first_chunk_mut()? = step;
        }
        return Some(());
    }
    let (before, rest) = out.split_at_mut_checked(at)?;
    let pattern = before.get(source..)?;
    let mut step = [0; STEP];
    for (to, from) in step.iter_mut().zip(pattern.iter().cycle()) {
        *to = *from;
    }
    // Only whole patterns are kept of a step.
    let stride = STEP - STEP.checked_rem(distance)?;
    for done in (0..length).step_by(stride) {
        *rest.get_mut(done..)?.first_chunk_mut()? = step;
    }
    Some(())
}

/// Returns the `count` lowest bits.
#[inline(always)]
fn low(bits: u64, count: u32) -> u64 {
    bits & ((1 << count) - 1)
}

/// Returns the entry that the lowest bits select.
#[inline(always)]
fn look<const N: usize>(table: &[u32; N], bits: u64) -> u32 {
    table.get(addressable(bits & (N as u64 - 1))).copied().unwrap_or(SPECIAL)
}

/// Returns the entry itself, or that of a longer code, whose next bits are `rest`.
#[inline(always)]
fn code(entry: u32, longer: &[u32], rest: u64) -> Option<u32> {
    if entry & (SPECIAL | LONGER) != SPECIAL | LONGER {
        return Some(entry);
    }
    let place = u64::from(entry >> 8 & 0xffff) + low(rest, entry & 31);
    longer.get(addressable(place)).copied()
}

/// The bits that were not taken yet: those in `buffer`, and then the bytes from `at` on.
struct Bits<'a> {
    data: &'a [u8],
    at: usize,
    buffer: u64,
    count: u32,
}

impl Bits<'_> {
    /// Adds bytes until there are 49 bits or more, or no more bytes. Above these bits there may be some of the next ones.
    fn refill(&mut self) {
        if let Some(next) = self.data.get(self.at..).and_then(<[u8]>::first_chunk::<8>) {
            self.buffer |= u64::from_le_bytes(*next) << self.count;
            self.at += addressable(u64::from((63 - self.count) >> 3));
            self.count |= 56;
            return;
        }
        while self.count <= 48 {
            let Some(&byte) = self.data.get(self.at) else { return };
            self.buffer |= u64::from(byte) << self.count;
            self.at += 1;
            self.count += 8;
        }
    }

    fn take(&mut self, count: u32) -> Option<u64> {
        self.count = self.count.checked_sub(count)?;
        let bits = low(self.buffer, count);
        self.buffer >>= count;
        Some(bits)
    }

    /// Returns where the first byte is of which no bit was taken.
    fn position(&self) -> usize {
        self.at - addressable(u64::from(self.count / 8))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn inflated(stream: &[u8], max: usize) -> Option<(usize, Vec<u8>)> {
        let mut out = Vec::new();
        Inflater::new().inflate(stream, max, max, &mut out).map(|used| (used, out))
    }

    #[test]
    fn blocks_of_each_kind() {
        let stored = [
            0x01, // the last block, stored
            3, 0, 0xfc, 0xff, // length, its complement
            b'a', b'b', b'c', // bytes
        ];
        assert_eq!(inflated(&stored, 3), Some((8, b"abc".to_vec())));
        // With fixed codes: "abca", a length of 8 with a distance of 3, and the end.
        let fixed = [0x4b, 0x4c, 0x4a, 0x4e, 0x84, 0x21, 0x00];
        assert_eq!(inflated(&fixed, 12), Some((7, b"abcabcabcabc".to_vec())));
        // With codes of its own.
        let own = [
            0x5d, 0x90, 0x51, 0x16, 0x44, 0x21, 0x08, 0x42, 0xd7, 0x0a, 0x22, 0xfb, 0x5f, 0xc2, 0xa4, 0x59,
            0xd3, 0x79, 0xf6, 0x13, 0x1a, 0x78, 0x4f, 0x36, 0x6d, 0x87, 0xd3, 0x55, 0xec, 0xb3, 0xe4, 0x53,
            0x5a, 0x72, 0xf5, 0x72, 0x64, 0x74, 0xeb, 0x1d, 0xef, 0x3a, 0x73, 0x13, 0xa8, 0x20, 0xe3, 0x0e,
            0x43, 0x31, 0xd6, 0xa5, 0xa3, 0xf3, 0x59, 0x39, 0xbc, 0x21, 0x67, 0xfb, 0xf8, 0x58, 0x4e, 0xe2,
            0x9b, 0x4f, 0x89, 0xfd, 0x14, 0xa0, 0xea, 0x61, 0xc8, 0xe0, 0xc3, 0x9b, 0xde, 0x1e, 0x03, 0x7f,
            0xc0, 0xba, 0x66, 0x21, 0x9c, 0x1e, 0xd2, 0xca, 0x62, 0xd9, 0xd1, 0xc2, 0x25, 0xa1, 0x66, 0x63,
            0xff, 0xc2, 0x50, 0x05, 0x36, 0x6d, 0xf8, 0x07,
        ];
        let mut state = 1u32;
        let letters = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345) & 0x7fff_ffff;
            b'a' + (state >> 16 & 15).min(5) as u8
        });
        assert_eq!(inflated(&own, 300), Some((own.len(), letters.take(300).collect())));
        for stream in [&stored[..], &fixed, &own] {
            for cut in 0..stream.len() {
                assert_eq!(inflated(&stream[..cut], 300), None);
            }
            assert_eq!(inflated(stream, 2), None);
        }
        assert_eq!(inflated(&[7], 9), None, "a kind of block that does not exist");
        assert_eq!(inflated(&[1, 3, 0, 3, 0, 1, 2, 3], 9), None, "no complement");
    }

    #[test]
    fn copies_of_every_distance_and_length() {
        for distance in 1..40 {
            for length in 3..=258 {
                let mut out: Vec<u8> = (0..distance as u8).chain(std::iter::repeat_n(0, ROOM)).collect();
                repeat(&mut out, 0, distance, length).unwrap();
                let good = (0..distance + length).all(|at| usize::from(out[at]) == at % distance);
                assert!(good, "{length} bytes at {distance}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, max in 0usize..2000) {
            if let Some((used, out)) = inflated(&bytes, max) {
                prop_assert!(used <= bytes.len() && out.len() <= max);
            }
        }
    }
}
