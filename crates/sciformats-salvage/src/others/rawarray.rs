//! RawArray: a header whose fields determine each other, and elements, of which the first ones are there.

use std::sync::Arc;

use rawarray::{ElementKind, Flags, Header};
use sciformats_convert::convert::Loss;
use sciformats_core::{Error, ReadAt, Result, bound, slab};

use super::{Found, Notes, Output, ZEROS, object, spoil};
use crate::boxes::boxes;
use crate::earlier::{self, Slab};
use crate::map::Part;
use crate::report::{Confidence, ObjectReport, State};
use crate::scan::Scan;
use crate::spliced::Spliced;

const MAGIC: &[u8] = b"rawarray";
/// The bytes before the dimensions.
const FIXED: u64 = 48;
/// The most dimensions that a damaged header is believed to have.
const MOST_DIMENSIONS: u64 = 64;
/// The most dimensions of a header that is made anew.
const MOST_GUESSED: usize = 8;
/// The most bytes of metadata that may be those of an earlier salvage.
const MARK: u64 = 64 << 20;

/// Returns whether the fields of a header begin here although the magic number and some of them may be damaged: the others agree with
/// each other and with the length of the file.
pub(crate) fn looks_like(source: &dyn ReadAt) -> bool {
    let refitted = || refit(source).ok().flatten();
    agrees(source) || refitted().is_some_and(|found| found.confidence == Confidence::Medium)
}

/// Returns whether all fields but the magic number agree with each other and with the length of the file.
fn agrees(source: &dyn ReadAt) -> bool {
    let Ok(Some((header, _))) = read(source) else { return false };
    let right = header.flags.undefined_bit().is_none() && !matches!(header.eltype, ElementKind::Unknown(_));
    let end = bound::sum(header.end(), header.size);
    let known = bytes_of(&header).is_some_and(|bytes| bytes == header.size && bytes > 0);
    right && known && end <= source.size() && !header.dims.is_empty()
}

/// Reads the fields, whether or not the magic number is right. Returns it as well.
fn read(source: &dyn ReadAt) -> Result<Option<(Header, bool)>> {
    if source.size() < FIXED {
        return Ok(None);
    }
    let mut head =
        source.read_at(0, bound::addressable(source.size().min(FIXED + MOST_DIMENSIONS * 8)))?.into_owned();
    let right = head.starts_with(MAGIC);
    head.splice(..MAGIC.len(), MAGIC.iter().copied());
    let count = word(&head, 40).unwrap_or(u64::MAX);
    let there = bound::left(head.len() as u64, FIXED) / 8;
    // A file that was cut within its dimensions, or whose number of dimensions is damaged, has those that are there.
    let kept = count.min(there);
    head.splice(40..48, kept.to_le_bytes());
    Ok(Header::from_bytes(&head).ok().map(|header| (header, right)))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}

/// Returns the number of bytes of the elements that a header describes, if they are not encoded.
fn bytes_of(header: &Header) -> Option<u64> {
    let count = slab::elements(&header.dims)?;
    if header.flags.contains(Flags::BITS) {
        return count.div_ceil(64).checked_mul(8);
    }
    count.checked_mul(header.elbyte)
}

/// Returns the width of an element with this kind, if it can be one.
fn is_width(kind: ElementKind, width: u64) -> bool {
    match kind {
        ElementKind::Int | ElementKind::UInt => [1, 2, 4, 8, 16].contains(&width),
        ElementKind::Float => [2, 4, 8, 16].contains(&width),
        ElementKind::Complex => [4, 8, 16, 32].contains(&width),
        ElementKind::Brain => [1, 2].contains(&width),
        ElementKind::User | ElementKind::Unknown(_) => width > 0,
    }
}

