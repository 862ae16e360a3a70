//! The objects of a file that is written, and how the file is completed.
//!
//! Elements are written as they come. What leads to them is kept in memory and written at the end: indexes of chunks,
//! dense attributes and links, the object headers, and last the superblock. Every address is therefore known when it is
//! written, and nothing but the superblock is written twice.

use sciformats_core::storage::Durability;
use sciformats_core::{Error, Result};

use super::attributes::{self, Attribute};
use super::bound::Bound;
use super::dataset::{Data, Dataset};
use super::global_heap::GlobalHeap;
use super::group::{Destination, Group, LinkStorage};
use super::header::{Header, RESERVED};
use super::output::{Output, SIZES, Target};
use super::symbols::{INTERNAL_K, LEAF_K};
use super::{links, symbols};
use crate::model::filters::Registry;
use crate::spec::message::MessageType;
use crate::spec::message::attribute_info::AttributeInfo;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::fill_value::FillValue;
use crate::spec::message::layout::Layout;
use crate::spec::message::shared::Shared;
use crate::spec::message::small;
use crate::spec::object_header::{CONSTANT, Message, SHARED, v2};
use crate::spec::superblock::{Rest, Superblock};
use crate::spec::symbol_table::{Cache, Entry};
use crate::spec::{Address, Name};

/// An object of a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(u32);

impl ObjectId {
    /// The root group.
    pub(crate) const ROOT: Self = Self(0);

    fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// How a file is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) bound: Bound,
    /// Whether the order in which links and attributes were made is kept.
    pub(crate) tracked: bool,
    /// The time that objects are said to be of, in seconds since 1970.
    pub(crate) time: Option<u32>,
    pub(crate) registry: Registry,
    /// Threads that filter chunks, 0 for as many as the machine has.
    pub(crate) threads: usize,
}

/// The file.
pub(crate) struct Tree {
    pub(crate) output: Output,
    pub(crate) heap: GlobalHeap,
    pub(crate) settings: Settings,
    objects: Vec<Object>,
}

/// An object.
pub(crate) struct Object {
    pub(crate) kind: Kind,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) comment: Option<Name>,
    /// The place of its header, if something refers to it already.
    reserved: Option<Address>,
}

/// What an object is.
pub(crate) enum Kind {
    Group(Group),
    Dataset(Box<Dataset>),
    Datatype(Datatype),
}

/// What is known of an object when its header is written.
struct Parts {
    layout: Option<Layout>,
    attributes: Option<AttributeInfo>,
    links: LinkStorage,
    references: u32,
    version: u8,
    address: Address,
    room: usize,
}

impl Tree {
    pub(crate) fn new(target: Target, user_block: &[u8], settings: Settings) -> Result<Self> {
        let mut output = Output::new(target, user_block.len() as u64);
        output.threads = settings.threads;
        if !user_block.is_empty() {
            output.user_block(user_block)?;
        }
        let superblock = if settings.bound.is_old() { 96 } else { 48 };
        output.allocate(superblock)?;
        let mut tree = Self { output, heap: GlobalHeap::new(), settings, objects: Vec::new() };
        tree.add(Kind::Group(Group::default()))?;
        Ok(tree)
    }

    fn add(&mut self, kind: Kind) -> Result<ObjectId> {
        let id =
            u32::try_from(self.objects.len()).map_err(|_| Error::usage("file", "has too many objects"))?;
        self.objects.push(Object { kind, attributes: Vec::new(), comment: None, reserved: None });
        Ok(ObjectId(id))
    }

    fn object(&self, id: ObjectId) -> Result<&Object> {
        self.objects.get(id.index()).ok_or_else(|| Error::usage("object", "is none of this file"))
    }

    pub(crate) fn object_mut(&mut self, id: ObjectId) -> Result<&mut Object> {
        self.objects.get_mut(id.index()).ok_or_else(|| Error::usage("object", "is none of this file"))
    }

    fn group_mut(&mut self, id: ObjectId) -> Result<&mut Group> {
        match &mut self.object_mut(id)?.kind {
            Kind::Group(group) => Ok(group),
            _ => Err(Error::usage("object", "is not a group")),
        }
    }

