//! Selections of arrays whose elements lie at strides, gathered with as few reads as their layout allows.

use sciformats_core::storage::read_into_threads;
use sciformats_core::{ReadAt, Result};

/// Ranges up to this size are read whole, whatever part of them is wanted.
const SMALL: u64 = 64 << 10;
/// Larger ranges are read whole if at least one byte in so many is wanted.
const DENSE: u64 = 4;

/// One dimension of a selection: how many indices, and the bytes from one to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dimension {
    pub(crate) count: u64,
    pub(crate) stride: i64,
}

/// Elements of `size` bytes at `start` and at strides from it. Every one lies inside the storage: the array has been checked.
#[derive(Clone, Debug)]
pub(crate) struct Strided {
    pub(crate) start: u64,
    pub(crate) size: u64,
    /// Slowest first.
    pub(crate) dimensions: Vec<Dimension>,
}

impl Strided {
    /// Joins what lies without gaps, so that `size` is the longest run.
    pub(crate) fn joined(mut self) -> Self {
        self.dimensions.retain(|dimension| dimension.count != 1);
        while let Some(last) = self.dimensions.last() {
            if u64::try_from(last.stride).ok() != Some(self.size) {
                break;
            }
            self.size = self.size.saturating_mul(last.count);
            self.dimensions.pop();
        }
        self
    }

    fn bytes(&self) -> u64 {
        self.dimensions.iter().fold(self.size, |product, dimension| product.saturating_mul(dimension.count))
    }

    /// The first byte and the end of the range that holds all elements.
    fn extent(&self) -> (u64, u64) {
        let (mut low, mut high) = (self.start, self.start.saturating_add(self.size));
        for dimension in &self.dimensions {
            let span = dimension.stride.unsigned_abs().saturating_mul(dimension.count.saturating_sub(1));
            if dimension.stride < 0 {
                low = low.saturating_sub(span);
            } else {
                high = high.saturating_add(span);
            }
        }
        (low, high)
    }

    /// Fills `out`, which has the size of the selection, in its order.
    pub(crate) fn read(&self, storage: &dyn ReadAt, out: &mut [u8], threads: usize) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let (low, high) = self.extent();
        let Some((outer, inner)) = self.dimensions.split_first() else {
            return read_into_threads(storage, self.start, out, threads);
        };
        let range = high.saturating_sub(low);
        if storage.as_slice().is_some() || range <= SMALL || range / DENSE <= self.bytes() {
            let bytes = storage.read_at(low, usize::try_from(range).unwrap_or(usize::MAX))?;
            self.gather(&bytes, self.start.saturating_sub(low), out);
            return Ok(());
        }
        let step = usize::try_from(self.bytes().checked_div(outer.count).unwrap_or(0)).unwrap_or(0).max(1);
        let mut start = self.start;
        for part in out.chunks_mut(step) {
            Self { start, size: self.size, dimensions: inner.to_vec() }.read(storage, part, threads)?;
            start = start.wrapping_add_signed(outer.stride);
        }
        Ok(())
    }

    /// Copies the elements out of `bytes`, in which the first begins at `start`.
    fn gather(&self, bytes: &[u8], start: u64, out: &mut [u8]) {
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let Some((inner, outer)) = self.dimensions.split_last() else { return };
        let row = usize::try_from(inner.count).unwrap_or(usize::MAX).saturating_mul(size).max(1);
        let mut index = vec![0u64; outer.len()];
        let mut row_start = start;
        for row in out.chunks_mut(row) {
            copy_row(bytes, row_start, inner.stride, size, row);
            for (position, dimension) in index.iter_mut().zip(outer).rev() {
                *position = position.saturating_add(1);
                row_start = row_start.wrapping_add_signed(dimension.stride);
                if *position < dimension.count {
                    break;
                }
                *position = 0;
                let count = i64::try_from(dimension.count).unwrap_or(i64::MAX);
                row_start =
                    row_start.wrapping_add_signed(dimension.stride.saturating_mul(count).saturating_neg());
            }
        }
    }
}

fn copy_row(bytes: &[u8], start: u64, stride: i64, size: usize, row: &mut [u8]) {
    match size {
        1 => copy_elements::<1>(bytes, start, stride, row),
        2 => copy_elements::<2>(bytes, start, stride, row),
        4 => copy_elements::<4>(bytes, start, stride, row),
        8 => copy_elements::<8>(bytes, start, stride, row),
        16 => copy_elements::<16>(bytes, start, stride, row),
        _ => {
            let mut at = start;
            for element in row.chunks_mut(size.max(1)) {
                let from = usize::try_from(at).unwrap_or(usize::MAX);
                if let Some(source) = bytes.get(from..from.saturating_add(element.len())) {
                    element.copy_from_slice(source);
                }
                at = at.wrapping_add_signed(stride);
            }
        }
    }
}

/// As the general case, with a size that the compiler knows.
fn copy_elements<const N: usize>(bytes: &[u8], start: u64, stride: i64, row: &mut [u8]) {
    let mut at = start;
    for element in row.as_chunks_mut::<N>().0 {
        let from = usize::try_from(at).unwrap_or(usize::MAX);
        if let Some(source) = bytes.get(from..).and_then(<[u8]>::first_chunk::<N>) {
            *element = *source;
        }
        at = at.wrapping_add_signed(stride);
    }
}
