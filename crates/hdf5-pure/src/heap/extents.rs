//! The extents of heaps.

use crate::btree::Tree;
use crate::space::extents::Extents;
use crate::space::pending::Use;
use crate::spec::Address;
use crate::spec::btree_v2::record::HugeObject;
use crate::spec::fractal_heap::FractalHeap;
use crate::spec::fractal_heap::block::{Child, IndirectBlock};
use crate::spec::local_heap::LocalHeap;
use sciformats_core::fault::{FaultKind, locate};
use sciformats_core::{Result, bound};

const BLOCK: &str = "fractal heap block";

impl Extents<'_> {
    /// Adds a local heap and its data segment.
    pub(crate) fn local_heap(&mut self, at: Address) -> Result<()> {
        const HEAP: &str = "local heap";
        let sizes = self.context.sizes;
        let len = LocalHeap::size_of(sizes) as u64;
        let heap = self.context.parse(HEAP, at, len, |i| LocalHeap::parse(i, sizes))?;
        self.add(HEAP, at, len, Use::Metadata)?;
        self.add("local heap data segment", heap.data, heap.size, Use::Metadata)
    }

    /// Adds a fractal heap with its blocks, huge objects and free-space manager.
    pub(crate) fn fractal_heap(&mut self, at: Address) -> Result<()> {
        const HEADER: &str = "fractal heap header";
        let (context, sizes) = (self.context, self.context.sizes);
        let start = context.read_some(HEADER, at, FractalHeap::MAX_SIZE)?;
        let size = locate(HEADER, context.offset(at), &start, |i| FractalHeap::size(i, sizes))? as u64;
        let heap = context.parse(HEADER, at, size, |i| FractalHeap::parse(i, sizes))?;
        self.add(HEADER, at, size, Use::Metadata)?;
        if let Some(root) = heap.root {
            let filtered = heap.filters.as_ref().map(|filters| (filters.root_size, filters.root_mask));
            match heap.root_rows {
                0 => self.direct(Child { address: Some(root), filtered }, heap.table.start)?,
                rows => self.indirect(&heap, root, rows.into(), 0)?,
            }
        }
        if let Some(manager) = heap.free_space_manager {
            self.free_space(manager)?;
        }
        heap.huge_btree.map_or(Ok(()), |tree| self.huge_objects(tree))
    }

    fn direct(&mut self, child: Child, size: u64) -> Result<()> {
        let len = child.filtered.map_or(size, |(stored, _)| stored);
        child.address.map_or(Ok(()), |at| self.add(BLOCK, at, len, Use::Metadata))
    }

    fn indirect(&mut self, heap: &FractalHeap, at: Address, rows: u32, depth: usize) -> Result<()> {
        let (context, sizes) = (self.context, self.context.sizes);
        context.limits.depth("levels of heap blocks", depth)?;
        let broken = || context.fault(BLOCK, at, FaultKind::Rule("has more rows than its heap allows"));
        let len = IndirectBlock::size(heap, sizes, rows);
        let block = context.parse(BLOCK, at, len, |i| IndirectBlock::parse(i, heap, sizes, rows))?;
        self.add(BLOCK, at, len, Use::Metadata)?;
        let width = usize::from(heap.table.width).max(1);
        for (row, children) in (0u32..).zip(block.children.chunks(width)) {
            let size = heap.table.block_size(row).ok_or_else(broken)?;
            for child in children {
                match child.address {
                    None => {}
                    Some(_) if row < heap.table.direct_rows() => self.direct(*child, size)?,
                    Some(below) => {
                        let rows = heap.table.rows(size).ok_or_else(broken)?;
                        self.indirect(heap, below, rows, bound::sum(depth, 1))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn huge_objects(&mut self, at: Address) -> Result<()> {
        const KINDS: [u8; 4] = [1, 2, 3, 4];
        self.btree_v2(at, &KINDS)?;
        let (context, mut objects) = (self.context, Vec::new());
        let tree = Tree::open(context, at, &KINDS)?;
        tree.visit(&mut |record| {
            let parse = |i| HugeObject::parse(i, context.sizes, tree.kind());
            objects.push(locate("huge object record", context.offset(at), record?, parse)?);
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        let add = |object: HugeObject| {
            self.add("huge fractal heap object", object.address, object.stored, Use::Metadata)
        };
        objects.into_iter().try_for_each(add)
    }
}
