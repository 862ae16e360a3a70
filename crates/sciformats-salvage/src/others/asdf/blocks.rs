//! The blocks: where they are, and what is left of each.

use asdf_core::structure::{BlockHeader, Label, damaged_header};
use asdf_core::{Asdf, Checksum};
use sciformats_core::{ReadAt, Result, bound};

use super::{HEADER, INDEX, Left, MAGIC, Slot};
use crate::map::Part;
use crate::others::Notes;
use crate::report::{Confidence, State};

/// The bytes at the end of a file in which the index is searched for.
const TAIL: u64 = 4 << 20;

/// The most blocks.
const BLOCKS: usize = 10_000_000;

/// Returns the offset of the block index, and the offsets that it lists.
pub(super) fn index(source: &dyn ReadAt, notes: &mut Notes) -> Result<Option<(u64, Vec<u64>)>> {
    let size = source.size();
    let start = bound::left(size, TAIL);
    let tail = source.read_at(start, bound::addressable(size - start))?;
    let Some(at) = tail.windows(INDEX.len()).rposition(|window| window == INDEX) else { return Ok(None) };
    let text = tail.get(at..).unwrap_or_default();
    let mut offsets: Vec<u64> = Vec::new();
    for line in text.split(|&byte| byte == b'\n').skip(1) {
        let line = String::from_utf8_lossy(line);
        if line.starts_with('%') || line.starts_with('#') {
            continue;
        }
        if line.starts_with("...") || line.contains('\0') {
            break;
        }
        let numbers = line.trim_start_matches("---").split([' ', '-', '[', ']', ',', '\r']);
        offsets.extend(numbers.filter_map(|number| number.parse::<u64>().ok()));
    }
    let at = bound::sum(start, at as u64);
    notes.structure("block index", (at, size), Part::Reached);
    Ok(Some((at, offsets)))
}

/// Finds the blocks: those that the index lists, or those that follow each other. Returns whether an index lists them.
pub(super) fn blocks(
    source: &dyn ReadAt,
    candidates: &[u64],
    index: &Option<(u64, Vec<u64>)>,
    notes: &mut Notes,
) -> Result<(Vec<Slot>, bool)> {
    let end = index.as_ref().map_or(source.size(), |(at, _)| *at);
    let read = |at: u64| -> Option<BlockHeader> {
        let bytes =
            source.read_at(at, bound::addressable(bound::left(source.size(), at).min(HEADER))).ok()?;
        BlockHeader::from_bytes(&bytes).ok()
    };
    let listed: Vec<u64> =
        index.iter().flat_map(|(_, offsets)| offsets.iter().copied()).filter(|&at| at < end).collect();
    let right = listed.iter().filter(|&&at| read(at).is_some()).count();
    if right > 0 && listed.is_sorted_by(|a, b| bound::sum(*a, HEADER) <= *b) {
        let mut slots = Vec::new();
        for (i, &at) in listed.iter().enumerate() {
            let next = listed.get(i + 1).copied().unwrap_or(end);
            slots.push(slot(source, at, next, read(at), notes));
        }
        return Ok((slots, true));
    }
    if index.is_some() {
        notes.cause("damaged index", "the block index does not lead to blocks");
    }
    let mut slots: Vec<Slot> = Vec::new();
    let mut queue = candidates.iter().copied().filter(|&at| at < end && read(at).is_some());
    let Some(mut at) = queue.next() else { return Ok((slots, false)) };
    while slots.len() < BLOCKS {
        let Some(header) = read(at) else { break };
        let streamed = header.is_streamed();
        let size =
            if streamed { end } else { bound::sum(bound::sum(at, header.size()), header.allocated_size) };
        // A block that is longer than the file, and that others follow, has a damaged header.
        let follower = queue.clone().find(|&next| next >= at + HEADER);
        let too_long = size > source.size() && follower.is_some() && !streamed;
        let stop = match (too_long, follower) {
            (true, Some(next)) => next,
            _ => size,
        };
        let mut found = slot(source, at, stop, (!too_long).then_some(header), notes);
        found.placed =
            slots.last().map_or(slots.is_empty(), |last: &Slot| last.placed && last.doubt.is_none());
        slots.push(found);
        if stop >= end {
            break;
        }
        let Some(next) = queue.find(|&next| next >= stop) else {
            // Something follows the last block that is neither a block nor the index.
            if stop + HEADER <= end && !is_zero(source, stop, end)? {
                let mut found = slot(source, stop, end, None, notes);
                found.placed = false;
                slots.push(found);
            }
            break;
        };
        if next > stop {
            // The header of a block is lost, or those of several.
            notes.act(
                "make the header of a block",
                stop,
                "something is between two blocks",
                Confidence::Speculative,
            );
            let mut found = slot(source, stop, next, None, notes);
            found.placed = false;
            slots.push(found);
        }
        at = next;
    }
    Ok((slots, false))
}

