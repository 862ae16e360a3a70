//! How a file is completed.
//!
//! Elements are written as they come. What leads to them is kept in memory and written at the end: indexes of chunks,
//! dense attributes and links, the object headers, and last the superblock. Every address is therefore known when it is
//! written, and nothing but the superblock is written twice.

use sciformats_core::storage::Durability;
use sciformats_core::{Error, Result};

use super::attributes;
use super::bound::Bound;
use super::dataset::{Data, Dataset};
use super::group::LinkStorage;
use super::header::{Header, RESERVED};
use super::output::Target;
use super::symbols::{INTERNAL_K, LEAF_K};
use super::tree::{Kind, Object, ObjectId, Settings, Tree};
use super::{links, symbols};
use crate::model::edit::counts::Counts;
use crate::model::edit::session::Session;
use crate::spec::Address;
use crate::spec::message::MessageType;
use crate::spec::message::attribute_info::AttributeInfo;
use crate::spec::message::fill_value::FillValue;
use crate::spec::message::layout::Layout;
use crate::spec::message::shared::Shared;
use crate::spec::message::small;
use crate::spec::object_header::{CONSTANT, Message, SHARED, v2};
use crate::spec::superblock::{Rest, Superblock};
use crate::spec::symbol_table::{Cache, Entry};

/// What is known of an object when its header is written.
pub(crate) struct Parts {
    layout: Option<Layout>,
    attributes: Option<AttributeInfo>,
    links: LinkStorage,
    references: u32,
    version: u8,
    pub(crate) address: Address,
    room: usize,
}

impl Tree {
    /// Writes everything that is not written yet, and completes the file.
    pub(crate) fn finish(mut self, durability: Durability) -> Result<Target> {
        let parts = self.write_new(&Counts::of_new(&self.objects))?;
        let superblock = self.superblock(parts.first().and_then(Option::as_ref))?;
        // Without it the file is none: it comes after all that it leads to.
        self.output.settle(durability)?;
        self.output.write(Address(0), &superblock)?;
        self.output.finish(durability)
    }

    /// Writes the new objects that something leads to. Gives what is known of each.
    pub(crate) fn write_new(&mut self, counts: &Counts) -> Result<Vec<Option<Parts>>> {
        let mut parts = Vec::with_capacity(self.objects.len());
        for index in 0..self.objects.len() {
            let references = counts.of(index);
            let new = self.objects.get(index).is_some_and(|object| object.origin.is_none());
            parts.push(match new && references > 0 {
                true => Some(self.content(index, references)?),
                false => None,
            });
        }
        self.heap.close(&mut self.output)?;
        for (index, part) in parts.iter_mut().enumerate() {
            let (Some(object), Some(part)) = (self.objects.get(index), part) else { continue };
            part.room = self.header(object, part, &|_| Address(0))?.size();
            (part.address, part.room) = match object.reserved {
                Some(address) => (address, RESERVED),
                None => (self.output.allocate(part.room as u64)?, part.room),
            };
        }
        let places = self.places(&parts);
        let resolve = |id: ObjectId| places.get(id.index()).copied().unwrap_or(Address(0));
        let (k, sizes) = (self.group_k(), self.output.sizes);
        for (object, part) in self.objects.iter().zip(&mut parts) {
            let (Kind::Group(group), Some(part)) = (&object.kind, part) else { continue };
            let tracked = self.settings.tracked;
            let links = group.resolved(&resolve, tracked);
            match &mut part.links {
                LinkStorage::Compact => {}
                LinkStorage::Dense(info) => {
                    let encoded: Vec<_> = links.iter().map(|link| links::Encoded::new(link, sizes)).collect();
                    *info = links::build(&mut self.output, &encoded, group.order(tracked))?;
                }
                LinkStorage::Table(table) => {
                    *table = symbols::build(&mut self.output, &links, k, None)?;
                }
            }
        }
        for (object, part) in self.objects.iter().zip(&parts) {
            let Some(part) = part else { continue };
            let header = self.header(object, part, &resolve)?;
            header.write(&mut self.output, part.address, part.room)?;
        }
        Ok(parts)
    }

    /// Where the headers of all objects are.
    pub(crate) fn places(&self, parts: &[Option<Parts>]) -> Vec<Address> {
        let place = |(object, part): (&Object, &Option<Parts>)| match (&object.origin, part) {
            (Some(origin), _) => origin.address,
            (None, Some(part)) => part.address,
            (None, None) => Address(0),
        };
        self.objects.iter().zip(parts).map(place).collect()
    }

