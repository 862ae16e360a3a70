//! The blocks of a fractal heap (III.F). The offset of an object counts from the first byte of its direct block, which belongs to
//! the header of the block.
//!
//! | offset | size | field of a direct block |
//! |---|---|---|
//! | 0 | 4 | signature: `FHDB` |
//! | 4 | 1 | version: 0 |
//! | 5 | O | heap header address |
//! | 5 + O | w | block offset: the position of the block's first byte in the heap; w follows from the heap's maximum size |
//! | 5 + O + w | 4 | checksum of the whole block, computed with zeros in this field, if the heap's flags require it |
//! | | | object data, up to the size of the block |
//!
//! | offset | size | field of an indirect block |
//! |---|---|---|
//! | 0 | 4 | signature: `FHIB` |
//! | 4 | 1 | version: 0 |
//! | 5 | O | heap header address |
//! | 5 + O | w | block offset |
//! | | O, or O + L + 4 | child direct blocks: address, or none; with filters also the filtered size and a filter mask |
//! | | O | child indirect blocks: address, or none |
//! | | 4 | checksum |

use nom::multi::count;
use nom::number::complete::le_u32;
use nom::{Offset, Parser};
use sciformats_core::arith::{present, sub};
use sciformats_core::fault::{FaultKind, Parsed, fail, field};
use sciformats_core::{Result, bound};

use super::super::{
    Address, Sizes, address, defined, length, lookup3, put_address, put_checksum, put_padding, put_uint,
    sealed, signature, uint, version,
};
use super::FractalHeap;

/// A block that an indirect block leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    /// The address of the block, or `None` if it does not exist.
    pub(crate) address: Option<Address>,
    /// The filtered size and the mask of the filters that were skipped, for a direct block of a filtered heap.
    pub(crate) filtered: Option<(u64, u32)>,
}

/// The children of an indirect block. Direct blocks come before indirect ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndirectBlock {
    /// The children, row by row.
    pub(crate) children: Vec<Child>,
}

/// Returns how many direct and how many indirect children an indirect block of `rows` rows has.
fn children(heap: &FractalHeap, rows: u32) -> (u64, u64) {
    let direct = heap.table.direct_rows().min(rows);
    let width = u64::from(heap.table.width);
    (bound::product(width, direct.into()), bound::product(width, bound::left(rows, direct).into()))
}

impl IndirectBlock {
    /// Returns the size of an indirect block of `rows` rows in bytes. The result is a bound: a size of more than 64 bits exceeds
    /// any file.
    pub(crate) fn size(heap: &FractalHeap, sizes: Sizes, rows: u32) -> u64 {
        let (direct, indirect) = children(heap, rows);
        let filtered = if heap.filters.is_some() { sizes.bytes(1, 1, 4) } else { sizes.bytes(1, 0, 0) };
        let prefix = direct_prefix(heap, sizes) as u64;
        let pointers = bound::sum(
            bound::product(direct, filtered as u64),
            bound::product(indirect, sizes.offsets.into()),
        );
        bound::sum(pointers, prefix)
    }

    pub(crate) fn parse<'a>(i: &'a [u8], heap: &FractalHeap, sizes: Sizes, rows: u32) -> Parsed<'a, Self> {
        sealed(|i: &'a [u8]| {
            let (i, ()) = signature(b"FHIB")(i)?;
            let (i, _) = version(0)(i)?;
            let (i, _) = field("heap header address", defined(sizes))(i)?;
            let (i, _) = field("block offset", uint(heap.table.offset_width()))(i)?;
            let (direct, indirect) = children(heap, rows);
            let (direct, indirect) = match (usize::try_from(direct), usize::try_from(indirect)) {
                (Ok(direct), Ok(indirect)) => (direct, indirect),
                _ => return fail(i, FaultKind::Overflow),
            };
            let (i, mut children) = count(|i| direct_child(i, heap, sizes), direct).parse(i)?;
            let child = field("child indirect block address", address(sizes));
            let (i, more) =
                count(child.map(|address| Child { address, filtered: None }), indirect).parse(i)?;
            children.extend(more);
            Ok((i, Self { children }))
        })(i)
    }
}

