//! GSD: an index of entries that name each chunk's place, and a list of names. Both are written anew as they grow, so that older copies
//! are left in the file.

mod copies;
mod pattern;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use gsd_rs::structure::{FoundEntry, header, names};
use gsd_rs::{Block, CreateOptions, Header, Version, Writer};
use sciformats_convert::convert::Loss;
use sciformats_core::storage::{Durability, Scratch};
use sciformats_core::{ReadAt, Result, bound};

use super::{Found, Notes, Output, ZEROS, object, spoil};
use crate::map::Part;
use crate::report::{Confidence, ObjectReport, State};
use crate::scan::Scan;
use copies::Copies;

/// The size of the header.
const HEADER: u64 = 256;
/// The place and the size of the list of names in a new file, behind an index of 128 entries.
const FIRST_NAMES: u64 = HEADER + 128 * FoundEntry::SIZE as u64;
const NAMES: u64 = 1024;
/// The bytes that are looked at together while entries are searched for.
const WINDOW: u64 = 4 << 20;
/// The most entries that are kept.
const ENTRIES: usize = 50_000_000;
/// The size of a sector.
const SECTOR: u64 = 512;
/// The most frames without chunks between two entries.
const GAP: u64 = 1 << 20;
/// The chunk that says in a frame what is missing.
const DAMAGE: &str = "lost+found/damage";

/// Why a chunk is believed to be where it is, although its entry is lost.
const PLACED: &str = "its entry in the index is lost, and it is where the frames beside it say";

/// What is left of the index.
#[derive(Default)]
struct Entries {
    kept: Vec<FoundEntry>,
    /// The frames of which entries may be lost.
    frames: BTreeSet<u64>,
    /// The frames and the numbers of the names of chunks whose entries are lost, and which the frames beside them place.
    placed: BTreeSet<(u64, u16)>,
}

/// A chunk that goes into the clean file.
struct Kept {
    name: String,
    entry: FoundEntry,
    /// The bytes that are in the file.
    there: u64,
}

/// The clean file that is left.
pub(crate) struct Saved {
    source: Arc<dyn ReadAt>,
    create: CreateOptions,
    chunks: Vec<Kept>,
    /// What is said about frames of which something is missing.
    damage: BTreeMap<u64, String>,
}

/// Returns whether fields of a header follow a damaged magic number.
pub(crate) fn looks_like(source: &dyn ReadAt) -> bool {
    let Ok(mut head) = source.read_at(0, HEADER as usize).map(std::borrow::Cow::into_owned) else {
        return false;
    };
    head.splice(..8, 0x65DF_65DF_65DF_65DFu64.to_le_bytes());
    header(&head).is_ok_and(|header| is_header(&header, source.size()))
}

fn is_header(header: &Header, size: u64) -> bool {
    (header.version.major() == 0 && header.version.minor() == 3 || [1, 2].contains(&header.version.major()))
        && header.version.minor() < 16
        && header.reserved.iter().all(|&byte| byte == 0)
        && (header.index.location < size || header.names.location < size)
}

