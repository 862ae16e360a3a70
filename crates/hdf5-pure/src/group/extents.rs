//! The extents of the structures that hold the links of a group.

use crate::space::extents::Extents;
use crate::space::pending::Use;
use crate::spec::Address;
use crate::spec::btree_v1::{GroupNode, Prefix};
use crate::spec::message::dense::LinkInfo;
use crate::spec::message::small::SymbolTable;
use crate::spec::symbol_table::Node;
use sciformats_core::fault::{FaultKind, locate};
use sciformats_core::{Result, bound};

impl Extents<'_> {
    /// Adds the structures of dense links.
    pub(crate) fn links(&mut self, info: &LinkInfo) -> Result<()> {
        info.heap.map_or(Ok(()), |heap| self.fractal_heap(heap))?;
        let trees = [(info.by_name, 5), (info.by_creation_order.flatten(), 6)];
        trees.into_iter().try_for_each(|(tree, kind)| tree.map_or(Ok(()), |at| self.btree_v2(at, &[kind])))
    }

    /// Adds the structures of an old-style group: its B-tree, the symbol table nodes, and the heap of names.
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
            return Err(context.fault(
                NODE,
                at,
                FaultKind::Rule("does not have the level that its parent requires"),
            ));
        }
        let len = GroupNode::size(sizes, prefix.entries.into())? as u64;
        let node = context.parse(NODE, at, len, |i| GroupNode::parse(i, sizes))?;
        let most = u32::from(self.context.btree_k.group_internal) * 2;
        self.full(NODE, at, prefix.entries, most)?;
        self.add(NODE, at, GroupNode::size(sizes, bound::addressable(most.into()))? as u64, Use::Metadata)?;
        for child in node.children {
            match prefix.level.checked_sub(1) {
                Some(below) => self.group_tree(child, Some(below))?,
                None => {
                    const LEAF: &str = "symbol table node";
                    let symbols = context.parse(LEAF, child, Node::PREFIX as u64, Node::count)?;
                    self.full(LEAF, child, symbols, u32::from(self.context.btree_k.group_leaf) * 2)?;
                    self.add(
                        LEAF,
                        child,
                        Node::size(sizes, self.context.btree_k.group_leaf)? as u64,
                        Use::Metadata,
                    )?;
                }
            }
        }
        Ok(())
    }
}
