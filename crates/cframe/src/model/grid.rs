//! Where the elements of an array are: chunks in a grid, blocks in a grid inside each.
//!
//! Chunks follow each other in C order of the array's grid, blocks in C order inside a chunk, elements in C order
//! inside a block. A chunk holds whole blocks, so its sides are rounded up to those of the blocks; what lies beyond
//! the chunk's own sides or the array is padding.

use std::ops;

use sciformats_core::slab::elements;
use sciformats_core::{Range, Slab};

use crate::spec::b2nd::B2nd;

/// The shapes of an array and its parts, all with the same number of dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) shape: Vec<u64>,
    pub(crate) chunk: Vec<u64>,
    pub(crate) block: Vec<u64>,
}

/// The part of a selection that lies in one box, along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    /// Index in the selection of the first index that lies in the box.
    pub(crate) to: u64,
    /// The same index, counted from the start of the box.
    pub(crate) from: u64,
    pub(crate) count: u64,
    pub(crate) step: u64,
}

/// A block that a selection touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    /// Its number in the chunk.
    pub(crate) block: u64,
    pub(crate) axes: Vec<Axis>,
}

impl Grid {
    /// The grid of a metalayer; `None` if its shapes cannot be a grid.
    pub(crate) fn new(b2nd: &B2nd) -> Option<Self> {
        let wide = |sizes: &[u32]| sizes.iter().map(|&size| u64::from(size)).collect::<Vec<_>>();
        let grid = Self { shape: b2nd.shape.clone(), chunk: wide(&b2nd.chunks), block: wide(&b2nd.blocks) };
        let right = |((&n, &chunk), &block): ((&u64, &u64), &u64)| n == 0 || (block >= 1 && block <= chunk);
        let sane = grid.shape.contains(&0) || grid.shape.iter().zip(&grid.chunk).zip(&grid.block).all(right);
        (sane && elements(&grid.shape).is_some() && grid.chunk_elements().is_some()).then_some(grid)
    }

    /// The number of chunks along each dimension.
    pub(crate) fn chunks(&self) -> Vec<u64> {
        self.shape
            .iter()
            .zip(&self.chunk)
            .map(|(&n, &chunk)| if n == 0 { 0 } else { n.div_ceil(chunk.max(1)) })
            .collect()
    }

    /// The number of blocks along each dimension of a chunk.
    pub(crate) fn blocks(&self) -> Vec<u64> {
        self.chunk.iter().zip(&self.block).map(|(&chunk, &block)| chunk.div_ceil(block.max(1))).collect()
    }

    pub(crate) fn block_elements(&self) -> Option<u64> {
        elements(&self.block)
    }

    /// Elements of a chunk with its padding.
    pub(crate) fn chunk_elements(&self) -> Option<u64> {
        elements(&self.blocks())?.checked_mul(self.block_elements()?)
    }

    /// The chunks that a selection touches, as positions in the grid of chunks, in C order.
    pub(crate) fn touched_chunks(&self, slab: &Slab) -> Vec<Vec<u64>> {
        if slab.is_empty() {
            return Vec::new();
        }
        let touched: Vec<Vec<u64>> =
            slab.ranges().iter().zip(&self.chunk).map(|(range, &chunk)| boxes(range, chunk)).collect();
        product(&touched)
    }

    /// The blocks of a chunk that a selection touches.
    pub(crate) fn touched_blocks(&self, slab: &Slab, chunk: &[u64]) -> Vec<Touched> {
        let per_dimension: Vec<Vec<(u64, Axis)>> = slab
            .ranges()
            .iter()
            .zip(self.dimensions())
            .zip(chunk)
            .map(|((range, (n, side, block)), &position)| {
                let start = position.saturating_mul(side);
                let end = start.saturating_add(side).min(n);
                let count = side.div_ceil(block.max(1));
                (0..count)
                    .filter_map(|b| {
                        let low = start.saturating_add(b.saturating_mul(block));
                        let high = low.saturating_add(block).min(end);
                        Some((b, within(range, low, high)?))
                    })
                    .collect()
            })
            .collect();
        let counts = self.blocks();
        product(&per_dimension)
            .into_iter()
            .map(|parts| {
                let block = parts
                    .iter()
                    .zip(&counts)
                    .fold(0u64, |number, ((b, _), &count)| number.saturating_mul(count).saturating_add(*b));
                Touched { block, axes: parts.into_iter().map(|(_, axis)| axis).collect() }
            })
            .collect()
    }

    /// The number of a chunk in C order.
    pub(crate) fn chunk_number(&self, position: &[u64]) -> u64 {
        position
            .iter()
            .zip(self.chunks())
            .fold(0, |number, (&at, count)| number.saturating_mul(count).saturating_add(at))
    }

    fn dimensions(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.shape.iter().zip(&self.chunk).zip(&self.block).map(|((&n, &chunk), &block)| (n, chunk, block))
    }
}

