//! Sets of byte ranges, such as free space or the space that a commit has allocated.

use std::collections::{BTreeMap, BTreeSet};

use sciformats_core::bound;

/// Returns the length of a range. No range is empty or ends before it starts.
fn length(start: u64, end: u64) -> u64 {
    bound::left(end, start)
}

/// Ranges that are neither adjacent nor overlapping. They can be found by position and by size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    /// The ends by the starts.
    ends: BTreeMap<u64, u64>,
    /// The lengths and starts.
    sizes: BTreeSet<(u64, u64)>,
}

impl Ranges {
    fn put(&mut self, start: u64, end: u64) {
        self.ends.insert(start, end);
        self.sizes.insert((length(start, end), start));
    }

    fn drop(&mut self, start: u64, end: u64) {
        self.ends.remove(&start);
        self.sizes.remove(&(length(start, end), start));
    }

    /// Returns the ranges that contain a byte of `start .. end`.
    fn overlapping(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64)> {
        let first = self.ends.range(..=start).next_back().filter(|(_, at)| **at > start);
        let from = first.map_or(start, |(first, _)| *first);
        self.ends.range(from..end.max(from)).map(|(start, end)| (*start, *end))
    }

    /// Returns whether a byte of `start .. end` is in the set.
    pub(crate) fn touches(&self, start: u64, end: u64) -> bool {
        start < end && self.overlapping(start, end).next().is_some()
    }

    /// Returns whether all bytes of `start .. end` are in the set.
    pub(crate) fn holds(&self, start: u64, end: u64) -> bool {
        start >= end
            || self.overlapping(start, end).next().is_some_and(|(from, to)| from <= start && end <= to)
    }

    /// Returns the parts of `start .. end`, and whether each is in the set.
    pub(crate) fn split(&self, start: u64, end: u64) -> Vec<(u64, u64, bool)> {
        let mut parts = Vec::new();
        let mut at = start;
        for (from, to) in self.overlapping(start, end) {
            let (from, to) = (from.max(start), to.min(end));
            if at < from {
                parts.push((at, from, false));
            }
            parts.push((from, to, true));
            at = to;
        }
        if at < end {
            parts.push((at, end, false));
        }
        parts
    }

    /// Adds `start .. end` and joins it with adjacent ranges. Returns `false` and changes nothing if a byte of it is in
    /// the set already.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> bool {
        if start >= end {
            return true;
        }
        if self.touches(start, end) {
            return false;
        }
        let before = self.ends.range(..start).next_back().map(|(a, b)| (*a, *b)).filter(|(_, b)| *b == start);
        let after = self.ends.get_key_value(&end).map(|(a, b)| (*a, *b));
        for (a, b) in before.into_iter().chain(after) {
            self.drop(a, b);
        }
        self.put(before.map_or(start, |(a, _)| a), after.map_or(end, |(_, b)| b));
        true
    }

    /// Removes `start .. end`, as far as it is in the set.
    pub(crate) fn remove(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let found: Vec<(u64, u64)> = self.overlapping(start, end).collect();
        for (a, b) in found {
            self.drop(a, b);
            if a < start {
                self.put(a, start);
            }
            if end < b {
                self.put(end, b);
            }
        }
    }

    /// Removes `len` bytes from the smallest range in which `place` finds a start for them; `place` receives the bounds
    /// of a range. Only a few of the ranges that are large enough are tried.
    pub(crate) fn take(&mut self, len: u64, place: impl Fn(u64, u64) -> Option<u64>) -> Option<u64> {
        const TRIED: usize = 16;
        let candidates = self.sizes.range((len, 0)..).take(TRIED);
        let start = candidates.filter_map(|&(size, start)| place(start, bound::sum(start, size))).next()?;
        self.remove(start, start.checked_add(len)?);
        Some(start)
    }

    /// Returns the start of the range that ends at `end`.
    pub(crate) fn ending_at(&self, end: u64) -> Option<u64> {
        self.ends.range(..end).next_back().filter(|(_, at)| **at == end).map(|(start, _)| *start)
    }

    /// Returns all ranges in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.ends.iter().map(|(start, end)| (*start, *end))
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn aligned(len: u64) -> impl Fn(u64, u64) -> Option<u64> {
        move |start, end| Some(start.next_multiple_of(8)).filter(|at| at + len <= end)
    }

    #[test]
    fn ranges_join_and_are_taken_smallest_first() {
        let mut free = Ranges::default();
        assert!(free.insert(16, 32) && free.insert(48, 52) && free.insert(32, 40));
        assert!(!free.insert(39, 41));
        assert_eq!(free.iter().collect::<Vec<_>>(), [(16, 40), (48, 52)]);
        assert_eq!(free.take(4, aligned(4)), Some(48));
        assert_eq!(free.take(20, aligned(20)), Some(16));
        assert_eq!(free.take(5, aligned(5)), None);
        assert_eq!(free.ending_at(40), Some(36));
    }

    proptest! {
        #[test]
        fn a_set_of_bytes(steps in prop::collection::vec((any::<bool>(), 0u64..64, 0u64..12), 0..40)) {
            let mut ranges = Ranges::default();
            let mut bytes = BTreeSet::new();
            for (add, start, len) in steps {
                let part = start..start + len;
                let any = part.clone().any(|byte| bytes.contains(&byte));
                prop_assert_eq!(ranges.touches(start, start + len), any);
                prop_assert_eq!(ranges.holds(start, start + len), part.clone().all(|byte| bytes.contains(&byte)));
                let parts = ranges.split(start, start + len);
                let split = parts.iter().flat_map(|&(a, b, there)| (a..b).map(move |byte| (byte, there)));
                prop_assert!(split.eq(part.clone().map(|byte| (byte, bytes.contains(&byte)))));
                if add {
                    prop_assert_eq!(ranges.insert(start, start + len), !any);
                    if !any {
                        bytes.extend(part);
                    }
                } else {
                    ranges.remove(start, start + len);
                    bytes.retain(|byte| !part.contains(byte));
                }
                prop_assert!(ranges.iter().flat_map(|(a, b)| a..b).eq(bytes.iter().copied()));
                prop_assert_eq!(ranges.sizes.len(), ranges.ends.len());
            }
        }
    }
}
