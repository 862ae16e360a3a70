//! The records of version 2 B-trees (III.A.2, types 1 to 11). The records of shared messages (type 7) are in
//! [`shared_table`](super::super::shared_table).
//!
//! | offset | size | field of a huge object of a fractal heap (types 1 to 4) |
//! |---|---|---|
//! | 0 | O | huge object address |
//! | O | L | huge object length: stored bytes |
//! | O + L | 4 | filter mask (types 2 and 4) |
//! | O + L + 4 | L | huge object memory size: bytes after decoding (types 2 and 4) |
//! | | L | huge object ID (types 1 and 2) |
//!
//! | offset | size | field of a link |
//! |---|---|---|
//! | 0 | 4 | hash of name (type 5), or 8 bytes of creation order (type 6) |
//! | 4 or 8 | 7 | ID of the link message in the group's fractal heap |
//!
//! | offset | size | field of an attribute (types 8 and 9) |
//! |---|---|---|
//! | 0 | 8 | heap ID of the attribute message |
//! | 8 | 1 | message flags; if bit 1 is set, the ID belongs to the heap of the shared messages |
//! | 9 | 4 | creation order |
//! | 13 | 4 | hash of name (type 8) |
//!
//! | offset | size | field of a chunk of a dataset of n dimensions (types 10 and 11) |
//! |---|---|---|
//! | 0 | O | address, or none |
//! | O | as the layout says | chunk size: stored bytes (type 11) |
//! | | 4 | filter mask (type 11) |
//! | | 8·n | scaled offset: the position along each dimension, counted in chunks |

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::count;
use nom::number::complete::{le_i64, le_u32, le_u64, u8 as byte};
use sciformats_core::arith::present;
use sciformats_core::fault::{Parsed, field};
use sciformats_core::{Result, bound};

use super::super::{Address, Sizes, address, defined, length, put_address, put_length, put_uint, uint};

/// A huge object of a fractal heap (types 1 to 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HugeObject {
    /// The address of the object.
    pub(crate) address: Address,
    /// Its stored size in bytes.
    pub(crate) stored: u64,
    /// The mask of the filters that were skipped, and the size after decoding in bytes (types 2 and 4).
    pub(crate) filtered: Option<(u32, u64)>,
    /// The key by which heap IDs refer to it (types 1 and 2).
    pub(crate) key: Option<u64>,
}

impl HugeObject {
    pub(crate) fn parse(i: &[u8], sizes: Sizes, kind: u8) -> Parsed<'_, Self> {
        let (i, address) = field("huge object address", defined(sizes))(i)?;
        let (i, stored) = field("huge object length", length(sizes))(i)?;
        let (i, filtered) = match kind {
            2 | 4 => (field("filter mask", le_u32), field("huge object memory size", length(sizes)))
                .map(Some)
                .parse(i)?,
            _ => (i, None),
        };
        let (i, key) = match kind {
            1 | 2 => field("huge object ID", length(sizes)).map(Some).parse(i)?,
            _ => (i, None),
        };
        Ok((i, Self { address, stored, filtered, key }))
    }
}

/// A link by the hash of its name (type 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkName<'a> {
    /// Hash of the name.
    pub(crate) hash: u32,
    /// The ID of the link message in the fractal heap of the group.
    pub(crate) id: &'a [u8],
}

impl<'a> LinkName<'a> {
    pub(crate) fn parse(i: &'a [u8]) -> Parsed<'a, Self> {
        let (i, hash) = field("hash of name", le_u32)(i)?;
        let (i, id) = field("ID", take(7usize)).parse(i)?;
        Ok((i, Self { hash, id }))
    }
}

/// An attribute by the hash of its name (type 8) or its creation order (type 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AttributeRecord<'a> {
    /// The ID of the attribute message in a fractal heap.
    pub(crate) id: &'a [u8],
    /// The flags of the message. If bit 1 is set, the ID belongs to the heap of the shared messages.
    pub(crate) flags: u8,
    /// The position of the attribute in the order in which the object's attributes were created.
    pub(crate) creation_order: u32,
    /// Hash of the name (type 8).
    pub(crate) hash: Option<u32>,
}

