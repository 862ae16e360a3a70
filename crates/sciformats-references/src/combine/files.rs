//! The files that are joined, which are opened and scanned several at the same time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sciformats::{ElementType, Error, File, Object, Result, Slab};
use serde_json::{Map, Value};

use super::agree::DECIDE;
use super::{Along, Existing, Open, Part, axis, is_coordinate, scale, steps};
use crate::chunks::Place;
use crate::element;
use crate::inline;
use crate::model::{Options, Report, Sink, VirtualArray};
use crate::scan::{named_dimensions, nested_path, parts};

/// The largest array without the dimension that is compared element by element, in bytes.
const COMPARED: u64 = 256 << 20;

/// How many bytes of arrays without the dimension are kept of the first file, to be compared with the others while these are open.
const KEPT: u64 = 64 << 20;

/// Files that are opened when they are needed, and closed again.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    /// What each file is called in the report.
    pub names: &'a [String],
    /// Opens a file by its position among the names.
    pub open: &'a (dyn Fn(usize) -> Result<File> + Sync),
    /// How many files are open at the same time; at least 1.
    pub at_once: usize,
}

impl fmt::Debug for Files<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files")
            .field("names", &self.names)
            .field("at_once", &self.at_once)
            .finish_non_exhaustive()
    }
}

/// Files that are open, or can be opened.
pub(super) enum Shelf<'a> {
    Parts(&'a [Part<'a>]),
    Files(&'a Files<'a>),
}

impl<'a> Shelf<'a> {
    fn len(&self) -> usize {
        match self {
            Self::Parts(parts) => parts.len(),
            Self::Files(files) => files.names.len(),
        }
    }

    fn name(&self, number: usize) -> &'a str {
        match self {
            Self::Parts(parts) => parts.get(number).map_or("", |part| part.name),
            Self::Files(files) => files.names.get(number).map_or("", String::as_str),
        }
    }

    fn with<T>(&self, number: usize, work: impl FnOnce(&File) -> Result<T>) -> Result<T> {
        match self {
            Self::Parts(parts) => match parts.get(number) {
                Some(part) => work(part.file),
                None => Err(Error::internal("there is no file of that number")),
            },
            Self::Files(files) => work(&(files.open)(number)?),
        }
    }

    fn at_once(&self) -> usize {
        match self {
            Self::Parts(_) => std::thread::available_parallelism().map_or(1, usize::from),
            Self::Files(files) => files.at_once.max(1),
        }
    }
}

/// A file, or the references that exist already.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) name: &'a str,
    pub(super) origin: Origin<'a>,
    /// The number of its first file.
    pub(super) first: u64,
}

#[derive(Clone, Copy)]
pub(super) enum Origin<'a> {
    File(&'a Shelf<'a>, usize),
    Existing(&'a Existing, Open<'a>),
}

/// What is known of a file when it is closed.
pub(super) struct Scanned<'a> {
    pub(super) piece: Piece<'a>,
    pub(super) found: Collected,
    pub(super) told: Report,
    /// What bounds count, by their paths.
    bounds: BTreeMap<String, Map<String, Value>>,
    /// The coordinates of the dimension, with their elements.
    read: BTreeMap<String, VirtualArray>,
    /// Whether arrays without the dimension are those of the first file.
    same: BTreeMap<String, Result<(), String>>,
    /// Arrays that have fewer elements than the dimension, with the number of both.
    pub(super) short: BTreeMap<String, (u64, u64)>,
    /// The types of enumerations, whose numbers mean nothing without their names.
    named: BTreeMap<String, ElementType>,
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

