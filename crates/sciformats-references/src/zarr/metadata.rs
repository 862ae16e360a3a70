//! The metadata of arrays, `zarr.json`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sciformats::ElementType;
use sciformats_core::number::Float16;
use serde_json::{Map, Value, json};

use super::codec::{Codec, Numbers};
use crate::bare;

/// What the metadata of an array says, apart from its attributes.
#[derive(Clone, Debug)]
pub(super) struct Described {
    pub(super) shape: Vec<u64>,
    pub(super) element: ElementType,
    /// The shape of the part that one file holds: a chunk or a shard.
    pub(super) file_shape: Vec<u64>,
    /// The shape of the chunks in a shard, and whether the index of a shard is at its end.
    pub(super) inner: Option<(Vec<u64>, bool)>,
    /// Whether the stored elements are big-endian.
    pub(super) big: bool,
    /// The codecs of a chunk, of the whole shard, and of its index, after that which makes bytes of elements.
    pub(super) codecs: Vec<Codec>,
    pub(super) outer: Vec<Codec>,
    pub(super) index: Vec<Codec>,
    /// One element, in canonical form, of chunks that are missing.
    pub(super) fill: Vec<u8>,
    /// What separates the parts of the keys of chunks, and whether `c` comes first.
    pub(super) separator: char,
    pub(super) prefixed: bool,
    pub(super) dimensions: Option<Vec<String>>,
}

/// Returns the type in the words of Zarr 3, with the fill value of zero bytes.
///
/// # Errors
/// The reason why Zarr has no such type.
pub(super) fn data_type(element: &ElementType) -> Result<(Value, Value), String> {
    let bits = |n: u64| n.saturating_mul(8); // a bound: at most 16 bytes
    Ok(match element {
        ElementType::Bool => ("bool".into(), false.into()),
        ElementType::Int(n @ (1 | 2 | 4 | 8)) => (format!("int{}", bits((*n).into())).into(), 0.into()),
        ElementType::UInt(n @ (1 | 2 | 4 | 8)) => (format!("uint{}", bits((*n).into())).into(), 0.into()),
        ElementType::Bits(n @ (1 | 2 | 4 | 8)) => (format!("uint{}", bits(*n)).into(), 0.into()),
        ElementType::F16 => ("float16".into(), json!(0.0)),
        ElementType::F32 => ("float32".into(), json!(0.0)),
        ElementType::F64 | ElementType::FloatOther => ("float64".into(), json!(0.0)),
        ElementType::Complex(n @ (8 | 16)) => {
            (format!("complex{}", bits((*n).into())).into(), json!([0.0, 0.0]))
        }
        ElementType::Enum { base, .. } => return data_type(base),
        ElementType::Text => ("string".into(), "".into()),
        ElementType::Opaque(n) if *n > 0 => {
            let zeros = usize::try_from(*n).map(|n| STANDARD.encode(vec![0; n])).unwrap_or_default();
            (json!({"name": "raw_bytes", "configuration": {"length_bytes": n}}), zeros.into())
        }
        ElementType::Compound(fields) => {
            let mut all = Vec::new();
            for (name, field) in fields {
                let name =
                    std::str::from_utf8(name.as_bytes()).map_err(|_| "the name of a field is not UTF-8")?;
                if field.size().is_none() || matches!(field, ElementType::Array { .. }) {
                    return Err("a field of its compound is an array or has no fixed size".into());
                }
                all.push(json!([name, data_type(field)?.0]));
            }
            let size = element.size().and_then(|size| usize::try_from(size).ok()).filter(|size| *size > 0);
            let zeros = vec![0; size.ok_or("its compound has no size")?];
            (json!({"name": "structured", "configuration": {"fields": all}}), STANDARD.encode(zeros).into())
        }
        other => return Err(format!("Zarr has no type for {other}")),
    })
}

