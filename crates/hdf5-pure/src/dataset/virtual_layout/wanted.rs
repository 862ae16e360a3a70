//! Finds the elements of a selection that a request wants.

use sciformats_core::{Range, Slab, bound};

use crate::value::region::{Axis, Numbered, Run};

/// A function that receives wanted elements: the number of the first in the selection, how many, and its number in the
/// request.
pub(crate) type Found<'f> = dyn FnMut(u64, u64, u64) -> Option<()> + 'f;

/// Calls `found` with the elements of `selection` that `slab` wants, in ascending order. If the selection is regular,
/// this takes time in proportion to the slab, not to the selection. Returns `None` as soon as `found` does.
pub(crate) fn visit(selection: &Numbered, slab: &Slab, found: &mut Found<'_>) -> Option<()> {
    match selection {
        Numbered::Axes(axes) => match slab.ranges().split_last().zip(axes.split_last()) {
            Some(((last, outer), ((axis, _), outer_axes))) => {
                let mut walk = Walk { last: (*last, *axis), found };
                walk.descend(outer, outer_axes, (0, 0))
            }
            None => found(0, 1, 0),
        },
        Numbered::Runs(runs) => {
            let wanted = Wanted::new(slab);
            runs.iter().try_for_each(|&(first, run)| {
                wanted.intersect(run, &mut |skip, count, place| found(first.checked_add(skip)?, count, place))
            })
        }
    }
}

/// A walk over the dimensions of a request and of a regular selection.
struct Walk<'a, 'f> {
    last: (Range, Axis),
    found: &'a mut Found<'f>,
}

impl Walk<'_, '_> {
    /// Visits one dimension. `before` has the numbers in the selection and in the request that the previous dimensions
    /// give.
    fn descend(&mut self, ranges: &[Range], axes: &[(Axis, u64)], before: (u64, u64)) -> Option<()> {
        let (Some((range, inner)), Some(((axis, _), inner_axes))) =
            (ranges.split_first(), axes.split_first())
        else {
            return self.row(before);
        };
        let (number, place) = (before.0.checked_mul(axis.len)?, before.1.checked_mul(range.count)?);
        for k in 0..range.count {
            let index = range.start.checked_add(k.checked_mul(range.step)?)?;
            if let Some(position) = axis.position(index) {
                self.descend(inner, inner_axes, (number.checked_add(position)?, place.checked_add(k)?))?;
            }
        }
        Some(())
    }

    fn row(&mut self, before: (u64, u64)) -> Option<()> {
        let (range, axis) = self.last;
        let (number, place) = (before.0.checked_mul(axis.len)?, before.1.checked_mul(range.count)?);
        if range.step != 1 {
            for k in 0..range.count {
                let index = range.start.checked_add(k.checked_mul(range.step)?)?;
                if let Some(position) = axis.position(index) {
                    (self.found)(number.checked_add(position)?, 1, place.checked_add(k)?)?;
                }
            }
            return Some(());
        }
        let end = range.start.checked_add(range.count)?;
        for (index, position, len) in axis.runs(axis.from(range.start)) {
            if index >= end {
                break;
            }
            let count = len.min(end.checked_sub(index)?);
            let k = index.checked_sub(range.start)?;
            (self.found)(number.checked_add(position)?, count, place.checked_add(k)?)?;
        }
        Some(())
    }
}

/// The elements of a request by their linear index in the array.
struct Wanted<'a> {
    slab: &'a Slab,
    strides: Vec<u64>,
}

impl<'a> Wanted<'a> {
    fn new(slab: &'a Slab) -> Self {
        let mut stride = 1u64;
        let mut strides: Vec<u64> = slab
            .of()
            .iter()
            .rev()
            .map(|&n| {
                let this = stride;
                stride = bound::product(stride, n.max(1)); // every index divided by the bound is 0
                this
            })
            .collect();
        strides.reverse();
        Self { slab, strides }
    }

    /// Calls `found` with the parts of `run` that are wanted: the number of elements skipped in the run, the count, and
    /// the number in the request. A run may span several rows.
    fn intersect(&self, run: Run, found: &mut dyn FnMut(u64, u64, u64) -> Option<()>) -> Option<()> {
        let width = self.slab.of().last().copied().unwrap_or(1).max(1);
        let mut at = run.from;
        let end = run.from.checked_add(run.len)?;
        while at < end {
            let row_end = at.checked_sub(at.checked_rem(width)?)?.checked_add(width)?.min(end);
            self.row(run.from, at, row_end, found)?;
            at = row_end;
        }
        Some(())
    }

    fn row(
        &self,
        base: u64,
        from: u64,
        to: u64,
        found: &mut dyn FnMut(u64, u64, u64) -> Option<()>,
    ) -> Option<()> {
        let mut rest = from;
        let mut place = 0u64;
        let Some((last, outer)) = self.slab.ranges().split_last() else { return found(0, 1, 0) };
        for (range, &stride) in outer.iter().zip(&self.strides) {
            let index = rest.checked_div(stride)?;
            rest = rest.checked_rem(stride)?;
            let Some(k) = position(range, index) else { return Some(()) };
            place = place.checked_mul(range.count)?.checked_add(k)?;
        }
        place = place.checked_mul(last.count)?;
        // Here `rest` is the index in the last dimension.
        let end = rest.checked_add(to.checked_sub(from)?)?;
        let first = bound::left(rest, last.start).div_ceil(last.step);
        let skip = |index: u64| from.checked_sub(base)?.checked_add(index.checked_sub(rest)?);
        if last.step == 1 {
            let (low, high) = (rest.max(last.start), end.min(last.start.checked_add(last.count)?));
            return if low < high {
                found(skip(low)?, high.checked_sub(low)?, place.checked_add(low.checked_sub(last.start)?)?)
            } else {
                Some(())
            };
        }
        for k in first..last.count {
            let index = last.start.checked_add(k.checked_mul(last.step)?)?;
            if index >= end {
                break;
            }
            found(skip(index)?, 1, place.checked_add(k)?)?;
        }
        Some(())
    }
}

fn position(range: &Range, index: u64) -> Option<u64> {
    let distance = index.checked_sub(range.start)?;
    let k = distance.checked_div(range.step)?;
    (distance.checked_rem(range.step)? == 0 && k < range.count).then_some(k)
}
