//! References as JSON of kerchunk, version 1.
//!
//! Each array is written as soon as it is known, so memory holds the references of one array at a time.

mod read;

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sciformats::{Error, File, Result};
use serde_json::{Map, Value, json};

use crate::bare;
use crate::chunks::Place;
use crate::model::{Options, Report, Sink, VirtualArray};
use crate::scan::scan;

pub use self::read::read;

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
