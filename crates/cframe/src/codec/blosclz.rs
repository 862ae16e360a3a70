//! `BloscLZ`, a byte-oriented LZ77.
//!
//! | control byte | meaning |
//! |---|---|
//! | first byte | literals: their number is the low 5 bits plus 1; the other bits are 1, the format |
//! | < 32 | literals: control + 1 of them follow |
//! | ≥ 32 | a match: L = (control >> 5) − 1, H = control & 31 |
//!
//! If L is 6, further bytes are added to it, up to and including the first that is not 255. Then a byte B follows. If H is 31
//! and B is 255, two more bytes D (big-endian) follow, and the distance of the match is D + 8192; otherwise it is (H << 8 | B) +
//! 1. The length of the match is L + 3. A stream ends with literals.

use super::lz4::{Slot, back};
use super::{CORRUPT, Outcome, exact, lz};

/// The length of the longest run of literals.
const MAX_RUN: usize = 32;
/// The smallest distance that needs two more bytes.
const FAR: usize = 8192;
/// The largest distance that is written. The format permits slightly larger ones.
const MAX_DISTANCE: usize = 65_535 + FAR - 12;
/// The distance from the end of the input at which matches end.
const MARGIN: usize = 12;
/// Smaller inputs are not compressed.
const MIN_INPUT: usize = 16;
/// The shortest matches that are written. Distant matches, and those in planes of bytes at a low level, need two bytes more.
/// Shorter matches would save a byte or two, but take as much time to read as long ones.
const MIN_MATCH: usize = 7;

/// Decodes into all of `out`.
pub(crate) fn decode(input: &[u8], out: &mut [u8]) -> Outcome {
    let made = run::<false>(input, out).ok_or(CORRUPT)?;
    exact(made, out.len())
}

/// Decodes the front of a stream, up to the length of `out`.
pub(crate) fn decode_front(input: &[u8], out: &mut [u8]) -> Outcome {
    let made = run::<true>(input, out).ok_or(CORRUPT)?;
    exact(made, out.len())
}

/// Decodes into `out`; with `FRONT`, until `out` is full.
#[inline(never)]
fn run<const FRONT: bool>(input: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut control = usize::from(input.first()? & 31);
    let mut next = 1;
    let mut at = 0;
    loop {
        if control < 32 {
            let mut len = control + 1;
            if FRONT {
                len = len.min(out.len() - at);
            }
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
            if FRONT {
                len = len.min(out.len() - at);
            }
            lz::repeat(out, at, distance, len)?;
            at += len;
        }
        if FRONT && at == out.len() {
            return Some(at);
        }
        match input.get(next) {
            Some(&byte) => control = byte.into(),
            None => return Some(at),
        }
        next += 1;
    }
}

/// The number of entries of the hash table.
const TABLE: usize = 1 << 14;

/// An encoder that is used for one stream after another.
#[derive(Default)]
pub(crate) struct Encoder {
    /// The table for short inputs, which needs less memory for the same number of entries.
    short: Option<Box<[u16; TABLE]>>,
    long: Option<Box<[u32; TABLE]>>,
}

impl Encoder {
    /// Encodes `input` into the front of `out`, if it fits. Returns the number of bytes. If `uniform` is set, all parts of the
    /// input are similar, so that encoding stops after the first part if it gains little.
    pub(crate) fn encode(&mut self, input: &[u8], level: u8, uniform: bool, out: &mut [u8]) -> Option<usize> {
        if input.len() < MIN_INPUT {
            return None;
        }
        let bits = match level {
            0 | 1 => 12,
            2 => 13,
            _ => TABLE.ilog2(),
        };
        // The number of positions without a match after which positions are skipped.
        let patience = match level {
            4..=6 if !uniform => 5,
            7.. if !uniform => 6,
            _ => 4,
        };
        // The gain in percent that is worth the time of decoding.
        let least = match level {
            0 | 1 => 200,
            2 => 150,
            3..=6 => 120,
            7 => 115,
            8 => 110,
            _ => 100,
        };
        let probe = if uniform { (input.len() / 8, least) } else { (usize::MAX, least) };
        let shortest = if uniform && level <= 6 { MIN_MATCH + 2 } else { MIN_MATCH };
        let hasty = uniform || level > 3;
        let plan = Plan { bits, patience, hasty, shortest, thorough: level >= 9, probe };
        let made = Stream { input, out, len: 0, anchor: 0 };
        if input.len() <= usize::from(u16::MAX) + 1 {
            Search::over(self.short.get_or_insert_with(|| Box::new([0; TABLE])), plan)?.run(made)
        } else {
            Search::over(self.long.get_or_insert_with(|| Box::new([0; TABLE])), plan)?.run(made)
        }
    }
}

