//! Copies of literals and matches in pieces of a fixed size, and the loop over the sequences of LZ4. They check once per literals, match or
//! sequence that there is room for the last piece, which the safe code of this crate has to do for each piece. Where there is no room, they
//! do nothing, and the safe code takes over.

#![allow(unsafe_code)]

use std::ptr::copy_nonoverlapping;

use crate::lz4::MIN_MATCH;

/// Copies may change so many bytes after their end.
pub(super) const BEHIND: usize = 64;

/// The length of the longest copy that is made in pieces. A call of the system's own function takes less time for longer ones.
pub(super) const LONGEST: usize = 320;

const WIDE: usize = 16;

/// Copies `len` bytes from position `from` of `input` to position `at` of `out`. Returns `false` if there is no room, or if there are too many
/// bytes.
#[inline(always)]
pub(super) fn literals(input: &[u8], from: usize, out: &mut [u8], at: usize, len: usize) -> bool {
    if len > LONGEST || !has_room(input, from, len) || !has_room(out, at, len) {
        return false;
    }
    // SAFETY: both buffers have `len + BEHIND` bytes from these positions on.
    unsafe { copy(input.as_ptr().add(from), out.as_mut_ptr().add(at), len) };
    true
}

/// Copies `len` bytes to position `at` of `out`, beginning `distance` bytes earlier. Returns `false` if there is no room, if there are too many
/// bytes, or if they begin before the start.
#[inline(always)]
pub(super) fn repeat(out: &mut [u8], at: usize, distance: usize, len: usize) -> bool {
    if len > LONGEST || !has_room(out, at, len) || distance == 0 || distance > at {
        return false;
    }
    // SAFETY: `distance` is not 0, so many bytes precede the position, and `len + BEHIND` bytes follow; all have been set.
    unsafe { short_or_again::<false>(out.as_mut_ptr().add(at), distance, len) };
    true
}

/// Appends `len` bytes from position `from` of `input` to `out`. Returns `false` if there is no room in its memory, or if there are too many
/// bytes.
#[inline(always)]
pub(super) fn append(input: &[u8], from: usize, out: &mut Vec<u8>, len: usize) -> bool {
    let at = out.len();
    if len > LONGEST || !has_room(input, from, len) || out.capacity() - at < len + BEHIND {
        return false;
    }
    // SAFETY: `input` has `len + BEHIND` bytes from this position on, and as many can be written behind the bytes of `out`. The first `len` of
    // them are set.
    unsafe {
        copy(input.as_ptr().add(from), out.as_mut_ptr().add(at), len);
        out.set_len(at + len);
    }
    true
}

/// Appends the first `len` bytes of `four`, which are at most four. Returns `false` if there is no room in the memory of `out`.
#[inline(always)]
pub(super) fn append_few(four: [u8; 4], out: &mut Vec<u8>, len: usize) -> bool {
    let at = out.len();
    if len > 4 || out.capacity() - at < 4 {
        return false;
    }
    // SAFETY: four bytes can be written behind the bytes of `out`, and at most as many are added.
    unsafe {
        out.as_mut_ptr().add(at).cast::<[u8; 4]>().write(four);
        out.set_len(at + len);
    }
    true
}

/// Appends `len` bytes to `out`, beginning `distance` bytes earlier. Returns `false` if there is no room in its memory, if there are too many
/// bytes, or if they begin before position `start`.
#[inline(always)]
pub(super) fn append_again(out: &mut Vec<u8>, start: usize, distance: usize, len: usize) -> bool {
    let at = out.len();
    let precede = at.checked_sub(start).is_some_and(|before| distance <= before);
    if len > LONGEST || out.capacity() - at < len + BEHIND || distance == 0 || !precede {
        return false;
    }
    // SAFETY: `distance` is not 0, and so many bytes precede the end of `out`, which have been set. `len + BEHIND` bytes can be written behind
    // it, of which the first `len` are set.
    unsafe {
        short_or_again::<true>(out.as_mut_ptr().add(at), distance, len);
        out.set_len(at + len);
    }
    true
}