pub(crate) fn examine(source: &Arc<dyn ReadAt>, scan: Scan) -> Result<Found> {
    let mut notes = Notes::new(source, scan);
    let Some((mut header, right)) = read(&**source)? else {
        return Err(Error::unsupported("salvaging a RawArray file whose header is not all there"));
    };
    let mut spoiled = Vec::new();
    let is_made = !right && !agrees(&**source);
    if is_made {
        let Some(found) = refit(&**source)? else { return Ok(bytes_alone(source, notes)) };
        notes.cause(
            "overwritten head",
            "the magic number is not that of RawArray, and other fields of the header are lost as well",
        );
        notes.act("make a header", 0, found.reason, found.confidence);
        if found.header.eltype == ElementKind::User {
            spoiled.push("the type is lost, so that the elements are left as bytes".to_owned());
        }
        header = found.header;
    } else if !right {
        notes.cause(
            "overwritten head",
            "the magic number is not that of RawArray, and the fields after it are right",
        );
        notes.act(
            "write the magic number",
            0,
            "the other fields agree with the length of the file",
            Confidence::Medium,
        );
        let before = source.read_at(0, MAGIC.len())?;
        if header.flags == Flags::NONE && header.elbyte > 1 && before.iter().all(|&byte| byte == 0) {
            // Flags that are zero may be some of the zeros that the magic number was overwritten with.
            spoiled.push("the zeros over the magic number may go on over the flags, so that the byte order may be lost".to_owned());
        }
    }
    let declared = match is_made {
        true => header.dims.len() as u64,
        false => word(&source.read_at(40, 8)?, 0).unwrap_or(0),
    };
    if declared != header.dims.len() as u64 && FIXED + 8 * declared.min(MOST_DIMENSIONS) > source.size() {
        notes.cut_off(bound::sum(FIXED, bound::product(declared, 8)));
    }
    let encoded = header.flags.contains(Flags::ENCODED) && !header.flags.contains(Flags::BITS);
    if !encoded {
        mend(&mut header, declared, &mut notes, &mut spoiled);
    }
    notes.structure("header", (0, header.end().min(source.size())), Part::Reached);
    let data = header.end();
    let room = bound::left(source.size(), data);
    notes.cut_off(bound::sum(data, header.size));
    let there = header.size.min(room);
    notes.structure("elements", (data, bound::sum(data, there)), Part::Reached);
    let mut report = object("/", data, "array");
    for why in &spoiled {
        spoil(&mut report, State::Partial, why.clone());
    }
    let output = if encoded {
        let whole = rawarray::Reader::from_storage(source.clone(), &rawarray::OpenOptions::default())
            .and_then(|reader| reader.read_bytes().map(drop));
        if let Err(error) = whole {
            notes.cause("changed bytes", error.to_string());
            spoil(&mut report, State::Metadata, format!("the encoded elements: {error}"));
            Output::Nothing
        } else {
            let mut parts = Spliced::new(source.clone());
            parts.range(0, source.size());
            Output::Parts(Box::new(parts), Vec::new())
        }
    } else {
        missing(&mut report, &header, (data, there), &notes);
        let mut parts = Spliced::new(source.clone());
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        parts.bytes(bytes);
        parts.range(data, header.size);
        let metadata = bound::sum(data, header.size);
        let rest = bound::left(source.size(), metadata);
        let mut losses = Vec::new();
        match marked(&**source, (metadata, rest), &report)? {
            Some(text) => parts.bytes(text.into_bytes()),
            None => {
                if !report.missing.is_empty() {
                    let what = "does not say which elements are missing, because it has metadata of its own";
                    losses.push(Loss { path: "/".into(), what: what.into(), lost: None });
                }
                parts.range(metadata.min(source.size()), rest);
            }
        }
        notes.parts.push((metadata.min(source.size()), source.size(), Part::Reached));
        Output::Parts(Box::new(parts), losses)
    };
    notes.objects.push(report);
    Ok(notes.found("rawarray", output))
}

/// A header that was made of those fields that are left.
struct Refitted {
    header: Header,
    reason: String,
    confidence: Confidence,
}

