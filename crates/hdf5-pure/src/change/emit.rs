//! Completes a file: the order in which everything is written.
//!
//! Elements are written as they come. What leads to them is kept in memory and written at the end: chunk indexes, dense
//! attributes and links, the object headers, and finally the superblock. In this order every address is known when it
//! has to be written, so only the superblock is written twice.

use sciformats_core::arith::{add, present};
use sciformats_core::storage::Durability;
use sciformats_core::{Error, Result};

use crate::change::counts::Counts;
use crate::change::objects::NewParts;
use crate::change::tree::{Kind, Object, Settings, Tree};
use crate::dataset::write::{Data, Dataset};
use crate::group::members::{LinkStorage, Seen};
use crate::group::storage;
use crate::group::symbols::{self, Plan};
use crate::object::attributes;
use crate::object::creation::CreationProperties;
use crate::object::header::NewHeader;
use crate::object::id::{Id, Resolve};
use crate::space::output::Target;
use crate::spec::Address;
use crate::spec::btree_v1::BtreeK;
use crate::spec::message::dataspace;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::dense::AttributeInfo;
use crate::spec::message::fill_value::FillValue;
use crate::spec::message::layout::Layout;
use crate::spec::message::shared::Shared;
use crate::spec::message::{MessageType, small};
use crate::spec::object_header::{CONSTANT, Message, SHARED, v2};
use crate::spec::superblock::{Rest, Superblock};
use crate::spec::symbol_table::{Cache, Entry};

/// What is known about an object when its header is written. There is one for each new group of a file until its last commit,
/// so what few objects have is boxed.
pub(crate) struct Parts {
    layout: Option<Box<Layout>>,
    attributes: Option<Box<AttributeInfo>>,
    links: LinkStorage,
    references: u32,
    version: u8,
    /// The address of the header, once it has space.
    address: Option<Address>,
    room: usize,
    /// The header of an object that leads to no others.
    header: Option<Box<NewHeader>>,
}

impl Parts {
    /// Returns the address of the header.
    pub(crate) fn address(&self) -> Result<Address> {
        present(self.address, "address of an object")
    }
}

/// Fails if a message of `len` bytes is too long for an object header. What is added to a file is checked at once, because an error
/// at the end would be one of the whole file.
pub(crate) fn fits(kind: MessageType, len: usize) -> Result<()> {
    let most = attributes::MAX_MESSAGE;
    if len > most {
        let problem = format!("has {len} bytes, but an object header holds messages of at most {most}");
        return Err(Error::usage(kind.name(), problem));
    }
    Ok(())
}

impl Tree {
    /// Writes everything that is not written yet, and completes the file.
    pub(crate) fn finish(mut self, durability: Durability) -> Result<Target> {
        let counts = self.counts()?;
        self.heap.close(&mut self.output)?;
        let linked = self.linked(&counts);
        drop(counts);
        let parts = self.write_new(linked)?;
        let superblock = self.superblock(parts.get(Id::ROOT.index()))?;
        // Without the superblock the bytes are not an HDF5 file. It is therefore written after everything that it leads
        // to.
        self.output.settle(durability)?;
        self.output.write(Address(0), &superblock)?;
        self.output.finish(durability)
    }

    /// Returns the new objects in memory to which something leads, and the number of links to each.
    pub(crate) fn linked(&self, counts: &Counts) -> Vec<(usize, u32)> {
        let all = self.objects.settled()..self.objects.len();
        let new = all.filter(|index| self.objects.get(*index).is_some_and(|object| object.origin.is_none()));
        new.map(|index| (index, counts.of(index))).filter(|&(_, links)| links > 0).collect()
    }

    /// Writes new objects, given by their numbers and the numbers of links to them. Returns what is known about each.
    pub(crate) fn write_new(&mut self, new: Vec<(usize, u32)>) -> Result<NewParts> {
        let mut parts = NewParts::of(new.len());
        for (index, links) in new {
            parts.push(index, self.content(index, links)?);
        }
        for (index, part) in parts.iter_mut() {
            let Some(object) = self.objects.get(index) else { continue };
            if matches!(object.kind, Kind::Group(_)) {
                // All addresses have the same width, so the size does not depend on their values.
                part.room = self.header(object, part, &|_| Ok(Address(0)))?.size()?;
            } else {
                // If the object uses a committed datatype, that datatype was created before and has an address already.
                let places = self.objects.places();
                let header = self.header(object, part, &|id| places.of(id))?;
                part.room = header.size()?;
                part.header = Some(Box::new(header));
            }
            let (address, room) = match &object.place {
                Some(place) => place.header,
                None => (self.output.allocate(part.room as u64)?, part.room),
            };
            (part.address, part.room) = (Some(address), room);
            self.objects.set_address(index, Some(address));
        }
        for (index, links) in self.write_links(&parts)? {
            let part = parts.get_mut(index);
            present(part, "state of a new group")?.links = links;
        }
        let places = self.objects.places();
        let resolve = |id: Id| places.of(id);
        for (index, part) in parts.iter() {
            let object = present(self.objects.get(index), "a new object")?;
            let place = (part.address()?, part.room);
            let spare = object.place.as_ref().and_then(|place| place.spare);
            match &part.header {
                Some(header) => header.write_again(&mut self.output, place, spare)?,
                None => {
                    let header = self.header(object, part, &resolve)?;
                    header.write_again(&mut self.output, place, spare)?;
                }
            }
        }
        Ok(parts)
    }

