//! ASDF: blocks have headers with their sizes and MD5, and can be found without the tree and without the index; the tree can be read
//! without any block.

mod blocks;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use asdf_core::structure::BlockHeader;
use asdf_core::{Asdf, OpenOptions};
use sciformats_core::{ReadAt, Result, bound, slab};

use self::blocks::{before, blocks, index, judge};
use self::text::{absent, marked, named, splice, text};
use super::{Found, Notes, Output, ZEROS, object, spoil};
use crate::boxes::boxes;
use crate::map::Part;
use crate::report::{Confidence, ObjectReport, State};
use crate::scan::Scan;

pub(crate) const MAGIC: &[u8; 4] = b"\xD3BLK";
const INDEX: &[u8] = b"#ASDF BLOCK INDEX";
const HEADER: u64 = BlockHeader::SIZE as u64;
/// The head of a file without one.
const HEAD: &str =
    "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n";
/// The most paths of the tree that are looked at.
const PATHS: usize = 1 << 20;

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
        let needed = named(&text.bytes);
        if !listed {
            let lacks = needed.last_key_value().is_some_and(|(last, _)| *last >= slots.len());
            before(&**source, (text.end, lacks), &mut slots, &mut notes)?;
        }
        absent(&**source, &needed, &mut slots, &mut notes);
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
    let mut losses = Vec::new();
    let marked = match damaged {
        true => marked((&text, file.standard()), (&slots, &left), &orphans, (&notes, &mut losses)),
        false => text,
    };
    let output = splice(source, &marked, &slots, Some(&left))?;
    // The clean file must be one; a tree with marks that cannot be read would be none.
    Asdf::from_storage(output.clone(), &options)?;
    Ok(notes.found("asdf", Output::Parts(Box::new(output), losses)))
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

/// Marks the parts of an array that lie in missing parts of its block.
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
