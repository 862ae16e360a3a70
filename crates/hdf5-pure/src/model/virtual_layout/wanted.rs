//! Which elements of a run a request wants.

use sciformats_core::{Range, Slab};

use crate::model::region::Run;

/// The elements of a request by their linear index in the array.
pub(super) struct Wanted<'a> {
    slab: &'a Slab,
    strides: Vec<u64>,
}

impl<'a> Wanted<'a> {
    pub(super) fn new(slab: &'a Slab) -> Self {
        let mut stride = 1u64;
        let mut strides: Vec<u64> = slab
            .of()
            .iter()
            .rev()
            .map(|&n| {
                let this = stride;
                stride = stride.saturating_mul(n.max(1));
                this
            })
            .collect();
        strides.reverse();
        Self { slab, strides }
    }

    /// Calls `found` with the parts of `run` that are wanted: elements skipped in the run, count, number in the request.
    /// A run may span several rows.
    pub(super) fn intersect(
        &self,
        run: Run,
        found: &mut dyn FnMut(u64, u64, u64) -> Option<()>,
    ) -> Option<()> {
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
        // `rest` is now the index in the last dimension.
        let end = rest.checked_add(to.checked_sub(from)?)?;
        let first = rest.saturating_sub(last.start).div_ceil(last.step);
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
