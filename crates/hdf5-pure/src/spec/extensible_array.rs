//! Extensible arrays ("The Extensible Array Index"): the index of a chunked dataset that grows in one dimension.
//!
//! The first elements are in the index block, and the others are in data blocks whose size increases. Super block `u` contains
//! the addresses of `2^(u/2)` data blocks of `dmin * 2^((u+1)/2)` elements each. The first super blocks do not exist in the
//! file: the index block itself contains the addresses of their data blocks. Elements are those of a
//! [`fixed_array`](super::fixed_array).
//!
//! | offset | size | field of the header |
//! |---|---|---|
//! | 0 | 4 | signature: `EAHD` |
//! | 4 | 1 | version: 0 |
//! | 5 | 1 | client ID: 0 chunks without filters, 1 filtered chunks |
//! | 6 | 1 | element size in bytes |
//! | 7 | 1 | max number of elements bits: 1 to 64 |
//! | 8 | 1 | number of elements in index block |
//! | 9 | 1 | min number of data block elements, a power of 2 |
//! | 10 | 1 | min number of super block pointers, a power of 2 |
//! | 11 | 1 | max number of data block page elements bits |
//! | 12 | 6·L | number and bytes of super blocks, number and bytes of data blocks, max index set plus 1, number of elements |
//! | 12 + 6·L | O | index block address |
//! | 12 + 6·L + O | 4 | checksum |
//!
//! All blocks begin with the same fields:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | signature: `EAIB` index block, `EASB` super block, `EADB` data block |
//! | 4 | 1 | version: 0 |
//! | 5 | 1 | client ID |
//! | 6 | O | header address |
//!
//! | bytes | what follows |
//! |---|---|
//! | index block | elements, data block addresses (O each), super block addresses (O each), checksum |
//! | super block | block offset, page bitmask, data block addresses (O each), checksum |
//! | data block | block offset, elements, checksum; the elements of a paged block are in pages after it, each with a checksum |
//!
//! A block offset is as wide as a number of `max number of elements bits`, rounded up to bytes.

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::{count, fill};
use nom::number::complete::u8 as byte;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};
use sciformats_core::{Result, bound};

use super::fixed_array::client;
use super::{
    Address, Sizes, address, defined, length, put_address, put_checksum, put_length, put_uint, sealed,
    signature, uint, version,
};

/// The header, `EAHD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExtensibleArray {
    /// 0 for unfiltered chunks, 1 for filtered chunks.
    pub(crate) client: u8,
    /// The size of an element in bytes.
    pub(crate) element_size: u8,
    /// The number of bits of an element's index.
    pub(crate) max_bits: u8,
    /// The number of elements in the index block.
    pub(crate) index_elements: u8,
    /// The number of elements of the smallest data block, a power of 2.
    pub(crate) min_data_elements: u8,
    /// The number of data block addresses of the smallest super block, a power of 2.
    pub(crate) min_super_pointers: u8,
    /// The binary logarithm of the number of elements of a page.
    pub(crate) page_bits: u8,
    /// The largest index that was ever set, plus 1.
    pub(crate) max_index_set: u64,
    /// The address of the index block.
    pub(crate) index_block: Option<Address>,
}

