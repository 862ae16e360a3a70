//! Reads blocks of chunk indexes to which nothing leads any more: those of arrays name the header of their array, and their places
//! in it follow from the layout message; leaves of version 2 B-trees contain the positions of chunks.

use sciformats_core::bound;

use super::{Carver, FoundMessage};
use crate::chunk::index::numbering::Numbering;
use crate::chunk::index::{Index, StoredChunk};
use crate::spec::btree_v2::record::ChunkRecord;
use crate::spec::extensible_array::{ExtensibleArray, IndexBlock};
use crate::spec::fixed_array::{self, Element, FixedArray};
use crate::spec::message::layout::{Chunked, IndexKind, Layout};
use crate::spec::{self, Address, lookup3};

/// The bytes of a node of a B-tree before its records.
const NODE_PREFIX: usize = 6;
/// The most bytes of a block that are read.
const BLOCK: u64 = 1 << 28;

/// A dataset as its index sees it.
///
/// ```
/// use hdf5_pure::structure::{FoundMessage, IndexedDataset, MessageType};
///
/// let layout = FoundMessage { kind: MessageType::Layout, flags: 0, body: Vec::new() };
/// let dataset = IndexedDataset { layout: &layout, shape: &[20], maximum: &[None], filtered: true };
/// assert_eq!(dataset.shape.len(), dataset.maximum.len());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct IndexedDataset<'a> {
    /// The layout message.
    pub layout: &'a FoundMessage,
    /// The shape.
    pub shape: &'a [u64],
    /// The maximum shape; `None` for a dimension without limit.
    pub maximum: &'a [Option<u64>],
    /// Whether chunks have filters.
    pub filtered: bool,
}

impl Carver {
    /// Returns the chunks that the block at `address` of a fixed or extensible array names, if the block is one of the array of a
    /// dataset, whose header need not be readable. Only what has the right checksum is used.
    pub fn array_chunks(&self, dataset: &IndexedDataset<'_>, address: Address) -> Vec<StoredChunk> {
        self.block_chunks(dataset, address).unwrap_or_default()
    }

    fn block_chunks(&self, dataset: &IndexedDataset<'_>, address: Address) -> Option<Vec<StoredChunk>> {
        let sizes = self.context.sizes;
        let (chunked, parameters) = self.described(dataset)?;
        let prefix = FixedArray::prefix(sizes);
        let start = self.context.read("chunk index block", address, prefix as u64).ok()?;
        let client = *start.get(5)?;
        let (_, header) = spec::address(sizes)(start.get(6..)?).ok()?;
        if header != chunked.address || (client == 1) != dataset.filtered {
            return None;
        }
        let index = self.index_of(dataset, &chunked);
        let width = index.size_width(address).ok()?;
        let of_filters = if width == 0 { 0 } else { bound::sum(width, 4) };
        let size = u8::try_from(bound::sum(of_filters, sizes.offsets.into())).ok()?;
        let counts = index.counts();
        match chunked.index {
            IndexKind::FixedArray => {
                let array = FixedArray {
                    client,
                    element_size: size,
                    page_bits: *parameters.first()?,
                    elements: counts.iter().fold(1, |product, &n| bound::product(product, n)),
                    block: Some(address),
                };
                let numbering = Numbering::new(&counts, None);
                self.fixed_block(&array, address, &mut |first, bytes| {
                    elements(self, &index, (&numbering, first), bytes)
                })
            }
            IndexKind::ExtensibleArray => {
                let &[max_bits, index_elements, min_super_pointers, min_data_elements, page_bits] =
                    parameters.first_chunk::<5>()?;
                let powers = min_data_elements.is_power_of_two() && min_super_pointers.is_power_of_two();
                if !powers || max_bits == 0 || max_bits > 64 || page_bits > 63 {
                    return None;
                }
                let array = ExtensibleArray {
                    client,
                    element_size: size,
                    max_bits,
                    index_elements,
                    min_data_elements,
                    min_super_pointers,
                    page_bits,
                    max_index_set: 0,
                    index_block: None,
                };
                let unlimited = dataset.maximum.iter().position(Option::is_none);
                let numbering = Numbering::new(&counts, unlimited);
                self.extensible_block(&array, address, &mut |first, bytes| {
                    elements(self, &index, (&numbering, first), bytes)
                })
            }
            _ => None,
        }
    }

