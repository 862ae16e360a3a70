//! Extensible arrays that are changed in place.

use std::collections::BTreeMap;

use sciformats_core::Result;
use sciformats_core::arith::{add, div, fit, increase, mul, rem, sub, sum};
use sciformats_core::fault::locate;

use super::leaves::{Leaves, put};
use super::{Elements, MOST_BYTES, MOST_PAGE_BITS, beyond};
use crate::model::write::output::{Output, SIZES};
use crate::spec::extensible_array::{BlockPlace, ElementPlace, ExtensibleArray, IndexBlock, SuperBlock};
use crate::spec::message::layout::{
    INDEX_ELEMENTS, MAX_BITS, MIN_DATA_ELEMENTS, MIN_SUPER_POINTERS, PAGE_BITS,
};
use crate::spec::{Address, fixed_array};

const INDEX: &str = "extensible array index block";
const SUPER: &str = "extensible array super block";
const DATA: &str = "extensible array data block";

/// An extensible array of a file that others read.
pub(super) struct LiveExtensible {
    array: ExtensibleArray,
    pub(super) header: Address,
    statistics: [u64; 6],
    header_changed: bool,
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
    changed: bool,
}

struct Super {
    at: Address,
    bitmap: Vec<u8>,
    data_blocks: Vec<Option<Address>>,
    changed: bool,
}

/// A data block: its super block, which of its blocks it is, and its elements.
#[derive(Clone, Copy)]
struct Block {
    u: u32,
    number: u64,
    elements: u64,
}

impl LiveExtensible {
    /// The array at `header`.
    pub(super) fn open(output: &mut Output, header: Address, elements: &Elements) -> Result<Self> {
        const HEADER: &str = "extensible array header";
        let bytes = output.read(header, ExtensibleArray::size(SIZES))?;
        let base = add(output.base(), header.0)?;
        let (array, statistics) = locate(HEADER, base, &bytes, |i| ExtensibleArray::parse_whole(i, SIZES))?;
        elements.check(HEADER, base, array.client, array.element_size)?;
        if array.page_bits > MOST_PAGE_BITS {
            return Err(beyond());
        }
        let mut live = Self::over(array, header, elements);
        live.statistics = statistics;
        if let Some(at) = array.index_block {
            let len = usize::try_from(array.index_block_size(SIZES)).map_err(|_| beyond())?;
            let bytes = output.read(at, len)?;
            let base = add(output.base(), at.0)?;
            let block = locate(INDEX, base, &bytes, |i| IndexBlock::parse(i, &array, SIZES))?;
            live.index = Some(Index {
                at,
                elements: block.elements.to_vec(),
                data_blocks: block.data_blocks,
                super_blocks: block.super_blocks,
                changed: false,
            });
        }
        Ok(live)
    }

    /// An array that is not in the file yet.
    pub(super) fn create(output: &mut Output, elements: &Elements) -> Result<Self> {
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
        let header = output.allocate(ExtensibleArray::size(SIZES) as u64)?;
        let mut live = Self::over(array, header, elements);
        live.header_changed = true;
        Ok(live)
    }

    fn over(array: ExtensibleArray, header: Address, elements: &Elements) -> Self {
        Self {
            array,
            header,
            statistics: [0; 6],
            header_changed: false,
            index: None,
            supers: BTreeMap::new(),
            leaves: Leaves::default(),
            absent: elements.absent.clone(),
        }
    }

    fn absent(&self, n: u64) -> Result<Vec<u8>> {
        super::repeated(&self.absent, n)
    }

    /// Replaces element `number`.
    pub(super) fn set(&mut self, output: &mut Output, number: u64, element: &[u8]) -> Result<()> {
        let place = self.array.place_of(number).ok_or_else(beyond)?;
        self.make_index(output)?;
        match place {
            ElementPlace::Index(slot) => {
                let index = self.index.as_mut().ok_or_else(beyond)?;
                put(&mut index.elements, slot, element).ok_or_else(beyond)?;
                index.changed = true;
            }
            ElementPlace::Block { u, block, slot } => {
                let block = Block { u, number: block, elements: self.array.block_elements(u) };
                let at = self.data_block(output, block)?;
                let (leaf, slot) = match self.array.pages(block.elements) {
                    0 => (self.whole(output, block, at)?, slot),
                    _ => {
                        let page = self.array.page().max(1);
                        (self.page(output, block, at, div(slot, page)?)?, rem(slot, page)?)
                    }
                };
                self.leaves.set(leaf, slot, element).ok_or_else(beyond)?;
            }
        }
        let [.., largest, _] = &mut self.statistics;
        if number >= *largest {
            *largest = add(number, 1)?;
            self.header_changed = true;
        }
        Ok(())
    }

