//! Onion files, which keep the revisions of an HDF5 file beside it. The standard does not describe them; the layout is that of the
//! C library. Checksums are those of the Fletcher-32 filter, over all bytes before them; the function that computes them is passed, because
//! it is a codec.
//!
//! | offset | size | field of the header |
//! |---|---|---|
//! | 0 | 4 | signature: `OHDH` |
//! | 4 | 1 | version: 1 |
//! | 5 | 3 | flags |
//! | 8 | 4 | page size, a power of 2 |
//! | 12 | 8 | length of the original file |
//! | 20 | 8 | offset of the history |
//! | 28 | 8 | size of the history |
//! | 36 | 4 | checksum |
//!
//! | offset | size | field of the history |
//! |---|---|---|
//! | 0 | 4 | signature: `OWHS` |
//! | 4 | 1 | version: 1 |
//! | 5 | 3 | zeros |
//! | 8 | 8 | number of revisions, n |
//! | 16 | 20·n | per revision: offset (8), size (8) and checksum (4) of its record |
//! | 16 + 20·n | 4 | checksum |
//!
//! | offset | size | field of the record of a revision |
//! |---|---|---|
//! | 0 | 4 | signature: `ORRS` |
//! | 4 | 1 | version: 1 |
//! | 5 | 3 | zeros |
//! | 8 | 8 | number of the revision |
//! | 16 | 8 | number of the revision that it was made from |
//! | 24 | 16 | time of creation, as `YYYYMMDDTHHMMSS` and a NUL |
//! | 40 | 8 | length of the file in this revision |
//! | 48 | 4 | page size |
//! | 52 | 8 | number of pages, n |
//! | 60 | 4 | size of the comment, m |
//! | 64 | 20·n | per page: its offset in the file (8), its offset in the onion file (8), checksum of these (4) |
//! | 64 + 20·n | m | comment, which ends in a NUL |
//! | 64 + 20·n + m | 4 | checksum |

use nom::Parser;
use nom::bytes::complete::take;
use nom::combinator::map_res;
use nom::multi::count;
use nom::number::complete::{le_u32, le_u64};
use sciformats_core::bound;
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};

use super::{signature, version};

/// Computes a checksum.
pub(crate) type Sum = fn(&[u8]) -> u32;

/// The size of an entry of a page.
const ENTRY: usize = 20;
/// The bytes of a record before its pages.
const RECORD: usize = 64;

/// The header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OnionHeader {
    pub(crate) page_size: u32,
    pub(crate) original: u64,
    pub(crate) history: (u64, u64),
}

/// A page that a revision has changed: its offset in the file, and its offset in the onion file.
pub(crate) type Page = (u64, u64);

/// The record of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OnionRecord {
    pub(crate) number: u64,
    pub(crate) parent: u64,
    pub(crate) time: [u8; 16],
    pub(crate) length: u64,
    pub(crate) page_size: u32,
    pub(crate) pages: Vec<Page>,
    pub(crate) comment: Vec<u8>,
}

/// Parses what is followed by its checksum at the end of `whole`.
fn sealed<'a, T>(
    whole: &'a [u8],
    sum: Sum,
    mut parser: impl FnMut(&'a [u8]) -> Parsed<'a, T>,
) -> Parsed<'a, T> {
    let (rest, value) = parser(whole)?;
    let used = whole.get(..bound::left(whole.len(), rest.len())).unwrap_or_default();
    let (after, stored) = field("checksum", le_u32)(rest)?;
    let computed = sum(used);
    if stored != computed {
        let kind = FaultKind::Checksum { stored: stored.into(), computed: computed.into() };
        return field("checksum", |_| fail(rest, kind))(rest);
    }
    Ok((after, value))
}

fn page_size(i: &[u8]) -> Parsed<'_, u32> {
    checked("page size", le_u32, |size| {
        (!size.is_power_of_two()).then_some(FaultKind::Rule("is not a power of 2"))
    })(i)
}

impl OnionHeader {
    pub(crate) const SIZE: usize = 40;

    pub(crate) fn parse(i: &[u8], sum: Sum) -> Parsed<'_, Self> {
        sealed(i, sum, |i| {
            let (i, ()) = signature(b"OHDH")(i)?;
            let (i, _) = version(1)(i)?;
            let (i, _) = field("flags", take(3usize)).parse(i)?;
            let (i, page_size) = page_size(i)?;
            let (i, original) = field("length of the original file", le_u64)(i)?;
            let (i, at) = field("offset of the history", le_u64)(i)?;
            let (i, size) = field("size of the history", le_u64)(i)?;
            Ok((i, Self { page_size, original, history: (at, size) }))
        })
    }
}

/// Parses the history: where the record of each revision is.
pub(crate) fn history(i: &[u8], sum: Sum) -> Parsed<'_, Vec<(u64, u64)>> {
    sealed(i, sum, |i| {
        let (i, ()) = signature(b"OWHS")(i)?;
        let (i, _) = version(1)(i)?;
        let (i, _) = take(3usize)(i)?;
        let (i, number) = checked("number of revisions", le_u64, |&number| {
            (number > (i.len() / ENTRY) as u64).then_some(FaultKind::Truncated)
        })(i)?;
        let place = |i| {
            let (i, at) = field("offset of a revision", le_u64)(i)?;
            let (i, size) = field("size of a revision", le_u64)(i)?;
            let (i, _) = field("checksum of a revision", le_u32)(i)?;
            Ok((i, (at, size)))
        };
        count(place, bound::addressable(number)).parse(i)
    })
}

