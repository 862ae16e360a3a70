//! A file whose short reads come from pages that are kept.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use super::{FileStorage, ReadAt, check_range};
use crate::error::Result;

/// Bytes of a page.
const PAGE: usize = 16 << 10;

/// Pages that are kept of one file: 8 MiB of them.
const KEPT: u64 = 512;

/// Reads from this length on are made as they are asked for: a call costs less than going through pages.
const LONG: usize = PAGE / 2;

/// Pages that one call reads ahead at most, when reads follow each other.
const AHEAD: u64 = 16;

/// A file that is read with the system's own calls, its short reads in pages of 16 KiB, of which 8 MiB are kept.
///
/// Formats are read in many short steps, most of them beside the one before; a call of the system for each costs more than
/// parsing what it brings. Pages that follow each other are read ahead, more and more of them at once. Long reads go to the
/// file directly, into the caller's memory.
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
    /// Page `n` is kept in slot `n` modulo their number, whatever it takes the place of.
    slots: Box<[RwLock<Slot>]>,
    /// The page after those that were read last.
    next: AtomicU64,
    /// How many they were.
    run: AtomicU64,
}

#[derive(Debug, Default)]
struct Slot {
    number: u64,
    /// None, if nothing was kept here yet.
    bytes: Vec<u8>,
}

impl Slot {
    fn holds(&self, number: u64) -> bool {
        self.number == number && !self.bytes.is_empty()
    }
}

impl Paged {
    /// Opens an existing file for reading.
    ///
    /// # Errors
    /// `Io`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::from(FileStorage::open(path)?))
    }

    /// Where in its page a byte is, and the page's number.
    fn page(offset: u64) -> (u64, usize) {
        let size = PAGE as u64;
        (offset / size, usize::try_from(offset % size).unwrap_or(0))
    }

    /// Hands the bytes of a page from `skip` on to `take`, once the page is there.
    fn with_page<T>(&self, number: u64, take: impl FnOnce(&[u8]) -> T) -> Result<T> {
        let slots = self.slots.len() as u64;
        // A range that passed the check of bounds is not in a file without pages.
        let index = usize::try_from(number.checked_rem(slots).unwrap_or(0)).unwrap_or(0);
        let Some(slot) = self.slots.get(index) else { return Ok(take(&[])) };
        let read = || -> RwLockReadGuard<'_, Slot> { slot.read().unwrap_or_else(PoisonError::into_inner) };
        let kept = read();
        if kept.holds(number) {
            return Ok(take(&kept.bytes));
        }
        drop(kept);
        let mut kept = slot.write().unwrap_or_else(PoisonError::into_inner);
        if !kept.holds(number) {
            self.load(number, &mut kept)?;
        }
        Ok(take(&kept.bytes))
    }

    /// Reads a page into its slot, and those after it into theirs, if the pages before it were the last that were read.
    fn load(&self, number: u64, slot: &mut Slot) -> Result<()> {
        let follows = self.next.load(Ordering::Relaxed) == number;
        let most = (self.slots.len() as u64).min(AHEAD);
        let run = if follows { self.run.load(Ordering::Relaxed).saturating_mul(2).clamp(1, most) } else { 1 };
        let start = number * PAGE as u64;
        let left = usize::try_from(self.file.len().saturating_sub(start)).unwrap_or(usize::MAX);
        let wanted = usize::try_from(run).unwrap_or(1).saturating_mul(PAGE).min(left);
        // A slot whose page could not be read holds none.
        let mut first = std::mem::take(&mut slot.bytes);
        if wanted <= PAGE {
            first.resize(wanted, 0);
            self.file.read_into(start, &mut first)?;
        } else {
            let all = self.file.read_at(start, wanted)?;
            let mut pages = all.chunks(PAGE);
            first.clear();
            first.extend_from_slice(pages.next().unwrap_or_default());
            for (number, page) in (number + 1..).zip(pages) {
                self.keep(number, page);
            }
        }
        (slot.number, slot.bytes) = (number, first);
        self.run.store(run, Ordering::Relaxed);
        self.next.store(number + run, Ordering::Relaxed);
        Ok(())
    }

    /// Keeps a page that was read ahead, unless another thread is at its slot.
    fn keep(&self, number: u64, page: &[u8]) {
        let index = number.checked_rem(self.slots.len() as u64).and_then(|index| usize::try_from(index).ok());
        let slot = index.and_then(|index| self.slots.get(index));
        if let Some(mut slot) = slot.and_then(|slot| slot.try_write().ok()) {
            slot.number = number;
            slot.bytes.clear();
            slot.bytes.extend_from_slice(page);
        }
    }

    /// Fills `out` from pages.
    fn copy(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        check_range(self.file.len(), offset, out.len() as u64)?;
        let (mut number, mut skip) = Self::page(offset);
        let mut rest = out;
        while !rest.is_empty() {
            let len = rest.len().min(PAGE - skip);
            let (part, others) = rest.split_at_mut(len);
            let copied = self.with_page(number, |page| {
                page.get(skip..skip + len).map(|bytes| part.copy_from_slice(bytes)).is_some()
            })?;
            if !copied {
                // Cannot be: the page has every byte of the file in its range.
                self.file.read_into(number * PAGE as u64 + skip as u64, part)?;
            }
            (rest, number, skip) = (others, number + 1, 0);
        }
        Ok(())
    }
}

impl From<FileStorage> for Paged {
    fn from(file: FileStorage) -> Self {
        let slots = file.len().div_ceil(PAGE as u64).min(KEPT);
        let slots = (0..slots).map(|_| RwLock::default()).collect();
        Self { file, slots, next: AtomicU64::new(0), run: AtomicU64::new(0) }
    }
}

impl ReadAt for Paged {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
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
        super::fill_buffer(self, offset, len, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(len: usize) -> (tempfile::TempDir, Vec<u8>, Paged) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes: Vec<u8> = (0..len).map(|i| (i / 3 ^ i >> 9) as u8).collect();
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
        // More pages than are kept, the last one short.
        let (_dir, bytes, paged) = file(KEPT as usize * PAGE * 2 + 100);
        std::thread::scope(|scope| {
            for thread in 1..4 {
                let (bytes, paged) = (&bytes, &paged);
                scope.spawn(move || {
                    let (mut state, mut buffer) = (thread, Vec::new());
                    for round in 0..4000 {
                        // Reads that follow each other, and reads anywhere.
                        let at = if round % 3 == 0 {
                            random(&mut state) % bytes.len()
                        } else {
                            round * 9000 % bytes.len()
                        };
                        let len = (random(&mut state) % (3 * PAGE)).min(bytes.len() - at);
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
    fn pages_are_read_once_and_ahead() {
        let (dir, bytes, paged) = file(PAGE * 40);
        assert_eq!(*paged.read_at(0, 4).unwrap(), bytes[..4]);
        // The file changes below the page that is kept; the others show it.
        std::fs::write(dir.path().join("file"), vec![0xEE; bytes.len()]).unwrap();
        assert_eq!(*paged.read_at(100, 4).unwrap(), bytes[100..104]);
        assert_eq!(*paged.read_at(PAGE as u64, 2).unwrap(), [0xEE; 2]);
        // Two pages came with that one.
        std::fs::write(dir.path().join("file"), vec![0xDD; bytes.len()]).unwrap();
        assert_eq!(*paged.read_at(2 * PAGE as u64, 2).unwrap(), [0xEE; 2]);
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