    fn make_index(&mut self, output: &mut Output) -> Result<()> {
        if self.index.is_some() {
            return Ok(());
        }
        let direct = usize::try_from(self.array.direct_blocks()).map_err(|_| beyond())?;
        let supers = self.array.indirect_super_blocks();
        let at = output.allocate(self.array.index_block_size(SIZES))?;
        self.index = Some(Index {
            at,
            elements: self.absent(self.array.index_elements.into())?,
            data_blocks: vec![None; direct],
            super_blocks: vec![None; fit(supers, "number of super blocks")?],
            changed: true,
        });
        let [.., realized] = &mut self.statistics;
        increase(realized, self.array.index_elements.into())?;
        self.array.index_block = Some(at);
        self.header_changed = true;
        Ok(())
    }

    /// The address of a data block, which is made if it is not there.
    fn data_block(&mut self, output: &mut Output, block: Block) -> Result<Address> {
        let direct = block.u < self.array.direct_super_blocks();
        if !direct {
            self.super_block(output, block.u)?;
        }
        let first = ExtensibleArray::blocks_before(block.u);
        let slot = |block: Block| {
            let number = if direct { first.checked_add(block.number)? } else { block.number };
            usize::try_from(number).ok()
        };
        let known = match direct {
            true => self.index.as_ref().map(|index| &index.data_blocks),
            false => self.supers.get(&block.u).map(|block| &block.data_blocks),
        };
        let slot = slot(block).ok_or_else(beyond)?;
        if let Some(at) = *known.and_then(|blocks| blocks.get(slot)).ok_or_else(beyond)? {
            return Ok(at);
        }
        let at = self.new_block(output, block)?;
        let (blocks, changed) = match direct {
            true => self.index.as_mut().map(|index| (&mut index.data_blocks, &mut index.changed)),
            false => self.supers.get_mut(&block.u).map(|block| (&mut block.data_blocks, &mut block.changed)),
        }
        .ok_or_else(beyond)?;
        *blocks.get_mut(slot).ok_or_else(beyond)? = Some(at);
        *changed = true;
        Ok(at)
    }

    /// Makes a data block.
    fn new_block(&mut self, output: &mut Output, block: Block) -> Result<Address> {
        let array = self.array;
        let own = sub(array.first_of(block.u), array.index_elements.into())?;
        let first = add(own, mul(block.number, block.elements)?)?;
        let place = BlockPlace { header: self.header, first };
        let pages = array.pages(block.elements);
        let content = if pages == 0 { self.absent(block.elements)? } else { Vec::new() };
        let mut bytes = Vec::new();
        array.encode_data_block(&mut bytes, SIZES, place, &content)?;
        let page = add(mul(array.page(), self.absent.len() as u64)?, 4)?;
        let len = add(bytes.len() as u64, mul(pages, page)?)?;
        let at = output.allocate(len)?;
        bytes.truncate(sub(bytes.len(), 4)?);
        self.leaves.create(at, bytes, array.data_prefix(SIZES));
        let [_, _, blocks, size, _, realized] = &mut self.statistics;
        increase(blocks, 1)?;
        increase(size, len)?;
        increase(realized, block.elements)?;
        self.header_changed = true;
        Ok(at)
    }

