//! Single chunk index: the object header leads to the only chunk.

use crate::chunk::index::{Bounds, Index, StoredChunk, Visit};
use crate::spec::Address;
use sciformats_core::Result;

impl Index<'_> {
    pub(crate) fn single(
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
}
