//! `BloscLZ`, a byte-oriented LZ77.
//!
//! | control byte | means |
//! |---|---|
//! | first byte | literals: low 5 bits + 1 of them; the other bits say 1, the format |
//! | < 32 | literals: control + 1 of them follow |
//! | ≥ 32 | a match: L = (control >> 5) − 1, H = control & 31 |
//!
//! If L is 6, bytes follow that are added to it, up to and including the first that is not 255. Then comes a byte B.
//! If H is 31 and B 255, two more bytes D, big-endian, follow, and the match stands D + 8192 back; otherwise
//! (H << 8 | B) + 1 back. It is L + 3 bytes long. A stream ends with literals.

use super::{CORRUPT, Outcome, exact, lz};

/// The longest literal run.
const MAX_RUN: usize = 32;
/// The first distance that needs two more bytes.
const FAR: usize = 8192;
/// The largest distance that is written; the format reaches a little further.
const MAX_DISTANCE: usize = 65_535 + FAR - 12;
/// Matches end so far before the end of the input.
const MARGIN: usize = 12;
/// Inputs below this are not worth trying.
const MIN_INPUT: usize = 16;

/// Decodes into all of `out`.
pub(crate) fn decode(input: &[u8], out: &mut [u8]) -> Outcome {
    let made = run(input, out).ok_or(CORRUPT)?;
    exact(made, out.len())
}

fn run(input: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut control = usize::from(input.first()? & 31);
    let mut next = 1;
    let mut at = 0;
    loop {
        if control < 32 {
            let len = control + 1;
            lz::literals(input, next, out, at, len)?;
            next += len;
            at += len;
        } else {
            let mut len = (control >> 5) + 2;
            if len == 9 {
                loop {
                    let more = *input.get(next)?;
                    next += 1;
                    len += usize::from(more);
                    if more != 255 {
                        break;
                    }
                }
            }
            let low = *input.get(next)?;
            next += 1;
            let mut distance = ((control & 31) << 8 | usize::from(low)) + 1;
            if distance == FAR {
                let far = input.get(next..)?.first_chunk::<2>()?;
                next += 2;
                distance += usize::from(u16::from_be_bytes(*far));
            }
            lz::repeat(out, at, distance, len)?;
            at += len;
        }
        match input.get(next) {
            Some(&byte) => control = byte.into(),
            None => return Some(at),
        }
        next += 1;
    }
}

/// Encodes `input` behind what `out` holds, if that takes less than `limit` bytes. Returns whether it did; if it did
/// not, `out` is as it was.
pub(crate) fn encode(input: &[u8], level: u8, out: &mut Vec<u8>, limit: usize) -> bool {
    let start = out.len();
    let done = input.len() >= MIN_INPUT && Encoder::new(input, level, out, limit).run();
    let fits = done && out.len() - start < limit;
    if !fits {
        out.truncate(start);
    }
    fits
}

struct Encoder<'a> {
    input: &'a [u8],
    out: &'a mut Vec<u8>,
    /// Where the bytes of this stream begin in `out`.
    start: usize,
    limit: usize,
    /// Position + 1 of the last occurrence of a hash; 0 for none.
    table: Vec<u32>,
    bits: u32,
    thorough: bool,
}

impl<'a> Encoder<'a> {
    fn new(input: &'a [u8], level: u8, out: &'a mut Vec<u8>, limit: usize) -> Self {
        let bits = match level {
            0 | 1 => 12,
            2 => 13,
            _ => 14,
        };
        let start = out.len();
        Self { input, out, start, limit, table: vec![0; 1 << bits], bits, thorough: level >= 9 }
    }

    fn slot(&mut self, at: usize) -> Option<&mut u32> {
        let hash = lz::word(self.input, at).wrapping_mul(0x9E37_79B1) >> (32 - self.bits);
        self.table.get_mut(hash as usize)
    }

    /// The last position with the same four bytes at hand, whose place `at` takes.
    fn candidate(&mut self, at: usize) -> Option<usize> {
        let slot = self.slot(at)?;
        let found = (*slot as usize).checked_sub(1);
        // A stream is at most 2^31 bytes long.
        *slot = at as u32 + 1;
        found.filter(|&found| at - found <= MAX_DISTANCE)
    }

