//! Link info message (IV.A.2.c): where the links of a new-style group are.
//!
//! Version 0, flags (bit 0 creation order tracked, bit 1 indexed), [largest creation index 8], fractal heap (O), B-tree by
//! name (O), [B-tree by creation order (O)].

use nom::Parser;
use nom::combinator::cond;
use nom::number::complete::{le_u64, u8 as byte};
use sciformats_core::fault::{FaultKind, Parsed, checked, field};

use super::super::{Address, Sizes, address, put_address, version};

/// Where the links of a group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkInfo {
    /// The next creation index, where creation order is tracked.
    pub(crate) max_creation_index: Option<u64>,
    /// The heap with the links of a dense group.
    pub(crate) heap: Option<Address>,
    /// Links by the hash of their names.
    pub(crate) by_name: Option<Address>,
    /// Links by creation order, where it is indexed; the outer option says whether it is.
    pub(crate) by_creation_order: Option<Option<Address>>,
}

impl LinkInfo {
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, _) = version(0)(i)?;
        let (i, flags) = checked("flags", byte, |&flags| {
            (flags > 3).then_some(FaultKind::Undefined { found: flags.into() })
        })(i)?;
        let (i, max_creation_index) =
            cond(flags & 1 != 0, field("maximum creation index", le_u64)).parse(i)?;
        let (i, heap) = field("fractal heap address", address(sizes))(i)?;
        let (i, by_name) = field("address of v2 B-tree for name index", address(sizes))(i)?;
        let by_order = field("address of v2 B-tree for creation order index", address(sizes));
        let (i, by_creation_order) = cond(flags & 2 != 0, by_order).parse(i)?;
        Ok((i, Self { max_creation_index, heap, by_name, by_creation_order }))
    }
}

impl LinkInfo {
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) {
        let tracked = u8::from(self.max_creation_index.is_some());
        out.extend([0, tracked | u8::from(self.by_creation_order.is_some()) << 1]);
        out.extend(self.max_creation_index.into_iter().flat_map(u64::to_le_bytes));
        put_address(out, self.heap, sizes);
        put_address(out, self.by_name, sizes);
        if let Some(tree) = self.by_creation_order {
            put_address(out, tree, sizes);
        }
    }
}
