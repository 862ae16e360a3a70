//! Entries that are lost in the index and its copies, by the pattern of the frames beside them: frames that have the same chunks store
//! them one after the other.

use std::collections::{BTreeMap, BTreeSet};

use gsd_rs::structure::FoundEntry;
use sciformats_core::bound;

use super::index::holes;

/// The most frames that a hole is filled with.
const FRAMES: u64 = 1 << 20;

/// The chunks of a frame.
struct Pattern {
    /// The chunks by the number of their name, with their offsets from the start of the frame.
    chunks: BTreeMap<u16, (FoundEntry, u64)>,
    size: u64,
}

impl Pattern {
    /// Returns the pattern of a frame; `None` if its chunks do not follow each other.
    fn of(entries: &[FoundEntry]) -> Option<Self> {
        let mut sorted: Vec<&FoundEntry> = entries.iter().filter(|entry| entry.size() != Some(0)).collect();
        sorted.sort_unstable_by_key(|entry| entry.location);
        let start = sorted.first()?.location;
        let mut end = start;
        let mut chunks = BTreeMap::new();
        for entry in sorted {
            if entry.location != end || chunks.insert(entry.id, (*entry, end - start)).is_some() {
                return None;
            }
            end = end.checked_add(entry.size()?)?;
        }
        // Nothing tells the place of a chunk without bytes in the order, so a frame with such chunks is no pattern.
        (chunks.len() == entries.len()).then_some(Self { chunks, size: end - start })
    }

    fn is_like(&self, other: &Self) -> bool {
        let fields = |(entry, at): &(FoundEntry, u64)| (entry.element, entry.n, entry.m, *at);
        self.chunks.len() == other.chunks.len()
            && self.chunks.iter().zip(&other.chunks).all(|(a, b)| a.0 == b.0 && fields(a.1) == fields(b.1))
    }

    /// Returns the start of the frame that a chunk belongs to; `None` if the pattern has no such chunk.
    fn start(&self, entry: &FoundEntry) -> Option<u64> {
        let (like, at) = self.chunks.get(&entry.id)?;
        let same = (like.element, like.n, like.m) == (entry.element, entry.n, entry.m);
        entry.location.checked_sub(*at).filter(|_| same)
    }
}

/// Fills holes between entries where everything agrees: the frames on both sides have the same chunks, the number of lost entries is
/// that of the chunks that these frames lack, and the chunks fill the bytes between their neighbours exactly. `blocks` are the extents
/// of indices and of lists of names, which may be between frames. Returns the entries that were added.
pub(super) fn fill(slots: &mut [Option<FoundEntry>], blocks: &[(u64, u64)]) -> Vec<FoundEntry> {
    let mut added = Vec::new();
    for (from, at) in holes(slots) {
        let Some(found) = lost(slots, (from, at), blocks) else { continue };
        if let Some(hole) = slots.get_mut(from..at) {
            hole.iter_mut().zip(&found).for_each(|(slot, entry)| *slot = Some(*entry));
        }
        added.extend(found);
    }
    added
}

/// Returns the entries of a hole.
fn lost(
    slots: &[Option<FoundEntry>],
    (from, to): (usize, usize),
    blocks: &[(u64, u64)],
) -> Option<Vec<FoundEntry>> {
    let before = slots.get(from.checked_sub(1)?).copied().flatten()?;
    let after = slots.get(to).copied().flatten()?;
    let (first, last) = (before.frame, after.frame);
    if last - first > FRAMES {
        return None;
    }
    // The entries of the first frame before the hole, and those of the last frame behind it.
    let head = frame(slots.get(..from)?.iter().rev(), first)?;
    let tail = frame(slots.get(to..)?.iter(), last)?;
    let earlier = first.checked_sub(1).and_then(|frame| whole(slots.get(..from)?.iter().rev(), first, frame));
    let later = whole(slots.get(to..)?.iter(), last, bound::sum(last, 1));
    let pattern = match (earlier, later) {
        (Some(earlier), Some(later)) => {
            let (earlier, later) = (Pattern::of(&earlier)?, Pattern::of(&later)?);
            earlier.is_like(&later).then_some(earlier)?
        }
        (Some(one), None) | (None, Some(one)) => Pattern::of(&one)?,
        (None, None) => return None,
    };
    let starts: BTreeSet<Option<u64>> = head.iter().map(|entry| pattern.start(entry)).collect();
    let ends: BTreeSet<Option<u64>> = tail.iter().map(|entry| pattern.start(entry)).collect();
    let one = |places: &BTreeSet<Option<u64>>| match places.iter().collect::<Vec<_>>().as_slice() {
        [Some(place)] => Some(*place),
        _ => None,
    };
    let (start, end) = (one(&starts)?, one(&ends)?);
    let known: BTreeSet<(u64, u16)> = head.iter().chain(&tail).map(|entry| (entry.frame, entry.id)).collect();
    let mut found = Vec::new();
    let mut place = start;
    for frame in first..=last {
        if frame > first {
            place = place.checked_add(pattern.size)?;
            while let Some((_, behind)) =
                blocks.iter().find(|(block, behind)| *block == place && behind > block)
            {
                place = *behind;
            }
        }
        for (id, (like, at)) in &pattern.chunks {
            if !known.contains(&(frame, *id)) {
                found.push(FoundEntry { frame, location: place.checked_add(*at)?, ..*like });
            }
        }
        if found.len() > to - from {
            return None;
        }
    }
    (place == end && found.len() == to - from).then_some(found)
}