/// Copies a match, which is most often short.
///
/// # Safety
///
/// As for [`again`].
#[inline(always)]
unsafe fn short_or_again<const NEW: bool>(to: *mut u8, distance: usize, len: usize) {
    // SAFETY: so many bytes precede `to`, and a short match needs 32 of those that follow. A piece does not overlap with its source, because it
    // is not longer than the distance.
    unsafe {
        if distance >= WIDE && len <= 2 * WIDE {
            let from = to.sub(distance);
            copy_nonoverlapping(from, to, WIDE);
            if len > WIDE {
                copy_nonoverlapping(from.add(WIDE), to.add(WIDE), WIDE);
            }
        } else {
            again::<NEW>(to, distance, len);
        }
    }
}

/// Returns whether there are `len + BEHIND` bytes from position `at` on.
#[inline(always)]
fn has_room(bytes: &[u8], at: usize, len: usize) -> bool {
    bytes.len().checked_sub(at).is_some_and(|room| room >= len + BEHIND)
}

/// Decodes sequences of LZ4 from position `next` of `input` to position `at` of `out`, if and as long as they are far from both ends. Returns
/// the positions of the first sequence that is not decoded; bytes of `out` from there on may have changed.
#[inline(never)]
pub(crate) fn sequences(input: &[u8], out: &mut [u8], next: usize, at: usize) -> (usize, usize) {
    // SAFETY: all bytes of `out` have been set.
    unsafe { run::<false>(input, out.as_mut_ptr(), out.len(), next, at) }
}

/// Does the same with what is behind position `start` of `out`, and appends to it, to at most `max` bytes behind this position. Returns the
/// position of the first sequence in `input` that is not decoded.
#[inline(never)]
pub(crate) fn append_sequences(
    input: &[u8],
    out: &mut Vec<u8>,
    (start, max): (usize, usize),
    next: usize,
) -> usize {
    let Some(at) = out.len().checked_sub(start) else { return next };
    let size = (out.capacity() - start).min(max);
    // SAFETY: `size` bytes from `start` on are in the memory of `out`. Those before `at` have been set, and so have those before the position
    // that is returned.
    unsafe {
        let (next, at) = run::<true>(input, out.as_mut_ptr().add(start), size, next, at);
        out.set_len(start + at);
        next
    }
}

/// Decodes sequences to the `size` bytes from `start` on.
///
/// # Safety
///
/// They must be in the same buffer, and no reference to them may be in use. Those before `at` must have been set; without `NEW`, all must.
#[inline(always)]
unsafe fn run<const NEW: bool>(
    input: &[u8],
    start: *mut u8,
    size: usize,
    next: usize,
    at: usize,
) -> (usize, usize) {
    // A token, 16 bytes of which at most 14 are literals, and a distance; at most 14 literals, and 18 bytes of a match.
    const INPUT: usize = 20;
    const OUTPUT: usize = 32;
    let (Some(last_next), Some(last_at)) = (input.len().checked_sub(INPUT), size.checked_sub(OUTPUT)) else {
        return (next, at);
    };
    if next > last_next || at > last_at {
        return (next, at);
    }
    let first = input.as_ptr();
    // SAFETY: `from` and `to` are inside of `input` and the output here, and at the start of each turn `INPUT` bytes follow `from` and `OUTPUT`
    // bytes follow `to`: the loop ends where this is not so. In a turn, `head` goes from `from` forward, over the token, the literals and the
    // distance. At most 14 literals end inside of the first 15 bytes; for more, it is checked that `BEHIND` bytes follow them in both
    // buffers. So the distance is inside of `input`, and `more` checks each byte that it reads. `here` is the end of the literals, which 18
    // bytes follow; a match begins at or after `start`, because its distance is compared with the bytes before `here`, and is at least 1
    // byte before `here`. What `copy` and `again` require is written beside them. Whatever the bytes are, `from` and `to` are only changed
    // at the end of a turn, to positions that are not after the ends of the buffers. All bytes before `here` have been set, so that those which
    // a match consists of have been set, too.
    unsafe {
        let (end, room) = (first.add(input.len()), start.add(size));
        let (last_from, last_to) = (first.add(last_next), start.add(last_at));
        let (mut from, mut to) = (first.add(next), start.add(at));
        while from <= last_from && to <= last_to {
            let token = usize::from(*from);
            let (literals, short) = (token >> 4, token & 15);
            let (mut head, mut here) = (from.add(1), to);
            if literals < 15 {
                copy_nonoverlapping(head, here, WIDE);
                (head, here) = (head.add(literals), here.add(literals));
            } else {
                rare();
                let Some(extra) = more(&mut head, end) else { break };
                let literals = 15 + extra;
                if literals > LONGEST
                    || end.offset_from_unsigned(head) < literals + BEHIND
                    || room.offset_from_unsigned(here) < literals + BEHIND
                {
                    break;
                }
                copy(head, here, literals);
                (head, here) = (head.add(literals), here.add(literals));
            }
            let distance = usize::from(u16::from_le_bytes(*head.cast::<[u8; 2]>()));
            head = head.add(2);
            if distance > here.offset_from_unsigned(start) {
                break;
            }
            let mut len = short + MIN_MATCH;
            if short < 15 && distance >= 8 {
                let source = here.sub(distance);
                // Each copy may use what the copy before has written.
                copy_nonoverlapping(source, here, 8);
                copy_nonoverlapping(source.add(8), here.add(8), 8);
                copy_nonoverlapping(source.add(16), here.add(16), 2);
                (from, to) = (head, here.add(len));
                continue;
            }
            if short == 15 {
                let Some(extra) = more(&mut head, end) else { break };
                len += extra;
            }
            if distance == 0 || len > LONGEST || room.offset_from_unsigned(here) < len + BEHIND {
                break;
            }
            again::<NEW>(here, distance, len);
            (from, to) = (head, here.add(len));
        }
        (from.offset_from_unsigned(first), to.offset_from_unsigned(start))
    }
}

