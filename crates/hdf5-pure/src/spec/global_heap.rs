//! Global heap collections (III.E): elements of variable length, region references and virtual mappings.
//!
//! `GCOL`, version 1, 3 reserved, size of the collection with this header (L), then objects:
//! index (2), reference count (2), reserved (4), size (L), data. Both headers and the data are padded to 8 bytes. Index 0 is the
//! free space; it comes last.

use nom::bytes::complete::take;
use nom::number::complete::{le_u16, le_u32};
use sciformats_core::Result;
use sciformats_core::arith::add;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::{Address, Sizes, length, pad8, put_length, put_padding, put_uint, signature, uint, version};

/// The place of an object in a global heap: the collection, and the index in it.
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

    /// As [`parse`](Self::parse), where there may be no object.
    pub(crate) fn parse_optional(i: &[u8], sizes: Sizes) -> Parsed<'_, Option<Self>> {
        let (rest, collection) = super::address(sizes)(i)?;
        let (rest, index) = field("object index", le_u32)(rest)?;
        Ok((rest, collection.map(|collection| Self { collection, index })))
    }
}

/// The header of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CollectionHeader {
    /// Bytes of the whole collection.
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
    /// 1 to 65535.
    pub(crate) index: u16,
    /// Its bytes.
    pub(crate) data: &'a [u8],
}

/// The next object of a collection, or `None` at the free space or the end.
pub(crate) fn object(i: &[u8], sizes: Sizes) -> Parsed<'_, Option<HeapObject<'_>>> {
    let header = CollectionHeader::size_of(sizes);
    if i.len() < header {
        return Ok((&[], None));
    }
    let (rest, index) = field("heap object index", le_u16)(i)?;
    let (rest, _) = take(6usize)(rest)?;
    let (_, size) = field("object size", length(sizes))(rest)?;
    if index == 0 {
        return Ok((&[], None));
    }
    let rest = i.get(header..).unwrap_or_default();
    let Some((data, _)) = usize::try_from(size).ok().and_then(|size| rest.split_at_checked(size)) else {
        let kind = FaultKind::OutOfBounds { found: size, end: rest.len() as u64 };
        return field("object size", |i| fail(i, kind))(i);
    };
    // The padding of the last object may be cut off with the collection.
    let used = data.len().checked_next_multiple_of(8).unwrap_or(rest.len()).min(rest.len());
    Ok((rest.get(used..).unwrap_or_default(), Some(HeapObject { index, data })))
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
    /// Bytes of an object of `len` bytes with its header.
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

/// Appends the free space that ends a collection: `len` bytes. Too few for a header are zeros only.
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
    use super::super::test::{SIZES, hex};
    use super::*;

    #[test]
    fn objects_until_the_free_space() {
        let bytes = hex("0100 0000 00000000 0300000000000000 6162630000000000 \
             0000 0000 00000000 1800000000000000 0000000000000000");
        let (rest, first) = object(&bytes, SIZES).unwrap();
        assert_eq!(first, Some(HeapObject { index: 1, data: b"abc" }));
        assert_eq!(object(rest, SIZES).unwrap().1, None);
        assert_eq!(object(&[0; 15], SIZES).unwrap().1, None);
    }

    #[test]
    fn short_lengths_are_padded() {
        let sizes = Sizes { offsets: 4, lengths: 4 };
        let bytes = hex("0200 0000 00000000 03000000 00000000 6162630000000000 \
             0000 0000 00000000 10000000 00000000");
        let (rest, first) = object(&bytes, sizes).unwrap();
        assert_eq!(first, Some(HeapObject { index: 2, data: b"abc" }));
        assert_eq!(object(rest, sizes).unwrap().1, None);
        let mut out = Vec::new();
        HeapObject { index: 2, data: b"abc" }.encode(&mut out, sizes).unwrap();
        put_free(&mut out, 16, sizes).unwrap();
        assert_eq!(out, bytes);
    }

    #[test]
    fn an_object_larger_than_its_collection() {
        let bytes = hex("0100 0000 00000000 ffffffffffffffff 6162630000000000");
        assert!(object(&bytes, SIZES).is_err());
    }
}
