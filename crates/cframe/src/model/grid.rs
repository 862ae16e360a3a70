//! The positions of the elements of an array: chunks form a grid, and the blocks in each chunk form a grid.
//!
//! Chunks are in C order of the array's grid, blocks are in C order inside a chunk, and elements are in C order inside a block.
//! A chunk contains whole blocks, so its sides are rounded up to multiples of the sides of blocks. What is beyond the chunk's
//! own sides, or beyond the array, is padding.

use std::ops;

use sciformats_core::arith::{add, div, increase, mul, present, sub};
use sciformats_core::slab::elements;
use sciformats_core::{Range, Result, Slab, bound};

use crate::spec::b2nd::B2nd;

/// The shapes of an array and its parts, all with the same number of dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) shape: Vec<u64>,
    pub(crate) chunk: Vec<u64>,
    pub(crate) block: Vec<u64>,
}

/// The part of a selection that is inside one box, along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    /// The position in the selection of the first index inside the box.
    pub(crate) to: u64,
    /// The same index, counted from the start of the box.
    pub(crate) from: u64,
    pub(crate) count: u64,
    pub(crate) step: u64,
}

/// A block that contains elements of a selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    /// The number of the block in the chunk.
    pub(crate) block: u64,
    pub(crate) axes: Vec<Axis>,
}

impl Grid {
    /// Returns the grid of a metalayer; `None` if its shapes cannot be a grid.
    pub(crate) fn new(b2nd: &B2nd) -> Option<Self> {
        let grid = Self { shape: b2nd.shape.clone(), chunk: wide(&b2nd.chunks), block: wide(&b2nd.blocks) };
        let right = |((&n, &chunk), &block): ((&u64, &u64), &u64)| n == 0 || (block >= 1 && block <= chunk);
        let sane = grid.shape.contains(&0) || grid.shape.iter().zip(&grid.chunk).zip(&grid.block).all(right);
        (sane && elements(&grid.shape).is_some() && grid.chunk_elements().is_some()).then_some(grid)
    }

    /// Returns the number of chunks along each dimension.
    pub(crate) fn chunks(&self) -> Vec<u64> {
        self.shape
            .iter()
            .zip(&self.chunk)
            .map(|(&n, &chunk)| if n == 0 { 0 } else { n.div_ceil(chunk.max(1)) })
            .collect()
    }

    /// Returns the number of blocks along each dimension of a chunk.
    pub(crate) fn blocks(&self) -> Vec<u64> {
        self.chunk.iter().zip(&self.block).map(|(&chunk, &block)| chunk.div_ceil(block.max(1))).collect()
    }

    pub(crate) fn block_elements(&self) -> Option<u64> {
        elements(&self.block)
    }

    /// Returns the number of elements of a chunk including its padding.
    pub(crate) fn chunk_elements(&self) -> Option<u64> {
        elements(&self.blocks())?.checked_mul(self.block_elements()?)
    }

    /// Returns the chunks that contain elements of a selection, as positions in the grid of chunks in C order.
    pub(crate) fn touched_chunks(&self, slab: &Slab) -> Result<Vec<Vec<u64>>> {
        if slab.is_empty() {
            return Ok(Vec::new());
        }
        let touched = slab.ranges().iter().zip(&self.chunk).map(|(range, &chunk)| boxes(range, chunk));
        Ok(product(&touched.collect::<Result<Vec<_>>>()?))
    }

    /// Returns the blocks of a chunk that contain elements of a selection.
    pub(crate) fn touched_blocks(&self, slab: &Slab, chunk: &[u64]) -> Result<Vec<Touched>> {
        let per_dimension = slab
            .ranges()
            .iter()
            .zip(self.dimensions())
            .zip(chunk)
            .map(|((range, (n, side, block)), &position)| {
                let start = mul(position, side)?;
                let end = bound::sum(start, side).min(n);
                let count = side.div_ceil(block.max(1));
                let mut touched = Vec::new();
                for b in 0..count {
                    // Nothing beyond the end of the array is selected.
                    let low = bound::sum(start, bound::product(b, block));
                    let high = bound::sum(low, block).min(end);
                    if let Some(axis) = within(range, low, high)? {
                        touched.push((b, axis));
                    }
                }
                Ok(touched)
            })
            .collect::<Result<Vec<Vec<(u64, Axis)>>>>()?;
        let counts = self.blocks();
        let touched = product(&per_dimension).into_iter().map(|parts| {
            let block = number(parts.iter().map(|(b, _)| *b), counts.iter().copied())?;
            Ok(Touched { block, axes: parts.into_iter().map(|(_, axis)| axis).collect() })
        });
        touched.collect()
    }

