//! A file whose short reads come from pages that are kept.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use super::{FileStorage, ReadAt, check_range};
use crate::error::Result;
use crate::{arith, bound};

/// Bytes of a page.
const PAGE: usize = 64 << 10;

/// Pages of a block: 4 MiB, which the system can back with large pages of memory.
const BLOCK: usize = 64;

/// A block of which so many pages were read is read as a whole.
const DENSE: u64 = 8;

/// Blocks of the largest file of which pages stay: one of 256 GiB.
const BLOCKS: u64 = 1 << 16;

/// Pages that stay as long as the file is open: 128 MiB of them.
const STAYING: u64 = 2048;

/// Pages that are kept beside those, each until another takes its place: 8 MiB of them.
const PASSING: u64 = 128;

/// Reads from this length on are made as they are asked for: a call costs less than going through pages.
const LONG: usize = 8 << 10;

/// Pages that one call reads ahead at most, when reads follow each other.
const AHEAD: u64 = 4;

/// A file that is read with the system's own calls, its short reads in pages of 64 KiB.
///
/// Formats are read in many short steps, most of them beside the one before; a call of the system for each costs more than
/// parsing what it brings. Where many pages were read, 4 MiB are read at once. The first 128 MiB of pages stay as long as the file is open, and what is read from one of them is
/// borrowed; of further ones 8 MiB are kept, each until another takes its place; a single read there is made as it is asked for. Long
/// reads go to the file directly, into the caller's memory.
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
    blocks: Box<[OnceLock<Box<Block>>]>,
    /// How many pages stay.
    staying: AtomicU64,
    /// Page `n` is in slot `n` modulo their number, whatever it takes the place of.
    slots: OnceLock<Box<[RwLock<Slot>]>>,
    /// The page that was last looked for in vain.
    last: AtomicU64,
    /// The page after those that were read last.
    next: AtomicU64,
    /// How many they were.
    run: AtomicU64,
}

/// Pages that follow each other.
#[derive(Debug)]
struct Block {
    pages: Box<[OnceLock<Box<[u8]>>]>,
    /// How many pages are there.
    count: AtomicU64,
    /// All of them at once.
    whole: OnceLock<Box<[u8]>>,
}

impl Block {
    fn new() -> Box<Self> {
        let pages = (0..BLOCK).map(|_| OnceLock::new()).collect();
        Box::new(Self { pages, count: AtomicU64::new(0), whole: OnceLock::new() })
    }
}

/// A place for pages that pass.
#[derive(Debug, Default)]
struct Slot {
    number: u64,
    /// None, if nothing was kept here yet.
    bytes: Vec<u8>,
}

