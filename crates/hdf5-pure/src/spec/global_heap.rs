//! Global heap collections (III.E), which contain elements of variable length, region references and virtual mappings.
//!
//! | offset | size | field of a collection |
//! |---|---|---|
//! | 0 | 4 | signature: `GCOL` |
//! | 4 | 1 | version: 1 |
//! | 5 | 3 | reserved |
//! | 8 | L | collection size, including this header; then zeros up to a multiple of 8 |
//! | | | objects, followed by the free space |
//!
//! | offset | size | field of an object |
//! |---|---|---|
//! | 0 | 2 | heap object index: 1 to 65535; 0 for the free space |
//! | 2 | 2 | reference count |
//! | 4 | 4 | reserved |
//! | 8 | L | object size, n; the size of the free space includes this header; then zeros up to a multiple of 8 |
//! | | n | object data, then zeros up to a multiple of 8 |
//!
//! | offset | size | field of an ID |
//! |---|---|---|
//! | 0 | O | collection address |
//! | O | 4 | object index |

use nom::bytes::complete::take;
use nom::number::complete::{le_u16, le_u32};
use sciformats_core::arith::add;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};
use sciformats_core::{Result, bound};

use super::{Address, Sizes, length, pad8, put_length, put_padding, put_uint, signature, uint, version};

/// The place of an object in a global heap: its collection, and its index in the collection.
///
/// ```
/// use hdf5_pure::structure::Layout;
/// use hdf5_pure::{CreateOptions, File, Slab, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let all = Slab::all(&[24])?;
/// file.dataset("week").shape([24]).map("monday.h5", "/temperature", &all, &all).create::<f32>()?;
/// let week = File::from_bytes(file.into_bytes()?)?.dataset("week")?;
/// assert!(matches!(week.layout()?, Layout::Virtual(Some(id)) if id.index == 1));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GlobalId {
    /// The address of the collection; 0 means no object.
    pub collection: Address,
    /// The index of the object in the collection.
    pub index: u32,
}

impl GlobalId {
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, collection) = field("collection address", uint(usize::from(sizes.offsets)))(i)?;
        let (i, index) = field("object index", le_u32)(i)?;
        Ok((i, Self { collection: Address(collection), index }))
    }

    /// Does the same as [`parse`](Self::parse), but returns `None` if there is no object.
    pub(crate) fn parse_optional(i: &[u8], sizes: Sizes) -> Parsed<'_, Option<Self>> {
        let (rest, collection) = super::address(sizes)(i)?;
        let (rest, index) = field("object index", le_u32)(rest)?;
        Ok((rest, collection.map(|collection| Self { collection, index })))
    }
}

/// The header of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CollectionHeader {
    /// The size of the whole collection in bytes.
    pub(crate) size: u64,
}

impl CollectionHeader {
    pub(crate) fn size_of(sizes: Sizes) -> usize {
        sizes.bytes(0, 1, 8).next_multiple_of(8)
    }

    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, ()) = signature(b"GCOL")(i)?;
        let (i, _) = version(1)(i)?;
        let (i, _) = take(3usize)(i)?;
        let (i, size) = field("collection size", length(sizes))(i)?;
        Ok((i, Self { size }))
    }
}

/// An object of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeapObject<'a> {
    /// The index in the collection, from 1 to 65535.
    pub(crate) index: u16,
    /// Its bytes.
    pub(crate) data: &'a [u8],
}

/// Parses the next object of a collection, and returns `None` at the free space or at the end.
pub(crate) fn object(i: &[u8], sizes: Sizes) -> Parsed<'_, Option<HeapObject<'_>>> {
    let header = CollectionHeader::size_of(sizes);
    if i.len() < header {
        return Ok((&[], None));
    }
    let (rest, head) = take(header)(i)?;
    let (head, index) = field("heap object index", le_u16)(head)?;
    let (head, _) = take(6usize)(head)?;
    let (_, size) = field("object size", length(sizes))(head)?;
    if index == 0 {
        return Ok((&[], None));
    }
    let Some(size) = usize::try_from(size).ok().filter(|&size| size <= rest.len()) else {
        let kind = FaultKind::OutOfBounds { found: size, end: rest.len() as u64 };
        return field("object size", |i| fail(i, kind))(i);
    };
    let (rest, data) = take(size)(rest)?;
    // The padding of the last object may be missing if the collection ends there.
    let padding = bound::left(size.checked_next_multiple_of(8).unwrap_or(size), size);
    let (rest, _) = take(padding.min(rest.len()))(rest)?;
    Ok((rest, Some(HeapObject { index, data })))
}

impl GlobalId {
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        put_uint(out, self.collection.0, usize::from(sizes.offsets))?;
        out.extend(self.index.to_le_bytes());
        Ok(())
    }
}

impl CollectionHeader {
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        let start = out.len();
        out.extend(b"GCOL\x01\0\0\0");
        put_length(out, self.size, sizes)?;
        put_padding(out, start, Self::size_of(sizes))?;
        Ok(())
    }
}

