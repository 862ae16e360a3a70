//! Attributes as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sciformats::{AttributeValue, Datum, Decoder, ElementType, File, Name, ObjectId};
use serde_json::{Map, Value};

use crate::bare;
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
        Some("f2" | "f4" | "f8") => bare::number(mark).is_some(),
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
    // The fill value of an array is strict JSON, with texts for numbers that JSON lacks.
    let mark = bare::strict(mark);
    if fits && (array.fill.is_null() || array.fill == mark) {
        array.fill = mark;
        array.marked = true;
        array.attributes.remove("_FillValue");
    }
}

/// What the elements of an array are, as far as the form of their mark of missing values depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elements {
    /// Floating-point numbers of so many bytes.
    Floats(usize),
    Complex,
    /// Whole numbers and truth values.
    Whole,
    Others,
}

/// Gives the attribute `_FillValue` the form in which xarray reads it from Zarr 3, which is the base64 of eight bytes for each
/// floating-point number. Because xarray does not open an array with another mark, such a mark becomes the attribute `missing_value`, and
/// the result says so.
pub(crate) fn mark_in_zarr3(attributes: &mut Map<String, Value>, elements: Elements) -> Option<String> {
    let mark = attributes.get_mut("_FillValue")?;
    let coded = |number: f64| Value::from(STANDARD.encode(number.to_le_bytes()));
    let form = match (elements, &*mark) {
        // Text may have as few digits as narrow numbers need; the cast rounds to the number that is stored.
        (Elements::Floats(4), mark) => bare::number(mark).map(|number| coded(f64::from(number as f32))),
        (Elements::Floats(_), mark) => bare::number(mark).map(coded),
        (Elements::Complex, Value::Array(parts)) if parts.len() == 2 => parts
            .iter()
            .map(|part| bare::number(part).map(coded))
            .collect::<Option<Vec<_>>>()
            .map(Value::from),
        (Elements::Whole, Value::Number(_) | Value::Bool(_)) => return None,
        _ => None,
    };
    if let Some(form) = form {
        *mark = form;
        return None;
    }
    let name = if attributes.contains_key("missing_value") { "_FillValue_" } else { "missing_value" };
    let value = attributes.remove("_FillValue")?;
    attributes.insert(name.into(), value);
    Some(format!("its attribute _FillValue is {name} here, because xarray reads only numbers as such a mark"))
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
        // Readers take numbers for binary64 ones, so narrower ones need all digits, too.
        Datum::Float(number, _) => Ok(bare::value(*number)),
        Datum::Complex(real, imaginary, _) => {
            Ok(Value::Array(vec![bare::value(*real), bare::value(*imaginary)]))
        }
        Datum::List(elements) => elements.iter().map(one).collect(),
        Datum::Record(fields) => {
            let named = |(name, field): &(&Name, Datum<'_>)| Ok((name.shown().into_owned(), one(field)?));
            Ok(Value::Object(fields.iter().map(named).collect::<Result<_, String>>()?))
        }
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
    fn numbers_keep_their_value() {
        let number = |number: f64| one(&Datum::Float(number, sciformats::FloatKind::F32)).unwrap();
        assert_eq!(number(0.1f32.into()).to_string(), "0.10000000149011612");
        assert_eq!(number(1e20f32.into()).as_f64(), Some(1e20f32.into()));
        assert!(bare::number(&number(f64::NAN)).is_some_and(f64::is_nan));
    }

    #[test]
    fn marks_have_the_form_that_xarray_reads() {
        let form = |elements: Elements, mark: Value, more: bool| {
            let mut all = Map::from_iter([("_FillValue".to_owned(), mark)]);
            if more {
                all.insert("missing_value".into(), json!("?"));
            }
            let told = mark_in_zarr3(&mut all, elements).is_some();
            (told, Value::Object(all))
        };
        assert_eq!(
            form(Elements::Floats(4), json!(-9999.0), false),
            (false, json!({"_FillValue": "AAAAAICHw8A="}))
        );
        assert_eq!(form(Elements::Whole, json!(-1), false), (false, json!({"_FillValue": -1})));
        let zeros = json!({"_FillValue": ["AAAAAAAAAAA=", "AAAAAAAAAAA="]});
        assert_eq!(form(Elements::Complex, json!([0.0, 0.0]), false), (false, zeros));
        assert_eq!(form(Elements::Others, json!("none"), false), (true, json!({"missing_value": "none"})));
        let both = json!({"missing_value": "?", "_FillValue_": "none"});
        assert_eq!(form(Elements::Floats(8), json!("none"), true), (true, both));
    }

    #[test]
    fn the_mark_of_missing_values_is_the_fill_value_unless_chunks_have_another() {
        assert_eq!(marked("<f4", Value::Null, bare::value(f64::NAN)), (json!("NaN"), true));
        assert_eq!(marked("<f4", Value::Null, json!("NaN")), (Value::Null, false)); // a text
        assert_eq!(marked(">i2", json!(-999), json!(-999)), (json!(-999), true));
        assert_eq!(marked(">i2", json!(0), json!(-999)), (json!(0), false));
        assert_eq!(marked("|u1", Value::Null, json!(-1)), (Value::Null, false));
        assert_eq!(marked("|S4", Value::Null, json!("none")), (Value::Null, false));
    }
}
