//! LZF (filter 32000): literal runs and copies from what was decoded before.

use sciformats_core::{Fault, FaultKind};

/// Decodes at most `max` bytes.
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

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn literals_and_overlapping_copies() {
        // "ab", then 5 bytes from 2 back, then 1 from 1 back repeated.
        assert_eq!(decode(&[1, b'a', b'b', 3 << 5, 1], 7, 7).unwrap(), b"abababa");
        assert_eq!(decode(&[0, b'x', 7 << 5, 1, 0], 11, 11).unwrap(), b"xxxxxxxxxxx");
        assert!(decode(&[0, b'x', 1 << 5, 1], 9, 9).is_err(), "before the start");
        assert!(decode(&[5, b'x'], 9, 9).is_err());
        assert!(decode(&[1, b'a', b'b', 3 << 5, 1], 6, 6).is_err(), "too long");
    }
}
