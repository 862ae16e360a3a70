//! Link info message (IV.A.2.c): where the links of a new-style group are.
//!
//! Version 0, flags (bit 0 creation order tracked, bit 1 indexed), [largest creation index 8], fractal heap (O), B-tree by
//! name (O), [B-tree by creation order (O)].

use nom::number::complete::le_u64;
use sciformats_core::Result;
use sciformats_core::fault::Parsed;

use super::super::Sizes;
use super::dense::Dense;

/// Where the links of a group are.
pub(crate) type LinkInfo = Dense<u64>;

impl LinkInfo {
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let trees = ["address of v2 B-tree for name index", "address of v2 B-tree for creation order index"];
        Self::parse_with(i, sizes, le_u64, trees)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        self.encode_with(out, sizes, self.max_creation_index.map(u64::to_le_bytes).as_ref())?;
        Ok(())
    }
}
