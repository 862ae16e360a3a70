//! The extents of B-trees.

use crate::btree::Tree;
use crate::space::extents::Extents;
use crate::space::pending::Use;
use crate::spec::Address;
use crate::spec::btree_v2::Header;
use sciformats_core::Result;

impl Extents<'_> {
    /// Adds the nodes of a version 2 B-tree, without what its records lead to.
    pub(crate) fn btree_v2(&mut self, at: Address, kinds: &[u8]) -> Result<()> {
        const NODE: &str = "version 2 B-tree node";
        let tree = Tree::open(self.context, at, kinds)?;
        self.add("version 2 B-tree header", at, Header::size(self.context.sizes) as u64, Use::Metadata)?;
        let (nodes, size) = (tree.nodes()?, tree.node_size());
        nodes.into_iter().try_for_each(|node| self.add(NODE, node, size, Use::Metadata))
    }
}
