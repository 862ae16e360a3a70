//! Bytes of a file that are read ahead, and kept until others need their places.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use super::super::{FileStorage, ReadAt};
use crate::error::Result;
use crate::{arith, bound};

/// The size of a page in bytes.
pub(super) const PAGE: usize = 64 << 10;

/// The number of pages of which something is kept, which are 4 MiB.
pub(super) const PAGES: u64 = 64;

/// A read that begins less than this number of bytes behind the one before follows it.
const NEAR: u64 = 1 << 10;

/// The number of bytes that are brought when a read follows another one. It doubles each time that reads come to the end of them.
const FIRST: usize = 4 << 10;

/// What is kept, each part in the slot that follows from the number of its page.
#[derive(Debug)]
pub(super) struct Passing {
    /// Bytes of page `n` are in slot `n` modulo the number of slots, and replace those that were there.
    slots: OnceLock<Box<[Slot]>>,
}

#[derive(Debug, Default)]
struct Slot {
    kept: RwLock<Part>,
    /// Where the last read ended that found nothing.
    end: AtomicU64,
}

/// A part of a page.
#[derive(Debug, Default)]
struct Part {
    /// Where it begins in the file.
    start: u64,
    /// Its bytes. There are none in a slot that is empty.
    bytes: Vec<u8>,
    /// The number of bytes that were wanted. There are fewer if the page ends before.
    wanted: usize,
}

impl Part {
    fn get(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let skip = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(skip..)?.get(..len)
    }

    /// Returns how many bytes should be brought from `offset` on, if a read there follows this part.
    fn next(&self, offset: u64) -> Option<usize> {
        let far = offset.checked_sub(self.start).filter(|_| !self.bytes.is_empty())?;
        (far < bound::sum(self.bytes.len() as u64, NEAR)).then(|| bound::product(self.wanted, 2).min(PAGE))
    }
}

impl Passing {
    pub(super) fn new() -> Self {
        Self { slots: OnceLock::new() }
    }

    fn slot(&self, number: u64) -> Option<&Slot> {
        let slots = self.slots.get_or_init(|| (0..PAGES).map(|_| Slot::default()).collect());
        slots.get(bound::addressable(number % PAGES))
    }

    /// Fills `out` with the bytes at `offset`, in a range that must be inside one page, if they are kept or if the read follows another
    /// one. Otherwise returns false.
    pub(super) fn copy(&self, file: &FileStorage, offset: u64, out: &mut [u8]) -> Result<bool> {
        let number = offset / PAGE as u64;
        let Some(slot) = self.slot(number) else { return Ok(false) };
        let next = {
            let kept = slot.kept.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(bytes) = kept.get(offset, out.len()) {
                out.copy_from_slice(bytes);
                return Ok(true);
            }
            kept.next(offset)
        };
        let next = next.or_else(|| {
            let before = number.checked_sub(1).filter(|_| offset % (PAGE as u64) < NEAR)?;
            self.slot(before)?.kept.try_read().ok()?.next(offset)
        });
        // Threads that disturb each other in this only bring too much or too little.
        let end = slot.end.swap(bound::sum(offset, out.len() as u64), Ordering::Relaxed);
        let follows = || offset.checked_sub(end).filter(|&far| far < NEAR).map(|_| FIRST);
        let Some(wanted) = next.or_else(follows) else { return Ok(false) };
        let page_end = bound::product(bound::sum(number, 1), PAGE as u64);
        let most = bound::addressable(arith::sub(file.size().min(page_end), offset)?);
        // The memory of what is displaced is used again. If another thread uses the slot, nothing is kept.
        let taken = slot.kept.try_write().ok().map(|mut kept| mem::take(&mut kept.bytes));
        let Some(mut bytes) = taken else { return Ok(false) };
        bytes.resize(most.min(wanted.max(out.len())), 0);
        let read = file.read_into(offset, &mut bytes);
        let part = Part { start: offset, bytes, wanted };
        match part.get(offset, out.len()).filter(|_| read.is_ok()) {
            Some(bytes) => out.copy_from_slice(bytes),
            // What was requested may be there all the same.
            None => return Ok(false),
        }
        if let Ok(mut kept) = slot.kept.try_write() {
            *kept = part;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of the file that is read here, whose last page is short.
    const LEN: usize = (2 * PAGES as usize + 1) * PAGE + 20;

    /// Reads ten bytes at each of `places`, and returns how many bytes are kept.
    fn kept(places: impl Iterator<Item = usize>) -> usize {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes: Vec<u8> = (0..LEN).map(|i| ((i / 3) ^ (i >> 9)) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let (file, passing) = (FileStorage::open(&path).unwrap(), Passing::new());
        for at in places {
            let mut out = [0; 10];
            if passing.copy(&file, at as u64, &mut out).unwrap() {
                assert_eq!(out, bytes[at..at + 10]);
            }
        }
        passing.slots.get().unwrap().iter().map(|slot| slot.kept.read().unwrap().bytes.len()).sum()
    }

    /// The places of reads that are `step` bytes apart.
    fn every(step: usize) -> impl Iterator<Item = usize> {
        (PAGE..LEN - 20).step_by(step)
    }

    #[test]
    fn single_reads_keep_nothing() {
        assert_eq!(kept((0..9).flat_map(|_| every(16 << 10))), 0);
    }

    #[test]
    fn reads_that_follow_each_other_bring_more_and_more() {
        assert_eq!(kept(every(16).take(1)), 0);
        assert_eq!(kept(every(16).take(2)), FIRST);
        assert_eq!(kept(every(1000).take(2)), FIRST);
        assert_eq!(kept(every(16).take(2 + FIRST / 16)), 2 * FIRST);
        assert_eq!(kept(every(16).take(3 * FIRST / 16).chain([LEN - 10])), 2 * FIRST);
        // In the next page, and in the page after it.
        let first = || every(16).take(PAGE / 16 + 2);
        assert!((PAGE..PAGE + (60 << 10)).contains(&kept(first())));
        assert!((2 * PAGE..2 * PAGE + (60 << 10)).contains(&kept(first().chain([3 * PAGE + 900]))));
        // No more is kept than there is room for.
        assert!(kept(every(16)) <= PAGES as usize * PAGE);
    }

    #[test]
    fn reads_that_come_back_are_served() {
        // Two readers that take turns, each in pages of its own.
        let turns = every(16).take(5000).zip(every(16).skip(2 * PAGE).take(5000)).flat_map(|(a, b)| [a, b]);
        assert!(kept(turns) > PAGE);
    }
}
