//! Stored selections of an array of known shape, whose elements are numbered in order.
//!
//! No operation takes time in proportion to the number of selected elements, because a selection of a few bytes can
//! select more elements than a computer can count.

use crate::spec::selection::{Regular, Selection};
use sciformats_core::bound;

/// A run of elements that are adjacent in one row of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The linear index of the first element.
    pub(crate) from: u64,
    /// The number of elements.
    pub(crate) len: u64,
}

/// Resolves unlimited counts and blocks, which end at the edge of the array.
pub(crate) fn limit(dimension: &Regular, size: u64) -> Regular {
    let Regular { start, stride, count, block } = *dimension;
    let room = bound::left(size, start);
    let block = block.unwrap_or(room);
    let count = count.unwrap_or_else(|| match stride {
        0 => u64::from(room > 0),
        // Only blocks that start inside the array count; the last one may be cut off.
        _ => room.div_ceil(stride),
    });
    Regular { start, stride, count: Some(count), block: Some(block) }
}

/// The indices of one dimension that a regular selection takes, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    start: u64,
    /// The distance between blocks, or the maximum of `u64` if there is only one block.
    stride: u64,
    block: u64,
    /// The number of indices, without those beyond the edge of the array.
    pub(crate) len: u64,
}

impl Axis {
    /// Returns `None` if blocks overlap, because indices would occur twice.
    pub(crate) fn new(dimension: &Regular, size: u64) -> Option<Self> {
        let Regular { start, stride, count, block } = limit(dimension, size);
        let (count, block) = (count.unwrap_or(0), block.unwrap_or(0)); // a bound: both are limited
        let room = bound::left(size, start);
        if count == 0 || block == 0 || room == 0 {
            return Some(Self { start, stride: u64::MAX, block: 1, len: 0 });
        }
        if count == 1 {
            return Some(Self { start, stride: u64::MAX, block, len: block.min(room) });
        }
        if stride < block {
            return None;
        }
        let blocks = count.min(room.div_ceil(stride));
        let before = bound::left(blocks, 1);
        let last = block.min(bound::left(room, bound::product(before, stride)));
        Some(Self { start, stride, block, len: bound::sum(bound::product(before, block), last) })
    }

    fn all(size: u64) -> Self {
        Self { start: 0, stride: u64::MAX, block: size.max(1), len: size }
    }

    /// Returns the index at `position`, and how many adjacent indices start with it.
    fn index(&self, position: u64) -> Option<(u64, u64)> {
        let left = self.len.checked_sub(position).filter(|&left| left > 0)?;
        let (number, within) = (position.checked_div(self.block)?, position.checked_rem(self.block)?);
        let at = self.start.checked_add(number.checked_mul(self.stride).or((number == 0).then_some(0))?)?;
        Some((at.checked_add(within)?, self.block.checked_sub(within)?.min(left)))
    }

    /// Returns the position of `index` if it is selected.
    pub(crate) fn position(&self, index: u64) -> Option<u64> {
        let distance = index.checked_sub(self.start)?;
        let within = distance.checked_rem(self.stride)?;
        let position = distance.checked_div(self.stride)?.checked_mul(self.block)?.checked_add(within)?;
        (within < self.block && position < self.len).then_some(position)
    }

    /// Returns the position of the first selected index that is not before `index`.
    pub(crate) fn from(&self, index: u64) -> u64 {
        let distance = bound::left(index, self.start);
        let stride = self.stride.max(1);
        let (number, within) = (distance / stride, (distance % stride).min(self.block));
        bound::sum(bound::product(number, self.block), within).min(self.len)
    }

    /// Returns the runs of adjacent indices from `position` on: the index, the position and the length of each.
    pub(crate) fn runs(&self, position: u64) -> impl Iterator<Item = (u64, u64, u64)> {
        let mut next = position;
        std::iter::from_fn(move || {
            let position = next;
            let (index, len) = self.index(position)?;
            next = position.checked_add(len)?;
            Some((index, position, len))
        })
    }
}

