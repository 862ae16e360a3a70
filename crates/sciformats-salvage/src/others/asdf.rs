//! ASDF: blocks have headers with their sizes and MD5, and can be found without the tree and without the index; the tree can be read
//! without any block.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use asdf_core::structure::{BlockHeader, Label, NdArray, Source};
use asdf_core::{Asdf, Checksum, OpenOptions, Tree};
use sciformats_core::{Limits, ReadAt, Result, bound, slab};

use super::{Found, Notes, Output, ZEROS, object, spoil};
use crate::boxes::boxes;
use crate::map::Part;
use crate::report::{Confidence, ObjectReport, State};
use crate::scan::Scan;
use crate::spliced::Spliced;

pub(crate) const MAGIC: &[u8; 4] = b"\xD3BLK";
const INDEX: &[u8] = b"#ASDF BLOCK INDEX";
const HEADER: u64 = BlockHeader::SIZE as u64;
/// The head of a file without one.
const HEAD: &str =
    "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n";
/// The directives of a tree.
const DIRECTIVES: &[u8] = b"%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n";
/// The tag of arrays.
const ARRAY: &str = "!<tag:stsci.edu:asdf/core/ndarray-1.0.0>";
/// The largest tree that is read.
const TREE: u64 = 64 << 20;
/// The bytes at the end of a file in which the index is searched for.
const TAIL: u64 = 4 << 20;
/// The bytes of trees that are parsed in all.
const PARSED: usize = 256 << 20;
/// The most lines that are left out of a damaged tree.
const LINES: usize = 64;
/// The most paths of the tree that are looked at.
const PATHS: usize = 1 << 20;
/// The most blocks.
const BLOCKS: usize = 10_000_000;

/// A block, or the place of one.
#[derive(Clone)]
struct Slot {
    offset: u64,
    header: BlockHeader,
    /// Where its stored bytes begin, and how many of them are in the file.
    data: u64,
    there: u64,
    /// Whether its number is beyond doubt.
    placed: bool,
    /// Why its header cannot be relied upon.
    doubt: Option<&'static str>,
}

/// What the parts of a block are.
#[derive(Default)]
struct Left {
    state: Option<State>,
    /// The ranges of its bytes that are missing.
    missing: Vec<(u64, u64)>,
    reasons: Vec<String>,
    /// Whether its bytes cannot be decoded, so that zeros take their place.
    unreadable: bool,
    /// Whether its checksum is right.
    sound: bool,
}

pub(crate) fn examine(source: &Arc<dyn ReadAt>, scan: Scan) -> Result<Found> {
    let candidates = scan.candidates.clone();
    let mut notes = Notes::new(source, scan);
    let index = index(&**source, &mut notes)?;
    let (mut slots, listed) = blocks(&**source, &candidates, &index, &mut notes)?;
    let first = slots.first().map(|slot| slot.offset);
    let text = text(&**source, first.or(index.as_ref().map(|(at, _)| *at)), &mut notes)?;
    if let Some(text) = &text {
        absent(&**source, &text.bytes, &mut slots, &mut notes);
    }
    // The first view has the blocks as they are stored.
    let view = splice(source, text.as_ref().map_or(HEAD.as_bytes(), |text| &text.bytes), &slots, None)?;
    let options = OpenOptions::default();
    let file = Asdf::from_storage(view, &options)?;
    let mut left: Vec<Left> = Vec::new();
    for (number, slot) in slots.iter().enumerate() {
        left.push(judge(&file, number, slot, &mut notes)?);
    }
    let damaged = !notes.causes.is_empty();
    for (number, (slot, left)) in slots.iter().zip(&mut left).enumerate() {
        if damaged && !left.sound && slot.header.compression.is_none() && !left.unreadable {
            notes.zeros_in(slot.data, slot.there, &mut |from, to| left.missing.push((from, to)));
            if !left.missing.is_empty() && left.state.is_none() {
                left.state = Some(State::Partial);
                left.reasons.push(ZEROS.into());
            }
        }
        let mut report = object(format!("/blocks/{number}"), slot.offset, "block");
        if left.sound && slot.doubt.is_none() && (slot.placed && listed || !damaged) {
            report.state = State::Whole;
            report.unchecked = false;
        }
        for reason in &left.reasons {
            spoil(&mut report, left.state.unwrap_or(State::Partial), reason.clone());
        }
        report.missing = left.missing.iter().map(|&(from, to)| (vec![from], vec![to - from])).collect();
        let end = bound::sum(slot.data, slot.there);
        let part = if text.is_some() { Part::Reached } else { Part::Carved };
        notes.structure("block", (slot.offset, end), part);
        notes.objects.push(report);
    }
    let used = arrays(&file, &left, text.as_ref().is_some_and(|text| text.mended), &mut notes);
    let orphans: Vec<usize> = (0..slots.len()).filter(|number| damaged && !used.contains(number)).collect();
    for &number in &orphans {
        if let Some(slot) = slots.get(number) {
            notes.act(
                "link a block below /lost+found",
                slot.offset,
                format!("no array of the tree uses block {number}"),
                Confidence::High,
            );
        }
    }
    if text.is_none() && slots.is_empty() {
        return Ok(notes.found("asdf", Output::Nothing));
    }
    let text = text.map_or_else(|| HEAD.as_bytes().to_vec(), |text| text.bytes);
    let marked = if damaged { marked(&text, &slots, &left, &orphans, &notes) } else { text };
    let output = splice(source, &marked, &slots, Some(&left))?;
    // The clean file must be one; a tree with marks that cannot be read would be none.
    Asdf::from_storage(output.clone(), &options)?;
    Ok(notes.found("asdf", Output::Parts(Box::new(output))))
}

