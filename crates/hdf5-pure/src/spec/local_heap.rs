//! Local heaps (III.D), which contain the names of an old-style group.
//!
//! | offset | size | field of the header |
//! |---|---|---|
//! | 0 | 4 | signature: `HEAP` |
//! | 4 | 1 | version: 0 |
//! | 5 | 3 | reserved |
//! | 8 | L | data segment size |
//! | 8 + L | L | offset to head of free-list; 1 if it is empty |
//! | 8 + 2·L | O | address of data segment |
//!
//! | offset | size | field of a free block in the data segment |
//! |---|---|---|
//! | 0 | L | offset of next free block; 1 in the last block |
//! | L | L | size of free block, including these fields |

use nom::bytes::complete::take;
use sciformats_core::Result;
use sciformats_core::fault::{Parsed, field};

use super::{Address, Sizes, defined, length, put_address, put_length, signature, version};

/// The header of a local heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocalHeap {
    /// The size of the data segment in bytes.
    pub(crate) size: u64,
    /// The offset of the first free block in the data segment; 1 if there is none.
    pub(crate) free_list: u64,
    /// The address of the data segment.
    pub(crate) data: Address,
}

/// The fields at the start of a free block of the data segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FreeBlock {
    /// The offset of the next free block, or [`NONE`](Self::NONE) in the last one.
    pub(crate) next: u64,
    /// The size of the block in bytes, including these fields.
    pub(crate) size: u64,
}

impl FreeBlock {
    /// The offset that means that there is no further block.
    pub(crate) const NONE: u64 = 1;

    /// Returns the size of the fields in bytes, which is also the size of the smallest free block.
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
    use proptest::prelude::*;

    use super::super::test::{SIZES, any_sizes, both_ways, near};
    use super::*;

    const HEADER: [u8; 32] = [
        b'H', b'E', b'A', b'P', // signature
        0,    // version
        0, 0, 0, // reserved
        0x58, 0, 0, 0, 0, 0, 0, 0, // data segment size
        0x10, 0, 0, 0, 0, 0, 0, 0, // offset to head of free-list
        0xc8, 2, 0, 0, 0, 0, 0, 0, // address of data segment
    ];

    const FREE: [u8; 16] = [
        1, 0, 0, 0, 0, 0, 0, 0, // offset of next free block: none
        0x48, 0, 0, 0, 0, 0, 0, 0, // size of free block
    ];

    #[test]
    fn a_header_and_a_free_block() {
        assert_eq!(HEADER.len(), LocalHeap::size_of(SIZES));
        let heap = LocalHeap { size: 88, free_list: 16, data: Address(0x2c8) };
        both_ways(&HEADER, &heap, |i| LocalHeap::parse(i, SIZES), |heap, out| heap.encode(out, SIZES));
        assert_eq!(FREE.len(), FreeBlock::size_of(SIZES));
        let free = FreeBlock { next: FreeBlock::NONE, size: 72 };
        both_ways(&FREE, &free, |i| FreeBlock::parse(i, SIZES), |free, out| free.encode(out, SIZES));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(header in near(&HEADER), free in near(&FREE), sizes in any_sizes()) {
            let _ = LocalHeap::parse(&header, sizes);
            let _ = FreeBlock::parse(&free, sizes);
        }
    }
}
