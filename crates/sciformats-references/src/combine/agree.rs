//! What the arrays of two files must have in common.

use serde_json::{Map, Value};

use super::units::{calendar, conversion};
use crate::model::VirtualArray;

/// How arrays differ.
pub(super) enum Difference {
    /// Decoded elements of both are numbers of one array: their storage differs.
    Stored(String),
    /// They mean something else.
    Meaning(String),
}

/// Compares an array with that of the first file, and tells what differs in the file of that name.
pub(super) fn agree(a: &VirtualArray, b: &VirtualArray, name: &str) -> Result<(), Difference> {
    let told = |what: &str, a: &str, b: &str| format!("{what} differs in {name}: {b} instead of {a}");
    if a.dimensions != b.dimensions {
        let (a, b) = (a.dimensions.join(", "), b.dimensions.join(", "));
        return Err(Difference::Meaning(format!("the dimensions differ in {name}: ({b}) instead of ({a})")));
    }
    if kind(&a.dtype) != kind(&b.dtype) {
        let (a, b) = (plain(&a.dtype), plain(&b.dtype));
        return Err(Difference::Meaning(told("the type", &a, &b)));
    }
    let found = [("the calendar", calendar_of(a), calendar_of(b))].into_iter().chain(
        ["scale_factor", "add_offset", "_FillValue", "missing_value"].map(|attribute| {
            let what = if attribute.contains('_') && !attribute.to_lowercase().contains("value") {
                "the packing"
            } else {
                "the mark of missing values"
            };
            (what, shown(&a.attributes, attribute), shown(&b.attributes, attribute))
        }),
    );
    for (what, a, b) in found {
        if a != b {
            return Err(Difference::Meaning(told(what, &a, &b)));
        }
    }
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

/// Compares the units; `Ok(true)` if the numbers of the second array can be converted to those of the first.
pub(super) fn units(a: &VirtualArray, b: &VirtualArray, name: &str) -> Result<bool, String> {
    if a.attributes.get("units") == b.attributes.get("units") {
        return Ok(false);
    }
    if a.dimensions.len() == 1 && conversion(&a.attributes, &b.attributes).is_some() {
        return Ok(true);
    }
    let (a, b) = (shown(&a.attributes, "units"), shown(&b.attributes, "units"));
    Err(format!("the unit differs in {name}: {b} instead of {a}"))
}

/// The type without its byte order.
fn kind(dtype: &Value) -> Value {
    match dtype {
        Value::String(text) => text.replace(['<', '>'], "").into(),
        Value::Array(all) => Value::Array(all.iter().map(kind).collect()),
        other => other.clone(),
    }
}

fn calendar_of(array: &VirtualArray) -> String {
    match calendar(&array.attributes) {
        Some(calendar) => calendar.name().to_owned(),
        None => shown(&array.attributes, "calendar"),
    }
}

fn shown(attributes: &Map<String, Value>, name: &str) -> String {
    attributes.get(name).map_or_else(|| "none".to_owned(), plain)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn filters(array: &VirtualArray) -> String {
    let name = |filter: &Value| plain(filter.get("id").unwrap_or(filter));
    let names: Vec<String> = array.filters.iter().map(name).collect();
    if names.is_empty() { "none".into() } else { names.join(" and ") }
}
