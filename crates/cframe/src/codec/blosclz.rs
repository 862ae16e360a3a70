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

use super::lz4::{Slot, back};
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
/// The shortest matches that are written: of a far one, and of one in a plane of bytes at a low level, two bytes more.
/// Shorter ones would save a byte or two, and take the time of long ones to read.
const MIN_MATCH: usize = 7;

/// Decodes into all of `out`.
pub(crate) fn decode(input: &[u8], out: &mut [u8]) -> Outcome {
    let made = run::<false>(input, out).ok_or(CORRUPT)?;
    exact(made, out.len())
}

/// Decodes the front of a stream, as much of it as `out` holds.
pub(crate) fn decode_front(input: &[u8], out: &mut [u8]) -> Outcome {
    let made = run::<true>(input, out).ok_or(CORRUPT)?;
    exact(made, out.len())
}

/// Decodes into `out`; if `FRONT`, until that is full.
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

/// The entries of the hash table.
const TABLE: usize = 1 << 14;

/// An encoder that is used for one stream after another.
#[derive(Default)]
pub(crate) struct Encoder {
    /// For short inputs: less memory for as many entries.
    short: Option<Box<[u16; TABLE]>>,
    long: Option<Box<[u32; TABLE]>>,
}

impl Encoder {
    /// Encodes `input` into the front of `out`, if it fits. Returns the number of bytes. If `uniform`, the input is of one
    /// kind throughout, and given up after its first part if that is hardly worth it.
    pub(crate) fn encode(&mut self, input: &[u8], level: u8, uniform: bool, out: &mut [u8]) -> Option<usize> {
        if input.len() < MIN_INPUT {
            return None;
        }
        let bits = match level {
            0 | 1 => 12,
            2 => 13,
            _ => TABLE.ilog2(),
        };
        // How many positions without a match it takes to look at fewer of them.
        let patience = match level {
            4..=6 if !uniform => 5,
            7.. if !uniform => 6,
            _ => 4,
        };
        // What it must win, in percent, to be worth reading it.
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

/// How to search.
#[derive(Clone, Copy)]
struct Plan {
    bits: u32,
    patience: u32,
    /// Whether matches that are too short count as none in that.
    hasty: bool,
    shortest: usize,
    thorough: bool,
    /// Where to give up, and the ratio in percent below which.
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
        // The first byte of the stream is a literal run by its position, so no match is at 0.
        let (mut at, mut misses) = (1, 0usize);
        while at < end {
            let Some((from, len)) = self.look_up(input, at, end) else {
                // What has not matched for long will hardly match next: look at ever fewer places.
                misses += 1;
                at += 1 + (misses >> self.plan.patience);
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
            // The bytes across the end of a match tell better than those behind it where this has been before.
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

    /// Returns the last position with the same four bytes as `at`, and how many bytes are equal there.
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

    /// Returns the last position of the hash of a word, whose place `at` takes.
    #[inline(always)]
    fn exchange(&mut self, word: u32, at: usize) -> usize {
        let hash = word.wrapping_mul(0x9E37_79B1) >> (32 - self.plan.bits);
        // The mask changes nothing; it tells the compiler that the index is inside. A stream is at most 2^31 bytes long.
        std::mem::replace(&mut self.table[hash as usize & (TABLE - 1)], S::of(at)).get()
    }
}

/// Bytes before the end of a match that are looked up with what follows.
const ACROSS: usize = 3;

/// The stream that is being made.
struct Stream<'a> {
    input: &'a [u8],
    out: &'a mut [u8],
    len: usize,
    /// The first byte of the input that is not in the stream.
    anchor: usize,
}

impl Stream<'_> {
    /// Adds what is not there yet before `at`, as literals, and the match there. `None` if it does not fit.
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