/// Returns the entries of a frame at the start of a series of slots; `None` if one of them is lost.
fn frame<'a>(slots: impl Iterator<Item = &'a Option<FoundEntry>>, frame: u64) -> Option<Vec<FoundEntry>> {
    let mut entries = Vec::new();
    for slot in slots {
        match slot {
            Some(entry) if entry.frame == frame => entries.push(*entry),
            Some(_) => break,
            None => return None,
        }
    }
    Some(entries)
}

/// Returns the entries of the frame `wanted`, which follows `near` in a series of slots, if none of them is lost.
fn whole<'a>(
    slots: impl Iterator<Item = &'a Option<FoundEntry>> + Clone,
    near: u64,
    wanted: u64,
) -> Option<Vec<FoundEntry>> {
    let rest = slots.skip_while(move |slot| slot.is_some_and(|entry| entry.frame == near));
    frame(rest, wanted).filter(|entries| !entries.is_empty())
}

#[cfg(test)]
mod tests {
    use gsd_rs::ElementType;

    use super::*;

    /// Frames of three chunks with 8, 36 and 1 bytes, and a block of 100 bytes before frame 3.
    fn slots() -> Vec<Option<FoundEntry>> {
        let mut slots = Vec::new();
        let mut location = 1000;
        for frame in 0..6 {
            if frame == 3 {
                location += 100;
            }
            for (id, (element, n, m)) in
                [(ElementType::U64, 1, 1), (ElementType::F32, 3, 3), (ElementType::U8, 1, 1)]
                    .into_iter()
                    .enumerate()
            {
                let entry = FoundEntry { frame, n, m, location, id: id as u16, element };
                location += entry.size().unwrap();
                slots.push(Some(entry));
            }
        }
        slots
    }

    const BLOCK: (u64, u64) = (1000 + 3 * 45, 1100 + 3 * 45);

    #[test]
    fn lost_entries_are_those_that_fill_the_gap() {
        let whole = slots();
        for from in 1..whole.len() {
            for to in from + 1..whole.len() {
                let mut damaged = whole.clone();
                damaged[from..to].fill(None);
                let added = fill(&mut damaged, &[BLOCK]);
                // One frame beside the hole must be whole.
                let has_pattern = from >= 4 || to <= 14;
                assert_eq!(damaged == whole, has_pattern, "{from}..{to}");
                assert_eq!(added.len(), if has_pattern { to - from } else { 0 });
            }
        }
    }

    #[test]
    fn nothing_is_guessed_if_anything_disagrees() {
        let hole = |change: &dyn Fn(&mut Vec<Option<FoundEntry>>)| {
            let mut damaged = slots();
            change(&mut damaged);
            damaged[7..11].fill(None);
            fill(&mut damaged, &[BLOCK]).len()
        };
        assert_eq!(hole(&|_| ()), 4);
        // Another place or another size behind the hole, another number of entries, other frames beside it.
        assert_eq!(hole(&|slots| slots[11].as_mut().unwrap().location += 1), 0);
        assert_eq!(hole(&|slots| slots[11].as_mut().unwrap().n = 2), 0);
        assert_eq!(
            hole(&|slots| {
                slots.remove(8);
            }),
            0
        );
        assert_eq!(hole(&|slots| slots[13].as_mut().unwrap().n = 2), 0);
        let mut without_block = slots();
        without_block[7..11].fill(None);
        assert_eq!(fill(&mut without_block, &[]), []);
    }
}
