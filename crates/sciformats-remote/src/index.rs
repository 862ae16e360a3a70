//! An index beside a file, which contains its structures so that it can be opened without a request.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | signature `\x89SFI\r\n\x1a\n` |
//! | 8 | 4 | version of this layout: 2; version 1 lacks the URL |
//! | 12 | 8 | size of the remote file |
//! | 20 | 4 + n | length of the entity tag, and the tag; length 0 if there is none |
//! | | 4 + n | the same for the date of the last change, as the server writes it |
//! | | 4 + n | the same for the URL, without its password and its query |
//! | | 4 | number of extents |
//! | | 12 each | offset in the file (8 bytes) and length (4) of each extent, ascending, disjoint |
//! | | | the bytes of the extents, one after another |
//! | | 8 | FNV-1a of everything before, 64 bits |
//!
//! Numbers are little-endian. An index is only used for a file of the same size, and every request for more
//! of the file asks for the version of the index. If the URL is another one, the server is asked first whether the file is the same.
//! The index does not contain the format of the file.

use std::ops::Range;
use std::path::Path;

use nom::bytes::complete::take;
use nom::multi::{count, length_data};
use nom::number::complete::{le_u32, le_u64};
use sciformats_core::fault::{FaultKind, Parsed, constant, fail, field, locate_all};
use sciformats_core::storage::{Durability, FileStorage, Replacement};
use sciformats_core::{Error, Limits, ReadAt, Result, WriteAt, bound};

use crate::http::Version;

const SIGNATURE: u64 = u64::from_le_bytes(*b"\x89SFI\r\n\x1a\n");
const VERSION: u32 = 2;
/// The version without the URL.
const NAMELESS: u32 = 1;

/// The structures of a file.
///
/// ```
/// use sciformats_remote::http::Version;
/// use sciformats_remote::index::Index;
///
/// let file: Vec<u8> = (0..100).collect();
/// let index = Index::of(&file, &[0..8, 50..60], Version::default())?;
/// assert_eq!(Index::parse(&index.encode()?)?, index);
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Index {
    /// The size of the file in bytes.
    pub size: u64,
    /// The version of the file, as far as it was known.
    pub version: Version,
    /// The URL without its password and its query, if it is known.
    pub url: Option<String>,
    /// Offsets and bytes of the extents, in ascending order and without overlaps.
    pub extents: Vec<(u64, Vec<u8>)>,
}

impl Index {
    /// Creates the index that contains `ranges` of a file.
    ///
    /// # Errors
    ///
    /// The error of reading the file.
    pub fn of(file: &(impl ReadAt + ?Sized), ranges: &[Range<u64>], version: Version) -> Result<Self> {
        let mut sorted = ranges.to_vec();
        sorted.sort_unstable_by_key(|range| range.start);
        let mut extents: Vec<(u64, Vec<u8>)> = Vec::new();
        for range in sorted {
            let known = extents.last().map_or(0, |(start, bytes)| start + bytes.len() as u64);
            let start = range.start.max(known);
            let Some(len) = range.end.checked_sub(start).and_then(|len| usize::try_from(len).ok()) else {
                continue;
            };
            let bytes = file.read_at(start, len)?;
            match extents.last_mut() {
                Some((_, last)) if start == known => last.extend_from_slice(&bytes),
                _ => extents.push((start, bytes.into_owned())),
            }
        }
        extents.retain(|(_, bytes)| !bytes.is_empty());
        Ok(Self { size: file.size(), version, url: None, extents })
    }

