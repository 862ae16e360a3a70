//! Reads extensible arrays of chunks.

use std::ops::ControlFlow;

use sciformats_core::fault::locate;
use sciformats_core::{Result, bound};

use crate::chunk::index::numbering::{Elements, Numbering};
use crate::chunk::index::{Bounds, Index, Visit};
use crate::spec::extensible_array::{ExtensibleArray, IndexBlock, SuperBlock};
use crate::spec::{Address, fixed_array};

impl Index<'_> {
    pub(crate) fn extensible_array(&self, at: Address, bounds: &Bounds, visit: &mut Visit<'_>) -> Result<()> {
        const HEADER: &str = "extensible array header";
        let sizes = self.context.sizes;
        let len = ExtensibleArray::size(sizes) as u64;
        let array = self.context.parse(HEADER, at, len, |i| ExtensibleArray::parse(i, sizes))?;
        self.check_elements(HEADER, at, array.client, array.element_size)?;
        let Some(block) = array.index_block else { return Ok(()) };
        let unlimited = self.maximum.iter().position(Option::is_none);
        let numbering = Numbering::new(&self.counts(), unlimited);
        let range = numbering.range(bounds).ok_or_else(|| self.too_many(at))?;
        let elements = Elements { index: self, numbering: &numbering, bounds, range };
        Extensible { array, elements, visit }.run(block)
    }
}

/// A walk over an extensible array.
struct Extensible<'a, 'v> {
    array: ExtensibleArray,
    elements: Elements<'a>,
    visit: &'a mut Visit<'v>,
}

impl Extensible<'_, '_> {
    fn run(mut self, at: Address) -> Result<()> {
        const BLOCK: &str = "extensible array index block";
        let (array, context) = (self.array, self.elements.index.context);
        let bytes = context.read(BLOCK, at, array.index_block_size(context.sizes))?;
        let base = context.offset(at);
        let block = locate(BLOCK, base, &bytes, |i| IndexBlock::parse(i, &array, context.sizes))?;
        if self.elements.visit(at, 0, block.elements, self.visit)?.is_break() {
            return Ok(());
        }
        let mut blocks = block.data_blocks.iter();
        let mut supers = block.super_blocks.iter();
        for u in 0..array.super_blocks() {
            let n = array.block_elements(u);
            let first = array.first_of(u);
            let count = ExtensibleArray::blocks(u);
            if u < array.direct_super_blocks() {
                for j in 0..count {
                    let Some(Some(data)) = blocks.next() else { continue };
                    let start = self.elements.index.place(at, first, (j, n))?;
                    if self.data_block(*data, start, n, None)?.is_break() {
                        return Ok(());
                    }
                }
            } else if let Some(Some(at)) = supers.next()
                && self.elements.overlap(first, bound::product(count, n))
                && self.super_block(*at, u)?.is_break()
            {
                return Ok(());
            }
        }
        Ok(())
    }

    fn super_block(&mut self, at: Address, u: u32) -> Result<ControlFlow<()>> {
        const BLOCK: &str = "extensible array super block";
        let (array, context) = (self.array, self.elements.index.context);
        let bytes = match context.read(BLOCK, at, array.super_block_size(context.sizes, u)) {
            Ok(bytes) => bytes,
            Err(error) => return Ok((self.visit)(Err(error))),
        };
        let parse = |i| SuperBlock::parse(i, &array, context.sizes, u);
        let block = match locate(BLOCK, context.offset(at), &bytes, parse) {
            Ok(block) => block,
            Err(error) => return Ok((self.visit)(Err(error))),
        };
        let n = array.block_elements(u);
        for (j, address) in (0u64..).zip(&block.data_blocks) {
            let Some(address) = *address else { continue };
            let start = self.elements.index.place(at, array.first_of(u), (j, n))?;
            let first_page = self.elements.index.place(at, 0, (j, array.pages(n)))?;
            if self.data_block(address, start, n, Some((block.bitmap, first_page)))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Visits a data block of `n` elements. `pages` is the bitmap of the super block, and the first bit of this block
    /// in it.
    fn data_block(
        &mut self,
        at: Address,
        start: u64,
        n: u64,
        pages: Option<(&[u8], u64)>,
    ) -> Result<ControlFlow<()>> {
        const BLOCK: &str = "extensible array data block";
        if !self.elements.overlap(start, n) {
            return Ok(ControlFlow::Continue(()));
        }
        let (array, context) = (self.array, self.elements.index.context);
        let prefix = array.data_prefix(context.sizes) as u64;
        let size = u64::from(array.element_size);
        let count = array.pages(n);
        let len = if count == 0 { bound::product(n, size) } else { 0 };
        let read = context.read(BLOCK, at, bound::sum(bound::sum(prefix, len), 4));
        let block = bound::addressable(len);
        let mut parse = |bytes: &[u8]| -> Result<ControlFlow<()>> {
            let parse = |i| array.parse_data_block(i, context.sizes, block);
            let found = locate(BLOCK, context.offset(at), bytes, parse)?;
            self.elements.visit(at, start, found, self.visit)
        };
        match read.and_then(|bytes| parse(&bytes)) {
            Ok(flow) if flow.is_break() || count == 0 => return Ok(flow),
            Ok(_) => {}
            Err(error) => return Ok((self.visit)(Err(error))),
        }
        let page = array.page();
        let bytes = bound::product(page, size);
        let number_of = |element: u64| bound::left(element, start).checked_div(page).unwrap_or(0); // a bound
        let (first, last) = self.elements.range;
        for number in number_of(first)..=number_of(last).min(bound::left(count, 1)) {
            let used =
                pages.is_none_or(|(bitmap, bit)| fixed_array::page_is_used(bitmap, bound::sum(bit, number)));
            if !used {
                continue;
            }
            let index = self.elements.index;
            let head = index.place(at, at.0, (1, bound::sum(prefix, 4)))?;
            let first = index.place(at, start, (number, page))?;
            let at = Address(index.place(at, head, (number, bound::sum(bytes, 4)))?);
            if self.elements.page(at, first, bytes, self.visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            // If a page lies beyond the end of the file, so do the pages after it.
            if context.available(at) == 0 {
                break;
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