/// Tells the compiler that a branch is rarely taken.
#[inline]
#[cold]
fn rare() {}

/// Returns the part of a length that does not fit the token; `None` at the end of the input, or if it is too long for pieces.
///
/// # Safety
///
/// `head` and `end` must point into the same buffer, and the bytes between them must be readable.
#[inline(always)]
unsafe fn more(head: &mut *const u8, end: *const u8) -> Option<usize> {
    let mut sum = 0;
    while *head < end {
        // SAFETY: the byte is before the end, so that the position after it is not after the end.
        let byte = unsafe {
            let byte = **head;
            *head = head.add(1);
            byte
        };
        sum += usize::from(byte);
        if byte != 255 {
            return Some(sum);
        }
        if sum > LONGEST {
            return None;
        }
    }
    None
}

/// Copies literals.
///
/// # Safety
///
/// `len + BEHIND` bytes must be readable at `from` and writable at `to`, in buffers that do not overlap.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    let mut done = 0;
    loop {
        // SAFETY: the piece begins at most at the end, unless `len` is 0, and is not longer than what follows.
        unsafe {
            copy_nonoverlapping(from.add(done), to.add(done), 2 * WIDE);
            copy_nonoverlapping(from.add(done + 2 * WIDE), to.add(done + 2 * WIDE), 2 * WIDE);
        }
        done += 4 * WIDE;
        if done >= len {
            break;
        }
    }
}

/// Copies a match.
///
/// # Safety
///
/// `distance` must not be 0, so many bytes must precede `to` in its buffer, and `len + BEHIND` bytes must follow. No reference to the buffer
/// may be in use. The bytes that precede must have been set; without `NEW`, those that follow must, too.
#[inline(always)]
unsafe fn again<const NEW: bool>(to: *mut u8, distance: usize, len: usize) {
    let mut done = 0;
    // SAFETY: all bytes that are read are before those that are written, and are in the buffer. A piece begins before `len`, or is one of the
    // first pieces, which end within `BEHIND` bytes, so that each ends within `len + BEHIND` bytes. Pieces do not overlap with their sources,
    // because they are not longer than the distance; patterns are read as a whole before they are written.
    unsafe {
        let source = to.sub(distance);
        if distance >= 2 * WIDE {
            loop {
                copy_nonoverlapping(source.add(done), to.add(done), 2 * WIDE);
                copy_nonoverlapping(source.add(done + 2 * WIDE), to.add(done + 2 * WIDE), 2 * WIDE);
                done += 4 * WIDE;
                if done >= len {
                    return;
                }
            }
        }
        if distance >= WIDE {
            loop {
                copy_nonoverlapping(source.add(done), to.add(done), WIDE);
                done += WIDE;
                if done >= len {
                    return;
                }
            }
        }
        // Reading only what is repeated is faster than reading a word across bytes that were written a moment ago.
        let (pattern, step) = match distance {
            1 => ([*source; WIDE], WIDE),
            2 => {
                let pair = u128::from(u16::from_le_bytes(*source.cast::<[u8; 2]>()));
                (pair.wrapping_mul(u128::MAX / 0xFFFF).to_le_bytes(), WIDE)
            }
            _ if NEW => pattern(exactly(source, distance), distance),
            _ => pattern(u128::from_le_bytes(*source.cast::<[u8; WIDE]>()), distance),
        };
        // Without a loop, no branch must be predicted. A step is at least 8.
        for _ in 0..4 {
            to.add(done).cast::<[u8; WIDE]>().write(pattern);
            done += step;
        }
        while done < len {
            to.add(done).cast::<[u8; WIDE]>().write(pattern);
            done += step;
        }
    }
}

