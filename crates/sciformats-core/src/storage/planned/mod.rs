//! A store of ranges that is read as a file, by means of plans and a cache.
//!
//! ```text
//!   parser: read_at(offset, len)            parser: prefetch(ranges), together(work)
//!            │ miss                                   │ many ranges
//!            ▼                                        ▼
//!   a window of pages around it             sorted, joined over small gaps, bounded in size
//!            └────────────────────┬───────────────────┘
//!                                 ▼
//!                     Ranges::get: all at once
//!                                 │
//!                                 ▼
//!              pages (structures)    extents (elements)
//! ```

mod around;
mod cache;
mod options;
mod plan;
mod together;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

pub use options::PlanOptions;
pub use plan::Joining;
pub use together::together;

use self::cache::{Cache, PAGE};
use self::together::{Fetch, Note, is_noting, note};
use super::{Purpose, Ranges, ReadAt, Statistics, check_range, length};
use crate::bound;
use crate::error::{Error, Result};

/// Reads of at least this size are made directly, and are not kept in pages.
const LONG: usize = 4 * PAGE as usize;

/// The number of batches that fetch pages for a read before the read is made directly.
const TRIES: usize = 3;

/// A store of ranges as a [`ReadAt`], which any format crate can read. Clones share the fetched bytes.
///
/// Short reads use pages of 64 KiB that are kept. If a page is missing, the [window](PlanOptions::window) around it is fetched.
/// Reads that continue at the end of the last window fetch twice as much each time. What a parser announces by
/// [`prefetch`](ReadAt::prefetch) is fetched in one batch of simultaneous requests. Two threads that need the same page wait for
/// one request.
///
/// ```
/// use sciformats_core::ReadAt;
/// use sciformats_core::storage::{Planned, Purpose, Stored};
///
/// let file = Planned::new(Stored(vec![1; 50 << 20]));
/// let chunks = [3u64 << 20..(3 << 20) + 9000, 20 << 20..(20 << 20) + 9000];
/// file.prefetch(&chunks, Purpose::Elements)?; // two requests side by side
/// for chunk in &chunks {
///     assert_eq!(file.read_at(chunk.start, 9000)?.len(), 9000);
/// }
/// assert_eq!((file.statistics().requests, file.statistics().batches), (2, 1));
/// # Ok::<(), sciformats_core::Error>(())
/// ```
pub struct Planned<R>(Arc<Inner<R>>);

struct Inner<R> {
    ranges: R,
    size: u64,
    options: PlanOptions,
    state: Mutex<State>,
    /// Notified when pages have arrived, or will not arrive.
    landed: Condvar,
}

struct State {
    cache: Cache,
    statistics: Statistics,
    /// The number of batches that are being fetched.
    waiting: u64,
    /// The short reads that were made and the structures that were announced, if they are recorded.
    record: Option<Vec<Range<u64>>>,
}

impl<R> Clone for Planned<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> std::fmt::Debug for Planned<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Planned").field("size", &self.0.size).finish_non_exhaustive()
    }
}

