//! How array indexes number chunks, and the elements that store where chunks are.

use std::ops::ControlFlow;

use sciformats_core::fault::locate;
use sciformats_core::{Result, bound};

use crate::chunk::index::{Bounds, Index, StoredChunk, Visit};
use crate::spec::Address;
use crate::spec::fixed_array::{self, Element};

/// The order in which array indexes number chunks.
pub(crate) struct Numbering {
    /// The dimensions, the slowest first.
    order: Vec<usize>,
    /// The number of chunks per dimension, in that order.
    counts: Vec<u64>,
    /// The difference in number between neighbours along each dimension, in that order.
    strides: Vec<u64>,
}

impl Numbering {
    /// Numbers chunks in C order over `counts`. The dimension `unlimited` comes before all others.
    pub(crate) fn new(counts: &[u64], unlimited: Option<usize>) -> Self {
        let others = (0..counts.len()).filter(|&i| Some(i) != unlimited);
        let order: Vec<usize> = unlimited.into_iter().chain(others).collect();
        let counts: Vec<u64> = order.iter().filter_map(|&i| counts.get(i).copied()).collect();
        let mut stride = 1u64;
        let mut strides: Vec<u64> = counts
            .iter()
            .rev()
            .map(|&n| {
                let this = stride;
                stride = bound::product(stride, n);
                this
            })
            .collect();
        strides.reverse();
        Self { order, counts, strides }
    }

    /// Returns the number of dimensions.
    pub(crate) fn rank(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn number(&self, scaled: &[u64]) -> Option<u64> {
        self.order
            .iter()
            .zip(&self.strides)
            .try_fold(0u64, |sum, (&i, &stride)| sum.checked_add(scaled.get(i)?.checked_mul(stride)?))
    }

    /// Returns the smallest and the largest number in a box.
    pub(crate) fn range(&self, bounds: &Bounds) -> Option<(u64, u64)> {
        Some((self.number(&bounds.first)?, self.number(&bounds.last)?))
    }

    pub(crate) fn scaled(&self, number: u64) -> Vec<u64> {
        let mut scaled = vec![0; self.order.len()];
        for (n, ((&i, &stride), &count)) in self.order.iter().zip(&self.strides).zip(&self.counts).enumerate()
        {
            let at = number.checked_div(stride).unwrap_or(0); // a bound: no stride is 0
            // The slowest dimension can have any number of chunks.
            let at = if n == 0 { at } else { at.checked_rem(count).unwrap_or(0) }; // a bound: no count is 0
            if let Some(slot) = scaled.get_mut(i) {
                *slot = at;
            }
        }
        scaled
    }
}

/// The elements of an array index.
pub(crate) struct Elements<'a> {
    pub(crate) index: &'a Index<'a>,
    pub(crate) numbering: &'a Numbering,
    pub(crate) bounds: &'a Bounds,
    /// The first and the last number in the bounds.
    pub(crate) range: (u64, u64),
}

impl Elements<'_> {
    pub(crate) fn overlap(&self, start: u64, n: u64) -> bool {
        start <= self.range.1 && bound::sum(start, n) > self.range.0
    }

    /// Visits the elements in `bytes`, the first of which has the number `start`.
    pub(crate) fn visit(
        &self,
        at: Address,
        start: u64,
        bytes: &[u8],
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>> {
        let (context, sizes) = (self.index.context, self.index.context.sizes);
        let width = self.index.size_width(at)?;
        let chunk = self.index.bytes(at)?;
        let size = bound::sum(sizes.offsets.into(), if width == 0 { 0 } else { bound::sum(width, 4) });
        let skip = bound::addressable(bound::left(self.range.0, start));
        for (i, bytes) in bytes.chunks_exact(size).enumerate().skip(skip) {
            let number = self.index.place(at, start, (i as u64, 1))?;
            if number > self.range.1 {
                break;
            }
            let parse = |i| Element::parse(i, sizes, width);
            let element = locate("chunk index element", context.offset(at), bytes, parse)?;
            let Some(address) = element.address else { continue };
            let scaled = self.numbering.scaled(number);
            if !self.bounds.holds(&scaled) {
                continue;
            }
            let (size, filter_mask) = element.filtered.unwrap_or((chunk, 0));
            if visit(Ok(StoredChunk { scaled, address, size, filter_mask })).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Visits a page of `len` bytes of elements. If it cannot be read, that is reported as one error.
    pub(crate) fn page(
        &self,
        at: Address,
        start: u64,
        len: u64,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>> {
        const PAGE: &str = "chunk index page";
        let context = self.index.context;
        let elements = bound::addressable(len);
        let bytes = match context.read(PAGE, at, bound::sum(len, 4)) {
            Ok(bytes) => bytes,
            Err(error) => return Ok(visit(Err(error))),
        };
        match locate(PAGE, context.offset(at), &bytes, |i| fixed_array::page(i, elements)) {
            Ok(found) => self.visit(at, start, found, visit),
            Err(error) => Ok(visit(Err(error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_chunks() {
        let rows = Numbering::new(&[4, 3, 5], None);
        assert_eq!(rows.number(&[1, 2, 3]), Some(28));
        assert_eq!(rows.scaled(28), [1, 2, 3]);
        // The unlimited dimension comes first, whatever its count.
        let grows = Numbering::new(&[4, 1, 5], Some(1));
        assert_eq!(grows.number(&[1, 7, 3]), Some(7 * 20 + 5 + 3));
        assert_eq!(grows.scaled(148), [1, 7, 3]);
    }
}
