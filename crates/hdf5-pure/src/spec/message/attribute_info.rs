//! Attribute info message (IV.A.2.v): where the attributes of an object are.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 1 | version: 0 |
//! | 1 | 1 | flags; bit 0: creation order is tracked, bit 1: creation order is indexed |
//! | 2 | 2 | maximum creation index (with bit 0) |
//! | | O | fractal heap address, or none |
//! | | O | attribute name v2 B-tree address, or none |
//! | | O | attribute creation order v2 B-tree address, or none (with bit 1) |

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::Address;
    use super::super::super::test::{SIZES, any_sizes, both_ways, near};
    use super::*;

    const PLAIN: [u8; 18] = [
        0, // version
        0, // flags
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // fractal heap address: none
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // address of v2 B-tree for name index: none
    ];

    const INDEXED: [u8; 28] = [
        0, // version
        3, // flags: creation order is tracked and indexed
        7, 0, // maximum creation index
        0, 0x10, 0, 0, 0, 0, 0, 0, // fractal heap address
        0, 0x20, 0, 0, 0, 0, 0, 0, // address of v2 B-tree for name index
        0, 0x30, 0, 0, 0, 0, 0, 0, // address of v2 B-tree for creation order index
    ];

    #[test]
    fn with_and_without_creation_order() {
        let plain =
            AttributeInfo { max_creation_index: None, heap: None, by_name: None, by_creation_order: None };
        let address = |address| Some(Address(address));
        let indexed = AttributeInfo {
            max_creation_index: Some(7),
            heap: address(0x1000),
            by_name: address(0x2000),
            by_creation_order: Some(address(0x3000)),
        };
        for (bytes, info) in [(&PLAIN[..], plain), (&INDEXED, indexed)] {
            both_ways(bytes, &info, |i| AttributeInfo::parse(i, SIZES), |info, out| info.encode(out, SIZES));
        }
        assert!(AttributeInfo::parse(&[0, 4], SIZES).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in near(&INDEXED), sizes in any_sizes()) {
            let _ = AttributeInfo::parse(&bytes, sizes);
        }
    }
}
