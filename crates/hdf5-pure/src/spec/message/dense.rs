//! Link info (IV.A.2.c) and attribute info (IV.A.2.v) messages: where the links of a new-style group, or the attributes of an
//! object, are once they are stored densely. The two only differ in the size of the creation index.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 1 | version: 0 |
//! | 1 | 1 | flags; bit 0: creation order is tracked, bit 1: indexed |
//! | 2 | 8 or 2 | maximum creation index (with bit 0): 8 bytes for links, 2 for attributes |
//! | | O | fractal heap address, or none |
//! | | O | name index v2 B-tree address, or none |
//! | | O | creation order index v2 B-tree address, or none (with bit 1) |

use nom::Parser;
use nom::combinator::cond;
use nom::number::complete::{le_u16, le_u64, u8 as byte};
use sciformats_core::Result;
use sciformats_core::fault::{FaultKind, Parsed, checked, field};

use super::super::{Address, Sizes, address, put_address, version};

/// Where the links of a group are.
pub(crate) type LinkInfo = Dense<u64>;
/// Where the attributes of an object are.
pub(crate) type AttributeInfo = Dense<u16>;

/// Where links or attributes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dense<I> {
    /// The next creation index, if creation order is tracked.
    pub(crate) max_creation_index: Option<I>,
    /// The address of the heap that contains them.
    pub(crate) heap: Option<Address>,
    /// The address of the B-tree that finds them by the hashes of their names.
    pub(crate) by_name: Option<Address>,
    /// The address of the B-tree that finds them by creation order. The outer option is `None` if creation order is not indexed.
    pub(crate) by_creation_order: Option<Option<Address>>,
}

/// The creation index of one of the messages.
pub(crate) trait CreationIndex: Copy {
    /// What the standard calls the fields with the two trees.
    const TREES: [&'static str; 2];

    fn parse(i: &[u8]) -> Parsed<'_, Self>;

    fn put(self, out: &mut Vec<u8>);
}

impl CreationIndex for u64 {
    const TREES: [&'static str; 2] =
        ["address of v2 B-tree for name index", "address of v2 B-tree for creation order index"];

    fn parse(i: &[u8]) -> Parsed<'_, Self> {
        le_u64(i)
    }

    fn put(self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }
}

impl CreationIndex for u16 {
    const TREES: [&'static str; 2] =
        ["attribute name v2 B-tree address", "attribute creation order v2 B-tree address"];

    fn parse(i: &[u8]) -> Parsed<'_, Self> {
        le_u16(i)
    }

    fn put(self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }
}

impl<I: CreationIndex> Dense<I> {
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let [name_index, order_index] = I::TREES;
        let (i, _) = version(0)(i)?;
        let (i, flags) = checked("flags", byte, |&flags| {
            (flags > 3).then_some(FaultKind::Undefined { found: flags.into() })
        })(i)?;
        let (i, max_creation_index) =
            cond(flags & 1 != 0, field("maximum creation index", I::parse)).parse(i)?;
        let (i, heap) = field("fractal heap address", address(sizes))(i)?;
        let (i, by_name) = field(name_index, address(sizes))(i)?;
        let (i, by_creation_order) = cond(flags & 2 != 0, field(order_index, address(sizes))).parse(i)?;
        Ok((i, Self { max_creation_index, heap, by_name, by_creation_order }))
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        let (tracked, indexed) = (self.max_creation_index.is_some(), self.by_creation_order.is_some());
        out.extend([0, u8::from(tracked) | u8::from(indexed) << 1]);
        if let Some(index) = self.max_creation_index {
            index.put(out);
        }
        put_address(out, self.heap, sizes)?;
        put_address(out, self.by_name, sizes)?;
        if let Some(tree) = self.by_creation_order {
            put_address(out, tree, sizes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::{SIZES, any_sizes, both_ways, near};
    use super::*;

    const PLAIN: [u8; 18] = [
        0, // version
        0, // flags
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // fractal heap address: none
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // address of v2 B-tree for name index: none
    ];

    const INDEXED_LINKS: [u8; 34] = [
        0, // version
        3, // flags: creation order is tracked and indexed
        7, 0, 0, 0, 0, 0, 0, 0, // maximum creation index
        0, 0x10, 0, 0, 0, 0, 0, 0, // fractal heap address
        0, 0x20, 0, 0, 0, 0, 0, 0, // address of v2 B-tree for name index
        0, 0x30, 0, 0, 0, 0, 0, 0, // address of v2 B-tree for creation order index
    ];

    const INDEXED_ATTRIBUTES: [u8; 28] = [
        0, // version
        3, // flags: creation order is tracked and indexed
        7, 0, // maximum creation index
        0, 0x10, 0, 0, 0, 0, 0, 0, // fractal heap address
        0, 0x20, 0, 0, 0, 0, 0, 0, // attribute name v2 B-tree address
        0, 0x30, 0, 0, 0, 0, 0, 0, // attribute creation order v2 B-tree address
    ];

    /// Reads and writes a message without creation order, and one that tracks and indexes it.
    fn with_and_without_creation_order<I>(indexed: &[u8], seven: I)
    where
        I: CreationIndex + PartialEq + std::fmt::Debug,
    {
        let address = |address| Some(Address(address));
        let of_plain = Dense { max_creation_index: None, heap: None, by_name: None, by_creation_order: None };
        let of_indexed = Dense {
            max_creation_index: Some(seven),
            heap: address(0x1000),
            by_name: address(0x2000),
            by_creation_order: Some(address(0x3000)),
        };
        for (bytes, info) in [(&PLAIN[..], of_plain), (indexed, of_indexed)] {
            both_ways(bytes, &info, |i| Dense::<I>::parse(i, SIZES), |info, out| info.encode(out, SIZES));
        }
        assert!(Dense::<I>::parse(&[0, 4], SIZES).is_err());
    }

    #[test]
    fn links_and_attributes_with_and_without_creation_order() {
        with_and_without_creation_order(&INDEXED_LINKS, 7u64);
        with_and_without_creation_order(&INDEXED_ATTRIBUTES, 7u16);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            links in near(&INDEXED_LINKS),
            attributes in near(&INDEXED_ATTRIBUTES),
            sizes in any_sizes(),
        ) {
            let _ = LinkInfo::parse(&links, sizes);
            let _ = AttributeInfo::parse(&attributes, sizes);
        }
    }
}
