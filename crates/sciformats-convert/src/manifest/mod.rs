//! The content manifest: it describes what a file means, with one JSON object per line, and is the same for
//! every way of storing the contents.
//!
//! The first line names the format. After it there is one line per object in canonical order, each followed
//! by the attributes of the object. Elements are represented by the SHA-256 of their canonical bytes. Memory
//! is bounded by a few pieces of an array.

use std::io::{self, Write};
use std::ops::ControlFlow;

use sciformats_core::{Error, Slab};
mod types;

pub use types::element_type;

use sha2::{Digest, Sha256};

use crate::numpy::Times;
use sciformats::File;
use sciformats::model::{ArrayInfo, Attribute, ElementType, Object, ObjectId, write_text};
use sciformats::options::Unfolding;
use sciformats::walk::{Entry, Found, breadth_first};
use sciformats::{Result, source::Source};

/// The action in the [`Error::Io`] that [`write()`] returns if its output cannot be written. Every other
/// error is about reading the file.
///
/// ```
/// use sciformats::{Error, File, Format, memory};
/// use sciformats_convert::manifest;
///
/// let file = File::from(memory::Memory::single(Format::Npy, memory::array::<u8>(&[1], &[7])));
/// let mut full: &mut [u8] = &mut [0; 3]; // there is more to say
/// let error = manifest::write(&file, &mut full).unwrap_err();
/// assert!(matches!(error, Error::Io { action: manifest::WRITE, .. }));
/// ```
pub const WRITE: &str = "write the manifest";

/// What was written.
///
/// ```
/// use sciformats_convert::manifest;
///
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let mut out = Vec::new();
/// let summary = manifest::write(&file, &mut out)?;
/// assert_eq!((summary.lines, summary.errors), (5, 0)); // the format, `/`, `/fields`, `/fields/u` and its attribute
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The number of lines, including the first one.
    pub lines: u64,
    /// The number of lines that have an error instead of contents.
    pub errors: u64,
}

/// Writes the manifest of `file`. An object that cannot be read has a line with an `error`, and the walk
/// continues.
///
/// # Errors
///
/// `Io` if `out` cannot be written to.
///
/// ```
/// use sciformats::memory::{Memory, array};
/// use sciformats::{File, Format};
/// use sciformats_convert::manifest;
///
/// let file = File::from(Memory::single(Format::RawArray, array::<u8>(&[0], &[])));
/// let mut out = Vec::new();
/// let summary = manifest::write(&file, &mut out)?;
/// assert_eq!((summary.lines, summary.errors), (2, 0));
/// assert!(out.starts_with(b"{\"manifest\":1,\"format\":\"rawarray\"}\n{\"path\":\"/\",\"kind\":\"array\",\"type\":\"u1\",\"shape\":[0],"));
/// # Ok::<(), sciformats::Error>(())
/// ```
pub fn write(file: &File, out: &mut impl Write) -> Result<Summary> {
    let (summary, unfolding) = (Summary::default(), file.unfolding());
    let mut writer = Writer { file, out, summary, line: String::new(), unfolding };
    writer.run().map_err(|e| Error::io(WRITE, e))?;
    Ok(writer.summary)
}

struct Writer<'a, W> {
    file: &'a File,
    out: &'a mut W,
    summary: Summary,
    line: String,
    unfolding: Unfolding,
}