/// Scans files, several at the same time. Arrays without the dimension are compared with those of `known`; without any, with those of
/// the first file.
///
/// # Errors
/// The first error of opening a file; and `Usage` if the names of the files say something that does not fit to their arrays.
pub(super) fn scanned<'a>(
    shelf: &'a Shelf<'a>,
    along: Along<'_>,
    options: &Options,
    known: &BTreeMap<String, Vec<u8>>,
) -> Result<Vec<Scanned<'a>>> {
    let mut own = BTreeMap::new();
    let mut all = Vec::new();
    if known.is_empty() && shelf.len() > 0 {
        let first = shelf.with(0, |file| {
            let scanned = one(shelf, (0, file), along, options, known)?;
            own = constants(&scanned.found, along.name, |path| elements(file, path));
            Ok(scanned)
        })?;
        all.push(first);
    }
    let known = if known.is_empty() { &own } else { known };
    let (next, failed) = (AtomicUsize::new(all.len()), AtomicBool::new(false));
    let work = || {
        let mut done = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= shelf.len() {
                break;
            }
            let scanned = shelf.with(number, |file| one(shelf, (number, file), along, options, known));
            failed.fetch_or(scanned.is_err(), Ordering::Relaxed);
            done.push((number, scanned));
        }
        done
    };
    let left = shelf.len().saturating_sub(all.len()); // a bound
    let mut others = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..shelf.at_once().min(left)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    })
    .into_iter()
    .flat_map(|done| {
        done.unwrap_or_else(|_| vec![(0, Err(Error::internal("a thread that scans files ended")))])
    })
    .collect::<Vec<_>>();
    others.sort_by_key(|(number, _)| *number);
    for (_, scanned) in others {
        all.push(scanned?);
    }
    Ok(all)
}

fn one<'a>(
    shelf: &'a Shelf<'a>,
    (number, file): (usize, &File),
    along: Along<'_>,
    options: &Options,
    known: &BTreeMap<String, Vec<u8>>,
) -> Result<Scanned<'a>> {
    let mut found = Collected::default();
    let told = parts(file, options, &mut found)?;
    let name = shelf.name(number);
    if let Some(steps) = along.steps {
        steps::set(&mut found, steps, (number, name), along.name)?;
    }
    let (mut read, mut same) = (BTreeMap::new(), BTreeMap::new());
    for array in &found.arrays {
        if is_coordinate(array, along.name) {
            let own = match array.chunks.iter().next() {
                Some((_, Place::Bytes(_))) if array.filters.is_empty() => Ok(array.clone()),
                _ => inlined(file, &array.path, options.inline).map(|(own, _)| own),
            };
            if let Ok(own) = own {
                read.insert(array.path.clone(), own);
            }
        } else if let (Some(wanted), None) = (known.get(&array.path), axis(array, along.name)) {
            let equal = elements(file, &array.path).and_then(|found| compared(wanted, &found, array, name));
            same.insert(array.path.clone(), equal);
        }
    }
    if number > 0 && !along.runs {
        found
            .arrays
            .iter_mut()
            // No others are compared with those of the first file.
            .for_each(|array| array.attributes.retain(|name, _| DECIDE.contains(&name.as_str())));
    }
    let bounds = bounds(&found);
    Ok(Scanned {
        piece: Piece { name, origin: Origin::File(shelf, number), first: number as u64 },
        found,
        told,
        bounds,
        read,
        same,
        short: short(file, along.name),
        named: named(file),
    })
}

/// Returns the types of enumerations.
fn named(file: &File) -> BTreeMap<String, ElementType> {
    let enumerations = file.arrays().filter_map(Result::ok).filter_map(|array| {
        let element = array.info().element.clone();
        matches!(element, ElementType::Enum { .. }).then(|| (array.path().to_owned(), element))
    });
    enumerations.collect()
}

/// Returns the arrays that have fewer elements than the dimension, with the number of both: variables of netCDF-4 may be shorter than
/// an unlimited dimension.
pub(super) fn short(file: &File, along: &str) -> BTreeMap<String, (u64, u64)> {
    let longest = scale::lengths(file);
    let mut all = BTreeMap::new();
    for array in file.arrays().filter_map(Result::ok) {
        let own = array.info().shape.clone().unwrap_or_default();
        let scales = scale::of(file, array.id());
        let length =
            |at: usize| scales.get(at).copied().flatten().and_then(|scale| longest.get(&scale)).copied();
        let lengths = own.iter().enumerate().map(|(at, own)| (at, *own, length(at).unwrap_or(*own)));
        let fewer: Vec<(usize, u64, u64)> = lengths.filter(|(_, own, length)| own < length).collect();
        if fewer.is_empty() {
            continue;
        }
        let names = named_dimensions(file, array.id());
        let named = |at: &usize| names.get(*at).is_some_and(|name| name == along);
        if let Some((_, own, length)) = fewer.iter().find(|(at, ..)| named(at)) {
            all.insert(array.path().to_owned(), (*own, *length));
        }
    }
    all
}

