//! The common part of the codecs of byte-oriented LZ77 formats: copying literals and matches within bounds, and finding equal bytes.

use crate::bound;

pub(crate) mod wide;

/// Bytes that are decoded from literals and matches, or that such are encoded to. Its memory has room behind them that copies of a fixed size
/// may overwrite. It is not set to zero before, which would take 0.2 of the time of decoding LZ4.
///
/// ```
/// use sciformats_core::lz::Output;
///
/// let mut out = Output::new(8, 100);
/// assert!(out.reserve(2) && out.literals(b"xab", 1, 2).is_some());
/// assert!(out.reserve(5) && out.repeat(2, 5).is_some());
/// assert!(!out.reserve(94), "more than the largest length");
/// assert_eq!(out.into_bytes(), b"abababa");
/// ```
#[derive(Debug)]
pub struct Output {
    bytes: Vec<u8>,
    /// Where the output begins, behind other bytes.
    start: usize,
    /// The largest length of `bytes`.
    end: usize,
    /// The largest length of `bytes` that the memory has room for.
    room: usize,
}

impl Output {
    /// The bytes behind the decoded ones.
    const BEHIND: usize = wide::BEHIND;

    /// Returns an empty output with memory for `expected` bytes, which may become at most `max` bytes long.
    pub fn new(expected: usize, max: usize) -> Self {
        Self::after(Vec::with_capacity(bound::sum(expected.min(max), Self::BEHIND)), max)
    }

    /// Returns an empty output behind `bytes` and in the same memory, which may become at most `max` bytes long.
    pub(crate) fn after(bytes: Vec<u8>, max: usize) -> Self {
        let (start, end) = (bytes.len(), bound::sum(bytes.len(), max));
        let room = bytes.capacity().checked_sub(Self::BEHIND).map_or(0, |room| room.min(end));
        Self { bytes, start, end, room }
    }

    /// Makes room for so many bytes more. Returns whether as many are allowed.
    #[inline(always)]
    #[must_use]
    pub fn reserve(&mut self, len: usize) -> bool {
        bound::sum(self.bytes.len(), len) <= self.room || self.grow(len)
    }

    #[cold]
    fn grow(&mut self, len: usize) -> bool {
        let needed = bound::sum(self.bytes.len(), len);
        if needed > self.end {
            return false;
        }
        let wanted = bound::product(self.room, 2).max(needed).min(self.end);
        self.bytes.reserve_exact(bound::sum(wanted - self.bytes.len(), Self::BEHIND));
        self.room = wanted;
        true
    }

    /// Returns how many bytes more are allowed.
    pub(crate) fn allowed(&self) -> usize {
        self.end - self.bytes.len().min(self.end)
    }

    /// Appends `len` bytes from position `from` of `input`, for which there is room; `None` if there are not so many.
    #[inline(always)]
    pub fn literals(&mut self, input: &[u8], from: usize, len: usize) -> Option<()> {
        if !wide::append(input, from, &mut self.bytes, len) {
            self.bytes.extend_from_slice(input.get(from..)?.get(..len)?);
        }
        Some(())
    }

    /// Appends the first `len` bytes of `four`, which are at most four and for which there is room; `None` if there are not so many.
    #[inline(always)]
    pub fn few(&mut self, four: [u8; 4], len: usize) -> Option<()> {
        if !wide::append_few(four, &mut self.bytes, len) {
            self.bytes.extend_from_slice(four.get(..len)?);
        }
        Some(())
    }

    /// Appends `len` bytes, for which there is room, beginning `distance` bytes earlier; `None` if that is before the start.
    #[inline(always)]
    pub fn repeat(&mut self, distance: usize, len: usize) -> Option<()> {
        if wide::append_again(&mut self.bytes, self.start, distance, len) {
            Some(())
        } else {
            self.repeat_long(distance, len)
        }
    }

    /// Appends a match that is long or near the end of the memory.
    #[inline(never)]
    fn repeat_long(&mut self, distance: usize, len: usize) -> Option<()> {
        if distance == 0 || distance > self.len() {
            return None;
        }
        if distance == 1 {
            let byte = *self.bytes.last()?;
            self.bytes.resize(bound::sum(self.bytes.len(), len), byte);
            return Some(());
        }
        // What was appended extends what can be copied next, always by whole periods.
        let mut done = 0;
        while done < len {
            let periods = (distance + done) / distance * distance;
            let (piece, from) = (periods.min(len - done), self.bytes.len() - periods);
            self.bytes.extend_from_within(from..from + piece);
            done += piece;
        }
        Some(())
    }

