//! The bytes that a store has returned, which are kept for later reads.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Range;

use crate::bound;

/// The size of a page in bytes.
pub(super) const PAGE: u64 = 64 << 10;

/// The size in bytes of the units for which it is known whether they were read.
const UNIT: usize = 1 << 10;

/// Pages, and ranges that were requested before they are read.
#[derive(Debug)]
pub(super) struct Cache {
    size: u64,
    pages: HashMap<u64, Page>,
    /// The number of uses of pages so far. A page with a higher number was used later.
    clock: u64,
    page_bytes: u64,
    /// The largest number of bytes of pages that are kept.
    page_limit: u64,
    /// Ranges that were requested, by their first byte.
    extents: BTreeMap<u64, Vec<u8>>,
    /// The first bytes of these ranges in the order in which they arrived.
    order: VecDeque<u64>,
    extent_bytes: u64,
    extent_limit: u64,
    /// Structures without the pages that contain them, by their first byte.
    loose: BTreeMap<u64, Vec<u8>>,
    loose_bytes: u64,
    /// Ranges that were known before the first read, which are always kept.
    known: BTreeMap<u64, Known>,
    /// Pages that a thread is fetching.
    pub(super) flying: HashSet<u64>,
    /// The page after those that were fetched last because of a read, and the number of bytes of these pages.
    pub(super) after: u64,
    pub(super) run: u64,
    /// The number of fetched bytes that were read.
    pub(super) read: u64,
    /// Whether nothing is dropped, because the work that needs it will run again.
    pub(super) keeps_all: bool,
}

/// Bytes that are always kept.
#[derive(Debug)]
struct Known {
    bytes: Vec<u8>,
    /// Which units were not read yet; empty if the bytes were not fetched from the store.
    unread: Vec<bool>,
}

impl Known {
    /// Returns how many bytes are read for the first time, in whole units.
    fn read(&mut self, from: usize, end: usize) -> u64 {
        let units = self.unread.get_mut(from / UNIT..end.div_ceil(UNIT)).into_iter().flatten();
        units.map(|unread| u64::from(std::mem::take(unread))).sum::<u64>() * UNIT as u64
    }
}

#[derive(Debug)]
struct Page {
    bytes: Vec<u8>,
    /// One bit per unit, which says whether the unit was read.
    read: u64,
    last: u64,
}

impl Cache {
    pub(super) fn new(size: u64, page_limit: u64, extent_limit: u64) -> Self {
        Self {
            size,
            pages: HashMap::new(),
            clock: 0,
            page_bytes: 0,
            page_limit,
            extents: BTreeMap::new(),
            order: VecDeque::new(),
            extent_bytes: 0,
            extent_limit,
            loose: BTreeMap::new(),
            loose_bytes: 0,
            known: BTreeMap::new(),
            flying: HashSet::new(),
            after: u64::MAX,
            run: 0,
            read: 0,
            keeps_all: false,
        }
    }

    /// Copies the bytes at `offset`. Returns the numbers of pages that are missing; if there are any, `out` is incomplete.
    pub(super) fn copy(&mut self, offset: u64, out: &mut [u8]) -> Vec<u64> {
        let mut missing = Vec::new();
        let (mut at, mut rest) = (offset, out);
        while !rest.is_empty() {
            let (part, skipped) = match self.piece(at, rest.len()) {
                Some(piece) => {
                    let len = piece.len();
                    let Some(target) = rest.get_mut(..len) else { break };
                    target.copy_from_slice(piece);
                    (len, None)
                }
                None => {
                    let number = page_of(at);
                    let next = bound::product(number + 1, PAGE);
                    let len = bound::addressable(next - at).min(rest.len());
                    (len, Some(number))
                }
            };
            missing.extend(skipped);
            at += part as u64; // inside the object, because its reader has checked the range
            rest = std::mem::take(&mut rest).get_mut(part..).unwrap_or_default();
        }
        if missing.is_empty() {
            self.release(offset, at);
        }
        missing
    }

