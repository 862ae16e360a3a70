//! Builds version 2 B-trees of chunks.

use crate::btree;
use crate::chunk::index::build::Chunks;
use crate::space::output::Output;
use crate::spec::Address;
use crate::spec::btree_v2::record::ChunkRecord;
use crate::spec::message::layout::NODE_SIZE;
use sciformats_core::Result;
use sciformats_core::arith::{add, fit, mul, sum};

impl Chunks<'_> {
    pub(crate) fn btree_v2(&self, output: &mut Output) -> Result<Address> {
        let mut records = Vec::new();
        for &(scaled, stored) in &self.stored {
            let record = ChunkRecord {
                address: Some(stored.address),
                filtered: self.filters(stored)?,
                scaled: scaled.to_vec(),
            };
            record.encode(&mut records, self.sizes, self.size_width)?;
        }
        let (kind, filters) = if self.filtered { (11, add(self.size_width, 4)?) } else { (10, 0) };
        let size = sum([mul(self.dimensions.len(), 8)?, self.sizes.bytes(1, 0, 0), filters])?;
        btree::build(output, kind, NODE_SIZE, fit(size, "size of a record")?, &records)
    }
}
