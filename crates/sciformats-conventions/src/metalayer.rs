//! Metalayers of variable length in Blosc2 files as attributes. Python's blosc2 stores them as values of
//! `MessagePack`, where a tuple is a list that begins with a mark.

use sciformats::cframe::Value;
use sciformats::{AttributeValue, ElementType};

use crate::values::push_text;

/// What the name of such a metalayer begins with where the file is shown as a tree.
pub(crate) const PREFIX: &str = "vlmeta:";

/// The first item of a list that was a tuple in Python.
const TUPLE: &str = "__tuple__";

/// Names of metalayers that contain the names of the dimensions.
pub(crate) const DIMENSIONS: [&str; 3] = ["_ARRAY_DIMENSIONS", "dimension_names", "dims"];

/// Returns the text, the number or the list of texts or numbers that a metalayer contains; `None` if it contains anything else.
pub(crate) fn attribute(bytes: &[u8]) -> Option<AttributeValue> {
    let value = Value::from_msgpack(bytes).ok()?;
    let Value::List(values) = value else { return of(&[value], Vec::new()) };
    let values = match values.as_slice() {
        [Value::Text(mark), rest @ ..] if mark == TUPLE => rest,
        all => all,
    };
    of(values, vec![values.len() as u64])
}

/// Returns whether a value is a floating-point number, or an integer that is one without a change.
fn is_point(value: &Value) -> bool {
    match value {
        Value::Float(_) => true,
        Value::Int(number) => (*number as f64) as i128 == *number,
        _ => false,
    }
}

/// Returns an attribute with these values, if all of them are of one kind.
fn of(values: &[Value], shape: Vec<u64>) -> Option<AttributeValue> {
    let mut data = Vec::new();
    let all = |kind: fn(&Value) -> bool| !values.is_empty() && values.iter().all(kind);
    let element = if all(|value| matches!(value, Value::Text(_))) {
        for value in values {
            push_text(&mut data, value.as_str()?);
        }
        ElementType::Text
    } else if all(|value| matches!(value, Value::Bool(_))) {
        data.extend(values.iter().filter_map(Value::as_bool).map(u8::from));
        ElementType::Bool
    } else if all(|value| value.as_i64().is_some()) {
        data.extend(values.iter().filter_map(Value::as_i64).flat_map(i64::to_le_bytes));
        ElementType::Int(8)
    } else if all(|value| matches!(value, Value::Int(number) if u64::try_from(*number).is_ok())) {
        for value in values {
            let Value::Int(number) = value else { return None };
            data.extend(u64::try_from(*number).ok()?.to_le_bytes());
        }
        ElementType::UInt(8)
    } else if all(is_point) {
        data.extend(values.iter().filter_map(Value::as_f64).flat_map(f64::to_le_bytes));
        ElementType::F64
    } else {
        return None;
    };
    Some(AttributeValue { element, shape: Some(shape), data: Ok(data) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(value: &Value) -> Option<(ElementType, Vec<u64>, Vec<u8>)> {
        let found = attribute(&value.to_msgpack().unwrap())?;
        Some((found.element, found.shape.unwrap(), found.data.unwrap()))
    }

    #[test]
    fn values_of_every_kind() {
        let text = |text: &str| Value::Text(text.to_owned());
        let (element, shape, data) = said(&text("m/s")).unwrap();
        assert_eq!((element, shape.len()), (ElementType::Text, 0));
        assert_eq!(data, [&3u64.to_le_bytes()[..], b"m/s"].concat());
        let found = said(&Value::Int(-5)).unwrap();
        assert_eq!(found, (ElementType::Int(8), vec![], (-5i64).to_le_bytes().to_vec()));
        let found = said(&Value::Int(u64::MAX.into())).unwrap();
        assert_eq!(found, (ElementType::UInt(8), vec![], u64::MAX.to_le_bytes().to_vec()));
        let found = said(&Value::Float(0.1)).unwrap();
        assert_eq!(found, (ElementType::F64, vec![], 0.1f64.to_le_bytes().to_vec()));
        let found = said(&Value::Bool(true)).unwrap();
        assert_eq!(found, (ElementType::Bool, vec![], vec![1]));
        // A tuple of Python, and integers among floats.
        let (element, shape, _) = said(&Value::List(vec![text(TUPLE), text("x"), text("y")])).unwrap();
        assert_eq!((element, shape), (ElementType::Text, vec![2]));
        let (element, shape, data) = said(&Value::List(vec![Value::Int(1), Value::Float(0.5)])).unwrap();
        assert_eq!((element, shape), (ElementType::F64, vec![2]));
        assert_eq!(data, [1f64.to_le_bytes(), 0.5f64.to_le_bytes()].concat());
        let large = Value::List(vec![Value::Int((1 << 53) + 1), Value::Float(0.5)]);
        let mixed = Value::List(vec![text("a"), Value::Int(1)]);
        for other in [Value::Nil, Value::List(vec![]), Value::Map(vec![]), mixed, large] {
            assert_eq!(said(&other), None, "{other}");
        }
        assert!(attribute(b"").is_none() && attribute(b"\xa5K").is_none());
    }
}
