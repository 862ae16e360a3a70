//! Stored selections of an array of known shape: their runs of elements in order.

use crate::spec::selection::{Regular, Selection};

/// Elements that are adjacent in the array, in one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Linear index of the first.
    pub(crate) from: u64,
    /// How many.
    pub(crate) len: u64,
}

/// Resolves unlimited counts and blocks: everything ends with the array.
pub(crate) fn limit(dimension: &Regular, size: u64) -> Regular {
    let Regular { start, stride, count, block } = *dimension;
    let room = size.saturating_sub(start);
    let block = block.unwrap_or(room);
    let count = count.unwrap_or_else(|| match stride {
        0 => u64::from(room > 0),
        // Only blocks that begin inside; the last may be cut.
        _ => room.div_ceil(stride),
    });
    Regular { start, stride, count: Some(count), block: Some(block) }
}

/// Index ranges of one dimension, first and length, cut at the end of the array.
fn ranges(dimension: &Regular, size: u64) -> impl Iterator<Item = (u64, u64)> + Clone {
    let Regular { start, stride, count, block } = limit(dimension, size);
    let (count, block) = (count.unwrap_or(0), block.unwrap_or(0));
    (0..count)
        .map(move |i| start.saturating_add(i.saturating_mul(stride)))
        .take_while(move |&at| at < size)
        .map(move |at| (at, block.min(size.saturating_sub(at))))
        .filter(|&(_, len)| len > 0)
}

/// Calls `visit` with the runs of `selection` of an array of `shape`, in the order of their elements, until it returns
/// `None`; `None` as well if the selection does not fit the array.
pub(crate) fn runs(
    selection: &Selection,
    shape: &[u64],
    visit: &mut dyn FnMut(Run) -> Option<()>,
) -> Option<()> {
    match selection {
        Selection::None => Some(()),
        Selection::All => match sciformats_core::slab::elements(shape)? {
            0 => Some(()),
            len => visit(Run { from: 0, len }),
        },
        Selection::Points(points) => points.iter().try_for_each(|point| {
            let inside = point.len() == shape.len() && point.iter().zip(shape).all(|(at, size)| at < size);
            visit(Run { from: inside.then(|| linear(point, shape))??, len: 1 })
        }),
        Selection::Regular(dimensions) if dimensions.len() == shape.len() => {
            regular(dimensions, shape, 0, visit)
        }
        Selection::Blocks(blocks) => blocks_in_order(blocks, shape, visit),
        Selection::Regular(_) => None,
    }
}

fn linear(point: &[u64], shape: &[u64]) -> Option<u64> {
    point.iter().zip(shape).try_fold(0u64, |sum, (&at, &size)| sum.checked_mul(size)?.checked_add(at))
}

fn regular(
    dimensions: &[Regular],
    shape: &[u64],
    before: u64,
    visit: &mut dyn FnMut(Run) -> Option<()>,
) -> Option<()> {
    let (Some((dimension, deeper)), Some((&size, inner))) = (dimensions.split_first(), shape.split_first())
    else {
        return visit(Run { from: before, len: 1 });
    };
    let base = before.checked_mul(size)?;
    for (at, len) in ranges(dimension, size) {
        if deeper.is_empty() {
            visit(Run { from: base.checked_add(at)?, len })?;
            continue;
        }
        for index in at..at.checked_add(len)? {
            regular(deeper, inner, base.checked_add(index)?, visit)?;
        }
    }
    Some(())
}

/// Blocks enumerate their elements in the order of the array, whatever the order in which they are stored.
fn blocks_in_order(
    blocks: &[(Vec<u64>, Vec<u64>)],
    shape: &[u64],
    visit: &mut dyn FnMut(Run) -> Option<()>,
) -> Option<()> {
    let mut runs = Vec::new();
    for (first, last) in blocks {
        if first.len() != shape.len() || last.iter().zip(shape).any(|(last, size)| last >= size) {
            return None;
        }
        let dimensions: Vec<Regular> = first
            .iter()
            .zip(last)
            .map(|(&start, &last)| {
                let block = Some(last.saturating_sub(start).saturating_add(1));
                Regular { start, stride: 1, count: Some(1), block }
            })
            .collect();
        regular(&dimensions, shape, 0, &mut |run| {
            runs.push(run);
            (runs.len() < MOST_RUNS).then_some(())
        })?;
    }
    runs.sort_by_key(|run| run.from);
    runs.into_iter().try_for_each(visit)
}

/// Blocks that are not regular are held in memory to be sorted: no more runs than this.
const MOST_RUNS: usize = 1 << 24;

/// First and last row of an array that a selection touches, if it is not empty.
pub(crate) fn rows(selection: &Selection, shape: &[u64]) -> Option<(u64, u64)> {
    let size = *shape.first()?;
    let rows = match selection {
        Selection::None => None,
        Selection::All => size.checked_sub(1).map(|last| (0, last)),
        Selection::Points(points) => {
            let firsts = || points.iter().filter_map(|point| point.first().copied());
            firsts().min().zip(firsts().max())
        }
        Selection::Regular(dimensions) => {
            let mut rows = ranges(dimensions.first()?, size);
            let first = rows.next()?;
            let (at, len) = rows.last().unwrap_or(first);
            Some((first.0, at.saturating_add(len).saturating_sub(1)))
        }
        Selection::Blocks(blocks) => {
            let firsts = blocks.iter().filter_map(|(first, _)| first.first().copied()).min();
            firsts.zip(blocks.iter().filter_map(|(_, last)| last.first().copied()).max())
        }
    };
    rows.filter(|_| !shape.contains(&0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(selection: &Selection, shape: &[u64]) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        runs(selection, shape, &mut |run| {
            found.push((run.from, run.len));
            Some(())
        })
        .unwrap();
        found
    }

    #[test]
    fn regular_and_unlimited() {
        let rows = Regular { start: 1, stride: 2, count: None, block: Some(1) };
        let columns = Regular { start: 0, stride: 3, count: Some(2), block: Some(2) };
        let selection = Selection::Regular(vec![rows, columns]);
        assert_eq!(all(&selection, &[4, 6]), [(6, 2), (9, 2), (18, 2), (21, 2)]);
        assert_eq!(super::rows(&selection, &[4, 6]), Some((1, 3)));
    }

    #[test]
    fn blocks_are_put_in_order() {
        let selection = Selection::Blocks(vec![(vec![1, 0], vec![1, 1]), (vec![0, 1], vec![0, 2])]);
        assert_eq!(all(&selection, &[2, 3]), [(1, 2), (3, 2)]);
    }
}
