//! Attributes as JSON.

use sciformats::{AttributeValue, Datum, Decoder, ElementType, File, ObjectId};
use serde_json::{Map, Value};

use crate::model::{Report, VirtualArray};

/// Attributes with which HDF5 and netCDF-4 keep their own records.
const HIDDEN: [&str; 6] = [
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
    // The records of a dimension scale; other objects may have a class and a name of their own.
    if found.get("CLASS").and_then(Value::as_str) == Some("DIMENSION_SCALE") {
        found.remove("CLASS");
        found.remove("NAME");
    }
    found
}

/// Makes `_FillValue` the fill value of the array, where readers of Zarr look for it, unless missing chunks have another one.
pub(crate) fn mark_missing(array: &mut VirtualArray) {
    let Some(mark) = array.attributes.get("_FillValue") else { return };
    let fits = match array.dtype.as_str().map(|dtype| dtype.trim_start_matches(['<', '>', '|'])) {
        Some("f2" | "f4" | "f8") => {
            mark.is_number() || matches!(mark.as_str(), Some("NaN" | "Infinity" | "-Infinity"))
        }
        Some("i1") => mark.as_i64().is_some_and(|n| i8::try_from(n).is_ok()),
        Some("i2") => mark.as_i64().is_some_and(|n| i16::try_from(n).is_ok()),
        Some("i4") => mark.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
        Some("i8") => mark.is_i64(),
        Some("u1") => mark.as_u64().is_some_and(|n| u8::try_from(n).is_ok()),
        Some("u2") => mark.as_u64().is_some_and(|n| u16::try_from(n).is_ok()),
        Some("u4") => mark.as_u64().is_some_and(|n| u32::try_from(n).is_ok()),
        Some("u8") => mark.is_u64(),
        _ => false,
    };
    if fits && (array.fill.is_null() || array.fill == *mark) {
        array.fill = mark.clone();
        array.marked = true;
        array.attributes.remove("_FillValue");
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunks::Chunks;
    use serde_json::json;

    fn marked(dtype: &str, fill: Value, mark: Value) -> (Value, bool) {
        let mut array = VirtualArray {
            path: "/a".into(),
            shape: vec![1],
            chunk_shape: vec![1],
            dtype: dtype.into(),
            fill,
            marked: false,
            columns: false,
            filters: Vec::new(),
            attributes: Map::from_iter([("_FillValue".to_owned(), mark)]),
            dimensions: vec!["x".into()],
            chunks: Chunks::new(vec![1]),
        };
        mark_missing(&mut array);
        (array.fill, array.attributes.is_empty())
    }

    #[test]
    fn the_mark_of_missing_values_is_the_fill_value_unless_chunks_have_another() {
        assert_eq!(marked("<f4", Value::Null, json!("NaN")), (json!("NaN"), true));
        assert_eq!(marked(">i2", json!(-999), json!(-999)), (json!(-999), true));
        assert_eq!(marked(">i2", json!(0), json!(-999)), (json!(0), false));
        assert_eq!(marked("|u1", Value::Null, json!(-1)), (Value::Null, false));
        assert_eq!(marked("|S4", Value::Null, json!("none")), (Value::Null, false));
    }
}
