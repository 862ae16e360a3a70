//! References as a stream of lines, of which the program `sciformats-icechunk` makes an Icechunk repository.
//!
//! The program is a workspace of its own, because the crate `icechunk` asks for a newer compiler. It knows nothing of the files: the
//! stream has the metadata of Zarr 3, and where each chunk is.
//!
//! | line, in JSON | what it says |
//! |---|---|
//! | `{"version":1,"files":[{"url":…,"etag":…},{"url":…,"modified":…}]}` | the first line: the files, and what tells whether they have changed since |
//! | `{"key":"t/zarr.json","value":{…}}` | a group or an array |
//! | `{"key":"t/c/0","base64":…}` | the bytes of a chunk |
//! | `{"chunks":"/t"}` | the lines that follow are chunks of this array |
//! | `[[1,0],0,4096,100]` | the index of a chunk, the number of its file, the offset and the length |
//! | `{"end":true}` | the last line, without which nothing is to be committed |

use std::fmt::Write as _;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sciformats::{Error, Result};
use serde_json::{Map, Value, json};

use crate::attributes::{self, Elements};
use crate::bare;
use crate::chunks::Place;
use crate::kerchunk::prefix;
use crate::model::{Entry, Sink, Treatment, VirtualArray};

/// The version of the stream.
const VERSION: u32 = 1;

/// A file that ranges are in.
///
/// ```
/// use sciformats_references::icechunk::Located;
///
/// let file = Located::new("file:///data/run #1.h5").with_modified(1_700_000_000);
/// assert_eq!(file.url, "file:///data/run%20%231.h5");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Located {
    /// Its URL.
    pub url: String,
    /// The entity tag by which its server tells it from other versions.
    pub etag: Option<String>,
    /// The first full second since 1970 at which it was not changed any more.
    pub modified: Option<u32>,
}

impl Located {
    /// A file at a URL. In those of local files, characters get the form that URLs have for them.
    pub fn new(url: &str) -> Self {
        let url = match url.strip_prefix("file://") {
            Some(path) => format!("file://{}", encoded(path)),
            None => url.into(),
        };
        Self { url, etag: None, modified: None }
    }

    /// Sets the entity tag.
    #[must_use]
    pub fn with_etag(self, etag: impl Into<String>) -> Self {
        Self { etag: Some(etag.into()), ..self }
    }

    /// Sets the time of the last change.
    #[must_use]
    pub fn with_modified(self, seconds: u32) -> Self {
        Self { modified: Some(seconds), ..self }
    }
}

/// Returns a path as URLs have it.
fn encoded(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                out.push(byte.into());
            }
            // Writing to a String cannot fail.
            _ => _ = write!(out, "%{byte:02X}"),
        }
    }
    out
}

/// Receives groups and arrays, and writes their lines at once.
pub struct Writer<'a> {
    out: &'a mut dyn Write,
    files: usize,
    refused: Vec<Entry>,
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("refused", &self.refused).finish_non_exhaustive()
    }
}

impl<'a> Writer<'a> {
    /// Begins with the files that ranges are in.
    ///
    /// # Errors
    /// `Io` if the output cannot be written.
    pub fn new(out: &'a mut dyn Write, files: &[Located]) -> Result<Self> {
        let told = |file: &Located| json!({"url": file.url, "etag": file.etag, "modified": file.modified});
        let all: Vec<Value> = files.iter().map(told).collect();
        let mut writer = Self { out, files: files.len(), refused: Vec::new() };
        writer.line(&json!({"version": VERSION, "files": all}).to_string())?;
        Ok(writer)
    }

    /// Completes the output, and returns the arrays that Zarr 3 cannot hold, with the reasons.
    ///
    /// # Errors
    /// `Io` if the output cannot be written.
    pub fn finish(mut self) -> Result<Vec<Entry>> {
        self.line(&json!({"end": true}).to_string())?;
        self.out.flush().map_err(unwritten)?;
        Ok(self.refused)
    }

    fn line(&mut self, text: &str) -> Result<()> {
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.write_all(b"\n")).map_err(unwritten)
    }
}

fn unwritten(error: std::io::Error) -> Error {
    Error::io("write the references", error)
}