impl HeapObject<'_> {
    /// Returns the size in bytes of an object of `len` bytes, including its header.
    pub(crate) fn size(len: usize, sizes: Sizes) -> Result<usize> {
        add(CollectionHeader::size_of(sizes), pad8(len)?)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        let start = out.len();
        out.extend(self.index.to_le_bytes());
        out.extend([0; 6]);
        put_length(out, self.data.len() as u64, sizes)?;
        put_padding(out, start, CollectionHeader::size_of(sizes))?;
        out.extend(self.data);
        put_padding(out, start, Self::size(self.data.len(), sizes)?)?;
        Ok(())
    }
}

/// Appends the free space of `len` bytes that ends a collection. If a header does not fit, it consists of zeros only.
pub(crate) fn put_free(out: &mut Vec<u8>, len: usize, sizes: Sizes) -> Result<()> {
    let start = out.len();
    if len >= CollectionHeader::size_of(sizes) {
        out.extend([0; 8]);
        put_length(out, len as u64, sizes)?;
    }
    put_padding(out, start, len)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test::{SIZES, any_sizes, both_ways, near};
    use super::*;

    const COLLECTION: [u8; 16] = [
        b'G', b'C', b'O', b'L', // signature
        1,    // version
        0, 0, 0, // reserved
        0, 0x10, 0, 0, 0, 0, 0, 0, // collection size
    ];

    const OBJECTS: [u8; 48] = [
        1, 0, // heap object index
        0, 0, // reference count
        0, 0, 0, 0, // reserved
        3, 0, 0, 0, 0, 0, 0, 0, // object size
        b'a', b'b', b'c', // object data
        0, 0, 0, 0, 0, // zeros up to a multiple of 8
        0, 0, // free space
        0, 0, // reference count
        0, 0, 0, 0, // reserved
        0x18, 0, 0, 0, 0, 0, 0, 0, // object size
        0, 0, 0, 0, 0, 0, 0, 0, // free
    ];

    /// A collection of a file whose lengths have four bytes.
    const SHORT: [u8; 40] = [
        2, 0, // heap object index
        0, 0, // reference count
        0, 0, 0, 0, // reserved
        3, 0, 0, 0, // object size
        0, 0, 0, 0, // zeros up to a multiple of 8
        b'a', b'b', b'c', // object data
        0, 0, 0, 0, 0, // zeros up to a multiple of 8
        0, 0, // free space
        0, 0, // reference count
        0, 0, 0, 0, // reserved
        0x10, 0, 0, 0, // object size
        0, 0, 0, 0, // zeros up to a multiple of 8
    ];

    const ID: [u8; 12] = [
        0, 0x10, 0, 0, 0, 0, 0, 0, // collection address
        7, 0, 0, 0, // object index
    ];

    #[test]
    fn a_collection_and_an_id() {
        let header = CollectionHeader { size: 4096 };
        both_ways(
            &COLLECTION,
            &header,
            |i| CollectionHeader::parse(i, SIZES),
            |header, out| header.encode(out, SIZES),
        );
        assert_eq!(COLLECTION.len(), CollectionHeader::size_of(SIZES));
        let id = GlobalId { collection: Address(0x1000), index: 7 };
        both_ways(&ID, &id, |i| GlobalId::parse(i, SIZES), |id, out| id.encode(out, SIZES));
        assert_eq!(GlobalId::parse_optional(&ID, SIZES).unwrap().1, Some(id));
        assert_eq!(GlobalId::parse_optional(&[0xff; 12], SIZES).unwrap().1, None);
    }

    #[test]
    fn objects_until_the_free_space() {
        let (rest, first) = object(&OBJECTS, SIZES).unwrap();
        assert_eq!(first, Some(HeapObject { index: 1, data: b"abc" }));
        assert_eq!(object(rest, SIZES).unwrap().1, None);
        assert_eq!(object(&[0; 15], SIZES).unwrap().1, None);
        let mut out = Vec::new();
        HeapObject { index: 1, data: b"abc" }.encode(&mut out, SIZES).unwrap();
        put_free(&mut out, 24, SIZES).unwrap();
        assert_eq!(out, OBJECTS);
    }

    #[test]
    fn short_lengths_are_padded() {
        let sizes = Sizes { offsets: 4, lengths: 4 };
        let (rest, first) = object(&SHORT, sizes).unwrap();
        assert_eq!(first, Some(HeapObject { index: 2, data: b"abc" }));
        assert_eq!(object(rest, sizes).unwrap().1, None);
        let mut out = Vec::new();
        HeapObject { index: 2, data: b"abc" }.encode(&mut out, sizes).unwrap();
        put_free(&mut out, 16, sizes).unwrap();
        assert_eq!(out, SHORT);
    }

    #[test]
    fn an_object_at_the_end_of_its_collection() {
        let cut = &OBJECTS[..19];
        assert_eq!(object(cut, SIZES), Ok((&[][..], Some(HeapObject { index: 1, data: b"abc" }))));
        let error =
            sciformats_core::fault::locate("object", 0, &cut[..18], |i| object(i, SIZES)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "malformed object at offset 0x0: object size is 3, out of bounds (end 2)"
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(header in near(&COLLECTION), objects in near(&OBJECTS), id in near(&ID), sizes in any_sizes()) {
            let _ = CollectionHeader::parse(&header, sizes);
            let mut rest = &objects[..];
            while let Ok((after, Some(_))) = object(rest, sizes) {
                rest = after;
            }
            let _ = GlobalId::parse(&id, sizes);
            let _ = GlobalId::parse_optional(&id, sizes);
        }
    }
}
