//! LZF (filter 32000): runs of literals, and copies of bytes that were decoded before.
//!
//! | first byte | what follows |
//! |---|---|
//! | 0–31 | as many literals as this number, plus one |
//! | 32–223 | the lower byte of the distance less 1, whose higher bits are bits 0–4; bits 5–7 are the length less 2 |
//! | 224–255 | a byte that adds to the length, then the lower byte of the distance |

use super::bits::low_byte;
use sciformats_core::{Fault, FaultKind};

/// Decodes at most `max` bytes. This does not use nom, because parsing each code with its combinators takes 1.4 times as many
/// instructions for runs and copies of 2 to 14 bytes.
pub(crate) fn decode(input: &[u8], expected: usize, max: usize) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::with_capacity(expected.min(max));
    let mut rest = input;
    while let Some((&control, after)) = rest.split_first() {
        let control = usize::from(control);
        if control < 32 {
            let (literals, after) =
                after.split_at_checked(control + 1).ok_or_else(|| super::truncated("literal run"))?;
            out.extend_from_slice(literals);
            rest = after;
        } else {
            rest = copy(control, after, &mut out)?;
        }
        if out.len() > max {
            return Err(super::too_long(max));
        }
    }
    Ok(out)
}

fn copy<'a>(control: usize, rest: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], Fault> {
    let next = |rest: &'a [u8]| rest.split_first().ok_or_else(|| super::truncated("back reference"));
    let (mut len, mut rest) = (control >> 5, rest);
    if len == 7 {
        let (&more, after) = next(rest)?;
        (len, rest) = (len + usize::from(more), after);
    }
    let (&low, rest) = next(rest)?;
    let distance = ((control & 31) << 8 | usize::from(low)) + 1;
    let from = out.len().checked_sub(distance).ok_or_else(|| {
        let kind = FaultKind::OutOfBounds { found: distance as u64, end: out.len() as u64 + 1 };
        Fault::new("back reference", kind)
    })?;
    let len = len + 2;
    if distance >= len {
        out.extend_from_within(from..from + len);
    } else {
        for at in from..from + len {
            out.extend(out.get(at).copied());
        }
    }
    Ok(rest)
}

const HASH_BITS: u32 = 14;
const MAX_DISTANCE: usize = 8192;
const MAX_LENGTH: usize = 264;
const MAX_LITERALS: usize = 32;

/// Encodes. A copy always refers to the latest position at which the next three bytes occurred.
pub(crate) fn encode(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(input.len());
    let mut seen = vec![0u32; 1 << HASH_BITS]; // the position plus one
    let mut literals = 0; // the start of the literals that are not written yet
    let mut at = 0;
    while let Some(&[a, b, c]) = input.get(at..).and_then(<[u8]>::first_chunk::<3>) {
        let word = u32::from_le_bytes([a, b, c, 0]);
        let hash = word.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS);
        let slot = seen.get_mut(hash as usize);
        let here = u32::try_from(at + 1).unwrap_or(0); // a bound: later positions are not recorded
        let before = slot.map_or(0, |slot| std::mem::replace(slot, here));
        let from = (before as usize).checked_sub(1);
        let len = from.filter(|&from| at - from <= MAX_DISTANCE).map_or(0, |from| common(input, from, at));
        match from {
            Some(from) if len >= 3 => {
                put_literals(&mut out, input.get(literals..at).unwrap_or_default());
                put_copy(&mut out, at - from - 1, len - 2);
                at += len;
                literals = at;
            }
            _ => at += 1,
        }
    }
    put_literals(&mut out, input.get(literals..).unwrap_or_default());
    out
}

/// Returns the number of equal bytes from the positions `from` and `at` on.
fn common(input: &[u8], from: usize, at: usize) -> usize {
    let pairs = input.iter().skip(from).zip(input.iter().skip(at));
    pairs.take(MAX_LENGTH).take_while(|(a, b)| a == b).count()
}

fn put_literals(out: &mut Vec<u8>, literals: &[u8]) {
    for run in literals.chunks(MAX_LITERALS) {
        out.push(low_byte(run.len() as u64 - 1));
        out.extend_from_slice(run);
    }
}

fn put_copy(out: &mut Vec<u8>, distance: usize, len: usize) {
    let byte = |n: usize| low_byte(n as u64);
    out.push(byte(len.min(7) << 5 | distance >> 8));
    if len >= 7 {
        out.push(byte(len - 7));
    }
    out.push(byte(distance));
}

#[cfg(test)]
mod tests {
    use super::decode;

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
