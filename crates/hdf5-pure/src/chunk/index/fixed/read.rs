//! Reads fixed arrays of chunks.

use crate::chunk::index::numbering::{Elements, Numbering};
use crate::chunk::index::{Bounds, Index, Visit};
use crate::spec::Address;
use crate::spec::fixed_array::{self, FixedArray};
use sciformats_core::Result;
use sciformats_core::fault::locate;

impl Index<'_> {
    pub(crate) fn fixed_array(&self, at: Address, bounds: &Bounds, visit: &mut Visit<'_>) -> Result<()> {
        const HEADER: &str = "fixed array header";
        const BLOCK: &str = "fixed array data block";
        let sizes = self.context.sizes;
        let array = self
            .context
            .parse(HEADER, at, FixedArray::size(sizes) as u64, |i| FixedArray::parse(i, sizes))?;
        self.check_elements(HEADER, at, array.client, array.element_size)?;
        let Some(block) = array.block else { return Ok(()) };
        let numbering = Numbering::new(&self.counts(), None);
        let (first, last) = numbering.range(bounds).ok_or_else(|| self.too_many(at))?;
        if last >= array.elements {
            return Err(self.too_many(at));
        }
        let size = u64::from(array.element_size);
        let prefix = FixedArray::prefix(sizes) as u64;
        let elements = Elements { index: self, numbering: &numbering, bounds, range: (first, last) };
        if array.pages() == 0 {
            let len = array.elements.checked_mul(size).ok_or_else(|| self.too_many(at))?;
            let bytes = self.context.read(BLOCK, block, prefix.saturating_add(len).saturating_add(4))?;
            let len = usize::try_from(len).map_err(|_| self.too_many(at))?;
            let base = self.context.offset(block);
            let found = locate(BLOCK, base, &bytes, |i| FixedArray::parse_block(i, sizes, len))?;
            let _ = elements.visit(block, 0, found, visit)?;
            return Ok(());
        }
        let bitmap = array.pages().div_ceil(8);
        let head = prefix.saturating_add(bitmap).saturating_add(4);
        let bytes = self.context.read(BLOCK, block, head)?;
        let len = usize::try_from(bitmap).map_err(|_| self.too_many(at))?;
        let base = self.context.offset(block);
        let bitmap = locate(BLOCK, base, &bytes, |i| FixedArray::parse_block(i, sizes, len))?;
        let page = array.page();
        let stride = page.saturating_mul(size).saturating_add(4);
        for number in first.checked_div(page).unwrap_or(0)..=last.checked_div(page).unwrap_or(0) {
            if !fixed_array::page_is_used(bitmap, number) {
                continue;
            }
            let start = number.saturating_mul(page);
            let n = page.min(array.elements.saturating_sub(start));
            let offset = block.0.saturating_add(head).saturating_add(number.saturating_mul(stride));
            let at = Address(offset);
            // If a page lies beyond the end of the file, so do the pages after it.
            let outside = self.context.available(at) == 0;
            if elements.page(at, start, n.saturating_mul(size), visit)?.is_break() || outside {
                break;
            }
        }
        Ok(())
    }
}
