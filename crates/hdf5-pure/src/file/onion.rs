//! The revisions of a file that was written through the onion driver.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sciformats_core::error::Within;
use sciformats_core::fault::{FaultKind, locate, locate_all};
use sciformats_core::storage::Access;
use sciformats_core::{Error, Fault, Limits, ReadAt, Result, bound};

use crate::codec::fletcher32::checksum;
use crate::spec::onion::{OnionHeader, OnionRecord, Sum, history};

/// The extension of the file with the revisions, which follows the whole name of the original.
const EXTENSION: &str = "onion";

/// A revision of a file.
///
/// ```
/// use hdf5_pure::Revision;
///
/// let revision =
///     Revision { number: 1, parent: 0, time: "20261125T120000".into(), length: 4096, comment: String::new() };
/// assert!(revision.number > revision.parent);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Its number, from 0 on.
    pub number: u64,
    /// The number of the revision that it was made from.
    pub parent: u64,
    /// The time of its creation, as `YYYYMMDDTHHMMSS`.
    pub time: String,
    /// The number of bytes of the file.
    pub length: u64,
    /// What its author says about it.
    pub comment: String,
}

/// The revisions that the file `NAME.onion` keeps of the file `NAME`. The original is the state before the first revision.
///
/// ```no_run
/// use hdf5_pure::{File, OpenOptions, Revisions};
///
/// let revisions = Revisions::open("run.h5")?;
/// for revision in revisions.list()? {
///     let file = File::from_storage(revisions.storage(revision.number)?, &OpenOptions::default())?;
///     println!("{} of {}: {} objects", revision.number, revision.time, file.root()?.links()?.len());
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
pub struct Revisions {
    original: Arc<dyn ReadAt>,
    onion: Arc<dyn ReadAt>,
    header: OnionHeader,
    /// Where the record of each revision is.
    places: Vec<(u64, u64)>,
    limits: Limits,
    sum: Sum,
}

impl Revisions {
    /// Opens the revisions of the file at `path`, which are beside it.
    ///
    /// # Errors
    /// `Io` if one of the two files cannot be read; `Malformed` if the history is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut name = path.as_os_str().to_owned();
        name.push(".");
        name.push(EXTENSION);
        let beside = PathBuf::from(name);
        let access = Access::default();
        Self::of(access.open(path)?, access.open(&beside)?).within(Some(&beside), None)
    }

    /// Opens the revisions of a file in any storage.
    ///
    /// # Errors
    /// `Malformed` if the history is damaged; `LimitExceeded`.
    pub fn of(original: Arc<dyn ReadAt>, onion: Arc<dyn ReadAt>) -> Result<Self> {
        Self::summed(original, onion, checksum)
    }

    fn summed(original: Arc<dyn ReadAt>, onion: Arc<dyn ReadAt>, sum: Sum) -> Result<Self> {
        const HEADER: &str = "onion header";
        let limits = Limits::default();
        let head = onion.read_at(0, bound::addressable(onion.size()).min(OnionHeader::SIZE))?;
        if !head.starts_with(b"OHDH") {
            return Err(Error::not_this_format("revisions of HDF5", &*onion));
        }
        let header = locate_all(HEADER, 0, &head, |i| OnionHeader::parse(i, sum))?;
        let (at, size) = header.history;
        let mut places = Vec::new();
        if size > 0 {
            let len = limits.memory("bytes of the history", size)?;
            places = locate_all("onion history", at, &onion.read_at(at, len)?, |i| history(i, sum))?;
        }
        Ok(Self { original, onion, header, places, limits, sum })
    }

    fn record(&self, number: u64) -> Result<OnionRecord> {
        let place = usize::try_from(number).ok().and_then(|number| self.places.get(number));
        let &(at, size) = place.ok_or_else(|| Error::not_found("revision", number.to_string()))?;
        let len = self.limits.memory("bytes of a revision's record", size)?;
        let record =
            locate("onion record", at, &self.onion.read_at(at, len)?, |i| OnionRecord::parse(i, self.sum))?;
        if record.number != number || record.page_size != self.header.page_size {
            let kind = FaultKind::Mismatch { expected: number, found: record.number };
            return Err(Fault::new("number of the revision", kind).at("onion record", at));
        }
        Ok(record)
    }

    /// Returns all revisions in the order of their numbers.
    ///
    /// # Errors
    /// `Malformed` if the record of one of them is damaged.
    pub fn list(&self) -> Result<Vec<Revision>> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
        (0..self.places.len() as u64)
            .map(|number| {
                let record = self.record(number)?;
                Ok(Revision {
                    number,
                    parent: record.parent,
                    time: text(&record.time),
                    length: record.length,
                    comment: text(&record.comment),
                })
            })
            .collect()
    }

    /// Returns the bytes of the file in one of its revisions, with which [`File::from_storage`](crate::File::from_storage) opens
    /// it.
    ///
    /// # Errors
    /// `NotFound` if there is no such revision; `Malformed` if its record is damaged.
    pub fn storage(&self, number: u64) -> Result<Arc<dyn ReadAt>> {
        let record = self.record(number)?;
        let pages: BTreeMap<u64, u64> = record.pages.iter().copied().collect();
        let (length, page) = (record.length, u64::from(record.page_size));
        let end = self.header.original.min(self.original.size());
        Ok(Arc::new(Peeled {
            original: self.original.clone(),
            onion: self.onion.clone(),
            pages,
            length,
            page,
            end,
        }))
    }
}