/// Returns the first `distance` bytes, of which there are 3 to 15, as a number, without reading those that follow. The words that are read
/// overlap, in bits that are equal.
///
/// # Safety
///
/// There must be so many bytes.
#[inline(always)]
unsafe fn exactly(source: *const u8, distance: usize) -> u128 {
    // SAFETY: each word ends at most `distance` bytes after the first.
    unsafe {
        if distance >= 8 {
            let word = |at| u128::from(u64::from_le_bytes(*source.add(at).cast::<[u8; 8]>()));
            word(0) | word(distance - 8) << (8 * (distance - 8))
        } else if distance >= 4 {
            let word = |at| u128::from(u32::from_le_bytes(*source.add(at).cast::<[u8; 4]>()));
            word(0) | word(distance - 4) << (8 * (distance - 4))
        } else {
            let word = |at| u128::from(u16::from_le_bytes(*source.add(at).cast::<[u8; 2]>()));
            word(0) | word(1) << 8
        }
    }
}

/// Returns the first `distance` of 16 bytes, which are less than 16, repeated until there are 16, and how many of these are whole repetitions.
#[inline(always)]
fn pattern(word: u128, distance: usize) -> ([u8; WIDE], usize) {
    let Period { mask, factor, turn, step } = PERIODS[distance % WIDE];
    if distance >= 8 {
        let once = word & mask;
        return ((once | once << (8 * distance)).to_le_bytes(), step);
    }
    let (mask, word) = (mask as u64, word as u64);
    let low = (word & mask).wrapping_mul(factor);
    let high = (low >> turn & mask).wrapping_mul(factor);
    ((u128::from(high) << 64 | u128::from(low)).to_le_bytes(), step)
}

/// How a number of bytes is repeated.
#[derive(Clone, Copy)]
struct Period {
    /// The bits of the bytes.
    mask: u128,
    /// Multiplication by it repeats up to seven bytes in a word of eight.
    factor: u64,
    /// The bits of the ninth byte's place in the bytes.
    turn: u32,
    /// The bytes of whole repetitions in 16 bytes.
    step: usize,
}