/// Returns the units and the calendars of the coordinates of bounds (CF conventions, sections 7.1 and 7.4), by the paths of the bounds.
fn bounds(found: &Collected) -> BTreeMap<String, Map<String, Value>> {
    let mut all = BTreeMap::new();
    for coordinate in &found.arrays {
        for name in ["bounds", "climatology"] {
            let Some(name) = coordinate.attributes.get(name).and_then(Value::as_str) else { continue };
            let Some(path) = nearest(found, &coordinate.path, name.trim()) else { continue };
            let mut counting = coordinate.attributes.clone();
            counting.retain(|name, _| ["units", "calendar"].contains(&name.as_str()));
            all.entry(path).or_insert(counting);
        }
    }
    all
}

/// Returns the path of the array of that name which is nearest to another array: in its group, or in one around it.
fn nearest(found: &Collected, from: &str, name: &str) -> Option<String> {
    let known = |path: &String| found.arrays.iter().any(|array| array.path == *path);
    if name.starts_with('/') {
        return Some(name.to_owned()).filter(known);
    }
    let groups = std::iter::successors(from.rsplit_once('/'), |(group, _)| group.rsplit_once('/'));
    groups.map(|(group, _)| format!("{group}/{name}")).find(known)
}

/// Returns the elements of arrays without the dimension, as far as they fit.
fn constants(
    found: &Collected,
    along: &str,
    elements: impl Fn(&str) -> Result<Vec<u8>, String>,
) -> BTreeMap<String, Vec<u8>> {
    let mut left = KEPT;
    let mut all = BTreeMap::new();
    for array in found.arrays.iter().filter(|array| axis(array, along).is_none()) {
        let size = array.shape.iter().try_fold(1u64, |all, side| all.checked_mul(*side));
        if size.is_none_or(|size| size > left) {
            continue;
        }
        if let Ok(bytes) = elements(&array.path) {
            left = left.saturating_sub(bytes.len() as u64); // a bound
            all.insert(array.path.clone(), bytes);
        }
    }
    all
}

/// Returns existing references as the first of the files.
pub(super) fn existing<'a>(existing: &'a Existing, open: Open<'a>) -> Scanned<'a> {
    let origin = Origin::Existing(existing, open);
    let piece = Piece { name: "the existing references", origin, first: 0 };
    let found = existing.found.clone();
    let bounds = bounds(&found);
    let (told, read, same, short, named) = Default::default();
    Scanned { piece, found, told, bounds, read, same, short, named }
}

