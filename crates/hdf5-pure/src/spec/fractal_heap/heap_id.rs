//! Heap IDs (III.F): where an object of a fractal heap is. The header of the heap contains the length of its IDs.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 1 | bits 6–7 version: 0; bits 4–5 type: 0 managed, 1 huge, 2 tiny; bits 0–3 of a tiny object: its length minus 1 |
//! | 1 | width of the largest offset in the heap | managed: offset in the heap; the headers of blocks count too |
//! | | width of the largest length of a managed object | managed: length |
//! | 1 | L, at most 8 | huge, if the ID is too short for the other fields: key in the v2 B-tree |
//! | 1 | O | huge: address |
//! | 1 + O | L | huge: length of the stored bytes |
//! | 1 + O + L | 4 | huge, with filters: filter mask |
//! | 5 + O + L | L | huge, with filters: de-filtered size |
//! | 1 | 1 | tiny, in IDs of more than 18 bytes: the lower bits of the length minus 1 |
//! | 1 or 2 | length | tiny: data |
//!
//! The rest of an ID is filled with zeros.

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
    /// An object in the blocks of the heap.
    Managed {
        /// The offset in the heap; the headers of blocks count too.
        offset: u64,
        /// The length in bytes.
        length: u64,
    },
    /// An object outside the blocks, which the B-tree of huge objects leads to.
    HugeIndirect {
        /// The key in the B-tree.
        key: u64,
    },
    /// An object outside the blocks, whose address is in the ID.
    Huge {
        /// The address of the object.
        address: Address,
        /// The stored size in bytes.
        stored: u64,
        /// The mask of the filters that were skipped and the size after decoding, in a filtered heap.
        filtered: Option<(u32, u64)>,
    },
    /// An object in the ID itself.
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
    /// Returns the bytes of the ID in a heap without filters.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::{SIZES, any_sizes, near};
    use super::super::tests::{filtered, heap};
    use super::*;

    const MANAGED: [u8; 7] = [
        0, // version 0, managed
        0x15, 2, 0, 0, // offset
        0x1e, 0, // length
    ];

    const HUGE_KEY: [u8; 7] = [
        0x10, // version 0, huge
        3, 0, 0, 0, 0, 0, // key
    ];

    const HUGE: [u8; 17] = [
        0x10, // version 0, huge
        0, 0x10, 0, 0, 0, 0, 0, 0, // address
        0x88, 0x13, 0, 0, 0, 0, 0, 0, // length
    ];

    const HUGE_FILTERED: [u8; 29] = [
        0x10, // version 0, huge
        0, 0x10, 0, 0, 0, 0, 0, 0, // address
        0x2c, 1, 0, 0, 0, 0, 0, 0, // length
        1, 0, 0, 0, // filter mask
        0x88, 0x13, 0, 0, 0, 0, 0, 0, // de-filtered size
    ];

    const TINY: [u8; 7] = [
        0x22, // version 0, tiny, three bytes
        b'a', b'b', b'c', // data
        0, 0, 0, // rest
    ];

    const TINY_LONG: [u8; 19] = [
        0x20, // version 0, tiny, less than 257 bytes
        2,    // three bytes
        b'a', b'b', b'c', // data
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // rest
    ];

    fn of_length(id_len: u16) -> FractalHeap {
        FractalHeap { id_len, ..heap() }
    }

    #[test]
    fn ids_of_all_types() {
        let (address, stored) = (Address(0x1000), 5000);
        let all = [
            (&MANAGED[..], HeapId::Managed { offset: 0x215, length: 30 }),
            (&HUGE_KEY, HeapId::HugeIndirect { key: 3 }),
            (&HUGE, HeapId::Huge { address, stored, filtered: None }),
            (&TINY, HeapId::Tiny(b"abc".to_vec())),
        ];
        for (bytes, id) in all {
            let heap = of_length(bytes.len() as u16);
            assert_eq!(HeapId::parse(bytes, &heap, SIZES).unwrap().1, id);
            assert_eq!(id.encode(&heap, SIZES).unwrap(), bytes);
        }
        let heap = FractalHeap { id_len: 29, ..filtered() };
        let huge = HeapId::Huge { address, stored: 300, filtered: Some((1, 5000)) };
        assert_eq!(HeapId::parse(&HUGE_FILTERED, &heap, SIZES).unwrap().1, huge);
        let tiny = HeapId::Tiny(b"abc".to_vec());
        assert_eq!(HeapId::parse(&TINY_LONG, &of_length(19), SIZES).unwrap().1, tiny);
        for wrong in [0x40, 0x30] {
            assert!(HeapId::parse(&[wrong; 7], &of_length(7), SIZES).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(managed in near(&MANAGED), huge in near(&HUGE_FILTERED), tiny in near(&TINY_LONG), sizes in any_sizes(), id_len in 0u16..40) {
            for heap in [of_length(id_len), FractalHeap { id_len, ..filtered() }] {
                for bytes in [&managed, &huge, &tiny] {
                    let _ = HeapId::parse(bytes, &heap, sizes);
                }
            }
        }
    }
}