/// The elements of a selection, numbered in its order.
pub(crate) enum Numbered {
    /// A regular selection: what is taken of each dimension, and the length of the dimension.
    Axes(Vec<(Axis, u64)>),
    /// Any other selection: its runs, with the number of the first element of each.
    Runs(Vec<(u64, Run)>),
}

/// The largest number of runs. Irregular selections are held in memory, so their size must be bounded.
const MOST_RUNS: usize = 1 << 18;

impl Numbered {
    /// Returns `None` if the selection does not fit an array of `shape`.
    pub(crate) fn new(selection: &Selection, shape: &[u64]) -> Option<Self> {
        match selection {
            Selection::None => Some(Self::Runs(Vec::new())),
            Selection::All => Some(Self::Axes(shape.iter().map(|&n| (Axis::all(n), n)).collect())),
            Selection::Regular(dimensions) if dimensions.len() == shape.len() => {
                let axes = dimensions.iter().zip(shape).map(|(d, &size)| Some((Axis::new(d, size)?, size)));
                axes.collect::<Option<_>>().map(Self::Axes)
            }
            Selection::Regular(_) => None,
            Selection::Points(points) => numbered(points.iter().map(|point| {
                let inside =
                    point.len() == shape.len() && point.iter().zip(shape).all(|(at, size)| at < size);
                Some(Run { from: inside.then(|| linear(point, shape))??, len: 1 })
            })),
            Selection::Blocks(blocks) => {
                let mut runs = Vec::new();
                blocks.iter().try_for_each(|(first, last)| rows_of(first, last, shape, &mut runs))?;
                // The C library numbers the elements in the order of the array, whatever the order of the blocks.
                sciformats_core::order::sort_by_key(&mut runs, |run| run.from);
                numbered(runs.into_iter().map(Some))
            }
        }
    }

    /// Works like [`new`](Self::new), but elements beyond the array are numbered too along the dimensions in which the selection itself
    /// has an end: an array that has become smaller does not change the numbers of the elements that it still has.
    pub(crate) fn whole(selection: &Selection, shape: &[u64]) -> Option<Self> {
        match selection {
            Selection::Regular(dimensions) if dimensions.len() == shape.len() => {
                let axes = dimensions.iter().zip(shape).map(|(d, &size)| {
                    let ends = d.count.is_some() && d.block.is_some();
                    Some((Axis::new(d, if ends { u64::MAX } else { size })?, size))
                });
                axes.collect::<Option<_>>().map(Self::Axes)
            }
            _ => Self::new(selection, shape),
        }
    }

    /// Returns the number of elements, or `None` if it exceeds 64 bits.
    pub(crate) fn count(&self) -> Option<u64> {
        match self {
            Self::Axes(axes) => axes.iter().try_fold(1u64, |all, (axis, _)| all.checked_mul(axis.len)),
            Self::Runs(runs) => runs.last().map_or(Some(0), |(first, run)| first.checked_add(run.len)),
        }
    }

    /// Returns how many indices are taken of a dimension of a regular selection.
    pub(crate) fn taken(&self, dimension: usize) -> Option<u64> {
        match self {
            Self::Axes(axes) => axes.get(dimension).map(|(axis, _)| axis.len),
            Self::Runs(_) => None,
        }
    }

    /// Takes at most this many indices of a dimension of a regular selection.
    pub(crate) fn shorten(&mut self, dimension: usize, most: u64) {
        if let Self::Axes(axes) = self
            && let Some((axis, _)) = axes.get_mut(dimension)
        {
            axis.len = axis.len.min(most);
        }
    }

    /// Returns how many elements from `number` on lie beyond the array, one after another, if that one does.
    pub(crate) fn beyond(&self, number: u64) -> Option<u64> {
        let Self::Axes(axes) = self else { return None };
        let (mut rest, mut outside, mut len) = (number, false, 1);
        for (i, (axis, size)) in axes.iter().rev().enumerate() {
            let (index, adjacent) = axis.index(rest.checked_rem(axis.len)?)?;
            rest = rest.checked_div(axis.len)?;
            outside |= index >= *size;
            if i == 0 {
                len = adjacent;
            }
        }
        (rest == 0 && outside).then_some(len)
    }

