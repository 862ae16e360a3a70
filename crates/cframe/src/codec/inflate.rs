//! DEFLATE (RFC 1951), decoding.
//!
//! A stream is a sequence of blocks. Bits are taken from the low end of each byte.
//!
//! | bits | part of a block |
//! |---|---|
//! | 1 | it is the last one |
//! | 2 | 0 stored, 1 fixed codes, 2 codes of its own |
//! | | stored: to the next byte; length and its complement, two bytes each; bytes |
//! | 5, 5, 4 | codes of its own: their numbers, − 257, − 1, − 4; then their lengths, which are coded themselves |
//! | | literals, and lengths with distances, up to the end code |

use super::huffman::{END, INVALID, LITERAL, SPECIAL, Table};
use super::lz;

/// What a decoder keeps from one stream to the next.
#[derive(Clone, Default)]
pub(crate) struct Inflater {
    literals: Table<11, 2342>,
    distances: Table<8, 402>,
    lengths: Table<7, 128>,
    /// Whether the tables are those of the fixed codes.
    fixed: bool,
}

/// The order in which the lengths of the codes for lengths are stored.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Literals, the end, and lengths with their extra bits.
const LITERALS: [u32; 288] = {
    let mut all = [SPECIAL | INVALID; 288];
    let mut symbol = 0;
    while symbol < 256 {
        all[symbol] = LITERAL | (symbol as u32) << 16;
        symbol += 1;
    }
    all[256] = SPECIAL | END;
    let (mut base, mut k) = (3, 0);
    while k < 28 {
        let extra = if k < 4 { 0 } else { k / 4 - 1 };
        all[257 + k] = base << 16 | extra as u32;
        base += 1 << extra;
        k += 1;
    }
    all[285] = 258 << 16;
    all
};

/// Distances with their extra bits.
const DISTANCES: [u32; 32] = {
    let mut all = [SPECIAL | INVALID; 32];
    let (mut base, mut k) = (1, 0);
    while k < 30 {
        let extra = if k < 2 { 0 } else { k / 2 - 1 };
        all[k] = base << 16 | extra as u32;
        base += 1 << extra;
        k += 1;
    }
    all
};

/// Lengths of codes, as literals.
const LENGTHS: [u32; 19] = {
    let mut all = [0; 19];
    let mut symbol = 0;
    while symbol < 19 {
        all[symbol] = LITERAL | (symbol as u32) << 16;
        symbol += 1;
    }
    all
};

impl Inflater {
    /// Decodes a stream into the front of `out`. Returns how many bytes there are, and how many of `input` were taken.
    pub(crate) fn inflate(&mut self, input: &[u8], out: &mut [u8]) -> Option<(usize, usize)> {
        let mut bits = Bits { input, next: 0, word: 0, count: 0 };
        let mut at = 0;
        loop {
            bits.refill()?;
            let last = bits.take(1) == 1;
            match bits.take(2) {
                0 => at = stored(&mut bits, out, at)?,
                1 => {
                    self.load_fixed()?;
                    at = self.symbols(&mut bits, out, at)?;
                }
                2 => {
                    self.load(&mut bits)?;
                    at = self.symbols(&mut bits, out, at)?;
                }
                _ => return None,
            }
            if last {
                return Some((at, bits.align()?));
            }
        }
    }

    fn load_fixed(&mut self) -> Option<()> {
        if self.fixed {
            return Some(());
        }
        let mut lengths = [8; 288];
        lengths.get_mut(144..256)?.fill(9);
        lengths.get_mut(256..280)?.fill(7);
        self.literals.build(&lengths, &LITERALS)?;
        self.distances.build(&[5; 32], &DISTANCES)?;
        self.fixed = true;
        Some(())
    }

    /// The codes that a block brings with it.
    fn load(&mut self, bits: &mut Bits<'_>) -> Option<()> {
        self.fixed = false;
        let (literals, distances) = (bits.take(5) as usize + 257, bits.take(5) as usize + 1);
        let count = bits.take(4) as usize + 4;
        if literals > 286 || distances > 30 {
            return None;
        }
        let mut of_lengths = [0; 19];
        for &place in ORDER.iter().take(count) {
            bits.refill()?;
            *of_lengths.get_mut(place)? = bits.take(3) as u8;
        }
        // Codes for lengths are a whole set, even if there is only one.
        let taken: u32 = of_lengths.iter().filter(|len| **len > 0).map(|len| 128 >> len).sum();
        if taken != 128 {
            return None;
        }
        self.lengths.build(&of_lengths, &LENGTHS)?;
        let mut lengths = [0; 286 + 30];
        let lengths = lengths.get_mut(..literals + distances)?;
        self.read_lengths(bits, lengths)?;
        let (of_literals, of_distances) = lengths.split_at(literals);
        // Without a code for the end there is none.
        of_literals.get(256).filter(|len| **len > 0)?;
        self.literals.build(of_literals, &LITERALS)?;
        self.distances.build(of_distances, &DISTANCES)
    }