impl<'a> AttributeRecord<'a> {
    pub(crate) fn parse(i: &'a [u8], kind: u8) -> Parsed<'a, Self> {
        let (i, id) = field("heap ID", take(8usize)).parse(i)?;
        let (i, flags) = field("message flags", byte)(i)?;
        let (i, creation_order) = field("creation order", le_u32)(i)?;
        let (i, hash) = match kind {
            8 => field("hash of name", le_u32).map(Some).parse(i)?,
            _ => (i, None),
        };
        Ok((i, Self { id, flags, creation_order, hash }))
    }
}

/// A chunk (types 10 and 11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkRecord {
    /// The address of the chunk, or `None` if it is not stored.
    pub(crate) address: Option<Address>,
    /// The stored size in bytes, and the mask of the filters that were skipped (type 11).
    pub(crate) filtered: Option<(u64, u32)>,
    /// The position of the chunk along each dimension, counted in chunks.
    pub(crate) scaled: Vec<u64>,
}

impl ChunkRecord {
    /// Parses a record whose chunk size is `size_width` bytes wide; this is 0 for type 10.
    pub(crate) fn parse(i: &[u8], sizes: Sizes, size_width: usize, rank: usize) -> Parsed<'_, Self> {
        let (i, address) = field("address", address(sizes))(i)?;
        let (i, filtered) = match size_width {
            0 => (i, None),
            _ => (field("chunk size", uint(size_width)), field("filter mask", le_u32)).map(Some).parse(i)?,
        };
        let (i, scaled) = field("scaled offset", count(le_u64, rank)).parse(i)?;
        Ok((i, Self { address, filtered, scaled }))
    }
}

impl HugeObject {
    /// Returns the size of a record of type 1 in bytes.
    pub(crate) fn size(sizes: Sizes) -> u16 {
        bound::sum(bound::product(sizes.lengths.into(), 2), sizes.offsets.into())
    }

    /// Appends a record of type 1.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        put_address(out, Some(self.address), sizes)?;
        put_length(out, self.stored, sizes)?;
        put_length(out, present(self.key, "key of a huge object")?, sizes)?;
        Ok(())
    }
}

impl LinkName<'_> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend(self.hash.to_le_bytes());
        out.extend(self.id);
        Ok(())
    }
}

/// Parses the creation order of a link (type 6), and returns the rest of the record, which is its heap ID.
pub(crate) fn link_order(i: &[u8]) -> Parsed<'_, i64> {
    field("creation order", le_i64)(i)
}

/// Appends a link by its creation order (type 6).
pub(crate) fn encode_link_order(out: &mut Vec<u8>, order: u64, id: &[u8]) -> Result<()> {
    out.extend(order.to_le_bytes());
    out.extend(id);
    Ok(())
}

impl AttributeRecord<'_> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend(self.id);
        out.push(self.flags);
        out.extend(self.creation_order.to_le_bytes());
        out.extend(self.hash.into_iter().flat_map(u32::to_le_bytes));
        Ok(())
    }
}

impl ChunkRecord {
    /// Returns the scaled offsets of an encoded record, which are its last fields.
    pub(crate) fn encoded_scaled(record: &[u8], rank: usize) -> Vec<u64> {
        let (_, words) = record.as_rchunks::<8>();
        // The fields are counted from the end, which parsers of nom cannot do.
        words.iter().skip(bound::left(words.len(), rank)).map(|&word| u64::from_le_bytes(word)).collect()
    }