    fn run(&mut self) -> bool {
        let end = self.input.len() - MARGIN;
        // The first byte of the stream is a literal run by its position.
        let (mut at, mut anchor) = (1, 0);
        let mut misses = 0usize;
        while at < end {
            let found = self.candidate(at).and_then(|from| {
                let len = lz::common(self.input, from, at, end);
                let shortest = if at - from >= FAR { 6 } else { 4 };
                (len >= shortest).then_some((from, len))
            });
            let Some((from, len)) = found else {
                // What has not matched for long will hardly match next: look at ever fewer places.
                misses += 1;
                at += 1 + (misses >> 6);
                continue;
            };
            misses = 0;
            self.literals(anchor, at);
            self.matched(at - from, len);
            if self.out.len() - self.start >= self.limit {
                return false;
            }
            let last = at + len;
            if self.thorough
                && let Some(slot) = self.slot(last - 2)
            {
                *slot = (last - 2) as u32 + 1;
            }
            if let Some(slot) = self.slot(last - 1) {
                *slot = (last - 1) as u32 + 1;
            }
            (at, anchor) = (last, last);
        }
        self.literals(anchor, self.input.len());
        if let Some(first) = self.out.get_mut(self.start) {
            *first |= 1 << 5;
        }
        true
    }

    fn literals(&mut self, from: usize, to: usize) {
        for run in self.input.get(from..to).unwrap_or_default().chunks(MAX_RUN) {
            self.out.push(run.len() as u8 - 1);
            self.out.extend_from_slice(run);
        }
    }

    fn matched(&mut self, distance: usize, len: usize) {
        let far = distance >= FAR;
        let near = (distance - 1).min(FAR - 1);
        let extra = len - 3;
        let (code, mut rest) = if extra < 6 { (extra + 1, None) } else { (7, Some(extra - 6)) };
        self.out.push((code << 5 | near >> 8) as u8);
        while let Some(more) = rest {
            self.out.push(more.min(255) as u8);
            rest = more.checked_sub(255);
        }
        self.out.push(near as u8);
        if far {
            self.out.extend(((distance - FAR) as u16).to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::FaultKind;

    use super::*;

    #[test]
    fn a_stream_by_hand() {
        let bytes = [
            0x22, b'a', b'b', b'c', // format 1, three literals
            0x40, 2, // L 1, H 0, B 2: four bytes from three back
            0xe0, 1, 0, // L 6 + 1, B 0: ten bytes from one back
            0x00, b'!', // one literal
        ];
        let mut out = [0; 18];
        decode(&bytes, &mut out).unwrap();
        assert_eq!(&out, b"abcabcaaaaaaaaaaa!");
        assert_eq!(decode(&bytes, &mut [0; 17]), Err(CORRUPT));
        assert_eq!(decode(&bytes, &mut [0; 19]), Err(FaultKind::Mismatch { expected: 19, found: 18 }));
    }

    fn round_trip(input: &[u8], level: u8) -> Option<usize> {
        let mut out = vec![9];
        if !encode(input, level, &mut out, input.len()) {
            assert_eq!(out, [9]);
            return None;
        }
        let mut again = vec![0; input.len()];
        decode(&out[1..], &mut again).unwrap();
        assert!(again == input);
        Some(out.len() - 1)
    }

    #[test]
    fn far_and_long_matches() {
        let mut state = 1u32;
        let mut noise: Vec<u8> = (0..70_000)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect();
        assert_eq!(round_trip(&noise, 9), None);
        noise.extend_from_within(1000..6000);
        noise.extend_from_within(70_000..71_000);
        for distance in [8191, 8192, 8193, 73_000] {
            let from = noise.len() - distance;
            noise.extend_from_within(from..from + 2000);
        }
        assert!(round_trip(&noise, 5).unwrap() < 76_000);
        assert!(round_trip(&[7; 100_000], 1).unwrap() < 500);
        assert_eq!(round_trip(&[7; 15], 9), None);
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes(seed in proptest::collection::vec(0u8..4, 0..2000), level in 1u8..10) {
            round_trip(&seed, level);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, len in 0usize..5000) {
            let _ = decode(&bytes, &mut vec![0; len]);
        }
    }
}