    /// Returns the linear index of the element `number`, and how many elements follow it in the same row. Returns
    /// `None` beyond the last element.
    pub(crate) fn locate(&self, number: u64) -> Option<Run> {
        match self {
            Self::Axes(axes) => {
                let (mut rest, mut from, mut stride) = (number, 0u64, 1u64);
                let mut len = 1;
                for (i, (axis, size)) in axes.iter().rev().enumerate() {
                    let (index, adjacent) = axis.index(rest.checked_rem(axis.len)?)?;
                    rest = rest.checked_div(axis.len)?;
                    from = from.checked_add(index.checked_mul(stride)?)?;
                    stride = stride.checked_mul(*size)?;
                    if i == 0 {
                        len = adjacent.min(bound::left(*size, index).max(1));
                    }
                }
                (rest == 0).then_some(Run { from, len })
            }
            Self::Runs(runs) => {
                let after = runs.partition_point(|(first, _)| *first <= number);
                let (first, run) = after.checked_sub(1).and_then(|i| runs.get(i))?;
                let skip = number.checked_sub(*first)?;
                let len = run.len.checked_sub(skip).filter(|&len| len > 0)?;
                Some(Run { from: run.from.checked_add(skip)?, len })
            }
        }
    }

    /// Returns the largest linear index that is selected.
    pub(crate) fn last(&self) -> Option<u64> {
        match self {
            Self::Axes(axes) => {
                let mut sum = 0u64;
                for (axis, size) in axes {
                    let (index, _) = axis.index(axis.len.checked_sub(1)?)?;
                    sum = sum.checked_mul(*size)?.checked_add(index)?;
                }
                Some(sum)
            }
            Self::Runs(runs) => {
                runs.iter().map(|(_, run)| bound::sum(run.from, run.len)).max()?.checked_sub(1)
            }
        }
    }
}

fn numbered(runs: impl Iterator<Item = Option<Run>>) -> Option<Numbered> {
    let mut next = 0u64;
    let runs = runs.map(|run| {
        let (first, run) = (next, run?);
        next = next.checked_add(run.len)?;
        Some((first, run))
    });
    runs.collect::<Option<_>>().map(Numbered::Runs)
}

fn linear(point: &[u64], shape: &[u64]) -> Option<u64> {
    point.iter().zip(shape).try_fold(0u64, |sum, (&at, &size)| sum.checked_mul(size)?.checked_add(at))
}