/// Returns the type of canonical elements, and the dimensions that it adds to those of the array.
pub(super) fn without_arrays(element: &ElementType) -> (&ElementType, Vec<u64>) {
    match element {
        ElementType::Array { element, shape } => {
            let (base, inner) = without_arrays(element);
            (base, shape.iter().copied().chain(inner).collect())
        }
        other => (other, Vec::new()),
    }
}

/// Reads metadata.
///
/// # Errors
/// What is wrong or unknown.
pub(super) fn parse(json: &Value) -> Result<Described, String> {
    let object = json.as_object().ok_or("the metadata is not an object")?;
    if let Some(extra) = object.iter().find(|(name, value)| {
        !KNOWN.contains(&name.as_str()) && value.get("must_understand") != Some(&Value::Bool(false))
    }) {
        return Err(format!("the metadata has an unknown member {}", extra.0));
    }
    if object.get("storage_transformers").and_then(Value::as_array).is_some_and(|all| !all.is_empty()) {
        return Err("the array has storage transformers".into());
    }
    let shape = sides(object.get("shape"), 0).ok_or("the shape is not a list of numbers")?;
    let element = element(object.get("data_type").ok_or("the data type is missing")?)?;
    let (name, grid) = extension(object.get("chunk_grid").ok_or("the chunk grid is missing")?)?;
    let file_shape = sides(grid.get("chunk_shape"), 1).filter(|_| name == "regular");
    let file_shape =
        file_shape.filter(|sides| sides.len() == shape.len()).ok_or("the chunk grid is not regular")?;
    let (name, keys) = extension(object.get("chunk_key_encoding").ok_or("the encoding of keys is missing")?)?;
    let prefixed = match name {
        "default" => true,
        "v2" => false,
        other => return Err(format!("the encoding of keys {other} is unknown")),
    };
    let separator = match keys.get("separator").and_then(Value::as_str) {
        Some(".") => '.',
        Some("/") => '/',
        None if prefixed => '/',
        None => '.',
        Some(_) => return Err("the separator of keys is neither a point nor a slash".into()),
    };
    let all = object.get("codecs").and_then(Value::as_array).ok_or("the codecs are missing")?;
    let mut described = Described {
        shape,
        fill: fill(object.get("fill_value").unwrap_or(&Value::Null), &element)?,
        element,
        file_shape,
        inner: None,
        big: false,
        codecs: Vec::new(),
        outer: Vec::new(),
        index: Vec::new(),
        separator,
        prefixed,
        dimensions: object
            .get("dimension_names")
            .and_then(Value::as_array)
            .map(|names| names.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect()),
    };
    let Some((first, rest)) = all.split_first() else { return Err("the codecs are missing".into()) };
    let (name, shard) = extension(first)?;
    if name != "sharding_indexed" {
        (described.big, described.codecs) = codecs(all, &described.element)?;
        return Ok(described);
    }
    let inner = sides(shard.get("chunk_shape"), 1).ok_or("the chunks of a shard have no shape")?;
    let whole = inner.len() == described.file_shape.len()
        && described.file_shape.iter().zip(&inner).all(|(outer, inner)| outer.is_multiple_of(*inner));
    if !whole {
        return Err("the chunks of a shard do not fill it".into());
    }
    let list =
        |name: &str| shard.get(name).and_then(Value::as_array).ok_or(format!("{name} of shards is missing"));
    (described.big, described.codecs) = codecs(list("codecs")?, &described.element)?;
    described.outer = rest.iter().map(codec).collect::<Result<_, _>>()?;
    let (big, index) = codecs(list("index_codecs")?, &ElementType::UInt(8))?;
    if big || index.iter().any(|codec| *codec != Codec::Crc32c) {
        return Err("the index of shards is not little-endian numbers with a checksum".into());
    }
    described.index = index;
    let end = match shard.get("index_location").and_then(Value::as_str) {
        None | Some("end") => true,
        Some("start") => false,
        Some(_) => return Err("the index of shards is neither at the start nor at the end".into()),
    };
    described.inner = Some((inner, end));
    Ok(described)
}

/// The members of the metadata of an array.
const KNOWN: [&str; 11] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "dimension_names",
    "storage_transformers",
];

