//! Selections of arrays with strides, which are read with as few calls as their layout allows.

use sciformats_core::arith::{add, div, fit, increase, mul, product, sub};
use sciformats_core::storage::read_into_threads;
use sciformats_core::{Error, ReadAt, Result, bound};

/// Ranges up to this size are read as a whole, even if only a part of them is needed.
const SMALL: u64 = 64 << 10;
/// Larger ranges are read as a whole if at least one in this many bytes is needed.
const DENSE: u64 = 4;

/// A dimension of a selection: the number of indices, and the distance in bytes from one to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dimension {
    pub(crate) count: u64,
    pub(crate) stride: i64,
}

/// Elements of `size` bytes at `start` and at strides from it. All are inside the storage, because the array has been checked.
#[derive(Clone, Debug)]
pub(crate) struct Strided {
    pub(crate) start: u64,
    pub(crate) size: u64,
    /// The dimensions, the slowest varying first.
    pub(crate) dimensions: Vec<Dimension>,
}

impl Strided {
    /// Joins dimensions without gaps, so that `size` becomes the length of the longest run.
    pub(crate) fn joined(mut self) -> Result<Self> {
        self.dimensions.retain(|dimension| dimension.count != 1);
        while let Some(last) = self.dimensions.last() {
            if u64::try_from(last.stride).ok() != Some(self.size) {
                break;
            }
            self.size = mul(self.size, last.count)?;
            self.dimensions.pop();
        }
        Ok(self)
    }

    fn bytes(&self) -> Result<u64> {
        mul(self.size, product(self.dimensions.iter().map(|dimension| dimension.count))?)
    }

    /// Returns the first byte and the end of the range that contains all elements.
    fn extent(&self) -> Result<(u64, u64)> {
        let (mut low, mut high) = (self.start, add(self.start, self.size)?);
        for dimension in &self.dimensions {
            let span = mul(dimension.stride.unsigned_abs(), sub(dimension.count, 1)?)?;
            if dimension.stride < 0 {
                low = sub(low, span)?;
            } else {
                high = add(high, span)?;
            }
        }
        Ok((low, high))
    }

    /// Fills `out`, which has the size of the selection, in the order of the selection.
    pub(crate) fn read(&self, storage: &dyn ReadAt, out: &mut [u8], threads: usize) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let Some((outer, inner)) = self.dimensions.split_first() else {
            return read_into_threads(storage, self.start, out, threads);
        };
        let (low, high) = self.extent()?;
        let (range, wanted) = (sub(high, low)?, self.bytes()?);
        if storage.as_slice().is_some() || range <= SMALL || range / DENSE <= wanted {
            let mut buffer = Vec::new();
            let bytes = storage.read_with(low, bound::addressable(range), &mut buffer)?;
            return self.gather(bytes, sub(self.start, low)?, out);
        }
        let step = fit::<usize, _>(div(wanted, outer.count)?, "size of a part of a selection")?.max(1);
        let mut start = self.start;
        for part in out.chunks_mut(step) {
            Self { start, size: self.size, dimensions: inner.to_vec() }.read(storage, part, threads)?;
            start = start.wrapping_add_signed(outer.stride);
        }
        Ok(())
    }

    /// Copies the elements from `bytes`, in which the first element is at `start`.
    fn gather(&self, bytes: &[u8], start: u64, out: &mut [u8]) -> Result<()> {
        let size: usize = fit(self.size, "size of an element")?;
        let Some((inner, outer)) = self.dimensions.split_last() else { return Ok(()) };
        let row = fit::<usize, _>(mul(inner.count, self.size)?, "size of a row")?.max(1);
        // Returns the distance from the last index of a dimension to its first.
        let back = |dimension: &Dimension| {
            sub(0, mul(dimension.stride, fit(sub(dimension.count, 1)?, "count of a selection")?)?)
        };
        let back = outer.iter().map(back).collect::<Result<Vec<i64>>>()?;
        let mut index = vec![0u64; outer.len()];
        let mut row_start = start;
        for row in out.chunks_mut(row) {
            copy_row(bytes, row_start, inner.stride, size, row)?;
            for ((position, dimension), &back) in index.iter_mut().zip(outer).zip(&back).rev() {
                increase(position, 1)?;
                if *position < dimension.count {
                    row_start = row_start.wrapping_add_signed(dimension.stride);
                    break;
                }
                *position = 0;
                row_start = row_start.wrapping_add_signed(back);
            }
        }
        Ok(())
    }
}

fn copy_row(bytes: &[u8], start: u64, stride: i64, size: usize, row: &mut [u8]) -> Result<()> {
    match size {
        1 => copy_elements::<1>(bytes, start, stride, row),
        2 => copy_elements::<2>(bytes, start, stride, row),
        4 => copy_elements::<4>(bytes, start, stride, row),
        8 => copy_elements::<8>(bytes, start, stride, row),
        16 => copy_elements::<16>(bytes, start, stride, row),
        _ => {
            let mut at = start;
            for element in row.chunks_mut(size.max(1)) {
                let from = bound::addressable(at);
                let source = bytes.get(from..bound::sum(from, element.len())).ok_or_else(outside)?;
                element.copy_from_slice(source);
                at = at.wrapping_add_signed(stride);
            }
            Ok(())
        }
    }
}

/// The same copy for a size that the compiler knows.
fn copy_elements<const N: usize>(bytes: &[u8], start: u64, stride: i64, row: &mut [u8]) -> Result<()> {
    let mut at = start;
    for element in row.as_chunks_mut::<N>().0 {
        let source = bytes.get(bound::addressable(at)..).and_then(<[u8]>::first_chunk::<N>);
        *element = *source.ok_or_else(outside)?;
        at = at.wrapping_add_signed(stride);
    }
    Ok(())
}

#[cold]
fn outside() -> Error {
    Error::internal("an element lies outside of the bytes of its array")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(start: u64, size: u64, dimensions: &[(u64, i64)]) -> Strided {
        let dimensions = dimensions.iter().map(|&(count, stride)| Dimension { count, stride }).collect();
        Strided { start, size, dimensions }
    }

    #[test]
    fn what_leaves_its_bytes_is_an_error_and_no_zeros() {
        let bytes: &[u8] = &[1, 2, 3, 4, 5, 6, 7, 8];
        let mut out = [0; 4];
        strided(7, 1, &[(2, -4), (2, -2)]).read(&bytes, &mut out, 1).unwrap();
        assert_eq!(out, [8, 6, 4, 2]);
        for bad in [
            strided(6, 1, &[(2, 1), (2, 2)]),
            strided(1, 1, &[(2, -1), (2, -1)]),
            strided(u64::MAX, 1, &[(4, 1)]),
            strided(0, u64::MAX, &[(2, 1), (2, 1)]),
            strided(0, 1, &[(2, i64::MAX), (2, i64::MIN)]),
        ] {
            assert!(bad.read(&bytes, &mut out, 1).is_err(), "{bad:?}");
        }
        assert!(strided(0, 1 << 40, &[(1 << 40, 1 << 40)]).joined().is_err());
    }
}
