//! Writes datasets of a new file before the file is complete, so that memory does not grow with the number of datasets.
//!
//! A caller may add to an object at any time: an attribute, elements, a link. Usually a dataset is created, gets its
//! attributes and elements, and is not changed after that. To make this order cheap, datasets wait in memory until they take
//! as many bytes as [`Settings::held`](crate::change::tree::Settings) says. Then they are written together, one header after
//! another, and only the address of each and the number of links to it are kept. A dataset that is changed after that is read
//! back from the file, waits again, and is written again to the same place. What no longer fits there goes to a continuation
//! of its header. The space of its old indexes is lost, because space in a new file is never freed. A dataset that was used
//! since the last time datasets were written stays in memory for one more time. A dataset that grows while others are created
//! is therefore not read back each time.
//!
//! Groups and committed datatypes stay in memory until the end. A link of a group takes a few bytes, from which the index of
//! the group is built.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::RwLock;

use sciformats_core::arith::{fit, increase, present, sub};
use sciformats_core::{Error, Limits, Result, bound};

use crate::change::counts::Counts;
use crate::change::tree::{Kind, Object, Place, Tree};
use crate::chunk::index::build::Stored;
use crate::chunk::index::{Bounds, StoredChunk};
use crate::chunk::write::counts;
use crate::dataset::load;
use crate::dataset::read::{self, Content};
use crate::dataset::write::{Data, Dataset};
use crate::object::attributes::{self, Attribute, AttributeList};
use crate::object::committed::datatype_of;
use crate::object::creation::CreationProperties;
use crate::object::header::Object as Header;
use crate::object::id::Id;
use crate::space::context::Context;
use crate::spec::Address;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::layout::Layout;
use crate::spec::message::{MessageType, small};

/// The datasets that are in memory.
#[derive(Default)]
pub(crate) struct Held {
    /// The approximate number of bytes that were added since datasets were last written.
    bytes: usize,
    /// The numbers of the datasets.
    datasets: Vec<u32>,
    /// The datasets that were used since then.
    wanted: BTreeSet<u32>,
    /// The committed datatypes whose headers have an address.
    pub(super) types: BTreeMap<Address, Id>,
    /// The number of times that written datasets use each committed datatype.
    used: BTreeMap<Id, u32>,
}

/// The approximate number of bytes that a dataset takes in memory, and the number for an attribute.
const DATASET: usize = 1024;
const ATTRIBUTE: usize = 160;

impl Held {
    /// Adds a new object to the count.
    pub(super) fn add(&mut self, number: u32, kind: &Kind) {
        if let Kind::Dataset(dataset) = kind {
            self.datasets.push(number);
            let data = match &dataset.data {
                Data::Compact(bytes) => bytes.len(),
                _ => 0,
            };
            self.bytes = bound::sum(bound::sum(self.bytes, DATASET), data);
        }
    }

    /// Adds the chunks of a dataset to the count.
    pub(super) fn weigh_chunks(&mut self, object: &Object) {
        if let Kind::Dataset(dataset) = &object.kind
            && let Data::Chunked(chunked) = &dataset.data
        {
            self.bytes = bound::sum(self.bytes, bound::product(chunked.stored.len(), ATTRIBUTE));
        }
    }

    /// Adds a new attribute to the count.
    pub(super) fn weigh(&mut self, attribute: &Attribute) {
        let bytes = bound::sum(attribute.name.len(), attribute.message.len());
        self.bytes = bound::sum(self.bytes, bound::sum(bytes, ATTRIBUTE));
    }
}

/// Returns the committed datatypes that an object uses, once for each use.
fn used(object: &Object) -> impl Iterator<Item = Id> {
    let own = match &object.kind {
        Kind::Dataset(dataset) => dataset.committed,
        _ => None,
    };
    object.attributes.iter().filter_map(|attribute| attribute.committed).chain(own)
}

/// Returns whether a dataset can be written early and read back.
fn is_early(dataset: &Dataset) -> bool {
    match &dataset.data {
        // Not every index stores which chunks are not filtered, and which chunks exist.
        Data::Chunked(chunked) => !chunked.unfiltered_edges && chunked.implicit.is_none(),
        _ => true,
    }
}

