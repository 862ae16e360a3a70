//! The index of a damaged file: its entries that are left, and lost ones from other places.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gsd_rs::structure::FoundEntry;
use gsd_rs::{Block, Header};
use sciformats_core::{ReadAt, Result, bound};

use super::copies::{self, Copies};
use super::{HEADER, pattern};
use crate::map::Part;
use crate::others::Notes;
use crate::report::Confidence;

/// The bytes that are looked at together while entries are searched for.
pub(super) const WINDOW: u64 = 4 << 20;
/// The most entries that are kept.
const ENTRIES: usize = 50_000_000;
/// The size of a sector.
const SECTOR: u64 = 512;
/// The most frames without chunks between two entries.
const GAP: u64 = 1 << 20;
/// What is left of the index.
#[derive(Default)]
pub(super) struct Entries {
    pub(super) kept: Vec<FoundEntry>,
    /// The frames of which entries may be lost.
    pub(super) frames: BTreeSet<u64>,
    /// The frames and the numbers of the names of chunks whose entries are lost, and which the frames beside them place.
    pub(super) placed: BTreeSet<(u64, u16)>,
}

/// Returns the entries of the index that the header names; `None` if there is no index in this place.
pub(super) fn indexed(source: &dyn ReadAt, header: &Header, notes: &mut Notes) -> Result<Option<Entries>> {
    const SIZE: u64 = FoundEntry::SIZE as u64;
    let Block { location, allocated } = header.index;
    let Some(end) = allocated.checked_mul(SIZE).and_then(|len| location.checked_add(len)) else {
        return Ok(None);
    };
    let there = bound::left(source.size(), location).min(end - location) / SIZE;
    if end > source.size() {
        notes.cut_off(end);
    }
    if there == 0 {
        return Ok(None);
    }
    let mut slots: Vec<Option<FoundEntry>> = Vec::new();
    let mut bad = false;
    let mut empty_from = None;
    let mut at = 0;
    while at < there && slots.len() < ENTRIES {
        let count = (there - at).min(WINDOW / SIZE);
        let bytes = source.read_at(location + at * SIZE, bound::addressable(count * SIZE))?;
        for entry in bytes.chunks_exact(FoundEntry::SIZE) {
            let empty = entry.iter().all(|&byte| byte == 0);
            let found = FoundEntry::from_bytes(entry).filter(|found| can_be(found, source.size()));
            if found.is_none() && empty_from.is_none() {
                empty_from = Some(slots.len());
                bad |= !empty;
            } else if found.is_some() && empty_from.is_some() {
                // Entries follow others that are not used, which the format does not allow.
                bad = true;
            }
            slots.push(found);
        }
        at += count;
    }
    notes.structure("index", (location, end.min(source.size())), Part::Reached);
    if slots.iter().all(Option::is_none) && header.index.allocated > 0 {
        let zeros = &notes.zeros;
        let hole =
            zeros.iter().any(|&(from, to)| from <= location && location < to && to - from < end - location);
        if bad || hole {
            notes.cause("changed bytes", "no entry of the index can be read");
            return Ok(None);
        }
    }
    let is_cut = end > source.size() && slots.last().is_some_and(Option::is_some);
    slots.truncate(slots.iter().rposition(Option::is_some).map_or(0, |last| last + 1));
    leave_out_halves(&mut slots, location);
    let mut slots = trusted(&slots);
    let lost = slots.iter().filter(|slot| slot.is_none()).count();
    if bad || lost > 0 {
        let evidence = format!("{lost} entries of the index cannot be read or are not in order");
        notes.cause("changed bytes", evidence);
    }
    let used = slots.len() as u64;
    if !bad && (location + used * SIZE).is_multiple_of(SECTOR) && used < there && is_short(&slots) {
        // The other entries of the last frame may be in a sector of zeros, which looks as if they had never been.
        notes.cause(
            "holes",
            "the last frame has fewer chunks than the one before, and its entries end with a sector",
        );
        bad = true;
    }
    let mut placed = BTreeSet::new();
    if bad || lost > 0 || end > source.size() {
        placed = recovered(source, header, &mut slots, notes)?;
        slots = trusted(&slots);
    }
    let left_out = slots.iter().filter(|slot| slot.is_none()).count();
    if left_out > 0 {
        let reason = format!("{left_out} of {}", slots.len());
        notes.act("leave out entries of the index", location, reason, Confidence::High);
    }
    let mut frames = lost_frames(&slots);
    if (bad && lost == 0 || is_cut)
        && let Some(last) = slots.iter().rev().flatten().next()
    {
        frames.insert(last.frame);
    }
    Ok(Some(Entries { kept: slots.into_iter().flatten().collect(), frames, placed }))
}

