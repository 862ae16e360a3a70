//! Changes fixed arrays in place.

use sciformats_core::Result;
use sciformats_core::arith::{add, div, fit, mul, rem, sub, sum};
use sciformats_core::fault::locate;

use crate::chunk::index::leaves::{Leaves, Root};
use crate::chunk::index::write::{Elements, MOST_ELEMENTS, MOST_PAGE_BITS, beyond, page, repeated};
use crate::space::output::Output;
use crate::spec::fixed_array::{self, FixedArray};
use crate::spec::{Address, Sizes};

const BLOCK: &str = "fixed array data block";

/// A fixed array that is being changed.
pub(crate) struct FixedWriter {
    array: FixedArray,
    pub(crate) header: Address,
    sizes: Sizes,
    root: Root,
    /// The bitmap of the pages in use, if the data block has pages.
    bitmap: Vec<u8>,
    pages: Root,
    leaves: Leaves,
    absent: Vec<u8>,
}

impl FixedWriter {
    /// Opens the array at `header`. Returns `None` if its pages are too large or it has too many elements.
    pub(crate) fn open(output: &mut Output, header: Address, elements: &Elements) -> Result<Option<Self>> {
        const HEADER: &str = "fixed array header";
        let bytes = output.read_stored(HEADER, header, FixedArray::size(elements.sizes) as u64)?;
        let base = add(output.base(), header.0)?;
        let array = locate(HEADER, base, &bytes, |i| FixedArray::parse(i, elements.sizes))?;
        elements.check(HEADER, base, array.client, array.element_size)?;
        if array.page_bits > MOST_PAGE_BITS || array.elements > MOST_ELEMENTS {
            return Ok(None);
        }
        let root = Root::stored(bytes);
        let Some(block) = array.block.filter(|_| array.pages() > 0) else {
            return Ok(Some(Self::over(array, header, root, elements)?));
        };
        let bitmap = array.pages().div_ceil(8);
        let head = sum([FixedArray::prefix(elements.sizes) as u64, bitmap, 4])?;
        let bytes = output.read_stored(BLOCK, block, head)?;
        let base = add(output.base(), block.0)?;
        let len = fit(bitmap, "size of a bitmap")?;
        let found = locate(BLOCK, base, &bytes, |i| FixedArray::parse_block(i, elements.sizes, len))?;
        let mut writer = Self::with(array, header, root, elements);
        (writer.bitmap, writer.pages) = (found.to_vec(), Root::stored(bytes));
        Ok(Some(writer))
    }

    /// Creates an array of `total` elements that is not in the file yet.
    pub(crate) fn create(output: &mut Output, total: u64, elements: &Elements) -> Result<Self> {
        let array = FixedArray {
            client: elements.client,
            element_size: fit(elements.absent.len(), "size of an element")?,
            page_bits: crate::spec::message::layout::PAGE_BITS,
            elements: total,
            block: None,
        };
        let header = output.allocate(FixedArray::size(elements.sizes) as u64)?;
        Self::over(array, header, Root::fresh(), elements)
    }

    fn over(array: FixedArray, header: Address, root: Root, elements: &Elements) -> Result<Self> {
        let bitmap = vec![0; fit(array.pages().div_ceil(8), "size of a bitmap")?];
        Ok(Self { bitmap, ..Self::with(array, header, root, elements) })
    }

    fn with(array: FixedArray, header: Address, root: Root, elements: &Elements) -> Self {
        let (pages, leaves, bitmap) = (Root::default(), Leaves::default(), Vec::new());
        let (sizes, absent) = (elements.sizes, elements.absent.clone());
        Self { array, header, sizes, root, bitmap, pages, leaves, absent }
    }

    /// Returns whether it has no element yet.
    pub(crate) fn is_blank(&self) -> bool {
        self.array.block.is_none()
    }

    /// Returns the size of the data block before its pages.
    fn head(&self) -> Result<usize> {
        sum([FixedArray::prefix(self.sizes), self.bitmap.len(), 4])
    }

    fn absent(&self, n: u64) -> Result<Vec<u8>> {
        repeated(&self.absent, n)
    }

    /// Returns the element `number`, if it has a place.
    pub(crate) fn get(&mut self, output: &mut Output, number: u64) -> Result<Option<Vec<u8>>> {
        let Some((at, slot)) = self.place(output, number, false)? else { return Ok(None) };
        self.leaves.get(at, slot, self.absent.len()).ok_or_else(beyond).map(Some)
    }

