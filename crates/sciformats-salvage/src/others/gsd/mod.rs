//! GSD: an index of entries that name each chunk's place, and a list of names. Both are written anew as they grow, so that older copies
//! are left in the file.

mod copies;
mod index;
mod pattern;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use gsd_rs::structure::{FoundEntry, header, names};
use gsd_rs::{Block, CreateOptions, ElementType, Header, Version, Writer};
use sciformats_convert::convert::Loss;
use sciformats_core::storage::{Durability, Scratch};
use sciformats_core::{ReadAt, Result, bound};

use super::{Found, Notes, Output, ZEROS, object, spoil};
use crate::earlier;
use crate::map::Part;
use crate::report::{Confidence, ObjectReport, State};
use crate::scan::Scan;
use index::{Entries, carved, indexed};

/// The size of the header.
const HEADER: u64 = 256;
/// The place and the size of the list of names in a new file, behind an index of 128 entries.
const FIRST_NAMES: u64 = HEADER + 128 * FoundEntry::SIZE as u64;
const NAMES: u64 = 1024;
/// The chunk that says in a frame what is missing.
const DAMAGE: &str = "lost+found/damage";
/// With the number of a name that is lost, the name of its chunks.
const NAMELESS: &str = "lost+found/name";

/// Why a chunk is believed to be where it is, although its entry is lost.
const PLACED: &str = "its entry in the index is lost, and it is where the frames beside it say";

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
            None => carved(source, &mut notes)?,
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
    let taken: BTreeSet<&str> =
        listed.iter().flatten().map(String::as_str).filter(|name| name.starts_with(NAMELESS)).collect();
    for entry in entries {
        let bytes = entry.size().unwrap_or(0);
        let there = bytes.min(bound::left(size, entry.location));
        notes.cut_off(bound::sum(entry.location, bytes));
        let name = listed.get(usize::from(entry.id)).cloned().flatten();
        let lost_name = name.is_none();
        let name = name.unwrap_or_else(|| {
            // An earlier salvage may have given the name to others.
            earlier::free(&format!("{NAMELESS}{}", entry.id), |name| taken.contains(name))
        });
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

/// Returns the places of chunks that share bytes with others. If a chunk alone shares bytes with at least two that share none with
/// each other, its entry is the wrong one, and the others are not doubted.
fn overlapping(entries: &[FoundEntry]) -> BTreeSet<u64> {
    let mut places: Vec<(u64, u64)> = entries
        .iter()
        .filter_map(|entry| Some((entry.location, entry.location.checked_add(entry.size()?)?)))
        .filter(|(start, end)| end > start)
        .collect();
    places.sort_unstable();
    let mut reach = 0;
    // Chunks that are connected by shared bytes, directly or by others.
    let connected = places.chunk_by(|before, next| {
        reach = before.1.max(reach);
        next.0 < reach
    });
    let mut found = BTreeSet::new();
    for group in connected.filter(|group| group.len() > 1) {
        match cause(group) {
            Some(place) => found.extend([place]),
            None => found.extend(group.iter().map(|&(start, _)| start)),
        }
    }
    found
}

/// Returns the place of the only chunk of a connected group without which no two chunks share bytes, if there is one.
fn cause(group: &[(u64, u64)]) -> Option<u64> {
    let clash = |pair: &&[(u64, u64)]| matches!(pair, [before, next] if before.1 > next.0);
    if group.len() < 3 {
        return None;
    }
    // It is one of each two that share bytes.
    let [first, second] = group.windows(2).find(clash)? else { return None };
    [first, second].into_iter().find_map(|&out| {
        let mut skipped = false;
        let rest: Vec<_> = group
            .iter()
            .copied()
            .filter(|&place| {
                skipped || {
                    skipped = place == out;
                    !skipped
                }
            })
            .collect();
        rest.windows(2).find(clash).is_none().then_some(out.0)
    })
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
        let mut said = String::new();
        let other = earlier::before(DAMAGE, |name| self.chunks.iter().any(|kept| kept.name == name));
        let mut room = written.max(bound::product(self.source.size(), 2));
        for kept in &self.chunks {
            let at = kept.entry.frame;
            while frame < at {
                mark(&mut writer, &mut marks, (frame, std::mem::take(&mut said)))?;
                writer.end_frame()?;
                used.clear();
                frame += 1;
            }
            let size = kept.entry.size().unwrap_or(u64::MAX); // a bound
            let mut lost = |what: String| {
                losses.push(Loss { path: format!("/frames/{at}/{}", kept.name), what, lost: None });
            };
            let Some(left) = room.checked_sub(size) else {
                lost("is left out: it declares more bytes than may be written".into());
                continue;
            };
            room = left;
            if !used.insert(&kept.name) {
                lost("is left out: the frame has two chunks of this name".into());
                continue;
            }
            let start = kept.entry.location.min(self.source.size());
            let mut bytes = self.source.read_at(start, bound::addressable(kept.there))?.into_owned();
            let mut name = &kept.name;
            if name == DAMAGE && self.damage.contains_key(&at) {
                if let Some(text) = said_before(&kept.entry, &bytes) {
                    said = text;
                    continue;
                }
                name = &other;
                lost(earlier::renamed(name));
            }
            bytes.resize(bound::addressable(size), 0);
            if let Err(error) = writer.write_bytes(name, kept.entry.element, kept.entry.m, &bytes) {
                lost(format!("is left out: {error}"));
            }
        }
        if !self.chunks.is_empty() {
            mark(&mut writer, &mut marks, (frame, said))?;
            writer.end_frame()?;
        }
        writer.finish()?;
        scratch.finish(Durability::Power)?;
        Ok(losses)
    }
}