impl std::fmt::Debug for Revisions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Revisions").field("count", &self.places.len()).finish_non_exhaustive()
    }
}

/// The bytes of one revision: pages of the onion file, bytes of the original, and zeros behind its end.
struct Peeled {
    original: Arc<dyn ReadAt>,
    onion: Arc<dyn ReadAt>,
    pages: BTreeMap<u64, u64>,
    length: u64,
    page: u64,
    /// The length of the original.
    end: u64,
}

impl ReadAt for Peeled {
    fn size(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        let end = sciformats_core::storage::check_range(self.length, offset, len as u64)?;
        let mut out = Vec::new();
        let mut at = offset;
        while at < end {
            let within = at.checked_rem(self.page).unwrap_or(0); // a bound: no page is empty
            let count = bound::left(self.page, within).min(bound::left(end, at));
            let first = bound::left(at, within);
            match self.pages.get(&first) {
                Some(&place) => {
                    // The last page of an onion file may be short.
                    let from = bound::sum(place, within);
                    let there = bound::left(self.onion.size(), from).min(count);
                    out.extend_from_slice(&self.onion.read_at(from, bound::addressable(there))?);
                    out.resize(bound::sum(out.len(), bound::addressable(bound::left(count, there))), 0);
                }
                None => {
                    let there = bound::left(self.end, at).min(count);
                    if there > 0 {
                        out.extend_from_slice(&self.original.read_at(at, bound::addressable(there))?);
                    }
                    out.resize(bound::sum(out.len(), bound::addressable(bound::left(count, there))), 0);
                }
            }
            at = bound::sum(at, count);
        }
        Ok(Cow::Owned(out))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::arithmetic_side_effects)]

    use super::*;
    use crate::spec::onion::tests::{record, seal, sum};

    /// An onion file with two revisions of a file of 10 bytes, with pages of 4 bytes.
    fn sample() -> Revisions {
        let original: Arc<dyn ReadAt> = Arc::new(b"0123456789".to_vec());
        let mut onion = vec![0; OnionHeader::SIZE];
        let pages = onion.len() as u64;
        onion.extend(b"abcdWXYZ");
        let mut places = Vec::new();
        for (number, length, changed) in
            [(0, 12, vec![(4, pages)]), (1, 14, vec![(4, pages), (12, pages + 4)])]
        {
            let bytes = record(&OnionRecord {
                number,
                parent: 0,
                time: *b"20261125T120000\0",
                length,
                page_size: 4,
                pages: changed,
                comment: b"changed".to_vec(),
            });
            places.push((onion.len() as u64, bytes.len() as u64));
            onion.extend(bytes);
        }
        let mut all = [&b"OWHS\x01\0\0\0"[..], &2u64.to_le_bytes()].concat();
        for (at, size) in places {
            all.extend(at.to_le_bytes());
            all.extend(size.to_le_bytes());
            all.extend([0; 4]);
        }
        let (at, all) = (onion.len() as u64, seal(all));
        let head = [
            &b"OHDH\x01\0\0\0"[..],
            &4u32.to_le_bytes(),
            &10u64.to_le_bytes(),
            &at.to_le_bytes(),
            &(all.len() as u64).to_le_bytes(),
        ];
        let head = seal(head.concat());
        onion[..head.len()].copy_from_slice(&head);
        onion.extend(all);
        Revisions::summed(original, Arc::new(onion), sum).unwrap()
    }

    #[test]
    fn each_revision_has_its_bytes() {
        let revisions = sample();
        let list = revisions.list().unwrap();
        assert_eq!((list.len(), list[1].length, list[1].comment.as_str()), (2, 14, "changed"));
        let first = revisions.storage(0).unwrap();
        assert_eq!(*first.read_at(0, 12).unwrap(), *b"0123abcd89\0\0");
        let second = revisions.storage(1).unwrap();
        assert_eq!(*second.read_at(2, 12).unwrap(), *b"23abcd89\0\0WX");
        assert!(second.read_at(10, 5).is_err() && revisions.storage(2).is_err());
    }
}
