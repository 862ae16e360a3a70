//! Chunks that are found by their headers: behind one that is lost, and in a file without the header of a frame.

use std::collections::BTreeMap;
use std::sync::Arc;

use cframe::{ChunkSize, Frame, Params};
use sciformats_core::storage::Access;
use sciformats_core::{ReadAt, Result, bound};

use super::{Place, Saved, decoded, finish, options};
use crate::boxes::boxes;
use crate::map::Part;
use crate::others::{Found, Notes, Output, ZEROS, object, spoil};
use crate::report::{Confidence, ObjectReport, State};

/// The size of the long header of a chunk.
const HEADER: u64 = 32;
/// The bytes that are looked at together.
const WINDOW: u64 = 4 << 20;
/// The bytes that may be decoded for each byte of the file, and how many more, while chunks are searched for; and the headers that may be
/// read.
const PER_BYTE: u64 = 64;
const BUDGET: u64 = 256 << 20;

/// Returns the decoded and the stored size of the chunk that begins at an offset, if one can begin there and is all in the file.
pub(super) fn chunk_head(source: &dyn ReadAt, at: u64) -> Option<(u32, u32)> {
    let left = bound::left(source.size(), at);
    let head = source.read_at(at, bound::addressable(left.min(HEADER))).ok()?;
    let (nbytes, cbytes) = head_of(&head)?;
    (u64::from(cbytes) <= left).then_some((nbytes, cbytes))
}

fn head_of(head: &[u8]) -> Option<(u32, u32)> {
    let word = |at: usize| head.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word));
    let (version, typesize) = (*head.first()?, *head.get(3)?);
    let (nbytes, blocksize, cbytes) = (word(4)?, word(8)?, word(12)?);
    let right = (1..=6).contains(&version)
        && typesize > 0
        && nbytes < i32::MAX.unsigned_abs()
        && cbytes >= 16
        && u64::from(cbytes) <= u64::from(nbytes) + 4096 + u64::from(blocksize)
        && (blocksize <= nbytes.max(1) || version == 6);
    right.then_some((nbytes, cbytes))
}

/// Looks for chunks behind one that cannot be read. Their numbers are known if exactly so many follow up to the end as the frame
/// still should have.
pub(super) fn resync(
    source: &Arc<dyn ReadAt>,
    frame: &Frame,
    places: &mut BTreeMap<u64, Place>,
    notes: &mut Notes,
) {
    let ChunkSize::Fixed(size) = frame.chunk_size() else { return };
    let total = frame.chunks();
    let Some((&first, _)) = places.iter().find(|(_, place)| matches!(place, Place::Lost)) else { return };
    if places.values().any(|place| matches!(place, Place::Nothing(_))) {
        return;
    }
    let from = match first.checked_sub(1).and_then(|before| places.get(&before)) {
        Some(Place::At(at, len)) => bound::sum(*at, *len),
        None => frame.header().header_len.into(),
        _ => return,
    };
    let end = bound::sum(u64::from(frame.header().header_len), frame.cbytes()).min(source.size());
    let last = bound::left(frame.nbytes(), bound::product(total - 1, size.into()));
    let fits = |nbytes: u32| nbytes == size || u64::from(nbytes) == last;
    // Every place behind the lost chunk from which a chain of chunks leads exactly to the end of the chunks.
    let mut at = from + 1;
    let mut headers = bound::sum(1 << 20, bound::product(2, source.size() / 16));
    while at + 16 <= end {
        let len = bound::addressable((end - at).min(WINDOW + HEADER));
        let Ok(bytes) = source.read_at(at, len) else { return };
        for (i, head) in bytes.windows(16).enumerate() {
            if !head_of(head).is_some_and(|(nbytes, _)| fits(nbytes)) {
                continue;
            }
            let Some((chain, next)) = chain_to(&**source, (at + i as u64, end), &mut headers, fits) else {
                return;
            };
            let count = chain.len() as u64;
            // One chunk or more are lost between the first ones and these, each of which was stored, because the sizes say so.
            if next == end && count > 0 && count + first < total {
                let whole = chain.iter().all(|&(place, len)| {
                    source
                        .read_at(place, bound::addressable(len))
                        .is_ok_and(|bytes| decoded(&bytes, None).is_ok())
                });
                if whole && count + first + 1 == total {
                    let reason = format!("{count} chunks lead from here to the end of the chunks");
                    notes.act("go on behind a lost chunk", at + i as u64, reason, Confidence::Medium);
                    for (back, (place, len)) in chain.into_iter().rev().enumerate() {
                        places.insert(total - 1 - back as u64, Place::At(place, len));
                    }
                }
                return;
            }
        }
        at += (len as u64).saturating_sub(15).max(1); // a bound: the windows overlap
    }
}

