//! A file that is mapped as soon as it is worth it.
//!
//! Mapping a file, making some of its pages accessible and taking all that back costs as much as dozens of short reads:
//! too much for one number of one dataset, nothing for a hundred thousand objects.

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use sciformats_core::storage::{FileStorage, Mapped};
use sciformats_core::{ReadAt, Result};

/// Reads before the file is mapped.
const READS: u32 = 64;

/// A file, and its map once there is one.
#[derive(Debug)]
pub(crate) struct Lazy {
    file: FileStorage,
    /// None if it cannot be mapped.
    map: OnceLock<Option<Mapped>>,
    reads: AtomicU32,
}

impl Lazy {
    /// Opens the file at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = FileStorage::open(path)?;
        Ok(Self { file, map: OnceLock::new(), reads: AtomicU32::new(0) })
    }

    /// The map, which is made if there is none. A file that has grown since it was opened is as long as it was.
    fn map(&self) -> Option<&Mapped> {
        let fits = |map: &Mapped| map.len() >= self.file.len();
        self.map.get_or_init(|| Mapped::of(self.file.file()).ok().filter(fits)).as_ref()
    }

    /// The map, if there have been enough reads for one.
    fn worth_it(&self) -> Option<&Mapped> {
        if self.reads.load(Ordering::Relaxed) < READS {
            self.reads.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        self.map()
    }
}

impl ReadAt for Lazy {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        sciformats_core::storage::check_range(self.len(), offset, len as u64)?;
        match self.worth_it() {
            Some(map) => map.read_at(offset, len),
            None => self.file.read_at(offset, len),
        }
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.file.read_into(offset, out)
    }

    fn read_with<'a>(&'a self, offset: u64, len: usize, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        sciformats_core::storage::check_range(self.len(), offset, len as u64)?;
        match self.worth_it() {
            Some(map) => map.read_with(offset, len, buffer),
            None => self.file.read_with(offset, len, buffer),
        }
    }

    fn as_slice(&self) -> Option<&[u8]> {
        let len = usize::try_from(self.len()).ok()?;
        self.map()?.as_slice()?.get(..len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_before_and_after_the_map_agree() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes: Vec<u8> = (0..50_000u32).map(|i| u8::try_from(i / 3 % 256).unwrap()).collect();
        std::fs::write(&path, &bytes).unwrap();
        let file = Lazy::open(&path).unwrap();
        // What is added to the file later is not part of it.
        std::fs::write(&path, [&bytes[..], b"more"].concat()).unwrap();
        let mut buffer = Vec::new();
        for i in 0..200usize {
            let (at, len) = (i * 200, if i % 2 == 0 { 7 } else { 9000 });
            assert_eq!(*file.read_at(at as u64, len).unwrap(), bytes[at..at + len]);
            assert_eq!(file.read_with(at as u64, len, &mut buffer).unwrap(), &bytes[at..at + len]);
            assert!(file.read_at(49_999, 2).is_err() && file.read_with(49_999, 2, &mut buffer).is_err());
        }
        assert_eq!(file.as_slice(), Some(&bytes[..]));
        assert_eq!(file.read_at(0, 3).unwrap(), Cow::Borrowed(&bytes[..3]));
    }
}
