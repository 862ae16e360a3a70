//! Fractal heaps (III.G): the links and attributes of large groups and objects, and shared messages.
//!
//! Objects lie in direct blocks. Indirect blocks hold the addresses of direct ones and of further indirect ones, in
//! rows of `width` blocks; the blocks of rows 0 and 1 have the starting size, those of every later row twice the size
//! of the row before: the [`DoublingTable`].

pub(crate) mod block;
pub(crate) mod heap_id;

pub(crate) use heap_id::HeapId;

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::fill;
use nom::number::complete::{le_u16, le_u32, u8 as byte};
use sciformats_core::fault::{FaultKind, Parsed, fail, field};
use sciformats_core::{Result, bound};

use super::message::filter_pipeline::Pipeline;
use super::{
    Address, Sizes, address, length, put_address, put_checksum, put_length, sealed, signature, version,
};

/// The header of a fractal heap, `FRHP`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FractalHeap {
    /// Bytes of a heap ID.
    pub(crate) id_len: u16,
    /// Bit 0: huge IDs have wrapped. Bit 1: direct blocks have checksums.
    pub(crate) flags: u8,
    /// Larger objects are huge: stored outside the blocks.
    pub(crate) max_managed: u32,
    /// The last key that a huge object got, or the one after it: the library counts on before it gives a key out.
    pub(crate) next_huge: u64,
    /// The B-tree of the huge objects.
    pub(crate) huge_btree: Option<Address>,
    /// Free bytes in direct blocks: in those that the rows of the root have room for, whether they are there or not.
    pub(crate) free_space: u64,
    /// The free-space manager.
    pub(crate) free_space_manager: Option<Address>,
    /// Managed space, allocated managed space, iterator offset, managed objects, huge bytes, huge objects, tiny bytes, tiny objects.
    pub(crate) statistics: [u64; 8],
    /// How blocks are arranged.
    pub(crate) table: DoublingTable,
    /// The root block; none in an empty heap.
    pub(crate) root: Option<Address>,
    /// Rows of the root indirect block; 0 if the root is a direct block.
    pub(crate) root_rows: u16,
    /// Filters of the blocks and huge objects.
    pub(crate) filters: Option<RootFilters>,
}

/// The filters of a heap, and what they made of a root direct block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RootFilters {
    /// Bytes of the filtered root direct block.
    pub(crate) root_size: u64,
    /// Filters skipped for it.
    pub(crate) root_mask: u32,
    /// The filters.
    pub(crate) pipeline: Pipeline,
}

/// The arrangement of blocks by rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DoublingTable {
    /// Blocks of a row.
    pub(crate) width: u16,
    /// Bytes of a block of row 0, a power of 2.
    pub(crate) start: u64,
    /// Bytes of the largest direct block, a power of 2.
    pub(crate) max_direct: u64,
    /// Bits of a heap offset.
    pub(crate) max_bits: u16,
    /// Rows that a new root indirect block gets.
    pub(crate) start_rows: u16,
}

impl DoublingTable {
    /// Rows that hold direct blocks.
    pub(crate) fn direct_rows(&self) -> u32 {
        // Both are powers of 2.
        bound::sum(bound::left(self.max_direct.trailing_zeros(), self.start.trailing_zeros()), 2)
    }

    /// Bytes of a block of `row`, if they fit 64 bits.
    pub(crate) fn block_size(&self, row: u32) -> Option<u64> {
        let shift = bound::left(row, 1);
        self.start.checked_shl(shift).filter(|size| size.checked_shr(shift) == Some(self.start))
    }

    /// Bytes before `row` in an indirect block.
    pub(crate) fn row_offset(&self, row: u32) -> Option<u64> {
        match row {
            0 => Some(0),
            _ => self.block_size(row)?.checked_mul(self.width.into()),
        }
    }

    /// Rows of an indirect block that covers `size` bytes.
    pub(crate) fn rows(&self, size: u64) -> Option<u32> {
        let first = self.start.checked_mul(self.width.into())?;
        size.checked_ilog2()?.checked_sub(first.checked_ilog2()?)?.checked_add(1)
    }

    /// Row and column of the block that holds byte `offset` of an indirect block, and the bytes before that one.
    pub(crate) fn locate(&self, offset: u64) -> Option<(u32, u64, u64)> {
        let first = self.start.checked_mul(self.width.into())?;
        let row = match offset {
            _ if offset < first => 0,
            _ => offset.checked_ilog2()?.checked_sub(first.checked_ilog2()?)?.checked_add(1)?,
        };
        let within = offset.checked_sub(self.row_offset(row)?)?;
        let size = self.block_size(row)?;
        let column = within.checked_div(size)?;
        Some((row, column, self.row_offset(row)?.checked_add(column.checked_mul(size)?)?))
    }

    /// Start and size of the direct block that holds byte `offset` of the heap, whether it is there or not.
    pub(crate) fn direct_block(&self, offset: u64) -> Option<(u64, u64)> {
        let (mut start, mut left) = (0u64, offset);
        loop {
            let (row, _, before) = self.locate(left)?;
            start = start.checked_add(before)?;
            if row < self.direct_rows() {
                return Some((start, self.block_size(row)?));
            }
            left = left.checked_sub(before)?;
        }
    }

