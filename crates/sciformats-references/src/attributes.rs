//! Attributes as JSON.

use sciformats::{AttributeValue, Datum, Decoder, ElementType, File, ObjectId};
use serde_json::{Map, Value};

use crate::model::Report;

/// Attributes with which HDF5 and netCDF-4 keep their own records.
const HIDDEN: [&str; 8] = [
    "CLASS",
    "NAME",
    "REFERENCE_LIST",
    "DIMENSION_LIST",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_nc3_strict",
    "_NCProperties",
];

/// Returns the attributes of an object; the report names those that JSON cannot hold.
pub(crate) fn of(file: &File, id: ObjectId, path: &str, report: &mut Report) -> Map<String, Value> {
    let mut found = Map::new();
    let mut left = |name: String, reason: String| report.attributes.push((path.into(), name, reason));
    let attributes = match file.source().attributes(id) {
        Ok(attributes) => attributes,
        Err(error) => {
            left("*".into(), error.to_string());
            return found;
        }
    };
    for attribute in attributes {
        let attribute = match attribute {
            Ok(attribute) => attribute,
            Err(error) => {
                left("*".into(), error.to_string());
                break;
            }
        };
        let name = attribute.name.shown().into_owned();
        if HIDDEN.contains(&name.as_str()) {
            continue;
        }
        match attribute.value.map_err(|error| error.to_string()).and_then(json) {
            Ok(value) => _ = found.insert(name, value),
            Err(reason) => left(name, reason),
        }
    }
    found
}

fn json(value: AttributeValue) -> Result<Value, String> {
    if value.element.refers() {
        return Err("references to objects have no form in JSON".into());
    }
    let Some(shape) = value.shape else { return Ok(Value::from("")) };
    let data = value.data.map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for datum in Decoder::new(&value.element, &data) {
        all.push(one(&datum.map_err(|error| error.to_string())?)?);
    }
    if all.len() == 1 && !matches!(value.element, ElementType::Vlen(_)) {
        return Ok(all.swap_remove(0));
    }
    Ok(nested(&mut all.into_iter(), &shape))
}

/// Arranges elements as lists of lists.
fn nested(elements: &mut std::vec::IntoIter<Value>, shape: &[u64]) -> Value {
    match shape {
        [] => elements.next().unwrap_or(Value::Null),
        [_] => Value::Array(elements.collect()),
        [first, rest @ ..] => {
            let each =
                sciformats_core::slab::elements(rest).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
            let lists = (0..*first).map_while(|_| {
                let part: Vec<Value> = elements.by_ref().take(each).collect();
                (!part.is_empty()).then(|| nested(&mut part.into_iter(), rest))
            });
            Value::Array(lists.collect())
        }
    }
}

/// Returns an element as JSON.
///
/// # Errors
/// The reason why JSON has no such value.
pub(crate) fn one(datum: &Datum<'_>) -> Result<Value, String> {
    match datum {
        Datum::Member(value, _) => {
            serde_json::from_str(&value.to_string()).map_err(|error| error.to_string())
        }
        Datum::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Ok(Value::from(text)),
            Err(_) => Err("it is not UTF-8".into()),
        },
        Datum::Bytes(_) => Err("bytes have no form in JSON".into()),
        other => {
            let mut out = String::new();
            other.write_json(&mut out);
            serde_json::from_str(&out).map_err(|error| error.to_string())
        }
    }
}