impl ExtensibleArray {
    pub(crate) fn size(sizes: Sizes) -> usize {
        sizes.bytes(1, 6, 16)
    }

    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, (array, _)) = Self::parse_whole(i, sizes)?;
        Ok((i, array))
    }

    /// Parses the header, and the statistics that [`encode`](Self::encode) takes.
    pub(crate) fn parse_whole(i: &[u8], sizes: Sizes) -> Parsed<'_, (Self, [u64; 6])> {
        sealed(|i| header(i, sizes))(i)
    }

    /// Returns where the element with this index is, or `None` if the array is not large enough for it.
    pub(crate) fn place_of(&self, number: u64) -> Option<ElementPlace> {
        let Some(beyond) = number.checked_sub(self.index_elements.into()) else {
            return Some(ElementPlace::Index(number));
        };
        let u = beyond.checked_div(self.min_data_elements.into())?.checked_add(1)?.checked_ilog2()?;
        let within = number.checked_sub(self.first_of(u))?;
        let n = self.block_elements(u);
        let (block, slot) = (within.checked_div(n)?, within.checked_rem(n)?);
        (u < self.super_blocks()).then_some(ElementPlace::Block { u, block, slot })
    }

    /// Returns the number of super blocks whose data blocks have their addresses in the index block.
    pub(crate) fn direct_super_blocks(&self) -> u32 {
        bound::product(self.min_super_pointers.trailing_zeros(), 2)
    }

    /// Returns the number of super blocks of the whole array.
    pub(crate) fn super_blocks(&self) -> u32 {
        bound::left(u32::from(self.max_bits) + 1, self.min_data_elements.trailing_zeros())
    }

    /// Returns the number of super blocks that exist in the file, whose addresses are in the index block.
    pub(crate) fn indirect_super_blocks(&self) -> u32 {
        bound::left(self.super_blocks(), self.direct_super_blocks())
    }

    /// Returns the number of data blocks of super block `u`. An array has at most 65 super blocks.
    pub(crate) fn blocks(u: u32) -> u64 {
        1u64.unbounded_shl(u / 2)
    }

    /// Returns the number of elements of a data block of super block `u`.
    pub(crate) fn block_elements(&self, u: u32) -> u64 {
        u64::from(self.min_data_elements).unbounded_shl(u.div_ceil(2))
    }

    /// Returns the number of data blocks before super block `u`.
    pub(crate) fn blocks_before(u: u32) -> u64 {
        (0..u).map(Self::blocks).fold(0, bound::sum)
    }

    /// Returns the number of data blocks whose addresses are in the index block.
    pub(crate) fn direct_blocks(&self) -> u64 {
        Self::blocks_before(self.direct_super_blocks())
    }

    /// Returns the index of the first element of super block `u`. The elements of the index block count too. The result is a
    /// bound, because no element has an index of more than 64 bits.
    pub(crate) fn first_of(&self, u: u32) -> u64 {
        let scale = 1u64.checked_shl(u).map_or(u64::MAX, |elements| bound::left(elements, 1)); // a bound
        bound::sum(bound::product(self.min_data_elements.into(), scale), self.index_elements.into())
    }

    /// Returns the number of elements of a page.
    pub(crate) fn page(&self) -> u64 {
        1u64.unbounded_shl(self.page_bits.into()).max(1)
    }

    /// Returns the number of pages of a data block of `n` elements; 0 if it is not paged.
    pub(crate) fn pages(&self, n: u64) -> u64 {
        if n > self.page() { n.unbounded_shr(self.page_bits.into()) } else { 0 }
    }

    /// Returns the width of the block offset in super blocks and data blocks, in bytes.
    pub(crate) fn offset_width(&self) -> usize {
        usize::from(self.max_bits).div_ceil(8)
    }

    /// Returns the number of bytes before the elements of a data block.
    pub(crate) fn data_prefix(&self, sizes: Sizes) -> usize {
        sizes.bytes(1, 0, bound::sum(6, u16::from(self.max_bits).div_ceil(8)))
    }

    /// Returns the size of the index block in bytes.
    pub(crate) fn index_block_size(&self, sizes: Sizes) -> u64 {
        let pointers = bound::sum(self.direct_blocks(), self.indirect_super_blocks().into());
        let elements = bound::product(u16::from(self.index_elements), self.element_size.into());
        bound::sum(
            bound::product(pointers, sizes.offsets.into()),
            bound::sum(sizes.bytes(1, 0, 10) as u64, elements.into()),
        )
    }

    /// Returns the size of the page bitmask of super block `u` in bytes.
    pub(crate) fn bitmap_size(&self, u: u32) -> u64 {
        bound::product(Self::blocks(u), self.pages(self.block_elements(u)).div_ceil(8))
    }

    /// Returns the size of super block `u` in bytes.
    pub(crate) fn super_block_size(&self, sizes: Sizes, u: u32) -> u64 {
        let prefix = sizes.bytes(1, 0, bound::sum(10, u16::from(self.max_bits).div_ceil(8))) as u64;
        let pointers = bound::product(Self::blocks(u), sizes.offsets.into());
        bound::sum(bound::sum(pointers, self.bitmap_size(u)), prefix)
    }

    /// Parses the first fields of a data block and `len` bytes of elements. If the block is paged, `len` is 0.
    pub(crate) fn parse_data_block<'a>(&self, i: &'a [u8], sizes: Sizes, len: usize) -> Parsed<'a, &'a [u8]> {
        sealed(|i| {
            let (i, ()) = signature(b"EADB")(i)?;
            let (i, _) = version(0)(i)?;
            let (i, _) = client(i)?;
            let (i, _) = field("header address", defined(sizes))(i)?;
            let (i, _) = field("block offset", uint(self.offset_width()))(i)?;
            field("elements", take(len)).parse(i)
        })(i)
    }
}

