//! A store of ranges, read as a file: by plans, over a cache.
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

mod cache;
mod plan;
mod together;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

pub use plan::Joining;
pub use together::together;

use self::cache::{Cache, PAGE, page_of};
use self::together::{Fetch, Note, is_noting, note};
use super::{Purpose, Ranges, ReadAt, Statistics, check_range, length};
use crate::bound;
use crate::error::{Error, Result};

/// Reads from this length on are made as they are asked for: no page is kept of them.
const LONG: usize = 4 * PAGE as usize;

/// Batches that bring pages for a read before it is made as it is asked for.
const TRIES: usize = 3;

/// A batch of structures brings pages of at most so many windows around what it asks for.
const WINDOWS: u64 = 8;

/// Structures that lie far apart come in blocks of so many bytes if they are short: what belongs to one is mostly beside it.
const BLOCK: u64 = 4 << 10;

/// Shorter ranges of a structure are the beginning of something; longer ones are the whole of it.
const SHORT: u64 = 1 << 10;

/// How a [`Planned`] fetches and keeps.
///
/// ```
/// use sciformats_core::storage::PlanOptions;
///
/// let options = PlanOptions::default().with_window(4 << 20).with_memory(128 << 20);
/// assert_eq!((options.window, options.memory), (4 << 20, 128 << 20));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanOptions {
    /// Bytes that come around a single short read that was not expected. Default: 2 MiB, about a third of what a
    /// connection of 100 MB/s brings in a round trip of 60 ms.
    pub window: u64,
    /// Bytes of structures that are kept. Default: 256 MiB, the nodes of an index of some hundred thousand chunks,
    /// each in a page of its own.
    pub memory: u64,
    /// Bytes of elements that one batch brings. Default: 64 MiB.
    pub ahead: u64,
    /// How requests for structures are joined. Default: over gaps up to 512 KiB.
    pub structures: Joining,
    /// How requests for elements are joined. Default: over gaps up to 1 MiB, the shortest first, as long as they cost at
    /// most one byte in 16 or are of at most 4 KiB.
    pub elements: Joining,
}

impl Default for PlanOptions {
    fn default() -> Self {
        let longest = 8 << 20;
        Self {
            window: 2 << 20,
            memory: 256 << 20,
            ahead: 64 << 20,
            structures: Joining { gap: 512 << 10, share: 0, always: 0, longest },
            elements: Joining { gap: 1 << 20, share: 16, always: 4 << 10, longest },
        }
    }
}

impl PlanOptions {
    /// The same with so many bytes around a read that was not expected; at least a page of 64 KiB.
    #[must_use]
    pub fn with_window(self, window: u64) -> Self {
        Self { window: window.max(PAGE), ..self }
    }

    /// The same with room for so many bytes of structures; at least 16 pages of 64 KiB.
    #[must_use]
    pub fn with_memory(self, memory: u64) -> Self {
        Self { memory: memory.max(16 * PAGE), ..self }
    }

    /// The same with so many bytes of elements in a batch; at least 1 MiB.
    #[must_use]
    pub fn with_ahead(self, ahead: u64) -> Self {
        Self { ahead: ahead.max(1 << 20), ..self }
    }
}

/// A store of ranges as a [`ReadAt`], which any format crate reads. Clones share what was fetched.
///
/// Short reads come from pages of 64 KiB that are kept; one that misses brings the [window](PlanOptions::window) around
/// it, and reads that go on where the last window ended bring twice as much each time. What a parser announces with
/// [`prefetch`](ReadAt::prefetch) comes in one batch of requests side by side. Two threads that miss the same page wait
/// for one request.
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
    /// Pages have come, or will not come.
    landed: Condvar,
}

struct State {
    cache: Cache,
    statistics: Statistics,
    /// Batches that are under way.
    waiting: u64,
    /// The short reads that were made, if they are recorded.
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
    /// Reads `ranges` with the options that suit a store some dozens of milliseconds away.
    pub fn new(ranges: R) -> Self {
        Self::with_options(ranges, PlanOptions::default())
    }

    /// Reads `ranges` as `options` say.
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

    /// The store.
    pub fn ranges(&self) -> &R {
        &self.0.ranges
    }

    /// What the reads have cost so far.
    pub fn statistics(&self) -> Statistics {
        let state = self.0.lock();
        // Reads of pages are counted in whole units, and bytes that were supplied are read too.
        let unread = bound::left(state.statistics.bytes, state.cache.read);
        Statistics { unread, ..state.statistics }
    }

