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

use crate::bound;
use crate::lz::{self, Output};

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
    decode_to::<false>(input, out)
}

/// Decodes the front of a block until `out` is full. Returns the number of bytes; `None` if the block is damaged.
pub fn decode_front(input: &[u8], out: &mut [u8]) -> Option<usize> {
    decode_to::<true>(input, out)
}

/// Appends the bytes of a block to `out`. Returns their number; `None` if the block is damaged or has more than `max` bytes, after which
/// `out` may have some of them. Memory that `out` has behind its bytes is used, and is not set to zero before.
///
/// ```
/// let mut out = b"before".to_vec();
/// let block = [0x34, b'a', b'b', b'c', 3, 0, 0x10, b'!'];
/// assert_eq!(sciformats_core::lz4::append(&block, &mut out, 12), Some(12));
/// assert_eq!(out, b"beforeabcabcabcab!");
/// assert_eq!(sciformats_core::lz4::append(&block, &mut out, 11), None);
/// ```
pub fn append(input: &[u8], out: &mut Vec<u8>, max: usize) -> Option<usize> {
    let mut output = Output::after(std::mem::take(out), max);
    let made = run::<false>(input, &mut output).map(|()| output.len());
    *out = output.into_bytes();
    made
}

/// Where bytes are decoded to.
trait Target {
    /// Returns how many bytes more are allowed.
    fn room(&self) -> usize;

    /// Decodes most sequences. Returns the position of the first one that is left.
    fn sequences(&mut self, input: &[u8], next: usize) -> usize;

    /// Copies literals, for which there is room; `None` if there are not so many.
    fn literals(&mut self, input: &[u8], from: usize, len: usize) -> Option<()>;

    /// Copies a match, for which there is room; `None` if it begins before the start.
    fn repeat(&mut self, distance: usize, len: usize) -> Option<()>;
}

/// A slice, and how many of its bytes have been decoded.
struct Part<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl Target for Part<'_> {
    #[inline(always)]
    fn room(&self) -> usize {
        self.out.len() - self.at
    }

    #[inline(always)]
    fn sequences(&mut self, input: &[u8], next: usize) -> usize {
        let (next, at) = lz::wide::sequences(input, self.out, next, self.at);
        self.at = at;
        next
    }

    #[inline(always)]
    fn literals(&mut self, input: &[u8], from: usize, len: usize) -> Option<()> {
        lz::literals(input, from, self.out, self.at, len)?;
        self.at += len;
        Some(())
    }

    #[inline(always)]
    fn repeat(&mut self, distance: usize, len: usize) -> Option<()> {
        lz::repeat(self.out, self.at, distance, len)?;
        self.at += len;
        Some(())
    }
}

impl Target for Output {
    #[inline(always)]
    fn room(&self) -> usize {
        self.allowed()
    }

    #[inline(always)]
    fn sequences(&mut self, input: &[u8], next: usize) -> usize {
        self.sequences(input, next)
    }

    #[inline(always)]
    fn literals(&mut self, input: &[u8], from: usize, len: usize) -> Option<()> {
        self.literals(input, from, len)
    }

    #[inline(always)]
    fn repeat(&mut self, distance: usize, len: usize) -> Option<()> {
        self.repeat(distance, len)
    }
}

/// Decodes into `out`; with `FRONT`, until `out` is full.
#[inline(never)]
fn decode_to<const FRONT: bool>(input: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut part = Part { out, at: 0 };
    run::<FRONT>(input, &mut part)?;
    Some(part.at)
}

/// Decodes a block; with `FRONT`, until there is no room.
#[inline(always)]
fn run<const FRONT: bool>(input: &[u8], target: &mut impl Target) -> Option<()> {
    let mut next = 0;
    while next <= input.len() {
        // Most sequences; what these stop at is decoded or refused here.
        next = target.sequences(input, next);
        if FRONT && target.room() == 0 {
            break;
        }
        next = sequence::<FRONT>(input, target, next)?;
    }
    Some(())
}

/// Decodes a sequence. Returns the position after it, which is after the end of `input` if the sequence is the last one or, with `FRONT`, if
/// there is no room any more.
#[inline(always)]
fn sequence<const FRONT: bool>(input: &[u8], target: &mut impl Target, mut next: usize) -> Option<usize> {
    let token = usize::from(*input.get(next)?);
    next += 1;
    let mut literals = token >> 4;
    if literals == 15 {
        literals = bound::sum(literals, more(input, &mut next)?);
    }
    literals = within::<FRONT>(literals, target.room())?;
    target.literals(input, next, literals)?;
    next += literals;
    if FRONT && target.room() == 0 {
        return Some(input.len() + 1);
    }
    let Some(distance) = input.get(next..)?.first_chunk::<2>() else {
        return (next == input.len()).then_some(input.len() + 1);
    };
    next += 2;
    let mut len = (token & 15) + MIN_MATCH;
    if len == 15 + MIN_MATCH {
        len = bound::sum(len, more(input, &mut next)?);
    }
    target.repeat(u16::from_le_bytes(*distance).into(), within::<FRONT>(len, target.room())?)?;
    Some(next)
}

/// Returns a length, or with `FRONT` what there is room for; `None` if there is not enough.
#[inline(always)]
fn within<const FRONT: bool>(len: usize, room: usize) -> Option<usize> {
    if FRONT { Some(len.min(room)) } else { (len <= room).then_some(len) }
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
