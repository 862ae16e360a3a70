//! Fractal heaps (III.F), which contain the links and attributes of large groups and objects, and shared messages.
//!
//! Objects are in direct blocks. Indirect blocks contain the addresses of direct blocks and of further indirect blocks, in rows
//! of
//! `width` blocks. The blocks of rows 0 and 1 have the starting size, and the blocks of each later row are twice as large as those of
//! the row before. This is the [`DoublingTable`].
//!
//! | offset | size | field of the header |
//! |---|---|---|
//! | 0 | 4 | signature: `FRHP` |
//! | 4 | 1 | version: 0 |
//! | 5 | 2 | heap ID length |
//! | 7 | 2 | encoded length of the I/O filters, n; 0 without filters |
//! | 9 | 1 | flags; bit 0: huge IDs have wrapped, bit 1: direct blocks have checksums |
//! | 10 | 4 | maximum size of managed objects |
//! | 14 | L | next huge object ID |
//! | | O | v2 B-tree address of huge objects, or none |
//! | | L | amount of free space in managed blocks |
//! | | O | address of managed block free space manager, or none |
//! | | 8·L | managed space, allocated managed space, iterator offset, managed objects, huge bytes, huge objects, tiny bytes, tiny objects |
//! | | 2 | table width, a power of 2 |
//! | | L | starting block size, a power of 2 |
//! | | L | maximum direct block size, a power of 2 that is not below the starting block size |
//! | | 2 | maximum heap size: bits of an offset in the heap, 1 to 64 |
//! | | 2 | starting number of rows in root indirect block |
//! | | O | address of root block, or none if the heap is empty |
//! | | 2 | current number of rows in root indirect block; 0 if the root is a direct block |
//! | | L | size of filtered root direct block (with filters only) |
//! | | 4 | I/O filter mask (with filters only) |
//! | | n | I/O filter information: a filter pipeline message (with filters only) |
//! | | 4 | checksum |

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
    /// The length of a heap ID in bytes.
    pub(crate) id_len: u16,
    /// Bit 0: huge IDs have wrapped. Bit 1: direct blocks have checksums.
    pub(crate) flags: u8,
    /// The largest size of a managed object. Larger objects are huge, and are stored outside the blocks.
    pub(crate) max_managed: u32,
    /// The key of the last huge object, or the key after it, because the C library increases the number before it assigns a key.
    pub(crate) next_huge: u64,
    /// The address of the B-tree of huge objects.
    pub(crate) huge_btree: Option<Address>,
    /// The number of free bytes in the direct blocks of all rows of the root, whether these blocks exist or not.
    pub(crate) free_space: u64,
    /// The address of the free-space manager.
    pub(crate) free_space_manager: Option<Address>,
    /// Managed space, allocated managed space, iterator offset, managed objects, huge bytes, huge objects, tiny bytes, tiny
    /// objects.
    pub(crate) statistics: [u64; 8],
    /// The arrangement of blocks.
    pub(crate) table: DoublingTable,
    /// The address of the root block, or `None` in an empty heap.
    pub(crate) root: Option<Address>,
    /// The number of rows of the root indirect block; 0 if the root is a direct block.
    pub(crate) root_rows: u16,
    /// The filters of direct blocks and huge objects.
    pub(crate) filters: Option<RootFilters>,
}

/// The filters of a heap, and how they were applied to a root direct block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RootFilters {
    /// The size of the filtered root direct block in bytes.
    pub(crate) root_size: u64,
    /// The mask of the filters that were skipped for it.
    pub(crate) root_mask: u32,
    /// The filters.
    pub(crate) pipeline: Pipeline,
}

/// The arrangement of blocks by rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DoublingTable {
    /// The number of blocks of a row.
    pub(crate) width: u16,
    /// The size of a block of row 0 in bytes, a power of 2.
    pub(crate) start: u64,
    /// The size of the largest direct block in bytes, a power of 2.
    pub(crate) max_direct: u64,
    /// The number of bits of an offset in the heap.
    pub(crate) max_bits: u16,
    /// The number of rows that a new root indirect block has.
    pub(crate) start_rows: u16,
}

impl DoublingTable {
    /// Returns the number of rows that contain direct blocks.
    pub(crate) fn direct_rows(&self) -> u32 {
        // Both sizes are powers of 2.
        bound::sum(bound::left(self.max_direct.trailing_zeros(), self.start.trailing_zeros()), 2)
    }

