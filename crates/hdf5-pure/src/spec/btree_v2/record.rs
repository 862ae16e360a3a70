//! The records of version 2 B-trees (III.A.2, types 1 to 11).

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
    /// Where.
    pub(crate) address: Address,
    /// Bytes as stored.
    pub(crate) stored: u64,
    /// Filters skipped, and bytes after decoding (types 2 and 4).
    pub(crate) filtered: Option<(u32, u64)>,
    /// Its key in heap IDs (types 1 and 2).
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
    /// The link message in the group's fractal heap.
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
    /// The attribute message in a fractal heap.
    pub(crate) id: &'a [u8],
    /// Message flags; bit 1: the heap is that of the shared messages.
    pub(crate) flags: u8,
    /// When it was created among the object's attributes.
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
    /// Where; none if it is not there.
    pub(crate) address: Option<Address>,
    /// Bytes as stored and filters skipped (type 11).
    pub(crate) filtered: Option<(u64, u32)>,
    /// Which chunk, counted in chunks along each dimension.
    pub(crate) scaled: Vec<u64>,
}

impl ChunkRecord {
    /// Parses a record whose stored size is `size_width` bytes wide, 0 for type 10.
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
    /// Bytes of a record of type 1.
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

/// The creation order of a link (type 6), and the rest of the record, which is its heap ID.
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
    /// The scaled offsets of an encoded record, which are its last fields.
    pub(crate) fn encoded_scaled(record: &[u8], rank: usize) -> Vec<u64> {
        let (_, words) = record.as_rchunks::<8>();
        words.iter().skip(bound::left(words.len(), rank)).map(|&word| u64::from_le_bytes(word)).collect()
    }

    /// Appends a record whose stored size is `size_width` bytes wide, 0 for type 10.
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