/// Adds the rows of the block from `first` to `last`, both inclusive. Rows that cover the whole width are joined.
fn rows_of(first: &[u64], last: &[u64], shape: &[u64], runs: &mut Vec<Run>) -> Option<()> {
    if first.len() != shape.len() || last.len() != shape.len() || last.iter().zip(shape).any(|(l, n)| l >= n)
    {
        return None;
    }
    let count = |axis: usize| last.get(axis)?.checked_sub(*first.get(axis)?)?.checked_add(1);
    let mut outer = shape.len().checked_sub(1)?;
    let mut len = count(outer)?;
    while outer > 0 && shape.get(outer).copied() == count(outer) {
        outer = outer.checked_sub(1)?;
        len = len.checked_mul(count(outer)?)?;
    }
    let mut at = first.to_vec();
    loop {
        runs.push(Run { from: linear(&at, shape)?, len });
        if runs.len() >= MOST_RUNS {
            return None;
        }
        let mut moved = false;
        for ((at, &first), &last) in at.iter_mut().zip(first).zip(last).take(outer).rev() {
            if *at < last {
                *at = at.checked_add(1)?;
                moved = true;
                break;
            }
            *at = first;
        }
        if !moved {
            return Some(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(selection: &Selection, shape: &[u64]) -> Vec<(u64, u64)> {
        let numbered = Numbered::new(selection, shape).unwrap();
        let mut found = Vec::new();
        let mut number = 0;
        while let Some(run) = numbered.locate(number) {
            found.push((run.from, run.len));
            number += run.len;
        }
        let last = found.iter().map(|(from, len)| from + len - 1).max();
        assert_eq!(numbered.last(), last);
        found
    }

    #[test]
    fn regular_and_unlimited() {
        let rows = Regular { start: 1, stride: 2, count: None, block: Some(1) };
        let columns = Regular { start: 0, stride: 3, count: Some(2), block: Some(2) };
        let selection = Selection::Regular(vec![rows, columns]);
        assert_eq!(all(&selection, &[4, 6]), [(6, 2), (9, 2), (18, 2), (21, 2)]);
        assert_eq!(all(&selection, &[1, 6]), []);
        assert_eq!(all(&selection, &[2, 4]), [(4, 2), (7, 1)]);
        let whole = Regular { start: 1, stride: 1, count: Some(1), block: None };
        assert_eq!(all(&Selection::Regular(vec![whole]), &[4]), [(1, 3)]);
    }

    #[test]
    fn blocks_that_overlap_are_refused() {
        let twice = Regular { start: 0, stride: 1, count: Some(3), block: Some(2) };
        assert!(Numbered::new(&Selection::Regular(vec![twice]), &[9]).is_none());
        let nowhere = Regular { start: 0, stride: 0, count: Some(1 << 60), block: Some(1) };
        assert!(Numbered::new(&Selection::Regular(vec![nowhere]), &[9]).is_none());
    }

    #[test]
    fn positions_and_indices_agree() {
        let axis = Axis::new(&Regular { start: 2, stride: 5, count: Some(4), block: Some(3) }, 14).unwrap();
        let indices = [2, 3, 4, 7, 8, 9, 12, 13];
        assert_eq!(axis.len, 8);
        for index in 0..20 {
            let position = indices.iter().position(|&i| i == index).map(|p| p as u64);
            assert_eq!(axis.position(index), position, "{index}");
            assert_eq!(axis.from(index), indices.iter().filter(|&&i| i < index).count() as u64, "{index}");
        }
        let runs: Vec<_> = axis.runs(1).collect();
        assert_eq!(runs, [(3, 1, 2), (7, 3, 3), (12, 6, 2)]);
    }

    #[test]
    fn blocks_are_put_in_order() {
        let selection = Selection::Blocks(vec![(vec![1, 0], vec![1, 1]), (vec![0, 1], vec![1, 2])]);
        assert_eq!(all(&selection, &[2, 3]), [(1, 2), (3, 2), (4, 2)]);
    }

    #[test]
    fn whole_rows_are_joined() {
        let selection =
            Selection::Blocks(vec![(vec![1, 0, 0], vec![3, 1, 2]), (vec![5, 0, 1], vec![6, 0, 2])]);
        assert_eq!(all(&selection, &[9, 2, 3]), [(6, 18), (31, 2), (37, 2)]);
    }

    #[test]
    fn what_is_beyond_a_smaller_array_keeps_its_number() {
        let side = |start, block| Regular { start, stride: block, count: Some(1), block: Some(block) };
        let selection = Selection::Regular(vec![side(0, 3), side(1, 4)]);
        // Rows 0 to 2 and columns 1 to 4 of an array that has two rows and three columns left.
        let numbered = Numbered::whole(&selection, &[2, 3]).unwrap();
        assert_eq!(numbered.count(), Some(12));
        assert_eq!((numbered.beyond(0), numbered.locate(0)), (None, Some(Run { from: 1, len: 2 })));
        assert_eq!(numbered.beyond(2), Some(2));
        assert_eq!((numbered.beyond(5), numbered.locate(5)), (None, Some(Run { from: 5, len: 1 })));
        assert_eq!(numbered.beyond(8), Some(4));
        assert_eq!((numbered.beyond(12), numbered.locate(12)), (None, None));
    }

    #[test]
    fn more_than_can_be_counted() {
        let huge = Regular { start: 0, stride: 2, count: None, block: Some(1) };
        let numbered = Numbered::new(&Selection::Regular(vec![huge]), &[1 << 60]).unwrap();
        assert_eq!(numbered.locate(1 << 50), Some(Run { from: 1 << 51, len: 1 }));
    }
}