    /// The most rows that an indirect block can have.
    pub(crate) fn most_rows(&self) -> Option<u32> {
        let first = self.row_offset(1)?.checked_ilog2()?;
        u32::from(self.max_bits).checked_sub(first)?.checked_add(1)
    }

    /// Bytes for objects in all direct blocks that an indirect block of `rows` rows has room for, where a direct block begins
    /// with `prefix` bytes. The sum wraps as the library's does: it counts these bytes for heaps of up to 2^64 bytes.
    pub(crate) fn capacity(&self, rows: u32, prefix: u64) -> Option<u64> {
        // By the number of rows, since a block of a later row is an indirect block of fewer rows.
        let mut below = vec![0u64];
        for row in 0..rows {
            let size = self.block_size(row)?;
            let block = match row < self.direct_rows() {
                true => size.checked_sub(prefix)?,
                false => *below.get(usize::try_from(self.rows(size)?).ok()?)?,
            };
            let before = below.last().copied()?;
            below.push(before.wrapping_add(block.wrapping_mul(self.width.into())));
        }
        below.last().copied()
    }

    /// Bytes of an offset in the heap.
    pub(crate) fn offset_width(&self) -> usize {
        usize::from(self.max_bits).div_ceil(8)
    }
}

impl FractalHeap {
    /// No header is longer but by its filters.
    pub(crate) const MAX_SIZE: usize = 26 + 12 * 32 + 3 * 32 + 10 + 4 + 36;

    /// Bytes of the header, of which at least the first seven are `i`.
    pub(crate) fn size(i: &[u8], sizes: Sizes) -> Parsed<'_, usize> {
        let (i, ()) = signature(b"FRHP")(i)?;
        let (i, _) = version(0)(i)?;
        let (i, _) = le_u16(i)?;
        let (i, filters) = field("I/O filters' encoded length", le_u16)(i)?;
        // Twelve lengths and three addresses stand between fields of fixed size.
        let size = match filters {
            0 => sizes.bytes(3, 12, 26),
            _ => bound::sum(sizes.bytes(3, 13, 30), usize::from(filters)),
        };
        Ok((i, size))
    }

    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        sealed(|i| header(i, sizes))(i)
    }

    /// Whether direct blocks have checksums.
    pub(crate) fn direct_checksums(&self) -> bool {
        self.flags & 2 != 0
    }

    /// Whether IDs of huge objects are keys of the B-tree, and hold not the place themselves.
    pub(crate) fn has_huge_keys(&self, sizes: Sizes) -> bool {
        let direct = if self.filters.is_some() { sizes.bytes(1, 2, 4) } else { sizes.bytes(1, 1, 0) };
        direct > bound::left(usize::from(self.id_len), 1)
    }

    /// Bytes of the length of a managed object in its ID.
    pub(crate) fn length_width(&self) -> usize {
        let by_block = self.table.max_direct.trailing_zeros().div_ceil(8);
        let by_object = super::width_for(self.max_managed.into());
        bound::addressable(by_block.into()).min(by_object)
    }
}

fn header(i: &[u8], sizes: Sizes) -> Parsed<'_, FractalHeap> {
    let (i, ()) = signature(b"FRHP")(i)?;
    let (i, _) = version(0)(i)?;
    let (i, id_len) = field("heap ID length", le_u16)(i)?;
    let (i, filters_len) = field("I/O filters' encoded length", le_u16)(i)?;
    let (i, flags) = field("flags", byte)(i)?;
    let (i, max_managed) = field("maximum size of managed objects", le_u32)(i)?;
    let (i, next_huge) = field("next huge object ID", length(sizes))(i)?;
    let (i, huge_btree) = field("B-tree address of huge objects", address(sizes))(i)?;
    let (i, free_space) = field("amount of free space in managed blocks", length(sizes))(i)?;
    let (i, free_space_manager) = field("address of managed block free space manager", address(sizes))(i)?;
    let mut statistics = [0; 8];
    let (i, ()) = field("statistics", fill(length(sizes), &mut statistics)).parse(i)?;
    let (i, (table, root, root_rows)) = doubling_table(i, sizes)?;
    let (i, filters) = match filters_len {
        0 => (i, None),
        _ => {
            let (i, root_size) = field("size of filtered root direct block", length(sizes))(i)?;
            let (i, root_mask) = field("I/O filter mask", le_u32)(i)?;
            let (i, encoded) = field("I/O filter information", take(filters_len)).parse(i)?;
            let (_, pipeline) = Pipeline::parse(encoded)?;
            (i, Some(RootFilters { root_size, root_mask, pipeline }))
        }
    };
    let heap = FractalHeap {
        id_len,
        flags,
        max_managed,
        next_huge,
        huge_btree,
        free_space,
        free_space_manager,
        statistics,
        table,
        root,
        root_rows,
        filters,
    };
    Ok((i, heap))
}