/// Returns the name and the configuration of an extension.
fn extension(value: &Value) -> Result<(&str, Map<String, Value>), String> {
    if let Some(name) = value.as_str() {
        return Ok((name, Map::new()));
    }
    let name = value.get("name").and_then(Value::as_str).ok_or("an extension has no name")?;
    Ok((name, value.get("configuration").and_then(Value::as_object).cloned().unwrap_or_default()))
}

fn sides(value: Option<&Value>, least: u64) -> Option<Vec<u64>> {
    let all: Vec<u64> = value?.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
    all.iter().all(|side| *side >= least).then_some(all)
}

/// Returns the byte order, and the codecs of bytes.
fn codecs(all: &[Value], element: &ElementType) -> Result<(bool, Vec<Codec>), String> {
    let Some((first, rest)) = all.split_first() else { return Err("the codecs are missing".into()) };
    let (name, configuration) = extension(first)?;
    // It takes the place of the codec that makes bytes of elements.
    if name == "numcodecs.pcodec" || name == "pcodec" {
        let numbers = Numbers::of(element).ok_or(format!("pcodec does not compress {element}"))?;
        let mut all = vec![Codec::Pcodec(numbers, 8)];
        for value in rest {
            all.push(codec(value)?);
        }
        return Ok((false, all));
    }
    let text = *element == ElementType::Text;
    let big = match (name, text) {
        ("bytes", false) => configuration.get("endian").and_then(Value::as_str) == Some("big"),
        ("vlen-utf8", true) => false,
        (other, _) => return Err(format!("the codec {other} is unknown in this place")),
    };
    if big && element.size() != Some(1) && !(element.is_real() || matches!(element, ElementType::Complex(_)))
    {
        return Err(format!("big-endian {element} is unknown"));
    }
    Ok((big, rest.iter().map(codec).collect::<Result<_, _>>()?))
}

fn codec(value: &Value) -> Result<Codec, String> {
    let (name, configuration) = extension(value)?;
    let level = configuration.get("level").and_then(Value::as_i64);
    Ok(match name {
        "gzip" => Codec::Gzip(level.and_then(|level| u32::try_from(level).ok()).unwrap_or(5).min(9)),
        "zstd" => Codec::Zstd(level.and_then(|level| i32::try_from(level).ok()).unwrap_or(3)),
        "crc32c" => Codec::Crc32c,
        // zarr-python has the codecs of numcodecs under names of their own.
        "blosc" | "numcodecs.blosc" => Codec::Blosc,
        other => {
            return Err(format!(
                "the codec {other} is unknown; blosc, gzip, pcodec, zstd, crc32c and sharding_indexed are known"
            ));
        }
    })
}

/// Returns the type of elements.
pub(super) fn element(value: &Value) -> Result<ElementType, String> {
    let (name, configuration) = extension(value)?;
    let length =
        || configuration.get("length_bytes").and_then(Value::as_u64).filter(|n| *n > 0 && *n < 1 << 31);
    Ok(match name {
        "bool" => ElementType::Bool,
        "int8" => ElementType::Int(1),
        "int16" => ElementType::Int(2),
        "int32" => ElementType::Int(4),
        "int64" => ElementType::Int(8),
        "uint8" => ElementType::UInt(1),
        "uint16" => ElementType::UInt(2),
        "uint32" => ElementType::UInt(4),
        "uint64" => ElementType::UInt(8),
        "float16" => ElementType::F16,
        "float32" => ElementType::F32,
        "float64" => ElementType::F64,
        "complex64" => ElementType::Complex(8),
        "complex128" => ElementType::Complex(16),
        "string" => ElementType::Text,
        "raw_bytes" => ElementType::Opaque(length().ok_or("the length of raw bytes is missing")?),
        "structured" | "struct" => {
            let fields =
                configuration.get("fields").and_then(Value::as_array).ok_or("a compound has no fields")?;
            let mut all = Vec::new();
            for field in fields {
                let pair = field.as_array().and_then(|pair| Some((pair.first()?, pair.get(1)?)));
                let named = || Some((field.get("name")?, field.get("data_type")?));
                let (name, data_type) = pair.or_else(named).ok_or("a field has no name or no type")?;
                let name = name.as_str().ok_or("the name of a field is not a text")?;
                let inner = element(data_type)?;
                if inner.size().is_none() {
                    return Err("a field of a compound has no fixed size".into());
                }
                all.push((name.into(), inner));
            }
            ElementType::Compound(all)
        }
        other => return Err(format!("the data type {other} is unknown")),
    })
}

