//! Reads version 2 B-trees of chunks.

use crate::btree::Tree;
use crate::chunk::index::{Bounds, Index, StoredChunk, Visit};
use crate::spec::Address;
use crate::spec::btree_v2::record::ChunkRecord;
use sciformats_core::Result;
use sciformats_core::fault::locate;
use std::cmp::Ordering;
use std::ops::ControlFlow;

impl Index<'_> {
    pub(crate) fn btree_v2(&self, at: Address, bounds: &Bounds, visit: &mut Visit<'_>) -> Result<()> {
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
}
