//! LZF (filter 32000): runs of literals, and copies of bytes that were decoded before.
//!
//! | first byte | what follows |
//! |---|---|
//! | 0–31 | as many literals as this number, plus one |
//! | 32–223 | the lower byte of the distance less 1, whose higher bits are bits 0–4; bits 5–7 are the length less 2 |
//! | 224–255 | a byte that adds to the length, then the lower byte of the distance |

use super::bits::low_byte;
use sciformats_core::lz::{self, Output};
use sciformats_core::{Fault, FaultKind};

/// Decodes at most `max` bytes. This does not use nom, because parsing each code with its combinators takes 1.4 times as many
/// instructions for runs and copies of 2 to 14 bytes.
pub(crate) fn decode(input: &[u8], expected: usize, max: usize) -> Result<Vec<u8>, Fault> {
    let mut out = Output::new(expected, max);
    let mut next = 0;
    while let Some(&control) = input.get(next) {
        let control = usize::from(control);
        next += 1;
        if control < 32 {
            let len = control + 1;
            if !out.reserve(len) {
                return Err(super::too_long(max));
            }
            out.literals(input, next, len).ok_or_else(|| super::truncated("literal run"))?;
            next += len;
            continue;
        }
        let byte = |at: usize| {
            input.get(at).map(|&byte| usize::from(byte)).ok_or_else(|| super::truncated("back reference"))
        };
        let mut len = (control >> 5) + 2;
        if len == 9 {
            len += byte(next)?;
            next += 1;
        }
        let distance = ((control & 31) << 8 | byte(next)?) + 1;
        next += 1;
        if !out.reserve(len) {
            return Err(super::too_long(max));
        }
        out.repeat(distance, len).ok_or_else(|| {
            let kind = FaultKind::OutOfBounds { found: distance as u64, end: out.len() as u64 + 1 };
            Fault::new("back reference", kind)
        })?;
    }
    Ok(out.into_bytes())
}

const HASH_BITS: u32 = 14;
const MAX_DISTANCE: usize = 8192;
const MAX_LENGTH: usize = 264;
const MAX_LITERALS: usize = 32;

/// Encodes; `None` would mean that literals are outside of the input. A copy always refers to the latest known position at which the next three bytes occurred.
#[inline(never)] // as a part of a larger function, the loop has too few registers
pub(crate) fn encode(input: &[u8]) -> Option<Vec<u8>> {
    // At worst all bytes are literals.
    let longest = input.len() + input.len().div_ceil(MAX_LITERALS);
    let mut out = Output::new(longest, longest);
    // The lower bits of positions, which tell how far back one is. What is farther back is told apart by its bytes.
    let mut seen = Box::new([0u16; 1 << HASH_BITS]);
    let low = |at: usize| (at & 0xffff) as u16;
    // The mask does not change the index, but shows the compiler that it is in range.
    let slot =
        |word: u32| (word.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize & ((1 << HASH_BITS) - 1);
    let mut literals = 0; // the start of the literals that are not written yet
    let (mut at, mut misses) = (0, 0);
    while let Some(four) = input.get(at..).and_then(<[u8]>::first_chunk::<4>) {
        let word = u32::from_le_bytes(*four) << 8;
        let before = std::mem::replace(&mut seen[slot(word)], low(at));
        let distance = usize::from(low(at).wrapping_sub(before));
        let from = at.wrapping_sub(distance);
        if distance.wrapping_sub(1) >= MAX_DISTANCE || from > at || lz::word(input, from) << 8 != word {
            // Where nothing is found for long, not every position is tried.
            misses += 1;
            at += 1 + (misses >> 6);
            continue;
        }
        misses = 0;
        let len = equal(input, from, at);
        run(&mut out, input, literals, at)?;
        copy(&mut out, distance - 1, len - 2)?;
        at += len;
        literals = at;
        // The last byte of a copy and those that follow are probably repeated, too.
        seen[slot(lz::word(input, at - 1) << 8)] = low(at - 1);
    }
    run(&mut out, input, literals, input.len())?;
    Some(out.into_bytes())
}

/// Returns the number of equal bytes, of which there are three or more. Short lengths are found by comparing byte by byte: the processor
/// often predicts where that ends, and continues there before it has the bytes, which takes a tenth of the time of encoding records less.
#[inline(always)]
fn equal(input: &[u8], from: usize, at: usize) -> usize {
    if let (Some(a), Some(b)) = (
        input.get(from..).and_then(<[u8]>::first_chunk::<12>),
        input.get(at..).and_then(<[u8]>::first_chunk::<12>),
    ) {
        for len in 3..12 {
            if a[len] != b[len] {
                return len;
            }
        }
    }
    lz::common(input, from, at, input.len().min(at + MAX_LENGTH))
}

/// Appends the literals from one position to another.
#[inline(always)]
fn run(out: &mut Output, input: &[u8], mut from: usize, to: usize) -> Option<()> {
    while from < to {
        let len = MAX_LITERALS.min(to - from);
        out.few([low_byte(len as u64 - 1), 0, 0, 0], 1)?;
        out.literals(input, from, len)?;
        from += len;
    }
    Some(())
}

/// Appends a copy.
#[inline(always)]
fn copy(out: &mut Output, distance: usize, len: usize) -> Option<()> {
    let byte = |n: usize| low_byte(n as u64);
    let (first, low) = (byte(len.min(7) << 5 | distance >> 8), byte(distance));
    let (bytes, count) = if len < 7 { ([first, low, 0, 0], 2) } else { ([first, byte(len - 7), low, 0], 3) };
    out.few(bytes, count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{decode, encode};

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(few in prop::collection::vec(0u8..3, 0..900), bytes: Vec<u8>, times in 1usize..40) {
            for data in [few.repeat(times), bytes.repeat(times), [bytes, few].concat()] {
                let stored = encode(&data).unwrap();
                prop_assert!(stored.len() <= data.len() + data.len().div_ceil(32));
                prop_assert_eq!(decode(&stored, data.len(), data.len()).unwrap(), data);
            }
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, expected in 0usize..300, max in 0usize..300) {
            let _ = decode(&bytes, expected, max);
        }
    }

    #[test]
    fn literals_and_overlapping_copies() {
        // The input is "ab", then 5 bytes from 2 back.
        assert_eq!(decode(&[1, b'a', b'b', 3 << 5, 1], 7, 7).unwrap(), b"abababa");
        assert_eq!(decode(&[0, b'x', 7 << 5, 1, 0], 11, 11).unwrap(), b"xxxxxxxxxxx");
        assert!(decode(&[0, b'x', 1 << 5, 1], 9, 9).is_err(), "before the start");
        assert!(decode(&[5, b'x'], 9, 9).is_err());
        assert!(decode(&[1, b'a', b'b', 3 << 5, 1], 6, 6).is_err(), "too long");
    }
}
