//! Reading of selected elements, which are stored bytes in C order.
//!
//! Elements that are adjacent in the file and in the result are read to their places. Of other elements, what lies between them is read
//! with them if it is little. Otherwise the selection is divided along the dimension whose indices are farthest apart in the file.

use sciformats_core::arith::{add, mul, present, product, sub};
use sciformats_core::{Error, Limits, ReadAt, Result, Slab};

use crate::spec::Header;

/// Ranges up to this size are read as a whole, even if only a part of them is selected.
const SMALL: u64 = 64 << 10;
/// Larger ranges are read as a whole if at least one in this many bytes is selected.
const DENSE: u64 = 4;
/// The largest such range of an array in C order, of which longer parts can be read to their places.
const LARGE: u64 = 4 << 20;

/// The elements of a file: where they are, and what their type is.
pub(crate) struct Elements<'a> {
    pub(crate) storage: &'a dyn ReadAt,
    pub(crate) header: &'a Header,
    /// The offset of the first element.
    pub(crate) data: u64,
    /// The size of an element in bytes.
    pub(crate) size: u64,
    pub(crate) limits: &'a Limits,
}

/// The selected indices of a dimension: their number, and the distance from one to the next in the file and in the result, in elements.
#[derive(Clone, Copy)]
struct Axis {
    count: u64,
    from: u64,
    to: u64,
}

impl Elements<'_> {
    /// Reads the selected elements into `out`, which has their total size.
    pub(crate) fn read(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        if slab.is_empty() || out.is_empty() {
            return Ok(());
        }
        let stored = if self.header.fortran_order {
            let reversed: Vec<u64> = self.header.shape.iter().rev().copied().collect();
            strides(&reversed)?.into_iter().rev().collect()
        } else {
            strides(&self.header.shape)?
        };
        let mut first = 0u64;
        let mut axes = Vec::with_capacity(stored.len());
        for ((range, stride), to) in slab.ranges().iter().zip(stored).zip(strides(&slab.shape())?) {
            first = add(first, mul(range.start, stride)?)?;
            // No index follows a single one, so its step has no effect.
            let from = if range.count > 1 { mul(range.step, stride)? } else { 0 };
            axes.push(Axis { count: range.count, from, to });
        }
        self.part((first, 0), &mut axes, out, &mut Vec::new())
    }

    /// Reads a part of the selection, whose first element is at these places in the file and in the result.
    fn part(
        &self,
        (first, place): (u64, u64),
        axes: &mut [Axis],
        out: &mut [u8],
        buffer: &mut Vec<u8>,
    ) -> Result<()> {
        let count = product(axes.iter().map(|axis| axis.count))?;
        let (range, wanted) = (mul(span(axes)?, self.size)?, mul(count, self.size)?);
        let at = add(self.data, mul(first, self.size)?)?;
        let is_alike = axes.iter().all(|axis| axis.count == 1 || axis.from == axis.to);
        if is_alike && range == wanted {
            let to = addressable(mul(place, self.size)?)?;
            let end = add(to, addressable(wanted)?)?;
            return self.storage.read_into(at, out.get_mut(to..end).ok_or_else(left)?);
        }
        let most = if self.header.fortran_order { u64::MAX } else { LARGE };
        let is_dense = range / DENSE <= wanted && range <= most.min(self.limits.memory);
        if is_dense || range <= SMALL || self.storage.as_slice().is_some() {
            let bytes = self.storage.read_with(at, addressable(range)?, buffer)?;
            return self.copy(bytes, place, axes, out);
        }
        let long = axes.iter().copied().enumerate().filter(|(_, axis)| axis.count > 1);
        let (number, whole) = present(long.max_by_key(|(_, axis)| axis.from), "dimension of a selection")?;
        let half = whole.count / 2;
        for (start, count) in [(0, half), (half, sub(whole.count, half)?)] {
            *present(axes.get_mut(number), "dimension of a selection")? = Axis { count, ..whole };
            let first = add(first, mul(start, whole.from)?)?;
            let place = add(place, mul(start, whole.to)?)?;
            self.part((first, place), axes, out, buffer)?;
        }
        *present(axes.get_mut(number), "dimension of a selection")? = whole;
        Ok(())
    }

    /// Copies elements from `bytes`, which begin with the first of them, to their places in the result.
    fn copy(&self, bytes: &[u8], place: u64, axes: &[Axis], out: &mut [u8]) -> Result<()> {
        let (inner, outer) = present(axes.split_last(), "dimension of a selection")?;
        let size = addressable(self.size)?;
        let row = addressable(mul(inner.count, self.size)?)?;
        let step = addressable(mul(inner.from, self.size)?)?;
        let mut index = vec![0u64; outer.len()];
        let (mut from, mut to) = (0u64, place);
        loop {
            let start = addressable(mul(to, self.size)?)?;
            let target = out.get_mut(start..add(start, row)?).ok_or_else(left)?;
            let source = bytes.get(addressable(mul(from, self.size)?)?..).ok_or_else(left)?;
            if inner.count == 1 || step == size {
                target.copy_from_slice(source.get(..row).ok_or_else(left)?);
            } else {
                for (to, from) in target.chunks_exact_mut(size).zip(source.chunks(step)) {
                    to.copy_from_slice(from.get(..size).ok_or_else(left)?);
                }
            }
            let mut is_last = true;
            for (index, axis) in index.iter_mut().zip(outer).rev() {
                *index = add(*index, 1)?;
                (from, to) = (add(from, axis.from)?, add(to, axis.to)?);
                if *index < axis.count {
                    is_last = false;
                    break;
                }
                (from, to) = (sub(from, mul(axis.count, axis.from)?)?, sub(to, mul(axis.count, axis.to)?)?);
                *index = 0;
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

/// Returns the distance of neighbours in each dimension, in elements. The last dimension varies fastest.
fn strides(sizes: &[u64]) -> Result<Vec<u64>> {
    let mut strides = Vec::with_capacity(sizes.len());
    let mut stride = 1u64;
    for &size in sizes.iter().rev() {
        strides.push(stride);
        stride = mul(stride, size)?;
    }
    strides.reverse();
    Ok(strides)
}

/// Returns the number of elements in the file from the first selected one to the last.
fn span(axes: &[Axis]) -> Result<u64> {
    axes.iter().try_fold(1, |span, axis| add(span, mul(sub(axis.count, 1)?, axis.from)?))
}

fn addressable(number: u64) -> Result<usize> {
    usize::try_from(number)
        .map_err(|_| Error::usage("selection", "has more bytes than this machine can address"))
}

fn left() -> Error {
    Error::internal("an element is not inside the bytes that were read")
}
