//! HDF5: groups, datasets and committed datatypes as they are. The id of an object is the address of its header, so hard
//! links to one object lead to one id.
//!
//! Elements that lie in other files, of virtual datasets and of external storage, are read if these files are in the
//! folder of the opened one or below it.

pub(crate) mod describe;
mod structures;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use hdf5_pure::structure::{self, Link};
use hdf5_pure::{Address, Dataset, External, Group, Met, Node, NodeKind};
use sciformats_core::{Error, Fault, FaultKind, Limits, Slab};

use crate::file::Storage;
use crate::model::{Attribute, AttributeValue, Kind, Name, Object, ObjectId, Target};
use crate::options::OpenOptions;
use crate::source::{Attributes, Fact, Finding, Member, Members, Source, Structure};
use crate::{Format, Result};

struct Adapter {
    file: hdf5_pure::File,
    limits: Limits,
    /// The array that was asked for last: its elements are read a piece at a time.
    last: Mutex<Option<Dataset>>,
}

pub(super) fn open(storage: Storage, path: Option<&Path>, options: &OpenOptions) -> Result<Box<dyn Source>> {
    let read = hdf5_pure::OpenOptions::default()
        .with_limits(options.limits)
        .with_external(if path.is_some() { External::SameFolder } else { External::None })
        .with_threads(options.threads())
        .with_mapped(options.mapped);
    // Parts of a file that are files of their own are found by its path.
    let file = match path {
        Some(path) => hdf5_pure::File::open_with(path, &read)?,
        None => hdf5_pure::File::from_storage(storage, &read)?,
    };
    Ok(Box::new(Adapter { file, limits: options.limits, last: Mutex::default() }))
}

fn name(of: &hdf5_pure::Name) -> Name {
    Name::from(of.as_bytes())
}

fn target(link: structure::Target) -> Target {
    match link {
        structure::Target::Hard(Address(address)) => Target::Object(ObjectId(address)),
        structure::Target::Soft(path) => Target::Soft(name(&path)),
        structure::Target::External { file, path } => {
            Target::External { file: name(&file), target: name(&path) }
        }
        structure::Target::User { class, .. } => Target::User(class.into()),
    }
}

fn attribute(of: &hdf5_pure::Attribute) -> Result<Attribute> {
    let value = || {
        Ok(AttributeValue {
            element: describe::element(&of.datatype()?.element_type()?),
            shape: of.dataspace()?.shape().map(<[u64]>::to_vec),
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
    fn group(&self, ObjectId(address): ObjectId) -> Result<Group> {
        match self.file.object_at(Address(address))? {
            Node::Group(group) => Ok(group),
            _ => Err(Error::usage("object", "is not a group")),
        }
    }

    fn dataset(&self, ObjectId(address): ObjectId) -> Result<Dataset> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(dataset) = last.filter(|dataset| dataset.address() == Address(address)) {
            return Ok(dataset);
        }
        let dataset = self.file.dataset_at(Address(address))?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(dataset.clone());
        Ok(dataset)
    }

    fn read_object(&self, ObjectId(address): ObjectId) -> Result<Object> {
        match self.file.object_at(Address(address))? {
            Node::Group(_) => Ok(Object::Group),
            Node::Dataset(dataset) => {
                let info = describe::array(&self.file, &dataset)?;
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(dataset);
                Ok(Object::Array(Box::new(info)))
            }
            Node::Datatype(datatype) => {
                Ok(Object::Datatype(describe::element(&datatype.datatype()?.element_type()?)))
            }
        }
    }

    /// Tells what is wrong with structures that concern the whole file.
    fn check_file(&self, visit: &mut dyn FnMut(Finding)) {
        let mut tell = |error| visit(Finding { path: None, error });
        if self.file.is_truncated() {
            let fault = Fault::new("end of file address", FaultKind::Truncated);
            tell(fault.at("superblock", self.file.base()));
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
        // A list of free space that cannot be read is told by a check: it keeps nothing else from being read.
        let tracked = self.file.file_space().is_some_and(|info| info.persist);
        let sections = if tracked { self.file.free_space().ok() } else { None };
        let free = sections.map(|all| all.iter().fold(0u64, |sum, section| sum.saturating_add(section.size)));
        Ok(free.map(|bytes| ("free bytes", bytes.into())).into_iter().collect())
    }

    fn root(&self) -> ObjectId {
        // A file without the address of a root group was not opened.
        ObjectId(self.file.superblock().root().map_or(0, |Address(address)| address))
    }

    fn object(&self, id: ObjectId) -> Result<Object> {
        Ok(self.read_object(id).unwrap_or_else(|error| match self.file.kind_at(Address(id.0)) {
            Ok(NodeKind::Group) => Object::Damaged { kind: Kind::Group, error },
            Ok(NodeKind::Dataset) => Object::Damaged { kind: Kind::Array, error },
            Ok(NodeKind::Datatype) => Object::Damaged { kind: Kind::Datatype, error },
            Err(error) => Object::Damaged { kind: Kind::Unknown, error },
        }))
    }

    fn members(&self, group: ObjectId) -> Result<Members<'_>> {
        let mut members = Vec::new();
        let mut unnamed = Vec::new();
        for link in self.group(group)?.links()? {
            match link {
                Ok(Link { name, target, .. }) => {
                    members.push(Member { name: self::name(&name), target: self::target(target) });
                }
                Err(broken) => match broken.name {
                    Some(found) => {
                        members.push(Member { name: name(&found), target: Target::Damaged(broken.error) });
                    }
                    None => unnamed.push(Err(broken.error)),
                },
            }
        }
        members.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Box::new(members.into_iter().map(Ok).chain(unnamed)))
    }

    fn member(&self, group: ObjectId, name: &Name) -> Result<Option<Target>> {
        if let Ok(text) = std::str::from_utf8(name.as_bytes()) {
            return Ok(self.group(group)?.link(text)?.map(|link| target(link.target)));
        }
        let mut members = self.members(group)?.filter_map(Result::ok);
        Ok(members.find(|member| member.name == *name).map(|member| member.target))
    }

    fn attributes(&self, ObjectId(address): ObjectId) -> Result<Attributes<'_>> {
        let attributes = self.file.attributes_at(Address(address))?;
        Ok(Box::new(attributes.into_iter().map(|found| attribute(&found))))
    }

    fn read(&self, array: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        let dataset = self.dataset(array)?;
        if !describe::is_canonical(dataset.datatype()) {
            out.extend(dataset.read_canonical(slab)?);
            return Ok(());
        }
        let size = slab.len().checked_mul(dataset.datatype().size.into());
        let size = size.ok_or_else(|| Error::usage("selection", "has more than 2^64 bytes"))?;
        let size = self.limits.memory("bytes of the selected elements", size)?;
        dataset.read_raw_into(slab, super::grow(out, size)?)
    }

    fn check(&self, visit: &mut dyn FnMut(Finding)) {
        self.check_file(visit);
        for visited in self.file.walk() {
            let Met::Object(address) = visited.what else { continue };
            if let Err(error) = self.file.object_info(address) {
                let path = Name::from(visited.path).shown().into_owned();
                visit(Finding { path: Some(path), error });
            }
        }
    }

    fn structures(&self, visit: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()> {
        structures::all(&self.file, visit)
    }
}