/// Adds the blocks before the first one that was found, if their headers are damaged: a header that leads to the next block, and
/// whatever else is there if the tree names more blocks than were found. Otherwise each block would be taken for another one.
pub(super) fn before(
    source: &dyn ReadAt,
    (from, lacks): (u64, bool),
    slots: &mut Vec<Slot>,
    notes: &mut Notes,
) -> Result<()> {
    let count = slots.len();
    while let Some(first) = slots.first().map(|slot| slot.offset)
        && let Some(at) = damaged_header(source, from, first)?
    {
        slots.insert(0, slot(source, at, first, None, notes));
    }
    if lacks
        && count == slots.len()
        && let Some(first) = slots.first().map(|slot| slot.offset)
        && let Some(at) = not_blank(source, from, first)?.filter(|&at| bound::sum(at, HEADER) <= first)
    {
        let reason = "something is between the tree and the first block, and the tree names more blocks";
        notes.act("make the header of a block", at, reason, Confidence::Speculative);
        slots.insert(0, slot(source, at, first, None, notes));
    }
    if count < slots.len() {
        slots.iter_mut().for_each(|slot| slot.placed = false);
    }
    Ok(())
}

/// Returns the offset of the first byte that is neither zero nor a blank, behind the line that ends the tree.
fn not_blank(source: &dyn ReadAt, from: u64, to: u64) -> Result<Option<u64>> {
    let mut at = from;
    while at < to {
        let piece = source.read_at(at, bound::addressable(to - at).min(1 << 20))?;
        let skipped = if at == from && piece.starts_with(b"...") { 3 } else { 0 };
        let is_blank = |byte: &u8| matches!(byte, 0 | b' ' | b'\r' | b'\n');
        let found = piece.iter().enumerate().skip(skipped).find(|(_, byte)| !is_blank(byte));
        if let Some((found, _)) = found {
            return Ok(Some(bound::sum(at, found as u64)));
        }
        at = bound::sum(at, piece.len() as u64);
    }
    Ok(None)
}

fn is_zero(source: &dyn ReadAt, from: u64, to: u64) -> Result<bool> {
    let mut at = from;
    while at < to {
        let len = bound::addressable(to - at).min(1 << 20);
        if source.read_at(at, len)?.iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        at += len as u64;
    }
    Ok(true)
}