/// Leaves out entries whose first bytes are in a sector of zeros, which looks like a chunk of the first frame. `location` is the place
/// of the first entry.
fn leave_out_halves(slots: &mut [Option<FoundEntry>], location: u64) {
    let mut before_is_lost = false;
    for (i, slot) in slots.iter_mut().enumerate() {
        let Some(entry) = slot else {
            before_is_lost = true;
            continue;
        };
        let at = bound::sum(location, bound::product(i as u64, copies::SIZE));
        let lost = at.next_multiple_of(SECTOR) - at;
        let is_half = (8..copies::SIZE).contains(&lost) && entry.frame == 0 && (lost < 16 || entry.n == 0);
        if before_is_lost && is_half {
            *slot = None;
        }
        before_is_lost = false;
    }
}

/// Fills holes of the index from its copies, and by the frames beside them. Returns the chunks that only these frames place.
fn recovered(
    source: &dyn ReadAt,
    header: &Header,
    slots: &mut Vec<Option<FoundEntry>>,
    notes: &mut Notes,
) -> Result<BTreeSet<(u64, u16)>> {
    let Block { location, allocated } = header.index;
    let extent = |block: Block, size: u64| {
        (block.location, bound::sum(block.location, bound::product(block.allocated, size)))
    };
    let index = extent(header.index, copies::SIZE);
    let copies = Copies::find(source, index)?;
    let copied = copies.fill(slots, allocated);
    if copied > 0 {
        let reason =
            format!("{copied} entries are in an older index, which agrees with the entries beside them");
        notes.act("use entries of a copy of the index", location, reason, Confidence::High);
    }
    let mut blocks = vec![index, extent(header.names, 64)];
    blocks.extend(slots.first().copied().flatten().map(|first| copies.blocks(&first)).unwrap_or_default());
    let placed = pattern::fill(slots, &blocks);
    if !placed.is_empty() {
        let reason = format!(
            "{} chunks fill the bytes between their neighbours exactly, if their frames are like those beside them",
            placed.len()
        );
        notes.act("place chunks by the frames beside them", location, reason, Confidence::Medium);
    }
    Ok(placed.iter().map(|entry| (entry.frame, entry.id)).collect())
}

/// Returns whether the last frame lacks a chunk that the frame before it has.
fn is_short(slots: &[Option<FoundEntry>]) -> bool {
    let entries: Vec<FoundEntry> = slots.iter().copied().flatten().collect();
    let Some(last) = entries.last().map(|entry| entry.frame) else { return false };
    let of = |frame: u64| -> BTreeSet<u16> {
        let from = entries.partition_point(|entry| entry.frame < frame);
        entries.iter().skip(from).take_while(|entry| entry.frame == frame).map(|entry| entry.id).collect()
    };
    last.checked_sub(1).is_some_and(|before| !of(before).is_subset(&of(last)))
}

