//! HDF5: groups, datasets and committed datatypes are represented directly. The id of an object is the
//! address of its header, so several hard links to an object lead to the same id.
//!
//! Elements of virtual datasets and of external storage may be in other files. They are read if
//! [`OpenOptions::external`] permits these files to be opened. Objects behind links into other files have ids
//! of their own.

mod describe;
mod details;
mod elsewhere;
mod members;
mod recorded;
mod stored_types;
mod structures;

pub use describe::{element, filter, is_canonical, is_external, leads_elsewhere};

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use hdf5_pure::options::MissingSources;
use hdf5_pure::structure::StoredChunk;
use hdf5_pure::structure::{self, Layout};
use hdf5_pure::walk::Found;
use hdf5_pure::{Address, Dataset, File, Group, Node, NodeKind};
use sciformats_core::bound;
use sciformats_core::{Error, Fault, FaultKind, Limits, Slab};

use self::elsewhere::Elsewhere;
use self::members::{Linked, member};
use self::recorded::Recorded;
use crate::details::Details;
use crate::file::Storage;
use crate::model::{Attribute, AttributeValue, Kind, Name, Object, ObjectId, Target};
use crate::options::{Missing, OpenOptions};
use crate::pieces::{copied, grow};
use crate::source::{Attributes, Fact, Finding, Member, Members, Source, Stored, Structure};
use crate::{Format, Result};

struct Adapter {
    file: File,
    /// The size of the file in bytes.
    size: u64,
    limits: Limits,
    /// The array that was requested last, because its elements are read one piece at a time.
    last: Mutex<Option<(ObjectId, Dataset)>>,
    elsewhere: Elsewhere,
    recorded: Recorded,
}

pub(super) fn open(storage: Storage, path: Option<&Path>, options: &OpenOptions) -> Result<Box<dyn Source>> {
    let read = hdf5_pure::OpenOptions::default()
        .with_limits(options.limits)
        .with_external(options.external.clone())
        .with_missing(match options.missing {
            Missing::Refused => MissingSources::Refused,
            Missing::Filled => MissingSources::Filled,
        })
        .with_threads(options.threads())
        .with_registry(crate::filters::hdf5())
        .with_access(options.access);
    let size = storage.size();
    // If parts of the file are separate files, they are found by its path.
    let file = match path {
        Some(path) => File::open_with(path, &read)?,
        None => File::from_storage(storage, &read)?,
    };
    Ok(Box::new(Adapter {
        file,
        size,
        limits: options.limits,
        last: Mutex::default(),
        elsewhere: Elsewhere::default(),
        recorded: Recorded::default(),
    }))
}

/// Returns the dataset behind an array, if the source belongs to this module and the dataset is in the file itself.
pub fn dataset(source: &dyn Source, id: ObjectId) -> Option<Result<Dataset>> {
    let adapter: &Adapter = source.as_any()?.downcast_ref()?;
    (!Elsewhere::has(id)).then(|| adapter.dataset(id))
}

fn name(of: &hdf5_pure::Name) -> Name {
    Name::from(of.as_bytes())
}

fn attribute(of: &hdf5_pure::Attribute) -> Result<Attribute> {
    let value = || {
        Ok(AttributeValue {
            element: describe::element(&of.datatype()?.element_type()?),
            shape: of.dataspace()?.extent().map(<[u64]>::to_vec),
            data: of.canonical(),
        })
    };
    match of.name() {
        Some(found) => Ok(Attribute { name: name(found), value: value() }),
        None => {
            let unknown = || Error::unsupported("an attribute without a name");
            Err(of.datatype().err().unwrap_or_else(unknown))
        }
    }
}

impl Adapter {
    /// Adds to an error that the file was cut short, if that is the cause.
    fn cut(&self, error: Error) -> Error {
        crate::cut::named(error, self.size, || self.cut_short())
    }

    /// Returns the file that contains an object, and its address in that file.
    fn place(&self, id: ObjectId) -> Result<(File, Address)> {
        match self.elsewhere.place(id) {
            None => Ok((self.file.clone(), Address(id.0))),
            Some(place) => place,
        }
    }

