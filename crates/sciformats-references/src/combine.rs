//! References to many files as if they were one: arrays that have the named dimension are joined along it, and all others must be the
//! same in every file.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use sciformats::{ElementType, Error, File, Object, Result, Slab};
use sciformats_conventions::time::{Calendar, TimeUnits};
use serde_json::{Map, Value};

use crate::attributes;
use crate::chunks::{Chunks, Place};
use crate::inline;
use crate::model::{Entry, Options, Report, Sink, Treatment, VirtualArray};
use crate::scan::{named_dimensions, scan};

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

/// References that exist already, to which later files are added.
#[derive(Debug, Default)]
pub struct Existing {
    /// The URLs of the files that the ranges are in.
    pub urls: Vec<String>,
    pub(crate) found: Collected,
}

/// Opens one of the files that existing references lead to, by its URL.
pub type Open<'a> = &'a dyn Fn(&str) -> Result<File>;

/// Passes the groups and the joined arrays of the files to `sink`. Files are joined in their order, and their numbers in
/// [`Place::Range`] are their positions.
///
/// An array is joined if its types, filters, chunks, units and calendars agree and the chunks of the files fit together. If
/// they do not, chunks without filters are divided, or the elements become part of the references if they take no more
/// than [`Options::inline`]; otherwise the array is refused. Numbers of a coordinate that count time from another date, or in other
/// steps of the same calendar, are converted to the units of the first file. The URL of `options` is not used.
///
/// # Errors
/// `Usage` if there are no files, if no array has the dimension, or if the coordinate of that name does not go on from one
/// file to the next; and the first error of `sink`.
pub fn combine(parts: &[Part<'_>], along: &str, options: &Options, sink: &mut dyn Sink) -> Result<Report> {
    all(scanned(parts, options)?, along, options, sink)
}

/// As [`combine`], for files that come after those of existing references, which are not opened again; only to compare an array
/// without the dimension, and to find where the coordinate ends, one of them may be. The numbers of the new files in
/// [`Place::Range`] follow those of the existing URLs.
///
/// # Errors
/// Those of [`combine`], and those of `open`.
pub fn extend(
    existing: &Existing,
    open: Open<'_>,
    parts: &[Part<'_>],
    (along, options): (&str, &Options),
    sink: &mut dyn Sink,
) -> Result<Report> {
    let before =
        Piece { name: "the existing references", origin: Origin::Existing(existing, open), first: 0 };
    let mut files = vec![Scanned { piece: before, found: existing.found.clone(), told: Report::default() }];
    let count = existing.urls.len() as u64;
    for mut file in scanned(parts, options)? {
        file.piece.first =
            file.piece.first.checked_add(count).ok_or_else(|| Error::usage("files", "are too many"))?;
        files.push(file);
    }
    all(files, along, options, sink)
}

fn scanned<'a>(parts: &'a [Part<'a>], options: &Options) -> Result<Vec<Scanned<'a>>> {
    let mut files = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let mut found = Collected::default();
        let told = scan(part.file, options, &mut found)?;
        let piece = Piece { name: part.name, origin: Origin::File(part.file), first: number as u64 };
        files.push(Scanned { piece, found, told });
    }
    Ok(files)
}

#[allow(clippy::needless_pass_by_value, reason = "the caller has no further use for it")]
fn all(files: Vec<Scanned<'_>>, along: &str, options: &Options, sink: &mut dyn Sink) -> Result<Report> {
    let joined = files.iter().any(|file| file.found.arrays.iter().any(|array| axis(array, along).is_some()));
    if !joined {
        return Err(Error::usage("dimension", format!("`{along}` is a dimension of no array")));
    }
    in_order(&files, along)?;
    let mut report = Report::default();
    for group in groups(&files) {
        sink.group(&group.0, &group.1)?;
    }
    let paths: BTreeSet<&str> =
        files.iter().flat_map(|file| file.found.arrays.iter().map(|array| array.path.as_str())).collect();
    for path in paths {
        let treatment = match join(&files, path, along, options) {
            Ok((array, treatment)) => {
                sink.array(&array)?;
                treatment
            }
            Err(reason) => Treatment::Refused { reason },
        };
        report.entries.push(Entry { path: path.into(), treatment });
    }
    left_out(&files, &mut report);
    Ok(report)
}

/// Adds what the files do not have as arrays.
fn left_out(files: &[Scanned<'_>], report: &mut Report) {
    for Scanned { piece, told, .. } in files {
        for entry in &told.entries {
            let known = report.entries.iter().any(|other| other.path == entry.path);
            if let (Treatment::Refused { reason }, false) = (&entry.treatment, known) {
                let reason = format!("{}: {reason}", piece.name);
                report
                    .entries
                    .push(Entry { path: entry.path.clone(), treatment: Treatment::Refused { reason } });
            }
        }
        for left in &told.attributes {
            if !report.attributes.contains(left) {
                report.attributes.push(left.clone());
            }
        }
    }
}

/// How an array of several files becomes one virtual dataset of HDF5.
#[derive(Clone, Debug, PartialEq)]
pub struct Virtual {
    /// The path of the array.
    pub path: String,
    /// The position of the dimension among its dimensions, and the length along it in each file; `None` for an array without
    /// the dimension, which is the same in all files.
    pub along: Option<(usize, Vec<u64>)>,
    /// The numbers of all files, if they had to be converted to the units of the first one.
    pub values: Option<Vec<f64>>,
}

/// Tells how the arrays of files become virtual datasets, whose chunks and filters may differ from file to file.
///
/// # Errors
/// As [`combine`].
pub fn virtual_arrays(parts: &[Part<'_>], along: &str) -> Result<(Vec<Virtual>, Report)> {
    let (mut files, mut shapes) = (Vec::new(), Vec::new());
    for part in parts {
        let piece = Piece { name: part.name, origin: Origin::File(part.file), first: 0 };
        let all = piece.shapes()?;
        let described = |(path, shape): (&String, &Shape)| VirtualArray {
            path: path.clone(),
            shape: shape.shape.clone(),
            chunk_shape: shape.shape.clone(),
            dtype: Value::Null,
            fill: Value::Null,
            columns: false,
            filters: Vec::new(),
            attributes: shape.attributes.clone(),
            dimensions: shape.dimensions.clone(),
            chunks: Chunks::new(vec![0; shape.shape.len()]),
        };
        let found = Collected { groups: Vec::new(), arrays: all.iter().map(described).collect() };
        files.push(Scanned { piece, found, told: Report::default() });
        shapes.push(all);
    }
    if !files.iter().any(|file| file.found.arrays.iter().any(|array| axis(array, along).is_some())) {
        return Err(Error::usage("dimension", format!("`{along}` is a dimension of no array")));
    }
    in_order(&files, along)?;
    let (mut found, mut report) = (Vec::new(), Report::default());
    let Some((first, others)) = shapes.split_first() else {
        return Err(Error::usage("files", "are missing"));
    };
    for path in first.keys() {
        let treatment = match as_virtual((&files, &shapes), path, along) {
            Ok(array) => {
                found.push(array);
                Treatment::Referenced { chunks: files.len() as u64 }
            }
            Err(reason) => Treatment::Refused { reason },
        };
        report.entries.push(Entry { path: path.clone(), treatment });
    }
    // What only later files have is told too.
    let mut told: BTreeSet<&String> = first.keys().collect();
    for (shapes, file) in others.iter().zip(files.iter().skip(1)) {
        for path in shapes.keys().filter(|path| told.insert(path)) {
            let reason = format!("there is no such array in the files before {}", file.piece.name);
            report.entries.push(Entry { path: path.clone(), treatment: Treatment::Refused { reason } });
        }
    }
    Ok((found, report))
}

fn as_virtual(
    (files, all): (&[Scanned<'_>], &[BTreeMap<String, Shape>]),
    path: &str,
    along: &str,
) -> Result<Virtual, String> {
    let mut shapes = Vec::new();
    for (file, known) in files.iter().zip(all) {
        let missing = || format!("{}: there is no such array", file.piece.name);
        shapes.push((file, known.get(path).ok_or_else(missing)?));
    }
    let Some(((start, first), others)) = shapes.split_first() else {
        return Err("there are no files".into());
    };
    let mut units = false;
    for (file, array) in others {
        let differs = |what: &str| format!("{what} differs in {}", file.piece.name);
        if array.dimensions != first.dimensions {
            return Err(differs("the dimensions"));
        }
        if array.element != first.element {
            return Err(differs("the type"));
        }
        for name in ["calendar", "scale_factor", "add_offset", "_FillValue", "missing_value"] {
            if array.attributes.get(name) != first.attributes.get(name) {
                return Err(differs(&format!("the attribute {name}")));
            }
        }
        units |= array.attributes.get("units") != first.attributes.get("units");
    }
    let Some(axis) = first.dimensions.iter().position(|name| name == along) else {
        if units {
            return Err("the unit differs".into());
        }
        let elements = start.piece.elements(path)?;
        for (file, array) in others {
            if array.shape != first.shape {
                return Err(format!("its shape differs in {}", file.piece.name));
            }
            if file.piece.elements(path)? != elements {
                return Err(format!("its elements differ in {}", file.piece.name));
            }
        }
        return Ok(Virtual { path: path.into(), along: None, values: None });
    };
    let mut lengths = Vec::new();
    for (file, array) in &shapes {
        let others = |shape: &[u64]| -> Vec<u64> {
            shape.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, side)| *side).collect()
        };
        if others(&array.shape) != others(&first.shape) {
            return Err(format!("its shape differs in {}", file.piece.name));
        }
        lengths.push(array.shape.get(axis).copied().unwrap_or(0));
    }
    let mut values = None;
    if units {
        let mut all = Vec::new();
        for (file, array) in &shapes {
            let convert = conversion(&first.attributes, &array.attributes)
                .ok_or_else(|| format!("the unit differs in {}", file.piece.name))?;
            let numbers = file.piece.numbers(path).map_err(|error| error.to_string())?;
            all.extend(numbers.into_iter().map(convert));
        }
        if first.shape.len() != 1 {
            return Err("the unit differs".into());
        }
        values = Some(all);
    }
    Ok(Virtual { path: path.into(), along: Some((axis, lengths)), values })
}

/// Returns how numbers of `from` become numbers in the units of `to`, if both count time in one calendar.
fn conversion(to: &Map<String, Value>, from: &Map<String, Value>) -> Option<impl Fn(f64) -> f64 + use<>> {
    let text = |of: &Map<String, Value>, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
    let calendar = |of| Calendar::parse(text(of, "calendar").as_deref().unwrap_or("standard"));
    let units = |of| TimeUnits::parse(&text(of, "units")?, calendar(of)?);
    let (new, old) = (units(to)?, units(from)?);
    (new.calendar() == old.calendar()).then_some({
        move |value: f64| {
            if new == old { value } else { old.moment(value).map_or(f64::NAN, |moment| new.value(&moment)) }
        }
    })
}

/// A file, or the references that exist already.
#[derive(Clone, Copy)]
struct Piece<'a> {
    name: &'a str,
    origin: Origin<'a>,
    /// The number of its first file.
    first: u64,
}

#[derive(Clone, Copy)]
enum Origin<'a> {
    File(&'a File),
    Existing(&'a Existing, Open<'a>),
}

/// What virtual datasets must agree in.
struct Shape {
    shape: Vec<u64>,
    element: ElementType,
    dimensions: Vec<String>,
    attributes: Map<String, Value>,
}

impl Piece<'_> {
    /// Returns the arrays of a file.
    fn shapes(&self) -> Result<BTreeMap<String, Shape>> {
        let Origin::File(file) = self.origin else { return Ok(BTreeMap::new()) };
        let mut found = BTreeMap::new();
        for array in file.arrays() {
            let array = array?;
            let (path, info) = (array.path().to_owned(), array.info());
            let Some(shape) = info.shape.clone() else { continue };
            let id = file.resolve(&path)?;
            let attributes = attributes::of(file, id, &path, &mut Report::default());
            let dimensions = named_dimensions(file, id);
            found.insert(path, Shape { shape, element: info.element.clone(), dimensions, attributes });
        }
        Ok(found)
    }

    /// Returns the number of a file among all.
    fn file(&self, own: u64) -> Result<u64, String> {
        self.first.checked_add(own).ok_or_else(|| "there are too many files".to_owned())
    }

    /// Reads the numbers of an array; of existing references, those of their last file.
    fn numbers(&self, path: &str) -> Result<Vec<f64>> {
        match self.origin {
            Origin::File(file) => file.array(path)?.read(),
            Origin::Existing(existing, open) => match existing.urls.last() {
                Some(url) => open(url)?.array(path)?.read(),
                None => Ok(Vec::new()),
            },
        }
    }

    /// Reads all elements in canonical form; of existing references, those of their first file.
    fn elements(&self, path: &str) -> Result<Vec<u8>, String> {
        match self.origin {
            Origin::File(file) => elements(file, path),
            Origin::Existing(existing, open) => {
                let known = existing.found.arrays.iter().find(|array| array.path == path);
                let inlined = known
                    .filter(|array| array.filters.is_empty() && array.chunks.len() == 1)
                    .and_then(|array| {
                        array.chunks.iter().find_map(|(_, place)| match place {
                            Place::Bytes(bytes) => Some(bytes.to_vec()),
                            Place::Range { .. } => None,
                        })
                    });
                match (inlined, existing.urls.first()) {
                    (Some(bytes), _) => Ok(bytes),
                    (None, Some(url)) => elements(&open(url).map_err(|error| error.to_string())?, path),
                    (None, None) => Err("the existing references have no file".into()),
                }
            }
        }
    }

    /// Reads an array into one chunk.
    fn inlined(&self, array: &VirtualArray, most: u64) -> Result<(VirtualArray, u64), String> {
        let said = |error: Error| error.to_string();
        let file = match self.origin {
            Origin::File(file) => file,
            Origin::Existing(..) => {
                let inlined = array.chunks.iter().all(|(_, place)| matches!(place, Place::Bytes(_)));
                if !inlined {
                    return Err("its chunks do not fit to those of the existing references, which would have to be read again".into());
                }
                let size = array.chunks.iter().fold(0u64, |size, (_, place)| match place {
                    Place::Bytes(bytes) => size.saturating_add(bytes.len() as u64), // a bound
                    Place::Range { .. } => size,
                });
                return Ok((array.clone(), size));
            }
        };
        let path =
            if array.path == "/data" && file.resolve("/data").is_err() { "/" } else { array.path.as_str() };
        let id = file.resolve(path).map_err(said)?;
        let Object::Array(info) = file.source().object(id).map_err(said)? else {
            return Err(format!("it is not an array in {}", self.name));
        };
        inline::array(file, id, &info, most)
    }
}

struct Scanned<'a> {
    piece: Piece<'a>,
    found: Collected,
    told: Report,
}

/// Groups and arrays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collected {
    pub(crate) groups: Vec<(String, Map<String, Value>)>,
    pub(crate) arrays: Vec<VirtualArray>,
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
    for (path, attributes) in all.iter().flat_map(|file| &file.found.groups) {
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
    let mut first_attributes: Option<&Map<String, Value>> = None;
    for Scanned { piece, found, .. } in all {
        let coordinate = found.arrays.iter().find(|array| {
            array.path.rsplit('/').next() == Some(along)
                && array.dimensions.len() == 1
                && axis(array, along).is_some()
        });
        let Some(coordinate) = coordinate else { return Ok(()) };
        let Ok(mut values) = piece.numbers(&coordinate.path) else { return Ok(()) };
        // Numbers are compared in the units of the first file.
        let to = *first_attributes.get_or_insert(&coordinate.attributes);
        if to.get("units") != coordinate.attributes.get("units")
            && let Some(convert) = conversion(to, &coordinate.attributes)
        {
            values.iter_mut().for_each(|value| *value = convert(*value));
        }
        let (Some(first), Some(last)) = (values.first(), values.last()) else { continue };
        let within = last.partial_cmp(first).filter(|way| *way != Ordering::Equal);
        let between = before.map(|(_, end)| first.partial_cmp(&end));
        let mut agrees = |way: Option<Ordering>| *direction.get_or_insert(way) == way;
        let goes_on = within.is_none_or(|way| agrees(Some(way)))
            && between.is_none_or(|way| way != Some(Ordering::Equal) && agrees(way));
        if let (Some((name, end)), false) = (before, goes_on) {
            let problem = format!(
                "are not in order: `{along}` ends at {end} in {name} and begins at {first} in {}",
                piece.name
            );
            return Err(Error::usage("files", problem));
        }
        before = Some((piece.name, *last));
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
    for Scanned { piece, found, told } in all {
        let Some(array) = found.arrays.iter().find(|array| array.path == path) else {
            let refused =
                told.entries.iter().find(|entry| entry.path == path).map(|entry| entry.treatment.to_string());
            return Err(format!(
                "{}: {}",
                piece.name,
                refused.unwrap_or_else(|| "there is no such array".into())
            ));
        };
        pieces.push((*piece, array));
    }
    let Some(((_, first), others)) = pieces.split_first() else { return Err("there are no files".into()) };
    let mut converted = false;
    for (piece, array) in others {
        let differs = |what: &str| format!("{what} differs in {}", piece.name);
        agree(first, array).map_err(differs)?;
        if first.attributes.get("units") != array.attributes.get("units") {
            let time =
                first.dimensions.len() == 1 && conversion(&first.attributes, &array.attributes).is_some();
            converted |= time;
            if !time {
                return Err(differs("the unit"));
            }
        }
    }
    match axis(first, along) {
        Some(axis) if converted => {
            let mut whole = (*first).clone();
            let bytes = converted_numbers(&pieces, axis, &mut whole, options.inline)?;
            let reason = "its files count time in different units".to_owned();
            Ok((whole, Treatment::Inlined { bytes, reason }))
        }
        Some(axis) => joined(&pieces, axis, options),
        None => {
            for (piece, array) in others {
                same(&pieces, first, (*piece, *array))?;
            }
            let array = (*first).clone();
            let told = all.first().and_then(|file| file.told.entries.iter().find(|entry| entry.path == path));
            let chunks = array.chunks.len();
            let treatment = told.map_or(Treatment::Referenced { chunks }, |entry| entry.treatment.clone());
            Ok((array, treatment))
        }
    }
}

/// Puts the numbers of the files one after another, in the units of the first.
fn converted_numbers(
    pieces: &[Pair<'_>],
    axis: usize,
    whole: &mut VirtualArray,
    most: u64,
) -> Result<u64, String> {
    let Some((_, first)) = pieces.first() else { return Err("there are no files".into()) };
    let mut all = Vec::new();
    for (piece, array) in pieces {
        if let Origin::Existing(..) = piece.origin {
            // They were converted when they were joined.
            let Some((_, Place::Bytes(bytes))) = array.chunks.iter().next() else {
                return Err(
                    "the existing references do not contain its elements, which count time in other units"
                        .into(),
                );
            };
            all.push((bytes.to_vec(), true));
            continue;
        }
        let convert = conversion(&first.attributes, &array.attributes).ok_or("its units are unknown")?;
        let numbers = piece.numbers(&array.path).map_err(|error| error.to_string())?;
        all.push((numbers.into_iter().flat_map(|number| convert(number).to_le_bytes()).collect(), false));
    }
    let dtype = whole.dtype.as_str().unwrap_or_default().trim_start_matches(['<', '>', '|']).to_owned();
    let mut out = Vec::new();
    for (bytes, stored) in all {
        if stored {
            if whole.dtype.as_str().is_some_and(|dtype| dtype.starts_with('>')) {
                return Err("the existing references have its elements in another byte order".into());
            }
            out.extend(bytes);
            continue;
        }
        for number in
            bytes.chunks_exact(8).filter_map(|number| number.first_chunk().copied()).map(f64::from_le_bytes)
        {
            encode(&dtype, number, &mut out)?;
        }
    }
    let size = out.len() as u64;
    if size > most {
        return Err(format!("its elements take more than the {most} bytes that may be inlined"));
    }
    let length = pieces.iter().try_fold(0u64, |all, (_, array)| all.checked_add(*array.shape.get(axis)?));
    whole.shape = vec![length.ok_or("it is too long")?];
    whole.chunk_shape = whole.shape.iter().map(|side| (*side).max(1)).collect();
    whole.dtype = Value::String(if dtype.ends_with('1') { format!("|{dtype}") } else { format!("<{dtype}") });
    whole.filters = Vec::new();
    whole.chunks = if size == 0 { Chunks::new(vec![0]) } else { Chunks::inlined(1, out) };
    Ok(size)
}

/// Appends a number in a type of NumPy, if the type has it.
fn encode(dtype: &str, number: f64, out: &mut Vec<u8>) -> Result<(), String> {
    let misfit = || format!("its type cannot hold {number} in the units of the first file");
    if dtype == "f8" {
        out.extend(number.to_le_bytes());
        return Ok(());
    }
    if dtype == "f4" {
        // The cast rounds to the nearest.
        let narrow = number as f32;
        if (f64::from(narrow) - number).abs() > number.abs() * 1e-6 {
            return Err(misfit());
        }
        out.extend(narrow.to_le_bytes());
        return Ok(());
    }
    if number.fract() != 0.0 || number.abs() > 9e15 {
        return Err(misfit());
    }
    // A cast of a whole number in this range is exact.
    let whole = number as i64;
    match dtype {
        "i8" => out.extend(whole.to_le_bytes()),
        "i4" => out.extend(i32::try_from(whole).map_err(|_| misfit())?.to_le_bytes()),
        "i2" => out.extend(i16::try_from(whole).map_err(|_| misfit())?.to_le_bytes()),
        "u8" => out.extend(u64::try_from(whole).map_err(|_| misfit())?.to_le_bytes()),
        "u4" => out.extend(u32::try_from(whole).map_err(|_| misfit())?.to_le_bytes()),
        _ => return Err("its type is not one that units are converted in".into()),
    }
    Ok(())
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
        (attribute("calendar"), "the calendar"),
        (attribute("scale_factor") && attribute("add_offset"), "the packing"),
        (attribute("_FillValue") && attribute("missing_value"), "the mark of missing values"),
    ];
    checks.iter().find(|(same, _)| !same).map_or(Ok(()), |(_, what)| Err(*what))
}

/// Checks that an array without the dimension is the same in another file.
fn same(pieces: &[Pair<'_>], first: &VirtualArray, (piece, array): Pair<'_>) -> Result<(), String> {
    let Some((start, _)) = pieces.first() else { return Ok(()) };
    if first.shape != array.shape {
        return Err(format!("its shape differs in {}", piece.name));
    }
    let (a, b) = (start.elements(&first.path)?, piece.elements(&array.path)?);
    if a == b { Ok(()) } else { Err(format!("its elements differ in {}", piece.name)) }
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

type Pair<'a> = (Piece<'a>, &'a VirtualArray);

/// Joins arrays along a dimension.
fn joined(pieces: &[Pair<'_>], axis: usize, options: &Options) -> Result<(VirtualArray, Treatment), String> {
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
fn ranges(pieces: &[Pair<'_>], axis: usize, whole: &mut VirtualArray, small: u64) -> Result<(), String> {
    let side = side(pieces, axis, whole, small)?;
    if let Some(old) = whole.chunk_shape.get_mut(axis) {
        *old = side;
    }
    let grid: Vec<u64> =
        whole.shape.iter().zip(&whole.chunk_shape).map(|(n, side)| n.div_ceil((*side).max(1))).collect();
    grid.iter().copied().try_fold(1u64, u64::checked_mul).ok_or("it has too many chunks")?;
    let mut chunks = Chunks::new(grid);
    let (mut start, mut index) = (0u64, Vec::new());
    for (piece, array) in pieces {
        let at = |of: &[u64]| of.get(axis).copied().unwrap_or(1);
        let (old, rows) = (at(&array.chunk_shape), at(&array.shape));
        let parts = old / side;
        for (number, place) in array.chunks.iter() {
            let Place::Range { file, offset, length } = place else {
                return Err("some of it is inlined".into());
            };
            let file = piece.file(file)?;
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
                chunks.push_of(file, number, offset, each);
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
fn side(pieces: &[Pair<'_>], axis: usize, whole: &VirtualArray, small: u64) -> Result<u64, String> {
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
fn inlined(pieces: &[Pair<'_>], axis: usize, whole: &mut VirtualArray, most: u64) -> Result<u64, String> {
    let mut parts = Vec::new();
    let mut left = most;
    for (part, array) in pieces {
        let (own, bytes) = part.inlined(array, left)?;
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