fn doubling_table(i: &[u8], sizes: Sizes) -> Parsed<'_, (DoublingTable, Option<Address>, u16)> {
    let at = i;
    let (i, width) = field("table width", le_u16)(i)?;
    let (i, start) = field("starting block size", length(sizes))(i)?;
    let (i, max_direct) = field("maximum direct block size", length(sizes))(i)?;
    let (i, max_bits) = field("maximum heap size", le_u16)(i)?;
    let (i, start_rows) = field("starting number of rows in root indirect block", le_u16)(i)?;
    let (i, root) = field("address of root block", address(sizes))(i)?;
    let (i, root_rows) = field("current number of rows in root indirect block", le_u16)(i)?;
    let powers = width.is_power_of_two() && start.is_power_of_two() && max_direct.is_power_of_two();
    if !powers || start > max_direct || max_bits == 0 || max_bits > 64 {
        return fail(at, FaultKind::Rule("breaks the rules of a doubling table"));
    }
    Ok((i, (DoublingTable { width, start, max_direct, max_bits, start_rows }, root, root_rows)))
}

impl FractalHeap {
    /// Appends the header of a heap without filters.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        let start = out.len();
        out.extend(b"FRHP\0");
        out.extend(self.id_len.to_le_bytes());
        out.extend([0, 0, self.flags]);
        out.extend(self.max_managed.to_le_bytes());
        put_length(out, self.next_huge, sizes)?;
        put_address(out, self.huge_btree, sizes)?;
        put_length(out, self.free_space, sizes)?;
        put_address(out, self.free_space_manager, sizes)?;
        self.statistics.iter().try_for_each(|&value| put_length(out, value, sizes))?;
        out.extend(self.table.width.to_le_bytes());
        put_length(out, self.table.start, sizes)?;
        put_length(out, self.table.max_direct, sizes)?;
        out.extend(self.table.max_bits.to_le_bytes());
        out.extend(self.table.start_rows.to_le_bytes());
        put_address(out, self.root, sizes)?;
        out.extend(self.root_rows.to_le_bytes());
        put_checksum(out, start)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::test::{SIZES, hex, seal};
    use super::*;

    pub(crate) const LINKS: DoublingTable =
        DoublingTable { width: 4, start: 512, max_direct: 65536, max_bits: 32, start_rows: 1 };

    #[test]
    fn rows_of_a_link_heap() {
        assert_eq!(LINKS.direct_rows(), 9);
        assert_eq!(LINKS.block_size(8), Some(65536));
        assert_eq!(LINKS.rows(131_072), Some(7));
        assert_eq!(LINKS.locate(0), Some((0, 0, 0)));
        assert_eq!(LINKS.locate(1600), Some((0, 3, 1536)));
        assert_eq!(LINKS.locate(2048), Some((1, 0, 2048)));
        assert_eq!(LINKS.locate(4096 + 1024 + 5), Some((2, 1, 4096 + 1024)));
    }

    #[test]
    fn direct_blocks_and_their_room() {
        assert_eq!(LINKS.direct_block(1600), Some((1536, 512)));
        assert_eq!(LINKS.direct_block(4096 + 1024 + 5), Some((4096 + 1024, 1024)));
        // The first row of indirect blocks has some of 131072 bytes: their first blocks are small again.
        assert_eq!(LINKS.row_offset(9), Some(524_288));
        assert_eq!(LINKS.direct_block(524_288 + 513), Some((524_288 + 512, 512)));
        assert_eq!(LINKS.direct_block(524_288 + 131_072), Some((524_288 + 131_072, 512)));
        assert_eq!(LINKS.most_rows(), Some(22));
        assert_eq!(LINKS.capacity(1, 21), Some(4 * (512 - 21)));
        assert_eq!(LINKS.capacity(9, 21), Some(524_288 - 36 * 21));
        // An indirect block of 131072 bytes has seven rows of four direct ones.
        assert_eq!(LINKS.capacity(10, 21), Some(524_288 - 36 * 21 + 4 * (131_072 - 28 * 21)));
    }

    #[test]
    fn a_header() {
        let bytes = seal(hex(
            "46524850 00 0700 0000 02 00100000 0000000000000000 ffffffffffffffff 7e01000000000000 ffffffffffffffff \
             0002000000000000 0002000000000000 0002000000000000 0c00000000000000 \
             0000000000000000 0000000000000000 0000000000000000 0000000000000000 \
             0400 0002000000000000 0000010000000000 2000 0100 0010000000000000 0000",
        ));
        assert_eq!(bytes.len(), 146);
        assert_eq!(FractalHeap::size(&bytes, SIZES).unwrap().1, 146);
        let (_, heap) = FractalHeap::parse(&bytes, SIZES).unwrap();
        assert_eq!(heap.table, LINKS);
        assert_eq!((heap.length_width(), heap.table.offset_width()), (2, 4));
        assert_eq!(heap.root, Some(Address(0x1000)));
    }
}