    fn group(&self, id: ObjectId) -> Result<Group> {
        let (file, address) = self.place(id)?;
        match file.object_at(address)? {
            Node::Group(group) => Ok(group),
            _ => Err(Error::usage("object", "is not a group")),
        }
    }

    /// Returns the target of a link of a group, with ids of this source.
    fn target(&self, group: ObjectId, link: structure::Target) -> Target {
        match link {
            structure::Target::Hard(address) => Target::Object(self.elsewhere.beside(group, address)),
            structure::Target::Soft(path) => Target::Soft(name(&path)),
            structure::Target::External { file, path } => {
                Target::External { file: name(&file), target: name(&path) }
            }
            structure::Target::User { class, .. } => Target::User(class.into()),
        }
    }

    /// Returns a member of a group in another file. Paths of soft links refer to that file.
    fn member_elsewhere(&self, id: ObjectId, group: &Group, text: &str) -> Result<Option<Target>> {
        let Some(link) = group.link(text)? else { return Ok(None) };
        match link.target {
            structure::Target::Soft(_) => match group.object(text) {
                Ok(node) => Ok(Some(Target::Object(self.elsewhere.add(&node)))),
                Err(Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            },
            other => Ok(Some(self.target(id, other))),
        }
    }

    fn dataset(&self, id: ObjectId) -> Result<Dataset> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, dataset)) = last.filter(|(last, _)| *last == id) {
            return Ok(dataset);
        }
        let (file, address) = self.place(id)?;
        let dataset = file.dataset_at(address)?;
        if dataset.layout().is_err() {
            return Ok(dataset);
        }
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((id, dataset.clone()));
        Ok(dataset)
    }

    fn read_object(&self, id: ObjectId) -> Result<Object> {
        let (file, address) = self.place(id)?;
        match file.object_at(address)? {
            Node::Group(_) => Ok(Object::Group),
            Node::Dataset(dataset) => {
                let info = describe::array(&file, &dataset)?;
                // A file that could not be read now may be readable the next time.
                if dataset.layout().is_ok() {
                    *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((id, dataset));
                }
                Ok(Object::Array(Box::new(info)))
            }
            Node::Datatype(datatype) => {
                Ok(Object::Datatype(describe::element(&datatype.datatype()?.element_type()?)))
            }
        }
    }

    /// Reports faults of structures that concern the whole file.
    fn check_file(&self, visit: &mut dyn FnMut(Finding)) {
        let mut tell = |error| visit(Finding { path: None, error });
        if self.file.is_truncated() {
            let (found, whole) = (self.size, self.file.superblock().end_of_file);
            tell(Fault::from(FaultKind::Cut { found, whole }).at("file", found));
        }
        if let Err(error) = self.file.free_space() {
            tell(error);
        }
        for index in self.file.shared_indexes() {
            if let Err(error) = self.file.shared_records(index) {
                tell(error);
            }
        }
    }
}

impl Source for Adapter {
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn format(&self) -> Format {
        Format::Hdf5
    }

    fn facts(&self) -> Vec<Fact> {
        describe::file(&self.file)
    }

    fn headline(&self) -> String {
        format!("superblock {}", self.file.superblock().version)
    }

    fn measures(&self) -> Result<Vec<Fact>> {
        // An unreadable list of free space does not prevent reading anything else; a check reports it.
        let tracked = self.file.file_space().is_some_and(|info| info.persist);
        let sections = if tracked { self.file.free_space().ok() } else { None };
        let free = sections.map(|all| all.iter().fold(0u64, |sum, section| bound::sum(sum, section.size)));
        Ok(free.map(|bytes| ("free bytes", bytes.into())).into_iter().collect())
    }

    fn is_being_written(&self) -> bool {
        describe::writer(&self.file).is_some()
    }

    fn root(&self) -> ObjectId {
        // A file without the address of a root group cannot be opened.
        ObjectId(self.file.superblock().root().map_or(0, |Address(address)| address))
    }

