//! Cells: the elements of an n-dimensional block are ordered by small cubes.
//!
//! The block is cut into a grid of cells whose sides have the same length; cells at the end of a dimension are clipped. The
//! cells are in C order, and so are the elements of each cell. Filter 32 (`ndcell`) has the length of the sides as its
//! parameter. Filter 33 (`ndmean`) clips it to each dimension of the block, and keeps only the mean of each cell of floats.

use sciformats_core::bound;

/// Calls `visit(position in the block, position in the cells, length)` for each row of each cell, in units of elements.
fn rows(shape: &[usize], side: &[usize], visit: impl FnMut(usize, usize, usize)) {
    rows_and_cells(shape, side, visit, |_| {});
}

/// Does the same as `rows`. After the rows of a cell, it calls `cell(position after it in the cells)`.
fn rows_and_cells(
    shape: &[usize],
    side: &[usize],
    mut visit: impl FnMut(usize, usize, usize),
    mut cell_ends: impl FnMut(usize),
) {
    let total: usize = shape.iter().product();
    if total == 0 || side.contains(&0) || shape.is_empty() {
        return;
    }
    let n = shape.len();
    let mut strides = vec![1; n];
    for d in (1..n).rev() {
        strides[d - 1] = strides[d] * shape[d];
    }
    let mut cell = vec![0; n];
    let mut to = 0;
    loop {
        let extent: Vec<usize> = (0..n).map(|d| side[d].min(shape[d] - cell[d])).collect();
        let mut inner = vec![0; n];
        loop {
            let from: usize = (0..n).map(|d| (cell[d] + inner[d]) * strides[d]).sum();
            visit(from, to, extent[n - 1]);
            to += extent[n - 1];
            if !advance(&mut inner[..n - 1], |d| extent[d], |_| 1) {
                break;
            }
        }
        cell_ends(to);
        if !advance(&mut cell, |d| shape[d], |d| side[d]) {
            break;
        }
    }
}

/// Advances to the next position in C order. Returns `false` after the last.
fn advance(at: &mut [usize], end: impl Fn(usize) -> usize, step: impl Fn(usize) -> usize) -> bool {
    for d in (0..at.len()).rev() {
        at[d] += step(d);
        if at[d] < end(d) {
            return true;
        }
        at[d] = 0;
    }
    false
}

/// Converts cells to a block. `None` if the size of the block does not agree with its shape.
pub(crate) fn decode(
    input: &[u8],
    size: usize,
    shape: &[usize],
    side: &[usize],
    out: &mut [u8],
) -> Option<()> {
    check(input, size, shape, side)?;
    rows(shape, side, |from, to, len| {
        if let (Some(target), Some(source)) =
            (out.get_mut(from * size..(from + len) * size), input.get(to * size..(to + len) * size))
        {
            target.copy_from_slice(source);
        }
    });
    Some(())
}

/// The C library has room for so many dimensions.
const DIMENSIONS: usize = 8;

/// Returns whether the C library restores blocks of this shape that were converted with this parameter. It refuses blocks with fewer
/// elements than a whole cell. Where means are kept, it looks for all cells at multiples of the first side.
pub(crate) fn is_portable(meta: u8, shape: &[usize], mean: bool) -> bool {
    let Ok(meta) = i8::try_from(meta) else { return false };
    let side = usize::from(meta.unsigned_abs());
    if shape.len() > DIMENSIONS {
        return false;
    }
    if mean {
        return shape.first().is_some_and(|&first| first >= side)
            || shape.iter().all(|&length| length <= side);
    }
    let cell = shape.iter().try_fold(1usize, |cell, _| cell.checked_mul(side));
    cell.is_some_and(|cell| cell <= shape.iter().fold(1, |block, &length| bound::product(block, length)))
}

/// Converts a block to cells. `None` if the size of the block does not agree with its shape.
pub(crate) fn encode(
    input: &[u8],
    size: usize,
    shape: &[usize],
    side: &[usize],
    out: &mut [u8],
) -> Option<()> {
    check(input, size, shape, side)?;
    rows(shape, side, |from, to, len| {
        if let (Some(target), Some(source)) =
            (out.get_mut(to * size..(to + len) * size), input.get(from * size..(from + len) * size))
        {
            target.copy_from_slice(source);
        }
    });
    Some(())
}

