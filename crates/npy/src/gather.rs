//! Reading of selected elements, which are stored bytes in C order.

use sciformats_core::arith::{add, mul, sub};
use sciformats_core::storage::check_range;
use sciformats_core::{Error, Limits, ReadAt, Result, Slab};

use crate::spec::Header;

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

impl Elements<'_> {
    /// Reads the selected elements into `out`, which has their total size.
    pub(crate) fn read(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        if slab.is_empty() || out.is_empty() {
            return Ok(());
        }
        if self.header.fortran_order { self.fortran(slab, out) } else { self.c(slab, out) }
    }

    fn c(&self, slab: &Slab, mut out: &mut [u8]) -> Result<()> {
        let mut buffer = Vec::new();
        for run in slab.runs() {
            let at = add(self.data, mul(run.from, self.size)?)?;
            let len = addressable(mul(run.len, self.size)?)?;
            let part = out
                .split_off_mut(..len)
                .ok_or_else(|| Error::internal("a run is not inside the selection"))?;
            if run.step == 1 {
                self.storage.read_into(at, part)?;
                continue;
            }
            let span = mul(add(mul(sub(run.len, 1)?, run.step)?, 1)?, self.size)?;
            let span = self.limits.memory("bytes that the selected elements span", span)?;
            let bytes = self.storage.read_with(at, span, &mut buffer)?;
            let (size, step) = (addressable(self.size)?, addressable(mul(run.step, self.size)?)?);
            for (to, from) in part.chunks_exact_mut(size).zip(bytes.chunks(step)) {
                to.copy_from_slice(from.get(..size).ok_or_else(left)?);
            }
        }
        Ok(())
    }

    /// Reads elements of an array whose first index varies fastest: everything from the first to the last selected element is
    /// read.
    fn fortran(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        let (ranges, counts) = (slab.ranges(), slab.shape());
        let mut strides = Vec::with_capacity(ranges.len());
        let mut stride = 1u64;
        for &length in &self.header.shape {
            strides.push(stride);
            stride = mul(stride, length)?;
        }
        let (mut first, mut span) = (0u64, 0u64);
        for (range, &stride) in ranges.iter().zip(&strides) {
            first = add(first, mul(range.start, stride)?)?;
            span = add(span, mul(mul(sub(range.count, 1)?, range.step)?, stride)?)?;
        }
        let at = add(self.data, mul(first, self.size)?)?;
        let len = mul(add(span, 1)?, self.size)?;
        check_range(self.storage.size(), at, len)?;
        let len = self.limits.memory("bytes that the selected elements span", len)?;
        let mut buffer = Vec::new();
        let bytes = self.storage.read_with(at, len, &mut buffer)?;
        let size = addressable(self.size)?;
        // The index of each element; the last dimension of the selection varies fastest.
        let mut index = vec![0u64; ranges.len()];
        let mut place = 0u64;
        for to in out.chunks_exact_mut(size) {
            let from = addressable(mul(place, self.size)?)?;
            let end = add(from, size)?;
            to.copy_from_slice(bytes.get(from..end).ok_or_else(left)?);
            let axes = index.iter_mut().zip(&counts).zip(ranges.iter().zip(&strides)).rev();
            for ((index, &count), (range, &stride)) in axes {
                let step = mul(range.step, stride)?;
                *index = add(*index, 1)?;
                place = add(place, step)?;
                if *index < count {
                    break;
                }
                place = sub(place, mul(step, count)?)?;
                *index = 0;
            }
        }
        Ok(())
    }
}

fn addressable(number: u64) -> Result<usize> {
    usize::try_from(number)
        .map_err(|_| Error::usage("selection", "has more bytes than this machine can address"))
}

fn left() -> Error {
    Error::internal("an element is not inside the bytes that were read")
}