    fn object(&self, id: ObjectId) -> Result<Object> {
        let kind = || self.place(id).and_then(|(file, address)| file.kind_at(address));
        Ok(self.read_object(id).unwrap_or_else(|error| {
            let (kind, error) = match kind() {
                Ok(NodeKind::Group) => (Kind::Group, error),
                Ok(NodeKind::Dataset) => (Kind::Array, error),
                Ok(NodeKind::Datatype) => (Kind::Datatype, error),
                Err(error) => (Kind::Unknown, error),
            };
            Object::Damaged { kind, error: self.cut(error) }
        }))
    }

    fn measured(&self, id: ObjectId) -> Result<Object> {
        let mut object = self.object(id)?;
        // What is wrong with the storage is told when elements are read.
        if let Object::Array(info) = &mut object
            && let Ok(dataset) = self.dataset(id)
        {
            describe::measure(&dataset, info);
        }
        Ok(object)
    }

    fn members(&self, group: ObjectId) -> Result<Members<'_>> {
        let links = self.group(group).and_then(|group| group.links()).map_err(|error| self.cut(error))?;
        // Links are in the order of their names, and those that cannot be read come last.
        if links.last().is_none_or(Result::is_ok) {
            return Ok(Box::new(Linked { adapter: self, group, links: links.into_iter() }));
        }
        let mut members = Vec::new();
        let mut unnamed = Vec::new();
        for link in links {
            match link {
                Ok(link) => members.push(member(self, group, link)),
                Err(broken) => match broken.name {
                    Some(found) => {
                        let target = Target::Damaged(self.cut(broken.error));
                        members.push(Member { name: name(&found), target });
                    }
                    None => unnamed.push(Err(self.cut(broken.error))),
                },
            }
        }
        sciformats_core::order::sort_by(&mut members, |a, b| a.name.cmp(&b.name));
        Ok(Box::new(members.into_iter().map(Ok).chain(unnamed)))
    }

    fn member(&self, group: ObjectId, name: &Name) -> Result<Option<Target>> {
        if let Ok(text) = std::str::from_utf8(name.as_bytes()) {
            let found = self.group(group)?;
            if Elsewhere::has(group) {
                return self.member_elsewhere(group, &found, text);
            }
            let link = found.link(text).map_err(|error| self.cut(error))?;
            return Ok(link.map(|link| self.target(group, link.target)));
        }
        let mut unreadable = None;
        for member in self.members(group)? {
            match member {
                Ok(member) if member.name == *name => return Ok(Some(member.target)),
                Ok(_) => {}
                Err(error) => unreadable = unreadable.or(Some(error)),
            }
        }
        // A link that cannot be read may be the requested one.
        unreadable.map_or(Ok(None), Err)
    }

    fn attributes(&self, id: ObjectId) -> Result<Attributes<'_>> {
        let (file, address) = self.place(id)?;
        let attributes = file.attributes_at(address).map_err(|error| self.cut(error))?;
        Ok(Box::new(attributes.into_iter().map(|found| attribute(&found))))
    }

    fn read(&self, array: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        let dataset = self.dataset(array).map_err(|error| self.cut(error))?;
        if !describe::is_canonical(dataset.datatype()) {
            out.extend(dataset.read_canonical(slab).map_err(|error| self.cut(error))?);
            return Ok(());
        }
        let size = slab.len().checked_mul(dataset.datatype().size.into());
        let size = size.ok_or_else(|| Error::usage("selection", "has more than 2^64 bytes"))?;
        let size = self.limits.memory("bytes of the selected elements", size)?;
        dataset.read_raw_into(slab, grow(out, size)?).map_err(|error| self.cut(error))
    }

    fn read_into(&self, array: ObjectId, slab: &Slab, out: &mut [u8]) -> Result<()> {
        let dataset = self.dataset(array).map_err(|error| self.cut(error))?;
        if describe::is_canonical(dataset.datatype()) {
            return dataset.read_raw_into(slab, out).map_err(|error| self.cut(error));
        }
        copied(&dataset.read_canonical(slab).map_err(|error| self.cut(error))?, out)
    }

    fn storage(&self, id: ObjectId) -> Result<Vec<(&'static str, String)>> {
        let (file, address) = self.place(id)?;
        match Elsewhere::has(id) {
            true => Recorded::default().storage(&file, address),
            false => self.recorded.storage(&file, address),
        }
    }

    fn stored(&self, array: ObjectId) -> Result<Option<Stored<'_>>> {
        let dataset = self.dataset(array)?;
        let external = dataset.external_files()?;
        let (shape, fill) = (dataset.dataspace().extent(), &dataset.fill_value()?.value);
        if !external.is_empty() {
            let how = format!("{external:?} {shape:?} {:?}", dataset.datatype());
            return Ok(Some(Stored::elsewhere(how)));
        }
        match dataset.layout()? {
            Layout::Virtual(_) => {
                let how = format!("{:?} {shape:?} {fill:?} {:?}", dataset.mappings()?, dataset.datatype());
                Ok(Some(Stored::elsewhere(how)))
            }
            Layout::Chunked(chunked) if !describe::leads_elsewhere(dataset.datatype()) => {
                let filters =
                    dataset.filters()?.filters.iter().map(|filter| (filter.id, filter.values.clone()));
                let filters: Vec<_> = filters.collect();
                let (chunk, edges) = (&chunked.dimensions, chunked.unfiltered_edges);
                let class = &dataset.datatype().class;
                let how = format!("{chunk:?} {edges} {shape:?} {filters:?} {fill:?} {class:?}");
                let mut chunks = dataset.chunks()?.into_iter().collect::<Result<Vec<_>>>()?;
                sciformats_core::order::sort_by(&mut chunks, |a, b| a.scaled.cmp(&b.scaled));
                let (pieces, largest) =
                    (chunks.len(), chunks.iter().map(|chunk| chunk.size).max().unwrap_or_default());
                let read = move |range: std::ops::Range<usize>, out: &mut Vec<u8>| {
                    let chunks = chunks.get(range).unwrap_or_default();
                    dataset.chunks_raw(chunks, out)?;
                    let told = |chunk: &StoredChunk| {
                        (chunk.scaled.clone(), chunk.filter_mask, bound::addressable(chunk.size))
                    };
                    Ok(chunks.iter().map(told).collect())
                };
                Ok(Some(Stored { how, pieces, largest, read: Box::new(read) }))
            }
            _ => Ok(None),
        }
    }

    fn follow(&self, from: ObjectId, file: &Name, target: &Name) -> Result<ObjectId> {
        self.elsewhere.follow((from, &self.place(from)?.0), file, target)
    }

    fn fill(&self, array: ObjectId) -> Option<Vec<u8>> {
        describe::fill(&self.dataset(array).ok()?)
    }

    fn cut_short(&self) -> Option<u64> {
        self.file.is_truncated().then(|| self.file.superblock().end_of_file)
    }

    fn reach(&self, array: ObjectId) -> Result<()> {
        self.dataset(array)?.check_elsewhere()
    }

    fn sized(&self, array: ObjectId) -> Result<()> {
        self.dataset(array)?.check_shape()
    }

    fn take_missing(&self) -> Vec<Error> {
        // This includes the files that were opened because of this one.
        self.file.take_missing()
    }

    fn check(&self, visit: &mut dyn FnMut(Finding)) {
        self.check_file(visit);
        let mut sound = true;
        for visited in self.file.walk() {
            let Found::Object(address) = visited.what else { continue };
            if let Err(error) = self.file.object_info(address) {
                sound = false;
                let path = Name::from(visited.path).shown().into_owned();
                visit(Finding { path: Some(path), error });
            }
        }
        if sound && let Err(error) = self.file.check_space() {
            visit(Finding { path: None, error });
        }
    }

    fn structures(&self, visit: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()> {
        structures::all(&self.file, visit)
    }

    fn details(&self) -> Option<&dyn Details> {
        Some(self)
    }
}
