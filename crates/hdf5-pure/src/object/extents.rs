//! The extents of attributes and of shared messages.

use crate::space::extents::Extents;
use crate::space::pending::Use;
use crate::spec::Address;
use crate::spec::message::dense::AttributeInfo;
use crate::spec::shared_table::{self, SharedIndex};
use sciformats_core::Result;
use sciformats_core::arith::fit;

impl Extents<'_> {
    /// Adds the structures of dense attributes.
    pub(crate) fn attributes(&mut self, info: &AttributeInfo) -> Result<()> {
        info.heap.map_or(Ok(()), |heap| self.fractal_heap(heap))?;
        let trees = [(info.by_name, 8), (info.by_creation_order.flatten(), 9)];
        trees.into_iter().try_for_each(|(tree, kind)| tree.map_or(Ok(()), |at| self.btree_v2(at, &[kind])))
    }

    /// Adds the records of an index of shared messages, without its heap.
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

    /// Adds the table of shared messages with its indexes and their heaps.
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
}