/// Returns one element of missing chunks in canonical form.
fn fill(value: &Value, element: &ElementType) -> Result<Vec<u8>, String> {
    let wrong = || format!("the fill value {value} is not a value of {element}");
    let size = element.size().and_then(|size| usize::try_from(size).ok());
    // The first bytes of a little-endian number are those of a narrower one.
    let first =
        |bytes: &[u8], n: u64| usize::try_from(n).ok().and_then(|n| bytes.get(..n)).map(<[u8]>::to_vec);
    if value.is_null() {
        return Ok(vec![0; if *element == ElementType::Text { 8 } else { size.ok_or_else(wrong)? }]);
    }
    let found = match element {
        ElementType::Bool => value.as_bool().map(|value| vec![u8::from(value)]),
        ElementType::Int(n) => {
            let bits = u32::from(*n).saturating_mul(8).saturating_sub(1).min(63); // a bound
            let value = value.as_i64().filter(|value| matches!(value >> bits, 0 | -1));
            value.and_then(|value| first(&value.to_le_bytes(), (*n).into()))
        }
        ElementType::UInt(n) => {
            let bits = u32::from(*n).saturating_mul(8); // a bound
            let value = value.as_u64().filter(|value| value.checked_shr(bits).unwrap_or(0) == 0);
            value.and_then(|value| first(&value.to_le_bytes(), (*n).into()))
        }
        ElementType::F64 => float(value, 8),
        ElementType::F32 => float(value, 4),
        ElementType::F16 => float(value, 2),
        ElementType::Complex(n) => value
            .as_array()
            .filter(|parts| parts.len() == 2)
            .and_then(|parts| {
                parts.iter().map(|part| float(part, usize::from(n / 2))).collect::<Option<Vec<_>>>()
            })
            .map(|parts| parts.concat()),
        // Each field by its name, as zarr-python writes it, or the bytes of all of them.
        ElementType::Compound(fields) if value.is_object() => {
            let named = value.as_object().filter(|named| named.len() == fields.len()).ok_or_else(wrong)?;
            let mut all = Vec::new();
            for (name, field) in fields {
                let value = std::str::from_utf8(name.as_bytes()).ok().and_then(|name| named.get(name));
                all.extend(fill(value.ok_or_else(wrong)?, field)?);
            }
            Some(all).filter(|bytes| Some(bytes.len()) == size)
        }
        ElementType::Text => value.as_str().map(|text| {
            let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
            bytes.extend(text.as_bytes());
            bytes
        }),
        ElementType::Opaque(_) | ElementType::Compound(_) => value
            .as_str()
            .and_then(|text| STANDARD.decode(text).ok())
            .filter(|bytes| Some(bytes.len()) == size),
        _ => None,
    };
    found.ok_or_else(wrong)
}

/// Returns a floating-point number of so many bytes: a number, the name of one, or its bits.
fn float(value: &Value, size: usize) -> Option<Vec<u8>> {
    let number = match value.as_str() {
        Some("NaN") => f64::NAN,
        Some("Infinity") => f64::INFINITY,
        Some("-Infinity") => f64::NEG_INFINITY,
        Some(text) => {
            let digits = text.strip_prefix("0x").filter(|digits| digits.len() == size.saturating_mul(2))?;
            let bits = u64::from_str_radix(digits, 16).ok()?;
            return bits.to_le_bytes().get(..size).map(<[u8]>::to_vec);
        }
        None => bare::number(value)?,
    };
    // All of them round, as the writer of the number did.
    Some(match size {
        2 => Float16::nearest(number).0.to_le_bytes().to_vec(),
        4 => (number as f32).to_le_bytes().to_vec(),
        _ => number.to_le_bytes().to_vec(),
    })
}

