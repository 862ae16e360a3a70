//! The extents of elements and of chunk indexes.

use sciformats_core::fault::{FaultKind, locate};
use sciformats_core::{Result, bound};

use crate::chunk::index::{Bounds, Index, StoredChunk, chunk_bytes};
use crate::space::extents::Extents;
use crate::space::pending::Use;
use crate::spec::Address;
use crate::spec::btree_v1::{ChunkNode, Prefix};
use crate::spec::extensible_array::{ExtensibleArray, IndexBlock, SuperBlock};
use crate::spec::fixed_array::FixedArray;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::layout::{IndexKind, Layout};

impl Extents<'_> {
    /// Adds the elements of a dataset, of `size` bytes each, and the structures that lead to them. Compact elements are
    /// in the header, and virtual elements in other datasets.
    pub(crate) fn layout(
        &mut self,
        layout: &Layout,
        dataspace: &Dataspace,
        size: u64,
        filtered: bool,
    ) -> Result<()> {
        match layout {
            Layout::Compact(_) | Layout::Virtual(_) | Layout::Contiguous { address: None } => Ok(()),
            Layout::Contiguous { address: Some(at) } => {
                let len = dataspace.elements().and_then(|n| n.checked_mul(size)).unwrap_or(u64::MAX); // a bound
                self.add("contiguous elements", *at, len, Use::Data)
            }
            Layout::Chunked(layout) => {
                let Dataspace::Simple { dimensions, maximum } = dataspace else { return Ok(()) };
                let index = Index { context: self.context, layout, dimensions, maximum, filtered };
                self.chunks(&index)?;
                self.chunk_index(&index)
            }
        }
    }

    /// Adds the stored chunks of a dataset.
    pub(crate) fn chunks(&mut self, index: &Index<'_>) -> Result<()> {
        if let (IndexKind::Implicit, Some(at)) = (index.layout.index, index.layout.address) {
            let chunks = index.counts().iter().try_fold(1u64, |product, &n| product.checked_mul(n));
            let len = chunks.zip(chunk_bytes(index.layout)).and_then(|(n, bytes)| n.checked_mul(bytes));
            return self.add("chunks", at, len.unwrap_or(u64::MAX), Use::Data); // a bound
        }
        stored(index)?.iter().try_for_each(|chunk| self.add("chunk", chunk.address, chunk.size, Use::Data))
    }

    /// Adds the structures of a chunk index, without the chunks.
    pub(crate) fn chunk_index(&mut self, index: &Index<'_>) -> Result<()> {
        let Some(at) = index.layout.address else { return Ok(()) };
        match index.layout.index {
            IndexKind::Single(_) | IndexKind::Implicit => Ok(()),
            IndexKind::BtreeV1 => self.chunk_tree(at, None, index.dimensions.len()),
            IndexKind::BtreeV2 => self.btree_v2(at, &[10, 11]),
            IndexKind::FixedArray => self.fixed_array(at),
            IndexKind::ExtensibleArray => self.extensible_array(at),
        }
    }

    fn chunk_tree(&mut self, at: Address, level: Option<u8>, rank: usize) -> Result<()> {
        const NODE: &str = "chunk B-tree node";
        let (context, sizes) = (self.context, self.context.sizes);
        let start = context.read(NODE, at, Prefix::size(sizes) as u64)?;
        let prefix = locate(NODE, context.offset(at), &start, |i| ChunkNode::prefix(i, sizes))?;
        if level.is_some_and(|level| level != prefix.level) {
            return Err(context.fault(
                NODE,
                at,
                FaultKind::Rule("does not have the level that its parent requires"),
            ));
        }
        let len = ChunkNode::size(sizes, prefix.entries.into(), rank)? as u64;
        let node = context.parse(NODE, at, len, |i| ChunkNode::parse(i, sizes, rank))?;
        let most = u32::from(self.context.btree_k.chunk) * 2;
        self.full(NODE, at, prefix.entries, most)?;
        let whole = ChunkNode::size(sizes, bound::addressable(most.into()), rank)? as u64;
        self.add(NODE, at, whole, Use::Metadata)?;
        let Some(below) = prefix.level.checked_sub(1) else { return Ok(()) };
        node.children.into_iter().flatten().try_for_each(|child| self.chunk_tree(child, Some(below), rank))
    }

    fn fixed_array(&mut self, at: Address) -> Result<()> {
        const ARRAY: &str = "fixed array header";
        let sizes = self.context.sizes;
        let len = FixedArray::size(sizes) as u64;
        let array = self.context.parse(ARRAY, at, len, |i| FixedArray::parse(i, sizes))?;
        self.add(ARRAY, at, len, Use::Metadata)?;
        let Some(block) = array.block else { return Ok(()) };
        let elements = bound::product(array.elements, array.element_size.into());
        // Every page has a checksum, and so has the bitmap, or the block if it has no pages.
        let pages = bound::sum(bound::product(array.pages(), 4), array.pages().div_ceil(8));
        let fixed = sizes.bytes(1, 0, 10) as u64;
        let len = bound::sum(bound::sum(fixed, pages), elements);
        self.add("fixed array data block", block, len, Use::Metadata)
    }

    fn extensible_array(&mut self, at: Address) -> Result<()> {
        const ARRAY: &str = "extensible array header";
        const INDEX: &str = "extensible array index block";
        const SUPER: &str = "extensible array super block";
        let (context, sizes) = (self.context, self.context.sizes);
        let len = ExtensibleArray::size(sizes) as u64;
        let array = context.parse(ARRAY, at, len, |i| ExtensibleArray::parse(i, sizes))?;
        self.add(ARRAY, at, len, Use::Metadata)?;
        let Some(block) = array.index_block else { return Ok(()) };
        let len = array.index_block_size(sizes);
        let bytes = context.read(INDEX, block, len)?;
        let index = locate(INDEX, context.offset(block), &bytes, |i| IndexBlock::parse(i, &array, sizes))?;
        self.add(INDEX, block, len, Use::Metadata)?;
        let direct = array.direct_super_blocks();
        let of = |u: u32| std::iter::repeat_n(u, bound::addressable(ExtensibleArray::blocks(u)));
        for (u, block) in (0..direct).flat_map(of).zip(&index.data_blocks) {
            self.array_block(&array, u, *block)?;
        }
        for (u, block) in (direct..).zip(&index.super_blocks) {
            let Some(at) = *block else { continue };
            let len = array.super_block_size(sizes, u);
            let bytes = context.read(SUPER, at, len)?;
            let parse = |i| SuperBlock::parse(i, &array, sizes, u);
            let block = locate(SUPER, context.offset(at), &bytes, parse)?;
            self.add(SUPER, at, len, Use::Metadata)?;
            block.data_blocks.iter().try_for_each(|block| self.array_block(&array, u, *block))?;
        }
        Ok(())
    }

    /// Adds a data block of the super block `u`.
    fn array_block(&mut self, array: &ExtensibleArray, u: u32, at: Option<Address>) -> Result<()> {
        let Some(at) = at else { return Ok(()) };
        let n = array.block_elements(u);
        let checksums = bound::product(bound::sum(array.pages(n), 1), 4);
        let elements = bound::product(n, array.element_size.into());
        let prefix = array.data_prefix(self.context.sizes) as u64;
        let len = bound::sum(bound::sum(prefix, elements), checksums);
        self.add("extensible array data block", at, len, Use::Metadata)
    }
}

/// Returns all chunks that an index leads to.
///
/// # Errors
/// Returns `Malformed` if a part of the index cannot be read.
pub(crate) fn stored(index: &Index<'_>) -> Result<Vec<StoredChunk>> {
    let last: Vec<u64> = index.counts().iter().map(|n| bound::left(*n, 1)).collect();
    let bounds = Bounds { first: vec![0; last.len()], last };
    index.collect(&bounds, |chunk| chunk)
}