/// The place of an element in an [`ExtensibleArray`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementPlace {
    /// In the index block, counted from its first element.
    Index(u64),
    /// In a data block.
    Block {
        /// The super block that the data block belongs to.
        u: u32,
        /// The index of the data block in the super block.
        block: u64,
        /// The index of the element in the data block.
        slot: u64,
    },
}

fn header(i: &[u8], sizes: Sizes) -> Parsed<'_, (ExtensibleArray, [u64; 6])> {
    let (i, ()) = signature(b"EAHD")(i)?;
    let (i, _) = version(0)(i)?;
    let (i, client) = client(i)?;
    let (at, element_size) = field("element size", byte)(i)?;
    let (i, max_bits) = field("max number of elements bits", byte)(at)?;
    let (i, index_elements) = field("number of elements in index block", byte)(i)?;
    let (i, min_data_elements) = field("min number of data block elements", byte)(i)?;
    let (i, min_super_pointers) = field("min number of super block pointers", byte)(i)?;
    let (i, page_bits) = field("max number of data block page elements bits", byte)(i)?;
    let powers = min_data_elements.is_power_of_two() && min_super_pointers.is_power_of_two();
    if !powers || max_bits == 0 || max_bits > 64 || page_bits > 63 {
        return fail(at, FaultKind::Rule("breaks the rules of an extensible array"));
    }
    let mut statistics = [0; 6];
    let (i, ()) = field("statistics", fill(length(sizes), &mut statistics)).parse(i)?;
    let (i, index_block) = field("index block address", address(sizes))(i)?;
    let [.., max_index_set, _] = statistics;
    let array = ExtensibleArray {
        client,
        element_size,
        max_bits,
        index_elements,
        min_data_elements,
        min_super_pointers,
        page_bits,
        max_index_set,
        index_block,
    };
    Ok((i, (array, statistics)))
}

/// The index block, `EAIB`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexBlock<'a> {
    /// The first elements.
    pub(crate) elements: &'a [u8],
    /// The addresses of the data blocks of the first super blocks.
    pub(crate) data_blocks: Vec<Option<Address>>,
    /// The addresses of the other super blocks.
    pub(crate) super_blocks: Vec<Option<Address>>,
}

impl<'a> IndexBlock<'a> {
    pub(crate) fn parse(i: &'a [u8], array: &ExtensibleArray, sizes: Sizes) -> Parsed<'a, Self> {
        sealed(|i| {
            let (i, ()) = signature(b"EAIB")(i)?;
            let (i, _) = version(0)(i)?;
            let (i, _) = client(i)?;
            let (i, _) = field("header address", defined(sizes))(i)?;
            let len = bound::product(usize::from(array.index_elements), array.element_size.into());
            let (i, elements) = field("elements", take(len)).parse(i)?;
            let Ok(blocks) = usize::try_from(array.direct_blocks()) else {
                return fail(i, FaultKind::Overflow);
            };
            let supers = array.indirect_super_blocks();
            let (i, data_blocks) = field("data block address", count(address(sizes), blocks)).parse(i)?;
            let supers = bound::addressable(supers.into());
            let (i, super_blocks) = field("super block address", count(address(sizes), supers)).parse(i)?;
            Ok((i, Self { elements, data_blocks, super_blocks }))
        })(i)
    }
}

/// A super block, `EASB`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SuperBlock<'a> {
    /// The pages in use, with one bit per page. The bits of one data block directly follow those of the previous one.
    pub(crate) bitmap: &'a [u8],
    /// The addresses of its data blocks.
    pub(crate) data_blocks: Vec<Option<Address>>,
}