impl Sink for Writer<'_> {
    fn group(&mut self, path: &str, attributes: &Map<String, Value>) -> Result<()> {
        let key = format!("{}zarr.json", prefix(path));
        let value = json!({"zarr_format": 3, "node_type": "group", "attributes": bare::strict(&Value::Object(attributes.clone()))});
        self.line(&json!({"key": key, "value": value}).to_string())
    }

    fn array(&mut self, array: &VirtualArray) -> Result<()> {
        let metadata = match metadata(array) {
            Ok(metadata) => metadata,
            Err(reason) => {
                let treatment = Treatment::Refused { reason };
                self.refused.push(Entry { path: array.path.clone(), treatment });
                return Ok(());
            }
        };
        let at = prefix(&array.path);
        self.line(&json!({"key": format!("{at}zarr.json"), "value": metadata}).to_string())?;
        let (mut index, mut line, mut told) = (Vec::new(), String::new(), false);
        for (number, place) in array.chunks.iter() {
            index.clear();
            array.chunks.index(number, &mut index);
            line.clear();
            match place {
                Place::Bytes(bytes) => {
                    let mut key = format!("{at}c");
                    index.iter().for_each(|n| _ = write!(key, "/{n}"));
                    line.push_str(&json!({"key": key, "base64": STANDARD.encode(bytes)}).to_string());
                }
                Place::Range { file, offset, length } => {
                    if usize::try_from(file).ok().is_none_or(|file| file >= self.files) {
                        return Err(Error::usage("file", "has no URL"));
                    }
                    if !std::mem::replace(&mut told, true) {
                        self.line(&json!({"chunks": array.path}).to_string())?;
                    }
                    line.push_str("[[");
                    for (axis, n) in index.iter().enumerate() {
                        let _ = write!(line, "{}{n}", if axis == 0 { "" } else { "," });
                    }
                    let _ = write!(line, "],{file},{offset},{length}]");
                }
            }
            self.line(&line)?;
        }
        Ok(())
    }
}

/// The metadata of an array in Zarr 3.
///
/// # Errors
/// The reason why it has none.
fn metadata(array: &VirtualArray) -> std::result::Result<Value, String> {
    // Indexes of chunks have 32 bits.
    if array.chunks.grid().iter().any(|count| u32::try_from(*count).is_err()) {
        return Err("Icechunk counts the chunks along a dimension with 32 bits".into());
    }
    let told = data_type(&array.dtype)?;
    let fill = match (&array.fill, &told.zero) {
        (Value::Null, zero) => zero.clone(),
        // The fill value of floating-point numbers may be a whole number.
        (fill, Value::Number(zero)) if zero.is_f64() => {
            fill.as_f64().map_or_else(|| fill.clone(), Value::from)
        }
        (fill, _) => fill.clone(),
    };
    let mut codecs = Vec::new();
    if array.columns && array.shape.len() > 1 {
        let order: Vec<usize> = (0..array.shape.len()).rev().collect();
        codecs.push(json!({"name": "transpose", "configuration": {"order": order}}));
    }
    let mut filters = array.filters.as_slice();
    if told.text {
        match filters {
            [first, rest @ ..] if first.get("id").and_then(Value::as_str) == Some("vlen-utf8") => {
                filters = rest;
            }
            _ => return Err("its objects are no texts".into()),
        }
        codecs.push(json!({"name": "vlen-utf8", "configuration": {}}));
    } else {
        let order = if told.big { "big" } else { "little" };
        codecs.push(json!({"name": "bytes", "configuration": {"endian": order}}));
    }
    for filter in filters {
        let mut configuration = filter.as_object().cloned().unwrap_or_default();
        let id = configuration.remove("id");
        let id = id.as_ref().and_then(Value::as_str).ok_or("one of its filters has no name")?;
        // zarr-python has the codecs of numcodecs under names of their own, and those of the package `sciformats` as they are.
        let name = if id.starts_with("sciformats.") { id.to_owned() } else { format!("numcodecs.{id}") };
        codecs.push(json!({"name": name, "configuration": configuration}));
    }
    let mut attributes = array.attributes.clone();
    if array.marked {
        attributes.insert("_FillValue".into(), bare::of_fill(&array.fill));
    }
    let _ = attributes::mark_in_zarr3(&mut attributes, told.elements);
    Ok(json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": array.shape,
        "data_type": told.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": array.chunk_shape}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": codecs,
        "attributes": bare::strict(&Value::Object(attributes)),
        "dimension_names": array.dimensions,
        "storage_transformers": [],
    }))
}