/// Returns the text of a chunk that says what is missing, if it is one that salvage has written, or what is left of one.
fn said_before(entry: &FoundEntry, bytes: &[u8]) -> Option<String> {
    let is_text = entry.element == ElementType::Character && entry.m == 1;
    let text = std::str::from_utf8(bytes).ok().filter(|_| is_text)?;
    Some(text.trim_matches('\0').replace('\0', " "))
}

/// Adds to a frame what is missing, and what an earlier salvage has said of it.
fn mark<'a>(
    writer: &mut Writer,
    marks: &mut std::iter::Peekable<impl Iterator<Item = (&'a u64, &'a String)>>,
    (frame, said): (u64, String),
) -> Result<()> {
    let Some((_, text)) = marks.next_if(|(at, _)| **at <= frame) else { return Ok(()) };
    let more = text.lines().filter(|line| !said.lines().any(|known| known == *line));
    let lines: Vec<&str> = said.lines().chain(more).collect();
    writer.write_text(DAMAGE, &lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(location: u64, n: u64) -> FoundEntry {
        FoundEntry { frame: 0, n, m: 1, location, id: 0, element: ElementType::U8 }
    }

    #[test]
    fn chunks_that_share_bytes_are_found() {
        let found = overlapping(&[at(300, 10), at(310, 5), at(312, 9), at(400, 1)]);
        assert_eq!(found, BTreeSet::from([310, 312]), "either of two may be wrong");
        let found = overlapping(&[at(300, 10), at(305, 900), at(310, 5), at(400, 1), at(1205, 3)]);
        assert_eq!(found, BTreeSet::from([305]), "one that is too long");
        let found = overlapping(&[at(300, 100), at(399, 2), at(400, 50), at(450, 1)]);
        assert_eq!(found, BTreeSet::from([399]), "one at a wrong place");
        let found = overlapping(&[at(300, 10), at(309, 10), at(318, 10), at(327, 10)]);
        assert_eq!(found.len(), 4, "more than one must be wrong");
        let found = overlapping(&[at(300, 10), at(300, 10), at(300, 10)]);
        assert_eq!(found, BTreeSet::from([300]));
    }
}
