//! Bit shuffle: bits of equal significance become adjacent.
//!
//! The first m of n elements are rearranged, where m is a multiple of 8. Row 8·b + k is m / 8 bytes long and contains bit k of
//! byte b of each element; element 0 is in the lowest bit. Everything after these elements is unchanged.
//!
//! The work is done in tiles. Elements become planes of bytes; each plane, seen as elements of 8 bytes, becomes eight lines; and
//! bits are exchanged between these lines, in groups of eight.

use super::shuffle::{to_elements, to_planes};
use super::simd::{self, LINE, Lines};

/// The number of elements in a tile. A bit of each element makes a line.
const TILE: usize = 8 * LINE;
/// The number of bytes of the tiles that are converted together, at most [`TOGETHER`]. They are in memory twice. Rows may be so far
/// apart that many of them fall into the same place of the processor's cache, so several lines of each are converted before the next
/// row's; a row rarely begins with a whole line of the cache.
const BYTES: usize = 32 << 10;
const TOGETHER: usize = 8;

/// Converts elements to rows. `out` must be as long as `input`.
pub(crate) fn shuffle(input: &[u8], size: usize, out: &mut [u8]) {
    let whole = shuffled(input.len(), size);
    let (elements, tail) = input.split_at(whole);
    let (rows, rest) = out.split_at_mut(whole);
    rest.copy_from_slice(tail);
    let stride = whole / size.max(1) / 8;
    if stride == 0 {
        return;
    }
    let tiles = together(size);
    let mut planes = vec![0; (tiles * TILE * size).min(whole)];
    let mut lines: Lines = [[0; LINE / 8]; 8];
    for (first, elements) in (0..).step_by(tiles).zip(elements.chunks(tiles * TILE * size)) {
        let count = elements.len() / size;
        let planes = planes.get_mut(..elements.len()).unwrap_or_default();
        to_planes(elements, size, planes, count, 0);
        for (plane, rows) in planes.chunks_exact(count).zip(rows.chunks_exact_mut(8 * stride)) {
            for (tile, plane) in (first..).zip(plane.chunks(TILE)) {
                let at = tile * LINE;
                if plane.first_chunk().is_some_and(|plane| simd::plane_to_rows(plane, rows, stride, at)) {
                    continue;
                }
                to_planes(plane, 8, bytemuck::bytes_of_mut(&mut lines), LINE, 0);
                simd::exchange_bits(&mut lines);
                for (row, line) in rows.chunks_exact_mut(stride).zip(&lines) {
                    copy(bytemuck::bytes_of(line), row.get_mut(at..).unwrap_or_default());
                }
            }
        }
    }
}

/// Converts rows to elements. `out` must be as long as `input`.
pub(crate) fn unshuffle(input: &[u8], size: usize, out: &mut [u8]) {
    let whole = shuffled(input.len(), size);
    let (rows, tail) = input.split_at(whole);
    let (elements, rest) = out.split_at_mut(whole);
    rest.copy_from_slice(tail);
    let stride = whole / size.max(1) / 8;
    if stride == 0 {
        return;
    }
    let tiles = together(size);
    let mut planes = vec![0; (tiles * TILE * size).min(whole)];
    let mut lines: Lines = [[0; LINE / 8]; 8];
    for (first, elements) in (0..).step_by(tiles).zip(elements.chunks_mut(tiles * TILE * size)) {
        let count = elements.len() / size;
        let planes = planes.get_mut(..elements.len()).unwrap_or_default();
        for (plane, rows) in planes.chunks_exact_mut(count).zip(rows.chunks_exact(8 * stride)) {
            for (tile, plane) in (first..).zip(plane.chunks_mut(TILE)) {
                let at = tile * LINE;
                if plane.first_chunk_mut().is_some_and(|plane| simd::rows_to_plane(rows, stride, at, plane)) {
                    continue;
                }
                for (row, line) in rows.chunks_exact(stride).zip(&mut lines) {
                    copy(row.get(at..).unwrap_or_default(), bytemuck::bytes_of_mut(line));
                }
                simd::exchange_bits(&mut lines);
                to_elements(bytemuck::bytes_of(&lines), 8, plane, LINE, 0);
            }
        }
        to_elements(planes, size, elements, count, 0);
    }
}

/// Returns the number of tiles that are converted together.
fn together(size: usize) -> usize {
    (BYTES / TILE).checked_div(size).map_or(1, |tiles| tiles.clamp(1, TOGETHER))
}

/// Copies a line, or the part of it that exists.
fn copy(from: &[u8], to: &mut [u8]) {
    if let (Some(from), Some(to)) = (from.first_chunk::<LINE>(), to.first_chunk_mut::<LINE>()) {
        *to = *from;
    } else {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    }
}

/// Returns the number of bytes of a block that are rearranged.
pub(crate) fn shuffled(len: usize, size: usize) -> usize {
    len.checked_div(size).map_or(0, |count| count / 8 * 8 * size)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shuffles as the definition says, without optimizations.
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
            for count in [0, 1, 7, 8, 9, 127, 128, 136, 511, 512, 1300, 2048, 3000] {
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