    /// Returns the size of a block of `row` in bytes, if it fits 64 bits.
    pub(crate) fn block_size(&self, row: u32) -> Option<u64> {
        let shift = bound::left(row, 1);
        self.start.checked_shl(shift).filter(|size| size.checked_shr(shift) == Some(self.start))
    }

    /// Returns the number of bytes before `row` in an indirect block.
    pub(crate) fn row_offset(&self, row: u32) -> Option<u64> {
        match row {
            0 => Some(0),
            _ => self.block_size(row)?.checked_mul(self.width.into()),
        }
    }

    /// Returns the number of rows of an indirect block that covers `size` bytes.
    pub(crate) fn rows(&self, size: u64) -> Option<u32> {
        let first = self.start.checked_mul(self.width.into())?;
        size.checked_ilog2()?.checked_sub(first.checked_ilog2()?)?.checked_add(1)
    }

    /// Returns the row and the column of the block that contains byte `offset` of an indirect block, and the number of bytes
    /// before this block.
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

    /// Returns the start and the size of the direct block that contains byte `offset` of the heap, whether the block exists or
    /// not.
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

    /// Returns the largest number of rows that an indirect block can have.
    pub(crate) fn most_rows(&self) -> Option<u32> {
        let first = self.row_offset(1)?.checked_ilog2()?;
        u32::from(self.max_bits).checked_sub(first)?.checked_add(1)
    }

    /// Returns the number of bytes for objects in all direct blocks below an indirect block of `rows` rows. Each direct block
    /// begins with `prefix` other bytes. The sum wraps around as in the C library, which counts these bytes for heaps of up to
    /// 2^64 bytes.
    pub(crate) fn capacity(&self, rows: u32, prefix: u64) -> Option<u64> {
        // `below[n]` is the capacity of `n` rows, because a block of a later row is an indirect block with fewer rows.
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

    /// Returns the width of an offset in the heap in bytes.
    pub(crate) fn offset_width(&self) -> usize {
        usize::from(self.max_bits).div_ceil(8)
    }
}

impl FractalHeap {
    /// The largest size of a header without its filters.
    pub(crate) const MAX_SIZE: usize = 26 + 12 * 32 + 3 * 32 + 10 + 4 + 36;