impl<'a> Scanned<'a> {
    /// A file of which no more is known than the shapes of its arrays.
    pub(super) fn described(
        shelf: &'a Shelf<'a>,
        (number, name): (usize, &'a str),
        found: Collected,
    ) -> Self {
        let piece = Piece { name, origin: Origin::File(shelf, number), first: number as u64 };
        let bounds = bounds(&found);
        let (told, read, same, short, named) = Default::default();
        Self { piece, found, told, bounds, read, same, short, named }
    }

    /// Returns the elements of arrays without the dimension, to compare those of other files with.
    pub(super) fn constants(&self, along: &str) -> BTreeMap<String, Vec<u8>> {
        let Origin::Existing(existing, open) = self.piece.origin else { return BTreeMap::new() };
        let first = std::cell::OnceCell::new();
        constants(&self.found, along, |path| {
            if let Some(bytes) = self.found.arrays.iter().find(|array| array.path == path).and_then(bytes) {
                return Ok(bytes.to_vec());
            }
            let file = first.get_or_init(|| existing.urls.first().and_then(|url| open(url).ok()));
            file.as_ref().map_or_else(|| Err(String::new()), |file| elements(file, path))
        })
    }

    /// Returns the attributes that tell what an array counts: bounds have the units and the calendar of their coordinate, unless they
    /// name their own.
    pub(super) fn counting<'s>(&self, array: &'s VirtualArray) -> Cow<'s, Map<String, Value>> {
        let Some(coordinate) = self.bounds.get(&array.path) else { return Cow::Borrowed(&array.attributes) };
        let mut all = array.attributes.clone();
        for (name, value) in coordinate {
            all.entry(name).or_insert_with(|| value.clone());
        }
        Cow::Owned(all)
    }

    /// Checks that an array is as long as the dimension. References could not show what is beyond its end.
    pub(super) fn is_whole(&self, array: &VirtualArray, along: &str) -> Result<(), String> {
        let name = self.piece.name;
        match self.short.get(&array.path) {
            Some((own, length)) => {
                Err(format!("it has only {own} of the {length} elements of {along} in {name}"))
            }
            None => Ok(()),
        }
    }

    /// Checks that the numbers of an array have the names that they have in another file. Existing references of older versions have no
    /// names.
    pub(super) fn names_agree(&self, first: &Scanned<'_>, array: &VirtualArray) -> Result<(), String> {
        let name = self.piece.name;
        let same = if self.is_existing() || first.is_existing() {
            let names = (self.names(&array.path), first.names(&array.path));
            names.0.is_none() || names.1.is_none() || names.0 == names.1
        } else {
            self.named.get(&array.path) == first.named.get(&array.path)
        };
        if same {
            return Ok(());
        }
        Err(format!("the names of its values differ in {name}, and references have only their numbers"))
    }

    /// Returns the names of the values of an enumeration, if they are known.
    fn names(&self, path: &str) -> Option<Value> {
        if !self.is_existing() {
            return self.named.get(path).and_then(element::names);
        }
        let array = self.found.arrays.iter().find(|array| array.path == path)?;
        array.attributes.get(element::NAMES).cloned()
    }

    /// Whether these are existing references.
    pub(super) fn is_existing(&self) -> bool {
        matches!(self.piece.origin, Origin::Existing(..))
    }

    /// Checks that an array without the dimension is that of the first file.
    pub(super) fn same(&self, first: &Scanned<'_>, array: &VirtualArray) -> Result<(), String> {
        if let Some(known) = self.same.get(&array.path) {
            return known.clone();
        }
        compared(
            &first.piece.elements(&array.path)?,
            &self.piece.elements(&array.path)?,
            array,
            self.piece.name,
        )
    }

    /// Reads the numbers of a coordinate of the dimension; of existing references that do not contain them, those of their last file.
    pub(super) fn numbers(&self, array: &VirtualArray) -> Result<Vec<f64>, String> {
        let said = |error: Error| error.to_string();
        if let Some(own) = self.read.get(&array.path).filter(|own| own.filters.is_empty()) {
            return decoded(own);
        }
        match self.piece.origin {
            Origin::File(shelf, number) => {
                shelf.with(number, |file| file.array(&array.path)?.read()).map_err(said)
            }
            Origin::Existing(existing, open) => match (bytes(array), existing.urls.last()) {
                (Some(_), _) => decoded(array),
                (None, Some(url)) => open(url).and_then(|file| file.array(&array.path)?.read()).map_err(said),
                (None, None) => Ok(Vec::new()),
            },
        }
    }

    /// Reads an array into one chunk; `None` for existing references that do not contain its elements.
    pub(super) fn inlined(
        &self,
        array: &VirtualArray,
        most: u64,
    ) -> Result<Option<(VirtualArray, u64)>, String> {
        if let Some(own) = self.read.get(&array.path).filter(|own| own.filters.is_empty()) {
            let size = bytes(own).map_or(0, |bytes| bytes.len() as u64);
            return if size <= most { Ok(Some((own.clone(), size))) } else { Err(too_large(most)) };
        }
        match self.piece.origin {
            Origin::File(shelf, number) => {
                let read = shelf.with(number, |file| Ok(inlined(file, &array.path, most)));
                read.map_err(|error| error.to_string())?.map(Some)
            }
            Origin::Existing(..) => {
                let size = array.chunks.iter().try_fold(0u64, |size, (_, place)| match place {
                    Place::Bytes(bytes) => size.checked_add(bytes.len() as u64),
                    Place::Range { .. } => None,
                });
                Ok(size.filter(|_| !array.shape.contains(&0)).map(|size| (array.clone(), size)))
            }
        }
    }
}

