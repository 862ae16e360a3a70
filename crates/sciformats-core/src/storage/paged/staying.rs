//! Pages of a file that stay in memory while the file is open.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::recycled::{PIECE, Recycled};
use super::super::{FileStorage, ReadAt};
use crate::error::Result;
use crate::{arith, bound};

/// The size of a page in bytes. Nodes of an index and pages of the system have about this size.
pub(super) const PAGE: usize = 4 << 10;

/// The number of pages of a block of 256 KiB, one for each bit of a word.
const PAGES: usize = PIECE / PAGE;

/// The number of requested pages from which on a block is read as a whole. If there are fewer, the structures are among elements
/// or objects that nobody requests, and copying these would cost more than the calls that are saved.
const DENSE: u32 = 32;

/// The number of blocks of a region of 16 MiB.
const BLOCKS: usize = 64;

/// The number of regions of the largest file whose pages stay, which has 256 GiB.
const REGIONS: u64 = 1 << 14;

/// The largest number of bytes that stay.
const MOST: u64 = 128 << 20;

/// The number of bytes that stay because of elements, in all files of the process together, before it is known whether this pays.
const FIRST_ELEMENTS: u64 = 32 << 20;

/// The largest number of bytes that stay because of elements.
const MOST_ELEMENTS: u64 = 64 << 20;

/// The number of further bytes that each read of elements allows that found them: some pages for each call that was saved.
const EARNED: u64 = 4 * PAGE as u64;

/// The number of bytes that stay because of elements, in all files.
static ELEMENTS: AtomicU64 = AtomicU64::new(0);

/// The pages, which are found by their position in the file.
#[derive(Debug)]
pub(super) struct Staying {
    regions: Box<[OnceLock<Box<Region>>]>,
    /// The number of bytes that stay.
    bytes: AtomicU64,
    /// How many of them stay because of elements.
    elements: AtomicU64,
    /// The number of reads of elements that found them here.
    found: AtomicU64,
}

/// The purpose of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// Structures of the format. The bytes that follow are likely to be requested too, and the reader borrows them.
    Structures,
    /// Elements, which are copied into the caller's memory. Each of them is likely to be requested once.
    Elements,
}

type Region = [OnceLock<Box<Block>>; BLOCKS];

#[derive(Debug)]
struct Block {
    /// One bit for each page of which something was requested.
    touched: AtomicU64,
    /// The pages that were read one by one.
    pages: OnceLock<Box<[Page]>>,
    /// All pages of the block, if they were read at once.
    whole: OnceLock<Recycled>,
}

type Page = OnceLock<Box<[u8]>>;

impl Block {
    fn new() -> Box<Self> {
        Box::new(Self { touched: AtomicU64::new(0), pages: OnceLock::new(), whole: OnceLock::new() })
    }

    fn pages(&self) -> &[Page] {
        self.pages.get_or_init(|| (0..PAGES).map(|_| OnceLock::new()).collect())
    }

    /// Records that these pages were requested. Returns those that had been requested before.
    fn touch(&self, pages: Range<usize>) -> u64 {
        let mask = pages.fold(0, |mask, page| mask | 1u64 << (page % PAGES));
        let before = self.touched.load(Ordering::Relaxed);
        if before & mask == mask { before } else { self.touched.fetch_or(mask, Ordering::Relaxed) }
    }

    /// Returns the bytes of a range that must not be empty, if they were read and are in one piece.
    fn kept(&self, range: Range<usize>) -> Option<&[u8]> {
        if let Some(whole) = self.whole.get() {
            return whole.bytes().get(range);
        }
        let first = range.start / PAGE;
        if first != (range.end - 1) / PAGE {
            return None;
        }
        let page = self.pages.get()?.get(first)?.get()?;
        page.get(range.start - first * PAGE..range.end - first * PAGE)
    }

    fn is_dense(&self) -> bool {
        self.touched.load(Ordering::Relaxed).count_ones() >= DENSE
    }
}

impl Staying {
    /// Creates this for a file of this length, without pages.
    pub(super) fn new(len: u64) -> Self {
        let regions = len.div_ceil((PIECE * BLOCKS) as u64);
        let regions = if regions <= REGIONS { regions } else { 0 };
        let regions = (0..regions).map(|_| OnceLock::new()).collect();
        Self { regions, bytes: AtomicU64::new(0), elements: AtomicU64::new(0), found: AtomicU64::new(0) }
    }

    /// Returns whether no more pages may stay.
    pub(super) fn is_full(&self) -> bool {
        self.regions.is_empty() || self.bytes.load(Ordering::Relaxed) >= MOST
    }

