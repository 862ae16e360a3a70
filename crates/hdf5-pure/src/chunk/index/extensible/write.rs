//! Changes extensible arrays in place.

use std::collections::BTreeMap;

use sciformats_core::Result;
use sciformats_core::arith::{add, div, fit, increase, mul, rem, sub, sum};
use sciformats_core::fault::locate;

use crate::chunk::index::leaves::{Leaves, Root, element, replace};
use crate::chunk::index::write::{Elements, MOST_BYTES, MOST_PAGE_BITS, beyond, page, repeated};
use crate::space::output::Output;
use crate::spec::extensible_array::{BlockPlace, ElementPlace, ExtensibleArray, IndexBlock, SuperBlock};
use crate::spec::message::layout::{
    INDEX_ELEMENTS, MAX_BITS, MIN_DATA_ELEMENTS, MIN_SUPER_POINTERS, PAGE_BITS,
};
use crate::spec::{Address, Sizes, fixed_array};

const INDEX: &str = "extensible array index block";
const SUPER: &str = "extensible array super block";
const DATA: &str = "extensible array data block";

/// An extensible array that is being changed.
pub(crate) struct ExtensibleWriter {
    array: ExtensibleArray,
    pub(crate) header: Address,
    sizes: Sizes,
    statistics: [u64; 6],
    root: Root,
    index: Option<Index>,
    supers: BTreeMap<u32, Super>,
    leaves: Leaves,
    absent: Vec<u8>,
}

struct Index {
    at: Address,
    elements: Vec<u8>,
    data_blocks: Vec<Option<Address>>,
    super_blocks: Vec<Option<Address>>,
    root: Root,
}

struct Super {
    at: Address,
    bitmap: Vec<u8>,
    data_blocks: Vec<Option<Address>>,
    root: Root,
}

/// A data block: its super block, its number among the blocks of it, and the number of its elements.
#[derive(Clone, Copy)]
struct Block {
    u: u32,
    number: u64,
    elements: u64,
}

impl ExtensibleWriter {
    /// Opens the array at `header`. Returns `None` if its pages are too large, or if the index block leads to blocks
    /// with pages.
    pub(crate) fn open(output: &mut Output, header: Address, elements: &Elements) -> Result<Option<Self>> {
        const HEADER: &str = "extensible array header";
        let sizes = elements.sizes;
        let bytes = output.read_stored(HEADER, header, ExtensibleArray::size(sizes) as u64)?;
        let base = add(output.base(), header.0)?;
        let (array, statistics) = locate(HEADER, base, &bytes, |i| ExtensibleArray::parse_whole(i, sizes))?;
        elements.check(HEADER, base, array.client, array.element_size)?;
        let paged = (0..array.direct_super_blocks()).any(|u| array.pages(array.block_elements(u)) > 0);
        if array.page_bits > MOST_PAGE_BITS || paged || array.index_block_size(sizes) > MOST_BYTES {
            return Ok(None);
        }
        let mut writer = Self::over(array, header, Root::stored(bytes), elements);
        writer.statistics = statistics;
        if let Some(at) = array.index_block {
            let bytes = output.read_stored(INDEX, at, array.index_block_size(sizes))?;
            let base = add(output.base(), at.0)?;
            let block = locate(INDEX, base, &bytes, |i| IndexBlock::parse(i, &array, sizes))?;
            let (own, data_blocks, super_blocks) =
                (block.elements.to_vec(), block.data_blocks, block.super_blocks);
            let root = Root::stored(bytes);
            writer.index = Some(Index { at, elements: own, data_blocks, super_blocks, root });
        }
        Ok(Some(writer))
    }

    /// Creates an array that is not in the file yet.
    pub(crate) fn create(output: &mut Output, elements: &Elements) -> Result<Self> {
        let array = ExtensibleArray {
            client: elements.client,
            element_size: fit(elements.absent.len(), "size of an element")?,
            max_bits: MAX_BITS,
            index_elements: INDEX_ELEMENTS,
            min_data_elements: MIN_DATA_ELEMENTS,
            min_super_pointers: MIN_SUPER_POINTERS,
            page_bits: PAGE_BITS,
            max_index_set: 0,
            index_block: None,
        };
        let header = output.allocate(ExtensibleArray::size(elements.sizes) as u64)?;
        Ok(Self::over(array, header, Root::fresh(), elements))
    }