    /// Appends sequences of LZ4, as [`wide::sequences`] does. Returns the position of the first one that is left.
    pub(crate) fn sequences(&mut self, input: &[u8], next: usize) -> usize {
        wide::append_sequences(input, &mut self.bytes, (self.start, self.end - self.start), next)
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Returns whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Copies `len` bytes from position `from` of `input` to position `at` of `out`; `None` if a range is out of bounds. Bytes of
/// `out` after the copy may change.
#[inline(always)]
pub fn literals(input: &[u8], from: usize, out: &mut [u8], at: usize, len: usize) -> Option<()> {
    // Most runs are short, and a few copies of a fixed size are faster than a call.
    if !wide::literals(input, from, out, at, len) {
        out.get_mut(at..)?.get_mut(..len)?.copy_from_slice(input.get(from..)?.get(..len)?);
    }
    Some(())
}

/// Copies `len` bytes to position `at` of `out`, beginning `distance` bytes earlier; `None` if a range is out of bounds. Bytes
/// after the copy may change.
#[inline(always)]
pub fn repeat(out: &mut [u8], at: usize, distance: usize, len: usize) -> Option<()> {
    if wide::repeat(out, at, distance, len) { Some(()) } else { long(out, at, distance, len) }
}

/// Copies a match that is long or near the end of the output.
#[inline(never)]
fn long(out: &mut [u8], at: usize, distance: usize, len: usize) -> Option<()> {
    if distance == 0 || distance > at || len > out.len().checked_sub(at)? {
        return None;
    }
    if distance == 1 {
        let byte = *out.get(at - 1)?;
        out.get_mut(at..at + len)?.fill(byte);
        return Some(());
    }
    let mut done =
        if len > wide::LONGEST && wide::repeat(out, at, distance, wide::LONGEST) { wide::LONGEST } else { 0 };
    // What was copied extends what can be copied next, always by whole periods.
    while done < len {
        let periods = (distance + done) / distance * distance;
        let piece = periods.min(len - done);
        out.copy_within(at + done - periods..at + done - periods + piece, at + done);
        done += piece;
    }
    Some(())
}

/// Returns the number of equal bytes at `a` and `b`, up to `end`; `b` is the later position.
#[inline(always)]
pub fn common(bytes: &[u8], a: usize, b: usize, end: usize) -> usize {
    let mut len = 0;
    while b + len + 8 <= end {
        let differ = long_word(bytes, a + len) ^ long_word(bytes, b + len);
        if differ != 0 {
            return len + (differ.trailing_zeros() / 8) as usize;
        }
        len += 8;
        if len == 2 * STRIDE {
            len = far(bytes, a, b, len, end);
        }
    }
    while b + len < end && bytes.get(a + len) == bytes.get(b + len) {
        len += 1;
    }
    len
}

/// The number of bytes that are compared at once where many are equal.
const STRIDE: usize = 32;

/// Continues at `len` in steps of 32 equal bytes.
fn far(bytes: &[u8], a: usize, b: usize, mut len: usize, end: usize) -> usize {
    let strides = |from: usize| bytes.get(from..end).unwrap_or_default().as_chunks::<STRIDE>().0.iter();
    let equal = strides(a + len).zip(strides(b + len)).take_while(|(x, y)| x == y).count();
    len += STRIDE * equal;
    len
}

/// Returns whether samples from all parts of `bytes` show almost no repetitions.
pub fn hopeless(bytes: &[u8]) -> bool {
    let stride = bytes.len() / SAMPLES;
    let starts = (0..SAMPLES).map(|k| k * stride + stride / 2);
    !starts.filter_map(|start| bytes.get(start..)?.first_chunk()).any(recurs)
}

const SAMPLES: usize = 4;
const SAMPLE: usize = 512;

/// Returns whether all bytes are about equally frequent in samples from all parts of `bytes`, so that coding their frequencies
/// gains nothing.
pub fn even(bytes: &[u8]) -> bool {
    const PLACES: usize = 16;
    let stride = bytes.len() / PLACES;
    let mut counts = [0u64; 256];
    let starts = (0..PLACES).map(|k| k * stride);
    for sample in starts.filter_map(|start| bytes.get(start..)?.first_chunk::<SAMPLE>()) {
        sample.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    }
    // Pearson's test: for equally frequent bytes the sum is 255 on average, and is very rarely this large.
    let all: u64 = counts.iter().sum();
    let squares: u64 = counts.iter().map(|count| count * count).sum();
    256 * squares / all.max(1) < all + 455
}

/// Returns whether more than a sixteenth of the words have occurred before.
fn recurs(sample: &[u8; SAMPLE]) -> bool {
    let mut last = [0u16; 256];
    let mut hits = 0;
    for at in 1..SAMPLE - 3 {
        let word = word(sample, at);
        let place = &mut last[(word.wrapping_mul(0x9E37_79B1) >> 24) as usize];
        let from = usize::from(std::mem::replace(place, at as u16));
        hits += usize::from(self::word(sample, from) == word);
    }
    hits > SAMPLE / 16
}

/// Returns the eight bytes at `at` as a number; bytes after the end are 0.
#[inline(always)]
pub fn long_word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk::<8>).map_or(0, |w| u64::from_le_bytes(*w))
}

