//! Virtual datasets of HDF5, whose chunks and filters may differ from file to file.

use std::collections::{BTreeMap, BTreeSet};

use sciformats::{ElementType, Error, File, Result};
use serde_json::{Map, Value};

use super::agree::{Counted, meaning, units};
use super::files::{Collected, Scanned, Shelf, short};
use super::order::in_order;
use super::units::{Marks, conversion, encode};
use super::{Part, axis};
use crate::attributes;
use crate::chunks::Chunks;
use crate::element;
use crate::model::{Entry, Report, Treatment, VirtualArray};
use crate::scan::{is_only_a_dimension, named_dimensions};

/// How an array of several files becomes one virtual dataset of HDF5.
#[derive(Clone, Debug, PartialEq)]
pub struct Virtual {
    /// The path of the array.
    pub path: String,
    /// The position of the dimension among its dimensions, and the length along it in each file; `None` for an array without
    /// the dimension, which is the same in all files.
    pub along: Option<(usize, Vec<u64>)>,
    /// How many elements along the dimension each file stores, if it is fewer in one of them: variables of netCDF-4 may be shorter than
    /// an unlimited dimension, and the elements beyond their ends are fill values. Empty otherwise.
    pub rows: Vec<u64>,
    /// The numbers of all files, if they had to be converted to the units of the first one.
    pub values: Option<Vec<f64>>,
}

