//! Bit shuffle: bits of equal significance stand together.
//!
//! Of n elements the first m, a multiple of 8, are rearranged: row 8·b + k, m / 8 bytes long, holds bit k of byte b of
//! each element, element 0 in the lowest bit. Everything after the m elements stays as it is.
//!
//! The work is done tile by tile: elements to planes of bytes, eight bytes of a plane at a time to eight bytes of
//! which each belongs to another row, and those to the rows, which is the first step again with elements of 8 bytes.

use super::shuffle::{to_elements, to_planes};

/// Elements in a tile. A tile's bytes are held twice.
const TILE: usize = 512;

/// Elements to rows. `out` is as long as `input`.
pub(crate) fn shuffle(input: &[u8], size: usize, out: &mut [u8]) {
    let whole = shuffled(input.len(), size);
    let (elements, tail) = input.split_at(whole);
    let (rows, rest) = out.split_at_mut(whole);
    rest.copy_from_slice(tail);
    let stride = whole / size.max(1) / 8;
    if stride == 0 {
        return;
    }
    let mut planes = vec![0; (TILE * size).min(whole)];
    for (tile, elements) in elements.chunks(TILE * size).enumerate() {
        let count = elements.len() / size;
        let planes = planes.get_mut(..elements.len()).unwrap_or_default();
        to_planes(elements, size, planes, count, 0);
        planes.as_chunks_mut::<8>().0.iter_mut().for_each(transpose);
        for (plane, rows) in planes.chunks_exact(count).zip(rows.chunks_exact_mut(8 * stride)) {
            to_planes(plane, 8, rows, stride, tile * TILE / 8);
        }
    }
}

/// Rows to elements. `out` is as long as `input`.
pub(crate) fn unshuffle(input: &[u8], size: usize, out: &mut [u8]) {
    let whole = shuffled(input.len(), size);
    let (rows, tail) = input.split_at(whole);
    let (elements, rest) = out.split_at_mut(whole);
    rest.copy_from_slice(tail);
    let stride = whole / size.max(1) / 8;
    if stride == 0 {
        return;
    }
    let mut planes = vec![0; (TILE * size).min(whole)];
    for (tile, elements) in elements.chunks_mut(TILE * size).enumerate() {
        let count = elements.len() / size;
        let planes = planes.get_mut(..elements.len()).unwrap_or_default();
        for (plane, rows) in planes.chunks_exact_mut(count).zip(rows.chunks_exact(8 * stride)) {
            to_elements(rows, 8, plane, stride, tile * TILE / 8);
        }
        planes.as_chunks_mut::<8>().0.iter_mut().for_each(transpose);
        to_elements(planes, size, elements, count, 0);
    }
}

/// How many bytes of a block take part.
pub(crate) fn shuffled(len: usize, size: usize) -> usize {
    len.checked_div(size).map_or(0, |count| count / 8 * 8 * size)
}

/// Exchanges bit k of byte j and bit j of byte k.
#[inline]
fn transpose(bytes: &mut [u8; 8]) {
    let mut x = u64::from_le_bytes(*bytes);
    for (shift, mask) in
        [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0)]
    {
        let swap = (x ^ (x >> shift)) & mask;
        x ^= swap ^ (swap << shift);
    }
    *bytes = x.to_le_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition.
    fn plain(input: &[u8], size: usize) -> Vec<u8> {
        let m = input.len() / size / 8 * 8;
        let mut out = input.to_vec();
        out[..m * size].fill(0);
        for element in 0..m {
            for bit in 0..8 * size {
                let value = input[element * size + bit / 8] >> (bit % 8) & 1;
                out[bit * m / 8 + element / 8] |= value << (element % 8);
            }
        }
        out
    }

    #[test]
    fn every_size_equals_the_definition() {
        for size in (1..=20).chain([31, 32, 255]) {
            for count in [0, 1, 7, 8, 9, 127, 128, 136, 511, 512, 1300] {
                let len = count * size + size / 2;
                let input: Vec<u8> = (0..len).map(|i| (i * 7 + i / 251) as u8).collect();
                let (mut out, mut again) = (vec![0; len], vec![0; len]);
                shuffle(&input, size, &mut out);
                assert!(out == plain(&input, size), "size {size}, {count} elements");
                unshuffle(&out, size, &mut again);
                assert!(again == input, "size {size}, {count} elements");
            }
        }
    }
}