/// Returns the four bytes at `at` as a number; bytes after the end are 0.
#[inline(always)]
pub fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk::<4>).map_or(0, |w| u32::from_le_bytes(*w))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_of_every_period_equal_a_byte_loop() {
        for distance in 1..40 {
            for len in [0, 1, 3, 7, 8, 15, 16, 17, 40, 100, 299, 1500] {
                for room in [0, 7, 8, 16, 40] {
                    let mut out: Vec<u8> = (0..40).collect();
                    out.resize(40 + len + room, 0xEE);
                    let mut expected = out.clone();
                    (40..40 + len).for_each(|i| expected[i] = expected[i - distance]);
                    repeat(&mut out, 40, distance, len).unwrap();
                    assert_eq!(out[..40 + len], expected[..40 + len], "{distance} {len} {room}");
                }
            }
        }
        assert_eq!(repeat(&mut [0; 9], 4, 5, 1), None);
        assert_eq!(repeat(&mut [0; 9], 4, 0, 1), None);
        assert_eq!(repeat(&mut [0; 9], 4, 1, 6), None);
        assert_eq!(repeat(&mut [0; 9], 4, 1, usize::MAX), None);
    }

    #[test]
    fn literals_stay_inside() {
        let input: Vec<u8> = (0..64).collect();
        for (from, at, len) in [(0, 0, 5), (60, 0, 4), (0, 60, 4), (10, 3, 50)] {
            let mut out = vec![0; 64];
            literals(&input, from, &mut out, at, len).unwrap();
            assert_eq!(out[at..at + len], input[from..from + len]);
        }
        assert_eq!(literals(&input, 60, &mut [0; 64], 0, 5), None);
        assert_eq!(literals(&input, 0, &mut [0; 64], 60, 5), None);
        assert_eq!(literals(&input, 99, &mut [0; 64], 0, 0), None);
    }

    #[test]
    fn noise_is_hopeless_until_something_recurs() {
        let mut state = 1u32;
        let mut bytes: Vec<u8> = (0..20_000)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect();
        assert!(hopeless(&bytes) && hopeless(&bytes[..100]));
        bytes[12_000..14_000].fill(7);
        assert!(!hopeless(&bytes));
    }

    #[test]
    fn common_prefixes() {
        let bytes = b"abcdefghijklmnop_abcdefghijklmnop!";
        assert_eq!(common(bytes, 0, 17, bytes.len()), 16);
        assert_eq!(common(bytes, 0, 17, 20), 3);
        assert_eq!(common(bytes, 1, 17, 30), 0);
        assert_eq!(common(bytes, 0, 99, 30), 0);
        let mut long = vec![7; 1000];
        for differs in [63, 64, 65, 95, 96, 97, 500, 990] {
            long[differs] = 8;
            assert_eq!(common(&long, 0, 1, 1000), differs - 1);
            assert_eq!(common(&long, 0, 1, 60), 59);
            long[differs] = 7;
        }
        assert_eq!(common(&long, 0, 1, 1000), 999);
    }
}