impl Tree {
    /// Writes the datasets in memory if they take too many bytes. This only happens in new files.
    ///
    /// # Errors
    /// Returns the errors of the output, and an error if a dataset cannot be written.
    pub(crate) fn relieve(&mut self) -> Result<()> {
        if self.held.bytes <= self.settings.held {
            return Ok(());
        }
        self.held.bytes = 0;
        let wanted = std::mem::take(&mut self.held.wanted);
        let mut waiting: Vec<u32> = std::mem::take(&mut self.held.datasets);
        waiting.sort_unstable();
        waiting.dedup();
        let mut new = Vec::new();
        for number in waiting {
            let index = number as usize;
            match self.objects.get(index).map(|object| &object.kind) {
                Some(Kind::Dataset(dataset)) if is_early(dataset) && !wanted.contains(&number) => {
                    // A dataset to which nothing leads now may still get a link.
                    new.push((index, self.objects.links(index).max(1)));
                }
                Some(Kind::Dataset(_)) => self.held.datasets.push(number),
                _ => {}
            }
        }
        // The headers refer to committed datatypes, which are written later but need an address now.
        let types: BTreeSet<Id> =
            new.iter().filter_map(|&(index, _)| self.objects.get(index)).flat_map(used).collect();
        types.into_iter().try_for_each(|id| self.address(id).map(drop))?;
        let written = self.write_new(new)?;
        for (index, _) in written.iter() {
            let object = present(self.objects.replace(index, None), "a dataset that was written")?;
            used(&object).try_for_each(|id| increase(self.held.used.entry(id).or_default(), 1))?;
        }
        Ok(())
    }

    /// Reads an object of a new file back into memory if it has been written already.
    ///
    /// # Errors
    /// Returns the errors of reading it back.
    pub(crate) fn recall(&mut self, id: Id) -> Result<()> {
        if self.objects.written(id.index()).is_none() {
            return Ok(());
        }
        self.relieve()?;
        let Some(address) = self.objects.written(id.index()) else { return Ok(()) };
        let object = self.read_back(address)?;
        for used in used(&object) {
            let uses = self.held.used.entry(used).or_default();
            *uses = sub(*uses, 1)?;
        }
        self.held.add(id.number(), &object.kind);
        self.held.weigh_chunks(&object);
        object.attributes.iter().for_each(|attribute| self.held.weigh(attribute));
        self.held.wanted.insert(id.number());
        self.objects.replace(id.index(), Some(Box::new(object)));
        Ok(())
    }

    /// Prepares the dataset `id` for further changes.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the object is not a dataset, and the errors of reading it back.
    pub(crate) fn come_back_to(&mut self, id: Id) -> Result<()> {
        self.recalled(id)?;
        if id.index().checked_add(1) != Some(self.objects.len()) {
            self.held.wanted.insert(id.number());
        }
        Ok(())
    }

    /// Counts the links to each object of a new file. Objects that were written with another count are read back.
    ///
    /// # Errors
    /// Returns the errors of reading back and of writing again.
    pub(super) fn counts(&mut self) -> Result<Counts> {
        let mut counts = Counts::of_new(&self.objects, &self.held.used)?;
        let all = 0..self.objects.len();
        let written = |tree: &Self, index: &usize| tree.objects.written(*index).is_some();
        let lost: Vec<usize> =
            all.clone().filter(|index| written(self, index) && counts.of(*index) == 0).collect();
        for &index in &lost {
            // Reading the object back gives back its uses of committed datatypes.
            self.recall(Id::of(fit(index, "number of an object")?))?;
            self.objects.replace(index, None);
            self.objects.set_address(index, None);
        }
        if !lost.is_empty() {
            counts = Counts::of_new(&self.objects, &self.held.used)?;
        }
        for index in all {
            let links = counts.of(index);
            if links > 0 && written(self, &index) && self.objects.links(index).max(1) != links {
                self.recall(Id::of(fit(index, "number of an object")?))?;
            }
            self.objects.set_links(index, links);
        }
        Ok(counts)
    }