/// A type of elements in Zarr 3.
struct DataType {
    name: Value,
    /// The fill value of zero bytes.
    zero: Value,
    /// Whether numbers are big-endian; `None` if the order makes no difference.
    order: Option<bool>,
    big: bool,
    elements: Elements,
    text: bool,
    /// The number of bytes.
    size: usize,
}

/// Returns the type of Zarr 3 for one of NumPy.
///
/// # Errors
/// The reason why there is none.
fn data_type(dtype: &Value) -> std::result::Result<DataType, String> {
    let unknown = || format!("Zarr 3 has no type for {dtype}");
    let Some(text) = dtype.as_str() else { return fields(dtype.as_array().ok_or_else(unknown)?) };
    let kind = text.get(1..2).ok_or_else(unknown)?;
    let size: Option<usize> = text.get(2..).and_then(|digits| digits.parse().ok());
    let size = if text == "|O" { 0 } else { size.ok_or_else(unknown)? };
    let zeros = || Value::from(STANDARD.encode(vec![0; size]));
    let length = |name: &str| json!({"name": name, "configuration": {"length_bytes": size}});
    let bits = size.saturating_mul(8); // a bound: at most 16 bytes, or the text is unknown
    let (name, zero) = match (kind, size) {
        ("b", 1) => ("bool".into(), json!(false)),
        ("i", 1 | 2 | 4 | 8) => (format!("int{bits}").into(), json!(0)),
        ("u", 1 | 2 | 4 | 8) => (format!("uint{bits}").into(), json!(0)),
        ("f", 2 | 4 | 8) => (format!("float{bits}").into(), json!(0.0)),
        ("c", 8 | 16) => (format!("complex{bits}").into(), json!([0.0, 0.0])),
        ("S", 1..) => (length("null_terminated_bytes"), "".into()),
        ("V", 1..) => (length("raw_bytes"), zeros()),
        ("O", _) => ("string".into(), "".into()),
        _ => return Err(unknown()),
    };
    let order = match text.get(..1) {
        Some("<") => Some(false),
        Some(">") => Some(true),
        _ => None,
    };
    let big = order == Some(true);
    let elements = match kind {
        "f" => Elements::Floats(size),
        "c" => Elements::Complex,
        "i" | "u" | "b" => Elements::Whole,
        _ => Elements::Others,
    };
    Ok(DataType { name, zero, order, big, elements, text: kind == "O", size })
}

