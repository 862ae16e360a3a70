//! Types of elements in the notation of NumPy.

use sciformats::ElementType;
use serde_json::{Value, json};

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
        ElementType::Bool => "|b1".into(),
        ElementType::Opaque(n) if *n > 0 => format!("|V{n}"),
        ElementType::Enum { base, .. } => return canonical(base),
        ElementType::Array { element, shape } => {
            let (base, inner) = canonical(element)?;
            return Ok((base, shape.iter().copied().chain(inner).collect()));
        }
        ElementType::Compound(fields) => {
            let mut all: Vec<Value> = Vec::new();
            for (name, field) in fields {
                let name =
                    std::str::from_utf8(name.as_bytes()).map_err(|_| "the name of a field is not UTF-8")?;
                let taken = all.iter().any(|other| other.get(0).and_then(Value::as_str) == Some(name));
                if name.is_empty() || taken {
                    return Err("two fields have the same name, or one has none".into());
                }
                if matches!(field, ElementType::Array { .. }) {
                    return Err("a compound contains an array, which Zarr readers do not agree on".into());
                }
                let (dtype, _) = canonical(field)?;
                all.push(json!([name, dtype]));
            }
            if all.is_empty() {
                return Err("a compound has no fields".into());
            }
            return Ok((Value::Array(all), Vec::new()));
        }
        other => return Err(format!("NumPy has no type for {other}")),
    };
    Ok((Value::String(text), Vec::new()))
}