/// Converts a block of floats of 4 or 8 bytes to cells, and replaces each element by the mean of its cell. `None` if the size of
/// the block does not agree with its shape, or if the elements have another size.
pub(crate) fn encode_means(
    input: &[u8],
    size: usize,
    shape: &[usize],
    side: &[usize],
    out: &mut [u8],
) -> Option<()> {
    encode(input, size, shape, side, out)?;
    let mut begin = 0;
    let mut means = Some(());
    rows_and_cells(
        shape,
        side,
        |_, _, _| {},
        |end| {
            let cell = out.get_mut(begin * size..end * size);
            means = means.and_then(|()| to_mean(cell?, size));
            begin = end;
        },
    );
    means
}

fn to_mean(cell: &mut [u8], size: usize) -> Option<()> {
    let count = (cell.len() / size.max(1)) as f64;
    match size {
        4 => {
            let (elements, _) = cell.as_chunks_mut::<4>();
            let sum: f64 = elements.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).sum();
            elements.fill(((sum / count) as f32).to_le_bytes());
        }
        8 => {
            let (elements, _) = cell.as_chunks_mut::<8>();
            let sum: f64 = elements.iter().map(|bytes| f64::from_le_bytes(*bytes)).sum();
            elements.fill((sum / count).to_le_bytes());
        }
        _ => return None,
    }
    Some(())
}

fn check(input: &[u8], size: usize, shape: &[usize], side: &[usize]) -> Option<()> {
    let elements = shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n))?;
    let fits = elements.checked_mul(size)? == input.len() && side.len() == shape.len() && !side.contains(&0);
    fits.then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_the_c_library_restores() {
        for (side, shape, cells, means) in [
            (4, &[16][..], true, true),
            (6, &[5], false, true),
            (6, &[6], true, true),
            (3, &[3, 3], true, true),
            // A clipped dimension is fine where another one makes up for it.
            (3, &[2, 5], true, false),
            (3, &[5, 2], true, true),
            (3, &[2, 4], false, false),
            (3, &[2, 2], false, true),
            (3, &[1, 3, 2], false, true),
            (127, &[127], true, true),
            (128, &[300], false, false),
            (2, &[2; 8], true, true),
            (2, &[2; 9], false, false),
        ] {
            assert_eq!(is_portable(side, shape, false), cells, "cells of {side} in {shape:?}");
            assert_eq!(is_portable(side, shape, true), means, "means of {side} in {shape:?}");
        }
    }

    #[test]
    fn clipped_cells() {
        // 3 × 5 elements in cells of 2 × 2.
        let input: Vec<u8> = (0..15).collect();
        let mut out = vec![0; 15];
        encode(&input, 1, &[3, 5], &[2, 2], &mut out).unwrap();
        assert_eq!(out, [0, 1, 5, 6, 2, 3, 7, 8, 4, 9, 10, 11, 12, 13, 14]);
        let mut again = vec![0; 15];
        decode(&out, 1, &[3, 5], &[2, 2], &mut again).unwrap();
        assert_eq!(again, input);
        assert_eq!(decode(&out, 1, &[3, 4], &[2, 2], &mut again), None);
        assert_eq!(decode(&out, 1, &[3, 5], &[2, 0], &mut again), None);
    }

    #[test]
    fn means_of_cells() {
        let input: Vec<u8> = (0..15u8).flat_map(|i| f32::from(i).to_le_bytes()).collect();
        let (mut out, mut again) = (vec![0; 60], vec![0; 60]);
        encode_means(&input, 4, &[3, 5], &[2, 2], &mut out).unwrap();
        decode(&out, 4, &[3, 5], &[2, 2], &mut again).unwrap();
        let means: Vec<f32> = again.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let first = [3.0, 3.0, 5.0, 5.0, 6.5];
        assert_eq!(means[..10], [first, first].concat());
        assert_eq!(means[10..], [10.5, 10.5, 12.5, 12.5, 14.0]);
        let wide: Vec<u8> = [1.0f64, 2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut out = vec![0; 16];
        encode_means(&wide, 8, &[2], &[2], &mut out).unwrap();
        assert_eq!(out, [1.5f64.to_le_bytes(), 1.5f64.to_le_bytes()].concat());
        assert_eq!(encode_means(&wide, 2, &[8], &[2], &mut out), None);
    }

    #[test]
    fn three_dimensions_of_wide_elements() {
        let input: Vec<u8> = (0..4 * 3 * 5 * 7u32).map(|i| i as u8).collect();
        let (mut out, mut again) = (vec![0; input.len()], vec![0; input.len()]);
        encode(&input, 4, &[3, 5, 7], &[2, 4, 3], &mut out).unwrap();
        assert_ne!(out, input);
        decode(&out, 4, &[3, 5, 7], &[2, 4, 3], &mut again).unwrap();
        assert_eq!(again, input);
    }
}
