//! Writes GSD: chunk `name` of frame *i* is the array at `/frames/i/name`.

use std::ops::ControlFlow;
use std::path::Path;

use gsd_rs::{CreateOptions, Region, Version, Writer};
use sciformats_core::arith::{add, increase, sub};
use sciformats_core::storage::{Durability, FileStorage, Scratch};
use sciformats_core::{Error, WriteAt};

use super::{Elements, Filters, Handle, New, Place, Sink, WriteOptions, refuse_options, refused, rules};
use sciformats::model::{AttributeValue, Datum, Decoder, ElementType, Name};
use sciformats::{Format, Result};

/// Chunks up to this size are handed over at once; larger ones are reserved and filled piece by piece.
pub(crate) const SMALL: u64 = 16 << 20;

/// The frames and groups by their handles. The name of a chunk is put together from its groups.
struct Writing {
    /// The new file; `None` if nothing is written.
    scratch: Option<Scratch>,
    options: CreateOptions,
    /// What each handle stands for.
    places: Vec<Group>,
    /// The chunks in the order in which they were added: frame, name, elements.
    chunks: Vec<(u64, String, Elements)>,
}

#[derive(Clone)]
enum Group {
    Root,
    Frames,
    Frame(u64),
    /// A group within a frame: the beginning of the names of its chunks.
    Within(u64, String),
    Chunk,
}

pub(super) fn create(path: Option<&Path>, options: &WriteOptions) -> Result<Box<dyn Sink>> {
    refuse_options(Format::Gsd, options, Filters::Meaningless)?;
    let fact = |key: &str| options.fact(key).filter(|text| !text.is_empty());
    let application = fact("application").unwrap_or_else(|| "sciformats".into());
    let schema = fact("schema").unwrap_or_else(|| "none 1.0".into());
    let (schema, version) = schema_of(&schema);
    let create = CreateOptions::new(application, schema, version);
    let scratch = path.map(Scratch::beside).transpose()?;
    Ok(Box::new(Writing { scratch, options: create, places: Vec::new(), chunks: Vec::new() }))
}

/// Returns the schema that a fact names, and its version. The last word is only a version if it is written as one, and the schema of
/// a file may have no name.
fn schema_of(fact: &str) -> (&str, Version) {
    let (name, last) = fact.rsplit_once(' ').unwrap_or(("", fact));
    parsed(last).map_or((fact, Version::new(1, 0)), |version| (name, version))
}

fn parsed(version: &str) -> Option<Version> {
    let (major, minor) = version.split_once('.')?;
    Some(Version::new(major.parse().ok()?, minor.parse().ok()?))
}

impl Writing {
    fn group(&self, Handle(id): Handle) -> Result<&Group> {
        let group = usize::try_from(id).ok().and_then(|id| self.places.get(id));
        group.ok_or_else(|| Error::usage("place", "is in no group"))
    }

    /// Returns what an object of this name stands for.
    fn member(&self, parent: Handle, name: &Name) -> Result<Group> {
        let name = std::str::from_utf8(name.as_bytes());
        let name = name.map_err(|_| refused(Format::Gsd, "a name that is not UTF-8"))?;
        match self.group(parent)? {
            Group::Root if name == "frames" => Ok(Group::Frames),
            Group::Frames => match name.parse::<u64>() {
                // Another way to write the number of a frame would be a second group for the same frame.
                Ok(frame) if frame.to_string() == name => Ok(Group::Frame(frame)),
                _ => Err(refused(Format::Gsd, format!("a frame named {name:?}"))),
            },
            Group::Frame(frame) => Ok(Group::Within(*frame, name.into())),
            Group::Within(frame, prefix) => Ok(Group::Within(*frame, format!("{prefix}/{name}"))),
            Group::Root | Group::Chunk => Err(refused(Format::Gsd, format!("a member {name:?} here"))),
        }
    }
}

impl Sink for Writing {
    fn add(&mut self, place: Place<'_>, object: New<'_>) -> Result<Handle> {
        let group = match (place, &object) {
            (Place::Root, New::Group) if self.places.is_empty() => Group::Root,
            (Place::In(parent, name), New::Group) => self.member(parent, name)?,
            (Place::In(parent, name), New::Array(elements)) => {
                rules(Format::Gsd)?.check(elements)?;
                let Group::Within(frame, name) = self.member(parent, name)? else {
                    return Err(refused(Format::Gsd, "an array that is in no frame"));
                };
                self.chunks.push((frame, name, elements.clone()));
                Group::Chunk
            }
            _ => return Err(refused(Format::Gsd, "anything but groups and arrays")),
        };
        self.places.push(group);
        Ok(Handle(sub(self.places.len(), 1)? as u64))
    }

