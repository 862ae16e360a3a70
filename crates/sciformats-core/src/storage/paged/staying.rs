//! Pages of a file that stay in memory while the file is open.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::recycled::{PIECE, Recycled};
use super::super::{FileStorage, ReadAt};
use crate::error::Result;
use crate::{arith, bound};

/// Bytes of a page: what one touch brings. A node of an index and the pages of the system are about as large.
pub(super) const PAGE: usize = 4 << 10;

/// Pages of a block, one for each bit of a word: 256 KiB.
const PAGES: usize = PIECE / PAGE;

/// A block is read as a whole when so many of its pages were touched. Where fewer are, their structures lie among elements
/// or objects that nobody asks for, and copying those would cost more than the calls that are saved.
const DENSE: u32 = 32;

/// Blocks of a region: 16 MiB.
const BLOCKS: usize = 64;

/// Regions of the largest file of which pages stay: one of 256 GiB.
const REGIONS: u64 = 1 << 14;

/// Bytes that stay at most.
const MOST: u64 = 128 << 20;

/// The pages, found by their place in the file.
#[derive(Debug)]
pub(super) struct Staying {
    regions: Box<[OnceLock<Box<Region>>]>,
    /// How many bytes stay.
    bytes: AtomicU64,
}

type Region = [OnceLock<Box<Block>>; BLOCKS];

#[derive(Debug)]
struct Block {
    /// A bit for each page of which something was wanted.
    touched: AtomicU64,
    /// The pages that were read one by one.
    pages: Box<[OnceLock<Box<[u8]>>]>,
    /// All of them at once.
    whole: OnceLock<Recycled>,
}

impl Block {
    fn new() -> Box<Self> {
        let pages = (0..PAGES).map(|_| OnceLock::new()).collect();
        Box::new(Self { touched: AtomicU64::new(0), pages, whole: OnceLock::new() })
    }

    /// Notes that these pages were wanted. Gives those that were wanted before.
    fn touch(&self, pages: Range<usize>) -> u64 {
        let mask = pages.fold(0, |mask, page| mask | 1u64 << (page % PAGES));
        let before = self.touched.load(Ordering::Relaxed);
        if before & mask == mask { before } else { self.touched.fetch_or(mask, Ordering::Relaxed) }
    }

    fn is_dense(&self) -> bool {
        self.touched.load(Ordering::Relaxed).count_ones() >= DENSE
    }
}

impl Staying {
    /// None of a file of this length yet.
    pub(super) fn new(len: u64) -> Self {
        let regions = len.div_ceil((PIECE * BLOCKS) as u64);
        let regions = if regions <= REGIONS { regions } else { 0 };
        Self { regions: (0..regions).map(|_| OnceLock::new()).collect(), bytes: AtomicU64::new(0) }
    }

    /// The bytes of a range that is not empty and lies in the file. None, if they are not in one piece or may not stay.
    pub(super) fn get(&self, file: &FileStorage, offset: u64, len: usize) -> Result<Option<&[u8]>> {
        let size = PIECE as u64;
        let (number, skip) = (offset / size, bound::addressable(offset % size));
        let Some(range) = skip.checked_add(len).filter(|&end| end <= PIECE).map(|end| skip..end) else {
            return Ok(None);
        };
        let Some(block) = self.block(number) else { return Ok(None) };
        let (first, last) = (range.start / PAGE, (range.end - 1) / PAGE);
        let before = block.touch(first..last + 1);
        if let Some(whole) = block.whole.get() {
            return Ok(whole.bytes().get(range));
        }
        let in_page = range.start - first * PAGE..range.end - first * PAGE;
        let place = block.pages.get(first).filter(|_| first == last);
        if let Some(page) = place.and_then(OnceLock::get) {
            return Ok(page.get(in_page));
        }
        if self.bytes.load(Ordering::Relaxed) >= MOST {
            return Ok(None);
        }
        let start = number * size;
        if block.is_dense() || self.follows_dense(number) {
            let mut bytes = Recycled::new(length(file, start, PIECE)?)?;
            file.read_into(start, bytes.bytes_mut())?;
            self.keep(&block.whole, bytes, PIECE);
            return Ok(block.whole.get().and_then(|whole| whole.bytes().get(range)));
        }
        let Some(place) = place else { return Ok(None) };
        if before == 0 {
            // A file that is not in the system's memory yet is fetched in larger pieces than those that are copied.
            file.advise(start, size);
        }
        let start = start + (first * PAGE) as u64;
        let page = file.read_at(start, length(file, start, PAGE)?)?;
        self.keep(place, page.into_owned().into(), PAGE);
        Ok(place.get().and_then(|page| page.get(in_page)))
    }

