//! GSD: chunk `name` of frame *i* is the array `/frames/i/name`. Names keep their slashes, so `particles/N`
//! is one name.
//!
//! In a trajectory of HOOMD, `/log` is a view of the logged quantities: a list of compounds, with one
//! compound per frame. `/log/NAME` is the array of one quantity over all frames.

mod frames;
mod log;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::OnceLock;

use gsd_rs::{Chunk, Reader};
use sciformats_core::arith::{add, mul, sub};
use sciformats_core::bound;
use sciformats_core::endian::ByteOrder;
use sciformats_core::{Error, Fault, FaultKind, Limits, Range, Slab, limits};

use super::numbers::{decimal_order, number};
use crate::file::Storage;
use crate::model::{ArrayInfo, ElementType, Kind, Name, Object, ObjectId, Target, Value};
use crate::options::OpenOptions;
use crate::source::{Extent, Fact, Finding, Listed, Listing, Member, Members, Source, Structure, Summary};
use crate::{Format, Result};

/// The bits of an object id that contain the position of a name.
const NAME_BITS: u32 = 16;
/// The number of frames that are listed per entry of the index; real files have less than one.
const EMPTY: u64 = 1024;
/// Larger frame numbers have no object id.
const FRAMES: u64 = 1 << 46;

/// The bit of an object id that marks a view.
const VIEW: u64 = 1 << 63;

struct Adapter {
    reader: Reader,
    /// The size of the file in bytes.
    size: u64,
    limits: Limits,
    /// The logged quantities, after they were first requested.
    log: OnceLock<log::Log>,
}

pub(super) fn open(storage: Storage, options: &OpenOptions) -> Result<Box<dyn Source>> {
    let read = gsd_rs::OpenOptions::default().with_limits(options.limits);
    let size = storage.size();
    let reader = Reader::from_storage(storage, &read)?;
    Ok(Box::new(Adapter { reader, size, limits: options.limits, log: OnceLock::new() }))
}

/// What an object is. Ids are even for groups and odd for chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Root,
    Frames,
    Frame(u64),
    /// A frame, and the position of a name.
    Chunk(u64, u16),
    /// The logged quantities, or one of them by its position.
    Log(Option<u32>),
}

impl Place {
    fn id(self) -> ObjectId {
        ObjectId(match self {
            Self::Root => 0,
            Self::Frames => 2,
            Self::Frame(frame) => bound::sum(frame << 1, 4),
            Self::Log(None) => VIEW,
            Self::Log(Some(column)) => VIEW | bound::sum(u64::from(column), 1),
            Self::Chunk(frame, name) => (frame << (NAME_BITS + 1)) | (u64::from(name) << 1) | 1,
        })
    }

    fn of(ObjectId(id): ObjectId) -> Self {
        if id & VIEW != 0 {
            return Self::Log(u32::try_from((id ^ VIEW).wrapping_sub(1)).ok());
        }
        if id & 1 == 1 {
            let name = u16::try_from((id >> 1) & u64::from(u16::MAX)).unwrap_or(u16::MAX); // a bound: it is masked to fit
            return Self::Chunk(id >> (NAME_BITS + 1), name);
        }
        match id {
            0 => Self::Root,
            2 => Self::Frames,
            id => Self::Frame((id - 4) >> 1),
        }
    }
}