/// Returns the places and the stored sizes of chunks that follow each other up to an end, and where the last of them ends; `None` if
/// no more headers may be read.
fn chain_to(
    source: &dyn ReadAt,
    (mut next, end): (u64, u64),
    headers: &mut u64,
    fits: impl Fn(u32) -> bool,
) -> Option<(Vec<(u64, u64)>, u64)> {
    let mut chain = Vec::new();
    while next < end {
        let Some((_, cbytes)) = chunk_head(source, next).filter(|(nbytes, _)| fits(*nbytes)) else { break };
        *headers = headers.checked_sub(1)?;
        chain.push((next, u64::from(cbytes)));
        next += u64::from(cbytes);
    }
    Some((chain, next))
}

/// A chunk that was found: its place, and its decoded and its stored size.
type Carved = (u64, u32, u32);

/// What may still be decoded.
struct Budget(u64);

impl Budget {
    /// Takes the sizes of a chunk. Bytes that look like the header of a huge chunk cost nothing but their own chance.
    fn spend(&mut self, nbytes: u32, cbytes: u32) -> bool {
        let left = self.0.checked_sub(bound::sum(u64::from(nbytes), u64::from(cbytes)));
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// Looks for chunks in a file without a header of a frame.
pub(super) fn carved(source: &Arc<dyn ReadAt>, mut notes: Notes) -> Result<Found> {
    let mut budget = Budget(bound::sum(BUDGET, bound::product(PER_BYTE, source.size())));
    let mut best = longest_chain(&**source, &mut budget)?;
    let placed = by_index(&**source, &best, &mut budget)?;
    // Otherwise, the last one is the index if it has one offset for each of the others.
    if let Some(&(_, nbytes, _)) = best.last()
        && best.len() > 1
        && (placed.is_some() || u64::from(nbytes) == 8 * (best.len() as u64 - 1))
    {
        best.pop();
    }
    let Some(&(start, ..)) = best.first() else { return Ok(notes.found("blosc2", Output::Nothing)) };
    let reason = format!("{} chunks follow each other", best.len());
    notes.act("make a frame of chunks", start, reason, Confidence::Speculative);
    for &(at, _, cbytes) in &best {
        notes.structure("chunk", (at, bound::sum(at, cbytes.into())), Part::Carved);
    }
    let chunks = match placed {
        Some(placed) => {
            let reason = format!("its offsets lead to all chunks that were found; it has {}", placed.len());
            notes.act("use an index of chunks", start, reason, Confidence::High);
            placed
        }
        None => best.iter().map(|&(at, nbytes, cbytes)| (Place::At(at, cbytes.into()), nbytes)).collect(),
    };
    let typesize = source.read_at(start + 3, 1)?.first().copied().unwrap_or(1).max(1);
    let report = described(start, &chunks, typesize, &notes);
    let saved = Saved {
        source: Some(source.clone()),
        params: Params::new(typesize.into()),
        metalayers: Vec::new(),
        vlmeta: Vec::new(),
        chunks,
        missing: Vec::new(),
        damage: None,
    };
    finish(notes, report, saved)
}

/// Says what is known of an array whose header is lost.
fn described(start: u64, chunks: &[(Place, u32)], typesize: u8, notes: &Notes) -> ObjectReport {
    let mut report = object("/", start, "array");
    spoil(
        &mut report,
        State::Partial,
        "the header of the frame is lost, and with it the shape and what says which chunks were not stored",
    );
    let there = chunks.iter().filter(|(place, _)| matches!(place, Place::At(..))).count();
    report.chunks = Some((there as u64, chunks.len() as u64));
    let items: Vec<u64> = chunks.iter().map(|&(_, size)| u64::from(size) / u64::from(typesize)).collect();
    let total = items.iter().fold(0, |total, &count| bound::sum(total, count));
    let mut from = 0;
    for ((place, _), &count) in chunks.iter().zip(&items) {
        let mut zeros = false;
        if let Place::At(at, len) = place {
            notes.zeros_in(*at, *len, &mut |_, _| zeros = true);
        }
        if zeros || matches!(place, Place::Lost) {
            spoil(&mut report, State::Partial, if zeros { ZEROS } else { "chunks were not found" });
            report.missing.extend(boxes(&[total], from, bound::sum(from, count)));
        }
        from = bound::sum(from, count);
    }
    report
}

/// Returns the longest chain of chunks that follow each other and can be decoded.
fn longest_chain(source: &dyn ReadAt, budget: &mut Budget) -> Result<Vec<Carved>> {
    let size = source.size();
    let mut best: Vec<Carved> = Vec::new();
    let (mut at, mut skip) = (0, 0);
    while at < size {
        let len = bound::addressable((size - at).min(WINDOW + HEADER));
        let bytes = source.read_at(at, len)?;
        for (place, head) in (at..at + WINDOW).zip(bytes.windows(16)) {
            let Some((nbytes, cbytes)) = head_of(head)
                .filter(|&(nbytes, cbytes)| place >= skip && nbytes > 0 && u64::from(cbytes) <= size - place)
            else {
                continue;
            };
            if !budget.spend(nbytes, cbytes) {
                continue;
            }
            let whole = source.read_at(place, bound::addressable(cbytes.into()))?;
            if decoded(&whole, None).is_err() {
                continue;
            }
            let chain = chain_from(source, place, budget)?;
            skip = chain.last().map_or(place, |&(at, _, cbytes)| bound::sum(at, cbytes.into()));
            if chain.len() > best.len() {
                best = chain;
            }
        }
        at += WINDOW;
    }
    Ok(best)
}

/// Returns the chunks that follow each other from a place on and can be decoded.
fn chain_from(source: &dyn ReadAt, place: u64, budget: &mut Budget) -> Result<Vec<Carved>> {
    let mut chain = Vec::new();
    let mut next = place;
    while let Some((nbytes, cbytes)) = chunk_head(source, next) {
        if !budget.spend(nbytes, cbytes)
            || decoded(&source.read_at(next, bound::addressable(cbytes.into()))?, None).is_err()
        {
            break;
        }
        chain.push((next, nbytes, cbytes));
        next = bound::sum(next, cbytes.into());
    }
    Ok(chain)
}

/// Returns the place and the decoded size of each chunk of a frame, if the last of these chunks is the index of the frame: its offsets
/// are as far apart as the chunks are in the file. The offsets say where the first chunk was, so that chunks in other places are found
/// as well, and others are known to be lost.
fn by_index(
    source: &dyn ReadAt,
    chunks: &[Carved],
    budget: &mut Budget,
) -> Result<Option<Vec<(Place, u32)>>> {
    let Some((&(at, nbytes, cbytes), found)) = chunks.split_last() else { return Ok(None) };
    let Some(&(last, ..)) = found.last() else { return Ok(None) };
    if !nbytes.is_multiple_of(8) || bound::product(found.len() as u64, 8) > nbytes.into() {
        return Ok(None);
    }
    let Ok(index) = cframe::decompress_with(
        &source.read_at(at, bound::addressable(cbytes.into()))?,
        &options(Access::default()),
    ) else {
        return Ok(None);
    };
    // A chunk of one value has no place, and a negative offset.
    let offsets: Vec<i64> =
        index.chunks_exact(8).filter_map(|offset| offset.try_into().ok()).map(i64::from_le_bytes).collect();
    let offsets: Option<Vec<u64>> = offsets.into_iter().map(|offset| u64::try_from(offset).ok()).collect();
    let Some(offsets) = offsets else { return Ok(None) };
    let first = offsets.iter().max().and_then(|largest| last.checked_sub(*largest));
    let (Some(first), Some(size)) = (first, found.iter().map(|&(_, nbytes, _)| nbytes).max()) else {
        return Ok(None);
    };
    let known: BTreeMap<u64, (u32, u32)> =
        found.iter().map(|&(at, nbytes, cbytes)| (at, (nbytes, cbytes))).collect();
    let place = |offset: &u64| {
        let at = bound::sum(first, *offset);
        match known.get(&at) {
            Some(&(nbytes, cbytes)) => (Place::At(at, cbytes.into()), nbytes),
            None => (Place::Lost, size),
        }
    };
    let mut placed: Vec<(Place, u32)> = offsets.iter().map(place).collect();
    let there = placed.iter().filter(|(place, _)| matches!(place, Place::At(..))).count();
    if there != known.len() {
        return Ok(None);
    }
    // Chunks that do not lead to each other, because others between them are lost. Each is where the next one or the index begins.
    let mut ends: Vec<u64> = offsets.iter().map(|offset| bound::sum(first, *offset)).collect();
    ends.push(at);
    ends.sort_unstable();
    for ((place, _), offset) in
        placed.iter_mut().zip(&offsets).filter(|((place, _), _)| matches!(place, Place::Lost))
    {
        let from = bound::sum(first, *offset);
        let end = ends.get(ends.partition_point(|&end| end <= from));
        let Some((nbytes, cbytes)) = chunk_head(source, from) else { continue };
        if nbytes != size || end != Some(&bound::sum(from, cbytes.into())) || !budget.spend(nbytes, cbytes) {
            continue;
        }
        let bytes = source.read_at(from, bound::addressable(cbytes.into()))?;
        if decoded(&bytes, Some(nbytes)).is_ok() {
            *place = Place::At(from, cbytes.into());
        }
    }
    Ok(Some(placed))
}
