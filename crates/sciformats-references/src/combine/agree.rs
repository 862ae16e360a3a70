//! What the arrays of two files must have in common.

use serde_json::{Map, Value};

use super::units::{calendar, conversion, time};
use crate::bare;
use crate::model::VirtualArray;

/// Attributes that change what readers make of the stored numbers, and what a difference of them is called.
const READ: [(&str, &str); 7] = [
    ("scale_factor", "the packing"),
    ("add_offset", "the packing"),
    ("_Unsigned", "the packing"),
    ("missing_value", "the mark of missing values"),
    ("valid_min", "the valid range"),
    ("valid_max", "the valid range"),
    ("valid_range", "the valid range"),
];

/// The attributes by which arrays are compared. The last ones name arrays that count what this one counts.
pub(super) const DECIDE: [&str; 12] = [
    "units",
    "calendar",
    "_FillValue",
    READ[0].0,
    READ[1].0,
    READ[2].0,
    READ[3].0,
    READ[4].0,
    READ[5].0,
    READ[6].0,
    "bounds",
    "climatology",
];

/// An array, and the attributes that tell what it counts.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    pub(super) array: &'a VirtualArray,
    pub(super) counting: &'a Map<String, Value>,
    /// Whether it is that of existing references, which do not tell whether missing chunks of zeros are missing values.
    pub(super) existing: bool,
}

/// How arrays differ.
pub(super) enum Difference {
    /// Decoded elements of both are numbers of one array: their storage differs.
    Stored(String),
    /// They mean something else.
    Meaning(String),
}

/// Compares an array with that of the first file, and tells what differs in the file of that name.
pub(super) fn agree(first: Counted<'_>, other: Counted<'_>, name: &str) -> Result<(), Difference> {
    let (a, b) = (first.array, other.array);
    let told = |what: &str, a: &str, b: &str| told(what, (a, b), name);
    if a.dimensions != b.dimensions {
        let (a, b) = (a.dimensions.join(", "), b.dimensions.join(", "));
        return Err(Difference::Meaning(format!("the dimensions differ in {name}: ({b}) instead of ({a})")));
    }
    if kind(&a.dtype) != kind(&b.dtype) {
        let (a, b) = (plain(&a.dtype), plain(&b.dtype));
        return Err(Difference::Meaning(told("the type", &a, &b)));
    }
    meaning(first, other, name).map_err(Difference::Meaning)?;
    if a.fill != b.fill && !a.fill.is_null() && !b.fill.is_null() {
        return Err(Difference::Meaning(told("the fill value", &plain(&a.fill), &plain(&b.fill))));
    }
    if a.dtype != b.dtype {
        return Err(Difference::Stored(format!("the byte order differs in {name}")));
    }
    if a.filters != b.filters {
        let (a, b) = (filters(a), filters(b));
        return Err(Difference::Stored(told("a filter", &a, &b)));
    }
    if a.columns != b.columns {
        return Err(Difference::Stored(format!("the order of elements differs in {name}")));
    }
    Ok(())
}

/// Compares what the attributes of two arrays make of their numbers, apart from the units.
///
/// # Errors
/// What differs in the file of that name.
pub(super) fn meaning(first: Counted<'_>, other: Counted<'_>, name: &str) -> Result<(), String> {
    let (a, b) = (calendar_of(first.counting), calendar_of(other.counting));
    if a != b {
        return Err(told("the calendar", (&a, &b), name));
    }
    let (a, b) = (mark(first.array), mark(other.array));
    if a != b && !(first.existing && unknown(first.array) && b == "none") {
        return Err(told("the mark of missing values", (&a, &b), name));
    }
    for (attribute, what) in READ {
        let (a, b) = (shown(&first.array.attributes, attribute), shown(&other.array.attributes, attribute));
        if a != b {
            return Err(told(what, (&a, &b), name));
        }
    }
    Ok(())
}

/// Compares the units that attributes name.
///
/// # Errors
/// How they differ in the file of that name, unless `converts` and numbers of the second can be converted to those of the first; these
/// are `Ok(true)`.
pub(super) fn units(
    a: &Map<String, Value>,
    b: &Map<String, Value>,
    converts: bool,
    name: &str,
) -> Result<bool, String> {
    // Two texts may name the same units of time.
    if a.get("units") == b.get("units") || time(a).is_some_and(|units| time(b) == Some(units)) {
        return Ok(false);
    }
    if converts && conversion(a, b).is_some() {
        return Ok(true);
    }
    Err(told("the unit", (&shown(a, "units"), &shown(b, "units")), name))
}

fn told(what: &str, (a, b): (&str, &str), name: &str) -> String {
    format!("{what} differs in {name}: {b} instead of {a}")
}

/// The mark of missing values, which may be the fill value of the array.
fn mark(array: &VirtualArray) -> String {
    if array.marked { plain(&array.fill) } else { shown(&array.attributes, "_FillValue") }
}

/// Whether the fill value of an array of existing references may be that of missing chunks only.
fn unknown(array: &VirtualArray) -> bool {
    let count = array.chunks.grid().iter().try_fold(1u64, |all, side| all.checked_mul(*side));
    array.fill.as_f64() == Some(0.0) && count != Some(array.chunks.len())
}

/// The type without its byte order.
fn kind(dtype: &Value) -> Value {
    match dtype {
        Value::String(text) => text.replace(['<', '>'], "").into(),
        Value::Array(all) => Value::Array(all.iter().map(kind).collect()),
        other => other.clone(),
    }
}

fn calendar_of(attributes: &Map<String, Value>) -> String {
    match calendar(attributes) {
        Some(calendar) => calendar.name().to_owned(),
        None => shown(attributes, "calendar"),
    }
}

fn shown(attributes: &Map<String, Value>, name: &str) -> String {
    attributes.get(name).map_or_else(|| "none".to_owned(), plain)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| bare::text(&value.to_string()), str::to_owned)
}

fn filters(array: &VirtualArray) -> String {
    let name = |filter: &Value| plain(filter.get("id").unwrap_or(filter));
    let names: Vec<String> = array.filters.iter().map(name).collect();
    if names.is_empty() { "none".into() } else { names.join(" and ") }
}