    /// Replaces the element `number`, or removes it if `element` is `None`. Returns the old element, if it had a place.
    pub(crate) fn replace(
        &mut self,
        output: &mut Output,
        number: u64,
        element: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>> {
        let Some((at, slot)) = self.place(output, number, element.is_some())? else { return Ok(None) };
        let element = element.unwrap_or(&self.absent);
        self.leaves.replace(at, slot, element).ok_or_else(beyond).map(Some)
    }

    /// Loads the block that holds an element, and returns it with the position in it. Returns `None` if the block does
    /// not exist and `make` is not set.
    fn place(&mut self, output: &mut Output, number: u64, make: bool) -> Result<Option<(Address, u64)>> {
        if number >= self.array.elements {
            return Err(beyond());
        }
        let block = match self.array.block {
            Some(block) => block,
            None if !make => return Ok(None),
            None => self.block(output)?,
        };
        if self.array.pages() == 0 {
            return Ok(Some((self.whole(output, block)?, number)));
        }
        let side = self.array.page().max(1);
        let (page, slot) = (div(number, side)?, rem(number, side)?);
        if !make && !fixed_array::page_is_used(&self.bitmap, page) {
            return Ok(None);
        }
        Ok(Some((self.page(output, block, page)?, slot)))
    }

    /// Creates the data block.
    fn block(&mut self, output: &mut Output) -> Result<Address> {
        let size = self.array.elements.checked_mul(self.absent.len() as u64);
        let size = size.and_then(|size| size.checked_add(self.array.pages().checked_mul(4)?));
        let head = self.head()? as u64;
        let len = size.and_then(|size| size.checked_add(head)).ok_or_else(beyond)?;
        let block = output.allocate(len)?;
        if self.array.pages() == 0 {
            let mut bytes = Vec::new();
            let absent = self.absent(self.array.elements)?;
            self.array.encode_block(&mut bytes, self.sizes, self.header, &absent)?;
            bytes.truncate(sub(bytes.len(), 4)?);
            self.leaves.create(block, bytes, FixedArray::prefix(self.sizes));
        } else {
            self.pages = Root::fresh();
        }
        self.array.block = Some(block);
        self.root.changed = true;
        Ok(block)
    }

    /// Loads a data block without pages.
    fn whole(&mut self, output: &mut Output, block: Address) -> Result<Address> {
        if !self.leaves.holds(block) {
            let (sizes, prefix) = (self.sizes, FixedArray::prefix(self.sizes));
            let len = self.absent(self.array.elements)?.len();
            let bytes = output.read_stored(BLOCK, block, sum([prefix, len, 4])? as u64)?;
            let base = add(output.base(), block.0)?;
            locate(BLOCK, base, &bytes, |i| FixedArray::parse_block(i, sizes, len))?;
            self.leaves.load(block, bytes, prefix);
        }
        Ok(block)
    }

    /// Loads the page with this number.
    fn page(&mut self, output: &mut Output, block: Address, number: u64) -> Result<Address> {
        let first = mul(number, self.array.page())?;
        let n = self.array.page().min(sub(self.array.elements, first)?);
        let stride = add(mul(self.array.page(), self.absent.len() as u64)?, 4)?;
        let at = Address(sum([block.0, self.head()? as u64, mul(stride, number)?])?);
        if self.leaves.holds(at) {
            return Ok(at);
        }
        let absent = self.absent(n)?;
        if fixed_array::page_is_used(&self.bitmap, number) {
            self.leaves.load(at, page(output, at, absent.len())?, 0);
        } else {
            fixed_array::set_page(&mut self.bitmap, number)?;
            self.leaves.create(at, absent, 0);
            self.pages.changed = true;
        }
        Ok(at)
    }

    /// Writes what was changed: elements first, then the bitmap of the pages, then the header.
    pub(crate) fn flush(&mut self, output: &mut Output) -> Result<()> {
        self.leaves.flush(output)?;
        let Self { array, header, sizes, bitmap, .. } = self;
        if let Some(block) = array.block.filter(|_| array.pages() > 0) {
            self.pages.flush(output, block, |out| array.encode_block(out, *sizes, *header, bitmap))?;
        }
        self.root.flush(output, *header, |out| array.encode(out, *sizes))
    }
}
