//! Reads the rows of a source.

use sciformats_core::arith::{add, div, increase, mul, sub};
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Conversion, Range, Result, Slab, bound};

use crate::dataset::read::Reader;
use crate::dataset::virtual_layout::STRUCTURE;
use crate::spec::message::datatype::Datatype;
use crate::value::convert;

/// The rows of a source, some of which are in memory.
pub(crate) struct Rows<'a> {
    reader: &'a Reader<'a>,
    /// The number of elements per row.
    width: u64,
    /// The number of the last row.
    last: u64,
    /// The datatype to which the elements are converted.
    datatype: &'a Datatype,
    size: usize,
    /// The linear index of the first element in memory.
    from: u64,
    held: Vec<u8>,
}

/// The number of bytes of a source that are in memory at once, unless a single row is larger.
const WINDOW: u64 = 4 << 20;

impl<'a> Rows<'a> {
    /// Returns the rows of the source of `reader`, up to the row that contains the element `last`.
    pub(crate) fn new(reader: &'a Reader<'a>, last: u64, datatype: &'a Datatype) -> Result<Self> {
        let shape = reader.content.dataspace.shape();
        let width =
            shape.iter().skip(1).try_fold(1u64, |width, &n| width.checked_mul(n)).ok_or_else(|| {
                let fault = Fault::new("source", FaultKind::Overflow);
                reader.opened.context.fault(STRUCTURE, reader.content.address, fault)
            })?;
        let size = bound::addressable(datatype.size.into());
        let last = div(last, width)?;
        Ok(Self { reader, width, last, datatype, size, from: 0, held: Vec::new() })
    }

    /// Copies the elements from the linear index `start` on.
    pub(crate) fn copy(&mut self, mut start: u64, out: &mut [u8]) -> Result<()> {
        let mut out = out;
        while !out.is_empty() {
            let skip = start.checked_sub(self.from).and_then(|n| usize::try_from(n).ok());
            let skip = skip.and_then(|n| n.checked_mul(self.size)).filter(|&n| n < self.held.len());
            let Some(held) = skip.and_then(|skip| self.held.get(skip..)) else {
                self.load(start)?;
                continue;
            };
            let len = held.len().min(out.len());
            let (part, rest) = out.split_at_mut(len);
            part.iter_mut().zip(held).for_each(|(to, &from)| *to = from);
            increase(&mut start, div(len, self.size)? as u64)?;
            out = rest;
        }
        Ok(())
    }

    /// Reads rows, starting with the row that contains the element `start`.
    fn load(&mut self, start: u64) -> Result<()> {
        let shape = self.reader.content.dataspace.shape();
        let row_bytes = bound::product(self.width, self.size as u64).max(1);
        let mut ranges: Vec<Range> = shape.iter().map(|&n| Range::all(n)).collect();
        self.from = 0;
        if let Some(range) = ranges.first_mut() {
            let row = div(start, self.width)?;
            let left = sub(add(self.last, 1)?, row)?;
            let count = div(WINDOW, row_bytes)?.clamp(1, left.max(1));
            *range = Range::new(row, count);
            self.from = mul(row, self.width)?;
        }
        let slab = Slab::new(shape, ranges)?;
        let from = &self.reader.content.datatype;
        let len = bound::product(slab.len(), from.size.into());
        let len = self.reader.opened.context.limits.memory("bytes of a source's rows", len)?;
        let mut raw = vec![0; len];
        self.reader.read(&slab, &mut raw)?;
        self.held = convert::elements(from, self.datatype, raw, Conversion::Lossy)?;
        if self.held.is_empty() {
            let kind = FaultKind::Truncated;
            let address = self.reader.content.address;
            return Err(self.reader.opened.context.fault(STRUCTURE, address, Fault::new("source", kind)));
        }
        Ok(())
    }
}
