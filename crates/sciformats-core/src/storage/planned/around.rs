//! Which pages and blocks are fetched around structures, since what leads to a structure or follows it is mostly near to it.

use std::collections::BTreeSet;
use std::ops::Range;

use super::cache::{PAGE, page_of};
use super::together::Fetch;
use super::{Inner, plan};
use crate::bound;
use crate::error::Result;
use crate::storage::{Ranges, length};

/// The largest number of windows of pages around the structures of a batch.
const WINDOWS: u64 = 8;

/// The number of windows that one request brings of a short file.
const SHARE: u64 = 4;

/// The size of blocks in which short structures are fetched that are far apart. Their parts are mostly next to each other.
const BLOCK: u64 = 4 << 10;

/// Shorter ranges are the beginning of a structure; longer ones are the whole structure.
const SHORT: u64 = 1 << 10;

impl<R: Ranges + 'static> Fetch for Inner<R> {
    fn fetch(&self, structures: &[Range<u64>], chain: bool, elements: &[Range<u64>]) -> Result<()> {
        // What does not fit is fetched when it is read.
        let mut left = self.options.ahead;
        let fit = elements.iter().position(|range| match left.checked_sub(length(range)) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        });
        let elements = elements.get(..fit.unwrap_or(elements.len())).unwrap_or_default();
        if let Some(part) = chain.then(|| self.part(structures)).flatten() {
            return self.bring(&part, &[], elements);
        }
        match (self.loose(structures), structures) {
            (Some(loose), _) => self.bring(&BTreeSet::new(), &loose, elements),
            // What is around a single structure of a chain is fetched as if it were read.
            (None, [only]) if chain => {
                let missing: Vec<u64> = (page_of(only.start)..=page_of(only.end - 1)).collect();
                self.bring(&self.window(&missing, length(only)), &[], elements)
            }
            (None, _) => self.bring(&self.around(structures), &[], elements),
        }
    }
}

