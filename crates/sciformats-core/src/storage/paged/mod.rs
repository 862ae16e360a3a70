//! A file whose short reads come from pages that are kept.

mod passing;
mod staying;

use std::borrow::Cow;
use std::path::Path;

use super::{FileStorage, ReadAt, check_range};
use crate::bound;
use crate::error::Result;
use passing::Passing;
use staying::Staying;

/// Reads from this length on are made as they are asked for: a call costs less than going through pages.
const LONG: usize = 8 << 10;

/// A file that is read with the system's own calls, its short reads in pages that are kept.
///
/// Formats are read in many short steps, most of them beside the one before. A call of the system for each would cost more than
/// parsing what it brings, and a map would make the file's changes by other processes undefined behaviour. So a page of 4 KiB is
/// read at the first touch, and 256 KiB at once where half of their pages were touched or reads go through the file in its order.
/// Up to 128 MiB of pages stay while the file is open, and what is read from them is borrowed. Beyond that 8 MiB are kept, in
/// pages of 64 KiB, each until another takes its place, and a single read somewhere goes to the file directly. So do long reads,
/// into the caller's memory.
///
/// When the file is closed, up to 64 MiB of the memory are left to the files that are opened next, because touching fresh
/// memory takes longer than reading into it: [`release_memory`](super::release_memory) returns it to the system.
///
/// A page shows the file as it was when the page was read. What another process writes meanwhile is seen in some pages and
/// not in others; read a file that grows through [`FileStorage`], which keeps nothing.
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

    /// The bytes of a range, if they stay in one piece.
    fn lent(&self, offset: u64, len: usize) -> Result<Option<&[u8]>> {
        check_range(self.file.size(), offset, len as u64)?;
        if len == 0 || len >= LONG { Ok(None) } else { self.staying.get(&self.file, offset, len) }
    }

    /// Fills `out`, page by page.
    fn copy(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        check_range(self.file.size(), offset, out.len() as u64)?;
        let (mut at, mut rest) = (offset, out);
        while !rest.is_empty() {
            let in_page = staying::PAGE - bound::addressable(at % staying::PAGE as u64);
            let (part, others) = rest.split_at_mut(rest.len().min(in_page));
            match self.staying.get(&self.file, at, part.len())? {
                Some(bytes) => part.copy_from_slice(bytes),
                None => self.passing.copy(&self.file, at, part)?,
            }
            at += part.len() as u64;
            rest = others;
        }
        Ok(())
    }
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
        if out.len() >= LONG { self.file.read_into(offset, out) } else { self.copy(offset, out) }
    }

    fn read_with<'a>(&'a self, offset: u64, len: usize, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        match self.lent(offset, len)? {
            Some(bytes) => Ok(bytes),
            None => super::fill_buffer(self, offset, len, buffer),
        }
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

    /// Numbers that look random and are the same in each run.
    fn random(state: &mut u64) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*state >> 33) as usize
    }

    #[test]
    fn reads_of_every_kind_agree_with_the_file() {
        // More pages than stay, and more of the others than are kept; the last one is short.
        let (_dir, bytes, paged) = file((128 << 20) + 4 * (8 << 20) + 100);
        std::thread::scope(|scope| {
            for thread in 1..4 {
                let (bytes, paged) = (&bytes, &paged);
                scope.spawn(move || {
                    let (mut state, mut buffer) = (thread, Vec::new());
                    for round in 0..6000 {
                        // Reads that follow each other, and reads anywhere.
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
        // The file changes below the page that is kept; the others show it.
        std::fs::write(dir.path().join("file"), vec![0xEE; bytes.len()]).unwrap();
        assert_eq!(*paged.read_at(100, 4).unwrap(), bytes[100..104]);
        assert_eq!(*paged.read_at(PAGE as u64, 2).unwrap(), [0xEE; 2]);
        // That one is kept as well, and the others show the file as it is by now.
        std::fs::write(dir.path().join("file"), vec![0xDD; bytes.len()]).unwrap();
        assert_eq!(*paged.read_at(PAGE as u64 + 9, 2).unwrap(), [0xEE; 2]);
        assert_eq!(*paged.read_at(30 * PAGE as u64, 2).unwrap(), [0xDD; 2]);
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