fn direct_child<'a>(i: &'a [u8], heap: &FractalHeap, sizes: Sizes) -> Parsed<'a, Child> {
    let (i, address) = field("child direct block address", address(sizes))(i)?;
    if heap.filters.is_none() {
        return Ok((i, Child { address, filtered: None }));
    }
    let (i, size) = field("size of filtered direct block", length(sizes))(i)?;
    let (i, mask) = field("filter mask for direct block", le_u32)(i)?;
    Ok((i, Child { address, filtered: Some((size, mask)) }))
}

/// Checks a whole direct block after its filters were undone. Objects of the heap are slices of it.
pub(crate) fn check_direct<'a>(i: &'a [u8], heap: &FractalHeap, sizes: Sizes) -> Parsed<'a, ()> {
    let block = i;
    let (i, ()) = signature(b"FHDB")(i)?;
    let (i, _) = version(0)(i)?;
    let (i, _) = field("heap header address", defined(sizes))(i)?;
    let (at, _) = field("block offset", uint(heap.table.offset_width()))(i)?;
    if !heap.direct_checksums() {
        return Ok((at, ()));
    }
    let (rest, stored) = field("checksum", le_u32)(at)?;
    let mut zeroed = block.to_vec();
    let start = block.offset(at);
    zeroed.iter_mut().skip(start).take(4).for_each(|byte| *byte = 0);
    let computed = lookup3::hash(&zeroed, 0);
    if stored != computed {
        let kind = FaultKind::Checksum { stored: stored.into(), computed: computed.into() };
        return field("checksum", |i| fail(i, kind))(at);
    }
    Ok((rest, ()))
}

/// The place of a block: the address of the heap's header, and the position of the block's first byte in the heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockPlace {
    pub(crate) header: Address,
    pub(crate) offset: u64,
}

impl BlockPlace {
    fn encode(self, out: &mut Vec<u8>, mark: &[u8; 5], heap: &FractalHeap, sizes: Sizes) -> Result<()> {
        out.extend(mark);
        put_address(out, Some(self.header), sizes)?;
        put_uint(out, self.offset, heap.table.offset_width())?;
        Ok(())
    }
}

/// Returns the number of bytes before the data of a direct block with a checksum.
pub(crate) fn direct_prefix(heap: &FractalHeap, sizes: Sizes) -> usize {
    bound::sum(sizes.bytes(1, 0, 9), heap.table.offset_width())
}

/// Appends a direct block of `size` bytes with a checksum.
pub(crate) fn encode_direct(
    out: &mut Vec<u8>,
    heap: &FractalHeap,
    sizes: Sizes,
    place: BlockPlace,
    (data, size): (&[u8], usize),
) -> Result<()> {
    let start = out.len();
    place.encode(out, b"FHDB\0", heap, sizes)?;
    out.extend([0; 4]);
    let prefix = sub(out.len(), start)?;
    out.extend(data);
    put_padding(out, start, size)?;
    seal_direct(present(out.get_mut(start..), "a direct block")?, prefix).map(drop)
}

/// Computes the checksum of a whole direct block, whose data start after `prefix` bytes, and stores it in the block. Returns the
/// position of the checksum.
pub(crate) fn seal_direct(block: &mut [u8], prefix: usize) -> Result<std::ops::Range<usize>> {
    let place = sub(prefix, 4)?..prefix;
    present(block.get_mut(place.clone()), "checksum of a direct block")?.fill(0);
    let checksum = lookup3::hash(block, 0).to_le_bytes();
    present(block.get_mut(place.clone()), "checksum of a direct block")?.copy_from_slice(&checksum);
    Ok(place)
}