    /// Reads or makes super block `u`.
    fn super_block(&mut self, output: &mut Output, u: u32) -> Result<()> {
        if self.supers.contains_key(&u) {
            return Ok(());
        }
        let array = self.array;
        let slot = sub(u, array.direct_super_blocks())?;
        let index = self.index.as_mut().ok_or_else(beyond)?;
        let slot = usize::try_from(slot).ok().and_then(|slot| index.super_blocks.get_mut(slot));
        let slot = slot.ok_or_else(beyond)?;
        let size = array.super_block_size(SIZES, u);
        let len = usize::try_from(size).ok().filter(|_| size <= MOST_BYTES).ok_or_else(beyond)?;
        let block = match *slot {
            Some(at) => {
                let bytes = output.read(at, len)?;
                let base = add(output.base(), at.0)?;
                let parsed = locate(SUPER, base, &bytes, |i| SuperBlock::parse(i, &array, SIZES, u))?;
                Super { at, bitmap: parsed.bitmap.to_vec(), data_blocks: parsed.data_blocks, changed: false }
            }
            None => {
                let at = output.allocate(size)?;
                *slot = Some(at);
                index.changed = true;
                let [blocks, bytes, ..] = &mut self.statistics;
                increase(blocks, 1)?;
                increase(bytes, size)?;
                self.header_changed = true;
                let bitmap = vec![0; usize::try_from(array.bitmap_size(u)).map_err(|_| beyond())?];
                let blocks = usize::try_from(ExtensibleArray::blocks(u)).map_err(|_| beyond())?;
                Super { at, bitmap, data_blocks: vec![None; blocks], changed: true }
            }
        };
        self.supers.insert(u, block);
        Ok(())
    }

    /// A data block without pages, in memory.
    fn whole(&mut self, output: &mut Output, block: Block, at: Address) -> Result<Address> {
        if self.leaves.holds(at) {
            return Ok(at);
        }
        let array = self.array;
        let prefix = array.data_prefix(SIZES);
        let len = self.absent(block.elements)?.len();
        let mut bytes = output.read(at, sum([prefix, len, 4])?)?;
        let base = add(output.base(), at.0)?;
        locate(DATA, base, &bytes, |i| array.parse_data_block(i, SIZES, len))?;
        bytes.truncate(add(prefix, len)?);
        self.leaves.load(at, bytes, prefix);
        Ok(at)
    }

    /// A page of a data block, in memory.
    fn page(&mut self, output: &mut Output, block: Block, at: Address, number: u64) -> Result<Address> {
        let array = self.array;
        let content = self.absent(array.page())?;
        let stride = mul(add(content.len() as u64, 4)?, number)?;
        let prefix = add(array.data_prefix(SIZES) as u64, 4)?;
        let at = Address(sum([at.0, prefix, stride])?);
        if self.leaves.holds(at) {
            return Ok(at);
        }
        let above = self.supers.get_mut(&block.u).ok_or_else(beyond)?;
        let bit = add(mul(block.number, array.pages(block.elements))?, number)?;
        if fixed_array::page_is_used(&above.bitmap, bit) {
            self.leaves.load(at, super::page(output, at, content.len())?, 0);
        } else {
            fixed_array::set_page(&mut above.bitmap, bit)?;
            above.changed = true;
            self.leaves.create(at, content, 0);
        }
        Ok(at)
    }

    /// Writes what was changed: elements, then super blocks, the index block, and the header.
    pub(super) fn flush(&mut self, output: &mut Output) -> Result<()> {
        self.leaves.flush(output)?;
        let mut bytes = Vec::new();
        for (&u, block) in self.supers.iter_mut().filter(|(_, block)| block.changed) {
            bytes.clear();
            let first = sub(self.array.first_of(u), self.array.index_elements.into())?;
            let place = BlockPlace { header: self.header, first };
            let encoded = SuperBlock { bitmap: &block.bitmap, data_blocks: block.data_blocks.clone() };
            encoded.encode(&mut bytes, &self.array, SIZES, place)?;
            output.write_part(block.at, &bytes)?;
            block.changed = false;
        }
        if let Some(index) = self.index.as_mut().filter(|index| index.changed) {
            bytes.clear();
            let encoded = IndexBlock {
                elements: &index.elements,
                data_blocks: index.data_blocks.clone(),
                super_blocks: index.super_blocks.clone(),
            };
            encoded.encode(&mut bytes, &self.array, SIZES, self.header)?;
            output.write_part(index.at, &bytes)?;
            index.changed = false;
        }
        if self.header_changed {
            bytes.clear();
            self.array.encode(&mut bytes, SIZES, self.statistics)?;
            output.write_part(self.header, &bytes)?;
            self.header_changed = false;
        }
        Ok(())
    }
}