    fn read_lengths(&self, bits: &mut Bits<'_>, lengths: &mut [u8]) -> Option<()> {
        let mut at = 0;
        while at < lengths.len() {
            bits.refill()?;
            let entry = self.lengths.first(bits.word);
            if entry & SPECIAL != 0 {
                return None;
            }
            bits.drop(entry);
            let (len, times) = match (entry >> 16 & 31) as u8 {
                16 => (*lengths.get(at.checked_sub(1)?)?, 3 + bits.take(2)),
                17 => (0, 3 + bits.take(3)),
                18 => (0, 11 + bits.take(7)),
                len => (len, 1),
            };
            lengths.get_mut(at..at + times as usize)?.fill(len);
            at += times as usize;
        }
        Some(())
    }

    /// Decodes up to the end of a block.
    #[inline(never)]
    fn symbols(&self, stream: &mut Bits<'_>, out: &mut [u8], begin: usize) -> Option<usize> {
        let (mut bits, mut at) = (*stream, begin);
        bits.refill()?;
        let mut entry = self.literals.first(bits.word);
        loop {
            // Two literals of the first table leave enough bits for a third or for a length.
            if let Some(places) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<2>) {
                for place in places {
                    if entry & LITERAL == 0 {
                        break;
                    }
                    *place = (entry >> 16) as u8;
                    at += 1;
                    bits.drop(entry);
                    entry = self.literals.first(bits.word);
                }
            }
            if entry & SPECIAL != 0 {
                if entry & (END | INVALID) == 0 {
                    bits.drop(entry);
                    entry = self.literals.second(entry, bits.word);
                }
                if entry & END != 0 {
                    bits.drop(entry);
                    *stream = bits;
                    return Some(at);
                }
                if entry & INVALID != 0 {
                    return None;
                }
            }
            if entry & LITERAL != 0 {
                *out.get_mut(at)? = (entry >> 16) as u8;
                at += 1;
                bits.drop(entry);
                bits.refill()?;
                entry = self.literals.first(bits.word);
                continue;
            }
            let len = bits.value(entry);
            let distance = self.distance(&mut bits)?;
            // The next entry is on its way while the bytes are copied.
            bits.refill()?;
            entry = self.literals.first(bits.word);
            lz::repeat(out, at, distance, len)?;
            at += len;
        }
    }

    #[inline(always)]
    fn distance(&self, bits: &mut Bits<'_>) -> Option<usize> {
        bits.refill()?;
        let mut entry = self.distances.first(bits.word);
        if entry & SPECIAL != 0 {
            if entry & INVALID == 0 {
                bits.drop(entry);
                entry = self.distances.second(entry, bits.word);
            }
            if entry & INVALID != 0 {
                return None;
            }
        }
        Some(bits.value(entry))
    }
}

fn stored(bits: &mut Bits<'_>, out: &mut [u8], at: usize) -> Option<usize> {
    let start = bits.align()?;
    let head = bits.input.get(start..)?.first_chunk::<4>()?;
    let (len, complement) = (u16::from_le_bytes([head[0], head[1]]), u16::from_le_bytes([head[2], head[3]]));
    if len != !complement {
        return None;
    }
    let (start, end) = (start + 4, at + usize::from(len));
    let bytes = bits.input.get(start..start + usize::from(len))?;
    out.get_mut(at..end)?.copy_from_slice(bytes);
    bits.next = start + bytes.len();
    Some(end)
}

/// The stream as bits.
#[derive(Clone, Copy)]
struct Bits<'a> {
    input: &'a [u8],
    /// The first byte that is not in the word.
    next: usize,
    /// The next bits, lowest first. Bits above the `count`th are zeros, or those that the stream has there.
    word: u64,
    /// More than 63 after more bits have been taken than there are, which the next refill sees.
    count: u32,
}