    /// Returns the part of a selection in the chunk at this position, along each dimension. The chunk must contain selected
    /// elements.
    pub(crate) fn within_chunk(&self, slab: &Slab, chunk: &[u64]) -> Result<Vec<Axis>> {
        let sides = self.dimensions().zip(chunk);
        let axes = slab.ranges().iter().zip(sides).map(|(range, ((n, side, _), &position))| {
            let low = mul(position, side)?;
            present(within(range, low, bound::sum(low, side).min(n))?, "part of a selection in a chunk")
        });
        axes.collect()
    }

    /// Returns the number of a chunk in C order.
    pub(crate) fn chunk_number(&self, position: &[u64]) -> Result<u64> {
        number(position.iter().copied(), self.chunks())
    }

    fn dimensions(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.shape.iter().zip(&self.chunk).zip(&self.block).map(|((&n, &chunk), &block)| (n, chunk, block))
    }
}

/// Returns stored lengths of chunks or blocks as lengths of an array.
pub(crate) fn wide(sizes: &[u32]) -> Vec<u64> {
    sizes.iter().map(|&size| size.into()).collect()
}

/// Returns the boxes of length `side` that contain indices of a range.
fn boxes(range: &Range, side: u64) -> Result<Vec<u64>> {
    let side = side.max(1);
    let last = add(range.start, mul(range.step, sub(range.count, 1)?)?)?;
    let mut touched = Vec::new();
    for b in div(range.start, side)?..=div(last, side)? {
        let low = mul(b, side)?;
        // The end of the last box may not fit its type.
        if within(range, low, bound::sum(low, side))?.is_some() {
            touched.push(b);
        }
    }
    Ok(touched)
}

/// Returns the indices of a range that are in `low .. high`.
fn within(range: &Range, low: u64, high: u64) -> Result<Option<Axis>> {
    let step = range.step.max(1);
    // If the box is before the range, the difference is 0.
    let first = bound::left(low, range.start).div_ceil(step);
    let end = bound::left(high, range.start).div_ceil(step).min(range.count);
    let Some(count) = end.checked_sub(first).filter(|&count| count > 0) else { return Ok(None) };
    let index = add(range.start, mul(first, step)?)?;
    Ok((index >= low && index < high).then_some(Axis { to: first, from: sub(index, low)?, count, step }))
}

/// Returns all combinations of the items of several lists. The last list varies fastest.
fn product<T: Clone>(lists: &[Vec<T>]) -> Vec<Vec<T>> {
    lists.iter().fold(vec![Vec::new()], |all, list| {
        all.iter()
            .flat_map(|head| {
                list.iter().map(move |item| {
                    let mut next = head.clone();
                    next.push(item.clone());
                    next
                })
            })
            .collect()
    })
}

/// Returns the range from the first to the last element of a block that a selection contains.
pub(crate) fn span(axes: &[Axis], block: &[u64]) -> Result<ops::Range<u64>> {
    let last = |axis: &Axis| add(axis.from, mul(sub(axis.count, 1)?, axis.step)?);
    let last = axes.iter().map(last).collect::<Result<Vec<_>>>()?;
    let sides = || block.iter().copied();
    let end = add(number(last, sides())?, 1)?;
    Ok(number(axes.iter().map(|axis| axis.from), sides())?..end)
}