impl<R: Ranges + 'static> Inner<R> {
    /// Returns the pages around those that a read of `len` bytes needs.
    pub(super) fn window(&self, missing: &[u64], len: u64) -> BTreeSet<u64> {
        let (Some(&first), Some(&last)) = (missing.first(), missing.last()) else { return BTreeSet::new() };
        let mut state = self.lock();
        let cache = &mut state.cache;
        let follows = cache.after == first;
        let pages = (self.options.window / PAGE).max(1);
        let most = (self.options.structures.longest / PAGE).max(pages);
        // Something that leads to a structure is mostly before it. At the end of a window, half of the next one is fetched too. The
        // beginning of a structure mostly leads to others in its neighbourhood, so two windows are fetched around it.
        let lone = !follows && len < SHORT;
        let (start, ahead) = match (follows, lone) {
            (true, _) => (first, 0),
            (false, true) => (bound::left(first, pages / 2), 0),
            (false, false) => (first - first % pages, pages / 2),
        };
        cache.run = match (follows, lone) {
            (true, _) => (cache.run * 2).clamp(pages, most),
            (false, true) => (pages + pages / 2 * 2).min(most),
            (false, false) => pages,
        };
        let end = bound::sum(start, cache.run).max(bound::sum(first, ahead)).max(last + 1);
        let all = self.size.div_ceil(PAGE);
        let (mut start, mut end) = (start, end.min(all));
        if lone {
            // Where the window meets pages that are here, or an end of the file, it reaches further on its other side.
            let held = |number: u64| cache.holds(&self.cut(number * PAGE..bound::product(number + 1, PAGE)));
            while start < first && held(start) {
                start += 1;
            }
            while end > last + 1 && held(end - 1) {
                end -= 1;
            }
            let mut spare = bound::left(cache.run, end - start);
            while spare > 0 && start > 0 && !held(start - 1) {
                (start, spare) = (start - 1, spare - 1);
            }
            while spare > 0 && end < all && !held(end) {
                (end, spare) = (end + 1, spare - 1);
            }
        }
        cache.after = end;
        (start..end).collect()
    }

    /// Returns the pages that are fetched for structures of a chain in a short file, which two requests can bring. The first one
    /// brings so much of the gap between the pages that are here, up to one of its ends, that a single one can bring the rest, as
    /// the next one does. Two therefore suffice wherever the structures are. `None` if the file is longer.
    fn part(&self, structures: &[Range<u64>]) -> Option<BTreeSet<u64>> {
        let wanted = plan::merged(structures, self.size);
        let missing = page_of(wanted.first()?.start)..page_of(wanted.last()?.end - 1) + 1;
        let window = (self.options.window / PAGE).max(1);
        let longest = self.options.structures.longest / PAGE;
        let most = bound::product(window, SHARE).min(longest).max(window);
        let all = self.size.div_ceil(PAGE);
        if all > bound::sum(bound::product(most, 2), window) {
            return None;
        }
        let mut state = self.lock();
        let cache = &mut state.cache;
        let held = |number: u64| cache.holds(&self.cut(number * PAGE..bound::product(number + 1, PAGE)));
        let Range { mut start, mut end } = missing.clone();
        while start > 0 && !held(start - 1) {
            start -= 1;
        }
        while end < all && !held(end) {
            end += 1;
        }
        let gap = end - start;
        if gap > bound::product(most, 2) {
            return None;
        }
        let run = match cache.run {
            0 => bound::left(gap, most).max(bound::product(window, 2)),
            _ => most,
        };
        // What follows a structure is more often needed than what is before it.
        let after = bound::sum(missing.end, window).min(bound::sum(start, most));
        let before = bound::left(missing.start, window / 2).max(bound::left(end, most));
        let left = start..bound::sum(start, run).max(after).max(missing.end).min(end);
        let right = bound::left(end, run).min(before).min(missing.start).max(start)..end;
        let nearer = if length(&left) <= length(&right) { left } else { right };
        let part = if gap <= run || length(&nearer) > most { start..end } else { nearer };
        (cache.run, cache.after) = (length(&part), part.end);
        Some(part.collect())
    }

    /// Returns the blocks that contain a batch of structures, if there are so many structures and they are so far apart that most
    /// of the pages around them would contain something else, such as chunks between the nodes of an index. If the whole
    /// structures are known, it is enough that they are far apart.
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
        let span = pages.last().zip(pages.first()).map_or(0, |(last, first)| (last - first) * PAGE);
        let whole = merged.iter().all(|range| length(range) >= SHORT);
        let apart = whole && span / self.options.window > bound::product(pages.len() as u64, 2);
        let many = all > bound::product(self.options.window, WINDOWS);
        ((many || apart) && part < all / 4).then_some(loose)
    }

    /// Returns the pages that contain a batch of ranges, and more pages around them if there are few.
    fn around(&self, ranges: &[Range<u64>]) -> BTreeSet<u64> {
        let mut pages: BTreeSet<u64> = BTreeSet::new();
        for range in plan::merged(ranges, self.size) {
            pages.extend(page_of(range.start)..=page_of(range.end - 1));
        }
        // Structures that belong together are near to each other, so some windows are divided among the pages. Many pages that
        // are further apart than a window belong to an index between elements, and what is around them is of no use.
        let window = self.options.window / PAGE;
        let number = pages.len() as u64;
        let span = pages.last().zip(pages.first()).map_or(0, |(last, first)| last - first);
        let each = match bound::product(window, WINDOWS).checked_div(number) {
            Some(_) if number > WINDOWS && span / number > window => 1,
            Some(each) => each.min(window),
            None => window,
        };
        let each = each.checked_ilog2().map_or(1, |bits| 1u64 << bits);
        let end = self.size.div_ceil(PAGE);
        let block = |number: u64| {
            let start = number - number % each;
            start..bound::sum(start, each).min(end)
        };
        pages.into_iter().flat_map(block).collect()
    }
}
