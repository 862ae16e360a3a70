//! Heap IDs (III.G.4): where an object of a fractal heap is.

use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::{le_u32, u8 as byte};
use sciformats_core::arith::{fit, sub};
use sciformats_core::fault::{FaultKind, Parsed, fail, field};
use sciformats_core::{Error, Result, bound};

use super::super::{Address, Sizes, defined, length, put_address, put_length, put_padding, put_uint, uint};
use super::FractalHeap;

/// A decoded heap ID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeapId {
    /// In the blocks: offset in the heap and length.
    Managed {
        /// Offset, block headers counted.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// Outside the blocks, found through the B-tree of huge objects.
    HugeIndirect {
        /// The key in the B-tree.
        key: u64,
    },
    /// Outside the blocks.
    Huge {
        /// Where.
        address: Address,
        /// Bytes as stored.
        stored: u64,
        /// Filters skipped and bytes after decoding, in a filtered heap.
        filtered: Option<(u32, u64)>,
    },
    /// In the ID itself.
    Tiny(Vec<u8>),
}

impl HeapId {
    pub(crate) fn parse<'a>(i: &'a [u8], heap: &FractalHeap, sizes: Sizes) -> Parsed<'a, Self> {
        let (at, first) = field("heap ID", byte)(i)?;
        if first >> 6 != 0 {
            return field("heap ID version", |i| {
                fail(i, FaultKind::Undefined { found: u64::from(first >> 6) })
            })(i);
        }
        match (first >> 4) & 3 {
            0 => {
                let (rest, offset) = field("offset", uint(heap.table.offset_width()))(at)?;
                let (rest, length) = field("length", uint(heap.length_width()))(rest)?;
                Ok((rest, Self::Managed { offset, length }))
            }
            1 => huge(at, heap, sizes),
            2 => tiny(at, first, heap),
            found => field("heap ID type", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
        }
    }
}

fn huge<'a>(i: &'a [u8], heap: &FractalHeap, sizes: Sizes) -> Parsed<'a, HeapId> {
    let room = bound::left(usize::from(heap.id_len), 1);
    if heap.has_huge_keys(sizes) {
        let (i, key) = field("B-tree key", uint(room.min(8)))(i)?;
        return Ok((i, HeapId::HugeIndirect { key }));
    }
    let (i, address) = field("address", defined(sizes))(i)?;
    let (i, stored) = field("length", length(sizes))(i)?;
    if heap.filters.is_none() {
        return Ok((i, HeapId::Huge { address, stored, filtered: None }));
    }
    let (i, mask) = field("filter mask", le_u32)(i)?;
    let (i, size) = field("de-filtered size", length(sizes))(i)?;
    Ok((i, HeapId::Huge { address, stored, filtered: Some((mask, size)) }))
}

fn tiny<'a>(i: &'a [u8], first: u8, heap: &FractalHeap) -> Parsed<'a, HeapId> {
    let low = usize::from(first & 15);
    let (i, len) = match heap.id_len {
        0..=18 => (i, low),
        _ => {
            let (i, more) = field("length", byte)(i)?;
            (i, low << 8 | usize::from(more))
        }
    };
    let (i, data) = field("data", take(bound::sum(len, 1))).parse(i)?;
    Ok((i, HeapId::Tiny(data.to_vec())))
}

impl HeapId {
    /// The ID's bytes in a heap without filters.
    pub(crate) fn encode(&self, heap: &FractalHeap, sizes: Sizes) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        match self {
            Self::Managed { offset, length } => {
                out.push(0);
                put_uint(&mut out, *offset, heap.table.offset_width())?;
                put_uint(&mut out, *length, heap.length_width())?;
            }
            Self::HugeIndirect { key } => {
                out.push(0x10);
                put_uint(&mut out, *key, sub(usize::from(heap.id_len), 1)?.min(8))?;
            }
            Self::Huge { address, stored, .. } => {
                out.push(0x10);
                put_address(&mut out, Some(*address), sizes)?;
                put_length(&mut out, *stored, sizes)?;
            }
            Self::Tiny(data) => {
                let len: u8 = fit(sub(data.len(), 1)?, "length of a tiny object")?;
                if len > 15 {
                    return Err(Error::internal("length of a tiny object is out of range"));
                }
                out.push(0x20 | len);
                out.extend(data);
            }
        }
        put_padding(&mut out, 0, heap.id_len.into())?;
        Ok(out)
    }
}