impl IndirectBlock {
    /// Appends an indirect block of a heap without filters.
    pub(crate) fn encode(
        &self,
        out: &mut Vec<u8>,
        heap: &FractalHeap,
        sizes: Sizes,
        place: BlockPlace,
    ) -> Result<()> {
        let start = out.len();
        place.encode(out, b"FHIB\0", heap, sizes)?;
        self.children.iter().try_for_each(|child| put_address(out, child.address, sizes))?;
        put_checksum(out, start)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::{SIZES, any_sizes, both_ways, near, near_sealed, seal};
    use super::super::tests::{filtered, heap};
    use super::*;

    /// A direct block of 32 bytes. Its checksum is not computed yet.
    const DIRECT: [u8; 32] = [
        b'F', b'H', b'D', b'B', // signature
        0,    // version
        0, 8, 0, 0, 0, 0, 0, 0, // heap header address
        0x20, 0, 0, 0, // block offset
        0, 0, 0, 0, // checksum
        b'o', b'b', b'j', b'e', b'c', b't', // object data
        0, 0, 0, 0, 0, // free
    ];

    /// An indirect block without its checksum. The constant below has no checksum either.
    const INDIRECT: [u8; 49] = [
        b'F', b'H', b'I', b'B', // signature
        0,    // version
        0, 8, 0, 0, 0, 0, 0, 0, // heap header address
        0, 0, 0, 0, // block offset
        0, 0x10, 0, 0, 0, 0, 0, 0, // child direct block 0
        0, 0x20, 0, 0, 0, 0, 0, 0, // child direct block 1
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // child direct block 2: none
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // child direct block 3: none
    ];

    const FILTERED: [u8; 97] = [
        b'F', b'H', b'I', b'B', // signature
        0,    // version
        0, 8, 0, 0, 0, 0, 0, 0, // heap header address
        0, 0, 0, 0, // block offset
        0, 0x10, 0, 0, 0, 0, 0, 0, // child direct block 0
        0x2c, 1, 0, 0, 0, 0, 0, 0, // size of filtered direct block
        1, 0, 0, 0, // filter mask
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // child direct block 1: none
        0, 0, 0, 0, 0, 0, 0, 0, // size of filtered direct block
        0, 0, 0, 0, // filter mask
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // child direct block 2: none
        0, 0, 0, 0, 0, 0, 0, 0, // size of filtered direct block
        0, 0, 0, 0, // filter mask
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // child direct block 3: none
        0, 0, 0, 0, 0, 0, 0, 0, // size of filtered direct block
        0, 0, 0, 0, // filter mask
    ];

    const PLACE: BlockPlace = BlockPlace { header: Address(0x800), offset: 0 };

    #[test]
    fn a_direct_block() {
        let (heap, prefix) = (heap(), direct_prefix(&heap(), SIZES));
        assert_eq!(prefix, 21);
        let mut block = DIRECT;
        assert_eq!(seal_direct(&mut block, prefix).unwrap(), 17..21);
        assert_eq!(block[17..21], lookup3::hash(&DIRECT, 0).to_le_bytes());
        assert_eq!(check_direct(&block, &heap, SIZES), Ok((&DIRECT[21..], ())));
        assert!(check_direct(&DIRECT, &heap, SIZES).is_err());
        let mut out = Vec::new();
        let place = BlockPlace { offset: 32, ..PLACE };
        encode_direct(&mut out, &heap, SIZES, place, (b"object", 32)).unwrap();
        assert_eq!(out, block);
    }

    #[test]
    fn indirect_blocks_of_one_row() {
        let heap = heap();
        let child = |address, filtered| Child { address, filtered };
        let address = |address| Some(Address(address));
        let children = [address(0x1000), address(0x2000), None, None].map(|address| child(address, None));
        let bytes = seal(INDIRECT.to_vec());
        assert_eq!(bytes.len() as u64, IndirectBlock::size(&heap, SIZES, 1));
        let expected = IndirectBlock { children: children.to_vec() };
        let parse = |i| IndirectBlock::parse(i, &heap, SIZES, 1);
        both_ways(&bytes, &expected, parse, |block, out| block.encode(out, &heap, SIZES, PLACE));

        let heap = filtered();
        let bytes = seal(FILTERED.to_vec());
        assert_eq!(bytes.len() as u64, IndirectBlock::size(&heap, SIZES, 1));
        let none = child(None, Some((0, 0)));
        let children = vec![child(address(0x1000), Some((300, 1))), none, none, none];
        assert_eq!(IndirectBlock::parse(&bytes, &heap, SIZES, 1), Ok((&[][..], IndirectBlock { children })));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            mut direct in near(&DIRECT),
            plain in near_sealed(&INDIRECT),
            compressed in near_sealed(&FILTERED),
            sizes in any_sizes(),
            rows in 0u32..4,
        ) {
            let _ = seal_direct(&mut direct, 21);
            for heap in [heap(), filtered()] {
                let _ = check_direct(&direct, &heap, sizes);
                let _ = IndirectBlock::parse(&plain, &heap, sizes, rows);
                let _ = IndirectBlock::parse(&compressed, &heap, sizes, rows);
            }
        }
    }
}