/// Returns the attribute `_FillValue` of an array as one element in canonical form. xarray writes floating-point numbers as the base64 of
/// their eight bytes, and the parts of complex numbers too. `None` if it is no such element.
pub(super) fn mark(value: &Value, element: &ElementType) -> Option<Vec<u8>> {
    let decoded = |value: &Value| {
        let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
        let number = bytes.and_then(|bytes| <[u8; 8]>::try_from(bytes).ok()).map(f64::from_le_bytes);
        match number {
            Some(number) if number.is_nan() => "NaN".into(),
            Some(number) if number.is_infinite() => {
                if number > 0.0 { "Infinity" } else { "-Infinity" }.into()
            }
            Some(number) => json!(number),
            None => value.clone(),
        }
    };
    let value = match (element, value) {
        (ElementType::F16 | ElementType::F32 | ElementType::F64, value) => decoded(value),
        (ElementType::Complex(_), Value::Array(parts)) => parts.iter().map(decoded).collect(),
        (ElementType::Bool | ElementType::Int(_) | ElementType::UInt(_), value) => value.clone(),
        _ => return None,
    };
    // Null is no mark.
    fill(&value, element).ok().filter(|_| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_values_have_many_forms() {
        let record =
            ElementType::Compound(vec![("a".into(), ElementType::Int(2)), ("b".into(), ElementType::F32)]);
        assert_eq!(fill(&json!({"b": 1.5, "a": -1}), &record).unwrap(), [0xff, 0xff, 0, 0, 0xc0, 0x3f]);
        assert_eq!(fill(&json!("//8AAMA/"), &record).unwrap(), [0xff, 0xff, 0, 0, 0xc0, 0x3f]);
        assert!(fill(&json!({"a": 1}), &record).is_err() && fill(&json!({"a": 1, "c": 1}), &record).is_err());
        assert_eq!(fill(&json!(0.5), &ElementType::F16).unwrap(), [0, 0x38]);
        assert_eq!(fill(&json!("-Infinity"), &ElementType::F16).unwrap(), [0, 0xfc]);
        assert_eq!(fill(&json!("0x7fc00001"), &ElementType::F32).unwrap(), [1, 0, 0xc0, 0x7f]);
        assert!(fill(&json!("0x7fc0"), &ElementType::F32).is_err());
        assert!(
            fill(&json!(300), &ElementType::Int(1)).is_err()
                && fill(&json!(-1), &ElementType::UInt(2)).is_err()
        );
        assert_eq!(
            fill(&json!([1, "NaN"]), &ElementType::Complex(8)).unwrap(),
            [0, 0, 128, 63, 0, 0, 192, 127]
        );
    }

    #[test]
    fn marks_of_missing_values_become_elements() {
        let wanted = (-9999f32).to_le_bytes().to_vec();
        assert_eq!(mark(&json!("AAAAAICHw8A="), &ElementType::F32), Some(wanted.clone()));
        assert_eq!(mark(&json!(-9999), &ElementType::F32), Some(wanted));
        assert_eq!(mark(&json!("AAAAAAAA+H8="), &ElementType::F16), Some(vec![0, 0x7e]));
        assert_eq!(mark(&json!(-128), &ElementType::Int(1)), Some(vec![0x80]));
        assert_eq!(mark(&json!(255), &ElementType::UInt(1)), Some(vec![0xff]));
        for (value, element) in [
            (json!(128), ElementType::Int(1)),
            (json!(-129), ElementType::Int(1)),
            (json!(256), ElementType::UInt(1)),
            (json!("none"), ElementType::F32),
            (json!(null), ElementType::F32),
            (json!("AAAAAICHw8A="), ElementType::Text),
        ] {
            assert_eq!(mark(&value, &element), None, "{value} {element}");
        }
    }
}