/// Makes a header without the magic number and without some other fields, if the dimensions and the length of the file agree in one
/// way only. The type is kept if it has the width that follows and if the flags, which are between it and the magic number, are
/// some that exist; it is that of bytes otherwise.
fn refit(source: &dyn ReadAt) -> Result<Option<Refitted>> {
    let most = source.size().min(FIXED + MOST_DIMENSIONS * 8);
    let head = source.read_at(0, bound::addressable(most))?;
    let field = |at: usize| word(&head, at).unwrap_or(0);
    let (flags, kind) = (Flags::from_bits(field(8)), ElementKind::from_code(field(16)));
    let (width, size, count) = (field(24), field(32), field(40));
    let all: Vec<u64> = head
        .get(bound::addressable(FIXED)..)
        .unwrap_or_default()
        .chunks_exact(8)
        .filter_map(|word| word.try_into().ok())
        .map(u64::from_le_bytes)
        .collect();
    let mut found = Vec::new();
    for number in 1..=all.len().min(MOST_GUESSED) {
        let (Some(dims), true) =
            (all.get(..number), count == 0 || count > MOST_DIMENSIONS || count == number as u64)
        else {
            continue;
        };
        let room = bound::left(source.size(), FIXED + 8 * number as u64);
        let items =
            slab::elements(dims).filter(|&items| items > 1 && room >= FIXED && room.is_multiple_of(items));
        let Some(of_each) = items.map(|items| room / items) else { continue };
        let confidence = match count == number as u64 && size == room {
            true => Confidence::Medium,
            false => Confidence::Speculative,
        };
        // A single witness is believed for usual widths only.
        if confidence == Confidence::Speculative && ![1, 2, 4, 8, 16].contains(&of_each) {
            continue;
        }
        let known = flags.undefined_bit().is_none()
            && !flags.contains(Flags::ENCODED)
            && !flags.contains(Flags::BITS)
            && !matches!(kind, ElementKind::Unknown(_) | ElementKind::User)
            && width == of_each
            && is_width(kind, of_each);
        let header = Header {
            flags: if known { flags } else { Flags::NONE },
            eltype: if known { kind } else { ElementKind::User },
            elbyte: of_each,
            size: room,
            dims: dims.to_vec(),
        };
        let reason =
            format!("{number} dimensions of elements of {of_each} bytes fill the file to its end exactly");
        found.push(Refitted { header, reason, confidence });
    }
    Ok(match found.len() {
        1 => found.pop(),
        _ => None,
    })
}

/// Leaves the bytes of a file whose header is lost as an array of bytes, because nothing tells what else they are.
fn bytes_alone(source: &Arc<dyn ReadAt>, mut notes: Notes) -> Found {
    notes.cause(
        "overwritten head",
        "neither the magic number nor the other fields are those of RawArray, so that the type and the shape are lost",
    );
    notes.act(
        "make an array of the bytes of the file",
        0,
        "nothing says where the elements begin and what they are",
        Confidence::Speculative,
    );
    let size = source.size();
    let mut report = object("/", 0, "bytes");
    spoil(
        &mut report,
        State::Partial,
        "the type, the shape and the place of the first element are lost; these are the bytes of the damaged file, from its first byte on",
    );
    // What is in place of the fixed fields is no part of the array, and is not what was written.
    report.missing.push((vec![0], vec![FIXED.min(size)]));
    let mut zeros = Vec::new();
    notes.zeros_in(0, size, &mut |from, to| zeros.push((from.max(FIXED), to)));
    let lost: u64 = zeros.iter().map(|&(from, to)| bound::left(to, from)).fold(FIXED, bound::sum);
    for (from, to) in zeros.into_iter().filter(|(from, to)| from < to) {
        report.missing.push((vec![from], vec![to - from]));
        spoil(&mut report, State::Partial, ZEROS);
    }
    notes.parts.push((0, size, Part::Carved));
    if lost >= size {
        report.state = State::Lost;
        report.missing.clear();
        notes.objects.push(report);
        return notes.found("rawarray", Output::Nothing);
    }
    let header = Header { flags: Flags::NONE, eltype: ElementKind::UInt, elbyte: 1, size, dims: vec![size] };
    let mut parts = Spliced::new(source.clone());
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    parts.bytes(bytes);
    parts.range(0, size);
    parts.bytes(mark(&report).into_bytes());
    notes.objects.push(report);
    notes.found("rawarray", Output::Parts(Box::new(parts), Vec::new()))
}

