//! Types of elements in the notation of NumPy.

use std::collections::HashSet;

use sciformats::{ElementType, Name};
use serde_json::{Value, json};

/// Returns whether elements are truth values of one byte: as such, or as the enumeration that h5py and NumPy's users know them by.
pub(crate) fn is_boolean(element: &ElementType) -> bool {
    match element {
        ElementType::Bool => true,
        ElementType::Enum { base, members } => {
            let named = |name: &[u8], value: i128| {
                members.iter().any(|(member, number)| member.as_bytes() == name && *number == value)
            };
            base.size() == Some(1) && members.len() == 2 && named(b"FALSE", 0) && named(b"TRUE", 1)
        }
        _ => false,
    }
}

/// The attribute with the names of the values of an enumeration, which Zarr has no type for.
pub(crate) const NAMES: &str = "enumeration";

/// Returns the names of the values of an enumeration with the values; `None` for other elements, and for truth values, which need none.
pub(crate) fn names(element: &ElementType) -> Option<Value> {
    let ElementType::Enum { members, .. } = element else { return None };
    if is_boolean(element) {
        return None;
    }
    let number = |value: i128| match i64::try_from(value) {
        Ok(value) => Value::from(value),
        Err(_) => u64::try_from(value).map_or_else(|_| Value::from(value.to_string()), Value::from),
    };
    Some(Value::Object(
        members.iter().map(|(name, value)| (name.shown().into_owned(), number(*value))).collect(),
    ))
}

/// Returns whether numbers of a form of their own, such as `long double`, become others of 8 bytes in NumPy's notation.
pub(crate) fn narrows(element: &ElementType) -> bool {
    match element {
        ElementType::FloatOther => true,
        ElementType::Array { element, .. } => narrows(element),
        ElementType::Compound(fields) => fields.iter().any(|(_, field)| narrows(field)),
        _ => false,
    }
}

/// Returns whether a compound has a text as a field.
pub(crate) fn has_text_field(element: &ElementType) -> bool {
    match element {
        ElementType::Compound(fields) => {
            fields.iter().any(|(_, field)| *field == ElementType::Text || has_text_field(field))
        }
        _ => false,
    }
}

/// Returns whether a compound has a compound as a field.
pub(crate) fn is_nested(element: &ElementType) -> bool {
    match element {
        ElementType::Compound(fields) => {
            fields.iter().any(|(_, field)| matches!(field, ElementType::Compound(_)))
        }
        ElementType::Array { element, .. } => is_nested(element),
        _ => false,
    }
}

/// Checks the names of the fields of a compound, and that none of them is an array.
///
/// # Errors
/// The reason why readers of Zarr cannot have such fields.
pub(crate) fn fields(fields: &[(Name, ElementType)]) -> Result<(), String> {
    let mut names = HashSet::new();
    for (name, field) in fields {
        let name = std::str::from_utf8(name.as_bytes()).map_err(|_| "the name of a field is not UTF-8")?;
        if name.is_empty() || !names.insert(name) {
            return Err("two fields have the same name, or one has none".into());
        }
        if matches!(field, ElementType::Array { .. }) {
            return Err("a compound contains an array, which Zarr readers do not agree on".into());
        }
    }
    if fields.is_empty() { Err("a compound has no fields".into()) } else { Ok(()) }
}

/// Returns a type in which the fields of inner records stand beside the others, as `inner.x`: their bytes are the same, and zarr-python 3.1
/// reads no records in records.
///
/// # Errors
/// The reason if two fields would have the same name.
pub(crate) fn flat(dtype: &Value) -> Result<Value, String> {
    let Some(fields) = dtype.as_array() else { return Ok(dtype.clone()) };
    let (mut all, mut names) = (Vec::new(), HashSet::new());
    for field in fields {
        let named = (field.get(0).and_then(Value::as_str), field.get(1));
        let (Some(name), Some(inner)) = named else { return Err("a field has no name or no type".into()) };
        match flat(inner)? {
            Value::Array(inner) => {
                for field in inner {
                    let parts = (field.get(0).and_then(Value::as_str), field.get(1));
                    if let (Some(own), Some(dtype)) = parts {
                        all.push((format!("{name}.{own}"), dtype.clone()));
                    }
                }
            }
            dtype => all.push((name.to_owned(), dtype)),
        }
    }
    if let Some((name, _)) = all.iter().find(|(name, _)| !names.insert(name.as_str())) {
        return Err(format!("two fields of its records in records would be called {name}"));
    }
    Ok(all.into_iter().map(|(name, dtype)| json!([name, dtype])).collect())
}

/// Returns the type of canonical elements, and the dimensions that it adds to those of the array.
///
/// # Errors
/// The reason why NumPy has no such type.
pub(crate) fn canonical(element: &ElementType) -> Result<(Value, Vec<u64>), String> {
    let text = match element {
        ElementType::Int(1) => "|i1".into(),
        ElementType::UInt(1) | ElementType::Bits(1) => "|u1".into(),
        ElementType::Int(n @ (2 | 4 | 8)) => format!("<i{n}"),
        ElementType::UInt(n @ (2 | 4 | 8)) => format!("<u{n}"),
        ElementType::Bits(n @ (2 | 4 | 8)) => format!("<u{n}"),
        ElementType::F16 => "<f2".into(),
        ElementType::F32 => "<f4".into(),
        ElementType::F64 | ElementType::FloatOther => "<f8".into(),
        ElementType::Complex(n @ (8 | 16)) => format!("<c{n}"),
        boolean if is_boolean(boolean) => "|b1".into(),
        ElementType::Opaque(n) if *n > 0 => format!("|V{n}"),
        ElementType::Enum { base, .. } => return canonical(base),
        ElementType::Array { element, shape } => {
            let (base, inner) = canonical(element)?;
            return Ok((base, shape.iter().copied().chain(inner).collect()));
        }
        ElementType::Compound(all) => {
            fields(all)?;
            let all = all.iter().map(|(name, field)| Ok(json!([name.shown(), canonical(field)?.0])));
            return Ok((Value::Array(all.collect::<Result<_, String>>()?), Vec::new()));
        }
        other => return Err(format!("NumPy has no type for {other}")),
    };
    Ok((Value::String(text), Vec::new()))
}