    /// Returns the size of the header in bytes; `i` must contain at least its first nine bytes.
    pub(crate) fn size(i: &[u8], sizes: Sizes) -> Parsed<'_, usize> {
        let (i, ()) = signature(b"FRHP")(i)?;
        let (i, _) = version(0)(i)?;
        let (i, _) = le_u16(i)?;
        let (i, filters) = field("I/O filters' encoded length", le_u16)(i)?;
        // Besides fields of fixed size there are twelve lengths and three addresses.
        let size = match filters {
            0 => sizes.bytes(3, 12, 26),
            _ => bound::sum(sizes.bytes(3, 13, 30), usize::from(filters)),
        };
        Ok((i, size))
    }

    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        sealed(|i| header(i, sizes))(i)
    }

    /// Returns whether direct blocks have checksums.
    pub(crate) fn direct_checksums(&self) -> bool {
        self.flags & 2 != 0
    }

    /// Returns whether IDs of huge objects are keys of the B-tree, instead of containing the address themselves.
    pub(crate) fn has_huge_keys(&self, sizes: Sizes) -> bool {
        let direct = if self.filters.is_some() { sizes.bytes(1, 2, 4) } else { sizes.bytes(1, 1, 0) };
        direct > bound::left(usize::from(self.id_len), 1)
    }

    /// Returns the width of the length of a managed object in its ID, in bytes.
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
    use proptest::prelude::*;

    use super::super::message::filter_pipeline::FilterDescription;
    use super::super::test::{SIZES, any_sizes, both_ways, near_sealed, seal};
    use super::*;

    pub(crate) const LINKS: DoublingTable =
        DoublingTable { width: 4, start: 512, max_direct: 65536, max_bits: 32, start_rows: 1 };

    /// A header without its checksum.
    const HEADER: [u8; 142] = [
        b'F', b'R', b'H', b'P', // signature
        0,    // version
        7, 0, // heap ID length
        0, 0, // I/O filters' encoded length
        2, // flags: direct blocks have checksums
        0, 0x10, 0, 0, // maximum size of managed objects
        0, 0, 0, 0, 0, 0, 0, 0, // next huge object ID
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // v2 B-tree address of huge objects: none
        0x7e, 1, 0, 0, 0, 0, 0, 0, // amount of free space in managed blocks
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, // address of managed block free space manager: none
        0, 2, 0, 0, 0, 0, 0, 0, // managed space
        0, 2, 0, 0, 0, 0, 0, 0, // allocated managed space
        0, 2, 0, 0, 0, 0, 0, 0, // iterator offset
        0x0c, 0, 0, 0, 0, 0, 0, 0, // managed objects
        0, 0, 0, 0, 0, 0, 0, 0, // huge bytes
        0, 0, 0, 0, 0, 0, 0, 0, // huge objects
        0, 0, 0, 0, 0, 0, 0, 0, // tiny bytes
        0, 0, 0, 0, 0, 0, 0, 0, // tiny objects
        4, 0, // table width
        0, 2, 0, 0, 0, 0, 0, 0, // starting block size
        0, 0, 1, 0, 0, 0, 0, 0, // maximum direct block size
        0x20, 0, // maximum heap size
        1, 0, // starting number of rows in root indirect block
        0, 0x10, 0, 0, 0, 0, 0, 0, // address of root block
        0, 0, // current number of rows in root indirect block
    ];

    /// The fields that follow in a heap with filters.
    const FILTERS: [u8; 24] = [
        0x2c, 1, 0, 0, 0, 0, 0, 0, // size of filtered root direct block
        0, 0, 0, 0, // I/O filter mask
        2, // I/O filter information: version
        1, // number of filters
        1, 0, // filter: deflate
        0, 0, // flags
        1, 0, // number of client data values
        6, 0, 0, 0, // level
    ];

    /// The heap that [`HEADER`] describes.
    pub(super) fn heap() -> FractalHeap {
        FractalHeap {
            id_len: 7,
            flags: 2,
            max_managed: 4096,
            next_huge: 0,
            huge_btree: None,
            free_space: 382,
            free_space_manager: None,
            statistics: [512, 512, 512, 12, 0, 0, 0, 0],
            table: LINKS,
            root: Some(Address(0x1000)),
            root_rows: 0,
            filters: None,
        }
    }

    /// The same heap as [`heap`] with filters.
    pub(super) fn filtered() -> FractalHeap {
        let deflate = FilterDescription { id: 1, name: None, optional: false, values: vec![6] };
        let pipeline = Pipeline { filters: vec![deflate] };
        FractalHeap { filters: Some(RootFilters { root_size: 300, root_mask: 0, pipeline }), ..heap() }
    }

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
        // The first row of indirect blocks has blocks of 131072 bytes. Within each of them, the first rows are small again.
        assert_eq!(LINKS.row_offset(9), Some(524_288));
        assert_eq!(LINKS.direct_block(524_288 + 513), Some((524_288 + 512, 512)));
        assert_eq!(LINKS.direct_block(524_288 + 131_072), Some((524_288 + 131_072, 512)));
        assert_eq!(LINKS.most_rows(), Some(22));
        assert_eq!(LINKS.capacity(1, 21), Some(4 * (512 - 21)));
        assert_eq!(LINKS.capacity(9, 21), Some(524_288 - 36 * 21));
        // An indirect block of 131072 bytes has seven rows of four direct blocks.
        assert_eq!(LINKS.capacity(10, 21), Some(524_288 - 36 * 21 + 4 * (131_072 - 28 * 21)));
    }

    #[test]
    fn headers() {
        let bytes = seal(HEADER.to_vec());
        assert_eq!(FractalHeap::size(&bytes, SIZES).unwrap().1, bytes.len());
        let heap = heap();
        both_ways(&bytes, &heap, |i| FractalHeap::parse(i, SIZES), |heap, out| heap.encode(out, SIZES));
        assert_eq!((heap.length_width(), heap.table.offset_width()), (2, 4));
        let mut bytes = [&HEADER[..], &FILTERS].concat();
        bytes[7] = 12; // length of the filters
        let bytes = seal(bytes);
        assert_eq!(FractalHeap::size(&bytes, SIZES).unwrap().1, bytes.len());
        assert_eq!(FractalHeap::parse(&bytes, SIZES), Ok((&[][..], filtered())));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(plain in near_sealed(&HEADER), more in near_sealed(&FILTERS), sizes in any_sizes(), offset: u64) {
            let mut filtered = [&HEADER[..], &more].concat();
            filtered[7] = 12;
            for bytes in [plain, seal(filtered)] {
                let _ = FractalHeap::size(&bytes, sizes);
                if let Ok((_, heap)) = FractalHeap::parse(&bytes, sizes) {
                    let _ = (heap.length_width(), heap.has_huge_keys(sizes));
                    let _ = (heap.table.direct_block(offset), heap.table.most_rows(), heap.table.capacity(30, 21));
                }
            }
        }
    }
}
