//! References to many files as if they were one: arrays that have the named dimension are joined along it, and all others must be the
//! same in every file.
//!
//! | module | its subject |
//! |---|---|
//! | `files` | how the files are opened and scanned, several at the same time |
//! | `agree` | what the arrays of two files must have in common |
//! | `order` | whether the coordinate goes on from file to file |
//! | `join` | the array that the arrays of one path become |
//! | `ranges` | chunks of the files, one after another |
//! | `inlined` | elements of the files, one after another |
//! | `units` | numbers in the units of another file |
//! | `steps` | the coordinate from the names of files |
//! | `runs` | files that do not fit together, as several groups |
//! | `scale` | the lengths of dimensions, which arrays may be shorter than |
//! | `shown` | virtual datasets of HDF5 |

mod agree;
mod files;
mod inlined;
mod join;
mod order;
mod ranges;
mod runs;
mod scale;
mod shown;
mod steps;
mod units;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use sciformats::{Error, File, Result};
use serde_json::{Map, Value};

pub(crate) use files::Collected;
use files::{Scanned, Shelf};

use crate::model::{Entry, Options, Report, Sink, Treatment};

pub use files::Files;
pub use shown::{Virtual, virtual_arrays};
pub use steps::{NamePattern, Steps};

/// One of the files.
#[derive(Debug)]
pub struct Part<'a> {
    /// The file.
    pub file: &'a File,
    /// What the file is called in the report.
    pub name: &'a str,
}

/// The dimension along which files are joined.
#[derive(Clone, Copy, Debug)]
pub struct Along<'a> {
    /// The name of the dimension.
    pub name: &'a str,
    /// The coordinate of each file, if it does not come from the files. Arrays that lack the dimension then get it as their first
    /// one, unless they are coordinates themselves, or the bounds or coordinates of other arrays.
    pub steps: Option<&'a Steps>,
    /// Whether files that do not fit together become several groups, `run1`, `run2` and so on, each of files that do.
    pub runs: bool,
}

impl<'a> From<&'a str> for Along<'a> {
    fn from(name: &'a str) -> Self {
        Self { name, steps: None, runs: false }
    }
}

/// References that exist already, to which later files are added.
#[derive(Debug, Default)]
pub struct Existing {
    /// The URLs of the files that the ranges are in.
    pub urls: Vec<String>,
    pub(crate) found: Collected,
}

/// Opens one of the files that existing references lead to, by its URL.
pub type Open<'a> = &'a (dyn Fn(&str) -> Result<File> + Sync);

/// Passes the groups and the joined arrays of the files to `sink`. Files are joined in their order, and their numbers in
/// [`Place::Range`](crate::Place::Range) are their positions.
///
/// An array is joined if its types, filters, chunks, units and calendars agree and the chunks of the files fit together. If
/// they do not, chunks without filters are divided, or the elements become part of the references if they take no more
/// than [`Options::inline`]; otherwise the array is refused. Numbers of a coordinate that count time from another date, or in other
/// steps of the same calendar, are converted to the units of the first file. The coordinate of the dimension is always part of the
/// references, up to [`Options::inline`], because every reader loads it. The URL of `options` is not used.
///
/// # Errors
/// `Usage` if there are no files, if no array has the dimension, or if the coordinate of that name does not go on from one
/// file to the next; and the first error of `sink`.
pub fn combine<'a>(
    parts: &[Part<'_>],
    along: impl Into<Along<'a>>,
    options: &Options,
    sink: &mut dyn Sink,
) -> Result<Report> {
    let shelf = Shelf::Parts(parts);
    combine_shelf(&shelf, along.into(), options, sink)
}

/// As [`combine`], for files that are opened when they are needed, several at the same time, and closed again. Memory does not
/// hold them all.
///
/// # Errors
/// Those of [`combine`], and those of opening the files.
pub fn combine_files<'a>(
    files: &Files<'_>,
    along: impl Into<Along<'a>>,
    options: &Options,
    sink: &mut dyn Sink,
) -> Result<Report> {
    combine_shelf(&Shelf::Files(files), along.into(), options, sink)
}

fn combine_shelf(
    shelf: &Shelf<'_>,
    along: Along<'_>,
    options: &Options,
    sink: &mut dyn Sink,
) -> Result<Report> {
    let files = files::scanned(shelf, along, options, &BTreeMap::new())?;
    if along.runs {
        return runs::all(files, along, options, sink);
    }
    all(&Joining::new(files, None), along, options, sink)
}

