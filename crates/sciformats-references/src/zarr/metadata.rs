//! The metadata of arrays, `zarr.json`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sciformats::ElementType;
use serde_json::{Map, Value, json};

use super::codec::{Codec, Numbers};

/// What the metadata of an array says, apart from its attributes.
#[derive(Clone, Debug)]
pub(super) struct Described {
    pub(super) shape: Vec<u64>,
    pub(super) element: ElementType,
    /// The shape of what one file has: a chunk, or a shard.
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
    let float = |value: &Value| match value.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => value.as_f64(),
    };
    // The first bytes of a little-endian number are those of a narrower one.
    let first =
        |bytes: &[u8], n: u64| usize::try_from(n).ok().and_then(|n| bytes.get(..n)).map(<[u8]>::to_vec);
    if value.is_null() {
        return Ok(vec![0; if *element == ElementType::Text { 8 } else { size.ok_or_else(wrong)? }]);
    }
    let found = match element {
        ElementType::Bool => value.as_bool().map(|value| vec![u8::from(value)]),
        ElementType::Int(n) => value.as_i64().and_then(|value| first(&value.to_le_bytes(), (*n).into())),
        ElementType::UInt(n) => value.as_u64().and_then(|value| first(&value.to_le_bytes(), (*n).into())),
        ElementType::F64 => float(value).map(|value| value.to_le_bytes().to_vec()),
        // The cast rounds, as the writer of the fill value did.
        ElementType::F32 => float(value).map(|value| (value as f32).to_le_bytes().to_vec()),
        ElementType::F16 if float(value) == Some(0.0) => Some(vec![0, 0]),
        ElementType::F16 if float(value).is_some_and(f64::is_nan) => Some(vec![0, 0x7e]),
        ElementType::Complex(n) => {
            let part = value
                .as_array()
                .filter(|parts| parts.len() == 2)
                .map(|parts| parts.iter().map(float).collect::<Option<Vec<f64>>>());
            part.flatten().map(|parts| {
                parts
                    .iter()
                    .flat_map(|part| match n {
                        8 => (*part as f32).to_le_bytes().to_vec(),
                        _ => part.to_le_bytes().to_vec(),
                    })
                    .collect()
            })
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