    /// Bytes that came some other way, from `offset` on: with the answer that told the size, say. Of structures whole
    /// pages of 64 KiB are kept, a last one that is shorter included; elements are kept until they are read.
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
            Purpose::Structure => state.cache.add_pages(offset, bytes),
            Purpose::Elements => state.cache.add_extent(offset, bytes.to_vec()),
        }
        drop(state);
        self.0.landed.notify_all();
    }

    /// Bytes that are known for good, from `offset` on, however few: those of an index beside the file.
    pub fn supply_known(&self, offset: u64, bytes: Vec<u8>) {
        self.0.lock().cache.add_known(offset, bytes);
    }

    /// Notes requests that were made some other way in the [`statistics`](Self::statistics): one batch of them.
    pub fn count(&self, requests: u64, bytes: u64) {
        let mut state = self.0.lock();
        let statistics = &mut state.statistics;
        // The numbers are the caller's; no store is asked as often as the type can count.
        statistics.requests = bound::sum(statistics.requests, requests);
        statistics.bytes = bound::sum(statistics.bytes, bytes);
        statistics.batches += u64::from(requests > 0);
    }

    /// Notes from now on which ranges short reads ask for: they are the structures of the file.
    pub fn record(&self) {
        self.0.lock().record.get_or_insert_default();
    }

    /// What was noted since [`record`](Self::record): sorted and disjoint.
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

    /// Drops nothing from now on: the work that needs it will run again.
    pub(super) fn keep_all(&self) {
        self.0.lock().cache.keeps_all = true;
    }
}

/// The error of a read that is noted instead of waited for.
fn not_here(offset: u64) -> Error {
    let source = io::Error::new(io::ErrorKind::WouldBlock, "these bytes have not been fetched yet");
    Error::Io { action: "read", path: None, offset: Some(offset), source: source.into() }
}

impl<R: Ranges + 'static> Inner<R> {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of a range that is in the file.
    fn cut(&self, range: Range<u64>) -> Range<u64> {
        range.start..range.end.min(self.size)
    }

    /// Fetches ranges side by side, and counts them.
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
            let source = io::Error::other("the store answered with other lengths than it was asked for");
            return Err(Error::io("read", source));
        }
        let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
        state.statistics.bytes = bound::sum(state.statistics.bytes, bytes);
        Ok(pieces)
    }

    /// Brings pages that are neither here nor on their way, structures without the pages that they are in, and ranges of
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
            // Long ranges come in parts: there may be more requests than ranges, and then none was saved.
            let asked = wanted.len() + plan::merged(&exact, self.size).len();
            state.statistics.joined += bound::left(asked, requests.len()) as u64;
            // A page may be cut by the bound of requests: what follows each other is put together first.
            let (before, after) = pieces.split_at(structures.min(pieces.len()));
            for (start, bytes) in whole(&requests, before) {
                state.cache.add_pages(start, &bytes);
            }
            let fetched = requests.get(structures..).unwrap_or_default();
            for range in loose {
                if let Some(bytes) = slice(range, self.size, fetched, after) {
                    state.cache.add_loose(range.start, bytes);
                }
            }
            for range in elements {
                if let Some(bytes) = slice(range, self.size, fetched, after) {
                    state.cache.add_extent(range.start, bytes);
                }
            }
        });
        drop(state);
        self.landed.notify_all();
        outcome
    }

    /// The pages around those that a read has missed.
    fn window(&self, missing: &[u64]) -> BTreeSet<u64> {
        let (Some(&first), Some(&last)) = (missing.first(), missing.last()) else { return BTreeSet::new() };
        let mut state = self.lock();
        let cache = &mut state.cache;
        let follows = cache.after == first;
        let pages = (self.options.window / PAGE).max(1);
        let most = (self.options.structures.longest / PAGE).max(pages);
        cache.run = if follows { (cache.run * 2).clamp(pages, most) } else { pages };
        let start = if follows { first } else { first - first % pages };
        // What leads to something mostly stands before it: at the end of a window, half of the next one comes too.
        let ahead = if follows { 0 } else { pages / 2 };
        let end = bound::sum(start, cache.run).max(bound::sum(first, ahead)).max(last + 1);
        let end = end.min(self.size.div_ceil(PAGE));
        cache.after = end;
        (start..end).collect()
    }

    /// The blocks that a batch of structures is in, if these are so many and lie so far apart that most of the pages around
    /// them would be something else: nodes of an index among the chunks that it leads to.
    fn loose(&self, ranges: &[Range<u64>]) -> Option<Vec<Range<u64>>> {
        let blocks = |range: &Range<u64>| match length(range) < SHORT {
            true => range.start / BLOCK * BLOCK..bound::product(range.end.div_ceil(BLOCK), BLOCK),
            false => range.clone(),
        };
        let merged = plan::merged(ranges, self.size);
        let pages: BTreeSet<u64> =
            merged.iter().flat_map(|range| page_of(range.start)..=page_of(range.end - 1)).collect();
        let loose: Vec<Range<u64>> = merged.iter().map(blocks).collect();
        let loose = plan::merged(&loose, self.size);
        let (all, part) = (pages.len() as u64 * PAGE, loose.iter().map(length).sum::<u64>());
        (all > bound::product(self.options.window, WINDOWS) && part < all / 4).then_some(loose)
    }

    /// The pages that a batch of ranges is in, and more around them if they are few.
    fn around(&self, ranges: &[Range<u64>]) -> BTreeSet<u64> {
        let mut pages: BTreeSet<u64> = BTreeSet::new();
        for range in plan::merged(ranges, self.size) {
            pages.extend(page_of(range.start)..=page_of(range.end - 1));
        }
        // Structures that belong together are near to each other: some windows are shared out among the pages.
        let window = self.options.window / PAGE;
        let each = bound::product(window, WINDOWS)
            .checked_div(pages.len() as u64)
            .map_or(window, |each| each.min(window));
        let each = each.checked_ilog2().map_or(1, |bits| 1u64 << bits);
        let end = self.size.div_ceil(PAGE);
        let block = |number: u64| {
            let start = number - number % each;
            start..bound::sum(start, each).min(end)
        };
        pages.into_iter().flat_map(block).collect()
    }

    /// Fills `out` from what is here, and fetches what is not.
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
            self.bring(&self.window(&missing), &[], &[])?;
        }
    }

    /// Reads a range into `out` and keeps nothing of it.
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
            let state = self.lock();
            let clipped = ranges.iter().map(|range| self.cut(range.clone()));
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
            Purpose::Structure => self.fetch(&missing, &[]),
            Purpose::Elements => self.fetch(&[], &missing),
        }
    }
}