impl Bits<'_> {
    /// Makes that there are 56 bits, or all that the stream has. `None` if more were taken than there are.
    #[inline(always)]
    fn refill(&mut self) -> Option<()> {
        if self.count > 63 {
            return None;
        }
        match self.input.get(self.next..).and_then(<[u8]>::first_chunk::<8>) {
            Some(bytes) => {
                self.word |= u64::from_le_bytes(*bytes) << self.count;
                self.next += (63 - self.count as usize) >> 3;
                self.count |= 56;
            }
            None => self.refill_at_end(),
        }
        Some(())
    }

    #[cold]
    fn refill_at_end(&mut self) {
        while self.count < 56
            && let Some(&byte) = self.input.get(self.next)
        {
            self.word |= u64::from(byte) << self.count;
            self.next += 1;
            self.count += 8;
        }
    }

    /// The next bits, at most 31.
    #[inline(always)]
    fn take(&mut self, count: u32) -> u32 {
        let value = self.word as u32 & !(u32::MAX << count);
        self.word >>= count;
        self.count = self.count.wrapping_sub(count);
        value
    }

    /// Takes the bits of an entry.
    #[inline(always)]
    fn drop(&mut self, entry: u32) {
        // The shift takes the low six bits of its number, and entries have no more there.
        self.word = self.word.wrapping_shr(entry);
        self.count = self.count.wrapping_sub(entry & 0xff);
    }

    /// Takes the bits of an entry. Returns its base and what the extra bits add to it.
    #[inline(always)]
    fn value(&mut self, entry: u32) -> usize {
        let bits = self.word & !(u64::MAX << (entry & 63));
        let extra = bits >> (entry >> 8 & 15);
        self.drop(entry);
        (entry >> 16) as usize + extra as usize
    }

    /// Drops the rest of a byte. Returns the position of the next one; the word is empty.
    fn align(&mut self) -> Option<usize> {
        if self.count > 63 {
            return None;
        }
        self.next -= (self.count / 8) as usize;
        (self.word, self.count) = (0, 0);
        Some(self.next)
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn blocks_by_hand() {
        let mut inflater = Inflater::default();
        let stored = [
            0x00, // not the last block, stored
            2, 0, 0xfd, 0xff, b'a', b'b', // two bytes
            0x01, // the last block, stored
            1, 0, 0xfe, 0xff, b'c', // one byte
            9,    // no part of it
        ];
        let mut out = [0; 4];
        assert_eq!(inflater.inflate(&stored, &mut out), Some((3, 13)));
        assert_eq!(&out, b"abc\0");
        // The last block, fixed codes: a, b, c, the end.
        assert_eq!(inflater.inflate(&[0x4b, 0x4c, 0x4a, 0x06, 0x00], &mut out), Some((3, 5)));
        assert_eq!(&out, b"abc\0");
        assert_eq!(inflater.inflate(&[0x4b, 0x4c, 0x4a, 0x06], &mut out), None, "cut short");
        assert_eq!(inflater.inflate(&[0x4b, 0x4c, 0x4a, 0x06, 0x00], &mut out[..2]), None, "no room");
        assert_eq!(inflater.inflate(&[0x07], &mut out), None, "no kind of block");
        assert_eq!(inflater.inflate(&[0x01, 1, 0, 1, 0, 9], &mut out), None, "the complement");
    }

    fn deflated(input: &[u8], level: u32) -> Vec<u8> {
        let mut out = vec![0; 2 * input.len() + 1000];
        let mut state = Compress::new(Compression::new(level), false);
        assert_eq!(state.compress(input, &mut out, FlushCompress::Finish).unwrap(), Status::StreamEnd);
        out.truncate(state.total_out() as usize);
        out
    }

    #[track_caller]
    fn round_trip(inflater: &mut Inflater, input: &[u8], level: u32) {
        let bytes = deflated(input, level);
        let mut out = vec![0; input.len()];
        assert_eq!(inflater.inflate(&bytes, &mut out), Some((input.len(), bytes.len())), "level {level}");
        assert!(out == input, "level {level}");
    }

    #[test]
    fn what_another_makes_is_read() {
        let mut inflater = Inflater::default();
        let mut state = 1u32;
        let mut noise = |bits: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as u8 & ((1u32 << bits) - 1) as u8
        };
        for level in 0..10 {
            // Few symbols, all symbols, long matches of every kind.
            for bits in [1, 3, 8] {
                let input: Vec<u8> = (0..100_000).map(|_| noise(bits)).collect();
                round_trip(&mut inflater, &input, level);
            }
            // Some symbols are rare, so their codes are long.
            let rare: Vec<u8> = (0..200_000u32).map(|i| (i.trailing_zeros() * 13) as u8).collect();
            round_trip(&mut inflater, &rare, level);
            let mut far: Vec<u8> = (0..32_768).map(|_| noise(8)).collect();
            far.extend_from_within(..);
            far.extend_from_within(1000..1300);
            far.extend(vec![7; 70_000]);
            round_trip(&mut inflater, &far, level);
        }
    }

    /// What the decoder of another says: bytes made and taken.
    fn theirs(bytes: &[u8], out: &mut [u8]) -> Option<(usize, usize)> {
        let mut state = Decompress::new(false);
        match state.decompress(bytes, out, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) => Some((state.total_out() as usize, state.total_in() as usize)),
            _ => None,
        }
    }

    proptest! {
        #[test]
        fn any_bytes_mean_what_they_mean_to_another(bytes: Vec<u8>, kind in 0u8..3, len in 1usize..3000) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() {
                *first = (*first & !7) | 1 | kind << 1;
            }
            let (mut ours, mut other) = (vec![0; len], vec![0; len]);
            let made = Inflater::default().inflate(&bytes, &mut ours);
            prop_assert_eq!(made, theirs(&bytes, &mut other));
            if let Some((made, _)) = made {
                prop_assert_eq!(&ours[..made], &other[..made]);
            }
        }

        #[test]
        fn a_changed_byte_means_what_it_means_to_another(
            seed in proptest::collection::vec(0u8..9, 1..2000), at: usize, value: u8, level in 1u32..10,
        ) {
            let mut bytes = deflated(&seed, level);
            let at = at % bytes.len();
            bytes[at] = value;
            let (mut ours, mut other) = (vec![0; 4000], vec![0; 4000]);
            let made = Inflater::default().inflate(&bytes, &mut ours);
            prop_assert_eq!(made, theirs(&bytes, &mut other));
            if let Some((made, _)) = made {
                prop_assert_eq!(&ours[..made], &other[..made]);
            }
        }
    }
}
