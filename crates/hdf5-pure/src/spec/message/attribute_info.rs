//! Attribute info message (IV.A.2.v): where the attributes of an object are.
//!
//! Version 0, flags (bit 0 creation order tracked, bit 1 indexed), [largest creation index 2], fractal heap (O), B-tree by
//! name (O), [B-tree by creation order (O)].

use nom::Parser;
use nom::combinator::cond;
use nom::number::complete::{le_u16, u8 as byte};
use sciformats_core::fault::{FaultKind, Parsed, checked, field};

use super::super::{Address, Sizes, address, put_address, version};

/// Where the attributes of an object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AttributeInfo {
    /// The next creation index, where creation order is tracked.
    pub(crate) max_creation_index: Option<u16>,
    /// The heap of densely stored attributes.
    pub(crate) heap: Option<Address>,
    /// Attributes by the hash of their names.
    pub(crate) by_name: Option<Address>,
    /// Attributes by creation order, where it is indexed; the outer option says whether it is.
    pub(crate) by_creation_order: Option<Option<Address>>,
}

impl AttributeInfo {
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, _) = version(0)(i)?;
        let (i, flags) = checked("flags", byte, |&flags| {
            (flags > 3).then_some(FaultKind::Undefined { found: flags.into() })
        })(i)?;
        let (i, max_creation_index) =
            cond(flags & 1 != 0, field("maximum creation index", le_u16)).parse(i)?;
        let (i, heap) = field("fractal heap address", address(sizes))(i)?;
        let (i, by_name) = field("attribute name v2 B-tree address", address(sizes))(i)?;
        let by_order = field("attribute creation order v2 B-tree address", address(sizes));
        let (i, by_creation_order) = cond(flags & 2 != 0, by_order).parse(i)?;
        Ok((i, Self { max_creation_index, heap, by_name, by_creation_order }))
    }
}

impl AttributeInfo {
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) {
        let tracked = u8::from(self.max_creation_index.is_some());
        out.extend([0, tracked | u8::from(self.by_creation_order.is_some()) << 1]);
        out.extend(self.max_creation_index.into_iter().flat_map(u16::to_le_bytes));
        put_address(out, self.heap, sizes);
        put_address(out, self.by_name, sizes);
        if let Some(tree) = self.by_creation_order {
            put_address(out, tree, sizes);
        }
    }
}