/// The boxes of `side` that the indices of a range fall into.
fn boxes(range: &Range, side: u64) -> Vec<u64> {
    let side = side.max(1);
    let last = range.start.saturating_add(range.step.saturating_mul(range.count.saturating_sub(1)));
    let (first, last) = (range.start.checked_div(side).unwrap_or(0), last.checked_div(side).unwrap_or(0));
    let touches = |b: &u64| {
        let low = b.saturating_mul(side);
        within(range, low, low.saturating_add(side)).is_some()
    };
    (first..=last).filter(touches).collect()
}

/// The indices of a range that lie in `low .. high`.
fn within(range: &Range, low: u64, high: u64) -> Option<Axis> {
    let step = range.step.max(1);
    let first = low.saturating_sub(range.start).div_ceil(step);
    let end = high.saturating_sub(range.start).div_ceil(step).min(range.count);
    let count = end.checked_sub(first).filter(|&count| count > 0)?;
    let index = range.start.saturating_add(first.saturating_mul(step));
    (index >= low && index < high).then_some(Axis { to: first, from: index.saturating_sub(low), count, step })
}

/// All combinations, the last list varying fastest.
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

/// The elements of a block from the first to the last that a selection holds.
pub(crate) fn span(axes: &[Axis], block: &[u64]) -> ops::Range<u64> {
    let number = |index: fn(&Axis) -> u64| {
        let axes = axes.iter().zip(block);
        axes.fold(0u64, |number, (axis, &side)| number.saturating_mul(side).saturating_add(index(axis)))
    };
    let last = |axis: &Axis| axis.from.saturating_add(axis.count.saturating_sub(1).saturating_mul(axis.step));
    number(|axis| axis.from)..number(last).saturating_add(1)
}

/// Calls `copy(element in the selection, element in the block, count, step in the block)` for each run of elements
/// along the last dimension.
pub(crate) fn runs(
    axes: &[Axis],
    selection: &[u64],
    block: &[u64],
    mut copy: impl FnMut(u64, u64, u64, u64),
) {
    let Some((last, outer)) = axes.split_last() else {
        copy(0, 0, 1, 1);
        return;
    };
    let strides = |sizes: &[u64]| -> Vec<u64> {
        let mut strides: Vec<u64> = sizes
            .iter()
            .rev()
            .scan(1u64, |stride, &size| {
                let this = *stride;
                *stride = stride.saturating_mul(size);
                Some(this)
            })
            .collect();
        strides.reverse();
        strides
    };
    let (to_strides, from_strides) = (strides(selection), strides(block));
    let at = |counter: &[u64], strides: &[u64], index: fn(&Axis, u64) -> u64| {
        let outer = outer.iter().zip(counter).zip(strides);
        outer.fold(0u64, |sum, ((axis, &k), &stride)| {
            sum.saturating_add(index(axis, k).saturating_mul(stride))
        })
    };
    let mut counter = vec![0u64; outer.len()];
    loop {
        let to = at(&counter, &to_strides, |axis, k| axis.to.saturating_add(k)).saturating_add(last.to);
        let from =
            at(&counter, &from_strides, |axis, k| axis.from.saturating_add(k.saturating_mul(axis.step)));
        copy(to, from.saturating_add(last.from), last.count, last.step);
        let mut more = false;
        for (k, axis) in counter.iter_mut().zip(outer).rev() {
            *k = k.saturating_add(1);
            if *k < axis.count {
                more = true;
                break;
            }
            *k = 0;
        }
        if !more {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_in_a_box() {
        let range = Range { start: 3, count: 4, step: 5 }; // 3 8 13 18
        assert_eq!(within(&range, 0, 4), Some(Axis { to: 0, from: 3, count: 1, step: 5 }));
        assert_eq!(within(&range, 4, 8), None);
        assert_eq!(within(&range, 5, 15), Some(Axis { to: 1, from: 3, count: 2, step: 5 }));
        assert_eq!(within(&range, 18, 99), Some(Axis { to: 3, from: 0, count: 1, step: 5 }));
        assert_eq!(within(&range, 19, 99), None);
        assert_eq!(boxes(&range, 4), [0, 2, 3, 4]);
    }

    #[test]
    fn every_element_is_found_once() {
        let grid = Grid { shape: vec![7, 10], chunk: vec![4, 6], block: vec![3, 4] };
        let slab = Slab::new(&grid.shape, [Range { start: 1, count: 3, step: 2 }, Range::new(2, 8)]).unwrap();
        let mut seen = vec![0; 24];
        for chunk in grid.touched_chunks(&slab) {
            for touched in grid.touched_blocks(&slab, &chunk) {
                runs(&touched.axes, &slab.shape(), &grid.block, |to, _, count, _| {
                    (to..to + count).for_each(|i| seen[i as usize] += 1);
                });
            }
        }
        assert_eq!(seen, [1; 24]);
        let axis = |from, count, step| Axis { to: 0, from, count, step };
        assert_eq!(span(&[axis(1, 1, 1), axis(0, 4, 1)], &grid.block), 4..8);
        assert_eq!(span(&[axis(0, 2, 2), axis(1, 2, 2)], &grid.block), 1..12);
        assert_eq!(span(&[], &[]), 0..1);
        assert_eq!(grid.chunk_elements(), Some(6 * 8));
        assert_eq!(grid.chunks(), [2, 2]);
        assert_eq!(grid.chunk_number(&[1, 0]), 2);
    }
}