/// Returns whether an entry can be one of a file of this size. Its data may be behind the end of a file that was cut off.
pub(super) fn can_be(entry: &FoundEntry, size: u64) -> bool {
    let bytes = entry.size();
    entry.frame < 1 << 48
        && entry.location >= HEADER
        && bytes.is_some_and(|bytes| bytes < 1 << 48 && entry.location < bound::sum(size, bytes).max(1 << 40))
}

/// Returns the slots with the entries that are in order; the others are lost.
fn trusted(slots: &[Option<FoundEntry>]) -> Vec<Option<FoundEntry>> {
    // The longest series of entries whose frames never decrease. `ends` has the last entry of the best series of each length.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; slots.len()];
    let frame = |i: usize| slots.get(i).copied().flatten().map_or(0, |entry| entry.frame);
    for (i, slot) in slots.iter().enumerate() {
        let Some(entry) = slot else { continue };
        let len = ends.partition_point(|&end| frame(end) <= entry.frame);
        if let (Some(place), Some(&last)) =
            (before.get_mut(i), len.checked_sub(1).and_then(|last| ends.get(last)))
        {
            *place = Some(last);
        }
        match ends.get_mut(len) {
            Some(end) => *end = i,
            None => ends.push(i),
        }
    }
    let mut chosen = Vec::new();
    let mut at = ends.last().copied();
    while let Some(i) = at {
        chosen.push(i);
        at = before.get(i).copied().flatten();
    }
    let mut kept = vec![None; slots.len()];
    let mut last = None;
    // The names of the frame of the last entry.
    let mut ids = BTreeSet::new();
    for i in chosen.into_iter().rev() {
        let Some(entry) = slots.get(i).copied().flatten() else { continue };
        if last != Some(entry.frame) {
            ids.clear();
        }
        let is_far = entry.frame > bound::sum(last.unwrap_or(0), GAP);
        if !is_far && ids.insert(entry.id) {
            last = Some(entry.frame);
            if let Some(slot) = kept.get_mut(i) {
                *slot = Some(entry);
            }
        }
    }
    kept
}

/// Returns the frames of which entries may be lost: those between the neighbours of each lost entry.
fn lost_frames(slots: &[Option<FoundEntry>]) -> BTreeSet<u64> {
    let mut frames = BTreeSet::new();
    let mut last: Option<u64> = None;
    let mut hole = 0u64;
    for slot in slots {
        let Some(entry) = slot else {
            hole = bound::sum(hole, 1);
            continue;
        };
        if hole > 0 {
            let from = last.unwrap_or(0);
            // A frame has a chunk, unless its entry is damaged in a way that is not noticed.
            frames.extend(from..=entry.frame.min(bound::sum(from, hole.max(1000))));
        }
        hole = 0;
        last = Some(entry.frame);
    }
    if hole > 0 {
        frames.extend(last);
    }
    frames
}