    /// The dataset `id`, with what writing to it needs.
    pub(crate) fn dataset_mut(&mut self, id: ObjectId) -> Result<(&mut Dataset, &mut Output, &Registry)> {
        match self.objects.get_mut(id.index()).map(|object| &mut object.kind) {
            Some(Kind::Dataset(dataset)) => Ok((dataset, &mut self.output, &self.settings.registry)),
            _ => Err(Error::usage("object", "is not a dataset")),
        }
    }

    pub(crate) fn dataset(&self, id: ObjectId) -> Result<&Dataset> {
        match &self.object(id)?.kind {
            Kind::Dataset(dataset) => Ok(dataset),
            _ => Err(Error::usage("object", "is not a dataset")),
        }
    }

    pub(crate) fn committed(&self, id: ObjectId) -> Result<&Datatype> {
        match &self.object(id)?.kind {
            Kind::Datatype(datatype) => Ok(datatype),
            _ => Err(Error::usage("object", "is not a committed datatype")),
        }
    }

    /// The group at `path` below `from`; groups that are missing are made.
    pub(crate) fn group_at(&mut self, from: ObjectId, path: &str) -> Result<ObjectId> {
        let mut at = if path.starts_with('/') { ObjectId::ROOT } else { from };
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let group = self.group_mut(at)?;
            let found = group.names.get(name.as_bytes()).and_then(|&index| group.links.get(index));
            at = match found {
                Some((_, Destination::Object(id))) => *id,
                Some(_) => return Err(Error::usage("path", format!("{name} is a link to another place"))),
                None => {
                    let id = self.add(Kind::Group(Group::default()))?;
                    self.link(at, name, Destination::Object(id))?;
                    id
                }
            };
        }
        self.group_mut(at)?;
        Ok(at)
    }

    /// Adds an object below `from`; groups on the way that are missing are made.
    pub(crate) fn insert(&mut self, from: ObjectId, path: &str, kind: Kind) -> Result<ObjectId> {
        let (parent, name) = self.parent(from, path)?;
        // The name is checked before anything changes.
        self.check_name(parent, &name)?;
        let id = self.add(kind)?;
        self.link(parent, &name, Destination::Object(id))?;
        Ok(id)
    }

    /// Takes back the object that was inserted last.
    pub(crate) fn withdraw(&mut self, id: ObjectId) {
        if id.index().saturating_add(1) != self.objects.len() {
            return;
        }
        self.objects.pop();
        for object in &mut self.objects {
            let Kind::Group(group) = &mut object.kind else { continue };
            if matches!(group.links.last(), Some((_, Destination::Object(last))) if *last == id)
                && let Some((name, _)) = group.links.pop()
            {
                group.names.remove(name.as_bytes());
            }
        }
    }

    /// The group that holds the last component of `path`, and that component.
    pub(crate) fn parent(&mut self, from: ObjectId, path: &str) -> Result<(ObjectId, String)> {
        let path = path.trim_end_matches('/');
        match path.rsplit_once('/') {
            None => Ok((from, path.to_owned())),
            Some(("", name)) => Ok((ObjectId::ROOT, name.to_owned())),
            Some((groups, name)) => Ok((self.group_at(from, groups)?, name.to_owned())),
        }
    }

    fn check_name(&mut self, group: ObjectId, name: &str) -> Result<()> {
        if name.is_empty() || name == "." || name.contains('\0') {
            return Err(Error::usage("name", format!("{name:?} is none that a link can have")));
        }
        if self.group_mut(group)?.names.contains_key(name.as_bytes()) {
            return Err(Error::usage("name", format!("{name:?} is in the group already")));
        }
        Ok(())
    }

    /// Adds a link.
    pub(crate) fn link(&mut self, group: ObjectId, name: &str, to: Destination) -> Result<()> {
        self.check_name(group, name)?;
        if let Destination::Object(id) = to {
            self.object(id)?;
        }
        let group = self.group_mut(group)?;
        group.names.insert(name.as_bytes().into(), group.links.len());
        group.links.push((name.into(), to));
        Ok(())
    }

    /// The address of an object's header, which is fixed by this call.
    pub(crate) fn address(&mut self, id: ObjectId) -> Result<Address> {
        if let Some(address) = self.object(id)?.reserved {
            return Ok(address);
        }
        let address = self.output.allocate(RESERVED as u64)?;
        self.object_mut(id)?.reserved = Some(address);
        Ok(address)
    }

    /// Adds an attribute, or gives one of that name another value.
    pub(crate) fn attribute(&mut self, id: ObjectId, attribute: Attribute) -> Result<()> {
        if attribute.name.is_empty() || attribute.name.contains(&0) {
            return Err(Error::usage("attribute", "has a name that is empty or holds a NUL"));
        }
        let attributes = &mut self.object_mut(id)?.attributes;
        match attributes.iter_mut().find(|other| other.name == attribute.name) {
            Some(other) => *other = attribute,
            None => attributes.push(attribute),
        }
        Ok(())
    }

    /// Writes everything that is not written yet, and completes the file.
    pub(crate) fn finish(mut self, durability: Durability) -> Result<Target> {
        let references = self.references();
        let mut parts = Vec::with_capacity(self.objects.len());
        for (index, references) in (0..self.objects.len()).zip(references) {
            parts.push(self.content(index, references)?);
        }
        self.heap.close(&mut self.output)?;
        for (index, part) in parts.iter_mut().enumerate() {
            let Some(object) = self.objects.get(index) else { continue };
            part.room = self.header(object, part, &|_| Address(0))?.size();
            (part.address, part.room) = match object.reserved {
                Some(address) => (address, RESERVED),
                None => (self.output.allocate(part.room as u64)?, part.room),
            };
        }
        let places: Vec<Address> = parts.iter().map(|part| part.address).collect();
        let resolve = |id: ObjectId| places.get(id.index()).copied().unwrap_or(Address(0));
        for (object, part) in self.objects.iter().zip(&mut parts) {
            if let Kind::Group(group) = &object.kind {
                let links = group.resolved(&resolve, self.settings.tracked);
                match &mut part.links {
                    LinkStorage::Compact => {}
                    LinkStorage::Dense(info) => {
                        *info = links::build(&mut self.output, &links, self.settings.tracked)?;
                    }
                    LinkStorage::Table(table) => *table = symbols::build(&mut self.output, &links)?,
                }
            }
        }
        for (object, part) in self.objects.iter().zip(&parts) {
            let header = self.header(object, part, &resolve)?;
            header.write(&mut self.output, part.address, part.room)?;
        }
        self.superblock(parts.first())?;
        self.output.finish(durability)
    }

    /// Links to each object, and uses of committed datatypes, which count as links.
    fn references(&self) -> Vec<u32> {
        let mut references = vec![0u32; self.objects.len()];
        let mut count = |id: ObjectId| {
            if let Some(count) = references.get_mut(id.index()) {
                *count = count.saturating_add(1);
            }
        };
        count(ObjectId::ROOT);
        for object in &self.objects {
            match &object.kind {
                Kind::Group(group) => group.links.iter().for_each(|(_, to)| {
                    if let Destination::Object(id) = to {
                        count(*id);
                    }
                }),
                Kind::Dataset(dataset) => dataset.committed.into_iter().for_each(&mut count),
                Kind::Datatype(_) => {}
            }
        }
        references
    }

    /// Writes what an object's header refers to, links aside.
    fn content(&mut self, index: usize, references: u32) -> Result<Parts> {
        let Settings { bound, tracked, ref registry, .. } = self.settings;
        let Some(object) = self.objects.get_mut(index) else {
            return Err(Error::usage("object", "is missing"));
        };
        let layout = match &mut object.kind {
            Kind::Dataset(dataset) => Some(dataset.close(&mut self.output, registry, bound)?),
            _ => None,
        };
        let fits =
            object.attributes.iter().all(|attribute| attribute.message.len() <= attributes::MAX_MESSAGE);
        // An attribute that is too long for the old header has a place only with the new one.
        let version = if bound.is_old() && fits && !tracked { 1 } else { 2 };
        let dense = version == 2 && !attributes::are_compact(&object.attributes);
        let attributes = match dense {
            true => Some(attributes::build(&mut self.output, &object.attributes, tracked)?),
            false => None,
        };
        let links = match &object.kind {
            Kind::Group(group) => group.storage(version == 1, tracked),
            _ => LinkStorage::Compact,
        };
        Ok(Parts { layout, attributes, links, references, version, address: Address(0), room: 0 })
    }

    /// The header of an object whose links lead where `resolve` says.
    fn header(&self, object: &Object, part: &Parts, resolve: &dyn Fn(ObjectId) -> Address) -> Result<Header> {
        let tracked = self.settings.tracked;
        let mut messages = match &object.kind {
            Kind::Group(group) => match &part.links {
                LinkStorage::Compact => links::compact(&group.resolved(resolve, tracked), tracked),
                LinkStorage::Dense(info) => links::dense(info),
                LinkStorage::Table(table) => {
                    vec![Message::new(MessageType::SymbolTable, 0, |out| table.encode(out, SIZES))]
                }
            },
            Kind::Dataset(dataset) => self.dataset_messages(dataset, part, resolve)?,
            Kind::Datatype(datatype) => {
                vec![Message::new(MessageType::Datatype, 0, |out| datatype.encode(out))]
            }
        };
        if let Some(time) = self.settings.time {
            messages.push(Message::new(MessageType::ModificationTime, 0, |out| {
                small::encode_modification_time(out, time);
            }));
        }
        if let Some(comment) = &object.comment {
            messages.push(Message::new(MessageType::Comment, 0, |out| small::encode_comment(out, comment)));
        }
        match &part.attributes {
            Some(info) => messages.push(attributes::info_message(info)),
            None => messages.extend(attributes::compact(&object.attributes, tracked && part.version == 2)),
        }
        let flags = if tracked { v2::TRACKED | v2::INDEXED } else { 0 };
        Header { version: part.version, flags, references: part.references, messages }.complete()
    }

    fn dataset_messages(
        &self,
        dataset: &Dataset,
        part: &Parts,
        resolve: &dyn Fn(ObjectId) -> Address,
    ) -> Result<Vec<Message>> {
        let bound = self.settings.bound;
        let version = |old, new| bound.version(old, new);
        let datatype = match dataset.committed {
            Some(id) => Message::new(MessageType::Datatype, CONSTANT | SHARED, |out| {
                Shared::Committed(resolve(id)).encode(out, SIZES, version(2, 3));
            }),
            None => Message::new(MessageType::Datatype, CONSTANT, |out| dataset.datatype.encode(out)),
        };
        let mut messages = vec![
            Message::new(MessageType::Dataspace, 0, |out| {
                dataset.dataspace.encode(out, SIZES, version(1, 2));
            }),
            datatype,
            fill_message(&dataset.fill, version(2, 3)),
        ];
        if !dataset.pipeline.filters.is_empty() {
            messages.push(Message::new(MessageType::FilterPipeline, CONSTANT, |out| {
                dataset.pipeline.encode(out, version(1, 2));
            }));
        }
        if let Data::External(files) = &dataset.data {
            messages.push(Message::new(MessageType::ExternalFiles, 0, |out| files.encode(out, SIZES)));
        }
        if let Some(layout) = &part.layout {
            let bytes = dataset.bytes()?;
            messages.push(Message::new(MessageType::Layout, 0, |out| layout.encode(out, SIZES, bytes)));
        }
        Ok(messages)
    }

    fn superblock(&mut self, root: Option<&Parts>) -> Result<()> {
        let Some(root) = root else { return Err(Error::usage("file", "has no root group")) };
        let bound = self.settings.bound;
        let rest = match bound.is_old() {
            true => Rest::Old {
                group_leaf_k: LEAF_K,
                group_internal_k: INTERNAL_K,
                chunk_k: 32,
                free_space: None,
                driver_info: None,
                root: Entry {
                    name: 0,
                    header: Some(root.address),
                    cache: match &root.links {
                        LinkStorage::Table(table) => {
                            Cache::Group { btree: Some(table.btree), heap: Some(table.heap) }
                        }
                        _ => Cache::None,
                    },
                },
            },
            false => Rest::New { extension: None, root: root.address },
        };
        let superblock = Superblock {
            version: match bound {
                Bound::Earliest => 0,
                Bound::V18 => 2,
                _ => 3,
            },
            sizes: SIZES,
            consistency_flags: 0,
            base: self.output.base(),
            end_of_file: self.output.base().saturating_add(self.output.end()),
            rest,
        };
        let mut bytes = Vec::new();
        superblock.encode(&mut bytes);
        self.output.write(Address(0), &bytes)
    }
}

fn fill_message(fill: &FillValue, version: u8) -> Message {
    Message::new(MessageType::FillValue, CONSTANT, |out| fill.encode(out, version))
}