/// As [`combine_files`], for files that come after those of existing references. These are not opened again, except the first one to
/// compare an array without the dimension, and all of them if their last chunk is not full and the elements of an array must
/// therefore become part of the references. The numbers of the new files in [`Place::Range`](crate::Place::Range) follow those of the
/// existing URLs.
///
/// # Errors
/// Those of [`combine`], those of `open`, and `Usage` if an array that the existing references have cannot be continued: no array
/// is lost by adding files.
pub fn extend<'a>(
    existing: &Existing,
    open: Open<'_>,
    files: &Files<'_>,
    (along, options): (impl Into<Along<'a>>, &Options),
    sink: &mut dyn Sink,
) -> Result<Report> {
    let along = along.into();
    let shelf = Shelf::Files(files);
    let first = files::existing(existing, open);
    let known = first.constants(along.name);
    let mut all_files = vec![first];
    let count = existing.urls.len() as u64;
    for mut file in files::scanned(&shelf, along, options, &known)? {
        file.piece.first =
            file.piece.first.checked_add(count).ok_or_else(|| Error::usage("files", "are too many"))?;
        all_files.push(file);
    }
    let by_url = |number: usize| match existing.urls.get(number) {
        Some(url) => open(url),
        None => Err(Error::internal("a file of the existing references has no URL")),
    };
    let before = Files { names: &existing.urls, open: &by_url, at_once: files.at_once };
    let shelf = Shelf::Files(&before);
    let again = || files::scanned(&shelf, along, options, &known);
    // The result is only passed on if nothing is lost.
    let mut found = Collected::default();
    let report = all(&Joining::new(all_files, Some(&again)), along, options, &mut found)?;
    let joined: BTreeSet<&str> = found.arrays.iter().map(|array| array.path.as_str()).collect();
    if let Some(lost) = existing.found.arrays.iter().find(|array| !joined.contains(array.path.as_str())) {
        let entry = report.entries.iter().find(|entry| entry.path == lost.path);
        let reason = entry.map_or_else(|| "it is missing".to_owned(), |entry| entry.treatment.to_string());
        let problem = format!("cannot be added, because {} would be lost: {reason}", lost.path);
        return Err(Error::usage("files", problem));
    }
    for (path, attributes) in &found.groups {
        sink.group(path, attributes)?;
    }
    found.arrays.iter().try_for_each(|array| sink.array(array))?;
    Ok(report)
}

/// Scans the files of existing references.
type Again<'a> = &'a dyn Fn() -> Result<Vec<Scanned<'a>>>;

/// The files that are joined, in their order.
struct Joining<'a> {
    files: Vec<Scanned<'a>>,
    /// How the files of existing references are scanned, which are then the first of `files`.
    again: Option<Again<'a>>,
    before: OnceCell<Vec<Scanned<'a>>>,
}

impl<'a> Joining<'a> {
    fn new(files: Vec<Scanned<'a>>, again: Option<Again<'a>>) -> Self {
        Self { files, again, before: OnceCell::new() }
    }

    /// Returns all files by themselves: in place of existing references those that they lead to.
    ///
    /// # Errors
    /// The reason why these cannot be scanned again.
    fn whole(&self) -> Result<impl Iterator<Item = &Scanned<'a>>, String> {
        let before = match (self.again, self.before.get()) {
            (None, _) => return Err("there are no existing references".into()),
            (Some(_), Some(before)) => before,
            (Some(again), None) => {
                let before = again().map_err(|error| error.to_string())?;
                self.before.get_or_init(|| before)
            }
        };
        Ok(before.iter().chain(self.files.iter().skip(1)))
    }
}

fn all(files: &Joining<'_>, along: Along<'_>, options: &Options, sink: &mut dyn Sink) -> Result<Report> {
    let name = along.name;
    let joined =
        files.files.iter().any(|file| file.found.arrays.iter().any(|array| axis(array, name).is_some()));
    if !joined {
        return Err(Error::usage("dimension", format!("`{name}` is a dimension of no array")));
    }
    order::in_order(&files.files, name)?;
    let mut report = Report::default();
    for group in groups(&files.files) {
        sink.group(&group.0, &group.1)?;
    }
    let paths: BTreeSet<&str> = files
        .files
        .iter()
        .flat_map(|file| file.found.arrays.iter().map(|array| array.path.as_str()))
        .collect();
    for path in paths {
        let treatment = match join::join(files, path, name, options) {
            Ok((array, treatment)) => {
                sink.array(&array)?;
                treatment
            }
            Err(reason) => Treatment::Refused { reason },
        };
        report.entries.push(Entry { path: path.into(), treatment });
    }
    left_out(&files.files, &mut report);
    Ok(report)
}

/// Adds what the files do not have as arrays.
fn left_out(files: &[Scanned<'_>], report: &mut Report) {
    let mut known: BTreeSet<String> = report.entries.iter().map(|entry| entry.path.clone()).collect();
    for Scanned { piece, told, .. } in files {
        for entry in &told.entries {
            if let (Treatment::Refused { reason }, false) = (&entry.treatment, known.contains(&entry.path)) {
                let reason = format!("{}: {reason}", piece.name);
                known.insert(entry.path.clone());
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
        for note in &told.notes {
            if !report.notes.contains(note) {
                report.notes.push(note.clone());
            }
        }
    }
}

/// Every group that a file has, with the attributes that it has in the first of them; each before its members.
fn groups(all: &[Scanned<'_>]) -> Vec<(String, Map<String, Value>)> {
    let mut groups: BTreeMap<&str, &Map<String, Value>> = BTreeMap::new();
    for (path, attributes) in all.iter().flat_map(|file| &file.found.groups) {
        groups.entry(path).or_insert(attributes);
    }
    groups.into_iter().map(|(path, attributes)| (path.to_owned(), attributes.clone())).collect()
}

fn axis(array: &crate::model::VirtualArray, along: &str) -> Option<usize> {
    array.dimensions.iter().position(|name| name == along)
}

/// Returns whether an array is the coordinate of the dimension.
fn is_coordinate(array: &crate::model::VirtualArray, along: &str) -> bool {
    array.path.rsplit('/').next() == Some(along) && array.dimensions == [along]
}