/// Returns the type of a record.
fn fields(all: &[Value]) -> std::result::Result<DataType, String> {
    let (mut names, mut order, mut size) = (Vec::new(), None, 0usize);
    for field in all {
        let pair = field.as_array().and_then(|pair| Some((pair.first()?, pair.get(1)?)));
        let (name, inner) = pair.ok_or("a field has no name or no type")?;
        let told = data_type(inner)?;
        if told.text {
            return Err("a field of its compound has no fixed size".into());
        }
        if told.order.is_some() && order.is_some() && told.order != order {
            return Err("the fields of its compound differ in byte order, which Zarr 3 cannot say".into());
        }
        order = order.or(told.order);
        size = size.checked_add(told.size).ok_or("its compound is too large")?;
        names.push(json!([name, told.name]));
    }
    let name = json!({"name": "structured", "configuration": {"fields": names}});
    let zero = STANDARD.encode(vec![0; size]).into();
    Ok(DataType {
        name,
        zero,
        order,
        big: order == Some(true),
        elements: Elements::Others,
        text: false,
        size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunks::Chunks;

    fn array(dtype: Value, fill: Value) -> VirtualArray {
        VirtualArray {
            path: "/g/a".into(),
            shape: vec![4, 3],
            chunk_shape: vec![2, 3],
            dtype,
            fill,
            marked: false,
            columns: false,
            filters: Vec::new(),
            attributes: Map::new(),
            dimensions: vec!["y".into(), "x".into()],
            chunks: Chunks::new(vec![2, 1]),
        }
    }

    #[test]
    fn lines_say_where_chunks_are() {
        let mut out = Vec::new();
        let files = [Located::new("s3://bucket/a.h5").with_etag("\"7\"")];
        let mut writer = Writer::new(&mut out, &files).unwrap();
        writer.group("/g", &Map::new()).unwrap();
        let mut ranges = array("<i2".into(), json!(-9));
        ranges.filters =
            vec![json!({"id": "shuffle", "elementsize": 2}), json!({"id": "sciformats.hdf5", "size": 12})];
        ranges.chunks.push(1, 4096, 12);
        writer.array(&ranges).unwrap();
        let mut inlined = array(">f8".into(), json!(0));
        (inlined.path, inlined.chunks, inlined.columns) = ("/b".into(), Chunks::inlined(2, vec![1, 2]), true);
        writer.array(&inlined).unwrap();
        writer.array(&array(json!([["a", "<i4"], ["b", ">f8"]]), Value::Null)).unwrap();
        let refused = writer.finish().unwrap();
        assert!(refused.len() == 1 && refused[0].treatment.to_string().contains("byte order"), "{refused:?}");
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            lines[0]["files"][0],
            json!({"url": "s3://bucket/a.h5", "etag": "\"7\"", "modified": null})
        );
        assert_eq!(lines[1]["key"], "g/zarr.json");
        let told = &lines[2]["value"];
        assert_eq!((&told["data_type"], &told["fill_value"]), (&json!("int16"), &json!(-9)));
        let names: Vec<_> = told["codecs"].as_array().unwrap().iter().map(|codec| &codec["name"]).collect();
        assert_eq!(names, ["bytes", "numcodecs.shuffle", "sciformats.hdf5"]);
        assert_eq!(told["codecs"][1]["configuration"], json!({"elementsize": 2}));
        assert_eq!((&lines[3], &lines[4]), (&json!({"chunks": "/g/a"}), &json!([[1, 0], 0, 4096, 12])));
        let told = &lines[5]["value"];
        assert_eq!(told["codecs"][0], json!({"name": "transpose", "configuration": {"order": [1, 0]}}));
        assert_eq!(told["codecs"][1]["configuration"]["endian"], "big");
        assert!(told["fill_value"].is_f64());
        assert_eq!(lines[6], json!({"key": "b/c/0/0", "base64": "AQI="}));
        assert_eq!(lines[7], json!({"end": true}));
    }

    #[test]
    fn marks_of_missing_values_are_as_xarray_reads_them() {
        let mut marked = array("<f4".into(), json!("NaN"));
        marked.marked = true;
        let told = metadata(&marked).unwrap();
        assert_eq!(told["attributes"]["_FillValue"], "AAAAAAAA+H8=");
        assert_eq!(told["fill_value"], "NaN");
        let mut narrow = array("<f4".into(), json!(9e9));
        narrow.marked = true;
        let stored = STANDARD.encode(f64::from(9e9f32).to_le_bytes());
        assert_eq!(metadata(&narrow).unwrap()["attributes"]["_FillValue"], stored);
        let mut whole = array("<i4".into(), json!(-1));
        whole.marked = true;
        assert_eq!(metadata(&whole).unwrap()["attributes"]["_FillValue"], -1);
        let missing = array("<i4".into(), json!(5));
        assert_eq!(metadata(&missing).unwrap()["attributes"], json!({}));
    }

    #[test]
    fn every_type_has_a_name_or_a_reason() {
        for (dtype, name) in [("|b1", "bool"), ("|u1", "uint8"), (">c16", "complex128"), ("<f2", "float16")] {
            assert_eq!(data_type(&dtype.into()).unwrap().name, name);
        }
        assert_eq!(data_type(&"|S5".into()).unwrap().name["configuration"]["length_bytes"], 5);
        let record = data_type(&json!([["a", ">i4"], ["b", "|u1"], ["c", [["d", ">f8"]]]])).unwrap();
        assert!(record.big && record.size == 13);
        for wrong in [
            json!("<q8"),
            json!("<f16"),
            json!(""),
            json!("é"),
            json!(3),
            json!([["a"]]),
            json!([["a", "|O"]]),
        ] {
            assert!(data_type(&wrong).is_err(), "{wrong}");
        }
        assert!(metadata(&array("|O".into(), Value::Null)).is_err());
    }
}
