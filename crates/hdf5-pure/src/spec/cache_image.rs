//! Metadata cache images. A writer may leave metadata in one block instead of writing each structure to its own address.
//!
//! | offset | size | field of the metadata cache image message (0x18) |
//! |---|---|---|
//! | 0 | 1 | version: 0 |
//! | 1 | O | image address, or none |
//! | 1 + O | L | image size in bytes |
//!
//! | offset | size | field of the image |
//! |---|---|---|
//! | 0 | 4 | signature: `MDCI` |
//! | 4 | 1 | version: 0 |
//! | 5 | 1 | flags |
//! | 6 | L | image data length |
//! | 6 + L | 4 | number of entries |
//! | 10 + L | | entries |
//! | | 4 | checksum |
//!
//! | offset | size | field of an entry |
//! |---|---|---|
//! | 0 | 1 | type of the structure |
//! | 1 | 1 | flags |
//! | 2 | 1 | ring |
//! | 3 | 1 | age |
//! | 4 | 2 | number of children |
//! | 6 | 2 | number of dirty children |
//! | 8 | 2 | number of parents, n |
//! | 10 | 4 | rank in the list of least recently used entries |
//! | 14 | O | address of the structure in the file |
//! | 14 + O | L | length in bytes |
//! | 14 + O + L | n·O | addresses of the parents |
//! | | length | bytes of the structure |

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::count;
use nom::number::complete::{le_u16, le_u32, u8 as byte};
use sciformats_core::fault::{Parsed, field};

use super::{Address, Sizes, address, defined, length, sealed, signature, version};

/// Bytes that replace those of the file at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheEntry<'a> {
    /// The type of the structure.
    pub(crate) kind: u8,
    /// The address that the bytes belong to.
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
    // A length that does not fit into memory does not fit into the image either, so `take` reports it.
    let len = sciformats_core::bound::addressable(len);
    let (i, bytes) = field("entry image", take(len)).parse(i)?;
    Ok((i, CacheEntry { kind, address, bytes }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test::{SIZES, any_sizes, near, near_sealed, seal};
    use super::*;

    const MESSAGE: [u8; 17] = [
        0, // version
        0, 8, 0, 0, 0, 0, 0, 0, // image address
        0x46, 0, 0, 0, 0, 0, 0, 0, // image size
    ];

    /// An image without its checksum.
    const IMAGE: [u8; 59] = [
        b'M', b'D', b'C', b'I', // signature
        0,    // version
        0,    // flags
        0x46, 0, 0, 0, 0, 0, 0, 0, // image data length
        1, 0, 0, 0, // number of entries
        3, // type of entry 0
        1, // flags
        2, // ring
        0, // age
        0, 0, // number of children
        0, 0, // number of dirty children
        1, 0, // number of parents
        0xff, 0xff, 0xff, 0xff, // rank
        0x30, 0, 0, 0, 0, 0, 0, 0, // address
        3, 0, 0, 0, 0, 0, 0, 0, // length
        0x60, 0, 0, 0, 0, 0, 0, 0, // address of the parent
        7, 8, 9, // bytes
    ];

    #[test]
    fn a_message_and_an_image() {
        assert_eq!(message(&MESSAGE, SIZES), Ok((&[][..], Some((Address(0x800), 70)))));
        let mut none = MESSAGE;
        none[1..9].fill(0xff);
        assert_eq!(message(&none, SIZES).unwrap().1, None);
        let entry = CacheEntry { kind: 3, address: Address(0x30), bytes: &[7, 8, 9] };
        assert_eq!(image(&seal(IMAGE.to_vec()), SIZES), Ok((&[][..], vec![entry])));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(text in near(&MESSAGE), bytes in near_sealed(&IMAGE), sizes in any_sizes()) {
            let _ = message(&text, sizes);
            let _ = image(&bytes, sizes);
        }
    }
}
