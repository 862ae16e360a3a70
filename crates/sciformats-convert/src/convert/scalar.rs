//! Converts scalars to arrays without dimensions, and back.

use sciformats::memory::MemoryArray;
use sciformats::model::{ArrayInfo, Datum, Decoder, ElementType, Value};

/// Returns a scalar as an array without dimensions; `None` if no type fits.
pub(super) fn to_array(value: &Value) -> Option<MemoryArray> {
    let (element, bytes) = match value {
        Value::Bool(value) => (ElementType::Bool, vec![u8::from(*value)]),
        Value::Integer(digits) => match digits.parse::<i64>() {
            Ok(number) => (ElementType::Int(8), number.to_le_bytes().to_vec()),
            Err(_) => (ElementType::UInt(8), digits.parse::<u64>().ok()?.to_le_bytes().to_vec()),
        },
        Value::Float(value) => (ElementType::F64, value.to_le_bytes().to_vec()),
        Value::Text(text) => {
            let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
            bytes.extend(text.as_bytes());
            (ElementType::Text, bytes)
        }
        Value::Null | Value::List(_) | Value::Complex(..) | Value::Bytes(_) | Value::Record(_) => {
            return None;
        }
    };
    Some(MemoryArray { info: ArrayInfo::new(element, []), bytes })
}

/// Returns the scalar that [`to_array`] would turn into this array; `None` if there is none.
pub(super) fn from_array(array: &MemoryArray) -> Option<Value> {
    if array.info.shape.as_deref() != Some(&[]) {
        return None;
    }
    let datum = Decoder::new(&array.info.element, &array.bytes).next()?.ok()?;
    let value = match (&array.info.element, datum) {
        (ElementType::Bool, Datum::Bool(value)) => Value::Bool(value),
        (ElementType::Int(8), Datum::Int(value)) => Value::from(value),
        (ElementType::UInt(8), Datum::UInt(value)) => Value::from(u64::try_from(value).ok()?),
        (ElementType::F64, Datum::Float(value, _)) => Value::Float(value),
        (ElementType::Text, Datum::Text(text)) => Value::from(std::str::from_utf8(text).ok()?),
        _ => return None,
    };
    // A number that fits both integer types may come back as the other one, and a NaN may lose its payload.
    (to_array(&value).as_ref() == Some(array)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sciformats::memory::{array, texts};

    #[test]
    fn there_and_back() {
        for value in [
            Value::Bool(true),
            Value::from(-5),
            Value::from(u64::MAX),
            Value::Float(-0.0),
            Value::from(""),
            Value::from("µ\n"),
        ] {
            assert_eq!(from_array(&to_array(&value).unwrap()), Some(value));
        }
        for value in [Value::Null, Value::List(vec![]), Value::from(-1i128 << 64)] {
            assert_eq!(to_array(&value), None);
        }
        for other in
            [array::<u64>(&[], &[7]), array::<i64>(&[1], &[7]), array::<i32>(&[], &[7]), texts(&[1], &["a"])]
        {
            assert_eq!(from_array(&other), None);
        }
    }
}