/// Tells how the arrays of files become virtual datasets, whose chunks and filters may differ from file to file.
///
/// # Errors
/// As [`combine`](super::combine).
pub fn virtual_arrays(parts: &[Part<'_>], along: &str) -> Result<(Vec<Virtual>, Report)> {
    let (mut files, mut shapes) = (Vec::new(), Vec::new());
    let shelf = Shelf::Parts(parts);
    for (number, part) in parts.iter().enumerate() {
        let all = shapes_of(part.file)?;
        let described = |(path, shape): (&String, &Shape)| VirtualArray {
            path: path.clone(),
            shape: shape.shape.clone(),
            chunk_shape: shape.shape.clone(),
            dtype: element::canonical(&shape.element).map_or(Value::Null, |(dtype, _)| dtype),
            fill: Value::Null,
            marked: false,
            columns: false,
            filters: Vec::new(),
            attributes: shape.attributes.clone(),
            dimensions: shape.dimensions.clone(),
            chunks: Chunks::new(vec![0; shape.shape.len()]),
        };
        let found = Collected { groups: Vec::new(), arrays: all.iter().map(described).collect() };
        let mut described = Scanned::described(&shelf, (number, part.name), found);
        described.short = short(part.file, along);
        files.push(described);
        shapes.push(all);
    }
    if !files.iter().any(|file| file.found.arrays.iter().any(|array| axis(array, along).is_some())) {
        return Err(Error::usage("dimension", format!("`{along}` is a dimension of no array")));
    }
    // A dimension without a variable has no numbers.
    if !shapes.iter().flat_map(BTreeMap::values).any(|shape| shape.only && shape.dimensions == [along]) {
        in_order(&files, along)?;
    }
    let (mut found, mut report) = (Vec::new(), Report::default());
    let Some((first, others)) = shapes.split_first() else {
        return Err(Error::usage("files", "are missing"));
    };
    for path in first.keys() {
        let treatment = match as_virtual((&files, &shapes), path, along) {
            Ok(array) => {
                report.notes.extend(filled(&array, &files).map(|note| (path.clone(), note)));
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
        let array = file.found.arrays.iter().find(|array| array.path == path);
        shapes.push((file, known.get(path).zip(array).ok_or_else(missing)?));
    }
    let Some(((start, (first, array)), others)) = shapes.split_first() else {
        return Err("there are no files".into());
    };
    if let Some((file, _)) = shapes.iter().find(|(_, (shape, _))| shape.only)
        && shapes.iter().any(|(_, (shape, _))| !shape.only)
    {
        return Err(format!("it is a dimension without a variable in {}", file.piece.name));
    }
    let axis = first.dimensions.iter().position(|name| name == along);
    let counting = start.counting(array);
    let wanted = Counted { array, counting: &counting, existing: false };
    let mut converting = false;
    for (file, (shape, array)) in others {
        let name = file.piece.name;
        if shape.dimensions != first.dimensions {
            return Err(format!("the dimensions differ in {name}"));
        }
        if shape.element != first.element {
            return Err(format!("the type differs in {name}"));
        }
        let counting = file.counting(array);
        meaning(wanted, Counted { array, counting: &counting, existing: false }, name)?;
        // Numbers that are stored follow each other along the first dimension.
        converting |= units(wanted.counting, &counting, axis == Some(0), name)?;
    }
    let Some(axis) = axis else {
        let elements = start.piece.elements(path)?;
        for (file, (array, _)) in others {
            if array.shape != first.shape {
                return Err(format!("its shape differs in {}", file.piece.name));
            }
            if file.piece.elements(path)? != elements {
                return Err(format!("its elements differ in {}", file.piece.name));
            }
        }
        return Ok(Virtual { path: path.into(), along: None, rows: Vec::new(), values: None });
    };
    if first.element.refers() {
        return Err("its elements lead to objects of their files, which the new file does not have".into());
    }
    let (mut lengths, mut rows) = (Vec::new(), Vec::new());
    for (file, (array, _)) in &shapes {
        let others = |shape: &[u64]| -> Vec<u64> {
            shape.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, side)| *side).collect()
        };
        if others(&array.shape) != others(&first.shape) {
            return Err(format!("its shape differs in {}", file.piece.name));
        }
        let own = array.shape.get(axis).copied().unwrap_or(0);
        lengths.push(file.short.get(path).map_or(own, |(_, length)| *length));
        rows.push(own);
    }
    if rows == lengths {
        rows.clear();
    } else if converting {
        return Err("it is shorter than its dimension, and its files count time in different units".into());
    }
    let mut values = None;
    if converting {
        let marks = Marks::of(array);
        let dtype = array.dtype.as_str().unwrap_or_default().trim_start_matches(['<', '|']);
        let mut all = Vec::new();
        for (file, (_, array)) in &shapes {
            let convert = conversion(&counting, &file.counting(array)).ok_or("its units are unknown")?;
            all.extend(marks.converted(file.numbers(array)?, convert)?);
        }
        all.iter().try_for_each(|number| encode(dtype, *number, &mut Vec::new()))?;
        values = Some(all);
    }
    Ok(Virtual { path: path.into(), along: Some((axis, lengths)), rows, values })
}

/// Tells in which files an array is shorter than its dimension, if there are some.
fn filled(array: &Virtual, files: &[Scanned<'_>]) -> Option<String> {
    let (_, lengths) = array.along.as_ref()?;
    let all = files.iter().zip(array.rows.iter().zip(lengths));
    let mut short = all.filter(|(_, (rows, length))| rows < length);
    let (file, (rows, length)) = short.next()?;
    let others = match short.count() {
        0 => String::new(),
        count => format!(", and in {count} more"),
    };
    Some(format!(
        "it has {rows} of the {length} elements of its dimension in {}{others}; those beyond its end are fill values",
        file.piece.name
    ))
}

/// What virtual datasets must agree in.
struct Shape {
    shape: Vec<u64>,
    element: ElementType,
    dimensions: Vec<String>,
    attributes: Map<String, Value>,
    /// Whether it only declares a dimension.
    only: bool,
}

/// Returns the arrays of a file.
fn shapes_of(file: &File) -> Result<BTreeMap<String, Shape>> {
    let mut found = BTreeMap::new();
    for array in file.arrays() {
        let array = array?;
        let (path, info) = (array.path().to_owned(), array.info());
        let Some(shape) = info.shape.clone() else { continue };
        let id = file.resolve(&path)?;
        let attributes = attributes::of(file, id, &path, &mut Report::default());
        let dimensions = named_dimensions(file, id);
        let only = is_only_a_dimension(file, id);
        found.insert(path, Shape { shape, element: info.element.clone(), dimensions, attributes, only });
    }
    Ok(found)
}
