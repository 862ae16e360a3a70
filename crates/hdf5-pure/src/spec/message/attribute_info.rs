//! Attribute info message (IV.A.2.v): where the attributes of an object are.
//!
//! Version 0, flags (bit 0 creation order tracked, bit 1 indexed), [largest creation index 2], fractal heap (O), B-tree by
//! name (O), [B-tree by creation order (O)].

use nom::number::complete::le_u16;
use sciformats_core::Result;
use sciformats_core::fault::Parsed;

use super::super::Sizes;
use super::dense::Dense;

/// Where the attributes of an object are.
pub(crate) type AttributeInfo = Dense<u16>;

impl AttributeInfo {
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let trees = ["attribute name v2 B-tree address", "attribute creation order v2 B-tree address"];
        Self::parse_with(i, sizes, le_u16, trees)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        self.encode_with(out, sizes, self.max_creation_index.map(u16::to_le_bytes).as_ref())?;
        Ok(())
    }
}