    /// Reads an index from a file.
    ///
    /// # Errors
    /// `Io`, and as [`parse`](Self::parse).
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let file = FileStorage::open(path)?;
        let len = Limits::default().memory("bytes of an index", file.size())?;
        Self::parse(&file.read_at(0, len)?)
    }

    /// Writes the index to a file, which replaces an older one in one step.
    ///
    /// # Errors
    /// `Io`, and as [`encode`](Self::encode).
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let bytes = self.encode()?;
        let mut file = Replacement::create(path)?;
        file.write_at(0, &bytes)?;
        file.finish(Durability::Process)?;
        Ok(())
    }

    /// Parses the bytes of an index.
    ///
    /// # Errors
    /// [`Error::Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let split = bound::left(bytes.len(), 8);
        let (body, sum) = bytes.split_at_checked(split).unwrap_or((bytes, &[]));
        let index = locate_all("index", 0, body, Self::body)?;
        if sum != checksum(body).to_le_bytes() {
            let fault = sciformats_core::Fault::new("checksum", FaultKind::Rule("does not fit the bytes"));
            return Err(fault.at("index", split as u64));
        }
        Ok(index)
    }

    fn body(i: &[u8]) -> Parsed<'_, Self> {
        let (i, _) = constant("signature", le_u64, SIGNATURE)(i)?;
        let (i, layout) = field("version", le_u32)(i)?;
        if !matches!(layout, NAMELESS | VERSION) {
            return fail(i, FaultKind::Rule("has a version that this program does not know"));
        }
        let (i, size) = field("size of the file", le_u64)(i)?;
        let (i, etag) = field("entity tag", length_data(le_u32))(i)?;
        let (i, modified) = field("date of the last change", length_data(le_u32))(i)?;
        let (i, url) = match layout {
            NAMELESS => (i, &[][..]),
            _ => field("URL", length_data(le_u32))(i)?,
        };
        let (i, number) = field("number of extents", le_u32)(i)?;
        if (i.len() as u64) / 12 < u64::from(number) {
            return fail(i, FaultKind::Truncated);
        }
        let (mut i, places) = field("extents", count((le_u64, le_u32), number as usize))(i)?;
        let (mut extents, mut known) = (Vec::with_capacity(places.len()), 0);
        for (offset, len) in places {
            let end = offset.checked_add(len.into()).filter(|&end| offset >= known && end <= size);
            let Some(end) = end.filter(|_| len > 0) else {
                return fail(
                    i,
                    FaultKind::Rule("has extents that are not in ascending order inside the file"),
                );
            };
            let (rest, bytes) = field("bytes of an extent", take(len))(i)?;
            extents.push((offset, <[u8]>::to_vec(bytes)));
            (i, known) = (rest, end);
        }
        let text = |bytes: &[u8]| match bytes {
            [] => None,
            bytes => Some(String::from_utf8_lossy(bytes).into_owned()),
        };
        let version = Version { etag: text(etag), modified: text(modified) };
        Ok((i, Self { size, version, url: text(url), extents }))
    }

    /// Returns the bytes of the index.
    ///
    /// # Errors
    /// [`Error::Usage`] if an extent or their number does not fit 32 bits.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let short = |n: usize| {
            u32::try_from(n).map_err(|_| Error::usage("extents", "are more or longer than an index can hold"))
        };
        let mut out = Vec::new();
        out.extend(SIGNATURE.to_le_bytes());
        out.extend(VERSION.to_le_bytes());
        out.extend(self.size.to_le_bytes());
        for text in [&self.version.etag, &self.version.modified, &self.url] {
            let text = text.as_deref().unwrap_or_default().as_bytes();
            out.extend(short(text.len())?.to_le_bytes());
            out.extend(text);
        }
        out.extend(short(self.extents.len())?.to_le_bytes());
        for (offset, bytes) in &self.extents {
            out.extend(offset.to_le_bytes());
            out.extend(short(bytes.len())?.to_le_bytes());
        }
        for (_, bytes) in &self.extents {
            out.extend(bytes);
        }
        let sum = checksum(&out);
        out.extend(sum.to_le_bytes());
        Ok(out)
    }
}

/// Computes FNV-1a.
fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> Index {
        let file: Vec<u8> = (0..200).collect();
        let version = Version { etag: Some("\"1\"".into()), modified: None };
        Index::of(&file, &[100..110, 0..8, 8..12, 105..120, 7..9], version).unwrap()
    }

    #[test]
    fn ranges_become_extents() {
        let extents: Vec<(u64, usize)> =
            index().extents.iter().map(|(at, bytes)| (*at, bytes.len())).collect();
        assert_eq!(extents, [(0, 12), (100, 20)]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sfi");
        index().write(&path).unwrap();
        assert_eq!(Index::read(&path).unwrap(), index());
    }

    #[test]
    fn an_index_without_a_url_is_still_read() {
        let bytes = [
            &b"\x89SFI\r\n\x1a\n"[..], // signature
            &[1, 0, 0, 0],             // version
            &[3, 0, 0, 0, 0, 0, 0, 0], // size of the file
            &[0, 0, 0, 0],             // entity tag
            &[0, 0, 0, 0],             // date of the last change
            &[1, 0, 0, 0],             // number of extents
            &[1, 0, 0, 0, 0, 0, 0, 0], // offset
            &[2, 0, 0, 0],             // length
            &[7, 8],                   // bytes
        ]
        .concat();
        let whole = [&bytes[..], &checksum(&bytes).to_le_bytes()].concat();
        let index = Index { size: 3, version: Version::default(), url: None, extents: vec![(1, vec![7, 8])] };
        assert_eq!(Index::parse(&whole).unwrap(), index);
        let named = Index { url: Some("https://data.example/run.h5".into()), ..index };
        assert_eq!(Index::parse(&named.encode().unwrap()).unwrap(), named);
    }

    #[test]
    fn damaged_bytes_are_errors() {
        let bytes = index().encode().unwrap();
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = bytes.clone();
                if damaged[at] != value {
                    damaged[at] = value;
                    assert!(Index::parse(&damaged).is_err(), "byte {at}");
                }
            }
            assert!(Index::parse(&bytes[..at]).is_err());
        }
    }
}
