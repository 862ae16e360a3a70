//! References as JSON of kerchunk, version 1.
//!
//! Each array is written as soon as it is known, so memory holds the references of one array at a time.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sciformats::{Error, File, Result};
use serde_json::{Map, Value, json};

use crate::bare;
use crate::chunks::{Chunks, Place};
use crate::combine::Existing;
use crate::model::{Options, Report, Sink, VirtualArray};
use crate::scan::scan;

/// Writes the references to a file.
///
/// # Errors
/// `Io` if the output cannot be written. What cannot be referenced is an entry of the report.
pub fn write(file: &File, options: &Options, out: &mut dyn Write) -> Result<Report> {
    let mut writer = Writer::new(out, std::slice::from_ref(&options.url))?;
    let report = scan(file, options, &mut writer)?;
    writer.finish()?;
    Ok(report)
}

/// Receives groups and arrays, and writes them at once.
pub struct Writer<'a> {
    out: &'a mut dyn Write,
    /// The URLs as JSON.
    urls: Vec<String>,
    first: bool,
    marks: bool,
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("urls", &self.urls).finish_non_exhaustive()
    }
}

impl<'a> Writer<'a> {
    /// Begins with the URLs of the files that ranges are in.
    ///
    /// # Errors
    /// `Io` if the output cannot be written.
    pub fn new(out: &'a mut dyn Write, urls: &[String]) -> Result<Self> {
        // Templates keep the URLs out of every reference. With them, readers would take braces of a URL for a template, too.
        let plain = urls.iter().any(|url| url.contains("{{"));
        let name = |number: usize| if urls.len() == 1 { "u".to_owned() } else { format!("u{number}") };
        let named = urls.iter().enumerate().filter(|_| !plain);
        let templates: Map<String, Value> =
            named.map(|(number, url)| (name(number), url.as_str().into())).collect();
        let shown = |(number, url): (usize, &String)| match plain {
            true => text(url),
            false => text(&format!("{{{{{}}}}}", name(number))),
        };
        let names = urls.iter().enumerate().map(shown).collect();
        let mut writer = Self { out, urls: names, first: true, marks: false };
        let templates = Value::Object(templates);
        writer.put(format_args!("{{\"version\":1,\"templates\":{templates},\"refs\":{{"))?;
        Ok(writer)
    }

    /// Keeps marks of missing values among the attributes, too. Readers of Zarr 2 find them in the fill values, but those of Zarr 3 do not.
    #[must_use]
    pub fn with_marks(self) -> Self {
        Self { marks: true, ..self }
    }

    /// Completes the output.
    ///
    /// # Errors
    /// `Io` if the output cannot be written.
    pub fn finish(mut self) -> Result<()> {
        self.put(format_args!("\n}}}}\n"))?;
        self.out.flush().map_err(|error| Error::io("write the references", error))
    }

    fn put(&mut self, what: std::fmt::Arguments<'_>) -> Result<()> {
        self.out.write_fmt(what).map_err(|error| Error::io("write the references", error))
    }

    fn key(&mut self, key: &str) -> Result<()> {
        let comma = if std::mem::take(&mut self.first) { "" } else { "," };
        self.put(format_args!("{comma}\n{}:", text(key)))
    }

    /// Writes metadata, which is a text of JSON.
    fn metadata(&mut self, key: &str, value: &Value) -> Result<()> {
        self.key(key)?;
        self.put(format_args!("{}", text(&bare::text(&value.to_string()))))
    }
}

impl Sink for Writer<'_> {
    fn group(&mut self, path: &str, attributes: &Map<String, Value>) -> Result<()> {
        let at = prefix(path);
        self.metadata(&format!("{at}.zgroup"), &json!({"zarr_format": 2}))?;
        self.metadata(&format!("{at}.zattrs"), &Value::Object(attributes.clone()))
    }

    fn array(&mut self, array: &VirtualArray) -> Result<()> {
        let at = prefix(&array.path);
        self.metadata(&format!("{at}.zarray"), &metadata(array))?;
        let mut attributes = attributes(array);
        if let (true, Some(all)) = (self.marks && array.marked, attributes.as_object_mut()) {
            all.insert("_FillValue".into(), bare::of_fill(&array.fill));
        }
        self.metadata(&format!("{at}.zattrs"), &attributes)?;
        // The keys of chunks differ in their digits and points only.
        let quoted = text(&at);
        let start = quoted.strip_suffix('"').unwrap_or(&quoted);
        let (mut index, mut line) = (Vec::new(), String::new());
        for (number, place) in array.chunks.iter() {
            index.clear();
            array.chunks.index(number, &mut index);
            line.clear();
            line.push_str(if std::mem::take(&mut self.first) { "\n" } else { ",\n" });
            line.push_str(start);
            name(&index, &mut line);
            line.push_str("\":");
            match place {
                Place::Bytes(bytes) => {
                    line.push_str("\"base64:");
                    STANDARD.encode_string(bytes, &mut line);
                    line.push('"');
                }
                Place::Range { file, offset, length } => {
                    let url = usize::try_from(file).ok().and_then(|file| self.urls.get(file));
                    line.push('[');
                    line.push_str(url.ok_or_else(|| Error::usage("file", "has no URL"))?);
                    for part in [offset, length] {
                        line.push(',');
                        digits(part, &mut line);
                    }
                    line.push(']');
                }
            }
            self.out.write_all(line.as_bytes()).map_err(|error| Error::io("write the references", error))?;
        }
        Ok(())
    }
}