    /// Returns the bytes of a range, if they stay in memory in one piece. Nothing is read.
    pub(super) fn kept(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let (number, range) = place(offset, len)?;
        let region = self.regions.get(usize::try_from(number / BLOCKS as u64).ok()?)?.get()?;
        let block = region.get(bound::addressable(number % BLOCKS as u64))?.get()?;
        block.kept(range)
    }

    /// Works like [`kept`](Self::kept) for elements.
    pub(super) fn kept_elements(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let bytes = self.kept(offset, len)?;
        self.found.fetch_add(1, Ordering::Relaxed);
        Some(bytes)
    }

    /// Returns whether no more bytes may stay because of elements. The more reads have found theirs, the more may stay.
    fn is_full_of_elements(&self) -> bool {
        let earned = bound::product(self.found.load(Ordering::Relaxed), EARNED);
        ELEMENTS.load(Ordering::Relaxed) >= bound::sum(FIRST_ELEMENTS, earned).min(MOST_ELEMENTS)
    }

    /// Returns the bytes of a range, which must not be empty and must be inside the file; `None` if they are not in one piece or
    /// may not stay, or if they are elements in a page of which nothing was requested before.
    pub(super) fn get(
        &self,
        file: &FileStorage,
        offset: u64,
        len: usize,
        reason: Reason,
    ) -> Result<Option<&[u8]>> {
        let size = PIECE as u64;
        let Some((number, range)) = place(offset, len) else { return Ok(None) };
        let Some(block) = self.block(number) else { return Ok(None) };
        let (first, last) = (range.start / PAGE, (range.end - 1) / PAGE);
        let before = block.touch(first..last + 1);
        if let Some(bytes) = block.kept(range.clone()) {
            return Ok(Some(bytes));
        }
        if self.is_full() || reason == Reason::Elements && self.is_full_of_elements() {
            return Ok(None);
        }
        let start = number * size;
        if block.is_dense() || self.follows_dense(number) {
            let mut bytes = Recycled::new(length(file, start, PIECE)?)?;
            file.read_into(start, bytes.bytes_mut())?;
            self.keep(&block.whole, bytes, PIECE, reason);
            return Ok(block.whole.get().and_then(|whole| whole.bytes().get(range)));
        }
        let known = before & (1u64 << (first % PAGES)) != 0;
        if reason == Reason::Elements && !known {
            return Ok(None);
        }
        let Some(place) = block.pages().get(first).filter(|_| first == last) else { return Ok(None) };
        if before == 0 {
            // If the file is not in the system's memory yet, it is fetched in larger pieces than those that are copied.
            file.advise(start, size);
        }
        let start = start + (first * PAGE) as u64;
        let page = file.read_at(start, length(file, start, PAGE)?)?;
        self.keep(place, page.into_owned().into(), PAGE, reason);
        Ok(block.kept(range))
    }

    fn block(&self, number: u64) -> Option<&Block> {
        let (region, index) = (number / BLOCKS as u64, bound::addressable(number % BLOCKS as u64));
        let region = self.regions.get(usize::try_from(region).ok()?)?;
        let region = region.get_or_init(|| Box::new([const { OnceLock::new() }; BLOCKS]));
        Some(region.get(index)?.get_or_init(Block::new))
    }

    /// Returns whether most of the previous block was requested, because sequential reads then continue in this one.
    fn follows_dense(&self, number: u64) -> bool {
        let before = number.checked_sub(1).and_then(|before| self.block(before));
        before.is_some_and(|before| before.whole.get().is_some() && before.is_dense())
    }

