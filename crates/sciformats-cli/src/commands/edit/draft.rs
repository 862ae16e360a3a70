//! A draft of a file: changes to it stay in memory.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use sciformats::storage::FileStorage;
use sciformats::{Error, ReadAt, Result, WriteAt};
use sciformats_core::arith::{add, fit, present};
use sciformats_core::bound;

/// The size of the blocks that are copied when a byte in them is written.
const PAGE: u64 = 4096;

/// A file, and the pages that were written to.
#[derive(Debug)]
pub(super) struct Draft {
    file: FileStorage,
    len: u64,
    /// The smallest size that the draft has had. Bytes of the file beyond it are no longer part of the draft.
    kept: u64,
    pages: HashMap<u64, Vec<u8>>,
}

impl Draft {
    /// Opens a draft of the file at `path`, which is only read.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let file = FileStorage::open(path)?;
        let len = file.size();
        Ok(Self { file, len, kept: len, pages: HashMap::new() })
    }

    /// Reads the bytes of a page, starting at `within`.
    fn part(&self, page: u64, within: u64, out: &mut [u8]) -> Result<()> {
        if let Some(bytes) = self.pages.get(&page) {
            let from: usize = fit(within, "place in a page")?;
            let held = bytes.get(from..add(from, out.len())?);
            out.copy_from_slice(present(held, "part of a page")?);
            return Ok(());
        }
        let at = page * PAGE + within;
        let there = bound::addressable(bound::left(self.kept, at)).min(out.len());
        let (stored, beyond) = out.split_at_mut(there);
        beyond.fill(0);
        if stored.is_empty() { Ok(()) } else { self.file.read_into(at, stored) }
    }
}

/// Splits a range into pages: the number of each page, the first byte in it, and the count of bytes.
///
/// # Errors
///
/// `Usage` if the range ends beyond 2^64 bytes.
fn pages(offset: u64, len: usize) -> Result<impl Iterator<Item = (u64, u64, usize)>> {
    let end = offset.checked_add(len as u64);
    let end = end.ok_or_else(|| Error::usage("range", "ends beyond 2^64 bytes"))?;
    let mut at = offset;
    Ok(std::iter::from_fn(move || {
        let (page, within) = (at / PAGE, at % PAGE);
        let count = (PAGE - within).min(end - at);
        at += count;
        // A page is always small enough to be addressed.
        (count > 0).then_some((page, within, bound::addressable(count)))
    }))
}

impl ReadAt for Draft {
    fn size(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        let mut out = vec![0; len];
        self.read_into(offset, &mut out)?;
        Ok(Cow::Owned(out))
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        sciformats::storage::check_range(self.len, offset, out.len() as u64)?;
        let mut rest = out;
        for (page, within, count) in pages(offset, rest.len())? {
            let (now, later) = rest.split_at_mut(count);
            self.part(page, within, now)?;
            rest = later;
        }
        Ok(())
    }
}

impl WriteAt for Draft {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        for (page, within, count) in pages(offset, bytes.len())? {
            let (now, later) = rest.split_at(count);
            if !self.pages.contains_key(&page) {
                let mut copy = vec![0; PAGE as usize];
                self.part(page, 0, &mut copy)?;
                self.pages.insert(page, copy);
            }
            let held = self.pages.get_mut(&page).map(Vec::as_mut_slice).unwrap_or_default();
            held.iter_mut().skip(within as usize).zip(now).for_each(|(to, byte)| *to = *byte);
            rest = later;
        }
        self.len = self.len.max(add(offset, bytes.len() as u64)?);
        Ok(())
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        if size < self.len {
            self.kept = self.kept.min(size);
            self.pages.retain(|&page, _| page * PAGE < size);
            if let Some(last) = self.pages.get_mut(&(size / PAGE)) {
                last.iter_mut().skip((size % PAGE) as usize).for_each(|byte| *byte = 0);
            }
        }
        self.len = size;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_as_a_file_would_be(
            start in 0usize..20_000,
            changes in proptest::collection::vec((0u64..20_000, 0usize..9_000, any::<bool>()), 0..12),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("f");
            let mut twin: Vec<u8> = (0..start).map(|i| (i % 251) as u8).collect();
            std::fs::write(&path, &twin).unwrap();
            let mut draft = Draft::of(&path).unwrap();
            for (at, len, cut) in changes {
                if cut {
                    draft.set_size(at).unwrap();
                    twin.resize(at as usize, 0);
                } else if len > 0 {
                    draft.write_at(at, &vec![7; len]).unwrap();
                    twin.resize(twin.len().max(at as usize + len), 0);
                    twin[at as usize..at as usize + len].fill(7);
                }
                prop_assert_eq!(draft.size(), twin.len() as u64);
                prop_assert!(*draft.read_at(0, twin.len()).unwrap() == twin[..]);
            }
            prop_assert_eq!(std::fs::read(&path).unwrap().len(), start);
        }
    }
}