    /// Returns the chunks that a leaf of a version 2 B-tree names, if its records are those of a dataset like this one. The number of
    /// records is the one with which the checksum is right.
    pub fn leaf_chunks(&self, dataset: &IndexedDataset<'_>, address: Address) -> Vec<StoredChunk> {
        self.records(dataset, address).unwrap_or_default()
    }

    fn records(&self, dataset: &IndexedDataset<'_>, address: Address) -> Option<Vec<StoredChunk>> {
        let sizes = self.context.sizes;
        let (chunked, parameters) = self.described(dataset)?;
        if chunked.index != IndexKind::BtreeV2 {
            return None;
        }
        let (_, node) = spec::uint(4)(&parameters).ok()?;
        let index = self.index_of(dataset, &chunked);
        let (width, rank) = (index.size_width(address).ok()?, chunked.dimensions.len());
        let of_filters = if width == 0 { 0 } else { bound::sum(width, 4) };
        let size = bound::sum(bound::product(rank, 8), bound::sum(of_filters, sizes.offsets.into()));
        let there = self.context.available(address).min(node).min(1 << 24);
        let bytes = self.context.read("version 2 B-tree leaf node", address, there).ok()?;
        let kind = if dataset.filtered { 11 } else { 10 };
        if !bytes.starts_with(b"BTLF\0") || bytes.get(5) != Some(&kind) {
            return None;
        }
        let most = bound::left(bytes.len(), bound::sum(NODE_PREFIX, 4)).checked_div(size)?;
        let end = (1..=most).rev().map(|count| bound::sum(bound::product(count, size), NODE_PREFIX)).find(
            |&end| {
                let stored =
                    bytes.get(end..).and_then(|rest| spec::uint(4)(rest).ok()).map(|(_, stored)| stored);
                stored == bytes.get(..end).map(|body| u64::from(lookup3::hash(body, 0)))
            },
        )?;
        let plain = index.bytes(address).ok()?;
        let mut found = Vec::new();
        for record in bytes.get(NODE_PREFIX..end)?.chunks_exact(size) {
            let (_, record) = ChunkRecord::parse(record, sizes, width, rank).ok()?;
            let (size, filter_mask) = record.filtered.unwrap_or((plain, 0));
            if let Some(address) = record.address {
                found.push(StoredChunk { scaled: record.scaled, address, size, filter_mask });
            }
        }
        Some(found)
    }

    /// Returns the layout of a dataset in chunks, and the parameters of its index.
    fn described(&self, dataset: &IndexedDataset<'_>) -> Option<(Chunked, Vec<u8>)> {
        let body = dataset.layout.body.as_slice();
        let (_, layout) = Layout::parse(body, self.context.sizes).ok()?;
        let Layout::Chunked(chunked) = layout else { return None };
        let (rank, width) = (usize::from(*body.get(3)?), usize::from(*body.get(4)?));
        // Version, class, flags, dimensionality and the width of dimensions, then the dimensions and the kind of index.
        let at = bound::sum(bound::product(rank, width), 6);
        Some((chunked, body.get(at..)?.to_vec()))
    }

    fn index_of<'a>(&'a self, dataset: &'a IndexedDataset<'_>, layout: &'a Chunked) -> Index<'a> {
        Index {
            context: &self.context,
            layout,
            dimensions: dataset.shape,
            maximum: dataset.maximum,
            filtered: dataset.filtered,
        }
    }