/// Calls `copy(element in the selection, element in the block, count, step in the block)` for each run of elements along the last
/// dimension.
pub(crate) fn runs(
    axes: &[Axis],
    selection: &[u64],
    block: &[u64],
    mut copy: impl FnMut(u64, u64, u64, u64) -> Result<()>,
) -> Result<()> {
    let Some((last, outer)) = axes.split_last() else {
        return copy(0, 0, 1, 1);
    };
    let (to_strides, from_strides) = (strides(selection), strides(block));
    let at = |counter: &[u64], strides: &[u64], index: fn(&Axis, u64) -> Result<u64>| {
        let mut outer = outer.iter().zip(counter).zip(strides);
        outer.try_fold(0u64, |sum, ((axis, &k), &stride)| add(sum, mul(index(axis, k)?, stride)?))
    };
    let mut counter = vec![0u64; outer.len()];
    loop {
        let to = at(&counter, &to_strides, |axis, k| add(axis.to, k))?;
        let from = at(&counter, &from_strides, |axis, k| add(axis.from, mul(k, axis.step)?))?;
        copy(add(to, last.to)?, add(from, last.from)?, last.count, last.step)?;
        let mut more = false;
        for (k, axis) in counter.iter_mut().zip(outer).rev() {
            increase(k, 1)?;
            if *k < axis.count {
                more = true;
                break;
            }
            *k = 0;
        }
        if !more {
            return Ok(());
        }
    }
}

/// Returns the number in C order of a position in a grid with these sides.
fn number(place: impl IntoIterator<Item = u64>, sides: impl IntoIterator<Item = u64>) -> Result<u64> {
    let mut places = place.into_iter().zip(sides);
    places.try_fold(0u64, |number, (at, side)| add(mul(number, side)?, at))
}

/// Returns the distance of neighbours in each dimension, in elements.
fn strides(sizes: &[u64]) -> Vec<u64> {
    let mut strides = vec![1u64; sizes.len()];
    let mut stride = 1;
    for (this, &size) in strides.iter_mut().zip(sizes).rev() {
        *this = stride;
        // The stride before the first dimension is not used.
        stride = bound::product(stride, size);
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_in_a_box() {
        let range = Range { start: 3, count: 4, step: 5 }; // 3 8 13 18
        assert_eq!(within(&range, 0, 4).unwrap(), Some(Axis { to: 0, from: 3, count: 1, step: 5 }));
        assert_eq!(within(&range, 4, 8).unwrap(), None);
        assert_eq!(within(&range, 5, 15).unwrap(), Some(Axis { to: 1, from: 3, count: 2, step: 5 }));
        assert_eq!(within(&range, 18, 99).unwrap(), Some(Axis { to: 3, from: 0, count: 1, step: 5 }));
        assert_eq!(within(&range, 19, 99).unwrap(), None);
        assert_eq!(boxes(&range, 4).unwrap(), [0, 2, 3, 4]);
    }

    #[test]
    fn every_element_is_found_once() {
        let grid = Grid { shape: vec![7, 10], chunk: vec![4, 6], block: vec![3, 4] };
        let slab = Slab::new(&grid.shape, [Range { start: 1, count: 3, step: 2 }, Range::new(2, 8)]).unwrap();
        let mut seen = vec![0; 24];
        for chunk in grid.touched_chunks(&slab).unwrap() {
            for touched in grid.touched_blocks(&slab, &chunk).unwrap() {
                runs(&touched.axes, &slab.shape(), &grid.block, |to, _, count, _| {
                    (to..to + count).for_each(|i| seen[i as usize] += 1);
                    Ok(())
                })
                .unwrap();
            }
        }
        assert_eq!(seen, [1; 24]);
        let axis = |from, count, step| Axis { to: 0, from, count, step };
        assert_eq!(span(&[axis(1, 1, 1), axis(0, 4, 1)], &grid.block).unwrap(), 4..8);
        assert_eq!(span(&[axis(0, 2, 2), axis(1, 2, 2)], &grid.block).unwrap(), 1..12);
        assert_eq!(span(&[], &[]).unwrap(), 0..1);
        // Positions that no array has are errors.
        let far = [axis(u64::MAX, 2, 1), axis(0, 1, 1)];
        assert!(span(&far, &grid.block).is_err());
        assert!(runs(&far, &[7, 10], &grid.block, |_, _, _, _| Ok(())).is_err());
        assert!(grid.chunk_number(&[u64::MAX, 0]).is_err());
        assert_eq!(grid.chunk_elements(), Some(6 * 8));
        assert_eq!(grid.chunks(), [2, 2]);
        assert_eq!(grid.chunk_number(&[1, 0]).unwrap(), 2);
    }
}
