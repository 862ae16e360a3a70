//! The extents of heaps, and of the trees of names.

use sciformats_core::arith::fit;
use sciformats_core::fault::{FaultKind, locate};
use sciformats_core::{Result, bound};

use super::Extents;
use crate::model::btree_v2::Tree;
use crate::model::edit::space::Use;
use crate::spec::Address;
use crate::spec::btree_v1::{GroupNode, Prefix};
use crate::spec::btree_v2::Header;
use crate::spec::btree_v2::record::HugeObject;
use crate::spec::fractal_heap::FractalHeap;
use crate::spec::fractal_heap::block::{Child, IndirectBlock};
use crate::spec::free_space::FreeSpace;
use crate::spec::local_heap::LocalHeap;
use crate::spec::message::small::SymbolTable;
use crate::spec::shared_table::{self, SharedIndex};
use crate::spec::symbol_table::Node;

const BLOCK: &str = "fractal heap block";

impl Extents<'_> {
    /// An old-style group: its tree, the nodes of members, and the heap of names.
    pub(crate) fn symbol_table(&mut self, table: SymbolTable) -> Result<()> {
        self.group_tree(table.btree, None)?;
        self.local_heap(table.heap)
    }

    fn group_tree(&mut self, at: Address, level: Option<u8>) -> Result<()> {
        const NODE: &str = "group B-tree node";
        let (context, sizes) = (self.context, self.context.sizes);
        let start = context.read(NODE, at, Prefix::size(sizes) as u64)?;
        let prefix = locate(NODE, context.offset(at), &start, |i| GroupNode::prefix(i, sizes))?;
        if level.is_some_and(|level| level != prefix.level) {
            return Err(context.fault(NODE, at, FaultKind::Rule("has another level than its parent says")));
        }
        let len = GroupNode::size(sizes, prefix.entries.into())? as u64;
        let node = context.parse(NODE, at, len, |i| GroupNode::parse(i, sizes))?;
        let most = u32::from(self.k.group_internal) * 2;
        self.full(NODE, at, prefix.entries, most)?;
        self.add(NODE, at, GroupNode::size(sizes, bound::addressable(most.into()))? as u64, Use::Metadata)?;
        for child in node.children {
            match prefix.level.checked_sub(1) {
                Some(below) => self.group_tree(child, Some(below))?,
                None => {
                    const LEAF: &str = "symbol table node";
                    let symbols = context.parse(LEAF, child, Node::PREFIX as u64, Node::count)?;
                    self.full(LEAF, child, symbols, u32::from(self.k.group_leaf) * 2)?;
                    self.add(LEAF, child, Node::size(sizes, self.k.group_leaf)? as u64, Use::Metadata)?;
                }
            }
        }
        Ok(())
    }

    /// A local heap and its data.
    pub(crate) fn local_heap(&mut self, at: Address) -> Result<()> {
        const HEAP: &str = "local heap";
        let sizes = self.context.sizes;
        let len = LocalHeap::size_of(sizes) as u64;
        let heap = self.context.parse(HEAP, at, len, |i| LocalHeap::parse(i, sizes))?;
        self.add(HEAP, at, len, Use::Metadata)?;
        self.add("local heap data segment", heap.data, heap.size, Use::Metadata)
    }

    /// A version 2 B-tree, what its records lead to left out.
    pub(crate) fn btree_v2(&mut self, at: Address, kinds: &[u8]) -> Result<()> {
        const NODE: &str = "version 2 B-tree node";
        let tree = Tree::open(self.context, at, kinds)?;
        self.add("version 2 B-tree header", at, Header::size(self.context.sizes) as u64, Use::Metadata)?;
        let (nodes, size) = (tree.nodes()?, tree.node_size());
        nodes.into_iter().try_for_each(|node| self.add(NODE, node, size, Use::Metadata))
    }

    /// A fractal heap with its blocks, huge objects and free-space manager.
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
        let broken = || context.fault(BLOCK, at, FaultKind::Rule("has more rows than a heap"));
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

    /// A free-space manager: its header and its list.
    pub(crate) fn free_space(&mut self, at: Address) -> Result<()> {
        const HEADER: &str = "free-space header";
        let sizes = self.context.sizes;
        let len = FreeSpace::size(sizes) as u64;
        let manager = self.context.parse(HEADER, at, len, |i| FreeSpace::parse(i, sizes))?;
        self.add(HEADER, at, len, Use::Metadata)?;
        let list = manager.list.map(|list| (list, manager.list_allocated));
        list.map_or(Ok(()), |(list, len)| self.add("free-space section list", list, len, Use::Metadata))
    }

    /// The records of an index of shared messages, its heap left out.
    pub(crate) fn shared_index(&mut self, index: &SharedIndex) -> Result<()> {
        match (index.index, index.kind) {
            (None, _) => Ok(()),
            (Some(at), 0) => {
                let len = index.list_size(self.context.sizes)?;
                self.add("shared message list", at, len, Use::Metadata)
            }
            (Some(at), _) => self.btree_v2(at, &[7]),
        }
    }

    /// The table of shared messages, its indexes and their heaps.
    pub(crate) fn shared_table(&mut self, at: Address) -> Result<()> {
        let context = self.context;
        let indexes = fit(context.shared.len(), "number of indexes")?;
        let len = shared_table::size(context.sizes, indexes) as u64;
        self.add("shared message table", at, len, Use::Metadata)?;
        for index in &context.shared {
            self.shared_index(index)?;
            index.heap.map_or(Ok(()), |heap| self.fractal_heap(heap))?;
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
