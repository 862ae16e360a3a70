//! Rows of a source.

use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Range, Result, Slab};

use super::STRUCTURE;
use crate::convert;
use crate::model::read::Reader;
use crate::spec::message::datatype::Datatype;

/// Rows of a source, of which some are held.
pub(super) struct Rows<'a> {
    reader: &'a Reader<'a>,
    /// Elements of a row.
    width: u64,
    /// The last row.
    last: u64,
    /// What the elements become.
    datatype: &'a Datatype,
    size: usize,
    /// Linear index of the first element held.
    from: u64,
    held: Vec<u8>,
}

/// Bytes of a source that are held at once, if a row is not larger.
const WINDOW: u64 = 4 << 20;

impl<'a> Rows<'a> {
    /// Rows of the source of `reader` up to the one with element `last`.
    pub(super) fn new(reader: &'a Reader<'a>, last: u64, datatype: &'a Datatype) -> Self {
        let shape = reader.content.dataspace.shape().unwrap_or_default();
        let width = shape.iter().skip(1).fold(1u64, |product, &n| product.saturating_mul(n));
        let size = usize::try_from(datatype.size).unwrap_or(usize::MAX);
        let last = last.checked_div(width).unwrap_or(0);
        Self { reader, width, last, datatype, size, from: 0, held: Vec::new() }
    }

    /// Copies the elements from linear index `start` on.
    pub(super) fn copy(&mut self, mut start: u64, out: &mut [u8]) -> Result<()> {
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
            start = start.saturating_add(len.checked_div(self.size).unwrap_or(0) as u64);
            out = rest;
        }
        Ok(())
    }

    /// Reads rows from the one of element `start` on.
    fn load(&mut self, start: u64) -> Result<()> {
        let shape = self.reader.content.dataspace.shape().unwrap_or_default();
        let row_bytes = self.width.saturating_mul(self.size as u64).max(1);
        let mut ranges: Vec<Range> = shape.iter().map(|&n| Range::all(n)).collect();
        self.from = 0;
        if let Some(range) = ranges.first_mut() {
            let row = start.checked_div(self.width).unwrap_or(0);
            let left = self.last.saturating_add(1).saturating_sub(row).max(1);
            let count = WINDOW.checked_div(row_bytes).unwrap_or(1).clamp(1, left);
            *range = Range::new(row, count);
            self.from = row.saturating_mul(self.width);
        }
        let slab = Slab::new(shape, ranges)?;
        let from = &self.reader.content.datatype;
        let len = slab.len().saturating_mul(from.size.into());
        let len = self.reader.opened.context.limits.memory("bytes of a source's rows", len)?;
        let mut raw = vec![0; len];
        self.reader.read(&slab, &mut raw)?;
        self.held = convert::elements(from, self.datatype, raw)?;
        if self.held.is_empty() {
            let kind = FaultKind::Truncated;
            let address = self.reader.content.address;
            return Err(self.reader.opened.context.fault(STRUCTURE, address, Fault::new("source", kind)));
        }
        Ok(())
    }
}