/// The parameters of the search.
#[derive(Clone, Copy)]
struct Plan {
    bits: u32,
    patience: u32,
    /// Whether matches that are too short count as no matches for this purpose.
    hasty: bool,
    shortest: usize,
    thorough: bool,
    /// The position at which encoding may stop, and the smallest ratio in percent with which it continues.
    probe: (usize, usize),
}

struct Search<'t, S> {
    table: &'t mut [S; TABLE],
    plan: Plan,
}

impl<'t, S: Slot> Search<'t, S> {
    fn over(table: &'t mut [S; TABLE], plan: Plan) -> Option<Self> {
        table.get_mut(..1 << plan.bits)?.fill(S::of(0));
        Some(Self { table, plan })
    }

    #[inline(never)]
    fn run(mut self, mut made: Stream<'_>) -> Option<usize> {
        let input = made.input;
        let end = input.len() - MARGIN;
        // The position of the first byte makes it a run of literals, so there is no match at 0.
        let (mut at, mut misses) = (1, 0usize);
        // Where nothing has matched up to here, samples of the rest say whether anything will.
        let mut unsure = self.plan.probe.0;
        while at < end {
            let Some((from, len)) = self.look_up(input, at, end) else {
                // After many positions without a match, another match is unlikely, so more and more positions are skipped.
                misses += 1;
                at += 1 + (misses >> self.plan.patience);
                if at >= unsure {
                    if made.len == 0 && lz::hopeless(input.get(at..).unwrap_or_default()) {
                        return None;
                    }
                    unsure = usize::MAX;
                }
                continue;
            };
            let back = back(input, made.anchor.max(1), from, at);
            if back + len < self.shortest(at - from) {
                misses += 1;
                at += if self.plan.hasty { 1 + (misses >> self.plan.patience) } else { 1 };
                continue;
            }
            misses >>= 2;
            made.matched(at - back, at - from, back + len)?;
            // The bytes across the end of a match predict better than those after it where this has occurred before.
            while made.anchor < end {
                at = made.anchor - ACROSS;
                let Some((from, len)) = self.look_up(input, at, end) else { break };
                if len < ACROSS + self.shortest(at - from) {
                    break;
                }
                made.matched(made.anchor, at - from, len - ACROSS)?;
            }
            at = made.anchor;
            if self.plan.thorough {
                self.exchange(lz::word(input, at - 1), at - 1);
            }
            if at >= self.plan.probe.0 {
                if made.len * self.plan.probe.1 > 100 * at {
                    return None;
                }
                self.plan.probe.0 = usize::MAX;
            }
        }
        made.finish()
    }

    /// Returns the last position with the same four bytes as `at`, and the number of equal bytes there.
    #[inline(always)]
    fn look_up(&mut self, input: &[u8], at: usize, end: usize) -> Option<(usize, usize)> {
        let word = lz::word(input, at);
        let from = self.exchange(word, at);
        if at - from > MAX_DISTANCE || lz::word(input, from) != word {
            return None;
        }
        Some((from, 4 + lz::common(input, from + 4, at + 4, end)))
    }

    #[inline(always)]
    fn shortest(&self, distance: usize) -> usize {
        self.plan.shortest + if distance >= FAR { 2 } else { 0 }
    }

    /// Returns the last position of the hash of a word, and replaces it by `at`.
    #[inline(always)]
    fn exchange(&mut self, word: u32, at: usize) -> usize {
        let hash = word.wrapping_mul(0x9E37_79B1) >> (32 - self.plan.bits);
        // The mask does not change the index, but shows the compiler that it is in range. A stream has at most 2^31 bytes.
        std::mem::replace(&mut self.table[hash as usize & (TABLE - 1)], S::of(at)).get()
    }
}

/// The number of bytes before the end of a match that are looked up together with what follows.
const ACROSS: usize = 3;