    /// Writes the structures that hold the links of new groups, unless the links are in the group headers.
    fn write_links(&mut self, parts: &NewParts) -> Result<Vec<(usize, LinkStorage)>> {
        let (k, sizes) = (self.group_k(), self.output.sizes);
        let (objects, places) = self.objects.split();
        let resolve = |id: Id| places.of(id);
        let mut written = Vec::new();
        for (index, part) in parts.iter() {
            let object = objects.get_mut(index).and_then(Option::as_deref_mut);
            let Some(Object { kind: Kind::Group(group), properties, .. }) = object else { continue };
            group.forget_names();
            let order = properties.links.as_ref().map(|links| links.order).unwrap_or_default();
            let mut encode = |link: &Seen<'_>, out: &mut Vec<u8>| {
                link.link(&resolve, order.is_tracked())?.encode(out, sizes)
            };
            match &part.links {
                LinkStorage::Compact => {}
                LinkStorage::Dense(_) => {
                    let info = storage::build(&mut self.output, group, group.order(order), &mut encode)?;
                    written.push((index, LinkStorage::Dense(Box::new(info))));
                }
                LinkStorage::Table(_) => {
                    let plan = Plan { k, places: None, resolve: &resolve };
                    let table = symbols::build(&mut self.output, group, plan)?;
                    written.push((index, LinkStorage::Table(table)));
                }
            }
        }
        Ok(written)
    }

    /// Returns half the entries of a symbol table node, and half the children of a node of a group's B-tree.
    fn group_k(&self) -> (u16, u16) {
        (self.settings.btree_k.group_leaf, self.settings.btree_k.group_internal)
    }

    /// Returns half the children of a node of a B-tree of chunks.
    pub(crate) fn chunk_k(&self) -> u16 {
        self.settings.btree_k.chunk
    }

    /// Writes what the header of an object refers to, except for links.
    fn content(&mut self, index: usize, references: u32) -> Result<Parts> {
        let Settings { bound, index_bound, ref registry, .. } = self.settings;
        let index_bound = index_bound.unwrap_or(bound);
        let Some(object) = self.objects.get_mut(index) else {
            return Err(Error::internal("an object is missing"));
        };
        let layout = match &mut object.kind {
            Kind::Dataset(dataset) => {
                Some(Box::new(dataset.close(&mut self.output, registry, index_bound)?))
            }
            _ => None,
        };
        let fits = attributes::fit(&object.attributes);
        // An attribute message of 64 KiB or more does not fit into a header of version 1, so the header becomes version
        // 2.
        let properties = &object.properties;
        let order = properties.attribute_order;
        let version = if properties.header_version == 1 && fits && !order.is_tracked() { 1 } else { 2 };
        let dense =
            version == 2 && !attributes::are_compact(&object.attributes, properties.most_attributes());
        let order = attributes::Order::of(&object.attributes, order)?;
        let attributes = match dense {
            true => Some(Box::new(attributes::build(&mut self.output, &object.attributes, order)?)),
            false => None,
        };
        let links = match &object.kind {
            Kind::Group(group) => group.storage(properties.links.as_ref()),
            _ => LinkStorage::Compact,
        };
        Ok(Parts { layout, attributes, links, references, version, address: None, room: 0, header: None })
    }

    /// Returns the header of an object, with the addresses that `resolve` gives for the targets of its links.
    fn header(&self, object: &Object, part: &Parts, resolve: Resolve<'_>) -> Result<NewHeader> {
        let (properties, sizes) = (&object.properties, self.output.sizes);
        let links = properties.links.clone().unwrap_or_default();
        let mut messages = match &object.kind {
            Kind::Group(group) => match &part.links {
                LinkStorage::Compact => {
                    let all = group.resolved(resolve, links.order.is_tracked())?;
                    storage::compact(&all, group.order(links.order), links.info(), sizes)?
                }
                LinkStorage::Dense(info) => storage::dense(info, links.info(), sizes)?,
                LinkStorage::Table(table) => {
                    vec![Message::new(MessageType::SymbolTable, 0, |out| table.encode(out, sizes))?]
                }
            },
            Kind::Dataset(dataset) => self.dataset_messages(dataset, part, resolve)?,
            Kind::Datatype(datatype) => {
                vec![Message::new(MessageType::Datatype, 0, |out| datatype.encode(out))?]
            }
            Kind::Stored | Kind::Gone => {
                return Err(Error::internal("an object that is already stored is written as a new one"));
            }
        };
        let (times, modified) = times(properties, part.version);
        if let Some(time) = modified {
            messages.push(Message::new(MessageType::ModificationTime, 0, |out| {
                small::encode_modification_time(out, time)
            })?);
        }
        if let Some(comment) = object.comment.as_ref().filter(|comment| !comment.as_bytes().is_empty()) {
            messages.push(Message::new(MessageType::Comment, 0, |out| small::encode_comment(out, comment))?);
        }
        match &part.attributes {
            Some(info) => messages.push(attributes::info_message(info, sizes)?),
            None => {
                // Without this message the C library reports that an object with a version 2 header has no attributes.
                if part.version == 2 && object.attributes.len() > 0 {
                    let order = attributes::Order::of(&object.attributes, properties.attribute_order)?;
                    messages.push(attributes::info_message(&order.info(), sizes)?);
                }
                for message in
                    attributes::compact(&object.attributes, properties.attribute_order.is_tracked())
                {
                    messages.push(message?);
                }
            }
        }
        let (flags, extra) = prefix(properties, times);
        NewHeader { version: part.version, flags, extra, references: part.references, messages }.complete()
    }

    fn dataset_messages(
        &self,
        dataset: &Dataset,
        part: &Parts,
        resolve: Resolve<'_>,
    ) -> Result<Vec<Message>> {
        let (bound, sizes) = (self.settings.bound, self.output.sizes);
        let version = |old, new| bound.version(old, new);
        let datatype = match dataset.committed {
            Some(id) => Message::new(MessageType::Datatype, CONSTANT | SHARED, |out| {
                Shared::Committed(resolve(id)?).encode(out, sizes, version(2, 3))
            })?,
            None => Message::new(MessageType::Datatype, CONSTANT, |out| dataset.datatype.encode(out))?,
        };
        let mut messages = vec![
            Message::new(MessageType::Dataspace, 0, |out| {
                dataset.encode_dataspace(out, sizes, version(1, 2))
            })?,
            datatype,
        ];
        messages.extend(self.fixed_messages(dataset)?);
        if let Some(layout) = &part.layout {
            let bytes = dataset.bytes()?;
            messages.push(Message::new(MessageType::Layout, 0, |out| layout.encode(out, sizes, bytes))?);
        }
        Ok(messages)
    }

    /// Returns those messages of a dataset that are fixed when it is made, except for its datatype.
    fn fixed_messages(&self, dataset: &Dataset) -> Result<Vec<Message>> {
        let (bound, sizes) = (self.settings.bound, self.output.sizes);
        let mut messages = vec![fill_message(&dataset.fill, bound.version(2, 3))?];
        if !dataset.pipeline.filters.is_empty() {
            messages.push(Message::new(MessageType::FilterPipeline, CONSTANT, |out| {
                dataset.pipeline.encode(out, bound.version(1, 2))
            })?);
        }
        if let Data::External(files) = &dataset.data {
            messages.push(Message::new(MessageType::ExternalFiles, 0, |out| files.encode(out, sizes))?);
        }
        Ok(messages)
    }

    /// Checks that the messages of a new dataset fit into its header, and that the lengths of the file can express its shape and
    /// its size. Its datatype has been [checked](Self::checked) already.
    pub(crate) fn check_messages(&self, dataset: &Dataset) -> Result<()> {
        let sizes = self.output.sizes;
        dataset.dataspace.check(sizes)?;
        let bytes = dataset.bytes()?;
        if matches!(dataset.data, Data::Contiguous(_) | Data::External(_)) && bytes > dataspace::most(sizes) {
            let width = sizes.lengths;
            let problem = format!("needs {bytes} bytes, but the file stores lengths in {width} bytes");
            return Err(Error::usage("shape", problem));
        }
        let messages = self.fixed_messages(dataset)?;
        messages.iter().try_for_each(|message| fits(message.kind, message.body.len()))
    }

    /// Returns a datatype in the form in which the file stores it, if it obeys the rules of the format and fits into a header.
    pub(crate) fn checked(&self, datatype: &Datatype) -> Result<Datatype> {
        let datatype = self.datatype(datatype)?;
        datatype.check()?;
        let mut message = Vec::new();
        datatype.encode(&mut message)?;
        fits(MessageType::Datatype, message.len())?;
        Ok(datatype)
    }

    /// Writes the superblock extension, an object header, if there is something to store in it.
    fn extension(&mut self) -> Result<Option<Address>> {
        /// The message must not be shared, and a program that does not know it must mark it when it changes the object.
        const FLAGS: u8 = 0x14;
        let (end, sizes, k) = (Address(self.output.end()), self.output.sizes, self.settings.btree_k);
        let mut messages = Vec::new();
        if k != BtreeK::default() {
            messages.push(Message::new(MessageType::BtreeK, CONSTANT, |out| k.encode(out))?);
        }
        if let Some(info) = &self.settings.file_space {
            let encode = |out: &mut Vec<u8>| info.encode(out, sizes, Some(end));
            messages.push(Message::new(MessageType::FileSpaceInfo, FLAGS, encode)?);
        }
        if messages.is_empty() {
            return Ok(None);
        }
        let header =
            NewHeader { version: 2, flags: 0, extra: Vec::new(), references: 1, messages }.complete()?;
        let size = header.size()?;
        let at = self.output.allocate(size as u64)?;
        header.write(&mut self.output, at, size)?;
        Ok(Some(at))
    }

    fn superblock(&mut self, root: Option<&Parts>) -> Result<Vec<u8>> {
        let Some(root) = root else { return Err(Error::internal("the root group is missing")) };
        let k = self.settings.btree_k;
        let rest = match self.settings.has_old_superblock() {
            true => Rest::Old {
                group_leaf_k: k.group_leaf,
                group_internal_k: k.group_internal,
                chunk_k: k.chunk,
                free_space: None,
                driver_info: None,
                root: Entry {
                    name: 0,
                    header: Some(root.address()?),
                    cache: match &root.links {
                        LinkStorage::Table(table) => {
                            Cache::Group { btree: Some(table.btree), heap: Some(table.heap) }
                        }
                        _ => Cache::None,
                    },
                },
            },
            false => Rest::New { extension: self.extension()?, root: root.address()? },
        };
        let superblock = Superblock {
            version: self.settings.superblock_version(),
            sizes: self.output.sizes,
            consistency_flags: 0,
            base: self.output.base(),
            end_of_file: add(self.output.base(), self.output.end())?,
            rest,
        };
        let mut bytes = Vec::new();
        superblock.encode(&mut bytes)?;
        Ok(bytes)
    }
}