/// Reads references, to which later files are added with [`extend`](crate::extend). Their arrays must have metadata of Zarr 2, and their
/// templates must be names in place of URLs, as this crate and kerchunk write them.
///
/// ```
/// use sciformats_references::kerchunk;
///
/// let json = br#"{"version": 1, "templates": {"u": "s3://bucket/a.h5"}, "refs": {
///     ".zgroup": "{\"zarr_format\":2}", "t/0": ["{{u}}", 100, 16],
///     "t/.zarray": "{\"shape\":[2],\"chunks\":[2],\"dtype\":\"<f8\",\"fill_value\":null,\"order\":\"C\",\"filters\":null,\"compressor\":null,\"zarr_format\":2}",
///     "t/.zattrs": "{\"_ARRAY_DIMENSIONS\":[\"x\"]}"}}"#;
/// assert_eq!(kerchunk::read(json)?.urls, ["s3://bucket/a.h5"]);
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
/// `Unsupported` if the text is not JSON, or if it has something that this crate would not write.
pub fn read(json: &[u8]) -> Result<Existing> {
    let all = bare::parse(json)
        .map_err(|error| Error::unsupported(format!("a file of references that is not JSON ({error})")))?;
    let odd = |what: &str| Error::unsupported(format!("adding to references because {what}"));
    if all.get("version").and_then(Value::as_u64) != Some(1) {
        return Err(odd("their version is not 1"));
    }
    if all.get("gen").is_some() {
        return Err(odd("some of them are generated by templates (`gen`)"));
    }
    let templates = all.get("templates").and_then(Value::as_object).cloned().unwrap_or_default();
    let refs = all.get("refs").and_then(Value::as_object).ok_or_else(|| odd("`refs` is missing"))?;
    let mut existing = Existing::default();
    let mut numbers: HashMap<String, u64> = HashMap::new();
    let text = |value: &Value| -> Result<Value> {
        match value {
            Value::String(text) => {
                bare::parse(text.as_bytes()).map_err(|_| odd("the metadata of an array is not JSON"))
            }
            value => Ok(value.clone()),
        }
    };
    let attributes = |prefix: &str| -> Result<Map<String, Value>> {
        let found = refs.get(&format!("{prefix}.zattrs")).map(text).transpose()?;
        Ok(found.and_then(|found| found.as_object().cloned()).unwrap_or_default())
    };
    // The files keep their numbers, which the names end with.
    let mut named: Vec<(&String, &Value)> = templates.iter().collect();
    named.sort_by_key(|(name, _)| (name.len(), *name));
    for (name, url) in named {
        let url = url.as_str().ok_or_else(|| odd("a template is not a text"))?;
        let count = existing.urls.len() as u64;
        numbers.insert(format!("{{{{{name}}}}}"), count);
        existing.urls.push(url.into());
    }
    let mut arrays: BTreeMap<String, VirtualArray> = BTreeMap::new();
    for (key, value) in refs {
        if let Some(prefix) = key.strip_suffix(".zgroup") {
            existing.found.groups.push((format!("/{}", prefix.trim_end_matches('/')), attributes(prefix)?));
        } else if let Some(prefix) = key.strip_suffix(".zarray") {
            let path = prefix.trim_end_matches('/');
            arrays.insert(path.into(), described(&text(value)?, path, attributes(prefix)?)?);
        }
    }
    for (key, value) in refs {
        let (path, name) = key.rsplit_once('/').unwrap_or(("", key));
        if name.starts_with(".z") {
            continue;
        }
        let array = arrays.get_mut(path).ok_or_else(|| odd("a chunk belongs to no array"))?;
        let index: Option<Vec<u64>> = name.split('.').map(|part| part.parse().ok()).collect();
        let index =
            index.map(|index| if array.shape.is_empty() && index == [0] { Vec::new() } else { index });
        let number = index
            .and_then(|index| array.chunks.number(&index))
            .ok_or_else(|| odd("a chunk is outside of its array"))?;
        match value {
            Value::String(text) => {
                let bytes = match text.strip_prefix("base64:") {
                    Some(text) => {
                        STANDARD.decode(text).map_err(|_| odd("the bytes of a chunk are not base64"))?
                    }
                    None => text.as_bytes().to_vec(),
                };
                if !array.chunks.is_empty()
                    || number != 0
                    || array.chunks.grid().iter().any(|count| *count != 1)
                {
                    return Err(odd("an array has several chunks, one of which is inlined"));
                }
                array.chunks = Chunks::inlined(array.shape.len(), bytes);
            }
            Value::Array(place) => {
                let (Some(url), Some(offset), Some(length)) = (
                    place.first().and_then(Value::as_str),
                    place.get(1).and_then(Value::as_u64),
                    place.get(2).and_then(Value::as_u64),
                ) else {
                    return Err(odd("a chunk is a whole file instead of a range"));
                };
                let file = match numbers.get(url) {
                    Some(file) => *file,
                    None => {
                        let count = existing.urls.len() as u64;
                        existing.urls.push(url.into());
                        numbers.insert(url.into(), count);
                        count
                    }
                };
                array.chunks.push_of(file, number, offset, length);
            }
            _ => return Err(odd("a chunk is neither bytes nor a range")),
        }
    }
    for mut array in arrays.into_values() {
        if !array.chunks.sort() {
            return Err(odd("two chunks have the same index"));
        }
        // Missing chunks are zeros then, which those of later files must not change.
        let missing = crate::extent::count(array.chunks.grid()).is_ok_and(|count| count > array.chunks.len());
        let kind = array.dtype.as_str().and_then(|dtype| dtype.get(1..2));
        if array.fill.is_null() && missing {
            array.fill = match kind {
                Some("b") => json!(false),
                Some("i" | "u" | "f") => json!(0),
                _ => Value::Null,
            };
        }
        existing.found.arrays.push(array);
    }
    existing.found.groups.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(existing)
}