/// Returns the offset of the block index, and the offsets that it lists.
fn index(source: &dyn ReadAt, notes: &mut Notes) -> Result<Option<(u64, Vec<u64>)>> {
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
fn blocks(
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
fn judge(file: &Asdf, number: usize, slot: &Slot, notes: &mut Notes) -> Result<Left> {
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

/// The text before the blocks.
struct Text {
    bytes: Vec<u8>,
    /// Whether lines were left out.
    mended: bool,
}

/// Adds the blocks that arrays of the tree name and that are behind the end of the file.
fn absent(source: &dyn ReadAt, text: &[u8], slots: &mut Vec<Slot>, notes: &mut Notes) {
    let start = text.windows(5).position(|window| window == b"%YAML").unwrap_or(0);
    let Ok(tree) = Tree::parse_at(text.get(start..).unwrap_or_default(), 0, &Limits::default()) else {
        return;
    };
    let mut needed: BTreeMap<usize, u64> = BTreeMap::new();
    for node in tree.reachable() {
        if tree.entries(node).is_none() {
            continue;
        }
        let Ok(array) = NdArray::from_node(&tree, node) else { continue };
        let Source::Block(number) = array.source else { continue };
        let shape: Option<Vec<u64>> = array.shape.iter().copied().collect();
        let count = shape.and_then(|shape| slab::elements(&shape));
        let bytes = count
            .zip(array.datatype.size())
            .map(|(count, size)| bound::sum(bound::product(count, size), array.offset));
        if let (Ok(number), Some(bytes)) = (usize::try_from(number), bytes) {
            let most = needed.entry(number).or_insert(0);
            *most = bytes.max(*most);
        }
    }
    let Some((&last, _)) = needed.last_key_value().filter(|(last, _)| **last < needed.len() + slots.len())
    else {
        return;
    };
    let limit = bound::product(source.size(), 1032);
    while slots.len() <= last {
        let size = needed.get(&slots.len()).copied().filter(|&size| size <= limit).unwrap_or(0);
        let header = BlockHeader {
            header_size: 48,
            flags: 0,
            compression: Label::NONE,
            allocated_size: size,
            used_size: size,
            data_size: size,
            checksum: [0; 16],
        };
        let end = source.size();
        notes.cause("cut off", "arrays name blocks that are not in the file");
        slots.push(Slot {
            offset: end,
            header,
            data: end,
            there: 0,
            placed: false,
            doubt: Some("it is not in the file"),
        });
    }
}

/// Finds the header and the tree, and mends a tree that cannot be parsed.
fn text(source: &dyn ReadAt, end: Option<u64>, notes: &mut Notes) -> Result<Option<Text>> {
    let end = end.unwrap_or(source.size()).min(TREE);
    let bytes = source.read_at(0, bound::addressable(end))?;
    let find = |needle: &[u8]| bytes.windows(needle.len()).position(|window| window == needle);
    let headed = bytes.starts_with(b"#ASDF ");
    let start = match find(b"%YAML").or_else(|| find(b"\n---").map(|at| at + 1)) {
        Some(start) => start,
        None if headed && end == source.size() && !bytes.contains(&0) => {
            // A file may have no tree.
            notes.structure("header", (0, end), Part::Reached);
            return Ok(Some(Text { bytes: bytes.into_owned(), mended: false }));
        }
        None => {
            notes.cause("lost tree", "no YAML is before the first block");
            notes.act("make a tree", 0, "the blocks are all that is left", Confidence::High);
            return Ok(None);
        }
    };
    let tree = bytes.get(start..).unwrap_or_default();
    let (body, ended) = match [&b"\n...\n"[..], b"\n...\r\n"]
        .iter()
        .find_map(|mark| tree.windows(mark.len()).position(|window| window == *mark).map(|at| at + 1))
    {
        Some(at) => (tree.get(..at).unwrap_or_default(), true),
        None => (tree, false),
    };
    let body_len = body.len();
    let mut body = body.to_vec();
    if !body.starts_with(b"%YAML") {
        // Without these lines, short tags would have no meaning.
        notes.act("write the directives of the tree", start as u64, "they are lost", Confidence::Medium);
        body.splice(..0, DIRECTIVES.iter().copied());
    }
    while !ended && body.last().is_some_and(|byte| *byte == 0) {
        body.pop();
    }
    let limits = Limits::default();
    let mut mended = false;
    if !ended {
        let cut = end == source.size();
        notes.cause(if cut { "cut off" } else { "changed bytes" }, "the tree has no end mark");
        // The last line may be cut.
        let whole = body.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        mended |= whole < body.len() || cut;
        body.truncate(whole);
    }
    // A large tree is parsed fewer times.
    let most = LINES.min(PARSED.checked_div(body.len()).unwrap_or(LINES).max(1));
    for attempt in 0..=most {
        let Err(error) = Tree::parse_at(&body, 0, &limits) else { break };
        let at = error.offset().map(bound::addressable);
        let Some(at) = at.filter(|_| attempt < most && !body.is_empty()) else {
            notes.cause("lost tree", error.to_string());
            notes.act("make a tree", start as u64, "the tree cannot be parsed", Confidence::High);
            return Ok(None);
        };
        if !mended {
            notes.cause("changed bytes", format!("the tree: {error}"));
        }
        // An error at the end of the text is that of an earlier line.
        let at = at.min(body.len() - 1);
        let from = body
            .get(..at)
            .and_then(|before| before.iter().rposition(|&byte| byte == b'\n'))
            .map_or(0, |at| at + 1);
        let to = body
            .get(at..)
            .and_then(|rest| rest.iter().position(|&byte| byte == b'\n'))
            .map_or(body.len(), |more| at + more + 1);
        let line = String::from_utf8_lossy(body.get(from..to).unwrap_or_default())
            .trim_end()
            .chars()
            .take(60)
            .collect::<String>();
        notes.act(
            "leave out a line of the tree",
            bound::sum(start as u64, from as u64),
            line,
            Confidence::Speculative,
        );
        body.drain(from..to);
        mended = true;
    }
    let mut out = match bytes.get(..start) {
        Some(head) if headed && head.is_ascii() && !head.contains(&0) => head.to_vec(),
        _ => {
            notes.cause("overwritten head", "the first line is not that of ASDF");
            notes.act("write the first line", 0, "a tree follows", Confidence::High);
            b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n".to_vec()
        }
    };
    out.extend_from_slice(&body);
    out.extend_from_slice(b"...\n");
    notes.structure("tree", (0, (start + body_len) as u64), Part::Reached);
    Ok(Some(Text { bytes: out, mended }))
}

/// Puts a file together: the text, the blocks and the index. With what is known about the blocks, those that cannot be read become
/// zeros, and checksums that are not right are left out.
fn splice(source: &Arc<dyn ReadAt>, text: &[u8], slots: &[Slot], left: Option<&[Left]>) -> Result<Spliced> {
    let mut file = Spliced::new(source.clone());
    let ended =
        text.windows(5).any(|window| window == b"\n...\n") || !text.windows(3).any(|window| window == b"---");
    file.bytes(if ended { text.to_vec() } else { [text, b"{}\n...\n"].concat() });
    let mut offsets = Vec::new();
    for (number, slot) in slots.iter().enumerate() {
        offsets.push(file.len());
        let used = slot.header.used_size;
        let mut header = BlockHeader { header_size: 48, allocated_size: used, ..slot.header };
        let known = left.and_then(|left| left.get(number));
        if known.is_some_and(|left| !left.sound) {
            header.checksum = [0; 16];
        }
        let mut bytes = Vec::new();
        if known.is_some_and(|left| left.unreadable) {
            // Nobody wants more zeros than the damaged file could have held.
            let size =
                if header.data_size <= bound::product(source.size(), 1032) { header.data_size } else { 0 };
            header = BlockHeader {
                compression: Label::NONE,
                allocated_size: size,
                used_size: size,
                data_size: size,
                ..header
            };
            header.encode(&mut bytes);
            file.bytes(bytes);
            file.zeros(size);
        } else {
            header.encode(&mut bytes);
            file.bytes(bytes);
            file.range(slot.data, used);
        }
    }
    if !offsets.is_empty() {
        let lines: String = offsets.iter().map(|offset| format!("- {offset}\n")).collect();
        file.bytes(format!("#ASDF BLOCK INDEX\n%YAML 1.1\n---\n{lines}...\n").into_bytes());
    }
    Ok(file)
}

/// Reports the arrays of the tree. Returns the blocks that they use.
fn arrays(file: &Asdf, left: &[Left], mended: bool, notes: &mut Notes) -> BTreeSet<usize> {
    let mut used = BTreeSet::new();
    let paths: BTreeMap<u32, String> =
        file.tree().paths(PATHS).into_iter().map(|(path, node)| (node.number(), path)).collect();
    for node in file.tree().reachable() {
        if !file.is_array(node) {
            continue;
        }
        let path = paths.get(&node.number()).map(|path| format!("/{path}"));
        let path = path.unwrap_or_else(|| format!("/node {}", node.number()));
        let mut report = object(path, file.tree().node(node).offset, "array");
        match file.array_at(node) {
            Ok(array) => {
                if let Some(block) = array.block() {
                    used.insert(block);
                    if let Some(left) = left.get(block) {
                        of_block(&mut report, &array, left);
                    }
                }
            }
            Err(error) => spoil(&mut report, State::Metadata, error.to_string()),
        }
        if mended {
            spoil(
                &mut report,
                State::Partial,
                "lines of the tree were left out, which may have been of this array",
            );
        }
        notes.objects.push(report);
    }
    used
}

/// Says what is missing of an array by what is missing of its block.
fn of_block(report: &mut ObjectReport, array: &asdf_core::Array<'_>, left: &Left) {
    let (shape, description) = (array.shape(), array.description());
    let width = description.datatype.size().unwrap_or(1).max(1);
    let count = slab::elements(shape).unwrap_or(0);
    let start = description.offset;
    if description.strides.is_some() {
        // The order of the bytes is another one, so that any of them may be of any element.
        if !left.missing.is_empty() {
            report.missing = vec![(vec![0; shape.len()], shape.to_vec())];
        }
    } else {
        for &(from, to) in &left.missing {
            let from = (bound::left(from, start) / width).min(count);
            let to = bound::left(to, start).div_ceil(width).min(count);
            report.missing.extend(boxes(shape, from, to));
        }
    }
    if left.state.is_some() && (!report.missing.is_empty() || left.missing.is_empty()) {
        let all = report.missing.iter().map(|(_, count)| count.iter().product::<u64>()).sum::<u64>() >= count;
        let state = if all && left.unreadable { State::Metadata } else { State::Partial };
        for reason in &left.reasons {
            spoil(report, state, reason.clone());
        }
    }
}

/// Adds to the tree what is missing, and the blocks that no array uses.
fn marked(text: &[u8], slots: &[Slot], left: &[Left], orphans: &[usize], notes: &Notes) -> Vec<u8> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut lines = String::from("lost+found:\n");
    let before = lines.len();
    let damaged: Vec<&ObjectReport> =
        notes.objects.iter().filter(|object| object.state > State::Unchecked).collect();
    if !damaged.is_empty() {
        lines.push_str("  damage:\n");
        for object in &damaged {
            let text: String = object.reasons.join("; ").chars().take(500).collect();
            let text = format!("{}: {text}", object.state.word());
            lines.push_str(&format!("    {}: {}\n", quoted(&object.path), quoted(&text)));
        }
        let missing: BTreeMap<&str, _> = damaged
            .iter()
            .filter(|object| !object.missing.is_empty())
            .map(|object| (object.path.as_str(), &object.missing))
            .collect();
        if !missing.is_empty() {
            lines.push_str("  missing:\n");
        }
        for (path, slabs) in missing {
            let rows: Vec<Vec<u64>> =
                slabs.iter().take(2000).map(|(start, count)| [start.as_slice(), count].concat()).collect();
            lines.push_str(&format!("    {}: {rows:?}\n", quoted(path)));
        }
    }
    for &number in orphans {
        let (Some(slot), Some(left)) = (slots.get(number), left.get(number)) else { continue };
        let size = if slot.header.compression.is_none() || left.unreadable {
            slot.header.used_size
        } else {
            slot.header.data_size
        };
        lines.push_str(&format!(
            "  block{number}: {ARRAY} {{source: {number}, datatype: uint8, byteorder: little, shape: [{size}]}}\n"
        ));
    }
    if lines.len() == before {
        return text.to_vec();
    }
    let body = text.strip_suffix(b"...\n").unwrap_or(text);
    let tried = [body, lines.as_bytes(), b"...\n"].concat();
    let from = tried.windows(5).position(|window| window == b"%YAML");
    let parsed = Tree::parse_at(tried.get(from.unwrap_or(0)..).unwrap_or_default(), 0, &Limits::default());
    let kept = parsed.is_ok_and(|tree| tree.get("lost+found").is_some());
    if kept { tried } else { text.to_vec() }
}