/// The stream that is being written.
struct Stream<'a> {
    input: &'a [u8],
    out: &'a mut [u8],
    len: usize,
    /// The first byte of the input that is not in the stream yet.
    anchor: usize,
}

impl Stream<'_> {
    /// Adds the bytes before `at` that are not in the stream yet as literals, and then a match. `None` if they do not fit.
    #[inline(always)]
    fn matched(&mut self, at: usize, distance: usize, len: usize) -> Option<()> {
        self.literals(at)?;
        let far = distance >= FAR;
        let near = (distance - 1).min(FAR - 1);
        let extra = len - 3;
        let (code, mut rest) = if extra < 6 { (extra + 1, None) } else { (7, Some(extra - 6)) };
        self.put((code << 5 | near >> 8) as u8)?;
        while let Some(more) = rest {
            self.put(more.min(255) as u8)?;
            rest = more.checked_sub(255);
        }
        self.put(near as u8)?;
        if far {
            let beyond = distance - FAR;
            self.put((beyond >> 8) as u8)?;
            self.put(beyond as u8)?;
        }
        self.anchor = at + len;
        Some(())
    }

    /// Adds the last literals and the mark of the format. Returns the length of the stream.
    fn finish(mut self) -> Option<usize> {
        self.literals(self.input.len())?;
        *self.out.first_mut()? |= 1 << 5;
        Some(self.len)
    }

    #[inline(always)]
    fn literals(&mut self, to: usize) -> Option<()> {
        while self.anchor < to {
            let run = (to - self.anchor).min(MAX_RUN);
            self.put(run as u8 - 1)?;
            lz::literals(self.input, self.anchor, self.out, self.len, run)?;
            self.len += run;
            self.anchor += run;
        }
        Some(())
    }

    #[inline(always)]
    fn put(&mut self, byte: u8) -> Option<()> {
        *self.out.get_mut(self.len)? = byte;
        self.len += 1;
        Some(())
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
        let mut out = vec![0; input.len()];
        let mut encoder = Encoder::default();
        let len = encoder.encode(input, level, false, &mut out)?;
        let mut again = vec![0; input.len()];
        decode(&out[..len], &mut again).unwrap();
        assert!(again == input);
        assert_eq!(encoder.encode(input, level, false, &mut out[..len - 1]), None);
        assert_eq!(encoder.encode(input, level, false, &mut out[..len]), Some(len));
        Some(len)
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

    #[test]
    fn the_front_of_a_stream() {
        let mut input: Vec<u8> = (0..3000u32).map(|i| ((i * i) >> 7) as u8).collect();
        input.extend([9; 700]);
        input.extend_from_within(100..2100);
        let mut bytes = vec![0; 10_000];
        let len = Encoder::default().encode(&input, 5, false, &mut bytes).unwrap();
        for front in (0..input.len()).step_by(13).chain([input.len()]) {
            let mut out = vec![0xEE; front];
            decode_front(&bytes[..len], &mut out).unwrap();
            assert!(out == input[..front], "{front}");
        }
        assert!(decode_front(&bytes[..len], &mut vec![0; input.len() + 1]).is_err());
    }

    #[test]
    fn what_is_uniform_is_given_up_early() {
        let mut state = 1u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state as usize >> 8
        };
        let mut input: Vec<u8> = (0..2000).map(|_| random() as u8).collect();
        while input.len() < 50_000 {
            let from = random() % (input.len() - 10);
            input.extend_from_within(from..from + 10);
            input.extend((0..60).map(|_| random() as u8));
        }
        let mut out = vec![0; input.len()];
        let mut encoder = Encoder::default();
        assert!(encoder.encode(&input, 5, false, &mut out).is_some());
        assert_eq!(encoder.encode(&input, 5, true, &mut out), None);
        assert!(encoder.encode(&[7; 50_000], 5, true, &mut out).is_some());
        // Nothing repeats in the first eighth, but all of the rest does.
        let mut late: Vec<u8> = (0..10_000).map(|_| random() as u8).collect();
        assert_eq!(encoder.encode(&late, 5, true, &mut out), None);
        late.resize(50_000, 7);
        assert!(encoder.encode(&late, 5, true, &mut out).unwrap() < 11_000);
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
