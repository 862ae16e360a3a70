//! Local heaps (III.D): the names of an old-style group.
//!
//! `HEAP`, version 0, 3 reserved, size of the data segment (L), head of the free list (L), address of the data (O). In the data,
//! a free block begins with the offset of the next one (L) and its size (L).

use nom::bytes::complete::take;
use sciformats_core::Result;
use sciformats_core::fault::{Parsed, field};

use super::{Address, Sizes, defined, length, put_address, put_length, signature, version};

/// The header of a local heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocalHeap {
    /// Bytes of the data segment.
    pub(crate) size: u64,
    /// Offset of the first free block in the data; 1 if there is none.
    pub(crate) free_list: u64,
    /// The data segment.
    pub(crate) data: Address,
}

/// What a free block of the data begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FreeBlock {
    /// Offset of the next one, [`NONE`](Self::NONE) in the last.
    pub(crate) next: u64,
    /// Its bytes, these fields counted.
    pub(crate) size: u64,
}

impl FreeBlock {
    /// The offset that stands for no block.
    pub(crate) const NONE: u64 = 1;

    /// Bytes of the fields, and so of the smallest free block.
    pub(crate) fn size_of(sizes: Sizes) -> usize {
        sizes.bytes(0, 2, 0)
    }

    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, next) = field("offset of next free block", length(sizes))(i)?;
        let (i, size) = field("size of free block", length(sizes))(i)?;
        Ok((i, Self { next, size }))
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        put_length(out, self.next, sizes)?;
        put_length(out, self.size, sizes)
    }
}

impl LocalHeap {
    pub(crate) fn size_of(sizes: Sizes) -> usize {
        sizes.bytes(1, 2, 8)
    }

    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, ()) = signature(b"HEAP")(i)?;
        let (i, _) = version(0)(i)?;
        let (i, _) = take(3usize)(i)?;
        let (i, size) = field("data segment size", length(sizes))(i)?;
        let (i, free_list) = field("offset to head of free-list", length(sizes))(i)?;
        let (i, data) = field("address of data segment", defined(sizes))(i)?;
        Ok((i, Self { size, free_list, data }))
    }
}

impl LocalHeap {
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        out.extend(b"HEAP\0\0\0\0");
        put_length(out, self.size, sizes)?;
        put_length(out, self.free_list, sizes)?;
        put_address(out, Some(self.data), sizes)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::test::{SIZES, hex};
    use super::*;

    #[test]
    fn a_header() {
        let bytes = hex("48454150 00 000000 5800000000000000 0100000000000000 c802000000000000");
        assert_eq!(bytes.len(), LocalHeap::size_of(SIZES));
        let (_, heap) = LocalHeap::parse(&bytes, SIZES).unwrap();
        let mut encoded = Vec::new();
        heap.encode(&mut encoded, SIZES).unwrap();
        assert_eq!(encoded, bytes);
        assert_eq!(heap, LocalHeap { size: 88, free_list: 1, data: Address(0x2c8) });
    }
}
