//! Files whose short reads use pages that are kept.

mod passing;
mod staying;

use std::borrow::Cow;
use std::path::Path;

use super::{FileStorage, ReadAt, check_range};
use crate::bound;
use crate::error::Result;
use passing::Passing;
use staying::{Reason, Staying};

/// Reads of at least this size are not made in pages, because a system call costs less.
const LONG: usize = 8 << 10;

/// Elements of fewer bytes may stay.
const RUN: usize = 1 << 10;

/// A file that is read with system calls. Short reads use pages that are kept.
///
/// Structures of formats are read in many short steps, most of which are next to the one before. A system call for each of them
/// would cost more than parsing the bytes, and with a memory map, changes of the file by other processes would be undefined
/// behaviour. [`read_at`](ReadAt::read_at) therefore reads a page of 4 KiB when one of its bytes is first requested. A block of 256 KiB
/// is read at once if half of its pages were requested, or if structures are read sequentially. Up to 128 MiB of these pages stay in
/// memory while the file is open, and are borrowed.
///
/// Elements, which [`read_into`](ReadAt::read_into) and [`read_with`](ReadAt::read_with) copy into the caller's memory, are each likely
/// to be requested once, and the system has them in memory as well. If short reads follow each other, more and more is read at once, up to
/// 64 KiB, and up to 4 MiB of it are kept until other bytes need their place. Other reads are system calls of their own. Only if runs of less
/// than 1 KiB are read here and there until half of the pages of a block were requested, the block stays, because a call for each would
/// take twice as long: up to 32 MiB in all files of the process, and up to 64 MiB if many reads find their elements there. Long reads
/// always go to the file directly.
///
/// When the file is closed, up to 64 MiB of the memory are kept for the files that are opened next, because the first use of
/// fresh memory takes longer than reading into it. [`release_memory`](super::release_memory) returns this memory to the system.
///
/// A page shows the file in the state when the page was read. What another process writes later is visible in some pages and not
/// in others. Files that grow should be read through [`FileStorage`], which keeps nothing.
///
/// ```
/// use sciformats_core::ReadAt;
/// use sciformats_core::storage::Paged;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("survey.bin");
/// # std::fs::write(&path, vec![7; 100_000]).unwrap();
/// let file = Paged::open(&path)?;
/// let (magic, length) = (file.read_at(0, 8)?, file.read_at(8, 8)?); // one call of the system
/// # assert_eq!((&*magic, &*length), (&[7; 8][..], &[7; 8][..]));
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Paged {
    file: FileStorage,
    staying: Staying,
    passing: Passing,
}

impl Paged {
    /// Opens an existing file for reading.
    ///
    /// # Errors
    /// `Io`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::from(FileStorage::open(path)?))
    }

    /// Returns the bytes of a structure, if they stay in memory in one piece.
    fn lent(&self, offset: u64, len: usize) -> Result<Option<&[u8]>> {
        check_range(self.file.size(), offset, len as u64)?;
        if len == 0 || len >= LONG {
            Ok(None)
        } else {
            self.staying.get(&self.file, offset, len, Reason::Structures)
        }
    }

    /// Fills `out` with the bytes of a structure, page by page.
    fn copy(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        for (at, part) in parts(offset, out, staying::PAGE) {
            match self.staying.get(&self.file, at, part.len(), Reason::Structures)? {
                Some(bytes) => part.copy_from_slice(bytes),
                None if self.staying.is_full() && self.passing.copy(&self.file, at, part)? => {}
                None => self.file.read_into(at, part)?,
            }
        }
        Ok(())
    }

    /// Fills `out` with elements.
    fn elements(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let short = out.len() < RUN;
        for (at, part) in parts(offset, out, passing::PAGE) {
            if self.passing.copy(&self.file, at, part)? {
                continue;
            }
            // A run of a few elements, among others that are read, costs less in memory than a call.
            let found =
                if short { self.staying.get(&self.file, at, part.len(), Reason::Elements)? } else { None };
            match found {
                Some(bytes) => part.copy_from_slice(bytes),
                None => self.file.read_into(at, part)?,
            }
        }
        Ok(())
    }
}

/// Cuts a range at the borders of pages.
fn parts(offset: u64, out: &mut [u8], page: usize) -> impl Iterator<Item = (u64, &mut [u8])> {
    let (mut at, mut rest) = (offset, out);
    std::iter::from_fn(move || {
        let in_page = page - bound::addressable(at % page as u64);
        let len = rest.len().min(in_page);
        let (part, others) = std::mem::take(&mut rest).split_at_mut_checked(len).filter(|_| len > 0)?;
        let start = at;
        at += len as u64;
        rest = others;
        Some((start, part))
    })
}

impl From<FileStorage> for Paged {
    fn from(file: FileStorage) -> Self {
        let staying = Staying::new(file.size());
        Self { file, staying, passing: Passing::new() }
    }
}

impl ReadAt for Paged {
    fn size(&self) -> u64 {
        self.file.size()
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        if let Some(bytes) = self.lent(offset, len)? {
            return Ok(Cow::Borrowed(bytes));
        }
        if len >= LONG {
            return self.file.read_at(offset, len);
        }
        let mut out = vec![0; len];
        self.copy(offset, &mut out)?;
        Ok(Cow::Owned(out))
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        if out.len() >= LONG {
            return self.file.read_into(offset, out);
        }
        check_range(self.file.size(), offset, out.len() as u64)?;
        // Elements may be in a page that was read for the structures beside them.
        if let Some(bytes) = self.staying.kept_elements(offset, out.len()) {
            out.copy_from_slice(bytes);
            return Ok(());
        }
        self.elements(offset, out)
    }