    fn attribute(&mut self, _: Handle, name: &Name, _: &AttributeValue) -> Result<()> {
        Err(refused(Format::Gsd, format!("an attribute such as {name}")))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let Some(scratch) = self.scratch.take() else { return Ok(()) };
        let last = self.places.iter().filter_map(|group| match group {
            Group::Frame(frame) => Some(*frame),
            _ => None,
        });
        let frames = match last.max() {
            Some(last) => add(last, 1)?,
            None => 0,
        };
        // Chunks of the same frame keep their order.
        self.chunks.sort_by_key(|(frame, ..)| *frame);
        let path = scratch.path().to_owned();
        let mut writer = Writer::create(&path, &self.options)?;
        writer.set_durability(Durability::Process);
        let mut chunks = self.chunks.into_iter().peekable();
        for frame in 0..frames {
            while let Some((_, name, elements)) = chunks.next_if(|(of, ..)| *of == frame) {
                chunk(&mut writer, &path, &name, &elements)?;
            }
            writer.end_frame()?;
        }
        writer.finish()?;
        scratch.finish(Durability::Process)
    }
}

fn chunk(writer: &mut Writer, path: &Path, name: &str, elements: &Elements) -> Result<()> {
    use gsd_rs::ElementType as Stored;
    if elements.info.element == ElementType::Text {
        let bytes = elements.to_bytes()?;
        let text = match Decoder::new(&ElementType::Text, &bytes).next() {
            Some(Ok(Datum::Text(text))) => text,
            _ => return Err(refused(Format::Gsd, "an array without a text")),
        };
        return writer.write_bytes(name, Stored::Character, 1, text);
    }
    let (rows, columns) = match elements.dimensions()? {
        [rows] => (*rows, 1),
        [rows, columns] => {
            (*rows, u32::try_from(*columns).map_err(|_| refused(Format::Gsd, "rows of 2^32 elements"))?)
        }
        _ => return Err(refused(Format::Gsd, "an array of such a shape")),
    };
    let element = match &elements.info.element {
        ElementType::UInt(1) if is_text(elements) => Stored::Character,
        ElementType::UInt(1) => Stored::U8,
        ElementType::UInt(2) => Stored::U16,
        ElementType::UInt(4) => Stored::U32,
        ElementType::UInt(8) => Stored::U64,
        ElementType::Int(1) => Stored::I8,
        ElementType::Int(2) => Stored::I16,
        ElementType::Int(4) => Stored::I32,
        ElementType::Int(8) => Stored::I64,
        ElementType::F32 => Stored::F32,
        ElementType::F64 => Stored::F64,
        other => return Err(refused(Format::Gsd, format!("elements of type {other}"))),
    };
    if elements.info().logical().is_some_and(|size| size <= SMALL) {
        return writer.write_bytes(name, element, columns, &elements.to_bytes()?);
    }
    let region = reserve(writer, (name, element), (rows, columns))?;
    let mut storage = FileStorage::edit(path)?;
    let mut at = region.location;
    // Canonical bytes are packed and little-endian, as in the file.
    elements.for_each_piece(&mut |_, bytes| {
        storage.write_at(at, bytes)?;
        increase(&mut at, bytes.len() as u64)?;
        Ok(ControlFlow::Continue(()))
    })
}

/// Takes space for a chunk of any type, which is filled later.
pub(crate) fn reserve(
    writer: &mut Writer,
    (name, element): (&str, gsd_rs::ElementType),
    (rows, columns): (u64, u32),
) -> Result<Region> {
    use gsd_rs::ElementType as Stored;
    match element {
        Stored::U8 | Stored::Character => writer.reserve::<u8>(name, rows, columns),
        Stored::U16 => writer.reserve::<u16>(name, rows, columns),
        Stored::U32 => writer.reserve::<u32>(name, rows, columns),
        Stored::U64 => writer.reserve::<u64>(name, rows, columns),
        Stored::I8 => writer.reserve::<i8>(name, rows, columns),
        Stored::I16 => writer.reserve::<i16>(name, rows, columns),
        Stored::I32 => writer.reserve::<i32>(name, rows, columns),
        Stored::I64 => writer.reserve::<i64>(name, rows, columns),
        Stored::F32 => writer.reserve::<f32>(name, rows, columns),
        _ => writer.reserve::<f64>(name, rows, columns),
    }
}

/// Returns whether the file that the elements come from says that they are characters.
fn is_text(elements: &Elements) -> bool {
    elements.info().facts.iter().any(|(key, value)| *key == "holds" && *value == "text".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_a_schema_is_a_version_if_it_looks_like_one() {
        for (fact, name, version) in [
            ("hoomd 1.4", "hoomd", (1, 4)),
            ("my own schema 2.0", "my own schema", (2, 0)),
            ("my schema", "my schema", (1, 0)),
            ("points 1.2.3", "points 1.2.3", (1, 0)),
            ("points", "points", (1, 0)),
            ("1.0", "", (1, 0)),
        ] {
            assert_eq!(schema_of(fact), (name, Version::new(version.0, version.1)), "{fact}");
        }
    }
}