impl<R: Ranges + 'static> Planned<R> {
    /// Reads `ranges` with options that suit a store whose round trip takes some dozens of milliseconds.
    pub fn new(ranges: R) -> Self {
        Self::with_options(ranges, PlanOptions::default())
    }

    /// Reads `ranges` with these options.
    ///
    /// ```
    /// use sciformats_core::ReadAt;
    /// use sciformats_core::storage::{PlanOptions, Planned, Stored};
    ///
    /// let options = PlanOptions::default().with_window(64 << 10);
    /// let file = Planned::with_options(Stored(vec![0; 1 << 20]), options);
    /// file.read_at(70_000, 8)?;
    /// assert_eq!(file.statistics().bytes, 64 << 10);
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    pub fn with_options(ranges: R, options: PlanOptions) -> Self {
        let size = ranges.size();
        let cache = Cache::new(size, options.memory, bound::product(options.ahead, 2));
        let state = State { cache, statistics: Statistics::default(), waiting: 0, record: None };
        let (state, landed) = (Mutex::new(state), Condvar::new());
        Self(Arc::new(Inner { ranges, size, options, state, landed }))
    }

    /// Returns the store.
    pub fn ranges(&self) -> &R {
        &self.0.ranges
    }

    /// Returns the cost of the reads so far.
    pub fn statistics(&self) -> Statistics {
        let state = self.0.lock();
        // Reads of pages are counted in whole units, and bytes that were supplied can be read too.
        let unread = bound::left(state.statistics.bytes, state.cache.read);
        Statistics { unread, ..state.statistics }
    }

    /// Adds bytes at `offset` that were received in some other way, for example with the response that contained the size. Whole
    /// pages of 64 KiB with structures are kept, including a shorter last page; elements are kept until they are read.
    ///
    /// ```
    /// use sciformats_core::ReadAt;
    /// use sciformats_core::storage::{Planned, Purpose, Stored};
    ///
    /// let bytes = vec![5; 100_000];
    /// let file = Planned::new(Stored(bytes.clone()));
    /// file.supply(0, &bytes, Purpose::Structure);
    /// file.read_at(99_000, 1000)?;
    /// assert_eq!(file.statistics().requests, 0);
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    pub fn supply(&self, offset: u64, bytes: &[u8], purpose: Purpose) {
        let mut state = self.0.lock();
        match purpose {
            Purpose::Structure | Purpose::Chain => state.cache.add_pages(offset, bytes),
            Purpose::Elements => state.cache.add_extent(offset, bytes.to_vec()),
        }
        drop(state);
        self.0.landed.notify_all();
    }

    /// Adds any number of bytes at `offset` that are known and always kept, for example those of an index beside the file.
    pub fn supply_known(&self, offset: u64, bytes: Vec<u8>) {
        self.0.lock().cache.add_known(offset, bytes, false);
    }

    /// Adds any number of bytes at `offset` that were received in some other way and are always kept, because they may not be
    /// received again.
    ///
    /// ```
    /// use sciformats_core::ReadAt;
    /// use sciformats_core::storage::{Planned, Stored};
    ///
    /// let file = Planned::new(Stored(vec![5; 10_000]));
    /// file.supply_kept(0, vec![5; 10_000]);
    /// file.count(1, 10_000);
    /// file.read_at(3000, 4000)?;
    /// let statistics = file.statistics();
    /// assert_eq!((statistics.requests, statistics.unread), (1, 10_000 - 5 * 1024)); // of what was read, whole KiB are counted
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    pub fn supply_kept(&self, offset: u64, bytes: Vec<u8>) {
        self.0.lock().cache.add_known(offset, bytes, true);
    }

    /// Adds one batch of requests that were made in some other way to the [`statistics`](Self::statistics).
    pub fn count(&self, requests: u64, bytes: u64) {
        let mut state = self.0.lock();
        let statistics = &mut state.statistics;
        // The numbers are those of the caller, but no store receives as many requests as the type can count.
        statistics.requests = bound::sum(statistics.requests, requests);
        statistics.bytes = bound::sum(statistics.bytes, bytes);
        statistics.batches += u64::from(requests > 0);
    }

    /// Records from now on which ranges short reads request and which ones are announced as structures. These are the structures of
    /// the file. Only the beginning of an announced one may be read, but a reader that announces it again needs all of it at once.
    pub fn record(&self) {
        self.0.lock().record.get_or_insert_default();
    }

    /// Returns the ranges that were recorded since [`record`](Self::record). They are sorted and disjoint.
    ///
    /// ```
    /// use sciformats_core::ReadAt;
    /// use sciformats_core::storage::{Planned, Stored};
    ///
    /// let file = Planned::new(Stored(vec![0; 1 << 20]));
    /// file.record();
    /// for (offset, len) in [(500_000, 100), (0, 8), (500_100, 20)] {
    ///     file.read_at(offset, len)?;
    /// }
    /// assert_eq!(file.recorded(), [0..8, 500_000..500_120]);
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    pub fn recorded(&self) -> Vec<Range<u64>> {
        let state = self.0.lock();
        plan::merged(state.record.as_deref().unwrap_or_default(), self.0.size)
    }

    /// Stops dropping bytes, because the work that needs them will run again.
    pub(super) fn keep_all(&self) {
        self.0.lock().cache.keeps_all = true;
    }
}