/// Returns an array without its chunks.
fn described(zarray: &Value, path: &str, mut attributes: Map<String, Value>) -> Result<VirtualArray> {
    let odd =
        |what: &str| Error::unsupported(format!("adding to references because the array {path} {what}"));
    let numbers = |name: &str| -> Option<Vec<u64>> {
        zarray.get(name)?.as_array()?.iter().map(Value::as_u64).collect()
    };
    let shape = numbers("shape").ok_or_else(|| odd("has no shape"))?;
    let sides = numbers("chunks").filter(|sides| sides.len() == shape.len() && !sides.contains(&0));
    let chunk_shape = sides.ok_or_else(|| odd("has no chunks"))?;
    if zarray.get("compressor").is_some_and(|compressor| !compressor.is_null()) {
        return Err(odd("has a compressor beside its filters"));
    }
    let dimensions = attributes.remove("_ARRAY_DIMENSIONS");
    let dimensions: Option<Vec<String>> = dimensions
        .as_ref()
        .and_then(Value::as_array)
        .and_then(|names| names.iter().map(|name| name.as_str().map(str::to_owned)).collect());
    let grid: Vec<u64> = shape.iter().zip(&chunk_shape).map(|(n, side)| n.div_ceil(*side)).collect();
    grid.iter().try_fold(1u64, |all, n| all.checked_mul(*n)).ok_or_else(|| odd("has too many chunks"))?;
    Ok(VirtualArray {
        path: format!("/{path}"),
        shape,
        chunk_shape,
        dtype: zarray.get("dtype").cloned().ok_or_else(|| odd("has no type"))?,
        fill: zarray.get("fill_value").cloned().unwrap_or(Value::Null),
        // Readers of Zarr 2 take every fill value for such a mark.
        marked: !zarray.get("fill_value").unwrap_or(&Value::Null).is_null(),
        columns: zarray.get("order").and_then(Value::as_str) == Some("F"),
        filters: zarray.get("filters").and_then(Value::as_array).cloned().unwrap_or_default(),
        attributes,
        dimensions: dimensions.ok_or_else(|| odd("has no names of its dimensions"))?,
        chunks: Chunks::new(grid),
    })
}

/// The metadata of an array in Zarr 2.
pub(crate) fn metadata(array: &VirtualArray) -> Value {
    let filters = if array.filters.is_empty() { Value::Null } else { Value::Array(array.filters.clone()) };
    // Readers of Zarr 2 take every fill value for a mark of missing values, and without one they read zeros.
    let fill = if array.fills_with_zeros() && !array.marked { &Value::Null } else { &array.fill };
    json!({
        "zarr_format": 2,
        "shape": array.shape,
        "chunks": array.chunk_shape,
        "dtype": array.dtype,
        "fill_value": fill,
        "order": if array.columns { "F" } else { "C" },
        "filters": filters,
        "compressor": null,
        "dimension_separator": ".",
    })
}