    /// Appends a record whose chunk size is `size_width` bytes wide; this is 0 for type 10.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes, size_width: usize) -> Result<()> {
        put_address(out, self.address, sizes)?;
        if size_width > 0 {
            let (size, mask) = present(self.filtered, "size of a filtered chunk")?;
            put_uint(out, size, size_width)?;
            out.extend(mask.to_le_bytes());
        }
        self.scaled.iter().for_each(|scaled| out.extend(scaled.to_le_bytes()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::{SIZES, any_sizes, both_ways, near};
    use super::*;

    const HUGE: [u8; 24] = [
        0, 0x10, 0, 0, 0, 0, 0, 0, // huge object address
        0x46, 0, 0, 0, 0, 0, 0, 0, // huge object length
        3, 0, 0, 0, 0, 0, 0, 0, // huge object ID
    ];

    const HUGE_FILTERED: [u8; 28] = [
        0, 0x10, 0, 0, 0, 0, 0, 0, // huge object address
        0x46, 0, 0, 0, 0, 0, 0, 0, // huge object length
        1, 0, 0, 0, // filter mask
        0x5a, 0, 0, 0, 0, 0, 0, 0, // huge object memory size
    ];

    const LINK_NAME: [u8; 11] = [
        1, 2, 3, 4, // hash of name
        0, 21, 0, 0, 0, 30, 0, // ID
    ];

    const LINK_ORDER: [u8; 15] = [
        5, 0, 0, 0, 0, 0, 0, 0, // creation order
        0, 21, 0, 0, 0, 30, 0, // ID
    ];

    const ATTRIBUTE: [u8; 17] = [
        0, 21, 0, 0, 0, 30, 0, 0, // heap ID
        0, // message flags
        2, 0, 0, 0, // creation order
        1, 2, 3, 4, // hash of name
    ];

    const CHUNK: [u8; 30] = [
        0, 0x10, 0, 0, 0, 0, 0, 0, // address
        0x2c, 1, // chunk size
        1, 0, 0, 0, // filter mask
        2, 0, 0, 0, 0, 0, 0, 0, // scaled offset along dimension 0
        7, 0, 0, 0, 0, 0, 0, 0, // along dimension 1
    ];

    #[test]
    fn huge_objects() {
        let (address, stored) = (Address(0x1000), 70);
        let plain = HugeObject { address, stored, filtered: None, key: Some(3) };
        let parse = |i| HugeObject::parse(i, SIZES, 1);
        both_ways(&HUGE, &plain, parse, |object, out| object.encode(out, SIZES));
        assert_eq!(usize::from(HugeObject::size(SIZES)), HUGE.len());
        let filtered = HugeObject { address, stored, filtered: Some((1, 90)), key: None };
        assert_eq!(HugeObject::parse(&HUGE_FILTERED, SIZES, 4), Ok((&[][..], filtered)));
    }

    #[test]
    fn links_and_attributes() {
        let id = &LINK_NAME[4..];
        let link = LinkName { hash: 0x0403_0201, id };
        both_ways(&LINK_NAME, &link, LinkName::parse, LinkName::encode);
        assert_eq!(link_order(&LINK_ORDER), Ok((id, 5)));
        let mut out = Vec::new();
        encode_link_order(&mut out, 5, id).unwrap();
        assert_eq!(out, LINK_ORDER);
        let mut attribute =
            AttributeRecord { id: &ATTRIBUTE[..8], flags: 0, creation_order: 2, hash: Some(0x0403_0201) };
        both_ways(&ATTRIBUTE, &attribute, |i| AttributeRecord::parse(i, 8), AttributeRecord::encode);
        attribute.hash = None;
        let by_order = &ATTRIBUTE[..13];
        both_ways(by_order, &attribute, |i| AttributeRecord::parse(i, 9), AttributeRecord::encode);
    }

    #[test]
    fn chunks() {
        let scaled = vec![2, 7];
        let record = ChunkRecord { address: Some(Address(0x1000)), filtered: Some((300, 1)), scaled };
        let parse = |i| ChunkRecord::parse(i, SIZES, 2, 2);
        both_ways(&CHUNK, &record, parse, |record, out| record.encode(out, SIZES, 2));
        assert_eq!(ChunkRecord::encoded_scaled(&CHUNK, 2), [2, 7]);
        let plain = [&CHUNK[..8], &CHUNK[14..]].concat();
        let record = ChunkRecord { filtered: None, ..record };
        let parse = |i| ChunkRecord::parse(i, SIZES, 0, 2);
        both_ways(&plain, &record, parse, |record, out| record.encode(out, SIZES, 0));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            huge in near(&HUGE_FILTERED),
            link in near(&LINK_ORDER),
            attribute in near(&ATTRIBUTE),
            chunk in near(&CHUNK),
            sizes in any_sizes(),
            (width, rank, kind) in (0usize..9, 0usize..33, 1u8..12),
        ) {
            let _ = HugeObject::parse(&huge, sizes, kind);
            let _ = LinkName::parse(&link);
            let _ = link_order(&link);
            let _ = AttributeRecord::parse(&attribute, kind);
            let _ = ChunkRecord::parse(&chunk, sizes, width, rank);
            let _ = ChunkRecord::encoded_scaled(&chunk, rank);
        }
    }
}
