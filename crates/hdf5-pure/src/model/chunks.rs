//! The chunks of a dataset: one enumeration over all kinds of indexes.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use sciformats_core::Result;
use sciformats_core::fault::{Fault, FaultKind, locate};

use super::btree_v2::Tree;
use super::context::{Budget, Context};
use crate::spec::Address;
use crate::spec::btree_v1::{ChunkNode, Prefix};
use crate::spec::btree_v2::record::ChunkRecord;
use crate::spec::extensible_array::{ExtensibleArray, IndexBlock, SuperBlock};
use crate::spec::fixed_array::{self, Element, FixedArray};
use crate::spec::message::layout::{Chunked, IndexKind};

/// A chunk that is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredChunk {
    /// Which chunk, counted in chunks along each dimension.
    pub scaled: Vec<u64>,
    /// Where it is.
    pub address: Address,
    /// Bytes as stored.
    pub size: u64,
    /// Filters that were skipped when it was written, bit by bit.
    pub filter_mask: u32,
}

/// A box of chunks, first and last included.
pub(crate) struct Bounds {
    pub(crate) first: Vec<u64>,
    pub(crate) last: Vec<u64>,
}

impl Bounds {
    fn holds(&self, scaled: &[u64]) -> bool {
        scaled
            .iter()
            .zip(self.first.iter().zip(&self.last))
            .all(|(at, (first, last))| first <= at && at <= last)
    }

    /// Chunks in the box, if the number fits 64 bits.
    pub(crate) fn volume(&self) -> Option<u64> {
        let lengths =
            self.first.iter().zip(&self.last).map(|(first, last)| last.checked_sub(*first)?.checked_add(1));
        lengths.into_iter().try_fold(1u64, |product, n| product.checked_mul(n?))
    }
}

/// What the indexes need to know of a dataset.
pub(crate) struct Index<'a> {
    pub(crate) context: &'a Context,
    pub(crate) layout: &'a Chunked,
    pub(crate) dimensions: &'a [u64],
    pub(crate) maximum: &'a [Option<u64>],
    pub(crate) filtered: bool,
}

/// What a visit of chunks calls.
pub(crate) type Visit<'v> = dyn FnMut(Result<StoredChunk>) -> ControlFlow<()> + 'v;

/// Bytes of an unfiltered chunk, if they fit 64 bits.
pub(crate) fn chunk_bytes(layout: &Chunked) -> Option<u64> {
    layout.dimensions.iter().try_fold(layout.element_size, |product, &n| product.checked_mul(n))
}

const STRUCTURE: &str = "chunk index";

