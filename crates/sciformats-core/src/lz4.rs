//! The decoder of an LZ4 block without a length or a frame.
//!
//! | part of a sequence | meaning |
//! |---|---|
//! | token | high four bits: number of literals; low four bits: length of the match − 4 |
//! | bytes | if the number of literals is 15, they are added to it, up to and including the first that is not 255 |
//! | literals | |
//! | distance | two bytes, little-endian, not 0 |
//! | bytes | if the length is 15, they are added to it in the same way |
//!
//! The last sequence ends with its literals.

use crate::lz;

/// The length of the shortest match.
const MIN_MATCH: usize = 4;

/// Decodes into the front of `out`. Returns the number of bytes; `None` if the block is damaged or longer than `out`.
///
/// ```
/// let mut out = [0; 12];
/// // Three literals, a match of eight bytes from three before, and one literal.
/// let block = [0x34, b'a', b'b', b'c', 3, 0, 0x10, b'!'];
/// assert_eq!(sciformats_core::lz4::decode(&block, &mut out), Some(12));
/// assert_eq!(&out, b"abcabcabcab!");
/// assert_eq!(sciformats_core::lz4::decode(&block, &mut [0; 11]), None);
/// ```
pub fn decode(input: &[u8], out: &mut [u8]) -> Option<usize> {
    run::<false>(input, out)
}

/// Decodes the front of a block until `out` is full. Returns the number of bytes; `None` if the block is damaged.
pub fn decode_front(input: &[u8], out: &mut [u8]) -> Option<usize> {
    run::<true>(input, out)
}

/// Decodes into `out`; with `FRONT`, until `out` is full.
#[inline(never)]
fn run<const FRONT: bool>(input: &[u8], out: &mut [u8]) -> Option<usize> {
    let (mut next, mut at) = (0, 0);
    loop {
        (next, at) = short_sequences(input, out, next, at);
        if FRONT && at == out.len() {
            return Some(at);
        }
        let token = usize::from(*input.get(next)?);
        next += 1;
        let mut literals = token >> 4;
        if literals == 15 {
            literals += more(input, &mut next)?;
        }
        if FRONT {
            literals = literals.min(out.len() - at);
        }
        lz::literals(input, next, out, at, literals)?;
        next += literals;
        at += literals;
        if FRONT && at == out.len() {
            return Some(at);
        }
        let Some(distance) = input.get(next..)?.first_chunk::<2>() else {
            return (next == input.len()).then_some(at);
        };
        next += 2;
        let mut len = (token & 15) + MIN_MATCH;
        if len == 15 + MIN_MATCH {
            len += more(input, &mut next)?;
        }
        if FRONT {
            len = len.min(out.len() - at);
        }
        lz::repeat(out, at, u16::from_le_bytes(*distance).into(), len)?;
        at += len;
    }
}

/// Decodes sequences that have few literals and are far from both ends, which most are. Returns where it stopped. The caller
/// continues there, and finds any errors.
#[inline(always)]
fn short_sequences(input: &[u8], out: &mut [u8], mut next: usize, mut at: usize) -> (usize, usize) {
    while let Some(head) = input.get(next..).and_then(<[u8]>::first_chunk::<20>)
        && let Some(target) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<64>)
    {
        let (literals, short) = (usize::from(head[0] >> 4), usize::from(head[0] & 15));
        if literals == 15 {
            break;
        }
        target[..16].copy_from_slice(&head[1..17]);
        let here = at + literals;
        let distance = usize::from(u16::from_le_bytes([head[1 + literals], head[2 + literals]]));
        let mut after = next + literals + 3;
        let mut len = short + MIN_MATCH;
        if short < 15 && distance >= 8 {
            // The window contains the match and 18 bytes from here on. Each copy may use what the copy before has written.
            let Some(from) = here.checked_sub(distance) else { break };
            let Some(window) = out.get_mut(from..here + 18) else { break };
            window.copy_within(0..8, distance);
            window.copy_within(8..16, distance + 8);
            window.copy_within(16..18, distance + 16);
        } else {
            if short == 15 {
                let Some(extra) = more(input, &mut after) else { break };
                len += extra;
            }
            if lz::repeat(out, here, distance, len).is_none() {
                break;
            }
        }
        next = after;
        at = here + len;
    }
    (next, at)
}

/// Returns the part of a length that does not fit the token.
#[inline]
fn more(input: &[u8], next: &mut usize) -> Option<usize> {
    let mut sum = 0;
    loop {
        let byte = *input.get(*next)?;
        *next += 1;
        sum += usize::from(byte);
        if byte != 255 {
            return Some(sum);
        }
    }
}
