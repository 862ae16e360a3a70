//! What the decoders of byte-oriented LZ77 formats share: copying literals and matches inside bounds.

/// Bytes that are copied at once where there is room for them behind the copy.
const WIDE: usize = 16;

/// Copies `len` bytes of `input` from `from` on to `out` at `at`; `None` if they leave either.
#[inline]
pub(crate) fn literals(input: &[u8], from: usize, out: &mut [u8], at: usize, len: usize) -> Option<()> {
    // Most runs are short: one or two copies of a fixed size are faster than a call.
    if len <= 2 * WIDE
        && let (Some(source), Some(target)) = (
            input.get(from..)?.first_chunk::<{ 2 * WIDE }>(),
            out.get_mut(at..)?.first_chunk_mut::<{ 2 * WIDE }>(),
        )
    {
        *target = *source;
        return Some(());
    }
    let source = input.get(from..from.checked_add(len)?)?;
    out.get_mut(at..at.checked_add(len)?)?.copy_from_slice(source);
    Some(())
}

/// Repeats in `out` at `at` the `len` bytes that stand `distance` before; `None` if they leave it.
#[inline]
pub(crate) fn repeat(out: &mut [u8], at: usize, distance: usize, len: usize) -> Option<()> {
    let from = at.checked_sub(distance)?;
    let end = at.checked_add(len)?;
    if distance == 0 || end > out.len() {
        return None;
    }
    if distance >= WIDE && out.len() - end >= WIDE {
        let mut done = 0;
        while done < len {
            let piece = *out.get(from + done..)?.first_chunk::<WIDE>()?;
            *out.get_mut(at + done..)?.first_chunk_mut::<WIDE>()? = piece;
            done += WIDE;
        }
        return Some(());
    }
    if distance < 8 && out.len() - end >= 8 {
        return short_period(out, from, at, len);
    }
    if out.len() - end >= 8 {
        let mut done = 0;
        while done < len {
            let piece = *out.get(from + done..)?.first_chunk::<8>()?;
            *out.get_mut(at + done..)?.first_chunk_mut::<8>()? = piece;
            done += 8;
        }
        return Some(());
    }
    overlapping(out, from, at, len)
}

/// A period of less than eight bytes, where there is room for eight behind the copy.
fn short_period(out: &mut [u8], from: usize, at: usize, len: usize) -> Option<()> {
    let distance = at - from;
    let period = out.get(from..at)?;
    let mut pattern = [0; 8];
    pattern.iter_mut().zip(period.iter().cycle()).for_each(|(byte, value)| *byte = *value);
    // As many whole periods as fit eight bytes, so that each copy begins like the first.
    let step = 8 - 8 % distance;
    let mut done = 0;
    while done < len {
        *out.get_mut(at + done..)?.first_chunk_mut::<8>()? = pattern;
        done += step;
    }
    Some(())
}

/// The end of the output.
fn overlapping(out: &mut [u8], from: usize, at: usize, len: usize) -> Option<()> {
    let distance = at - from;
    if distance == 1 {
        let value = *out.get(from)?;
        out.get_mut(at..at + len)?.fill(value);
        return Some(());
    }
    // What is copied lengthens what can be copied next, always by whole periods.
    let mut done = 0;
    while done < len {
        let piece = (distance + done).min(len - done);
        out.copy_within(from..from + piece, at + done);
        done += piece;
    }
    Some(())
}

/// The number of equal bytes at `a` and `b`, `b` being the later one, up to `end`.
#[inline]
pub(crate) fn common(bytes: &[u8], a: usize, b: usize, end: usize) -> usize {
    let (Some(first), Some(second)) = (bytes.get(a..), bytes.get(b..end)) else { return 0 };
    let mut len = 0;
    for (x, y) in first.as_chunks::<8>().0.iter().zip(second.as_chunks::<8>().0) {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return len + (differ.trailing_zeros() / 8) as usize;
        }
        len += 8;
    }
    let tail = first.iter().skip(len).zip(second.iter().skip(len));
    len + tail.take_while(|(x, y)| x == y).count()
}

/// The four bytes at `at`, as a number; 0 past the end.
#[inline]
pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk::<4>).map_or(0, |w| u32::from_le_bytes(*w))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_of_every_period_equal_a_byte_loop() {
        for distance in 1..40 {
            for len in [0, 1, 3, 7, 8, 15, 16, 17, 40, 100] {
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
    fn common_prefixes() {
        let bytes = b"abcdefghijklmnop_abcdefghijklmnop!";
        assert_eq!(common(bytes, 0, 17, bytes.len()), 16);
        assert_eq!(common(bytes, 0, 17, 20), 3);
        assert_eq!(common(bytes, 1, 17, 30), 0);
        assert_eq!(common(bytes, 0, 99, 30), 0);
    }
}