    fn block(&self, number: u64) -> Option<&Block> {
        let (region, index) = (number / BLOCKS as u64, bound::addressable(number % BLOCKS as u64));
        let region = self.regions.get(usize::try_from(region).ok()?)?;
        let region = region.get_or_init(|| Box::new([const { OnceLock::new() }; BLOCKS]));
        Some(region.get(index)?.get_or_init(Block::new))
    }

    /// Whether most of the block before this one was wanted: reads that go through a file go on in this one.
    fn follows_dense(&self, number: u64) -> bool {
        let before = number.checked_sub(1).and_then(|before| self.block(before));
        before.is_some_and(|before| before.whole.get().is_some() && before.is_dense())
    }

    /// Puts bytes in their place, unless another thread was faster.
    fn keep<T>(&self, place: &OnceLock<T>, bytes: T, len: usize) {
        if place.set(bytes).is_ok() {
            self.bytes.fetch_add(len as u64, Ordering::Relaxed);
        }
    }
}

/// How many bytes there are from `start` on, at most so many.
fn length(file: &FileStorage, start: u64, most: usize) -> Result<usize> {
    Ok(bound::addressable(arith::sub(file.size(), start)?).min(most))
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

    /// How many bytes stay after reading `len` bytes at each of `places`.
    fn kept(places: impl Iterator<Item = usize>, len: usize) -> u64 {
        let (_dir, bytes, file) = file(PIECE * 4 + 100);
        let staying = Staying::new(file.size());
        for at in places {
            if let Some(part) = staying.get(&file, at as u64, len).unwrap() {
                assert_eq!(part, &bytes[at..at + len]);
            }
        }
        staying.bytes.load(Ordering::Relaxed)
    }

    #[test]
    fn what_is_read_here_and_there_brings_a_page_each() {
        let everywhere = || (0..4 * PIECE).step_by(16 * PAGE);
        assert_eq!(kept(everywhere(), 10), 16 * PAGE as u64);
        // The same places again are no more.
        assert_eq!(kept(everywhere().chain(everywhere()), 10), 16 * PAGE as u64);
    }

    #[test]
    fn reads_that_follow_each_other_bring_blocks() {
        // The first block page by page until half of it was read, then as a whole; the others as a whole.
        assert_eq!(kept((0..4 * PIECE).step_by(500), 100), (4 * PIECE + 31 * PAGE) as u64);
    }

    #[test]
    fn a_block_after_a_dense_one_is_no_reason_to_read_the_next() {
        let dense = (0..PIECE).step_by(500);
        // One read in each of the two blocks that follow: the first comes as a whole, the second does not.
        let places = dense.chain([PIECE + 5, 2 * PIECE + 5]);
        assert_eq!(kept(places, 10), (2 * PIECE + 31 * PAGE + PAGE) as u64);
    }

    #[test]
    fn the_end_of_a_file_is_a_short_page() {
        let (_dir, bytes, file) = file(PAGE + 7);
        let staying = Staying::new(file.size());
        assert_eq!(staying.get(&file, PAGE as u64 + 2, 5).unwrap().unwrap(), &bytes[PAGE + 2..]);
        // Not in one page.
        assert_eq!(staying.get(&file, PAGE as u64 - 1, 2).unwrap(), None);
    }
}