/// Makes fields that disagree agree, if there is one way to do so.
fn mend(header: &mut Header, declared: u64, notes: &mut Notes, spoiled: &mut Vec<String>) {
    let size = notes.source.size();
    if header.size == Header::UNFINISHED {
        let row =
            header.dims.split_last().and_then(|(_, row)| slab::elements(row)?.checked_mul(header.elbyte));
        let room = bound::left(size, header.end());
        let rows = row.and_then(|row| room.checked_div(row));
        if let (Some(rows), Some(row), Some(last)) = (rows, row, header.dims.last_mut()) {
            *last = rows;
            header.size = bound::product(rows, row);
            notes.cause("writer killed", "the size is that of a file whose writer has not finished it");
            notes.act("count the rows", 32, format!("{rows} whole rows are in the file"), Confidence::High);
        }
        return;
    }
    let expected = bytes_of(header);
    if expected == Some(header.size) && declared == header.dims.len() as u64 {
        return;
    }
    let room = bound::left(size, header.end());
    let evidence = format!(
        "the header declares {} bytes, and its dimensions and its type are those of {}",
        header.size,
        expected.map_or("too many".to_owned(), |bytes| bytes.to_string())
    );
    notes.cause("damaged header", evidence);
    let bits = header.flags.contains(Flags::BITS);
    // What the size says is true if the file ends with the elements.
    let size_fits = header.size > 0 && header.size == room;
    let product_fits = expected.is_some_and(|bytes| bytes == room && bytes > 0);
    let mut ways: Vec<(Header, &'static str, String)> = Vec::new();
    if let Some(bytes) = expected.filter(|&bytes| bytes <= room && (product_fits || !size_fits)) {
        let way = Header { size: bytes, ..header.clone() };
        ways.push((
            way,
            "correct the size",
            format!("the dimensions and the type are those of {bytes} bytes"),
        ));
    }
    if !product_fits && !bits {
        let count = slab::elements(&header.dims).filter(|&count| count > 0);
        let width = count.filter(|count| header.size.is_multiple_of(*count)).map(|count| header.size / count);
        if let Some(elbyte) = width.filter(|&width| is_width(header.eltype, width) && header.size <= room) {
            let way = Header { elbyte, ..header.clone() };
            ways.push((
                way,
                "correct the width of an element",
                format!("with {elbyte} bytes, the size is right"),
            ));
        }
        ways.extend(other_dimensions(header, notes));
    }
    let agreed = |ways: &[(Header, &'static str, String)]| match ways {
        [only] => Some(only.clone()),
        _ => None,
    };
    let fitting: Vec<_> =
        ways.iter().filter(|(way, ..)| bound::sum(way.end(), way.size) == size).cloned().collect();
    match agreed(&fitting).or_else(|| agreed(&ways)) {
        Some((way, kind, reason)) => {
            notes.act(kind, 16, reason, Confidence::Medium);
            *header = way;
        }
        None => {
            let end = header.end();
            let width = if is_width(header.eltype, header.elbyte) { header.elbyte } else { 1 };
            if width != header.elbyte {
                header.eltype = ElementKind::UInt;
                header.elbyte = width;
            }
            let size = if header.size <= room { header.size } else { room } / width * width;
            *header = Header { size, dims: vec![size / width], ..header.clone() };
            // The elements stay where they are, although the new header is shorter.
            notes.act(
                "leave out the shape",
                40,
                "no single change makes the fields agree",
                Confidence::Speculative,
            );
            spoiled.push(format!("the shape is lost, and so is what is before offset {end}"));
        }
    }
}

/// Returns headers with another number of dimensions with which the size is right.
fn other_dimensions(header: &Header, notes: &Notes) -> Vec<(Header, &'static str, String)> {
    let size = notes.source.size();
    let most = bound::left(size, FIXED) / 8;
    let Ok(bytes) = notes.source.read_at(FIXED, bound::addressable(most.min(MOST_DIMENSIONS) * 8)) else {
        return Vec::new();
    };
    let all: Vec<u64> =
        bytes.chunks_exact(8).filter_map(|word| word.try_into().ok()).map(u64::from_le_bytes).collect();
    let mut found = Vec::new();
    for count in 0..=all.len() {
        let Some(dims) = all.get(..count) else { break };
        let way = Header { dims: dims.to_vec(), ..header.clone() };
        if way.dims == header.dims {
            continue;
        }
        // The size must agree, and so must the length of the file, because many numbers of dimensions agree with the size alone.
        if bytes_of(&way) == Some(header.size) && bound::sum(way.end(), way.size) == size {
            found.push((
                way,
                "correct the number of dimensions",
                format!("with {count}, the size and the length of the file are right"),
            ));
        }
    }
    found
}

/// Lists the elements that are behind the end of the file or in sectors of zeros.
fn missing(report: &mut ObjectReport, header: &Header, (data, there): (u64, u64), notes: &Notes) {
    let shape: Vec<u64> = header.dims.iter().rev().copied().collect();
    let count = slab::elements(&header.dims).unwrap_or(0);
    let bits = header.flags.contains(Flags::BITS);
    let elements = |bytes: u64| match bits {
        true => bound::product(bytes / 8, 64).min(count),
        false => bytes.checked_div(header.elbyte).unwrap_or(count).min(count),
    };
    let whole = elements(there);
    if whole < count {
        let state = if whole == 0 { State::Metadata } else { State::Partial };
        spoil(report, state, format!("the elements from number {whole} on are behind the end of the file"));
        report.missing = boxes(&shape, whole, count);
    }
    if !notes.causes.is_empty() {
        let mut zeros = Vec::new();
        let width = if bits { 8 } else { header.elbyte.max(1) };
        notes.zeros_in(data, there, &mut |from, to| {
            let (from, to) = (from / width * width, to.div_ceil(width) * width);
            zeros.extend(boxes(&shape, elements(from), elements(to).min(whole)));
        });
        if !zeros.is_empty() {
            report.missing.extend(zeros);
            spoil(report, State::Partial, ZEROS);
        }
    }
}

/// Returns the metadata that say what is missing, and what an earlier salvage has said; `None` if nothing is missing, or if the metadata
/// are those of the user.
fn marked(source: &dyn ReadAt, (at, len): (u64, u64), report: &ObjectReport) -> Result<Option<String>> {
    if report.missing.is_empty() {
        return Ok(None);
    }
    if len == 0 {
        return Ok(Some(mark(report)));
    }
    if len > MARK {
        return Ok(None);
    }
    let bytes = source.read_at(at, bound::addressable(len))?;
    let Some((reasons, missing)) = said(&bytes) else { return Ok(None) };
    let mut all = report.clone();
    all.reasons = vec![earlier::joined(&report.reasons.join("; "), &reasons)];
    all.missing = earlier::merged(&report.missing, missing);
    Ok(Some(mark(&all)))
}

/// Reads metadata that [`mark`] has made.
fn said(bytes: &[u8]) -> Option<(String, Vec<Slab>)> {
    let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    let fields = value.as_object().filter(|fields| fields.len() == 2)?;
    let numbers = |value: &serde_json::Value| -> Option<Vec<u64>> {
        value.as_array()?.iter().map(serde_json::Value::as_u64).collect()
    };
    let slab = |slab: &serde_json::Value| Some((numbers(slab.get("start")?)?, numbers(slab.get("count")?)?));
    let missing: Option<Vec<Slab>> = fields.get("missing")?.as_array()?.iter().map(slab).collect();
    Some((fields.get("damage")?.as_str()?.to_owned(), missing?))
}

/// Returns the metadata that say what is missing.
fn mark(report: &ObjectReport) -> String {
    let missing: Vec<_> = report
        .missing
        .iter()
        .map(|(start, count)| serde_json::json!({"start": start, "count": count}))
        .collect();
    let value = serde_json::json!({"damage": report.reasons.join("; "), "missing": missing});
    format!("{value}\n")
}