impl<W: Write> Writer<'_, W> {
    fn run(&mut self) -> io::Result<()> {
        let file = self.file;
        let format = file.format().word();
        self.line = format!(r#"{{"manifest":1,"format":"{format}""#);
        self.end_line()?;
        let mut failure = None;
        let source = file.source();
        let _ = breadth_first(source, ("/", source.root()), file.limits(), &mut |entry| match self
            .entry(source, entry)
        {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        });
        failure.map_or_else(|| self.out.flush(), Err)
    }

    fn entry(&mut self, source: &dyn Source, entry: Entry) -> io::Result<()> {
        let path = entry.path;
        match entry.what {
            Found::Object(id, object) => {
                self.object(&path, id, object)?;
                return self.attributes(source, &path, id);
            }
            Found::HardLink(target) => {
                self.start(&path, "hardlink");
                self.text("target", &target);
            }
            Found::Soft(target) => {
                self.start(&path, "softlink");
                self.text("target", &target.shown());
            }
            Found::External { file, target } => {
                self.start(&path, "extlink");
                self.text("file", &file.shown());
                self.text("target", &target.shown());
            }
            Found::User(class) => {
                self.start(&path, "userlink");
                self.raw("class", &class.to_string());
            }
            Found::Unreadable(error) => {
                self.start(&path, "unknown");
                self.error(&error);
            }
            Found::Unlisted(error) => {
                self.start(&path, "group");
                self.error(&error);
            }
        }
        self.end_line()
    }

    fn object(&mut self, path: &str, id: ObjectId, object: Object) -> io::Result<()> {
        self.start(path, object.kind().word());
        match object {
            Object::Group => {}
            Object::Array(info) => {
                self.array_type(&info.element, info.shape.as_deref());
                if let Some(times) = Times::of(&info) {
                    self.text("times", &times.to_string());
                }
                let digest = digest(self.file, &self.unfolding, (id, &info));
                self.digest(digest);
            }
            Object::Datatype(element) => self.raw("type", &element.to_json()),
            Object::Value(value) => self.raw("value", &value.to_json()),
            Object::Damaged { error, .. } => self.error(&error),
        }
        self.end_line()
    }

    fn attributes(&mut self, source: &dyn Source, path: &str, id: ObjectId) -> io::Result<()> {
        let attributes = match source.attributes(id) {
            Ok(attributes) => attributes,
            Err(error) => return self.attribute_error(path, &error),
        };
        for attribute in attributes {
            match attribute {
                Ok(attribute) => self.attribute(path, attribute)?,
                Err(error) => self.attribute_error(path, &error)?,
            }
        }
        Ok(())
    }

    fn attribute(&mut self, path: &str, attribute: Attribute) -> io::Result<()> {
        self.start(path, "attribute");
        self.text("name", &attribute.name.shown());
        match attribute.value {
            Ok(value) => {
                self.array_type(&value.element, value.shape.as_deref());
                self.digest(value.data.map(|data| Sha256::digest(&data).into()));
            }
            Err(error) => self.error(&error),
        }
        self.end_line()
    }

    /// Writes a line without a name for a list of attributes that cannot be read to its end.
    fn attribute_error(&mut self, path: &str, error: &Error) -> io::Result<()> {
        self.start(path, "attribute");
        self.error(error);
        self.end_line()
    }

    fn array_type(&mut self, element: &ElementType, shape: Option<&[u64]>) {
        self.raw("type", &element.to_json());
        let shape = shape.map_or_else(|| "null".into(), |shape| serde_json::json!(shape).to_string());
        self.raw("shape", &shape);
    }

    fn digest(&mut self, digest: Result<[u8; 32]>) {
        match digest {
            Ok(digest) => {
                let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                self.text("sha256", &hex);
            }
            Err(error) => self.error(&error),
        }
    }

    fn start(&mut self, path: &str, kind: &str) {
        self.line.push_str(r#"{"path":"#);
        write_text(&mut self.line, path);
        self.text("kind", kind);
    }

    fn raw(&mut self, key: &str, json: &str) {
        self.line.push_str(",\"");
        self.line.push_str(key);
        self.line.push_str("\":");
        self.line.push_str(json);
    }

    fn text(&mut self, key: &str, text: &str) {
        self.raw(key, "");
        write_text(&mut self.line, text);
    }

    fn error(&mut self, error: &Error) {
        self.summary.errors += 1;
        self.text("error", &error.to_string());
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.line.push_str("}\n");
        self.summary.lines += 1;
        self.out.write_all(self.line.as_bytes())?;
        self.line.clear();
        Ok(())
    }
}

/// Returns the SHA-256 of the canonical bytes of an array.
fn digest(file: &File, unfolding: &Unfolding, (id, info): (ObjectId, &ArrayInfo)) -> Result<[u8; 32]> {
    let mut hash = Sha256::new();
    if let Some(shape) = info.shape.as_ref() {
        file.go_through(unfolding, (id, info), &Slab::all(shape)?, &mut |_, bytes| {
            hash.update(bytes);
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sciformats::memory::{Memory, MemoryArray, array, texts};
    use sciformats::{Format, Value};

    fn manifest(memory: Memory) -> (String, Summary) {
        let mut out = Vec::new();
        let summary = write(&File::from(memory), &mut out).unwrap();
        (String::from_utf8(out).unwrap(), summary)
    }

    #[test]
    fn every_kind_of_line() {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        let g = memory.group(root, "g");
        let d = memory.array(g, "d", array::<i32>(&[2, 1], &[1, -1]));
        memory.attribute(d, "units", texts(&[], &["m/s"]));
        memory.attribute(g, "empty", texts(&[0], &[]));
        memory.hard_link(root, "h", d);
        memory.soft_link(root, "s", "no/where");
        memory.external_link(root, "e", "f.h5", "/x");
        memory.user_link(root, "u", 65);
        memory.datatype(root, "t", ElementType::Opaque(3));
        memory.value(root, "v", Value::from(f64::NAN));
        memory.damage(root, "z");
        let null = MemoryArray {
            info: ArrayInfo { shape: None, ..ArrayInfo::new(ElementType::F64, []) },
            bytes: Vec::new(),
        };
        memory.array(root, "null", null);
        let (text, summary) = manifest(memory);
        let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        // SHA-256 of 01000000 ffffffff, and of 0300000000000000 6d2f73.
        let numbers = "5e4cd12de0e5c9eb7aab5fdd2bdd3d6ee8bd8d97c2dcea4c1b50ca07d0ad7b67";
        let expected = format!(
            r#"{{"manifest":1,"format":"hdf5"}}
{{"path":"/","kind":"group"}}
{{"path":"/e","kind":"extlink","file":"f.h5","target":"/x"}}
{{"path":"/g","kind":"group"}}
{{"path":"/g","kind":"attribute","name":"empty","type":"str","shape":[0],"sha256":"{nothing}"}}
{{"path":"/h","kind":"array","type":"i4","shape":[2,1],"sha256":"{numbers}"}}
{{"path":"/h","kind":"attribute","name":"units","type":"str","shape":[],"sha256":"TEXT"}}
{{"path":"/null","kind":"array","type":"f8","shape":null,"sha256":"{nothing}"}}
{{"path":"/s","kind":"softlink","target":"no/where"}}
{{"path":"/t","kind":"datatype","type":{{"opaque":3}}}}
{{"path":"/u","kind":"userlink","class":65}}
{{"path":"/v","kind":"value","value":"NaN"}}
{{"path":"/z","kind":"array","error":"malformed object at offset 0x40: it is truncated"}}
{{"path":"/g/d","kind":"hardlink","target":"/h"}}
"#
        );
        let hash =
            |bytes: &[u8]| -> String { Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect() };
        let expected = expected
            .replace(numbers, &hash(&[1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]))
            .replace("TEXT", &hash(b"\x03\0\0\0\0\0\0\0m/s"));
        assert_eq!(text, expected);
        assert_eq!(summary, Summary { lines: 14, errors: 1 });
    }

    #[test]
    fn a_large_array_is_hashed_piece_by_piece() {
        let values: Vec<u32> = (0..3 << 20).collect();
        let memory = Memory::single(Format::Blosc2, array(&[3, 1 << 20], &values));
        let (text, _) = manifest(memory);
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let hex: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
        assert!(text.contains(&hex));
    }

    #[test]
    fn a_full_disk_is_an_error() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let file = File::from(Memory::new(Format::Hdf5));
        assert!(matches!(write(&file, &mut Full), Err(Error::Io { .. })));
    }
}