    /// Half the entries of a symbol table node, and half the children of a node of a group's tree.
    fn group_k(&self) -> (u16, u16) {
        let of =
            |session: &Session| (session.opened.btree_k.group_leaf, session.opened.btree_k.group_internal);
        self.session.as_ref().map_or((LEAF_K, INTERNAL_K), of)
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
        let fits = attributes::fit(&object.attributes);
        // An attribute that is too long for the old header has a place only with the new one.
        let version = if bound.is_old() && fits && !tracked { 1 } else { 2 };
        let dense = version == 2 && !attributes::are_compact(&object.attributes, links::MAX_COMPACT);
        let order = attributes::Order::of(&object.attributes, tracked);
        let attributes = match dense {
            true => Some(attributes::build(&mut self.output, &object.attributes, order)?),
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
        let (tracked, sizes) = (self.settings.tracked, self.output.sizes);
        let mut messages = match &object.kind {
            Kind::Group(group) => match &part.links {
                LinkStorage::Compact => {
                    links::compact(&group.resolved(resolve, tracked), group.order(tracked), sizes)
                }
                LinkStorage::Dense(info) => links::dense(info, sizes),
                LinkStorage::Table(table) => {
                    vec![Message::new(MessageType::SymbolTable, 0, |out| table.encode(out, sizes))]
                }
            },
            Kind::Dataset(dataset) => self.dataset_messages(dataset, part, resolve)?,
            Kind::Datatype(datatype) => {
                vec![Message::new(MessageType::Datatype, 0, |out| datatype.encode(out))]
            }
            Kind::Stored | Kind::Gone => return Err(Error::usage("object", "is not a new one")),
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
            Some(info) => messages.push(attributes::info_message(info, sizes)),
            None => {
                if tracked && part.version == 2 {
                    let order = attributes::Order::of(&object.attributes, tracked);
                    messages.push(attributes::info_message(&order.info(), sizes));
                }
                messages.extend(attributes::compact(&object.attributes));
            }
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
        let (bound, sizes) = (self.settings.bound, self.output.sizes);
        let version = |old, new| bound.version(old, new);
        let datatype = match dataset.committed {
            Some(id) => Message::new(MessageType::Datatype, CONSTANT | SHARED, |out| {
                Shared::Committed(resolve(id)).encode(out, sizes, version(2, 3));
            }),
            None => Message::new(MessageType::Datatype, CONSTANT, |out| dataset.datatype.encode(out)),
        };
        let mut messages = vec![
            Message::new(MessageType::Dataspace, 0, |out| {
                dataset.dataspace.encode(out, sizes, version(1, 2));
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
            messages.push(Message::new(MessageType::ExternalFiles, 0, |out| files.encode(out, sizes)));
        }
        if let Some(layout) = &part.layout {
            let bytes = dataset.bytes()?;
            messages.push(Message::new(MessageType::Layout, 0, |out| layout.encode(out, sizes, bytes)));
        }
        Ok(messages)
    }

    /// Writes the object header that the superblock leads to, if there is something to say in it.
    fn extension(&mut self) -> Result<Option<Address>> {
        /// Not shared, and marked by who does not know it.
        const FLAGS: u8 = 0x14;
        let Some(info) = &self.settings.file_space else { return Ok(None) };
        let (end, sizes) = (Address(self.output.end()), self.output.sizes);
        let message =
            Message::new(MessageType::FileSpaceInfo, FLAGS, |out| info.encode(out, sizes, Some(end)));
        let header = Header { version: 2, flags: 0, references: 1, messages: vec![message] }.complete()?;
        let at = self.output.allocate(header.size() as u64)?;
        header.write(&mut self.output, at, header.size())?;
        Ok(Some(at))
    }

    fn superblock(&mut self, root: Option<&Parts>) -> Result<Vec<u8>> {
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
            false => Rest::New { extension: self.extension()?, root: root.address },
        };
        let superblock = Superblock {
            version: match bound {
                Bound::Earliest => 0,
                Bound::V18 => 2,
                _ => 3,
            },
            sizes: self.output.sizes,
            consistency_flags: 0,
            base: self.output.base(),
            end_of_file: self.output.base().saturating_add(self.output.end()),
            rest,
        };
        let mut bytes = Vec::new();
        superblock.encode(&mut bytes);
        Ok(bytes)
    }
}

fn fill_message(fill: &FillValue, version: u8) -> Message {
    Message::new(MessageType::FillValue, CONSTANT, |out| fill.encode(out, version))
}
