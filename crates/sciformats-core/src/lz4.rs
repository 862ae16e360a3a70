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

use crate::{bound, lz};

/// The length of the shortest match.
pub(crate) const MIN_MATCH: usize = 4;

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
    while next <= input.len() {
        // Most sequences; what these stop at is decoded or refused here.
        (next, at) = lz::wide::sequences(input, out, next, at);
        if FRONT && at == out.len() {
            break;
        }
        (next, at) = sequence::<FRONT>(input, out, next, at)?;
    }
    Some(at)
}

/// Decodes a sequence. Returns the positions after it, of which that in `input` is after the end if the sequence is the last one or, with
/// `FRONT`, if `out` is full.
#[inline(always)]
fn sequence<const FRONT: bool>(
    input: &[u8],
    out: &mut [u8],
    mut next: usize,
    mut at: usize,
) -> Option<(usize, usize)> {
    let token = usize::from(*input.get(next)?);
    next += 1;
    let mut literals = token >> 4;
    if literals == 15 {
        literals = bound::sum(literals, more(input, &mut next)?);
    }
    if FRONT {
        literals = literals.min(out.len() - at);
    }
    lz::literals(input, next, out, at, literals)?;
    next += literals;
    at += literals;
    if FRONT && at == out.len() {
        return Some((input.len() + 1, at));
    }
    let Some(distance) = input.get(next..)?.first_chunk::<2>() else {
        return (next == input.len()).then_some((input.len() + 1, at));
    };
    next += 2;
    let mut len = (token & 15) + MIN_MATCH;
    if len == 15 + MIN_MATCH {
        len = bound::sum(len, more(input, &mut next)?);
    }
    if FRONT {
        len = len.min(out.len() - at);
    }
    lz::repeat(out, at, u16::from_le_bytes(*distance).into(), len)?;
    Some((next, at + len))
}

/// Returns the part of a length that does not fit the token.
#[inline]
fn more(input: &[u8], next: &mut usize) -> Option<usize> {
    let mut sum = 0;
    loop {
        let byte = *input.get(*next)?;
        *next += 1;
        sum = bound::sum(sum, usize::from(byte));
        if byte != 255 {
            return Some(sum);
        }
    }
}
