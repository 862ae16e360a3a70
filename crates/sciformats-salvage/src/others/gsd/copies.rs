//! Copies of the index. A file gets a longer index when the old one is full, and the old one stays where it is, so that lost entries
//! may still be in a copy.

use std::collections::{BTreeMap, HashMap};

use gsd_rs::ElementType;
use gsd_rs::structure::FoundEntry;
use sciformats_core::{ReadAt, Result, bound};

use super::index::{WINDOW, can_be, holes};

pub(super) const SIZE: u64 = FoundEntry::SIZE as u64;
/// The most entries outside the index that are kept.
const MOST: usize = 4_000_000;
/// The number of entries of the first index of a file. Each later one has twice as many as the one before, or more.
const FIRST: u64 = 128;

/// Calls `each` with the place of everything in a file that can be an entry, and with the entry.
pub(super) fn each_entry(source: &dyn ReadAt, each: &mut dyn FnMut(u64, FoundEntry)) -> Result<()> {
    let size = source.size();
    let mut start = 0;
    while start < size {
        let len = bound::addressable((size - start).min(WINDOW + SIZE - 1));
        let bytes = source.read_at(start, len)?;
        for (i, window) in bytes.windows(FoundEntry::SIZE).enumerate() {
            // Flags, the element type, and the highest bytes of the location and of the frame decide nearly always.
            if window.get(31) != Some(&0)
                || !matches!(window.get(30), Some(1..=11))
                || window.get(22..24) != Some(&[0, 0])
                || window.get(6..8) != Some(&[0, 0])
            {
                continue;
            }
            if let Some(entry) = FoundEntry::from_bytes(window).filter(|entry| can_be(entry, size)) {
                each(start + i as u64, entry);
            }
        }
        start += WINDOW;
    }
    Ok(())
}

/// Entries outside the index.
pub(super) struct Copies {
    entries: BTreeMap<u64, FoundEntry>,
    /// The places of the entries of each chunk, by the location of its data.
    places: HashMap<u64, Vec<u64>>,
}

impl Copies {
    /// Collects everything outside `index` that can be an entry.
    pub(super) fn find(source: &dyn ReadAt, index: (u64, u64)) -> Result<Self> {
        let mut entries = BTreeMap::new();
        let mut places: HashMap<u64, Vec<u64>> = HashMap::new();
        each_entry(source, &mut |at, entry| {
            let inside = at < index.1 && bound::sum(at, SIZE) > index.0;
            if !inside && entries.len() < MOST {
                entries.insert(at, entry);
                places.entry(entry.location).or_default().push(at);
            }
        })?;
        Ok(Self { entries, places })
    }

    /// Returns the places of copies of an entry.
    fn of(&self, entry: &FoundEntry) -> impl Iterator<Item = u64> {
        let places = self.places.get(&entry.location).into_iter().flatten().copied();
        places.filter(|at| self.entries.get(at) == Some(entry))
    }

    /// Returns the extents of the copies that start with the first entry of the index.
    pub(super) fn blocks(&self, first: &FoundEntry) -> Vec<(u64, u64)> {
        let block = |start: u64| {
            let mut count = 1u64;
            while self.entries.contains_key(&bound::sum(start, count * SIZE)) {
                count += 1;
            }
            let mut allocated = FIRST;
            while allocated < count {
                allocated *= 2;
            }
            (start, bound::sum(start, bound::product(allocated, SIZE)))
        };
        self.of(first).map(block).collect()
    }

    /// Takes entries that are lost in the index from copies that agree with its entries beside them, and returns how many.
    pub(super) fn fill(&self, slots: &mut Vec<Option<FoundEntry>>, allocated: u64) -> usize {
        let mut filled = 0;
        for (from, at) in holes(slots) {
            let found = self.between(slots, (from, at));
            if let (Some(found), Some(hole)) = (found, slots.get_mut(from..at)) {
                for (slot, entry) in hole.iter_mut().zip(found) {
                    filled += usize::from(entry.is_some());
                    *slot = entry;
                }
            }
        }
        // What follows the last entry that is left. Elements behind the end of a copy may look like an entry, but hardly like one with
        // the type that another chunk of this name has.
        let types: HashMap<u16, (ElementType, u32)> =
            slots.iter().flatten().map(|entry| (entry.id, (entry.element, entry.m))).collect();
        let is_known = |entry: &FoundEntry| types.get(&entry.id) == Some(&(entry.element, entry.m));
        if let Some(last) = slots.last().copied().flatten() {
            let mut longest = Vec::new();
            for place in self.of(&last) {
                let mut next = Vec::new();
                let room = bound::left(allocated, slots.len() as u64);
                while (next.len() as u64) < room
                    && let Some(entry) = self.entries.get(&bound::sum(place, (next.len() as u64 + 1) * SIZE))
                    && entry.frame >= next.last().map_or(last.frame, |last: &FoundEntry| last.frame)
                    && is_known(entry)
                {
                    next.push(*entry);
                }
                if next.len() > longest.len() {
                    longest = next;
                }
            }
            filled += longest.len();
            slots.extend(longest.into_iter().map(Some));
        }
        filled
    }