/// Returns the error of a read that is recorded and does not wait.
fn not_here(offset: u64) -> Error {
    let source = io::Error::new(io::ErrorKind::WouldBlock, "these bytes have not been fetched yet");
    Error::Io { action: "read", path: None, offset: Some(offset), source: source.into() }
}

impl<R: Ranges + 'static> Inner<R> {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the part of a range that is inside the file.
    fn cut(&self, range: Range<u64>) -> Range<u64> {
        range.start..range.end.min(self.size)
    }

    /// Fetches ranges simultaneously, and counts them.
    fn get(&self, requests: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        {
            let mut state = self.lock();
            if state.waiting == 0 {
                state.statistics.batches += 1;
            }
            state.waiting += 1;
            state.statistics.requests = bound::sum(state.statistics.requests, requests.len() as u64);
        }
        let answer = self.ranges.get(requests);
        let mut state = self.lock();
        state.waiting -= 1;
        let pieces = answer?;
        let right = |(request, piece): (&Range<u64>, &Vec<u8>)| length(request) == piece.len() as u64;
        if pieces.len() != requests.len() || !requests.iter().zip(&pieces).all(right) {
            let source = io::Error::other("the store returned other lengths than requested");
            return Err(Error::io("read", source));
        }
        let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
        state.statistics.bytes = bound::sum(state.statistics.bytes, bytes);
        Ok(pieces)
    }

    /// Fetches pages that are neither available nor being fetched, structures without the pages that contain them, and ranges of
    /// elements, in one batch.
    fn bring(&self, pages: &BTreeSet<u64>, loose: &[Range<u64>], elements: &[Range<u64>]) -> Result<()> {
        let page = |&number: &u64| number * PAGE..bound::product(number + 1, PAGE);
        let mine: Vec<u64> = {
            let mut state = self.lock();
            let here = |number: &u64| {
                state.cache.flying.contains(number) || state.cache.holds(&self.cut(page(number)))
            };
            let mine: Vec<u64> = pages.iter().copied().filter(|number| !here(number)).collect();
            state.cache.flying.extend(&mine);
            mine
        };
        let mut requests =
            self.options.structures.plan(&mine.iter().map(page).collect::<Vec<_>>(), self.size);
        let structures = requests.len();
        let exact = [loose, elements].concat();
        requests.extend(self.options.elements.plan(&exact, self.size));
        let answer = if requests.is_empty() { Ok(Vec::new()) } else { self.get(&requests) };
        let mut state = self.lock();
        for number in &mine {
            state.cache.flying.remove(number);
        }
        let outcome = answer.map(|pieces| {
            let wanted = plan::merged(&mine.iter().map(page).collect::<Vec<_>>(), self.size);
            // Long ranges are fetched in parts, so there can be more requests than ranges. No request was saved then.
            let asked = wanted.len() + plan::merged(&exact, self.size).len();
            state.statistics.joined += bound::left(asked, requests.len()) as u64;
            // The limit of a request may divide a page, so adjacent pieces are joined first.
            let (before, after) = pieces.split_at(structures.min(pieces.len()));
            for (start, bytes) in plan::whole(&requests, before) {
                state.cache.add_pages(start, &bytes);
            }
            let fetched = requests.get(structures..).unwrap_or_default();
            for range in loose {
                if let Some(bytes) = plan::slice(range, self.size, fetched, after) {
                    state.cache.add_loose(range.start, bytes);
                }
            }
            for range in elements {
                if let Some(bytes) = plan::slice(range, self.size, fetched, after) {
                    state.cache.add_extent(range.start, bytes);
                }
            }
        });
        drop(state);
        self.landed.notify_all();
        outcome
    }

    /// Fills `out` from what is available, and fetches the rest.
    fn fill(self: &Arc<Self>, offset: u64, out: &mut [u8]) -> Result<()> {
        let end = check_range(self.size, offset, out.len() as u64)?;
        let mut tries = 0;
        loop {
            let mut state = self.lock();
            if let Some(record) =
                state.record.as_mut().filter(|_| tries == 0 && out.len() < LONG && !is_noting())
            {
                record.push(offset..end);
            }
            let missing = state.cache.copy(offset, out);
            if missing.is_empty() {
                return Ok(());
            }
            let long = out.len() >= LONG;
            if is_noting() {
                drop(state);
                let purpose = if long { Purpose::Elements } else { Purpose::Structure };
                note(Note { store: self.clone(), range: offset..end, purpose });
                return Err(not_here(offset));
            }
            if long || tries >= TRIES {
                drop(state);
                return self.direct(offset..end, out);
            }
            if missing.iter().any(|number| state.cache.flying.contains(number)) {
                // Another thread is fetching it.
                drop(self.landed.wait(state).unwrap_or_else(PoisonError::into_inner));
                continue;
            }
            drop(state);
            tries += 1;
            self.bring(&self.window(&missing, out.len() as u64), &[], &[])?;
        }
    }

    /// Reads a range into `out`, and does not keep it.
    fn direct(&self, range: Range<u64>, out: &mut [u8]) -> Result<()> {
        let joining = Joining { gap: 0, share: 0, always: 0, longest: self.options.elements.longest };
        let requests = joining.plan(std::slice::from_ref(&range), self.size);
        let pieces = self.get(&requests)?;
        let mut rest = out;
        for piece in &pieces {
            let Some((part, after)) = rest.split_at_mut_checked(piece.len()) else { break };
            part.copy_from_slice(piece);
            rest = after;
        }
        let mut state = self.lock();
        state.cache.read += length(&range);
        Ok(())
    }

    fn announce(self: &Arc<Self>, ranges: &[Range<u64>], purpose: Purpose) -> Result<()> {
        let missing: Vec<Range<u64>> = {
            let mut state = self.lock();
            let clipped = ranges.iter().map(|range| self.cut(range.clone()));
            let structure = purpose != Purpose::Elements;
            if let (true, false, Some(record)) = (structure, is_noting(), state.record.as_mut()) {
                record.extend(clipped.clone().filter(|range| range.start < range.end));
            }
            clipped.filter(|range| range.start < range.end && !state.cache.holds(range)).collect()
        };
        let Some(first) = missing.first().map(|range| range.start) else { return Ok(()) };
        if is_noting() {
            for range in missing {
                note(Note { store: self.clone(), range, purpose });
            }
            return Err(not_here(first));
        }
        match purpose {
            Purpose::Structure => self.fetch(&missing, false, &[]),
            Purpose::Chain => self.fetch(&missing, true, &[]),
            Purpose::Elements => self.fetch(&[], false, &missing),
        }
    }
}

impl<R: Ranges + 'static> ReadAt for Planned<R> {
    fn size(&self) -> u64 {
        self.0.size
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        check_range(self.0.size, offset, len as u64)?;
        let mut out = super::zeroed(len)?;
        self.0.fill(offset, &mut out)?;
        Ok(Cow::Owned(out))
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.0.fill(offset, out)
    }

    fn read_with<'a>(&'a self, offset: u64, len: usize, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        super::fill_buffer(self, offset, len, buffer)
    }

    fn read_ahead(&self) -> u64 {
        self.0.options.ahead
    }

    fn prefetch(&self, ranges: &[Range<u64>], purpose: Purpose) -> Result<()> {
        self.0.announce(ranges, purpose)
    }
}

#[cfg(test)]
mod tests;
