//! Metadata cache images: metadata that a writer left in one block instead of at its places.
//!
//! `MDCI`, version 0, flags, size (L), entries (4), the entries, checksum. An entry is type, flags, ring and age (1 each),
//! children, dirty children and parents (2 each), rank (4), address (O), length (L), parents (O each), bytes.

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::count;
use nom::number::complete::{le_u16, le_u32, u8 as byte};
use sciformats_core::fault::{Parsed, field};

use super::{Address, Sizes, address, defined, length, sealed, signature, version};

/// Bytes that belong at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheEntry<'a> {
    /// Which structure it is.
    pub(crate) kind: u8,
    /// Where it belongs.
    pub(crate) address: Address,
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
}

/// The metadata cache image message (0x18): version 0, address, size.
pub(crate) fn message(i: &[u8], sizes: Sizes) -> Parsed<'_, Option<(Address, u64)>> {
    let (i, _) = version(0)(i)?;
    let (i, address) = field("image address", address(sizes))(i)?;
    let (i, size) = field("image size", length(sizes))(i)?;
    Ok((i, address.map(|address| (address, size))))
}

/// Parses the image.
pub(crate) fn image(i: &[u8], sizes: Sizes) -> Parsed<'_, Vec<CacheEntry<'_>>> {
    sealed(|i| {
        let (i, ()) = signature(b"MDCI")(i)?;
        let (i, _) = version(0)(i)?;
        let (i, _) = field("flags", byte)(i)?;
        let (i, _) = field("image data length", length(sizes))(i)?;
        let (mut i, entries) = field("number of entries", le_u32)(i)?;
        let mut found = Vec::new();
        for _ in 0..entries {
            let (rest, entry) = entry(i, sizes)?;
            found.push(entry);
            i = rest;
        }
        Ok((i, found))
    })(i)
}

fn entry(i: &[u8], sizes: Sizes) -> Parsed<'_, CacheEntry<'_>> {
    let (i, kind) = field("entry type", byte)(i)?;
    let (i, _) = take(3usize)(i)?;
    let (i, _) = take(4usize)(i)?;
    let (i, parents) = field("number of parents", le_u16)(i)?;
    let (i, _) = field("rank", le_u32)(i)?;
    let (i, address) = field("entry address", defined(sizes))(i)?;
    let (i, len) = field("entry length", length(sizes))(i)?;
    let (i, _) = field("parents", count(defined(sizes), usize::from(parents))).parse(i)?;
    // What does not fit into memory is not in the image either.
    let len = sciformats_core::bound::addressable(len);
    let (i, bytes) = field("entry image", take(len)).parse(i)?;
    Ok((i, CacheEntry { kind, address, bytes }))
}