impl<R: Ranges + 'static> Fetch for Inner<R> {
    fn fetch(&self, structures: &[Range<u64>], elements: &[Range<u64>]) -> Result<()> {
        // What does not fit comes when it is read.
        let mut left = self.options.ahead;
        let fit = elements.iter().position(|range| match left.checked_sub(length(range)) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        });
        let elements = elements.get(..fit.unwrap_or(elements.len())).unwrap_or_default();
        match self.loose(structures) {
            Some(loose) => self.bring(&BTreeSet::new(), &loose, elements),
            None => self.bring(&self.around(structures), &[], elements),
        }
    }
}

/// Pieces that follow each other, put together.
fn whole(requests: &[Range<u64>], pieces: &[Vec<u8>]) -> Vec<(u64, Vec<u8>)> {
    let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
    for (request, piece) in requests.iter().zip(pieces) {
        match found.last_mut() {
            Some((start, bytes)) if *start + bytes.len() as u64 == request.start => {
                bytes.extend_from_slice(piece);
            }
            _ => found.push((request.start, piece.clone())),
        }
    }
    found
}

/// The bytes of `range`, cut at `size`, out of sorted requests and what they brought.
fn slice(range: &Range<u64>, size: u64, requests: &[Range<u64>], pieces: &[Vec<u8>]) -> Option<Vec<u8>> {
    let end = range.end.min(size);
    let mut at = range.start;
    let mut bytes = Vec::with_capacity(usize::try_from(end.checked_sub(at)?).ok()?);
    let mut number = requests.partition_point(|request| request.end <= at);
    while at < end {
        let (request, piece) = (requests.get(number)?, pieces.get(number)?);
        let from = usize::try_from(at.checked_sub(request.start)?).ok()?;
        let to = usize::try_from(end.min(request.end).checked_sub(request.start)?).ok()?;
        bytes.extend_from_slice(piece.get(from..to)?);
        at = request.end;
        number += 1;
    }
    Some(bytes)
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
