//! Fixed arrays that are changed in place.

use sciformats_core::Result;
use sciformats_core::arith::{add, div, fit, mul, rem, sub, sum};
use sciformats_core::fault::locate;

use super::leaves::Leaves;
use super::{Elements, MOST_ELEMENTS, MOST_PAGE_BITS, beyond};
use crate::model::write::output::{Output, SIZES};
use crate::spec::Address;
use crate::spec::fixed_array::{self, FixedArray};

const BLOCK: &str = "fixed array data block";

/// A fixed array of a file that others read.
pub(super) struct LiveFixed {
    array: FixedArray,
    pub(super) header: Address,
    header_changed: bool,
    /// The pages in use, if the data block has pages, and whether that changed.
    bitmap: Vec<u8>,
    bitmap_changed: bool,
    leaves: Leaves,
    absent: Vec<u8>,
}

impl LiveFixed {
    /// The array at `header`.
    pub(super) fn open(output: &mut Output, header: Address, elements: &Elements) -> Result<Self> {
        const HEADER: &str = "fixed array header";
        let bytes = output.read(header, FixedArray::size(SIZES))?;
        let base = add(output.base(), header.0)?;
        let array = locate(HEADER, base, &bytes, |i| FixedArray::parse(i, SIZES))?;
        elements.check(HEADER, base, array.client, array.element_size)?;
        if array.page_bits > MOST_PAGE_BITS || array.elements > MOST_ELEMENTS {
            return Err(beyond());
        }
        let mut live = Self::over(array, header, elements)?;
        if let Some(block) = array.block.filter(|_| array.pages() > 0) {
            let bitmap = live.bitmap.len();
            let len = live.head()?;
            let bytes = output.read(block, len)?;
            let base = add(output.base(), block.0)?;
            live.bitmap =
                locate(BLOCK, base, &bytes, |i| FixedArray::parse_block(i, SIZES, bitmap))?.to_vec();
        }
        Ok(live)
    }

    /// An array of `total` elements that is not in the file yet.
    pub(super) fn create(output: &mut Output, total: u64, elements: &Elements) -> Result<Self> {
        let array = FixedArray {
            client: elements.client,
            element_size: fit(elements.absent.len(), "size of an element")?,
            page_bits: crate::spec::message::layout::PAGE_BITS,
            elements: total,
            block: None,
        };
        let header = output.allocate(FixedArray::size(SIZES) as u64)?;
        let mut live = Self::over(array, header, elements)?;
        live.header_changed = true;
        Ok(live)
    }

    fn over(array: FixedArray, header: Address, elements: &Elements) -> Result<Self> {
        let bitmap = vec![0; fit(array.pages().div_ceil(8), "size of a bitmap")?];
        let absent = elements.absent.clone();
        let leaves = Leaves::default();
        Ok(Self { array, header, header_changed: false, bitmap, bitmap_changed: false, leaves, absent })
    }

    /// Bytes of a data block before its pages.
    fn head(&self) -> Result<usize> {
        sum([FixedArray::prefix(SIZES), self.bitmap.len(), 4])
    }

    fn absent(&self, n: u64) -> Result<Vec<u8>> {
        super::repeated(&self.absent, n)
    }

    /// Replaces element `number`.
    pub(super) fn set(&mut self, output: &mut Output, number: u64, element: &[u8]) -> Result<()> {
        if number >= self.array.elements {
            return Err(beyond());
        }
        let block = match self.array.block {
            Some(block) => block,
            None => self.block(output)?,
        };
        let (at, slot) = match self.array.pages() {
            0 => (block, number),
            _ => {
                let page = self.array.page().max(1);
                let (number_of_page, slot) = (div(number, page)?, rem(number, page)?);
                (self.page(output, block, number_of_page)?, slot)
            }
        };
        if self.array.pages() == 0 && !self.leaves.holds(at) {
            let prefix = FixedArray::prefix(SIZES);
            let len = self.absent(self.array.elements)?.len();
            let mut bytes = output.read(at, sum([prefix, len, 4])?)?;
            let base = add(output.base(), at.0)?;
            locate(BLOCK, base, &bytes, |i| FixedArray::parse_block(i, SIZES, len))?;
            bytes.truncate(add(prefix, len)?);
            self.leaves.load(at, bytes, prefix);
        }
        self.leaves.set(at, slot, element).ok_or_else(beyond)
    }

    /// Makes the data block.
    fn block(&mut self, output: &mut Output) -> Result<Address> {
        let size = self.array.elements.checked_mul(self.absent.len() as u64);
        let size = size.and_then(|size| size.checked_add(self.array.pages().checked_mul(4)?));
        let head = self.head()? as u64;
        let len = size.and_then(|size| size.checked_add(head)).ok_or_else(beyond)?;
        let block = output.allocate(len)?;
        if self.array.pages() == 0 {
            let mut bytes = Vec::new();
            let absent = self.absent(self.array.elements)?;
            self.array.encode_block(&mut bytes, SIZES, self.header, &absent)?;
            bytes.truncate(sub(bytes.len(), 4)?);
            self.leaves.create(block, bytes, FixedArray::prefix(SIZES));
        }
        self.array.block = Some(block);
        (self.header_changed, self.bitmap_changed) = (true, true);
        Ok(block)
    }

    /// The page with this number, in memory.
    fn page(&mut self, output: &mut Output, block: Address, number: u64) -> Result<Address> {
        let first = mul(number, self.array.page())?;
        let n = self.array.page().min(sub(self.array.elements, first)?);
        let page = add(mul(self.array.page(), self.absent.len() as u64)?, 4)?;
        let at = Address(sum([block.0, self.head()? as u64, mul(page, number)?])?);
        if self.leaves.holds(at) {
            return Ok(at);
        }
        if !fixed_array::page_is_used(&self.bitmap, number) {
            fixed_array::set_page(&mut self.bitmap, number)?;
            self.leaves.create(at, self.absent(n)?, 0);
            self.bitmap_changed = true;
            return Ok(at);
        }
        let len = self.absent(n)?.len();
        self.leaves.load(at, super::page(output, at, len)?, 0);
        Ok(at)
    }

    /// Writes what was changed: elements, then the pages in use, then the header.
    pub(super) fn flush(&mut self, output: &mut Output) -> Result<()> {
        self.leaves.flush(output)?;
        let mut bytes = Vec::new();
        if let Some(block) = self.array.block.filter(|_| self.bitmap_changed && self.array.pages() > 0) {
            self.array.encode_block(&mut bytes, SIZES, self.header, &self.bitmap)?;
            output.write_part(block, &bytes)?;
        }
        if self.header_changed {
            bytes.clear();
            self.array.encode(&mut bytes, SIZES)?;
            output.write_part(self.header, &bytes)?;
        }
        (self.header_changed, self.bitmap_changed) = (false, false);
        Ok(())
    }
}