    fn read_back(&mut self, address: Address) -> Result<Object> {
        let (settings, objects, types) = (&self.settings, &self.objects, &self.held.types);
        let (base, sizes) = (self.output.base(), self.output.sizes);
        let own = |at: Address| {
            let id = *present(types.get(&at), "a committed datatype")?;
            match objects.get(id.index()).map(|object| &object.kind) {
                Some(Kind::Datatype(datatype)) => Ok((id, datatype)),
                _ => Err(Error::internal("a committed datatype is not in memory")),
            }
        };
        self.output.read_back(|storage| {
            let context = Context {
                storage,
                base,
                sizes,
                btree_k: settings.btree_k,
                // The caller had these bytes in memory before, so no limit applies.
                limits: Limits::default().with_memory(u64::MAX).with_items(u64::MAX),
                registry: settings.registry.clone(),
                shared: Vec::new(),
                verified: RwLock::default(),
            };
            object(&context, address, &own, settings.btree_k.chunk)
        })
    }
}

/// A function that returns the committed datatype at an address.
type Types<'t> = dyn Fn(Address) -> Result<(Id, &'t Datatype)> + 't;

/// Returns the dataset with the header at `address` in the state in which it was written.
fn object(context: &Context, address: Address, own: &Types<'_>, k: u16) -> Result<Object> {
    let header = Header::read(context, address)?;
    let committed = datatype_of(context, &header)?.map(own).transpose()?;
    let datatype = match committed {
        Some((_, datatype)) => Some(datatype.clone()),
        None => header.parse(context, MessageType::Datatype, Datatype::parse)?,
    };
    let dataspace = header.parse(context, MessageType::Dataspace, |i| Dataspace::parse(i, context.sizes))?;
    let content = Content {
        address,
        dataspace: present(dataspace, "dataspace of a dataset")?,
        stored_shape: None,
        unsized_because: None,
        datatype: present(datatype, "datatype of a dataset")?,
        storage: Ok(read::storage(context, &header)?),
        places: None,
    };
    let chunks = match &content.dataspace {
        Dataspace::Simple { dimensions, maximum } => {
            let side = match &content.storage()?.layout {
                Layout::Chunked(layout) => layout.dimensions.clone(),
                _ => Vec::new(),
            };
            let last = counts(maximum, dimensions, &side).iter().map(|n| bound::left(*n, 1)).collect();
            load::chunks(context, &content, &Bounds { first: vec![0; side.len()], last })?
        }
        _ => Vec::new(),
    };
    let mut dataset = load::dataset(context, content, k)?;
    dataset.committed = committed.map(|(id, _)| id);
    if let Data::Chunked(chunked) = &mut dataset.data {
        let stored = |chunk: StoredChunk| {
            let Stored { address, size, mask, .. } = load::stored(&chunk);
            (chunk.scaled.into(), Stored { address, size, mask, live: false })
        };
        chunked.stored = chunks.into_iter().map(stored).collect();
    }
    let mut attributes = AttributeList::default();
    for mut attribute in attributes::load(context, address)?.0 {
        let types = attributes::datatypes(context, std::slice::from_ref(&attribute))?;
        attribute.committed = types.first().map(|&at| own(at)).transpose()?.map(|(id, _)| id);
        // The attributes get their numbers when they are written.
        attribute.creation_order = None;
        attributes.push(attribute);
    }
    let room = |(offset, len): (u64, u64)| Ok((Address(sub(offset, context.base)?), fit(len, "room")?));
    let mut rooms = header.blocks().map(room);
    let first = present(rooms.next().transpose()?, "header of an object")?;
    let place = Place { header: first, spare: rooms.next().transpose()? };
    Ok(Object {
        kind: Kind::Dataset(Box::new(dataset)),
        attributes,
        comment: header.parse(context, MessageType::Comment, small::comment)?,
        properties: CreationProperties::of(context, &header)?,
        place: Some(Box::new(place)),
        origin: None,
    })
}
