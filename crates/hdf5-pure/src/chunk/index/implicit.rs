//! Implicit index: chunks lie one after another, and their numbers give their addresses.

use crate::chunk::index::numbering::Numbering;
use crate::chunk::index::{Bounds, Index, StoredChunk, Visit};
use crate::spec::Address;
use sciformats_core::Result;

impl Index<'_> {
    pub(crate) fn implicit(&self, at: Address, bounds: &Bounds, visit: &mut Visit<'_>) -> Result<()> {
        let numbering = Numbering::new(&self.counts(), None);
        let size = self.bytes(at)?;
        let (first, last) = numbering.range(bounds).ok_or_else(|| self.too_many(at))?;
        // All chunks must lie inside the file. This also bounds the loop.
        let end = last.checked_add(1).and_then(|n| n.checked_mul(size)).ok_or_else(|| self.too_many(at))?;
        if end > self.context.available(at) {
            return Err(self.too_many(at));
        }
        for number in first..=last {
            let address = Address(self.place(at, at.0, (number, size))?);
            let scaled = numbering.scaled(number);
            let chunk = StoredChunk { scaled, address, size, filter_mask: 0 };
            if bounds.holds(&chunk.scaled) && visit(Ok(chunk)).is_break() {
                break;
            }
        }
        Ok(())
    }
}