pub(crate) fn examine(source: &Arc<dyn ReadAt>, scan: Scan) -> Result<Found> {
    let mut notes = Notes::new(source, scan);
    let size = source.size();
    let stored = head(&**source, &mut notes)?;
    let version = stored.as_ref().map_or(Version::new(2, 0), |found| found.version);
    let Entries { kept: entries, frames: dropped, placed } =
        match stored.as_ref().map(|header| indexed(&**source, header, &mut notes)).transpose()?.flatten() {
            Some(found) => found,
            None => Entries { kept: carved(source, &mut notes)?, ..Entries::default() },
        };
    let mut listed = name_list(&**source, stored.as_ref(), version, &mut notes)?;
    if listed.is_empty() {
        listed = first_names(&**source, &entries, &mut notes)?;
    }
    let nameless = |entry: &FoundEntry| listed.get(usize::from(entry.id)).is_none_or(Option::is_none);
    if entries.iter().any(nameless) {
        notes.cause("lost names", "the list of names does not have the names of all chunks");
    }
    let mut saved = Saved {
        source: source.clone(),
        create: options(stored.as_ref()),
        chunks: Vec::new(),
        damage: BTreeMap::new(),
    };
    let overlapping = overlapping(&entries);
    let damaged = !notes.causes.is_empty();
    for entry in entries {
        let bytes = entry.size().unwrap_or(0);
        let there = bytes.min(bound::left(size, entry.location));
        notes.cut_off(bound::sum(entry.location, bytes));
        let name = listed.get(usize::from(entry.id)).cloned().flatten();
        let lost_name = name.is_none();
        let name = name.unwrap_or_else(|| format!("lost+found/name{}", entry.id));
        let mut report = object(format!("/frames/{}/{name}", entry.frame), entry.location, "chunk");
        assess(&mut report, &entry, there, damaged, &notes);
        if placed.contains(&(entry.frame, entry.id)) {
            spoil(&mut report, State::Unchecked, PLACED);
            note(&mut saved.damage, entry.frame, &format!("{name}: {PLACED}"));
        }
        if lost_name {
            spoil(&mut report, State::Partial, format!("the name number {} is lost", entry.id));
        }
        if overlapping.contains(&entry.location) {
            spoil(&mut report, State::Partial, "its bytes also belong to another chunk");
            report.missing = vec![(vec![0, 0], vec![entry.n, entry.m.into()])];
        }
        if report.state > State::Unchecked {
            note(&mut saved.damage, entry.frame, &format!("{name}: {}", report.reasons.join("; ")));
        }
        notes.structure("chunk", (entry.location, bound::sum(entry.location, there)), Part::Reached);
        notes.objects.push(report);
        saved.chunks.push(Kept { name, entry, there });
    }
    for frame in dropped {
        let why = "entries of the index are lost, so that chunks of this frame may be missing";
        let mut report = object(format!("/frames/{frame}"), 0, "frame");
        spoil(&mut report, State::Partial, why);
        notes.objects.push(report);
        note(&mut saved.damage, frame, why);
    }
    let nothing = saved.chunks.is_empty() && !notes.causes.is_empty();
    let output = if nothing { Output::Nothing } else { Output::Gsd(saved) };
    Ok(notes.found("gsd", output))
}

fn note(damage: &mut BTreeMap<u64, String>, frame: u64, why: &str) {
    let text = damage.entry(frame).or_default();
    if text.len() < 4096 {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(why);
    }
}

/// Says how much of a chunk is left.
fn assess(report: &mut ObjectReport, entry: &FoundEntry, there: u64, damaged: bool, notes: &Notes) {
    let row = bound::product(entry.element.size().unwrap_or(1) as u64, entry.m.into()).max(1);
    let rows = |from: u64, to: u64| (vec![from, 0], vec![to - from, u64::from(entry.m)]);
    let whole = (there / row).min(entry.n);
    if bound::product(whole, row) < entry.size().unwrap_or(0) {
        let state = if whole == 0 { State::Metadata } else { State::Partial };
        spoil(report, state, format!("the rows from number {whole} on are behind the end of the file"));
        report.missing.push(rows(whole, entry.n));
    }
    if damaged {
        let mut zeros = Vec::new();
        notes.zeros_in(entry.location, bound::product(whole, row), &mut |from, to| {
            zeros.push(rows(from / row, to.div_ceil(row).min(whole)));
        });
        if !zeros.is_empty() {
            report.missing.extend(zeros);
            spoil(report, State::Partial, ZEROS);
        }
    }
}

/// Reads the header, or as much of it as its fields allow.
fn head(source: &dyn ReadAt, notes: &mut Notes) -> Result<Option<Header>> {
    let size = source.size();
    if size < HEADER {
        notes.cut_off(HEADER);
        return Ok(None);
    }
    let mut bytes = source.read_at(0, HEADER as usize)?.into_owned();
    let found = match header(&bytes) {
        Ok(found) => Some(found),
        Err(_) => {
            bytes.splice(..8, 0x65DF_65DF_65DF_65DFu64.to_le_bytes());
            let found = header(&bytes).ok().filter(|found| is_header(found, size));
            if found.is_some() {
                notes.act(
                    "write the magic number",
                    0,
                    "the fields after it are those of a header",
                    Confidence::Medium,
                );
            }
            notes.cause("overwritten head", "the magic number is not that of GSD");
            found
        }
    };
    let sane = found.filter(|found| {
        let right = is_header(found, size)
            || found.index.location >= size && [0, 1, 2].contains(&found.version.major());
        if !right {
            notes.cause("damaged header", "its fields cannot be those of a header");
        }
        right
    });
    if sane.is_some() {
        notes.structure("header", (0, HEADER), Part::Reached);
    }
    Ok(sane)
}

