//! References to many files as if they were one: arrays that have the named dimension are joined along it, and all others must be the
//! same in every file.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use sciformats::{Error, File, Object, Result, Slab};
use serde_json::{Map, Value};

use crate::chunks::{Chunks, Place};
use crate::inline;
use crate::model::{Entry, Options, Report, Sink, Treatment, VirtualArray};
use crate::scan::scan;

/// The largest array without the dimension that is compared element by element, in bytes.
const COMPARED: u64 = 256 << 20;

/// One of the files.
#[derive(Debug)]
pub struct Part<'a> {
    /// The file.
    pub file: &'a File,
    /// What the file is called in the report.
    pub name: &'a str,
}

/// Passes the groups and the joined arrays of the files to `sink`. Files are joined in their order, and their numbers in
/// [`Place::Range`] are their positions.
///
/// An array is joined if its types, filters, chunks, units and calendars agree and the chunks of the files fit together. If
/// they do not, chunks without filters are divided, or the elements become part of the references if they take no more
/// than [`Options::inline`]; otherwise the array is refused. The URL of `options` is not used.
///
/// # Errors
/// `Usage` if there are no files, if no array has the dimension, or if the coordinate of that name does not go on from one
/// file to the next; and the first error of `sink`.
pub fn combine(parts: &[Part<'_>], along: &str, options: &Options, sink: &mut dyn Sink) -> Result<Report> {
    let mut all = Vec::new();
    for part in parts {
        let mut found = Collected::default();
        let report = scan(part.file, options, &mut found)?;
        all.push((part, found, report));
    }
    let joined =
        all.iter().any(|(_, found, _)| found.arrays.iter().any(|array| axis(array, along).is_some()));
    if !joined {
        return Err(Error::usage("dimension", format!("`{along}` is a dimension of no array")));
    }
    in_order(&all, along)?;
    let mut report = Report::default();
    for group in groups(&all) {
        sink.group(&group.0, &group.1)?;
    }
    let paths: BTreeSet<&str> =
        all.iter().flat_map(|(_, found, _)| found.arrays.iter().map(|array| array.path.as_str())).collect();
    for path in paths {
        let treatment = match join(&all, path, along, options) {
            Ok((array, treatment)) => {
                sink.array(&array)?;
                treatment
            }
            Err(reason) => Treatment::Refused { reason },
        };
        report.entries.push(Entry { path: path.into(), treatment });
    }
    // What the files do not have as arrays.
    for (part, _, told) in &all {
        for entry in &told.entries {
            let known = report.entries.iter().any(|other| other.path == entry.path);
            if let (Treatment::Refused { reason }, false) = (&entry.treatment, known) {
                let reason = format!("{}: {reason}", part.name);
                report
                    .entries
                    .push(Entry { path: entry.path.clone(), treatment: Treatment::Refused { reason } });
            }
        }
        for left in told
            .attributes
            .iter()
            .filter(|left| !report.attributes.contains(left))
            .cloned()
            .collect::<Vec<_>>()
        {
            report.attributes.push(left);
        }
    }
    Ok(report)
}

type Scanned<'a> = (&'a Part<'a>, Collected, Report);

#[derive(Default)]
struct Collected {
    groups: Vec<(String, Map<String, Value>)>,
    arrays: Vec<VirtualArray>,
}

impl Sink for Collected {
    fn group(&mut self, path: &str, attributes: &Map<String, Value>) -> Result<()> {
        self.groups.push((path.into(), attributes.clone()));
        Ok(())
    }

    fn array(&mut self, array: &VirtualArray) -> Result<()> {
        self.arrays.push(array.clone());
        Ok(())
    }
}

/// Every group that a file has, with the attributes that it has in the first of them; each before its members.
fn groups(all: &[Scanned<'_>]) -> Vec<(String, Map<String, Value>)> {
    let mut groups: Vec<(String, Map<String, Value>)> = Vec::new();
    for (path, attributes) in all.iter().flat_map(|(_, found, _)| &found.groups) {
        if !groups.iter().any(|(known, _)| known == path) {
            groups.push((path.clone(), attributes.clone()));
        }
    }
    groups.sort_by(|(a, _), (b, _)| a.cmp(b));
    groups
}

fn axis(array: &VirtualArray, along: &str) -> Option<usize> {
    array.dimensions.iter().position(|name| name == along)
}

/// Checks that the coordinate of the dimension goes on in one direction from each file to the next.
fn in_order(all: &[Scanned<'_>], along: &str) -> Result<()> {
    let mut before: Option<(&str, f64)> = None;
    let mut direction = None;
    for (part, found, _) in all {
        let coordinate = found.arrays.iter().find(|array| {
            array.path.rsplit('/').next() == Some(along)
                && array.dimensions.len() == 1
                && axis(array, along).is_some()
        });
        let Some(coordinate) = coordinate else { return Ok(()) };
        let Ok(values) = part.file.array(&coordinate.path).and_then(|array| array.read::<f64>()) else {
            return Ok(());
        };
        let (Some(first), Some(last)) = (values.first(), values.last()) else { continue };
        let within = last.partial_cmp(first).filter(|way| *way != Ordering::Equal);
        let between = before.map(|(_, end)| first.partial_cmp(&end));
        let mut agrees = |way: Option<Ordering>| *direction.get_or_insert(way) == way;
        let goes_on = within.is_none_or(|way| agrees(Some(way)))
            && between.is_none_or(|way| way != Some(Ordering::Equal) && agrees(way));
        if let (Some((name, end)), false) = (before, goes_on) {
            let problem = format!(
                "are not in order: `{along}` ends at {end} in {name} and begins at {first} in {}",
                part.name
            );
            return Err(Error::usage("files", problem));
        }
        before = Some((part.name, *last));
    }
    Ok(())
}

/// Joins the arrays of that path.
fn join(
    all: &[Scanned<'_>],
    path: &str,
    along: &str,
    options: &Options,
) -> Result<(VirtualArray, Treatment), String> {
    let mut pieces = Vec::new();
    for (part, found, told) in all {
        let Some(array) = found.arrays.iter().find(|array| array.path == path) else {
            let refused =
                told.entries.iter().find(|entry| entry.path == path).map(|entry| entry.treatment.to_string());
            return Err(format!(
                "{}: {}",
                part.name,
                refused.unwrap_or_else(|| "there is no such array".into())
            ));
        };
        pieces.push((*part, array));
    }
    let Some(((_, first), others)) = pieces.split_first() else { return Err("there are no files".into()) };
    for (part, array) in others {
        agree(first, array).map_err(|what| format!("{what} differs in {}", part.name))?;
    }
    match axis(first, along) {
        Some(axis) => joined(&pieces, axis, options),
        None => {
            for (part, array) in others {
                same(all, first, (*part, *array))?;
            }
            let array = (*first).clone();
            let told =
                all.first().and_then(|(_, _, told)| told.entries.iter().find(|entry| entry.path == path));
            let chunks = array.chunks.len();
            let treatment = told.map_or(Treatment::Referenced { chunks }, |entry| entry.treatment.clone());
            Ok((array, treatment))
        }
    }
}

/// Returns what differs, of what must not.
fn agree(a: &VirtualArray, b: &VirtualArray) -> Result<(), &'static str> {
    let attribute = |name: &str| a.attributes.get(name) == b.attributes.get(name);
    let checks = [
        (a.dimensions == b.dimensions, "the dimensions"),
        (a.dtype == b.dtype, "the type"),
        (a.filters == b.filters, "a filter"),
        (a.columns == b.columns, "the order of elements"),
        (a.fill == b.fill || a.fill.is_null() || b.fill.is_null(), "the fill value"),
        (attribute("units"), "the unit"),
        (attribute("calendar"), "the calendar"),
        (attribute("scale_factor") && attribute("add_offset"), "the packing"),
        (attribute("_FillValue") && attribute("missing_value"), "the mark of missing values"),
    ];
    checks.iter().find(|(same, _)| !same).map_or(Ok(()), |(_, what)| Err(*what))
}

/// Checks that an array without the dimension is the same in another file.
fn same(
    all: &[Scanned<'_>],
    first: &VirtualArray,
    (part, array): (&Part<'_>, &VirtualArray),
) -> Result<(), String> {
    let Some((start, ..)) = all.first() else { return Ok(()) };
    if first.shape != array.shape {
        return Err(format!("its shape differs in {}", part.name));
    }
    let (a, b) = (elements(start.file, &first.path)?, elements(part.file, &array.path)?);
    if a == b { Ok(()) } else { Err(format!("its elements differ in {}", part.name)) }
}

/// All elements in canonical form.
fn elements(file: &File, path: &str) -> Result<Vec<u8>, String> {
    let path = if path == "/data" && file.resolve(path).is_err() { "/" } else { path };
    let said = |error: Error| error.to_string();
    let id = file.resolve(path).map_err(said)?;
    let Object::Array(info) = file.source().object(id).map_err(said)? else {
        return Err("it is not an array".into());
    };
    let width = info.element.size().unwrap_or(16);
    if info.elements().and_then(|n| n.checked_mul(width)).is_none_or(|bytes| bytes > COMPARED) {
        return Err("it is too large to be compared between the files".into());
    }
    let mut out = Vec::new();
    let slab = Slab::all(info.shape.as_deref().unwrap_or_default()).map_err(said)?;
    file.read(id, &slab, &mut out).map_err(said)?;
    Ok(out)
}

type Piece<'a> = (&'a Part<'a>, &'a VirtualArray);

/// Joins arrays along a dimension.
fn joined(pieces: &[Piece<'_>], axis: usize, options: &Options) -> Result<(VirtualArray, Treatment), String> {
    let Some((_, first)) = pieces.first() else { return Err("there are no files".into()) };
    let mut length = 0u64;
    for (part, array) in pieces {
        let others = |array: &VirtualArray| -> Vec<u64> {
            array.shape.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, side)| *side).collect()
        };
        if others(array) != others(first) {
            return Err(format!("its shape differs in {}", part.name));
        }
        length = array.shape.get(axis).and_then(|n| length.checked_add(*n)).ok_or("it is too long")?;
    }
    let mut whole = (*first).clone();
    if let Some(side) = whole.shape.get_mut(axis) {
        *side = length;
    }
    let fill = pieces.iter().map(|(_, array)| &array.fill).find(|fill| !fill.is_null());
    whole.fill = fill.cloned().unwrap_or(Value::Null);
    let reason = match ranges(pieces, axis, &mut whole, options.inline) {
        Ok(()) => {
            let chunks = whole.chunks.len();
            return Ok((whole, Treatment::Referenced { chunks }));
        }
        Err(reason) => reason,
    };
    match inlined(pieces, axis, &mut whole, options.inline) {
        Ok(bytes) => Ok((whole, Treatment::Inlined { bytes, reason })),
        Err(other) => Err(format!("{reason}, and {other}")),
    }
}

/// Puts the ranges of the files one after another.
fn ranges(pieces: &[Piece<'_>], axis: usize, whole: &mut VirtualArray, small: u64) -> Result<(), String> {
    let side = side(pieces, axis, whole, small)?;
    if let Some(old) = whole.chunk_shape.get_mut(axis) {
        *old = side;
    }
    let grid: Vec<u64> =
        whole.shape.iter().zip(&whole.chunk_shape).map(|(n, side)| n.div_ceil((*side).max(1))).collect();
    grid.iter().copied().try_fold(1u64, u64::checked_mul).ok_or("it has too many chunks")?;
    let mut chunks = Chunks::new(grid);
    let (mut start, mut index) = (0u64, Vec::new());
    for (file, (_, array)) in pieces.iter().enumerate() {
        let at = |of: &[u64]| of.get(axis).copied().unwrap_or(1);
        let (old, rows) = (at(&array.chunk_shape), at(&array.shape));
        let parts = old / side;
        for (number, place) in array.chunks.iter() {
            let Place::Range { offset, length, .. } = place else {
                return Err("some of it is inlined".into());
            };
            index.clear();
            array.chunks.index(number, &mut index);
            let own = at(&index).checked_mul(parts).ok_or("it is too long")?;
            // Of a chunk that is divided, the parts beyond the last row are left out.
            for part in 0..parts {
                let place = own.checked_add(part).ok_or("it is too long")?;
                if place.checked_mul(side).is_none_or(|row| row >= rows) {
                    break;
                }
                if let Some(here) = index.get_mut(axis) {
                    *here = start.checked_add(place).ok_or("it is too long")?;
                }
                let number = chunks.number(&index).ok_or("a chunk is outside of the shape")?;
                let each = length / parts;
                let offset = each
                    .checked_mul(part)
                    .and_then(|more| offset.checked_add(more))
                    .ok_or("it is too long")?;
                chunks.push_of(file as u64, number, offset, each);
            }
        }
        start = start.checked_add(rows.div_ceil(side)).ok_or("it is too long")?;
    }
    if !chunks.sort() {
        return Err("two chunks are at one place".into());
    }
    whole.chunks = chunks;
    Ok(())
}

/// Returns the length of the chunks along the dimension with which all files can be referenced.
fn side(pieces: &[Piece<'_>], axis: usize, whole: &VirtualArray, small: u64) -> Result<u64, String> {
    let at = |of: &[u64]| of.get(axis).copied().unwrap_or(1);
    let mut common = 0;
    let mut equal = true;
    for (place, (part, array)) in pieces.iter().enumerate() {
        for other in (0..array.chunk_shape.len()).filter(|other| *other != axis) {
            if array.chunk_shape.get(other) != whole.chunk_shape.get(other) {
                return Err(format!("its chunks differ in {}", part.name));
            }
        }
        if array.chunks.iter().any(|(_, place)| matches!(place, Place::Bytes(_))) {
            return Err(format!("its elements are inlined in {}", part.name));
        }
        let (side, rows, last) = (at(&array.chunk_shape), at(&array.shape), place + 1 == pieces.len());
        equal &= side == at(&whole.chunk_shape) && (last || rows.is_multiple_of(side));
        common = divisor(common, side);
        if !last {
            common = divisor(common, rows);
        }
    }
    if equal {
        return Ok(at(&whole.chunk_shape));
    }
    // Small arrays are inlined instead of becoming many chunks.
    let bytes: u64 = pieces
        .iter()
        .flat_map(|(_, array)| array.chunks.iter())
        .map(|(_, place)| match place {
            Place::Range { length, .. } => length,
            Place::Bytes(bytes) => bytes.len() as u64,
        })
        .fold(0, u64::saturating_add); // a bound
    // Rows of a chunk without filters are one after another, if the chunk has no dimension before them.
    let before = whole.chunk_shape.iter().take(axis).all(|side| *side == 1);
    if whole.filters.is_empty() && before && common > 0 && bytes > small {
        return Ok(common);
    }
    Err("its chunks do not fill the files".into())
}

/// The greatest common divisor; 0 has every divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// Puts the decoded elements of the files one after another.
fn inlined(pieces: &[Piece<'_>], axis: usize, whole: &mut VirtualArray, most: u64) -> Result<u64, String> {
    let said = |error: Error| error.to_string();
    let mut parts = Vec::new();
    let mut left = most;
    for (part, array) in pieces {
        let path = if array.path == "/data" && part.file.resolve("/data").is_err() {
            "/"
        } else {
            array.path.as_str()
        };
        let id = part.file.resolve(path).map_err(said)?;
        let Object::Array(info) = part.file.source().object(id).map_err(said)? else {
            return Err(format!("it is not an array in {}", part.name));
        };
        let (own, bytes) = inline::array(part.file, id, &info, left)?;
        left = left.saturating_sub(bytes); // a bound
        let data = own.chunks.iter().find_map(|(_, place)| match place {
            Place::Bytes(bytes) => Some(bytes.to_vec()),
            Place::Range { .. } => None,
        });
        parts.push((own, data.unwrap_or_default()));
    }
    let Some((own, _)) = parts.first() else { return Err("there are no files".into()) };
    let (dtype, filters, fill) = (own.dtype.clone(), own.filters.clone(), own.fill.clone());
    if parts.iter().any(|(own, _)| own.dtype != dtype || own.filters != filters) {
        return Err("its decoded type differs between the files".into());
    }
    let mut out = Vec::new();
    if !filters.is_empty() {
        return Err("texts of variable length are not joined".into());
    }
    let outer = whole
        .shape
        .iter()
        .take(axis)
        .try_fold(1u64, |all, n| all.checked_mul(*n))
        .ok_or("it is too large")?;
    for row in 0..outer {
        for (_, data) in &parts {
            let each = data.len() as u64 / outer;
            let start = row
                .checked_mul(each)
                .and_then(|start| usize::try_from(start).ok())
                .ok_or("it is too large")?;
            let run = usize::try_from(each)
                .ok()
                .and_then(|each| data.get(start..)?.get(..each))
                .ok_or("it is too short")?;
            out.extend_from_slice(run);
        }
    }
    let bytes = out.len() as u64;
    whole.dtype = dtype;
    whole.filters = filters;
    // A fill value that marks missing values is kept.
    whole.fill = if whole.fill.is_null() { fill } else { whole.fill.clone() };
    whole.chunk_shape = whole.shape.iter().map(|side| (*side).max(1)).collect();
    whole.chunks = if whole.shape.contains(&0) {
        Chunks::new(whole.shape.iter().map(|side| (*side).min(1)).collect())
    } else {
        Chunks::inlined(whole.shape.len(), out)
    };
    Ok(bytes)
}