const PERIODS: [Period; WIDE] = {
    let mut all = [Period { mask: 0, factor: 0, turn: 0, step: WIDE }; WIDE];
    let mut distance = 1;
    while distance < WIDE {
        let mut factor = 0;
        let mut bit = 0;
        while bit < 64 {
            factor |= 1 << bit;
            bit += 8 * distance;
        }
        let mask = u128::MAX >> (128 - 8 * distance);
        all[distance] =
            Period { mask, factor, turn: 8 * (8 % distance) as u32, step: WIDE - WIDE % distance };
        distance += 1;
    }
    all
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Decodes byte by byte, as far as the block is right.
    fn plain(input: &[u8], out: &mut [u8]) -> Option<usize> {
        let (mut next, mut at) = (0, 0);
        let count = |nibble: usize, next: &mut usize| {
            let mut sum = nibble;
            while sum >= 15 {
                let byte = *input.get(*next)?;
                *next += 1;
                sum += usize::from(byte);
                if byte != 255 {
                    break;
                }
            }
            Some(sum)
        };
        loop {
            let token = usize::from(*input.get(next)?);
            next += 1;
            for _ in 0..count(token >> 4, &mut next)? {
                *out.get_mut(at)? = *input.get(next)?;
                (next, at) = (next + 1, at + 1);
            }
            let Some(distance) = input.get(next..)?.first_chunk::<2>() else {
                return (next == input.len()).then_some(at);
            };
            let distance = usize::from(u16::from_le_bytes(*distance));
            next += 2;
            for _ in 0..count(token & 15, &mut next)? + MIN_MATCH {
                let from = at.checked_sub(distance).filter(|&from| from < at)?;
                *out.get_mut(at)? = out[from];
                at += 1;
            }
        }
    }

    /// Returns the bytes of sequences with these numbers of literals, distances and lengths.
    fn block(parts: &[(usize, u16, usize)]) -> Vec<u8> {
        let mut block = Vec::new();
        let rest = |block: &mut Vec<u8>, len: usize| {
            if len >= 15 {
                block.extend(std::iter::repeat_n(255, (len - 15) / 255));
                block.push(((len - 15) % 255) as u8);
            }
        };
        for &(literals, distance, len) in parts {
            block.push((literals.min(15) << 4 | len.min(15)) as u8);
            rest(&mut block, literals);
            block.extend((0..literals).map(|i| (i * 7 + literals) as u8));
            block.extend(distance.to_le_bytes());
            rest(&mut block, len);
        }
        block.extend([0x10, b'!']);
        block
    }

    fn agree(input: &[u8], len: usize) {
        let (mut ours, mut expected) = (vec![0; len], vec![0; len]);
        let made = crate::lz4::decode(input, &mut ours);
        assert_eq!(made, plain(input, &mut expected));
        assert!(made.is_none_or(|made| ours[..made] == expected[..made]));
        // The same behind other bytes, with memory that has been used and without.
        for (before, room, used) in [(0, 0, 0), (5, 0, 0), (5, len / 2, 9), (0, len, 0), (5, 2 * len, len)] {
            let mut out = vec![0xEE; before + used];
            out.truncate(before);
            out.reserve_exact(room);
            assert_eq!(crate::lz4::append(input, &mut out, len), made);
            assert!(out.len() <= before + len && out[..before].iter().all(|&byte| byte == 0xEE));
            assert!(made.is_none_or(|made| out[before..] == expected[..made]));
        }
    }

    #[test]
    fn long_blocks() {
        let parts: Vec<_> = (1..6000).map(|i| (i % 31, 1 + (i * i % 300) as u16, i % 77)).collect();
        let all: usize = parts.iter().map(|(literals, _, len)| literals + len + MIN_MATCH).sum::<usize>() + 1;
        let parts =
            [&[(400, 1, 0)][..], &parts, &[(90_000, 70, 200_000), (70_000, 3, 70_000), (1, 5, 40)]].concat();
        let input = block(&parts);
        let all = all + 404 + 90_000 + 200_004 + 70_000 + 70_004 + 45;
        let mut made = vec![0; all];
        assert_eq!(plain(&input, &mut made), Some(all));
        for room in [all, all - 1, all + 1, 2 * all, all / 2] {
            agree(&input, room);
        }
        for cut in [1, 2, 3, 40, 69_000, 160_000] {
            agree(&input[..input.len() - cut], all);
        }
    }

    #[test]
    fn every_distance_and_length() {
        for distance in 1..80 {
            for len in (0..90).chain([250, 270, 300, 316, 317, 400, 1000]) {
                let input = block(&[(90, 3, 40), (distance % 18, distance as u16, len), (20, 9, 300)]);
                agree(&input, 2000);
                let mut made = vec![0; 2000];
                assert!(plain(&input, &mut made).is_some());
            }
        }
    }

    #[test]
    fn lengths_that_never_end_are_refused() {
        for token in [0xF0, 0x0F] {
            let input = [&[token][..], &[255; 5000]].concat();
            agree(&input, 5000);
        }
    }

    proptest! {
        #[test]
        fn the_same_as_byte_by_byte(
            parts in prop::collection::vec((0usize..40, 1u16..60, 0usize..40), 0..40),
            damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
            cut in prop::option::of(any::<prop::sample::Index>()),
            room in 0usize..4000,
        ) {
            let mut input = block(&parts);
            if let Some((place, byte)) = damage {
                let place = place.index(input.len());
                input[place] = byte;
            }
            if let Some(end) = cut {
                input.truncate(end.index(input.len()));
            }
            agree(&input, room);
        }

        #[test]
        fn any_bytes(input in prop::collection::vec(any::<u8>(), 0..600), room in 0usize..3000) {
            agree(&input, room);
        }
    }
}