impl Adapter {
    fn chunk(&self, frame: u64, id: u16) -> Result<Chunk<'_>> {
        let name = self.reader.name(id).map(Name::from).unwrap_or_default();
        self.named(frame, &name)?.ok_or_else(|| Error::not_found("chunk", name.shown()))
    }

    fn named(&self, frame: u64, name: &Name) -> Result<Option<Chunk<'_>>> {
        // Names that are not UTF-8 are faults of the name list, which the list of the frame's members
        // reports.
        std::str::from_utf8(name.as_bytes()).map_or(Ok(None), |name| self.reader.find(frame, name))
    }

    /// Returns the number of frames if it is small enough to visit all of them. Empty frames take no bytes,
    /// so a single entry can declare any number of them.
    fn frames(&self) -> Result<u64> {
        let frames = self.reader.frames();
        let limit = bound::product(bound::sum(self.reader.entries(), 64), EMPTY);
        limits::within("frames", frames, limit.min(self.limits.items))?;
        Ok(frames.min(FRAMES))
    }

    /// Returns the logged quantities; there are none if the file is not a trajectory of HOOMD.
    fn log(&self) -> Result<&log::Log> {
        if let Some(log) = self.log.get() {
            return Ok(log);
        }
        let log = log::Log::new(&self.reader, self.frames()?)?;
        Ok(self.log.get_or_init(|| log))
    }

    /// Returns the view that a member of the root with this name stands for.
    fn view(&self, name: &Name) -> Result<Option<Place>> {
        let Ok(name) = std::str::from_utf8(name.as_bytes()) else { return Ok(None) };
        if self.reader.header().schema.as_bytes() != b"hoomd"
            || !(name == "log" || name.starts_with(log::PREFIX))
        {
            return Ok(None);
        }
        let log = self.log()?;
        Ok(match name {
            "log" => (!log.is_empty()).then_some(Place::Log(None)),
            name => log.position(name).map(|column| Place::Log(Some(column))),
        })
    }

    fn chunks(&self, frame: u64) -> Members<'_> {
        let mut members = Vec::new();
        let mut failure = None;
        for chunk in self.reader.chunks(frame) {
            match chunk {
                Ok(chunk) => members.push((Name::from(chunk.name), chunk.id)),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        sciformats_core::order::sort(&mut members);
        members.dedup_by(|a, b| a.0 == b.0);
        let members = members
            .into_iter()
            .map(move |(name, id)| Ok(Member { name, target: Target::Object(Place::Chunk(frame, id).id()) }));
        Box::new(members.chain(failure.map(Err)))
    }
}

impl Adapter {
    /// Reports names that occur twice in a frame, because readers disagree about which chunk they mean.
    fn repeated_names(&self, visit: &mut dyn FnMut(Finding)) {
        let index = self.reader.header().index.location;
        let mut names = HashSet::new();
        let mut frame = None;
        for (position, chunk) in (0u64..).zip(self.reader.all_chunks()) {
            let Ok(chunk) = chunk else { continue };
            if frame.replace(chunk.frame) != Some(chunk.frame) {
                names.clear();
            }
            if !names.insert(chunk.name) {
                let path = format!("/frames/{}/{}", chunk.frame, Name::from(chunk.name));
                let offset = bound::sum(index, bound::product(position, 32));
                let fault = Fault::new("id", FaultKind::Rule("names a chunk that its frame has already"));
                visit(Finding { path: Some(path), error: fault.at("index entry", offset) });
            }
        }
    }
}

fn group(name: impl Into<Name>, place: Place) -> Result<Member> {
    Ok(Member { name: name.into(), target: Target::Object(place.id()) })
}

fn element(of: gsd_rs::ElementType) -> Option<ElementType> {
    use gsd_rs::ElementType as Stored;
    Some(match of {
        Stored::U8 | Stored::Character => ElementType::UInt(1),
        Stored::U16 => ElementType::UInt(2),
        Stored::U32 => ElementType::UInt(4),
        Stored::U64 => ElementType::UInt(8),
        Stored::I8 => ElementType::Int(1),
        Stored::I16 => ElementType::Int(2),
        Stored::I32 => ElementType::Int(4),
        Stored::I64 => ElementType::Int(8),
        Stored::F32 => ElementType::F32,
        Stored::F64 => ElementType::F64,
        Stored::Unknown(_) => return None,
    })
}

fn shape(chunk: &Chunk<'_>) -> Vec<u64> {
    if chunk.m == 1 { vec![chunk.n] } else { vec![chunk.n, chunk.m.into()] }
}

/// Returns whether a chunk is one text. Characters in several columns have no meaning that the format defines.
fn is_text(chunk: &Chunk<'_>) -> bool {
    chunk.element == gsd_rs::ElementType::Character && chunk.m == 1
}

fn array(reader: &Reader, chunk: &Chunk<'_>) -> Object {
    let (Some(element), Some(_)) = (element(chunk.element), chunk.size()) else {
        // Reading no rows checks the type, the size and the position.
        let unknown = || Error::unsupported(format!("element type {}", chunk.element.code()));
        let error = reader.read_bytes(chunk, 0..0).err().unwrap_or_else(unknown);
        return Object::Damaged { kind: Kind::Array, error };
    };
    let mut info = if is_text(chunk) {
        let mut info = ArrayInfo::new(ElementType::Text, []);
        info.width = chunk.size();
        info
    } else {
        ArrayInfo::new(element, shape(chunk))
    };
    info.stored = chunk.size();
    info.facts = vec![("offset", chunk.location.into())];
    if chunk.element == gsd_rs::ElementType::Character && !is_text(chunk) {
        info.facts.push(("holds", "text".into()));
    }
    Object::Array(Box::new(info))
}

impl Source for Adapter {
    fn format(&self) -> Format {
        Format::Gsd
    }