/// Returns the block at `offset`, which ends at `next`. Without a header that can be read, one is made.
fn slot(source: &dyn ReadAt, offset: u64, next: u64, header: Option<BlockHeader>, notes: &mut Notes) -> Slot {
    let room = |header: &BlockHeader| bound::left(next, bound::sum(offset, header.size()));
    let fits = header.filter(|header| header.is_streamed() || header.allocated_size == room(header));
    let (mut header, doubt) = match fits {
        Some(header) => (header, None),
        None => {
            // The magic number or the size of the header may be all that is damaged.
            let mended = source.read_at(offset, HEADER as usize).ok().and_then(|bytes| {
                let mut bytes = bytes.into_owned();
                bytes.splice(..6, MAGIC.iter().copied().chain([0, 48]));
                let header = BlockHeader::from_bytes(&bytes).ok()?;
                (header.allocated_size == bound::left(next, bound::sum(offset, HEADER))
                    && header.used_size > 0)
                    .then_some(header)
            });
            notes.cause("changed bytes", "the header of a block cannot be read");
            match (mended, header) {
                (Some(mended), _) => {
                    notes.act(
                        "mend the header of a block",
                        offset,
                        "its other fields fit its place",
                        Confidence::Medium,
                    );
                    (mended, Some("its header was damaged"))
                }
                // Another block follows earlier or later than the header says.
                (None, Some(header)) if header.used_size <= room(&header) => (
                    BlockHeader { allocated_size: room(&header), ..header },
                    Some("its header does not fit its place"),
                ),
                _ => {
                    let size = bound::left(next, bound::sum(offset, HEADER));
                    let made = BlockHeader {
                        header_size: 48,
                        flags: 0,
                        compression: Label::NONE,
                        allocated_size: size,
                        used_size: size,
                        data_size: size,
                        checksum: [0; 16],
                    };
                    (made, Some("its header is lost, and it is taken for one without compression"))
                }
            }
        }
    };
    let data = bound::sum(offset, header.size());
    if header.is_streamed() {
        // A block that extends to the end of the file becomes one with a size.
        let size = bound::left(next.min(source.size()), data);
        header = BlockHeader {
            flags: header.flags & !1,
            allocated_size: size,
            used_size: size,
            data_size: size,
            ..header
        };
    }
    let there = header.used_size.min(bound::left(source.size(), data));
    if there < header.used_size {
        notes.cut_off(bound::sum(data, header.allocated_size));
    }
    Slot { offset, header, data, there, placed: true, doubt }
}

/// Reads a block, and says what is left of it.
pub(super) fn judge(file: &Asdf, number: usize, slot: &Slot, notes: &mut Notes) -> Result<Left> {
    let mut left = Left::default();
    let doubted = |left: &mut Left| {
        if let Some(doubt) = slot.doubt
            && !left.sound
        {
            left.reasons.push(doubt.into());
            left.state = Some(left.state.unwrap_or(State::Partial));
        }
    };
    let block = file.block(number)?;
    let plain = slot.header.compression.is_none();
    if slot.there < slot.header.used_size {
        if plain {
            left.missing.push((slot.there, slot.header.used_size));
            left.state = Some(if slot.there == 0 { State::Metadata } else { State::Partial });
        } else {
            left.unreadable = true;
            left.state = Some(State::Metadata);
            left.missing.push((0, slot.header.data_size));
        }
        left.reasons
            .push(format!("{} of its {} stored bytes are in the file", slot.there, slot.header.used_size));
        doubted(&mut left);
        return Ok(left);
    }
    let checksum = block.checksum()?;
    if !plain && let Err(error) = block.for_each_piece(|_| Ok(())) {
        left.unreadable = true;
        left.state = Some(State::Metadata);
        left.missing.push((0, slot.header.data_size));
        left.reasons.push(error.to_string());
        if !matches!(error, asdf_core::Error::Unsupported { .. }) {
            notes.cause("changed bytes", "a block cannot be decoded");
        }
        return Ok(left);
    }
    match checksum {
        Checksum::Stored | Checksum::Decoded => left.sound = true,
        Checksum::Absent => {}
        Checksum::Wrong => {
            notes.cause("changed bytes", "a block does not have the MD5 that its header stores");
            left.state = Some(State::Partial);
            left.missing.push((0, slot.header.data_size));
            left.reasons.push("its bytes do not have the MD5 that its header stores".into());
        }
    }
    doubted(&mut left);
    Ok(left)
}