impl<'a> SuperBlock<'a> {
    pub(crate) fn parse(i: &'a [u8], array: &ExtensibleArray, sizes: Sizes, u: u32) -> Parsed<'a, Self> {
        sealed(|i| {
            let (i, ()) = signature(b"EASB")(i)?;
            let (i, _) = version(0)(i)?;
            let (i, _) = client(i)?;
            let (i, _) = field("header address", defined(sizes))(i)?;
            let (i, _) = field("block offset", uint(array.offset_width()))(i)?;
            let size = bound::addressable(array.bitmap_size(u));
            let (i, bitmap) = field("page bitmask", take(size)).parse(i)?;
            let Ok(blocks) = usize::try_from(ExtensibleArray::blocks(u)) else {
                return fail(i, FaultKind::Overflow);
            };
            let (i, data_blocks) = field("data block address", count(address(sizes), blocks)).parse(i)?;
            Ok((i, Self { bitmap, data_blocks }))
        })(i)
    }
}

/// The fields at the start of a block: the address of the header, and the index of the block's first element. The elements of the
/// index block do not count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockPlace {
    pub(crate) header: Address,
    pub(crate) first: u64,
}

impl ExtensibleArray {
    /// Appends the header. `statistics` are the number and bytes of super blocks, the number and bytes of data blocks, the
    /// largest index that was set plus 1, and the number of elements.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes, statistics: [u64; 6]) -> Result<()> {
        let start = out.len();
        out.extend(b"EAHD\0");
        out.extend([self.client, self.element_size, self.max_bits, self.index_elements]);
        out.extend([self.min_data_elements, self.min_super_pointers, self.page_bits]);
        statistics.iter().try_for_each(|&value| put_length(out, value, sizes))?;
        put_address(out, self.index_block, sizes)?;
        put_checksum(out, start)?;
        Ok(())
    }

    fn prefix(&self, out: &mut Vec<u8>, mark: &[u8; 5], header: Address, sizes: Sizes) -> Result<()> {
        out.extend(mark);
        out.push(self.client);
        put_address(out, Some(header), sizes)
    }

    /// Appends a data block. `elements` is empty if pages after the block contain the elements.
    pub(crate) fn encode_data_block(
        &self,
        out: &mut Vec<u8>,
        sizes: Sizes,
        place: BlockPlace,
        elements: &[u8],
    ) -> Result<()> {
        let start = out.len();
        self.prefix(out, b"EADB\0", place.header, sizes)?;
        put_uint(out, place.first, self.offset_width())?;
        out.extend(elements);
        put_checksum(out, start)?;
        Ok(())
    }
}

impl IndexBlock<'_> {
    pub(crate) fn encode(
        &self,
        out: &mut Vec<u8>,
        array: &ExtensibleArray,
        sizes: Sizes,
        header: Address,
    ) -> Result<()> {
        let start = out.len();
        array.prefix(out, b"EAIB\0", header, sizes)?;
        out.extend(self.elements);
        self.data_blocks
            .iter()
            .chain(&self.super_blocks)
            .try_for_each(|&block| put_address(out, block, sizes))?;
        put_checksum(out, start)?;
        Ok(())
    }
}