/// Searches the whole file for entries, and returns the longest series of them. An older copy of the index may end within a frame.
pub(super) fn carved(source: &Arc<dyn ReadAt>, notes: &mut Notes) -> Result<Entries> {
    const SIZE: u64 = FoundEntry::SIZE as u64;
    let size = source.size();
    // The number of entries before each place, in series of which the next entry is expected there.
    let mut open: BTreeMap<u64, (u64, u64, u64)> = BTreeMap::new();
    let mut best: Option<(u64, u64)> = None;
    copies::each_entry(&**source, &mut |at, entry| {
        let inside = entry.location < size;
        let series = match open.remove(&at) {
            Some((first, count, frame)) if frame <= entry.frame => (first, count + 1, entry.frame),
            _ if inside && entry.frame <= GAP => (at, 1, entry.frame),
            _ => return,
        };
        if best.is_none_or(|(_, most)| series.1 >= most) {
            best = Some((series.0, series.1));
        }
        open.insert(at + SIZE, series);
        // Series whose next entry did not follow have ended.
        while let Some(ended) = open.first_entry().filter(|first| *first.key() < at) {
            ended.remove();
        }
    })?;
    let Some((at, count)) = best else { return Ok(Entries::default()) };
    notes.cause("lost index", "the index is not where the header says");
    let reason = format!("{count} entries follow each other, which is the longest series in the file");
    notes.act("use a copy of the index", at, reason, Confidence::Medium);
    notes.structure("index", (at, bound::sum(at, bound::product(count, SIZE))), Part::Carved);
    let mut found = Vec::new();
    for i in 0..count.min(ENTRIES as u64) {
        found.push(FoundEntry::from_bytes(&source.read_at(at + i * SIZE, FoundEntry::SIZE)?));
    }
    let slots = trusted(&found);
    let mut frames = lost_frames(&slots);
    // A place for another entry follows the last one of the newest index, unless it is full.
    let end = bound::sum(at, bound::product(count, SIZE));
    let next = source.read_at(end, bound::addressable(bound::left(size, end).min(SIZE)))?;
    let is_last = !next.is_empty() && next.iter().all(|&byte| byte == 0) && !is_short(&slots);
    let kept: Vec<FoundEntry> = slots.into_iter().flatten().collect();
    frames.extend(kept.last().filter(|_| !is_last).map(|last| last.frame));
    Ok(Entries { kept, frames, ..Entries::default() })
}

/// Returns the holes between slots with entries, as the first slot and the one behind the last.
pub(super) fn holes(slots: &[Option<FoundEntry>]) -> Vec<(usize, usize)> {
    let mut holes: Vec<(usize, usize)> = Vec::new();
    for (at, _) in slots.iter().enumerate().filter(|(_, slot)| slot.is_none()) {
        match holes.last_mut() {
            Some((_, end)) if *end == at => *end = bound::sum(at, 1),
            _ => holes.push((at, bound::sum(at, 1))),
        }
    }
    holes
}

#[cfg(test)]
mod tests {
    use gsd_rs::ElementType;

    use super::*;

    fn entry(frame: u64) -> Option<FoundEntry> {
        Some(FoundEntry { frame, n: 1, m: 1, location: 300 + frame, id: 0, element: ElementType::U8 })
    }

    #[test]
    fn entries_out_of_order_are_left_out() {
        let slots = trusted(&[entry(0), entry(1), entry(9), entry(2), None, entry(4)]);
        let frames = lost_frames(&slots);
        assert_eq!(slots.iter().flatten().map(|entry| entry.frame).collect::<Vec<_>>(), [0, 1, 2, 4]);
        assert!(frames.contains(&1) && frames.contains(&2) && frames.contains(&3) && !frames.contains(&0));
    }

    #[test]
    fn all_frames_of_a_hole_may_lack_chunks() {
        let slots: Vec<_> = [entry(0)].into_iter().chain([None; 3000]).chain([entry(3001)]).collect();
        assert_eq!(lost_frames(&slots).len(), 3001);
        let slots: Vec<_> = [entry(0), None, entry(1 << 19)].into();
        assert_eq!(lost_frames(&slots).len(), 1001);
    }

    #[test]
    fn half_an_entry_behind_a_sector_of_zeros_is_no_entry() {
        let half = Some(FoundEntry { n: 0, ..entry(0).unwrap() });
        // The second entry starts 16 bytes before the end of a sector.
        let location = SECTOR - 16 - copies::SIZE;
        for (slots, expected) in [
            ([None, half, entry(1)], [None, None, entry(1)]),
            ([entry(0), half, entry(1)], [entry(0), half, entry(1)]),
            ([None, entry(1), entry(1)], [None, entry(1), entry(1)]),
        ] {
            let mut found = slots;
            leave_out_halves(&mut found, location);
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn holes_are_found_at_both_ends() {
        let some = entry(1);
        assert_eq!(holes(&[None, some, None, None, some, None]), [(0, 1), (2, 4), (5, 6)]);
        assert_eq!(holes(&[some, some]), []);
    }
}