/// Returns the entries of the index that the header names; `None` if there is no index in this place.
fn indexed(source: &dyn ReadAt, header: &Header, notes: &mut Notes) -> Result<Option<Entries>> {
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
    if bad
        && lost == 0
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
fn can_be(entry: &FoundEntry, size: u64) -> bool {
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
    let mut is_hole = false;
    for slot in slots {
        let Some(entry) = slot else {
            is_hole = true;
            continue;
        };
        if is_hole {
            let from = last.unwrap_or(0);
            frames.extend(from..=entry.frame.min(bound::sum(from, 1000)));
        }
        is_hole = false;
        last = Some(entry.frame);
    }
    if is_hole {
        frames.extend(last);
    }
    frames
}

/// Searches the whole file for entries, and returns the longest series of them.
fn carved(source: &Arc<dyn ReadAt>, notes: &mut Notes) -> Result<Vec<FoundEntry>> {
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
    let Some((at, count)) = best else { return Ok(Vec::new()) };
    notes.cause("lost index", "the index is not where the header says");
    let reason = format!("{count} entries follow each other, which is the longest series in the file");
    notes.act("use a copy of the index", at, reason, Confidence::Medium);
    notes.structure("index", (at, bound::sum(at, bound::product(count, SIZE))), Part::Carved);
    let mut found = Vec::new();
    for i in 0..count.min(ENTRIES as u64) {
        found.push(FoundEntry::from_bytes(&source.read_at(at + i * SIZE, FoundEntry::SIZE)?));
    }
    Ok(trusted(&found).into_iter().flatten().collect())
}

/// Reads the names as far as they are there.
fn name_list(
    source: &dyn ReadAt,
    header: Option<&Header>,
    version: Version,
    notes: &mut Notes,
) -> Result<Vec<Option<String>>> {
    let block = header.map_or(Block { location: source.size(), allocated: 0 }, |header| header.names);
    let end = bound::sum(block.location, bound::product(block.allocated, 64));
    let there = bound::left(end.min(source.size()), block.location).min(16 << 20);
    if end > source.size() && header.is_some() {
        notes.cut_off(end);
    }
    let bytes = if there > 0 {
        source.read_at(block.location, bound::addressable(there))?.into_owned()
    } else {
        Vec::new()
    };
    if there > 0 {
        notes.structure("name list", (block.location, bound::sum(block.location, there)), Part::Reached);
    }
    let mut found = names(&bytes, version);
    // A name that was cut within is not known.
    if end > source.size() && !bytes.ends_with(&[0]) {
        found.pop();
    }
    let odd = |name: &str| name.chars().any(char::is_control);
    let mut broken = false;
    for name in &mut found {
        if name.as_deref().is_none_or(odd) {
            *name = None;
            broken = true;
        }
    }
    if broken {
        notes.cause("changed bytes", "names of chunks cannot be read");
        // In a list of texts that follow each other, a zero in the wrong place moves the numbers of all names behind it.
        if version.major() >= 2
            && let Some(first) = found.iter().position(Option::is_none)
        {
            found.truncate(first);
        }
    }
    Ok(found)
}

/// Returns the names in the place where new files have them, if these are names for all entries. A list that was moved, because it
/// became too long, has left only its first names there.
fn first_names(
    source: &dyn ReadAt,
    entries: &[FoundEntry],
    notes: &mut Notes,
) -> Result<Vec<Option<String>>> {
    let wanted = entries.iter().map(|entry| usize::from(entry.id) + 1).max().unwrap_or(0);
    if wanted == 0 || source.size() < FIRST_NAMES + NAMES {
        return Ok(Vec::new());
    }
    let bytes = source.read_at(FIRST_NAMES, bound::addressable(NAMES))?;
    let is_name = |name: &Option<String>| {
        name.as_deref().is_some_and(|name| !name.is_empty() && !name.chars().any(char::is_control))
    };
    for version in [Version::new(2, 0), Version::new(1, 0)] {
        let found = names(&bytes, version);
        if found.len() >= wanted && found.iter().all(is_name) {
            let reason = format!("{} names are where a new file has its list of names", found.len());
            notes.act("use a list of names", FIRST_NAMES, reason, Confidence::Medium);
            notes.structure("name list", (FIRST_NAMES, FIRST_NAMES + NAMES), Part::Carved);
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// Returns the places of chunks that share bytes with others.
fn overlapping(entries: &[FoundEntry]) -> BTreeSet<u64> {
    let mut places: Vec<(u64, u64)> = entries
        .iter()
        .filter_map(|entry| Some((entry.location, entry.location.checked_add(entry.size()?)?)))
        .filter(|(start, end)| end > start)
        .collect();
    places.sort_unstable();
    let mut found = BTreeSet::new();
    let mut last: Option<(u64, u64)> = None;
    for (start, end) in places {
        if let Some((before, reach)) = last.filter(|(_, reach)| *reach > start) {
            found.extend([before, start]);
            last = Some((before, reach.max(end)));
        } else {
            last = Some((start, end));
        }
    }
    found
}

fn options(header: Option<&Header>) -> CreateOptions {
    match header {
        Some(header) => {
            CreateOptions::new(header.application.to_text(), header.schema.to_text(), header.schema_version)
        }
        None => CreateOptions::new("sciformats salvage", "unknown", Version::new(0, 0)),
    }
}

impl Saved {
    /// Writes the chunks frame by frame.
    pub(super) fn write(&self, path: &Path, written: u64) -> Result<Vec<Loss>> {
        let scratch = Scratch::beside(path)?;
        let mut writer = Writer::create(scratch.path(), &self.create)?;
        let mut losses = Vec::new();
        let mut frame = 0;
        let mut used: BTreeSet<&str> = BTreeSet::new();
        let mut marks = self.damage.iter().peekable();
        let limit = written.max(bound::product(self.source.size(), 2));
        let mut total = 0;
        for kept in &self.chunks {
            let FoundEntry { frame: at, m, element, location, .. } = kept.entry;
            while frame < at {
                mark(&mut writer, &mut marks, frame)?;
                writer.end_frame()?;
                used.clear();
                frame += 1;
            }
            let size = kept.entry.size().unwrap_or(u64::MAX);
            total = bound::sum(total, size);
            let lost = |what: &str| Loss {
                path: format!("/frames/{at}/{}", kept.name),
                what: what.into(),
                lost: None,
            };
            if total > limit {
                losses.push(lost("is left out: it declares more bytes than may be written"));
                total = bound::left(total, size);
                continue;
            }
            if !used.insert(&kept.name) {
                losses.push(lost("is left out: the frame has two chunks of this name"));
                continue;
            }
            let mut bytes = self
                .source
                .read_at(location.min(self.source.size()), bound::addressable(kept.there))?
                .into_owned();
            bytes.resize(bound::addressable(size), 0);
            if m == 0 {
                continue;
            }
            if let Err(error) = writer.write_bytes(&kept.name, element, m, &bytes) {
                losses.push(lost(&format!("is left out: {error}")));
            }
        }
        if !self.chunks.is_empty() {
            mark(&mut writer, &mut marks, frame)?;
            writer.end_frame()?;
        }
        writer.finish()?;
        scratch.finish(Durability::Power)?;
        Ok(losses)
    }
}

/// Adds what is missing to a frame.
fn mark<'a>(
    writer: &mut Writer,
    marks: &mut std::iter::Peekable<impl Iterator<Item = (&'a u64, &'a String)>>,
    frame: u64,
) -> Result<()> {
    match marks.next_if(|(at, _)| **at <= frame) {
        Some((_, text)) => writer.write_text(DAMAGE, text),
        None => Ok(()),
    }
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
    fn chunks_that_share_bytes_are_found() {
        let at = |location, n| FoundEntry { frame: 0, n, m: 1, location, id: 0, element: ElementType::U8 };
        assert_eq!(
            overlapping(&[at(300, 10), at(310, 5), at(312, 9), at(400, 1)]),
            BTreeSet::from([310, 312])
        );
    }
}
