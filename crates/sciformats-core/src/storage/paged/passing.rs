//! Pages of a file that are kept until other pages need their places.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use super::super::{FileStorage, ReadAt};
use crate::error::Result;
use crate::{arith, bound};

/// The size of a page in bytes.
pub(super) const PAGE: usize = 64 << 10;

/// The number of pages that are kept, which are 8 MiB.
pub(super) const PAGES: u64 = 128;

/// The largest number of pages that one call reads ahead if reads are sequential.
const AHEAD: u64 = 4;

/// The pages, each in the slot that follows from its number.
#[derive(Debug)]
pub(super) struct Passing {
    /// Page `n` is in slot `n` modulo the number of slots, and replaces the page that was there.
    slots: OnceLock<Box<[RwLock<Slot>]>>,
    /// The last page that was requested and not found.
    last: AtomicU64,
    /// The page after those that were read last.
    next: AtomicU64,
    /// The number of pages that were read last.
    run: AtomicU64,
}

#[derive(Debug, Default)]
struct Slot {
    number: u64,
    /// The page, or `None` if the slot is still empty.
    bytes: Vec<u8>,
}

impl Passing {
    pub(super) fn new() -> Self {
        Self {
            slots: OnceLock::new(),
            last: AtomicU64::new(u64::MAX),
            next: AtomicU64::new(0),
            run: AtomicU64::new(0),
        }
    }

    /// Fills `out` with the bytes at `offset`. The range must be inside one page.
    pub(super) fn copy(&self, file: &FileStorage, offset: u64, out: &mut [u8]) -> Result<()> {
        let (number, skip) = (offset / PAGE as u64, bound::addressable(offset % PAGE as u64));
        let slots = self.slots.get_or_init(|| (0..PAGES).map(|_| RwLock::default()).collect());
        let slot = |number: u64| slots.get(bound::addressable(number % PAGES));
        let mut take = |slot: &Slot| {
            let bytes = slot.bytes.get(skip..).and_then(|bytes| bytes.get(..out.len()));
            match bytes.filter(|_| slot.number == number) {
                Some(bytes) => out.copy_from_slice(bytes),
                None => return false,
            }
            true
        };
        let Some(own) = slot(number) else { return file.read_into(offset, out) };
        if take(&own.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        // A single read at some position is made directly; the next one near to it reads the page.
        let last = self.last.swap(number, Ordering::Relaxed);
        if last != number && self.next.load(Ordering::Relaxed) != number {
            return file.read_into(offset, out);
        }
        let (run, bytes) = self.bring(file, number)?;
        for (number, page) in (number..).zip(bytes.chunks(PAGE)) {
            // If another thread uses the slot, the page is not kept.
            if let Some(mut slot) = slot(number).and_then(|slot| slot.try_write().ok()) {
                slot.number = number;
                slot.bytes.clear();
                slot.bytes.extend_from_slice(page);
            }
        }
        self.run.store(run, Ordering::Relaxed);
        self.next.store(number + run, Ordering::Relaxed);
        let found = bytes.get(skip..).and_then(|bytes| bytes.get(..out.len()));
        out.copy_from_slice(arith::present(found, "bytes of a page that was read")?);
        Ok(())
    }

    /// Reads a page. If the pages before it were read last, it also reads those after it.
    fn bring<'a>(&self, file: &'a FileStorage, number: u64) -> Result<(u64, Cow<'a, [u8]>)> {
        let follows = self.next.load(Ordering::Relaxed) == number;
        let run = if follows { (2 * self.run.load(Ordering::Relaxed)).clamp(1, AHEAD) } else { 1 };
        let start = number * PAGE as u64;
        let len = arith::sub(file.size(), start)?.min(run * PAGE as u64);
        Ok((run, file.read_at(start, arith::fit(len, "length of pages")?)?))
    }
}
