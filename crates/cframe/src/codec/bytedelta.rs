//! Byte delta: differences of neighbouring bytes, plane by plane. It follows a shuffle.
//!
//! A block consists of `planes` planes of equal length. Each byte is replaced by its difference from the byte before, and the
//! first byte of a plane by its difference from 0. Bytes after the last plane are unchanged.

/// The size of the vectors in the first version of this filter, which forgot the previous byte at the rest of a plane.
const VECTOR: usize = 16;

/// Where the previous byte counts as 0, besides the first byte of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restart {
    /// Nowhere else.
    Never,
    /// At the first byte after the last whole vector, as in filter 34.
    AfterVectors,
}

/// Encodes `input` into `out`.
pub(crate) fn encode(input: &[u8], planes: usize, restart: Restart, out: &mut [u8]) {
    out.copy_from_slice(input);
    for run in runs(out, planes, restart) {
        let mut before = 0u8;
        for byte in run {
            let value = *byte;
            *byte = value.wrapping_sub(before);
            before = value;
        }
    }
}

/// Decodes a block in place.
pub(crate) fn decode(block: &mut [u8], planes: usize, restart: Restart) {
    for run in runs(block, planes, restart) {
        let (words, rest) = run.as_chunks_mut::<8>();
        let mut sum = 0u8;
        for word in words {
            // Sums of all prefixes of eight bytes, without a carry from one byte to the next.
            let mut x = u64::from_le_bytes(*word);
            x = add(x, x << 8);
            x = add(x, x << 16);
            x = add(x, x << 32);
            x = add(x, u64::from_ne_bytes([sum; 8]));
            *word = x.to_le_bytes();
            sum = word[7];
        }
        for byte in rest {
            sum = sum.wrapping_add(*byte);
            *byte = sum;
        }
    }
}

/// Adds bytes separately.
fn add(a: u64, b: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    ((a & LOW) + (b & LOW)) ^ ((a ^ b) & !LOW)
}

fn runs(block: &mut [u8], planes: usize, restart: Restart) -> impl Iterator<Item = &mut [u8]> {
    let len = block.len() / planes.max(1);
    let cut = match restart {
        Restart::Never => len,
        Restart::AfterVectors => len / VECTOR * VECTOR,
    };
    block.chunks_exact_mut(len.max(1)).take(if len == 0 { 0 } else { planes }).flat_map(move |plane| {
        let (vectors, rest) = plane.split_at_mut(cut.min(plane.len()));
        [vectors, rest]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_and_tails() {
        let mut out = [0; 7];
        encode(&[1, 3, 2, 9, 9, 10, 77], 2, Restart::Never, &mut out);
        assert_eq!(out, [1, 2, 255, 9, 0, 1, 77]);
        let input: Vec<u8> = (0..103u32).map(|i| (i * i) as u8).collect();
        for planes in [1, 2, 4, 5, 8, 103, 200] {
            for restart in [Restart::Never, Restart::AfterVectors] {
                let mut out = vec![0; input.len()];
                encode(&input, planes, restart, &mut out);
                decode(&mut out, planes, restart);
                assert_eq!(out, input);
            }
        }
        let mut out = vec![0; 20];
        encode(&[5; 20], 1, Restart::AfterVectors, &mut out);
        assert_eq!((out[15], out[16], out[17]), (0, 5, 0));
    }
}