    /// Returns the available bytes at `at`, but at most `len` of them.
    fn piece(&mut self, at: u64, len: usize) -> Option<&[u8]> {
        let up_to = |bytes: &[u8], start: u64| {
            let from = usize::try_from(at.checked_sub(start)?).ok()?;
            let end = bound::sum(from, len).min(bytes.len());
            (from < end).then_some((from, end))
        };
        for (held, counts) in [(&self.extents, true), (&self.loose, false)] {
            if let Some((&start, bytes)) = held.range(..=at).next_back()
                && let Some((from, end)) = up_to(bytes, start)
            {
                if counts {
                    self.read += (end - from) as u64;
                }
                return bytes.get(from..end);
            }
        }
        if let Some((&start, known)) = self.known.range_mut(..=at).next_back()
            && let Some((from, end)) = up_to(&known.bytes, start)
        {
            self.read += known.read(from, end);
            return known.bytes.get(from..end);
        }
        let number = page_of(at);
        let page = self.pages.get_mut(&number)?;
        let (from, end) = up_to(&page.bytes, number * PAGE)?;
        self.clock += 1;
        page.last = self.clock;
        let before = page.read.count_ones();
        for unit in from / UNIT..end.div_ceil(UNIT) {
            page.read |= 1u64 << unit; // a page has as many units as there are bits
        }
        let units = page.read.count_ones() - before;
        self.read += u64::from(units) * UNIT as u64;
        page.bytes.get(from..end)
    }

    /// Drops ranges whose ends a read from `start` to `end` has reached, because they were fetched for it.
    fn release(&mut self, start: u64, end: u64) {
        if self.keeps_all || self.extents.is_empty() {
            return;
        }
        let reaches = |(&at, bytes): (&u64, &Vec<u8>)| {
            let last = bound::sum(at, bytes.len() as u64);
            (last > start && last <= end).then_some(at)
        };
        // Ranges hardly overlap: check the range before the read, and the ranges that begin inside it.
        let before = self.extents.range(..start).next_back().and_then(reaches);
        let done: Vec<u64> =
            before.into_iter().chain(self.extents.range(start..end).filter_map(reaches)).collect();
        for at in done {
            self.drop_extent(at);
        }
    }

    fn drop_extent(&mut self, at: u64) {
        if let Some(bytes) = self.extents.remove(&at) {
            self.extent_bytes -= bytes.len() as u64;
        }
    }

    /// Returns whether all bytes of a range are available.
    pub(super) fn holds(&self, range: &Range<u64>) -> bool {
        let mut at = range.start;
        while at < range.end {
            let reaches =
                |start: u64, len: usize| Some(bound::sum(start, len as u64)).filter(|&end| end > at);
            let held = |held: &BTreeMap<u64, Vec<u8>>| {
                let (start, bytes) = held.range(..=at).next_back()?;
                reaches(*start, bytes.len())
            };
            let known = || {
                let (start, known) = self.known.range(..=at).next_back()?;
                reaches(*start, known.bytes.len())
            };
            let paged = || {
                let number = page_of(at);
                let page = self.pages.get(&number)?;
                let end = bound::sum(number * PAGE, page.bytes.len() as u64);
                Some(end).filter(|&end| end > at)
            };
            let exact = held(&self.extents).or_else(|| held(&self.loose)).or_else(known);
            match exact.or_else(paged) {
                Some(end) => at = end,
                None => return false,
            }
        }
        true
    }

    /// Keeps the whole pages among bytes that begin at `start`.
    pub(super) fn add_pages(&mut self, start: u64, bytes: &[u8]) {
        let end = bound::sum(start, bytes.len() as u64);
        for number in start.div_ceil(PAGE)..=page_of(bound::left(end, 1)) {
            let from = number * PAGE;
            let to = bound::sum(from, PAGE).min(self.size);
            let within = |at: u64| usize::try_from(at.checked_sub(start)?).ok();
            let part = within(from).zip(within(to)).and_then(|(from, to)| bytes.get(from..to));
            let Some(part) = part.filter(|part| !part.is_empty() && !self.pages.contains_key(&number)) else {
                continue;
            };
            self.clock += 1;
            self.page_bytes += part.len() as u64;
            self.pages.insert(number, Page { bytes: part.to_vec(), read: 0, last: self.clock });
        }
        if self.page_bytes > self.page_limit && !self.keeps_all {
            self.shrink();
        }
    }

    /// Drops the pages that were not used for the longest time, which are an eighth of the limit.
    fn shrink(&mut self) {
        let mut by_age: Vec<(u64, u64)> =
            self.pages.iter().map(|(&number, page)| (page.last, number)).collect();
        crate::order::sort(&mut by_age);
        for (_, number) in by_age {
            if self.page_bytes <= self.page_limit - self.page_limit / 8 {
                break;
            }
            if let Some(page) = self.pages.remove(&number) {
                self.page_bytes -= page.bytes.len() as u64;
            }
        }
    }