impl OnionRecord {
    pub(crate) fn parse(i: &[u8], sum: Sum) -> Parsed<'_, Self> {
        sealed(i, sum, |i| {
            let whole = i.len();
            let (i, ()) = signature(b"ORRS")(i)?;
            let (i, _) = version(1)(i)?;
            let (i, _) = take(3usize)(i)?;
            let (i, number) = field("number of the revision", le_u64)(i)?;
            let (i, parent) = field("number of the earlier revision", le_u64)(i)?;
            let (i, time) = field("time of creation", map_res(take(16usize), TryFrom::try_from))(i)?;
            let (i, length) = field("length", le_u64)(i)?;
            let (i, page_size) = page_size(i)?;
            let (i, pages) = checked("number of pages", le_u64, |&pages| {
                (pages > (bound::left(whole, RECORD) / ENTRY) as u64).then_some(FaultKind::Truncated)
            })(i)?;
            let (i, comment) = field("size of the comment", le_u32)(i)?;
            let (i, pages) = count(|i| page(i, page_size, sum), bound::addressable(pages)).parse(i)?;
            let (i, comment) = field("comment", take(comment)).parse(i)?;
            let comment = comment.split(|&byte| byte == 0).next().unwrap_or_default().to_vec();
            Ok((i, Self { number, parent, time, length, page_size, pages, comment }))
        })
    }
}

fn page(i: &[u8], size: u32, sum: Sum) -> Parsed<'_, Page> {
    let entry = i.get(..ENTRY).unwrap_or(i);
    let (_, found) = sealed(entry, sum, |i| {
        let (i, offset) = checked("offset of a page", le_u64, |&offset| {
            (!offset.is_multiple_of(size.into()))
                .then_some(FaultKind::Rule("is not at a multiple of its size"))
        })(i)?;
        let (i, place) = field("place of a page", le_u64)(i)?;
        Ok((i, (offset, place)))
    })?;
    Ok((i.get(ENTRY..).unwrap_or_default(), found))
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate_all;

    use super::*;

    /// A checksum for tests.
    pub(crate) fn sum(bytes: &[u8]) -> u32 {
        bytes.iter().fold(1, |sum: u32, &byte| sum.rotate_left(5) ^ u32::from(byte))
    }

    pub(crate) fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.extend(sum(&bytes).to_le_bytes());
        bytes
    }

    #[test]
    fn a_header() {
        let bytes = seal(
            [
                &b"OHDH"[..],                // signature
                &[1, 0, 0, 0],               // version, flags
                &[0, 16, 0, 0],              // page size
                &[200, 8, 0, 0, 0, 0, 0, 0], // length of the original file
                &[0, 32, 0, 0, 0, 0, 0, 0],  // offset of the history
                &[60, 0, 0, 0, 0, 0, 0, 0],  // its size
            ]
            .concat(),
        );
        assert_eq!(bytes.len(), OnionHeader::SIZE);
        let header = locate_all("onion header", 0, &bytes, |i| OnionHeader::parse(i, sum)).unwrap();
        assert_eq!(header, OnionHeader { page_size: 4096, original: 2248, history: (8192, 60) });
        let mut wrong = bytes.clone();
        wrong[13] ^= 1;
        assert!(locate_all("onion header", 0, &wrong, |i| OnionHeader::parse(i, sum)).is_err());
    }

    /// Returns the bytes of a record.
    pub(crate) fn record(record: &OnionRecord) -> Vec<u8> {
        let mut bytes = [&b"ORRS"[..], &[1, 0, 0, 0]].concat(); // signature, version
        bytes.extend(record.number.to_le_bytes());
        bytes.extend(record.parent.to_le_bytes());
        bytes.extend(record.time);
        bytes.extend(record.length.to_le_bytes());
        bytes.extend(record.page_size.to_le_bytes());
        bytes.extend((record.pages.len() as u64).to_le_bytes());
        bytes.extend((record.comment.len() as u32 + 1).to_le_bytes());
        for (offset, place) in &record.pages {
            bytes.extend(seal([offset.to_le_bytes(), place.to_le_bytes()].concat()));
        }
        bytes.extend(&record.comment);
        bytes.push(0);
        seal(bytes)
    }

    #[test]
    fn a_record() {
        let expected = OnionRecord {
            number: 1,
            parent: 0,
            time: *b"20261125T120000\0",
            length: 5000,
            page_size: 4096,
            pages: vec![(0, 100), (4096, 4196)],
            comment: b"second".to_vec(),
        };
        let bytes = record(&expected);
        assert_eq!(locate_all("onion record", 0, &bytes, |i| OnionRecord::parse(i, sum)).unwrap(), expected);
        for end in 0..bytes.len() {
            assert!(OnionRecord::parse(&bytes[..end], sum).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = OnionHeader::parse(&bytes, sum);
            let _ = history(&bytes, sum);
            let _ = OnionRecord::parse(&bytes, sum);
            let _ = history(&seal([b"OWHS\x01\0\0\0", &bytes[..]].concat()), sum);
            let _ = OnionRecord::parse(&seal([b"ORRS\x01\0\0\0", &bytes[..]].concat()), sum);
        }
    }
}