    /// Puts bytes in their place, unless another thread was faster.
    fn keep<T>(&self, place: &OnceLock<T>, bytes: T, len: usize, reason: Reason) {
        if place.set(bytes).is_ok() {
            self.bytes.fetch_add(len as u64, Ordering::Relaxed);
            if reason == Reason::Elements {
                self.elements.fetch_add(len as u64, Ordering::Relaxed);
                ELEMENTS.fetch_add(len as u64, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Staying {
    fn drop(&mut self) {
        ELEMENTS.fetch_sub(*self.elements.get_mut(), Ordering::Relaxed);
    }
}

/// Returns the number of the block of a range and the range in it, if it is not empty and all of it is in one block.
fn place(offset: u64, len: usize) -> Option<(u64, Range<usize>)> {
    let (number, skip) = (offset / PIECE as u64, bound::addressable(offset % PIECE as u64));
    let end = skip.checked_add(len).filter(|&end| end <= PIECE && len > 0)?;
    Some((number, skip..end))
}

/// Returns the number of bytes from `start` on, but at most `most`.
fn length(file: &FileStorage, start: u64, most: usize) -> Result<usize> {
    Ok(bound::addressable(arith::sub(file.size(), start)?).min(most))
}

/// Keeps other tests from having elements in memory that count: the bound is that of the process.
#[cfg(test)]
pub(super) fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(len: usize) -> (tempfile::TempDir, Vec<u8>, FileStorage) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes: Vec<u8> = (0..len).map(|i| ((i / 3) ^ (i >> 9)) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let file = FileStorage::open(&path).unwrap();
        (dir, bytes, file)
    }

    /// Returns the number of bytes that stay after reading `len` bytes at each of `places`.
    fn kept(places: impl Iterator<Item = usize>, len: usize) -> u64 {
        kept_for(Reason::Structures, places, len)
    }

    fn kept_for(reason: Reason, places: impl Iterator<Item = usize>, len: usize) -> u64 {
        let (_dir, bytes, file) = file(PIECE * 4 + 100);
        let staying = Staying::new(file.size());
        for at in places {
            if let Some(part) = staying.get(&file, at as u64, len, reason).unwrap() {
                assert_eq!(part, &bytes[at..at + len]);
            }
        }
        let (all, elements) = (&staying.bytes, &staying.elements);
        let (all, elements) = (all.load(Ordering::Relaxed), elements.load(Ordering::Relaxed));
        assert_eq!(elements, if reason == Reason::Elements { all } else { 0 });
        all
    }

    #[test]
    fn what_is_read_here_and_there_brings_a_page_each() {
        let everywhere = || (0..4 * PIECE).step_by(16 * PAGE);
        assert_eq!(kept(everywhere(), 10), 16 * PAGE as u64);
        // Reading at the same places again adds nothing.
        assert_eq!(kept(everywhere().chain(everywhere()), 10), 16 * PAGE as u64);
    }

    #[test]
    fn elements_bring_a_page_when_they_are_requested_again() {
        let everywhere = || (0..4 * PIECE).step_by(16 * PAGE);
        assert_eq!(kept_for(Reason::Elements, everywhere(), 10), 0);
        assert_eq!(kept_for(Reason::Elements, everywhere().chain(everywhere()), 10), 16 * PAGE as u64);
    }

    #[test]
    fn more_elements_stay_if_reads_find_them() {
        let _alone = alone();
        let dir = tempfile::tempdir().unwrap();
        let (path, len) = (dir.path().join("file"), MOST_ELEMENTS + (8 << 20));
        std::fs::File::create(&path).unwrap().set_len(len).unwrap();
        let file = FileStorage::open(&path).unwrap();
        let staying = Staying::new(len);
        let everywhere = || {
            for at in (0..len).step_by(PAGE) {
                staying.get(&file, at, 40, Reason::Elements).unwrap();
            }
            staying.elements.load(Ordering::Relaxed)
        };
        // What was read once only is not worth more. Other tests may have elements in memory, too.
        let first = everywhere();
        assert!((1..=FIRST_ELEMENTS + PIECE as u64).contains(&first), "{first}");
        assert_eq!(everywhere(), first);
        for _ in 0..(1 << 20) / EARNED {
            assert_eq!(staying.kept_elements(33 * PAGE as u64, 40), Some(&[0; 40][..]));
        }
        let earned = everywhere() - first;
        assert!((1..=(1 << 20) + PIECE as u64).contains(&earned), "{earned}");
        for _ in 0..2 * MOST_ELEMENTS / EARNED {
            staying.kept_elements(33 * PAGE as u64, 40);
        }
        assert!(everywhere() <= MOST_ELEMENTS + PIECE as u64);
    }

    #[test]
    fn reads_that_follow_each_other_bring_blocks() {
        // The first block is read page by page until half of it was requested, and then as a whole; the others are read as a
        // whole.
        assert_eq!(kept((0..4 * PIECE).step_by(500), 100), (4 * PIECE + 31 * PAGE) as u64);
    }

    #[test]
    fn a_block_after_a_dense_one_is_no_reason_to_read_the_next() {
        let dense = (0..PIECE).step_by(500);
        // One read in each of the two blocks that follow: the first is read as a whole, and the second is not.
        let places = dense.chain([PIECE + 5, 2 * PIECE + 5]);
        assert_eq!(kept(places, 10), (2 * PIECE + 31 * PAGE + PAGE) as u64);
    }

    #[test]
    fn the_end_of_a_file_is_a_short_page() {
        let (_dir, bytes, file) = file(PAGE + 7);
        let staying = Staying::new(file.size());
        assert_eq!(staying.kept(PAGE as u64 + 2, 5), None);
        assert_eq!(
            staying.get(&file, PAGE as u64 + 2, 5, Reason::Structures).unwrap().unwrap(),
            &bytes[PAGE + 2..]
        );
        assert_eq!(staying.kept(PAGE as u64 + 3, 2), Some(&bytes[PAGE + 3..PAGE + 5]));
        // The range is not inside one page.
        assert_eq!(staying.get(&file, PAGE as u64 - 1, 2, Reason::Structures).unwrap(), None);
    }
}