    fn over(array: ExtensibleArray, header: Address, root: Root, elements: &Elements) -> Self {
        Self {
            array,
            header,
            sizes: elements.sizes,
            statistics: [0; 6],
            root,
            index: None,
            supers: BTreeMap::new(),
            leaves: Leaves::default(),
            absent: elements.absent.clone(),
        }
    }

    fn absent(&self, n: u64) -> Result<Vec<u8>> {
        repeated(&self.absent, n)
    }

    /// Returns the element `number`, if it has a place.
    pub(crate) fn get(&mut self, output: &mut Output, number: u64) -> Result<Option<Vec<u8>>> {
        let Some(place) = self.array.place_of(number) else { return Ok(None) };
        if !self.reaches(output, place)? {
            return Ok(None);
        }
        let len = self.absent.len();
        let found = match self.slot(output, place)? {
            (None, slot) => {
                self.index.as_ref().and_then(|index| Some(element(&index.elements, slot, len)?.to_vec()))
            }
            (Some(leaf), slot) => self.leaves.get(leaf, slot, len),
        };
        found.ok_or_else(beyond).map(Some)
    }

    /// Replaces the element `number`, or removes it if `element` is `None`. Returns the old element, if it had a place.
    pub(crate) fn replace(
        &mut self,
        output: &mut Output,
        number: u64,
        element: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>> {
        let place = self.array.place_of(number).ok_or_else(beyond)?;
        if element.is_none() && !self.reaches(output, place)? {
            return Ok(None);
        }
        let new = element.unwrap_or(&self.absent).to_vec();
        self.make_index(output)?;
        let before = match self.slot(output, place)? {
            (None, slot) => {
                let index = self.index.as_mut().ok_or_else(beyond)?;
                index.root.changed = true;
                replace(&mut index.elements, slot, &new)
            }
            (Some(leaf), slot) => self.leaves.replace(leaf, slot, &new),
        };
        let [.., largest, _] = &mut self.statistics;
        if element.is_some() && number >= *largest {
            *largest = add(number, 1)?;
            self.root.changed = true;
        }
        before.ok_or_else(beyond).map(Some)
    }

    /// Loads the block that holds an element, and returns the block with the position in it. For an element in the
    /// index block, no block is returned. Missing blocks are created.
    fn slot(&mut self, output: &mut Output, place: ElementPlace) -> Result<(Option<Address>, u64)> {
        let (u, block, slot) = match place {
            ElementPlace::Index(slot) => return Ok((None, slot)),
            ElementPlace::Block { u, block, slot } => (u, block, slot),
        };
        let block = Block { u, number: block, elements: self.array.block_elements(u) };
        let at = self.data_block(output, block)?;
        if self.array.pages(block.elements) == 0 {
            return Ok((Some(self.whole(output, block, at)?), slot));
        }
        let side = self.array.page().max(1);
        Ok((Some(self.page(output, block, at, div(slot, side)?)?), rem(slot, side)?))
    }

    /// Returns whether all blocks that lead to an element exist.
    fn reaches(&mut self, output: &mut Output, place: ElementPlace) -> Result<bool> {
        let Some(index) = &self.index else { return Ok(false) };
        let ElementPlace::Block { u, block, slot } = place else { return Ok(true) };
        let there = |blocks: &[Option<Address>], number: u64| {
            usize::try_from(number).ok().and_then(|number| *blocks.get(number)?).is_some()
        };
        let Some(slot_above) = u.checked_sub(self.array.direct_super_blocks()) else {
            let number = add(ExtensibleArray::blocks_before(u), block)?;
            return Ok(there(&index.data_blocks, number));
        };
        if !there(&index.super_blocks, slot_above.into()) {
            return Ok(false);
        }
        self.super_block(output, u)?;
        let above = self.supers.get(&u).ok_or_else(beyond)?;
        let pages = self.array.pages(self.array.block_elements(u));
        let bit = add(mul(block, pages)?, div(slot, self.array.page().max(1))?)?;
        Ok(there(&above.data_blocks, block) && (pages == 0 || fixed_array::page_is_used(&above.bitmap, bit)))
    }

    fn make_index(&mut self, output: &mut Output) -> Result<()> {
        if self.index.is_some() {
            return Ok(());
        }
        let direct = usize::try_from(self.array.direct_blocks()).map_err(|_| beyond())?;
        let supers = self.array.indirect_super_blocks();
        let at = output.allocate(self.array.index_block_size(self.sizes))?;
        self.index = Some(Index {
            at,
            elements: self.absent(self.array.index_elements.into())?,
            data_blocks: vec![None; direct],
            super_blocks: vec![None; fit(supers, "number of super blocks")?],
            root: Root::fresh(),
        });
        let [.., realized] = &mut self.statistics;
        increase(realized, self.array.index_elements.into())?;
        self.array.index_block = Some(at);
        self.root.changed = true;
        Ok(())
    }

    /// Returns the address of a data block, which is created if it does not exist.
    fn data_block(&mut self, output: &mut Output, block: Block) -> Result<Address> {
        let direct = block.u < self.array.direct_super_blocks();
        if !direct {
            self.super_block(output, block.u)?;
        }
        let before = if direct { ExtensibleArray::blocks_before(block.u) } else { 0 };
        let slot = before.checked_add(block.number).and_then(|slot| usize::try_from(slot).ok());
        let slot = slot.ok_or_else(beyond)?;
        let known = match direct {
            true => self.index.as_ref().map(|index| &index.data_blocks),
            false => self.supers.get(&block.u).map(|block| &block.data_blocks),
        };
        if let Some(at) = *known.and_then(|blocks| blocks.get(slot)).ok_or_else(beyond)? {
            return Ok(at);
        }
        let at = self.new_block(output, block)?;
        let (blocks, root) = match direct {
            true => self.index.as_mut().map(|index| (&mut index.data_blocks, &mut index.root)),
            false => self.supers.get_mut(&block.u).map(|block| (&mut block.data_blocks, &mut block.root)),
        }
        .ok_or_else(beyond)?;
        *blocks.get_mut(slot).ok_or_else(beyond)? = Some(at);
        root.changed = true;
        Ok(at)
    }

    /// Creates a data block.
    fn new_block(&mut self, output: &mut Output, block: Block) -> Result<Address> {
        let array = self.array;
        let own = sub(array.first_of(block.u), array.index_elements.into())?;
        let first = add(own, mul(block.number, block.elements)?)?;
        let place = BlockPlace { header: self.header, first };
        let pages = array.pages(block.elements);
        let content = if pages == 0 { self.absent(block.elements)? } else { Vec::new() };
        let mut bytes = Vec::new();
        array.encode_data_block(&mut bytes, self.sizes, place, &content)?;
        let page = add(mul(array.page(), self.absent.len() as u64)?, 4)?;
        let len = add(bytes.len() as u64, mul(pages, page)?)?;
        let at = output.allocate(len)?;
        bytes.truncate(sub(bytes.len(), 4)?);
        self.leaves.create(at, bytes, array.data_prefix(self.sizes));
        let [_, _, blocks, size, _, realized] = &mut self.statistics;
        increase(blocks, 1)?;
        increase(size, len)?;
        increase(realized, block.elements)?;
        self.root.changed = true;
        Ok(at)
    }

    /// Reads or creates the super block `u`.
    fn super_block(&mut self, output: &mut Output, u: u32) -> Result<()> {
        if self.supers.contains_key(&u) {
            return Ok(());
        }
        let (array, sizes) = (self.array, self.sizes);
        let slot = sub(u, array.direct_super_blocks())?;
        let index = self.index.as_mut().ok_or_else(beyond)?;
        let slot = usize::try_from(slot).ok().and_then(|slot| index.super_blocks.get_mut(slot));
        let slot = slot.ok_or_else(beyond)?;
        let size = array.super_block_size(sizes, u);
        if size > MOST_BYTES {
            return Err(beyond());
        }
        let block = match *slot {
            Some(at) => {
                let bytes = output.read_stored(SUPER, at, size)?;
                let base = add(output.base(), at.0)?;
                let parsed = locate(SUPER, base, &bytes, |i| SuperBlock::parse(i, &array, sizes, u))?;
                let (bitmap, data_blocks) = (parsed.bitmap.to_vec(), parsed.data_blocks);
                Super { at, bitmap, data_blocks, root: Root::stored(bytes) }
            }
            None => {
                let at = output.allocate(size)?;
                *slot = Some(at);
                index.root.changed = true;
                let [blocks, bytes, ..] = &mut self.statistics;
                increase(blocks, 1)?;
                increase(bytes, size)?;
                self.root.changed = true;
                let bitmap = vec![0; usize::try_from(array.bitmap_size(u)).map_err(|_| beyond())?];
                let blocks = usize::try_from(ExtensibleArray::blocks(u)).map_err(|_| beyond())?;
                Super { at, bitmap, data_blocks: vec![None; blocks], root: Root::fresh() }
            }
        };
        self.supers.insert(u, block);
        Ok(())
    }

    /// Loads a data block without pages.
    fn whole(&mut self, output: &mut Output, block: Block, at: Address) -> Result<Address> {
        if self.leaves.holds(at) {
            return Ok(at);
        }
        let (array, sizes) = (self.array, self.sizes);
        let prefix = array.data_prefix(sizes);
        let len = self.absent(block.elements)?.len();
        let bytes = output.read_stored(DATA, at, sum([prefix, len, 4])? as u64)?;
        let base = add(output.base(), at.0)?;
        locate(DATA, base, &bytes, |i| array.parse_data_block(i, sizes, len))?;
        self.leaves.load(at, bytes, prefix);
        Ok(at)
    }

    /// Loads a page of a data block.
    fn page(&mut self, output: &mut Output, block: Block, at: Address, number: u64) -> Result<Address> {
        let array = self.array;
        let content = self.absent(array.page())?;
        let stride = mul(add(content.len() as u64, 4)?, number)?;
        let prefix = add(array.data_prefix(self.sizes) as u64, 4)?;
        let at = Address(sum([at.0, prefix, stride])?);
        if self.leaves.holds(at) {
            return Ok(at);
        }
        let above = self.supers.get_mut(&block.u).ok_or_else(beyond)?;
        let bit = add(mul(block.number, array.pages(block.elements))?, number)?;
        if fixed_array::page_is_used(&above.bitmap, bit) {
            self.leaves.load(at, page(output, at, content.len())?, 0);
        } else {
            fixed_array::set_page(&mut above.bitmap, bit)?;
            above.root.changed = true;
            self.leaves.create(at, content, 0);
        }
        Ok(at)
    }

    /// Writes what was changed: elements first, then super blocks, the index block, and the header.
    pub(crate) fn flush(&mut self, output: &mut Output) -> Result<()> {
        self.leaves.flush(output)?;
        let Self { array, header, sizes, statistics, supers, index, root, .. } = self;
        for (&u, block) in supers {
            let first = sub(array.first_of(u), array.index_elements.into())?;
            let place = BlockPlace { header: *header, first };
            let Super { at, bitmap, data_blocks, root } = block;
            root.flush(output, *at, |out| {
                let block = SuperBlock { bitmap: bitmap.as_slice(), data_blocks: data_blocks.clone() };
                block.encode(out, array, *sizes, place)
            })?;
        }
        if let Some(Index { at, elements, data_blocks, super_blocks, root }) = index {
            root.flush(output, *at, |out| {
                let (data_blocks, super_blocks) = (data_blocks.clone(), super_blocks.clone());
                let block = IndexBlock { elements: elements.as_slice(), data_blocks, super_blocks };
                block.encode(out, array, *sizes, *header)
            })?;
        }
        root.flush(output, *header, |out| array.encode(out, *sizes, *statistics))
    }
}