impl SuperBlock<'_> {
    pub(crate) fn encode(
        &self,
        out: &mut Vec<u8>,
        array: &ExtensibleArray,
        sizes: Sizes,
        place: BlockPlace,
    ) -> Result<()> {
        let start = out.len();
        array.prefix(out, b"EASB\0", place.header, sizes)?;
        put_uint(out, place.first, array.offset_width())?;
        out.extend(self.bitmap);
        self.data_blocks.iter().try_for_each(|&block| put_address(out, block, sizes))?;
        put_checksum(out, start)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test::{SIZES, any_sizes, both_ways, near_sealed, seal};
    use super::*;

    /// A header without its checksum. The constants below have no checksum either.
    const HEADER: [u8; 68] = [
        b'E', b'A', b'H', b'D', // signature
        0,    // version
        0,    // client ID
        8,    // element size
        0x20, // max number of elements bits
        4,    // number of elements in index block
        0x10, // min number of data block elements
        4,    // min number of super block pointers
        0x0a, // max number of data block page elements bits
        1, 0, 0, 0, 0, 0, 0, 0, // number of super blocks
        0x3e, 0, 0, 0, 0, 0, 0, 0, // bytes of super blocks
        2, 0, 0, 0, 0, 0, 0, 0, // number of data blocks
        0x30, 1, 0, 0, 0, 0, 0, 0, // bytes of data blocks
        0x64, 0, 0, 0, 0, 0, 0, 0, // max index set and 1
        0x24, 0, 0, 0, 0, 0, 0, 0, // number of elements
        0, 0x10, 0, 0, 0, 0, 0, 0, // index block address
    ];

    const INDEX_BLOCK: [u8; 38] = [
        b'E', b'A', b'I', b'B', // signature
        0,    // version
        0,    // client ID
        0, 8, 0, 0, 0, 0, 0, 0, // header address
        0, 0x20, 0, 0, 0, 0, 0, 0, // element 0
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // data block address: none
        0, 0x30, 0, 0, 0, 0, 0, 0, // super block address
    ];

    const SUPER_BLOCK: [u8; 36] = [
        b'E', b'A', b'S', b'B', // signature
        0,    // version
        0,    // client ID
        0, 8, 0, 0, 0, 0, 0, 0, // header address
        4, 0, 0, 0, // block offset
        0x80, 0x40, // page bitmask: page 0 of one data block and page 1 of the other are in use
        0, 0x40, 0, 0, 0, 0, 0, 0, // data block address
        0, 0x50, 0, 0, 0, 0, 0, 0, // data block address
    ];

    const DATA_BLOCK: [u8; 34] = [
        b'E', b'A', b'D', b'B', // signature
        0,    // version
        0,    // client ID
        0, 8, 0, 0, 0, 0, 0, 0, // header address
        2, 0, 0, 0, // block offset
        0, 0x60, 0, 0, 0, 0, 0, 0, // element 0
        0, 0x70, 0, 0, 0, 0, 0, 0, // element 1
    ];

    /// The array that [`HEADER`] describes.
    const ARRAY: ExtensibleArray = ExtensibleArray {
        client: 0,
        element_size: 8,
        max_bits: 32,
        index_elements: 4,
        min_data_elements: 16,
        min_super_pointers: 4,
        page_bits: 10,
        max_index_set: 100,
        index_block: Some(Address(0x1000)),
    };

    /// A small array, to which the blocks above belong.
    const SMALL: ExtensibleArray = ExtensibleArray {
        index_elements: 1,
        min_data_elements: 1,
        min_super_pointers: 1,
        max_bits: 32,
        page_bits: 0,
        ..ARRAY
    };

    #[test]
    fn sizes_of_blocks() {
        let bytes = seal(HEADER.to_vec());
        assert_eq!(bytes.len(), ExtensibleArray::size(SIZES));
        let statistics = [1, 62, 2, 304, 100, 36];
        let encode = |(array, statistics): &(ExtensibleArray, [u64; 6]), out: &mut Vec<u8>| {
            array.encode(out, SIZES, *statistics)
        };
        both_ways(&bytes, &(ARRAY, statistics), |i| ExtensibleArray::parse_whole(i, SIZES), encode);
        let array = ARRAY;
        assert_eq!((array.super_blocks(), array.direct_blocks(), array.direct_super_blocks()), (29, 6, 4));
        assert_eq!(array.index_block_size(SIZES), 298);
        let firsts: Vec<u64> = (0..9).map(|u| array.first_of(u)).collect();
        assert_eq!(firsts, [4, 20, 52, 116, 244, 500, 1012, 2036, 4084]);
        assert_eq!((ExtensibleArray::blocks(8), array.block_elements(8)), (16, 256));
    }

    #[test]
    fn an_index_block() {
        // An array with one super block that exists in the file.
        let array = ExtensibleArray { min_super_pointers: 2, min_data_elements: 4, max_bits: 4, ..SMALL };
        assert_eq!((array.direct_blocks(), array.indirect_super_blocks()), (2, 1));
        let bytes = seal([&INDEX_BLOCK[..30], &[0xff; 8], &INDEX_BLOCK[30..]].concat());
        let expected = IndexBlock {
            elements: &INDEX_BLOCK[14..22],
            data_blocks: vec![None, None],
            super_blocks: vec![Some(Address(0x3000))],
        };
        let parse = |i| IndexBlock::parse(i, &array, SIZES);
        both_ways(&bytes, &expected, parse, |block, out| block.encode(out, &array, SIZES, Address(0x800)));
        assert_eq!(bytes.len() as u64, array.index_block_size(SIZES));
    }

    #[test]
    fn a_super_block_and_a_data_block() {
        let bytes = seal(SUPER_BLOCK.to_vec());
        let addresses = [0x4000, 0x5000].map(|address| Some(Address(address)));
        let expected = SuperBlock { bitmap: &[0x80, 0x40], data_blocks: addresses.to_vec() };
        let place = |first| BlockPlace { header: Address(0x800), first };
        let parse = |i| SuperBlock::parse(i, &SMALL, SIZES, 2);
        both_ways(&bytes, &expected, parse, |block, out| block.encode(out, &SMALL, SIZES, place(4)));
        assert_eq!(bytes.len() as u64, SMALL.super_block_size(SIZES, 2));

        let bytes = seal(DATA_BLOCK.to_vec());
        let parse = |i| SMALL.parse_data_block(i, SIZES, 16);
        both_ways(&bytes, &&DATA_BLOCK[18..], parse, |elements, out| {
            SMALL.encode_data_block(out, SIZES, place(2), elements)
        });
        assert_eq!(SMALL.data_prefix(SIZES), 18);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            head in near_sealed(&HEADER),
            index in near_sealed(&INDEX_BLOCK),
            superior in near_sealed(&SUPER_BLOCK),
            data in near_sealed(&DATA_BLOCK),
            sizes in any_sizes(),
            (u, len, number) in (0u32..8, 0usize..40, any::<u64>()),
        ) {
            let found = ExtensibleArray::parse(&head, sizes).map_or(SMALL, |(_, array)| array);
            let _ = (found.place_of(number), found.index_block_size(sizes), found.super_block_size(sizes, u));
            for array in [found, SMALL] {
                let _ = IndexBlock::parse(&index, &array, sizes);
                let _ = SuperBlock::parse(&superior, &array, sizes, u);
                let _ = array.parse_data_block(&data, sizes, len);
            }
        }
    }

    #[test]
    fn places_of_elements() {
        let array = ExtensibleArray { max_index_set: 0, index_block: None, ..ARRAY };
        let block = |u, block, slot| Some(ElementPlace::Block { u, block, slot });
        assert_eq!(array.place_of(3), Some(ElementPlace::Index(3)));
        assert_eq!(array.place_of(4), block(0, 0, 0));
        assert_eq!(array.place_of(19), block(0, 0, 15));
        assert_eq!(array.place_of(20), block(1, 0, 0));
        assert_eq!(array.place_of(84), block(2, 1, 0));
        // Every element has its own place, in the order of the blocks.
        let mut next = 4;
        for u in 0..8 {
            for j in 0..ExtensibleArray::blocks(u) {
                for slot in 0..array.block_elements(u) {
                    assert_eq!(array.place_of(next), block(u, j, slot));
                    next += 1;
                }
            }
        }
        assert_eq!(array.place_of(1 << 40), None);
    }
}