    fn read_with<'a>(&'a self, offset: u64, len: usize, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        if let Some(bytes) = self.staying.kept_elements(offset, len) {
            return Ok(bytes);
        }
        super::fill_buffer(self, offset, len, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use staying::PAGE;

    fn file(len: usize) -> (tempfile::TempDir, Vec<u8>, Paged) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes: Vec<u8> = (0..len).map(|i| ((i / 3) ^ (i >> 9)) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let paged = Paged::open(&path).unwrap();
        (dir, bytes, paged)
    }

    /// Returns numbers that look random and are the same in each run.
    fn random(state: &mut u64) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*state >> 33) as usize
    }

    #[test]
    fn reads_of_every_kind_agree_with_the_file() {
        // More pages than can stay, and more than the cache can hold; the last page is short.
        let (_dir, bytes, paged) = file((128 << 20) + 4 * (8 << 20) + 100);
        std::thread::scope(|scope| {
            for thread in 1..4 {
                let (bytes, paged) = (&bytes, &paged);
                scope.spawn(move || {
                    let (mut state, mut buffer) = (thread, Vec::new());
                    for round in 0..6000 {
                        // Sequential reads, and reads at any position.
                        let at = if round % 3 == 0 {
                            random(&mut state) % bytes.len()
                        } else {
                            round * 9000 % bytes.len()
                        };
                        let len = (random(&mut state) % (48 << 10)).min(bytes.len() - at);
                        let expected = &bytes[at..at + len];
                        let offset = at as u64;
                        assert_eq!(&*paged.read_at(offset, len).unwrap(), expected);
                        assert_eq!(paged.read_with(offset, len, &mut buffer).unwrap(), expected);
                        let mut out = vec![0; len];
                        paged.read_into(offset, &mut out).unwrap();
                        assert_eq!(out, expected);
                    }
                });
            }
        });
        assert!(paged.read_at(bytes.len() as u64 - 1, 2).is_err());
    }

    #[test]
    fn pages_are_read_once() {
        let (dir, bytes, paged) = file(PAGE * 40);
        assert_eq!(*paged.read_at(0, 4).unwrap(), bytes[..4]);
        // The file changes while this page is kept; other pages show the new bytes.
        std::fs::write(dir.path().join("file"), vec![0xEE; bytes.len()]).unwrap();
        assert_eq!(*paged.read_at(100, 4).unwrap(), bytes[100..104]);
        assert_eq!(*paged.read_at(PAGE as u64, 2).unwrap(), [0xEE; 2]);
        // This page is kept too, and the other pages show the present state of the file.
        std::fs::write(dir.path().join("file"), vec![0xDD; bytes.len()]).unwrap();
        assert_eq!(*paged.read_at(PAGE as u64 + 9, 2).unwrap(), [0xEE; 2]);
        assert_eq!(*paged.read_at(30 * PAGE as u64, 2).unwrap(), [0xDD; 2]);
    }

    #[test]
    fn only_short_elements_that_are_numerous_stay() {
        let _alone = staying::alone();
        // Reads of 5000 bytes, and of 40 bytes in few pages of each block or one after the other, do not stay.
        let few = |i: usize| (i % 20 * PAGE * 16 + i * 40, 40);
        let kinds: [&dyn Fn(usize) -> (usize, usize); 3] =
            [&|i| (i * 7919 * 13 % (PAGE * 398), 5000), &few, &|i| (i * 40, 40)];
        for (number, kind) in kinds.into_iter().enumerate() {
            let (_dir, bytes, paged) = file(PAGE * 400);
            let mut buffer = Vec::new();
            for (at, len) in (0..20).map(kind) {
                let mut out = vec![0; len];
                paged.read_into(at as u64, &mut out).unwrap();
                assert_eq!(out, bytes[at..at + len]);
                assert_eq!(paged.read_with(at as u64, len, &mut buffer).unwrap(), out);
            }
            let stays = (0..bytes.len()).step_by(PAGE).any(|at| paged.staying.kept(at as u64, 1).is_some());
            assert_eq!(stays, number == 1, "{number}: a page of which something is requested again");
        }
        // A page that was read for a structure serves the elements beside it.
        let (_dir, bytes, paged) = file(PAGE * 4);
        assert_eq!(*paged.read_at(0, 1).unwrap(), bytes[..1]);
        assert_eq!(paged.read_with(50, 40, &mut Vec::new()).unwrap(), &bytes[50..90]);
        assert!(paged.staying.kept(50, 40).is_some());
    }

    #[test]
    fn a_file_that_was_cut_is_an_error_where_it_is_cut() {
        let (dir, bytes, paged) = file(PAGE * 4);
        let path = dir.path().join("file");
        assert_eq!(*paged.read_at(10, 4).unwrap(), bytes[10..14]);
        std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(PAGE as u64 + 8).unwrap();
        assert!(matches!(paged.read_at(3 * PAGE as u64, 4), Err(crate::Error::Io { .. })));
        assert!(matches!(paged.read_at(3 * PAGE as u64, 4), Err(crate::Error::Io { .. })));
        assert_eq!(*paged.read_at(10, 4).unwrap(), bytes[10..14]);
    }
}
