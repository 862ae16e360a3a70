//! Reads version 1 B-trees of chunks.

use crate::chunk::index::{Bounds, Index, StoredChunk, Visit};
use crate::space::context::Budget;
use crate::spec::Address;
use crate::spec::btree_v1::{ChunkNode, Prefix};
use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Result, bound};
use std::ops::ControlFlow;

impl Index<'_> {
    pub(crate) fn btree_v1(
        &self,
        at: Address,
        level: Option<u8>,
        bounds: &Bounds,
        budget: &mut Budget,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        let mut node = match self.btree_v1_node(at, level) {
            Ok(node) => node,
            Err(error) => return visit(Err(error)),
        };
        let entries = node.children.len();
        let visited = ChunkNode::size(self.context.sizes, entries, self.dimensions.len())
            .and_then(|size| budget.visit(self.context, "chunk B-tree node", at, size as u64));
        if let Err(error) = visited {
            return visit(Err(error));
        }
        // Keys count elements, and chunks are found by counting chunks.
        for key in &mut node.keys {
            for (at, n) in key.offsets.iter_mut().zip(&self.layout.dimensions) {
                *at = at.checked_div(*n).unwrap_or(0); // a bound: no chunk is without a side
            }
        }
        let mut keys = node.keys.into_iter().peekable();
        for child in node.children {
            let (Some(key), Some(end)) = (keys.next(), keys.peek()) else { break };
            let (Some(child), scaled) = (child, key.offsets) else { continue };
            match node.level.checked_sub(1) {
                Some(below) if end.offsets >= bounds.first && scaled <= bounds.last => {
                    self.btree_v1(child, Some(below), bounds, budget, visit)?;
                }
                None if bounds.holds(&scaled) => {
                    let (size, filter_mask) = (key.size.into(), key.filter_mask);
                    visit(Ok(StoredChunk { scaled, address: child, size, filter_mask }))?;
                }
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }

    fn btree_v1_node(&self, at: Address, level: Option<u8>) -> Result<ChunkNode> {
        const NODE: &str = "chunk B-tree node";
        let (sizes, rank) = (self.context.sizes, self.dimensions.len());
        let most = bound::product(usize::from(self.context.btree_k.chunk), 2);
        self.context.expect(at, ChunkNode::size(sizes, most, rank)? as u64)?;
        let start = self.context.read(NODE, at, Prefix::size(sizes) as u64)?;
        let prefix = locate(NODE, self.context.offset(at), &start, |i| ChunkNode::prefix(i, sizes))?;
        if let Some(expected) = level.filter(|&level| level != prefix.level) {
            let kind = FaultKind::Mismatch { expected: expected.into(), found: prefix.level.into() };
            return Err(self.context.fault(NODE, at, Fault::new("node level", kind)));
        }
        let len = ChunkNode::size(sizes, prefix.entries.into(), rank)? as u64;
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
}