    fn facts(&self) -> Vec<Fact> {
        let header = self.reader.header();
        let schema = format!("{} {}", header.schema.to_text(), header.schema_version);
        vec![
            ("version", header.version.to_string().into()),
            ("application", header.application.to_text().into_owned().into()),
            ("schema", schema.trim().into()),
            ("frames", self.reader.frames().into()),
            ("chunks", self.reader.entries().into()),
            ("names", self.reader.names().len().into()),
        ]
    }

    fn headline(&self) -> String {
        let header = self.reader.header();
        let schema = header.schema.to_text();
        let schema = match &*schema {
            "" | "none" => String::new(),
            name => format!("{name} {}, ", header.schema_version),
        };
        let frames = self.reader.frames();
        let plural = if frames == 1 { "" } else { "s" };
        format!("{}, {schema}{frames} frame{plural}", header.version)
    }

    fn measures(&self) -> Result<Vec<Fact>> {
        let space = self.reader.space()?;
        let mut facts: Vec<Fact> = vec![
            ("index bytes", space.index.into()),
            ("name list bytes", space.names.into()),
            ("lost bytes", space.unused().into()),
        ];
        // An error of creating the view is reported when the view is requested.
        if matches!(self.view(&"log".into()), Ok(Some(_))) {
            facts.push(("view", "/log".into()));
        }
        Ok(facts)
    }

    fn summaries(&self) -> Result<Vec<Summary>> {
        frames::summaries(&self.reader)
    }

    fn root(&self) -> ObjectId {
        Place::Root.id()
    }

    fn object(&self, id: ObjectId) -> Result<Object> {
        match Place::of(id) {
            Place::Chunk(frame, name) => self.chunk(frame, name).map(|chunk| array(&self.reader, &chunk)),
            Place::Log(column) => Ok(Object::Array(Box::new(self.log()?.info(column)?))),
            _ => Ok(Object::Group),
        }
    }