    /// Keeps a range until it is read, or until others need its space.
    pub(super) fn add_extent(&mut self, start: u64, bytes: Vec<u8>) {
        if self.extents.get(&start).is_some_and(|known| known.len() >= bytes.len()) {
            return;
        }
        self.drop_extent(start);
        self.extent_bytes += bytes.len() as u64;
        self.extents.insert(start, bytes);
        self.order.push_back(start);
        while self.extent_bytes > self.extent_limit && self.extents.len() > 1 && !self.keeps_all {
            let Some(oldest) = self.order.pop_front() else { break };
            if oldest != start {
                self.drop_extent(oldest);
            }
        }
        // Ranges that were read are gone, and only their positions in the order are left.
        if self.order.len() > 64 && self.order.len() > self.extents.len() * 2 {
            let extents = &self.extents;
            self.order.retain(|at| extents.contains_key(at));
        }
    }

    /// Keeps a structure without the page that contains it. If all of them need too much space, earlier ones are dropped.
    pub(super) fn add_loose(&mut self, start: u64, bytes: Vec<u8>) {
        if self.loose_bytes > self.page_limit / 4 && !self.keeps_all {
            self.loose.clear();
            self.loose_bytes = 0;
        }
        // They count as read, because they are requested in order to be read.
        self.read += bytes.len() as u64;
        self.loose_bytes += bytes.len() as u64;
        if let Some(old) = self.loose.insert(start, bytes) {
            self.loose_bytes -= old.len() as u64;
        }
    }

    /// Keeps a range for ever. If it was `fetched`, what is never read of it was fetched without use.
    pub(super) fn add_known(&mut self, start: u64, bytes: Vec<u8>, fetched: bool) {
        let units = if fetched { bytes.len().div_ceil(UNIT) } else { 0 };
        self.known.insert(start, Known { bytes, unread: vec![true; units] });
    }
}

/// Returns the number of the page that contains a byte.
pub(super) fn page_of(offset: u64) -> u64 {
    offset / PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(range: Range<u64>) -> Vec<u8> {
        range.map(|i| (i % 251) as u8).collect()
    }

    #[test]
    fn reads_are_put_together_from_all_that_is_here() {
        let size = 3 * PAGE + 10;
        let mut cache = Cache::new(size, u64::MAX, u64::MAX);
        cache.add_pages(PAGE - 5, &bytes(PAGE - 5..2 * PAGE + 100)); // page 1 only is whole
        cache.add_extent(2 * PAGE, bytes(2 * PAGE..2 * PAGE + 8));
        cache.add_known(PAGE - 8, bytes(PAGE - 8..PAGE), false);
        let mut out = [0; 30];
        assert!(cache.copy(PAGE - 8, &mut out).is_empty());
        assert_eq!(out[..], bytes(PAGE - 8..PAGE + 22)[..]);
        assert!(cache.holds(&(PAGE - 8..2 * PAGE + 8)));
        assert!(!cache.holds(&(PAGE - 9..PAGE)));
        let mut out = vec![0; PAGE as usize + 20];
        assert_eq!(cache.copy(PAGE - 4, &mut out), [2]);
        let mut out = [0; 10];
        assert!(cache.copy(2 * PAGE - 2, &mut out).is_empty());
        // This was its last read.
        assert_eq!(cache.copy(2 * PAGE, &mut out), [2]);
        cache.add_pages(3 * PAGE, &bytes(3 * PAGE..size));
        assert!(cache.copy(size - 3, &mut out[..3]).is_empty());
        assert_eq!(out[..3], bytes(size - 3..size)[..]);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut cache = Cache::new(100 * PAGE, 8 * PAGE, 300);
        for number in 0..100 {
            cache.add_pages(number * PAGE, &bytes(number * PAGE..(number + 1) * PAGE));
            assert!(cache.page_bytes <= 8 * PAGE);
            cache.add_extent(number, vec![0; 100]);
            assert!(cache.extent_bytes <= 300);
        }
        assert!(cache.holds(&(99 * PAGE..100 * PAGE)) && !cache.holds(&(50 * PAGE..51 * PAGE)));
        assert!(cache.holds(&(99..199)));
        assert!(cache.order.len() < 70);
    }
}