    fn fixed_block(
        &self,
        array: &FixedArray,
        address: Address,
        elements: &mut dyn FnMut(u64, &[u8]) -> Vec<StoredChunk>,
    ) -> Option<Vec<StoredChunk>> {
        let sizes = self.context.sizes;
        let (prefix, size) = (FixedArray::prefix(sizes) as u64, u64::from(array.element_size));
        let pages = array.pages();
        let content = if pages == 0 { bound::product(array.elements, size) } else { pages.div_ceil(8) };
        let len = bound::sum(bound::sum(prefix, content), 4);
        if len > BLOCK {
            return None;
        }
        let parse = |i: &[u8]| {
            FixedArray::parse_block(i, sizes, bound::addressable(content))
                .map(|(_, bytes)| bytes.to_vec())
                .ok()
        };
        let block =
            self.context.read("fixed array data block", address, len).ok().and_then(|bytes| parse(&bytes));
        if pages == 0 {
            return Some(elements(0, &block?));
        }
        // Without the bitmap, the checksums of the pages say which of them are there.
        let mut found = Vec::new();
        for page in 0..pages {
            if block.as_ref().is_some_and(|bitmap| !fixed_array::page_is_used(bitmap, page)) {
                continue;
            }
            let first = bound::product(page, array.page());
            let count = array.page().min(bound::left(array.elements, first));
            let before = bound::product(page, bound::sum(bound::product(array.page(), size), 4));
            let at = Address(bound::sum(address.0, bound::sum(len, before)));
            found.extend(self.page(at, bound::product(count, size), first, elements));
        }
        Some(found)
    }

    fn extensible_block(
        &self,
        array: &ExtensibleArray,
        address: Address,
        elements: &mut dyn FnMut(u64, &[u8]) -> Vec<StoredChunk>,
    ) -> Option<Vec<StoredChunk>> {
        let sizes = self.context.sizes;
        let start =
            self.context.read_some("extensible array block", address, array.data_prefix(sizes)).ok()?;
        if start.starts_with(b"EAIB") {
            let len = array.index_block_size(sizes);
            let bytes = self.context.read("extensible array index block", address, len.min(BLOCK)).ok()?;
            let (_, block) = IndexBlock::parse(&bytes, array, sizes).ok()?;
            return Some(elements(0, block.elements));
        }
        if !start.starts_with(b"EADB") {
            return None;
        }
        let at = FixedArray::prefix(sizes);
        let (_, offset) = spec::uint(array.offset_width())(start.get(at..)?).ok()?;
        // The offset counts from the first element after those of the index block.
        let first = bound::sum(offset, array.index_elements.into());
        let u = (0..array.super_blocks()).rev().find(|&u| array.first_of(u) <= first)?;
        let count = array.block_elements(u);
        let within = bound::left(first, array.first_of(u));
        if !within.is_multiple_of(count) || within.checked_div(count)? >= ExtensibleArray::blocks(u) {
            return None;
        }
        let (size, pages) = (u64::from(array.element_size), array.pages(count));
        let content = if pages == 0 { bound::product(count, size) } else { 0 };
        let len = bound::sum(bound::sum(array.data_prefix(sizes) as u64, content), 4);
        if len > BLOCK {
            return None;
        }
        let bytes = self.context.read("extensible array data block", address, len).ok()?;
        let (_, block) = array.parse_data_block(&bytes, sizes, bound::addressable(content)).ok()?;
        if pages == 0 {
            return Some(elements(first, block));
        }
        let mut found = Vec::new();
        let of_page = bound::product(array.page(), size);
        for page in 0..pages {
            let before = bound::product(page, bound::sum(of_page, 4));
            let at = Address(bound::sum(address.0, bound::sum(len, before)));
            let number = bound::sum(first, bound::product(page, array.page()));
            found.extend(self.page(at, of_page, number, elements));
        }
        Some(found)
    }

    /// Reads one page of elements, if its checksum is right.
    fn page(
        &self,
        address: Address,
        len: u64,
        first: u64,
        elements: &mut dyn FnMut(u64, &[u8]) -> Vec<StoredChunk>,
    ) -> Vec<StoredChunk> {
        let whole = bound::sum(len, 4).min(BLOCK);
        let Ok(bytes) = self.context.read("chunk index page", address, whole) else { return Vec::new() };
        match fixed_array::page(&bytes, bound::addressable(len)) {
            Ok((_, page)) => elements(first, page),
            Err(_) => Vec::new(),
        }
    }
}

