//! Reads fixed arrays of chunks.

use crate::chunk::index::numbering::{Elements, Numbering};
use crate::chunk::index::{Bounds, Index, Visit};
use crate::spec::Address;
use crate::spec::fixed_array::{self, FixedArray};
use sciformats_core::fault::locate;
use sciformats_core::{Result, bound};

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
            let bytes = self.context.read(BLOCK, block, bound::sum(bound::sum(prefix, len), 4))?;
            let len = usize::try_from(len).map_err(|_| self.too_many(at))?;
            let base = self.context.offset(block);
            let found = locate(BLOCK, base, &bytes, |i| FixedArray::parse_block(i, sizes, len))?;
            let _ = elements.visit(block, 0, found, visit)?;
            return Ok(());
        }
        let bitmap = array.pages().div_ceil(8);
        let head = bound::sum(bound::sum(prefix, bitmap), 4);
        let bytes = self.context.read(BLOCK, block, head)?;
        let len = usize::try_from(bitmap).map_err(|_| self.too_many(at))?;
        let base = self.context.offset(block);
        let bitmap = locate(BLOCK, base, &bytes, |i| FixedArray::parse_block(i, sizes, len))?;
        let page = array.page();
        let stride = bound::sum(bound::product(page, size), 4);
        let pages = self.place(block, block.0, (1, head))?;
        let page_of = |element: u64| element.checked_div(page).ok_or_else(|| self.too_many(at));
        for number in page_of(first)?..=page_of(last)? {
            if !fixed_array::page_is_used(bitmap, number) {
                continue;
            }
            let start = self.place(at, 0, (number, page))?;
            let n = page.min(bound::left(array.elements, start));
            let at = Address(self.place(block, pages, (number, stride))?);
            // If a page lies beyond the end of the file, so do the pages after it.
            let outside = self.context.available(at) == 0;
            if elements.page(at, start, bound::product(n, size), visit)?.is_break() || outside {
                break;
            }
        }
        Ok(())
    }
}