    /// Returns the entries of a hole, as far as a copy has them. Where the copy also has the neighbours of the hole, they agree.
    fn between(
        &self,
        slots: &[Option<FoundEntry>],
        (from, to): (usize, usize),
    ) -> Option<Vec<Option<FoundEntry>>> {
        let known = |at: Option<usize>| at.and_then(|at| slots.get(at)).copied().flatten();
        let (before, after) = (known(from.checked_sub(1)), known(Some(to)));
        let count = (to - from) as u64;
        let starts = match (&before, &after) {
            (Some(entry), _) => self.of(entry).map(|place| bound::sum(place, SIZE)).collect::<Vec<_>>(),
            (None, Some(entry)) => {
                self.of(entry).filter_map(|place| place.checked_sub(bound::product(count, SIZE))).collect()
            }
            (None, None) => Vec::new(),
        };
        let agrees = |start: u64| {
            let next = self.entries.get(&bound::sum(start, bound::product(count, SIZE)));
            next.is_none() || after.is_none() || next == after.as_ref()
        };
        let copy = |start: u64| {
            let mut frame = before.map_or(0, |before| before.frame);
            let last = after.map_or(u64::MAX, |after| after.frame);
            let mut is_whole = true;
            let found = (0..count).map(|i| {
                let entry = self.entries.get(&bound::sum(start, i * SIZE)).copied();
                let entry = entry.filter(|entry| is_whole && (frame..=last).contains(&entry.frame));
                is_whole = entry.is_some();
                frame = entry.map_or(frame, |entry| entry.frame);
                entry
            });
            found.collect::<Vec<_>>()
        };
        let copies = starts.into_iter().filter(|&start| agrees(start)).map(copy);
        copies.max_by_key(|found| found.iter().flatten().count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64) -> FoundEntry {
        let frame = number / 2;
        FoundEntry {
            frame,
            n: 4,
            m: 1,
            location: 256 + number,
            id: (number % 2) as u16,
            element: ElementType::U8,
        }
    }

    /// A file in which a copy of the first `count` entries begins at 1000.
    fn copies(count: u64) -> Copies {
        let mut bytes = vec![0; 1000];
        for entry in (0..count).map(entry) {
            bytes.extend([entry.frame, entry.n, entry.location].map(u64::to_le_bytes).concat());
            bytes.extend(entry.m.to_le_bytes());
            bytes.extend(entry.id.to_le_bytes());
            bytes.extend([1, 0]);
        }
        bytes.resize(20_000, 0);
        Copies::find(&bytes, (15_000, 16_000)).unwrap()
    }

    #[test]
    fn lost_entries_come_from_a_copy() {
        let whole: Vec<_> = (0..40).map(|number| Some(entry(number))).collect();
        let copies = copies(30);
        assert_eq!(copies.blocks(&entry(0)), [(1000, 1000 + 128 * SIZE)]);
        for (from, to, filled) in [(0, 7, 7), (3, 20, 17), (25, 35, 5), (31, 35, 0), (30, 40, 0)] {
            let mut slots = whole.clone();
            slots[from..to].fill(None);
            assert_eq!(copies.fill(&mut slots, 40), filled, "{from}..{to}");
            assert_eq!(slots[..from + filled], whole[..from + filled]);
            assert_eq!(slots[to..], whole[to..]);
        }
    }

    #[test]
    fn what_follows_the_last_entry_comes_from_a_copy() {
        let copies = copies(30);
        let mut slots: Vec<_> = (0..10).map(|number| Some(entry(number))).collect();
        assert_eq!(copies.fill(&mut slots, 25), 15);
        assert_eq!(slots, (0..25).map(|number| Some(entry(number))).collect::<Vec<_>>());
    }

    #[test]
    fn a_copy_that_disagrees_is_not_used() {
        let mut slots: Vec<_> = (0..20).map(|number| Some(entry(number))).collect();
        slots[5..9].fill(None);
        slots[9].as_mut().unwrap().location += 1;
        assert_eq!(copies(30).fill(&mut slots, 20), 0);
    }
}
