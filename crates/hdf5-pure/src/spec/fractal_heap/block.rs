//! The blocks of a fractal heap (III.G.2 and 3).
//!
//! Direct block: `FHDB`, version 0, heap header (O), offset in the heap, [checksum 4], data. Objects are addressed from the
//! block's very start. Indirect block: `FHIB`, version 0, heap header, offset, children, checksum.

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
    /// None if the block does not exist.
    pub(crate) address: Option<Address>,
    /// Bytes after the filters, and filters skipped, of a direct block of a filtered heap.
    pub(crate) filtered: Option<(u64, u32)>,
}

/// The children of an indirect block, direct ones first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndirectBlock {
    /// Row after row.
    pub(crate) children: Vec<Child>,
}

/// Children of an indirect block of `rows` rows: direct and indirect ones.
fn children(heap: &FractalHeap, rows: u32) -> (u64, u64) {
    let direct = heap.table.direct_rows().min(rows);
    let width = u64::from(heap.table.width);
    (bound::product(width, direct.into()), bound::product(width, bound::left(rows, direct).into()))
}

impl IndirectBlock {
    /// Bytes of a block of `rows` rows. A bound: more than 64 bits count are not in the file.
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

/// Checks a whole direct block, filters undone. Its objects are slices of it.
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

/// Where a block stands: the heap's header and the block's first byte in the heap.
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

/// Bytes before the data of a direct block with a checksum.
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

/// Makes the checksum of a whole direct block, whose data begin behind `prefix` bytes, that of its bytes; gives its place.
pub(crate) fn seal_direct(block: &mut [u8], prefix: usize) -> Result<std::ops::Range<usize>> {
    let place = sub(prefix, 4)?..prefix;
    present(block.get_mut(place.clone()), "checksum of a direct block")?.fill(0);
    let checksum = lookup3::hash(block, 0).to_le_bytes();
    present(block.get_mut(place.clone()), "checksum of a direct block")?.copy_from_slice(&checksum);
    Ok(place)
}

impl IndirectBlock {
    /// Appends the block of a heap without filters.
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