    fn members(&self, id: ObjectId) -> Result<Members<'_>> {
        match Place::of(id) {
            Place::Root => Ok(Box::new(std::iter::once(group("frames", Place::Frames)))),
            Place::Frames => {
                let frames = decimal_order(self.frames()?);
                Ok(Box::new(frames.map(|frame| group(frame.to_string(), Place::Frame(frame)))))
            }
            Place::Frame(frame) => Ok(self.chunks(frame)),
            Place::Chunk(..) | Place::Log(_) => Err(Error::usage("object", "is not a group")),
        }
    }

    fn listing(&self, id: ObjectId) -> Result<Listing<'_>> {
        if Place::of(id) != Place::Frames {
            let members = self.members(id)?;
            return Ok(Box::new(members.map(|member| member.map(|member| Listed { member, alike: false }))));
        }
        let frames = self.frames()?;
        // If the index is damaged, what is known about one frame may not hold for the next.
        let mut changes = frames::changes(&self.reader).ok().map(|changes| changes.into_iter().peekable());
        Ok(Box::new((0..frames).map(move |frame| {
            let changed = changes.as_mut().is_none_or(|changes| changes.next_if_eq(&frame).is_some());
            let member = group(frame.to_string(), Place::Frame(frame))?;
            Ok(Listed { member, alike: frame > 0 && !changed })
        })))
    }

    fn member(&self, id: ObjectId, name: &Name) -> Result<Option<Target>> {
        let place = match Place::of(id) {
            Place::Root if name.as_bytes() == b"frames" => Some(Place::Frames),
            Place::Root => self.view(name)?,
            Place::Frames => {
                let frames = self.reader.frames().min(FRAMES);
                number(name).filter(|&frame| frame < frames).map(Place::Frame)
            }
            Place::Frame(frame) => self.named(frame, name)?.map(|chunk| Place::Chunk(frame, chunk.id)),
            Place::Chunk(..) | Place::Log(_) => None,
        };
        Ok(place.map(|place| Target::Object(place.id())))
    }

    fn extent(&self, id: ObjectId) -> Result<Option<Extent>> {
        let Place::Chunk(frame, name) = Place::of(id) else { return Ok(None) };
        let chunk = self.chunk(frame, name)?;
        let Some(size) = chunk.element.size().filter(|_| !is_text(&chunk)) else { return Ok(None) };
        let length = mul(mul(chunk.n, chunk.m.into())?, size as u64)?;
        if add(chunk.location, length)? > self.size {
            return Ok(None);
        }
        let (offset, order) = (chunk.location, ByteOrder::Little);
        Ok(Some(Extent { offset, length, order, columns: false, compression: None }))
    }

    fn read(&self, id: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        let (frame, name) = match Place::of(id) {
            Place::Chunk(frame, name) => (frame, name),
            Place::Log(column) => return self.log()?.read(&self.reader, column, slab, out),
            _ => return Err(Error::usage("object", "is not an array")),
        };
        let chunk = self.chunk(frame, name)?;
        let unknown = || Error::unsupported(format!("element type {}", chunk.element.code()));
        let size = chunk.element.size().ok_or_else(unknown)?;
        if is_text(&chunk) {
            let text = self.reader.read_bytes(&chunk, 0..chunk.n);
            let text = text.map_err(|error| crate::cut::named(error, self.size, || self.cut_short()))?;
            out.extend((text.len() as u64).to_le_bytes());
            out.extend_from_slice(&text);
            return Ok(());
        }
        // Only the rows from the first to the last selected one are read.
        let (Some(rows), false) = (slab.ranges().first().copied(), slab.is_empty()) else { return Ok(()) };
        let last = add(mul(sub(rows.count, 1)?, rows.step)?, rows.start)?;
        let bytes = self.reader.read_bytes(&chunk, rows.start..add(last, 1)?);
        let bytes = bytes.map_err(|error| crate::cut::named(error, self.size, || self.cut_short()))?;
        let mut shape = slab.of().to_vec();
        let mut ranges = slab.ranges().to_vec();
        if let (Some(dimension), Some(range)) = (shape.first_mut(), ranges.first_mut()) {
            *dimension = add(sub(last, rows.start)?, 1)?;
            *range = Range { start: 0, ..rows };
        }
        super::gather(&bytes, size, &Slab::new(&shape, ranges)?, out)
    }

    fn may_be_shared(&self, _id: ObjectId) -> bool {
        false
    }

    fn slashes_in_names(&self) -> bool {
        true
    }

    fn cut_short(&self) -> Option<u64> {
        self.reader.cut_short()
    }

    fn check(&self, visit: &mut dyn FnMut(Finding)) {
        if let Some(whole) = self.reader.cut_short() {
            let error = crate::cut::error(self.size, whole);
            visit(Finding { path: None, error });
        }
        if let Err(error) = self.reader.verify() {
            visit(Finding { path: None, error });
        }
        self.repeated_names(visit);
    }

    fn structures(&self, visit: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()> {
        let header = self.reader.header();
        let structure = |name: &'static str, offset: u64, size: u64, fields: Vec<(&'static str, Value)>| {
            let fields = fields.into_iter().map(|(key, value)| (key.into(), value)).collect();
            Structure { name: name.into(), offset, size, depth: 0, fields }
        };
        let blocks = [
            structure(
                "header",
                0,
                256,
                vec![
                    ("index_location", header.index.location.into()),
                    ("index_allocated_entries", header.index.allocated.into()),
                    ("namelist_location", header.names.location.into()),
                    ("namelist_allocated_entries", header.names.allocated.into()),
                    ("schema_version", header.schema_version.to_string().into()),
                    ("gsd_version", header.version.to_string().into()),
                    ("application", header.application.to_text().into_owned().into()),
                    ("schema", header.schema.to_text().into_owned().into()),
                ],
            ),
            structure(
                "index block",
                header.index.location,
                bound::product(header.index.allocated, 32),
                vec![("used", self.reader.entries().into())],
            ),
            structure(
                "name list",
                header.names.location,
                bound::product(header.names.allocated, 64),
                vec![("names", self.reader.names().len().into())],
            ),
        ];
        if blocks.into_iter().try_for_each(&mut *visit).is_break() {
            return Ok(());
        }
        for chunk in self.reader.all_chunks() {
            let chunk = chunk?;
            let fields = vec![
                ("frame", chunk.frame.into()),
                ("name", chunk.name.into()),
                ("type", chunk.element.to_string().into()),
                ("N", chunk.n.into()),
                ("M", chunk.m.into()),
            ];
            let data = structure("data chunk", chunk.location, chunk.size().unwrap_or_default(), fields);
            if visit(data).is_break() {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_told_apart() {
        let places = [
            Place::Root,
            Place::Frames,
            Place::Frame(0),
            Place::Frame(FRAMES - 1),
            Place::Chunk(0, 0),
            Place::Chunk(FRAMES - 1, u16::MAX),
            Place::Log(None),
            Place::Log(Some(0)),
            Place::Log(Some(u32::MAX)),
        ];
        for place in places {
            assert_eq!(Place::of(place.id()), place);
        }
    }
}