/// Returns the chunks that elements name, of which the first has the number `first`.
fn elements(
    carver: &Carver,
    index: &Index<'_>,
    (numbering, first): (&Numbering, u64),
    bytes: &[u8],
) -> Vec<StoredChunk> {
    let sizes = carver.context.sizes;
    let width = index.size_width(Address(0)).unwrap_or(0); // a bound
    let plain = index.bytes(Address(0)).unwrap_or(0); // a bound
    let size = bound::sum(sizes.offsets.into(), if width == 0 { 0 } else { bound::sum(width, 4) });
    let mut found = Vec::new();
    for (i, element) in bytes.chunks_exact(size).enumerate() {
        let Ok((_, element)) = Element::parse(element, sizes, width) else { continue };
        let Some(address) = element.address else { continue };
        let scaled = numbering.scaled(bound::sum(first, i as u64));
        let (size, filter_mask) = element.filtered.unwrap_or((plain, 0));
        found.push(StoredChunk { scaled, address, size, filter_mask });
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

    use std::sync::Arc;

    use super::*;
    use crate::options::Bound;
    use crate::spec::btree_v1::BtreeK;
    use crate::spec::message::MessageType;
    use crate::{CreateOptions, File, Writer};

    /// Finds the same chunks in the blocks of a file as its index does, although the header of the index is lost.
    fn compare(max: Option<Option<u64>>, second: bool, count: usize, filtered: bool, signatures: &[&[u8]]) {
        let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::LATEST)).unwrap();
        let data: Vec<u32> = (0..u32::try_from(count).unwrap()).collect();
        let mut dataset = file.dataset("a").shape([count as u64]).chunks([1]);
        if second {
            dataset = file.dataset("a").shape([count as u64 / 2, 2]).max_shape([None, None]).chunks([1, 1]);
        } else if let Some(max) = max {
            dataset = dataset.max_shape([max]);
        }
        if filtered {
            dataset = dataset.filters(crate::filters::Filters::new().shuffle());
        }
        dataset.write(&data).unwrap();
        let mut bytes = file.into_bytes().unwrap();
        let sound = File::from_bytes(bytes.clone()).unwrap();
        let dataset = sound.dataset("a").unwrap();
        let wanted: Vec<StoredChunk> = dataset.chunks().unwrap().into_iter().flatten().collect();
        let Layout::Chunked(chunked) = dataset.layout().unwrap() else { panic!() };
        let header = usize::try_from(chunked.address.unwrap().0).unwrap();
        bytes[header..header + 16].fill(0);
        let sizes = spec::Sizes { offsets: 8, lengths: 8 };
        let carver = Carver::new(Arc::new(bytes.clone()), 0, sizes, BtreeK::default());
        let mut messages = Vec::new();
        for at in (0..bytes.len() - 4).filter(|&at| bytes[at..].starts_with(b"OHDR")) {
            messages
                .extend(carver.header(Address(at as u64)).map(|found| found.messages).unwrap_or_default());
        }
        let layout = messages.iter().find(|message| message.kind == MessageType::Layout).unwrap();
        let maximum: Vec<Option<u64>> = match (second, max) {
            (true, _) => vec![None, None],
            (_, Some(max)) => vec![max],
            _ => vec![Some(count as u64)],
        };
        let indexed = IndexedDataset { layout, shape: dataset.shape(), maximum: &maximum, filtered };
        let mut found = Vec::new();
        for at in
            (0..bytes.len() - 4).filter(|&at| signatures.iter().any(|mark| bytes[at..].starts_with(mark)))
        {
            found.extend(carver.array_chunks(&indexed, Address(at as u64)));
            found.extend(carver.leaf_chunks(&indexed, Address(at as u64)));
        }
        found.sort_by(|a, b| a.scaled.cmp(&b.scaled));
        assert_eq!(found, wanted);
    }

    #[test]
    fn fixed_arrays() {
        compare(None, false, 30, false, &[b"FADB"]);
        compare(None, false, 30, true, &[b"FADB"]);
        compare(None, false, 3000, true, &[b"FADB"]);
    }

    #[test]
    fn extensible_arrays() {
        compare(Some(None), false, 300, false, &[b"EAIB", b"EADB"]);
        compare(Some(None), false, 300, true, &[b"EAIB", b"EADB"]);
    }

    #[test]
    fn leaves_of_trees() {
        compare(None, true, 40, false, &[b"BTLF"]);
        compare(None, true, 40, true, &[b"BTLF"]);
    }
}