impl Index<'_> {
    /// Visits the stored chunks in `bounds`, each once in a sound file. An unreadable part of the index is one error.
    pub(crate) fn visit(&self, bounds: &Bounds, visit: &mut Visit<'_>) {
        let Some(at) = self.layout.address else { return };
        let result = match self.layout.index {
            IndexKind::BtreeV1 => {
                let _ = self.btree_v1(at, None, bounds, &mut Budget::new(self.context), visit);
                Ok(())
            }
            IndexKind::Single(filtered) => self.single(at, filtered, bounds, visit),
            IndexKind::Implicit => self.implicit(at, bounds, visit),
            IndexKind::FixedArray => self.fixed_array(at, bounds, visit),
            IndexKind::ExtensibleArray => self.extensible_array(at, bounds, visit),
            IndexKind::BtreeV2 => self.btree_v2(at, bounds, visit),
        };
        if let Err(error) = result {
            let _ = visit(Err(error));
        }
    }

    fn bytes(&self, at: Address) -> Result<u64> {
        chunk_bytes(self.layout).ok_or_else(|| {
            self.context.fault("data layout message", at, Fault::new("chunk size", FaultKind::Overflow))
        })
    }

    /// Bytes of the stored size in an element of an index of filtered chunks; 0 if they are not filtered.
    fn size_width(&self, at: Address) -> Result<usize> {
        if !self.filtered {
            return Ok(0);
        }
        if self.layout.wide_sizes {
            return Ok(self.context.sizes.lengths.into());
        }
        let bits = self.bytes(at)?.checked_ilog2().unwrap_or(0);
        Ok(usize::try_from(bits.saturating_add(8) / 8).unwrap_or(8).saturating_add(1).min(8))
    }

    /// Chunks along each dimension, as the linear number of a chunk counts them: of the maximum size where there is one.
    fn counts(&self) -> Vec<u64> {
        let sizes =
            self.maximum.iter().zip(self.dimensions).map(|(max, &size)| max.unwrap_or(size).max(size));
        sizes
            .zip(&self.layout.dimensions)
            .map(|(size, chunk)| size.div_ceil((*chunk).max(1)).max(1))
            .collect()
    }

    fn single(
        &self,
        at: Address,
        filtered: Option<(u64, u32)>,
        bounds: &Bounds,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let (size, filter_mask) = match filtered {
            Some(stored) => stored,
            None => (self.bytes(at)?, 0),
        };
        let scaled = vec![0; self.dimensions.len()];
        if bounds.holds(&scaled) {
            let _ = visit(Ok(StoredChunk { scaled, address: at, size, filter_mask }));
        }
        Ok(())
    }

    fn implicit(&self, at: Address, bounds: &Bounds, visit: &mut Visit<'_>) -> Result<()> {
        let numbering = Numbering::new(&self.counts(), None);
        let size = self.bytes(at)?;
        let (first, last) = numbering.range(bounds).ok_or_else(|| self.too_many(at))?;
        // All of them must be in the file, which also bounds the loop.
        let end = last.checked_add(1).and_then(|n| n.checked_mul(size)).ok_or_else(|| self.too_many(at))?;
        if end > self.context.available(at) {
            return Err(self.too_many(at));
        }
        for number in first..=last {
            let address = Address(at.0.saturating_add(number.saturating_mul(size)));
            let scaled = numbering.scaled(number);
            let chunk = StoredChunk { scaled, address, size, filter_mask: 0 };
            if bounds.holds(&chunk.scaled) && visit(Ok(chunk)).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn too_many(&self, at: Address) -> sciformats_core::Error {
        self.context.fault(STRUCTURE, at, FaultKind::Rule("does not hold as many chunks as the dataset has"))
    }

    fn btree_v1(
        &self,
        at: Address,
        level: Option<u8>,
        bounds: &Bounds,
        budget: &mut Budget,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        let node = match self.btree_v1_node(at, level) {
            Ok(node) => node,
            Err(error) => return visit(Err(error)),
        };
        let size = Prefix::size(self.context.sizes) as u64;
        if let Err(error) = budget.visit(self.context, "chunk B-tree node", at, size) {
            let _ = visit(Err(error));
            return ControlFlow::Break(());
        }
        let scale = |offsets: &[u64]| -> Vec<u64> {
            offsets
                .iter()
                .zip(&self.layout.dimensions)
                .map(|(at, n)| at.checked_div(*n).unwrap_or(0))
                .collect()
        };
        let keys: Vec<Vec<u64>> = node.keys.iter().map(|key| scale(&key.offsets)).collect();
        let ends = keys.iter().skip(1);
        for (((key, scaled), end), child) in node.keys.iter().zip(&keys).zip(ends).zip(&node.children) {
            let Some(child) = *child else { continue };
            match node.level.checked_sub(1) {
                Some(below) if *end >= bounds.first && *scaled <= bounds.last => {
                    self.btree_v1(child, Some(below), bounds, budget, visit)?;
                }
                None if bounds.holds(scaled) => {
                    let (size, filter_mask) = (key.size.into(), key.filter_mask);
                    visit(Ok(StoredChunk { scaled: scaled.clone(), address: child, size, filter_mask }))?;
                }
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }

    fn btree_v1_node(&self, at: Address, level: Option<u8>) -> Result<ChunkNode> {
        const NODE: &str = "chunk B-tree node";
        let (sizes, rank) = (self.context.sizes, self.dimensions.len());
        let start = self.context.read(NODE, at, Prefix::size(sizes) as u64)?;
        let prefix = locate(NODE, self.context.offset(at), &start, |i| ChunkNode::prefix(i, sizes))?;
        if let Some(expected) = level.filter(|&level| level != prefix.level) {
            let kind = FaultKind::Mismatch { expected: expected.into(), found: prefix.level.into() };
            return Err(self.context.fault(NODE, at, Fault::new("node level", kind)));
        }
        let len = ChunkNode::size(sizes, prefix.entries, rank) as u64;
        let node = self.context.parse(NODE, at, len, |i| ChunkNode::parse(i, sizes, rank))?;
        let aligned = |offsets: &[u64]| {
            offsets.iter().zip(&self.layout.dimensions).all(|(at, n)| at.checked_rem(*n) == Some(0))
        };
        let used = node.keys.iter().take(node.children.len());
        if !used.clone().all(|key| aligned(&key.offsets)) {
            let kind = FaultKind::Rule("is not a multiple of the chunk's size");
            return Err(self.context.fault(NODE, at, Fault::new("chunk offset", kind)));
        }
        Ok(node)
    }

    fn btree_v2(&self, at: Address, bounds: &Bounds, visit: &mut Visit<'_>) -> Result<()> {
        let tree = Tree::open(self.context, at, if self.filtered { &[11] } else { &[10] })?;
        let (width, bytes) = (self.size_width(at)?, self.bytes(at)?);
        let rank = self.dimensions.len();
        let parse = |record: &[u8]| {
            locate("chunk record", self.context.offset(at), record, |i| {
                ChunkRecord::parse(i, self.context.sizes, width, rank)
            })
        };
        tree.visit_range(
            &mut |record| {
                let scaled = parse(record)?.scaled;
                Ok(if scaled < bounds.first {
                    Ordering::Less
                } else if scaled > bounds.last {
                    Ordering::Greater
                } else {
                    Ordering::Equal
                })
            },
            &mut |record| match record.and_then(parse) {
                Ok(record) => {
                    let (size, filter_mask) = record.filtered.unwrap_or((bytes, 0));
                    match record.address.filter(|_| bounds.holds(&record.scaled)) {
                        Some(address) => {
                            Ok(visit(Ok(StoredChunk { scaled: record.scaled, address, size, filter_mask })))
                        }
                        None => Ok(ControlFlow::Continue(())),
                    }
                }
                Err(error) => Ok(visit(Err(error))),
            },
        )
    }

    fn fixed_array(&self, at: Address, bounds: &Bounds, visit: &mut Visit<'_>) -> Result<()> {
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
            if elements.page(Address(offset), start, n.saturating_mul(size), visit)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn check_elements(&self, header: &'static str, at: Address, client: u8, size: u8) -> Result<()> {
        let width = match self.size_width(at)? {
            0 => 0,
            width => width.saturating_add(4),
        };
        let expected = width.saturating_add(self.context.sizes.offsets.into());
        if usize::from(size) != expected || (client == 1) != self.filtered {
            let kind = FaultKind::Mismatch { expected: expected as u64, found: size.into() };
            return Err(self.context.fault(header, at, Fault::new("element size", kind)));
        }
        Ok(())
    }

    fn extensible_array(&self, at: Address, bounds: &Bounds, visit: &mut Visit<'_>) -> Result<()> {
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

/// The order in which arrays number chunks.
struct Numbering {
    /// Dimensions from the slowest on.
    order: Vec<usize>,
    /// Chunks per dimension in that order.
    counts: Vec<u64>,
    /// Chunks between neighbours of a dimension in that order.
    strides: Vec<u64>,
}

impl Numbering {
    /// Row by row over `counts`; the dimension `unlimited` goes before all others.
    fn new(counts: &[u64], unlimited: Option<usize>) -> Self {
        let others = (0..counts.len()).filter(|&i| Some(i) != unlimited);
        let order: Vec<usize> = unlimited.into_iter().chain(others).collect();
        let counts: Vec<u64> = order.iter().filter_map(|&i| counts.get(i).copied()).collect();
        let mut stride = 1u64;
        let mut strides: Vec<u64> = counts
            .iter()
            .rev()
            .map(|&n| {
                let this = stride;
                stride = stride.saturating_mul(n);
                this
            })
            .collect();
        strides.reverse();
        Self { order, counts, strides }
    }

    fn number(&self, scaled: &[u64]) -> Option<u64> {
        self.order
            .iter()
            .zip(&self.strides)
            .try_fold(0u64, |sum, (&i, &stride)| sum.checked_add(scaled.get(i)?.checked_mul(stride)?))
    }

    /// Smallest and largest number in a box.
    fn range(&self, bounds: &Bounds) -> Option<(u64, u64)> {
        Some((self.number(&bounds.first)?, self.number(&bounds.last)?))
    }

    fn scaled(&self, number: u64) -> Vec<u64> {
        let mut scaled = vec![0; self.order.len()];
        for (n, ((&i, &stride), &count)) in self.order.iter().zip(&self.strides).zip(&self.counts).enumerate()
        {
            let at = number.checked_div(stride).unwrap_or(0);
            // The slowest dimension has no end.
            let at = if n == 0 { at } else { at.checked_rem(count).unwrap_or(0) };
            if let Some(slot) = scaled.get_mut(i) {
                *slot = at;
            }
        }
        scaled
    }
}

/// Elements of an array that are chunks.
struct Elements<'a> {
    index: &'a Index<'a>,
    numbering: &'a Numbering,
    bounds: &'a Bounds,
    /// First and last number in the bounds.
    range: (u64, u64),
}

impl Elements<'_> {
    fn overlap(&self, start: u64, n: u64) -> bool {
        start <= self.range.1 && start.saturating_add(n) > self.range.0
    }

    /// Visits the elements in `bytes`, of which the first has number `start`.
    fn visit(&self, at: Address, start: u64, bytes: &[u8], visit: &mut Visit<'_>) -> Result<ControlFlow<()>> {
        let (context, sizes) = (self.index.context, self.index.context.sizes);
        let width = self.index.size_width(at)?;
        let chunk = self.index.bytes(at)?;
        let size =
            usize::from(sizes.offsets).saturating_add(if width == 0 { 0 } else { width.saturating_add(4) });
        let skip = usize::try_from(self.range.0.saturating_sub(start)).unwrap_or(usize::MAX);
        for (i, bytes) in bytes.chunks_exact(size).enumerate().skip(skip) {
            let number = start.saturating_add(i as u64);
            if number > self.range.1 {
                break;
            }
            let parse = |i| Element::parse(i, sizes, width);
            let element = locate("chunk index element", context.offset(at), bytes, parse)?;
            let Some(address) = element.address else { continue };
            let scaled = self.numbering.scaled(number);
            if !self.bounds.holds(&scaled) {
                continue;
            }
            let (size, filter_mask) = element.filtered.unwrap_or((chunk, 0));
            if visit(Ok(StoredChunk { scaled, address, size, filter_mask })).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Visits a page of `len` bytes of elements. If it cannot be read, that is one error.
    fn page(&self, at: Address, start: u64, len: u64, visit: &mut Visit<'_>) -> Result<ControlFlow<()>> {
        const PAGE: &str = "chunk index page";
        let context = self.index.context;
        let elements = usize::try_from(len).unwrap_or(usize::MAX);
        let bytes = match context.read(PAGE, at, len.saturating_add(4)) {
            Ok(bytes) => bytes,
            Err(error) => return Ok(visit(Err(error))),
        };
        match locate(PAGE, context.offset(at), &bytes, |i| fixed_array::page(i, elements)) {
            Ok(found) => self.visit(at, start, found, visit),
            Err(error) => Ok(visit(Err(error))),
        }
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
                    let start = first.saturating_add(j.saturating_mul(n));
                    if let Some(Some(at)) = blocks.next()
                        && self.data_block(*at, start, n, None)?.is_break()
                    {
                        return Ok(());
                    }
                }
            } else if let Some(Some(at)) = supers.next()
                && self.elements.overlap(first, count.saturating_mul(n))
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
            let start = array.first_of(u).saturating_add(j.saturating_mul(n));
            let first_page = j.saturating_mul(array.pages(n));
            if let Some(address) = *address
                && self.data_block(address, start, n, Some((block.bitmap, first_page)))?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Visits a data block of `n` elements; `pages` is the bitmap of the super block and the block's first bit in it.
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
        let len = if count == 0 { n.saturating_mul(size) } else { 0 };
        let read = context.read(BLOCK, at, prefix.saturating_add(len).saturating_add(4));
        let block = usize::try_from(len).unwrap_or(usize::MAX);
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
        let bytes = page.saturating_mul(size);
        for number in 0..count {
            let first = start.saturating_add(number.saturating_mul(page));
            let used = pages
                .is_none_or(|(bitmap, bit)| fixed_array::page_is_used(bitmap, bit.saturating_add(number)));
            if !used || !self.elements.overlap(first, page) {
                continue;
            }
            let offset =
                number.saturating_mul(bytes.saturating_add(4)).saturating_add(prefix).saturating_add(4);
            let at = Address(at.0.saturating_add(offset));
            if self.elements.page(at, first, bytes, self.visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_chunks() {
        let rows = Numbering::new(&[4, 3, 5], None);
        assert_eq!(rows.number(&[1, 2, 3]), Some(28));
        assert_eq!(rows.scaled(28), [1, 2, 3]);
        // The unlimited dimension comes first, whatever its count.
        let grows = Numbering::new(&[4, 1, 5], Some(1));
        assert_eq!(grows.number(&[1, 7, 3]), Some(7 * 20 + 5 + 3));
        assert_eq!(grows.scaled(148), [1, 7, 3]);
    }
}