impl Paged {
    /// Opens an existing file for reading.
    ///
    /// # Errors
    /// `Io`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::from(FileStorage::open(path)?))
    }

    /// A page's number, and where in the page a byte is.
    fn split(offset: u64) -> (u64, usize) {
        let size = PAGE as u64;
        (offset / size, bound::addressable(offset % size))
    }

    /// A page that stays, read if it is not there and may be.
    fn staying(&self, number: u64) -> Result<Option<&[u8]>> {
        let (at, index) = (number / BLOCK as u64, bound::addressable(number % BLOCK as u64));
        let Some(block) = usize::try_from(at).ok().and_then(|at| self.blocks.get(at)) else {
            return Ok(None);
        };
        let block = block.get_or_init(Block::new);
        if let Some(whole) = block.whole.get() {
            return Ok(whole.chunks(PAGE).nth(index));
        }
        let Some(page) = block.pages.get(index) else { return Ok(None) };
        if let Some(page) = page.get() {
            return Ok(Some(page));
        }
        if self.staying.load(Ordering::Relaxed) >= STAYING {
            return Ok(None);
        }
        if block.count.load(Ordering::Relaxed) >= DENSE {
            self.fill(&block.whole, at * BLOCK as u64, BLOCK)?;
            return Ok(block.whole.get().and_then(|whole| whole.chunks(PAGE).nth(index)));
        }
        if self.fill(page, number, 1)? {
            block.count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(page.get().map(|page| &**page))
    }

    /// Reads pages that stay; whether no other thread was faster.
    fn fill(&self, place: &OnceLock<Box<[u8]>>, number: u64, pages: usize) -> Result<bool> {
        let start = number * PAGE as u64;
        let most = pages * PAGE;
        let len = bound::addressable(arith::sub(self.file.len(), start)?).min(most);
        let mut bytes = super::zeroed(len)?;
        self.file.read_into(start, &mut bytes)?;
        let first = place.set(bytes.into()).is_ok();
        if first {
            self.staying.fetch_add(pages as u64, Ordering::Relaxed);
        }
        Ok(first)
    }

    /// Reads a page that passes, and those after it if the pages before it were the last that were read.
    fn bring(&self, number: u64) -> Result<(u64, Cow<'_, [u8]>)> {
        let follows = self.next.load(Ordering::Relaxed) == number;
        let run = if follows { (2 * self.run.load(Ordering::Relaxed)).clamp(1, AHEAD) } else { 1 };
        let start = number * PAGE as u64;
        let len = arith::sub(self.file.len(), start)?.min(run * PAGE as u64);
        Ok((run, self.file.read_at(start, arith::fit(len, "length of pages")?)?))
    }

    fn read_up_to(&self, number: u64, run: u64) {
        self.run.store(run, Ordering::Relaxed);
        self.next.store(number + run, Ordering::Relaxed);
    }

    /// Copies from a page that passes, from `skip` on.
    fn passing(&self, number: u64, skip: usize, out: &mut [u8]) -> Result<()> {
        let slots = self.slots.get_or_init(|| (0..PASSING).map(|_| RwLock::default()).collect());
        let slot = |number: u64| slots.get(bound::addressable(number % PASSING));
        let mut take = |slot: &Slot| {
            let bytes = slot.bytes.get(skip..).and_then(|bytes| bytes.get(..out.len()));
            match bytes.filter(|_| slot.number == number) {
                Some(bytes) => out.copy_from_slice(bytes),
                None => return false,
            }
            true
        };
        let alone = |out: &mut [u8]| self.file.read_into(number * PAGE as u64 + skip as u64, out);
        let Some(own) = slot(number) else { return alone(out) };
        if take(&own.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        // One read anywhere is made as it is asked for; the next one beside it brings the page.
        let last = self.last.swap(number, Ordering::Relaxed);
        if last != number && self.next.load(Ordering::Relaxed) != number {
            return alone(out);
        }
        let (run, bytes) = self.bring(number)?;
        for (number, page) in (number..).zip(bytes.chunks(PAGE)) {
            // A slot that another thread is at is left to it.
            if let Some(mut slot) = slot(number).and_then(|slot| slot.try_write().ok()) {
                slot.number = number;
                slot.bytes.clear();
                slot.bytes.extend_from_slice(page);
            }
        }
        self.read_up_to(number, run);
        match bytes.get(skip..).and_then(|bytes| bytes.get(..out.len())) {
            Some(bytes) => out.copy_from_slice(bytes),
            // Cannot be: the page has every byte of the file in its range.
            None => alone(out)?,
        }
        Ok(())
    }

    /// The bytes of a range, if they are in one page, and that stays.
    fn lent(&self, offset: u64, len: usize) -> Result<Option<&[u8]>> {
        check_range(self.file.len(), offset, len as u64)?;
        let (number, skip) = Self::split(offset);
        if len == 0 || len >= LONG || skip + len > PAGE {
            return Ok(None);
        }
        Ok(self.staying(number)?.and_then(|page| page.get(skip..skip + len)))
    }

    /// Fills `out` from pages.
    fn copy(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        check_range(self.file.len(), offset, out.len() as u64)?;
        let (mut number, mut skip) = Self::split(offset);
        let mut rest = out;
        while !rest.is_empty() {
            let len = rest.len().min(PAGE - skip);
            let (part, others) = rest.split_at_mut(len);
            match self.staying(number)?.and_then(|page| page.get(skip..skip + len)) {
                Some(bytes) => part.copy_from_slice(bytes),
                None => self.passing(number, skip, part)?,
            }
            (rest, number, skip) = (others, number + 1, 0);
        }
        Ok(())
    }
}

impl From<FileStorage> for Paged {
    fn from(file: FileStorage) -> Self {
        let blocks = file.len().div_ceil((PAGE * BLOCK) as u64);
        let blocks = if blocks <= BLOCKS { blocks } else { 0 };
        Self {
            file,
            blocks: (0..blocks).map(|_| OnceLock::new()).collect(),
            staying: AtomicU64::new(0),
            slots: OnceLock::new(),
            last: AtomicU64::new(u64::MAX),
            next: AtomicU64::new(0),
            run: AtomicU64::new(0),
        }
    }
}

impl ReadAt for Paged {
    fn len(&self) -> u64 {
        self.file.len()
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
        let (_dir, bytes, paged) = file((STAYING + 4 * PASSING) as usize * PAGE + 100);
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