/// The attributes of an array, with the names of its dimensions as xarray reads them.
pub(crate) fn attributes(array: &VirtualArray) -> Value {
    let mut attributes = array.attributes.clone();
    attributes.insert("_ARRAY_DIMENSIONS".into(), json!(array.dimensions));
    Value::Object(attributes)
}

/// Appends the name of a chunk: its index along each dimension, or `0` if there is none.
fn name(index: &[u64], out: &mut String) {
    if index.is_empty() {
        out.push('0');
    }
    for (axis, at) in index.iter().enumerate() {
        if axis > 0 {
            out.push('.');
        }
        digits(*at, out);
    }
}

/// Appends a number. There are three of them for each chunk, so that the machinery of formatting would take most of the time.
fn digits(number: u64, out: &mut String) {
    let (mut rest, mut power) = (number, 1u64);
    while rest / power >= 10 {
        power *= 10;
    }
    while power > 0 {
        // A digit is less than 10.
        out.push(char::from(b'0' + (rest / power) as u8));
        rest %= power;
        power /= 10;
    }
}

/// The beginning of the keys of an object.
pub(crate) fn prefix(path: &str) -> String {
    match path.trim_start_matches('/') {
        "" => String::new(),
        path => format!("{path}/"),
    }
}

fn text(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sciformats::Format;
    use sciformats::memory::{Memory, array, texts};

    #[test]
    fn numbers_have_all_their_digits() {
        for number in [0, 1, 9, 10, 99, 100, 1_000_000_007, u64::MAX] {
            let mut out = String::new();
            digits(number, &mut out);
            assert_eq!(out, number.to_string());
        }
    }

    #[test]
    fn missing_chunks_of_existing_references_stay_zeros() {
        let array = |grid: &str| {
            format!(
                "{{\"shape\":[4],\"chunks\":[2],\"dtype\":\"{grid}\",\"fill_value\":null,\"filters\":null}}"
            )
        };
        let attributes = "{\"_ARRAY_DIMENSIONS\":[\"x\"]}";
        let json = json!({"version": 1, "refs": {
            "part/.zarray": array("<i4"), "part/.zattrs": attributes, "part/0": ["a.h5", 0, 8],
            "whole/.zarray": array("<i4"), "whole/.zattrs": attributes, "whole/0": ["a.h5", 0, 8], "whole/1": ["a.h5", 8, 8],
            "text/.zarray": array("|S4"), "text/.zattrs": attributes,
        }});
        let existing = read(json.to_string().as_bytes()).unwrap();
        let fills = existing.found.arrays.iter().map(|array| (array.path.as_str(), array.fill.clone()));
        let fills: Vec<_> = fills.collect();
        assert_eq!(fills, [("/part", json!(0)), ("/text", Value::Null), ("/whole", Value::Null)]);
        // Readers of Zarr 2 get no mark of missing values.
        assert!(existing.found.arrays.iter().all(|array| metadata(array)["fill_value"].is_null()));
    }

    #[test]
    fn every_object_is_written_or_in_the_report() {
        let mut tree = Memory::new(Format::Hdf5);
        let fields = tree.group(tree.root(), "fields");
        tree.array(fields, "u", array::<u16>(&[2], &[1, 515]));
        tree.array(fields, "names", texts(&[2], &["a", "bc"]));
        tree.array(fields, "large", array::<u8>(&[100], &[0; 100]));
        let mut options = Options::new("s3://bucket/a.h5");
        options.inline = 64;
        let mut out = Vec::new();
        let report = write(&File::from(tree), &options, &mut out).unwrap();
        let json: Value = serde_json::from_slice(&out).unwrap();
        let refs = json.get("refs").and_then(Value::as_object).unwrap();
        assert_eq!(json.get("version"), Some(&json!(1)));
        assert_eq!(refs.get("fields/u/0"), Some(&json!("base64:AQADAg==")));
        assert_eq!(refs.get("fields/names/0"), Some(&json!("base64:AgAAAAEAAABhAgAAAGJj")));
        let array = refs.get("fields/u/.zarray").and_then(Value::as_str).unwrap();
        assert_eq!(serde_json::from_str::<Value>(array).unwrap().get("dtype"), Some(&json!("<u2")));
        assert!(!refs.keys().any(|key| key.starts_with("fields/large")));
        let words: Vec<_> =
            report.entries.iter().map(|entry| (&*entry.path, entry.treatment.word())).collect();
        assert_eq!(
            words,
            [("/fields/large", "refused"), ("/fields/names", "inlined"), ("/fields/u", "inlined")]
        );
        assert!(!report.is_complete());
    }
}