/// Says that elements are not inlined because of their size.
pub(super) fn too_large(most: u64) -> String {
    format!("its elements take more than the {most} bytes that may be inlined")
}

impl Piece<'_> {
    /// Returns the number of a file among all.
    pub(super) fn file(&self, own: u64) -> Result<u64, String> {
        self.first.checked_add(own).ok_or_else(|| "there are too many files".to_owned())
    }

    /// Reads all elements in canonical form; of existing references, those of their first file.
    pub(super) fn elements(&self, path: &str) -> Result<Vec<u8>, String> {
        let said = |error: Error| error.to_string();
        match self.origin {
            Origin::File(shelf, number) => {
                shelf.with(number, |file| Ok(elements(file, path))).map_err(said)?
            }
            Origin::Existing(existing, open) => {
                let known = existing.found.arrays.iter().find(|array| array.path == path);
                match (known.and_then(bytes), existing.urls.first()) {
                    (Some(bytes), _) => Ok(bytes.to_vec()),
                    (None, Some(url)) => elements(&open(url).map_err(said)?, path),
                    (None, None) => Err("the existing references have no file".into()),
                }
            }
        }
    }
}

/// The elements of an array that are part of the references, in canonical form.
fn bytes(array: &VirtualArray) -> Option<&[u8]> {
    if !array.filters.is_empty() || array.chunks.len() != 1 {
        return None;
    }
    match array.chunks.iter().next() {
        Some((_, Place::Bytes(bytes))) => Some(bytes),
        _ => None,
    }
}

/// Returns the numbers of an array that is one chunk of bytes.
fn decoded(array: &VirtualArray) -> Result<Vec<f64>, String> {
    let Some(bytes) = bytes(array) else { return Ok(Vec::new()) };
    let dtype = array.dtype.as_str().unwrap_or_default();
    macro_rules! numbers {
        ($type:ty) => {
            bytes
                .chunks_exact(size_of::<$type>())
                .filter_map(|number| number.first_chunk().copied())
                // Times and places beyond 2⁵³ are compared and converted as the nearest number.
                .map(|number| <$type>::from_le_bytes(number) as f64)
                .collect()
        };
    }
    Ok(match dtype {
        "<f8" => numbers!(f64),
        "<f4" => numbers!(f32),
        "<i8" => numbers!(i64),
        "<u8" => numbers!(u64),
        "<i4" => numbers!(i32),
        "<u4" => numbers!(u32),
        "<i2" => numbers!(i16),
        "<u2" => numbers!(u16),
        "|i1" => numbers!(i8),
        "|u1" => numbers!(u8),
        _ => return Err(format!("its type {dtype} is not a number")),
    })
}

/// Tells where the elements of two files differ.
fn compared(a: &[u8], b: &[u8], array: &VirtualArray, name: &str) -> Result<(), String> {
    if a == b {
        return Ok(());
    }
    let elements = array.shape.iter().try_fold(1u64, |all, side| all.checked_mul(*side)).unwrap_or(0);
    let different = a.iter().zip(b).take_while(|(a, b)| a == b).count() as u64;
    let place = match (a.len() as u64).checked_div(elements) {
        Some(width) if width > 0 && a.len() == b.len() => format!(" from element {} on", different / width),
        _ => String::new(),
    };
    Err(format!("its elements differ in {name}{place}"))
}

fn inlined(file: &File, path: &str, most: u64) -> Result<(VirtualArray, u64), String> {
    let said = |error: Error| error.to_string();
    let id = file.resolve(nested_path(file, path)).map_err(said)?;
    let Object::Array(info) = file.source().object(id).map_err(said)? else {
        return Err("it is not an array".into());
    };
    inline::array(file, id, &info, most)
}

/// All elements in canonical form.
pub(super) fn elements(file: &File, path: &str) -> Result<Vec<u8>, String> {
    let said = |error: Error| error.to_string();
    let id = file.resolve(nested_path(file, path)).map_err(said)?;
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