/// Returns the times in the prefix of a header of `version`, and the one in a message. The C library looks for them in the prefix of a
/// version 2 header, and in a message of a version 1 header, whose prefix has no space for them.
fn times(properties: &CreationProperties, version: u8) -> (Option<[u32; 4]>, Option<u32>) {
    match (version, properties.times, properties.modified) {
        // An object that is new is accessed, modified, changed and created at the same time.
        (2, None, Some(time)) if properties.header_version == 2 => (Some([time; 4]), None),
        // Nobody knows when an object of a version 1 header was accessed and created.
        (2, None, Some(time)) => (Some([0, time, time, 0]), None),
        (2, times, modified) => (times, modified),
        (_, Some([_, modified, ..]), None) => (None, Some(modified)),
        (_, _, modified) => (None, modified),
    }
}

/// Returns the flags of a version 2 header, and the fields of the prefix that they announce.
fn prefix(properties: &CreationProperties, times: Option<[u32; 4]>) -> (u8, Vec<u8>) {
    let order = properties.attribute_order;
    let flags = [
        (order.is_tracked(), v2::TRACKED),
        (order.is_indexed(), v2::INDEXED),
        (properties.attribute_phase_change.is_some(), v2::PHASE_CHANGE),
        (times.is_some(), v2::TIMES),
    ];
    let flags = flags.iter().fold(0, |flags, &(set, flag)| if set { flags | flag } else { flags });
    let mut extra = Vec::new();
    extra.extend(times.into_iter().flatten().flat_map(u32::to_le_bytes));
    let phase = properties.attribute_phase_change.map(|(most, fewest)| [most, fewest]);
    extra.extend(phase.into_iter().flatten().flat_map(u16::to_le_bytes));
    (flags, extra)
}

fn fill_message(fill: &FillValue, version: u8) -> Result<Message> {
    Message::new(MessageType::FillValue, CONSTANT, |out| fill.encode(out, version))
}
