//! The objects of a file that is being written.
//!
//! In a file that is edited, the objects that the file already has become objects of the tree when a path leads to
//! them.

use std::collections::HashMap;

use sciformats_core::{Error, Result, bound};

use crate::change::early::Held;
use crate::change::objects::Objects;
use crate::dataset::write::Dataset;
use crate::file::session::Session;
use crate::filter::Registry;
use crate::group::members::{Destination, Group};
use crate::heap::global::GlobalHeapWriter;
use crate::object::attributes::{Attribute, AttributeList, Removed};
use crate::object::bound::Bound;
use crate::object::creation::CreationProperties;
use crate::object::header::RESERVED;
use crate::object::id::{Id, Owner};
use crate::object::shared::Part;
use crate::space::output::{Output, Target};
use crate::space::pages::Pages;
use crate::space::pending::Use;
use crate::spec::btree_v1::BtreeK;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::file_space_info::FileSpaceInfo;
use crate::spec::{Address, Name};
use crate::value::store::Elsewhere;

/// How a file is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) bound: Bound,
    /// The bound of the indexes of chunks, if it is another one.
    pub(crate) index_bound: Option<Bound>,
    /// Whether the creation order of links and attributes is tracked.
    pub(crate) tracked: bool,
    /// The time that is stored in new objects, in seconds since 1970. Objects that change and store a time get it too, or that of
    /// the clock if it is `None`.
    pub(crate) time: Option<u32>,
    pub(crate) registry: Registry,
    /// The number of threads that filter chunks; 0 means as many as the machine has.
    pub(crate) threads: usize,
    /// What the file stores about its free space.
    pub(crate) file_space: Option<FileSpaceInfo>,
    /// The K values of version 1 B-trees in a new file.
    pub(crate) btree_k: BtreeK,
    /// The version of the superblock of a new file. If this is `None`, it follows from the bound.
    pub(crate) superblock: Option<u8>,
    /// The approximate number of bytes of datasets of a new file that stay in memory.
    pub(crate) held: usize,
    /// The number of bytes behind the superblock of a new file that are kept for structures.
    pub(crate) metadata_room: u64,
}

impl Settings {
    /// Returns whether the superblock of a new file is of the oldest version, which stores nothing about free space.
    pub(crate) fn has_old_superblock(&self) -> bool {
        self.superblock_version() < 2
    }

    /// Returns the time at which objects change, in seconds since 1970.
    ///
    /// # Errors
    /// Returns `Unsupported` if there is no clock, or if its time is one that the format cannot store.
    pub(crate) fn now(&self) -> Result<u32> {
        match self.time {
            Some(time) => Ok(time),
            None => clock(),
        }
    }

    /// Returns the version of the superblock of a new file.
    pub(crate) fn superblock_version(&self) -> u8 {
        let of_bound = || match self.bound {
            Bound::Earliest => 0,
            Bound::V18 => 2,
            _ => 3,
        };
        match self.superblock.unwrap_or_else(of_bound) {
            0 | 1 if self.file_space.is_some() => 2,
            0 if self.btree_k.chunk != BtreeK::default().chunk => 1,
            version => version,
        }
    }
}

/// Returns the time that the clock shows, in seconds since 1970.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) fn clock() -> Result<u32> {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().ok();
    since.and_then(|since| u32::try_from(since.as_secs()).ok()).ok_or_else(|| {
        Error::unsupported("a time before 1970 or after 2105 as that of a change, which the clock shows,")
    })
}

/// The standard library has no clock for this target.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub(crate) fn clock() -> Result<u32> {
    Err(Error::unsupported("changing an object that stores its time on a machine without a clock"))
}

/// The file that is being written, as a tree of objects.
pub(crate) struct Tree {
    pub(crate) output: Output,
    pub(crate) heap: GlobalHeapWriter,
    pub(crate) settings: Settings,
    pub(crate) objects: Objects,
    /// The session of a file that is being edited.
    pub(crate) session: Option<Session>,
    /// The objects that the file already had.
    pub(crate) imported: HashMap<Address, Id>,
    /// The datasets of a new file that are in memory.
    pub(crate) held: Held,
    /// What its objects belong to.
    pub(crate) owner: Owner,
}

/// An object.
pub(crate) struct Object {
    pub(crate) kind: Kind,
    pub(crate) attributes: AttributeList,
    pub(crate) comment: Option<Name>,
    /// The creation properties of a new object.
    pub(crate) properties: CreationProperties,
    /// Where its header is, if something refers to it already or it has been written before.
    pub(crate) place: Option<Box<Place>>,
    /// What the file has of it.
    pub(crate) origin: Option<Box<Origin>>,
}

/// Where the header of a new object is.
pub(crate) struct Place {
    /// The address of the header, and the room there.
    pub(crate) header: (Address, usize),
    /// The address and the size of an existing continuation of the header.
    pub(crate) spare: Option<(Address, usize)>,
}

impl Object {
    /// Frees the space of an object that will not be written.
    pub(crate) fn abandon(&self, output: &mut Output) -> Result<()> {
        let places = self.place.iter().flat_map(|place| [Some(place.header), place.spare]);
        for (address, room) in places.flatten() {
            output.free(address, room as u64, Use::Metadata)?;
        }
        match &self.kind {
            Kind::Dataset(dataset) => {
                dataset.space()?.into_iter().try_for_each(|(at, len)| output.free(at, len, Use::Data))
            }
            _ => Ok(()),
        }
    }
}

/// What the file that is being edited has of an object.
pub(crate) struct Origin {
    pub(crate) address: Address,
    /// What is known about its attributes, once they are read.
    pub(crate) attributes: Option<StoredAttributes>,
}

/// What is known about the attributes of an object of the file that is being edited.
pub(crate) struct StoredAttributes {
    /// The creation order number of the next attribute.
    pub(crate) next: u32,
    /// What the attributes in the file use. If only some of them are in memory, these are the parts of the removed
    /// ones.
    pub(crate) parts: Vec<Part>,
    pub(crate) changed: bool,
    /// The names of the removed attributes, if the others are not in memory.
    pub(crate) removed: Option<Removed>,
    /// The number of attributes in the file, if they are not in memory.
    pub(crate) len: u64,
}

impl StoredAttributes {
    /// Returns whether so many attributes are removed, or are new in memory, that reading all others is worthwhile.
    pub(crate) fn has_many(&self, new: usize) -> bool {
        /// All attributes are read if they are fewer than this many times the changes.
        const TIMES: u64 = 16;
        let changes = |removed: &Removed| bound::sum(removed.len(), new) as u64;
        self.removed.as_ref().is_some_and(|removed| bound::product(changes(removed), TIMES) > self.len)
    }

    /// Returns whether the file may have an attribute of that name that is not in memory.
    pub(crate) fn may_hold(&self, name: &[u8]) -> bool {
        self.removed.as_ref().is_some_and(|removed| !removed.contains(name))
    }
}

/// The kind and the content of an object.
pub(crate) enum Kind {
    Group(Group),
    Dataset(Box<Dataset>),
    Datatype(Datatype),
    /// An object of the file that is being edited, whose content is not read yet.
    Stored,
    /// An object that was removed from the file.
    Gone,
}

impl Tree {
    pub(crate) fn new(target: Target, user_block: &[u8], settings: Settings) -> Result<Self> {
        let mut output = Output::new(target, user_block.len() as u64);
        output.threads = settings.threads;
        let paged = settings.file_space.as_ref().filter(|info| info.strategy == FileSpaceInfo::PAGES);
        output.pages = paged.and_then(|info| info.page_size).map(Pages::new);
        if !user_block.is_empty() {
            output.user_block(user_block)?;
        }
        let superblock = match settings.superblock_version() {
            0 => 96,
            1 => 100,
            _ => 48,
        };
        output.allocate(superblock)?;
        output.keep_front(settings.metadata_room)?;
        let mut tree = Self::with(output, settings, None);
        tree.add(Kind::Group(Group::default()), None)?;
        Ok(tree)
    }

    pub(crate) fn with(output: Output, settings: Settings, session: Option<Session>) -> Self {
        let heap = GlobalHeapWriter::new();
        Self {
            output,
            heap,
            settings,
            objects: Objects::default(),
            session,
            imported: HashMap::new(),
            held: Held::default(),
            owner: Owner::new(),
        }
    }

    pub(crate) fn add(&mut self, kind: Kind, origin: Option<Box<Origin>>) -> Result<Id> {
        let id =
            u32::try_from(self.objects.len()).map_err(|_| Error::usage("file", "has too many objects"))?;
        if self.session.is_none() {
            if let Some(before) = self.objects.len().checked_sub(1).and_then(|last| self.objects.get(last)) {
                // The chunks of the previous object are not counted yet.
                self.held.weigh_chunks(before);
            }
            self.relieve()?;
            self.held.add(id, &kind);
        }
        let Settings { bound, tracked, time, .. } = self.settings;
        let properties = CreationProperties::of_new(bound.is_old(), tracked, time);
        self.objects.push(Object {
            kind,
            attributes: AttributeList::default(),
            comment: None,
            properties,
            place: None,
            origin,
        });
        Ok(Id::of(id))
    }

    /// Returns the place for data that elements refer to.
    pub(crate) fn elsewhere(&mut self) -> Elsewhere<'_> {
        Elsewhere { output: &mut self.output, heap: &mut self.heap, bound: self.settings.bound }
    }

    pub(crate) fn object(&self, id: Id) -> Result<&Object> {
        match self.objects.get(id.index()) {
            Some(Object { kind: Kind::Gone, .. }) => {
                Err(Error::usage("object", "does not exist in the file any more"))
            }
            None if self.objects.written(id.index()).is_some() => {
                Err(Error::internal("an object that has been written was not read back"))
            }
            found => found.ok_or_else(|| Error::usage("object", "does not belong to this file")),
        }
    }

    pub(crate) fn object_mut(&mut self, id: Id) -> Result<&mut Object> {
        self.recall(id)?;
        self.object(id)?;
        self.objects.get_mut(id.index()).ok_or_else(|| Error::usage("object", "does not belong to this file"))
    }

    pub(crate) fn group_mut(&mut self, id: Id) -> Result<&mut Group> {
        self.recall(id)?;
        if matches!(self.object(id)?.kind, Kind::Stored) {
            self.load_group(id)?;
        }
        match &mut self.object_mut(id)?.kind {
            Kind::Group(group) => Ok(group),
            _ => Err(Error::usage("object", "is not a group")),
        }
    }

    /// Returns the filters of the caller.
    pub(crate) fn registry(&self) -> &Registry {
        &self.settings.registry
    }

    /// Returns the dataset `id`, with what is needed to write to it.
    pub(crate) fn dataset_mut(&mut self, id: Id) -> Result<(&mut Dataset, &mut Output, &Registry)> {
        self.recall(id)?;
        match self.objects.get_mut(id.index()).map(|object| &mut object.kind) {
            Some(Kind::Dataset(dataset)) => Ok((dataset, &mut self.output, &self.settings.registry)),
            _ => Err(Error::usage("object", "is not a dataset")),
        }
    }

    pub(crate) fn dataset(&self, id: Id) -> Result<&Dataset> {
        match &self.object(id)?.kind {
            Kind::Dataset(dataset) => Ok(dataset),
            _ => Err(Error::usage("object", "is not a dataset")),
        }
    }

    /// Returns the dataset `id`, which is read back if it is not in memory.
    pub(crate) fn recalled(&mut self, id: Id) -> Result<&Dataset> {
        self.recall(id)?;
        self.dataset(id)
    }

    pub(crate) fn committed(&self, id: Id) -> Result<&Datatype> {
        // Of the objects that have been written already, none is a datatype, because only datasets are written early.
        let written = self.objects.written(id.index()).is_some();
        match (!written).then(|| self.object(id)).transpose()?.map(|object| &object.kind) {
            Some(Kind::Datatype(datatype)) => Ok(datatype),
            _ => Err(Error::usage("object", "is not a committed datatype")),
        }
    }

    /// Returns a datatype in the form in which the file stores it.
    pub(crate) fn datatype(&self, datatype: &Datatype) -> Result<Datatype> {
        self.settings.bound.datatype(datatype, self.output.sizes)
    }

    /// Returns the group at `path`, relative to `from`. Missing groups are created.
    pub(crate) fn group_at(&mut self, from: Id, path: &[u8]) -> Result<Id> {
        let found = self.group_along(from, path);
        self.along(path, found)
    }

    fn group_along(&mut self, from: Id, path: &[u8]) -> Result<Id> {
        let mut at = if path.starts_with(b"/") { Id::ROOT } else { from };
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            at = match self.member(at, name)? {
                Some(Destination::Object(id)) => id,
                Some(Destination::Stored(address)) => self.import(address)?,
                // The groups on the way are found as when objects are opened. They must exist.
                Some(Destination::Soft(target)) => self.find(at, target.as_bytes())?,
                Some(_) => {
                    let name = String::from_utf8_lossy(name);
                    return Err(Error::usage("path", format!("{name} is a link that is not followed here")));
                }
                None => {
                    self.check_name(at, name)?;
                    let id = self.add(Kind::Group(Group::default()), None)?;
                    self.put_link(at, name, Destination::Object(id))?;
                    id
                }
            };
        }
        self.check_group(at)?;
        Ok(at)
    }

    /// Adds an object at `path`, relative to `from`. Missing groups are created.
    pub(crate) fn insert(&mut self, from: Id, path: &[u8], kind: Kind) -> Result<Id> {
        let inserted = self.insert_at(from, path, kind);
        self.along(path, inserted)
    }

    fn insert_at(&mut self, from: Id, path: &[u8], kind: Kind) -> Result<Id> {
        let (parent, name) = self.parent(from, path)?;
        // An invalid name must be reported before anything changes.
        self.check_name(parent, name)?;
        let id = self.add(kind, None)?;
        self.put_link(parent, name, Destination::Object(id))?;
        Ok(id)
    }

    /// Removes the object that was inserted last.
    pub(crate) fn withdraw(&mut self, id: Id) {
        if id.index().checked_add(1) != Some(self.objects.len()) {
            return;
        }
        let withdrawn = self.objects.pop();
        for index in self.objects.open() {
            let Some(Kind::Group(group)) = self.objects.get_mut(index).map(|object| &mut object.kind) else {
                continue;
            };
            let is_it = |to: &Destination| matches!(to, Destination::Object(last) if *last == id);
            let last = group.last().filter(|link| is_it(&link.to));
            if let Some(name) = last.map(|link| Name::from(link.name)) {
                group.remove(name.as_bytes());
            }
        }
        // If freeing fails, the space is lost, which does no harm to the file. The caller reports the error that led
        // here.
        let _ = withdrawn.map(|object| object.abandon(&mut self.output));
    }

    /// Returns the group that holds the last component of `path`, and that component.
    pub(crate) fn parent<'p>(&mut self, from: Id, path: &'p [u8]) -> Result<(Id, &'p [u8])> {
        match last_name(path) {
            (None, name) => Ok((from, name)),
            (Some([]), name) => Ok((Id::ROOT, name)),
            (Some(groups), name) => Ok((self.group_at(from, groups)?, name)),
        }
    }

    fn check_name(&mut self, group: Id, name: &[u8]) -> Result<()> {
        let shown = || String::from_utf8_lossy(name);
        if name.is_empty() || name == b"." || name.contains(&0) {
            return Err(Error::usage(
                "name",
                format!("{:?} cannot name a link: it is empty, \".\" or contains a NUL character", shown()),
            ));
        }
        if self.member(group, name)?.is_some() {
            return Err(Error::usage("name", format!("{:?} exists already in the group", shown())));
        }
        Ok(())
    }

    /// Adds a link.
    pub(crate) fn link(&mut self, group: Id, name: &[u8], to: Destination) -> Result<()> {
        self.check_name(group, name)?;
        if let Destination::Object(id) = to {
            // The object must be in memory, because its header stores the number of links to it.
            self.object_mut(id)?;
        }
        self.put_link(group, name, to)
    }

    /// Adds a link whose name and target were checked.
    fn put_link(&mut self, group: Id, name: &[u8], to: Destination) -> Result<()> {
        if let Destination::Object(id) = to {
            self.objects.count_link(id, 1)?;
        }
        self.group_to_change(group)?.push(name.into(), to)
    }

    /// Returns the address of an object's header, which is reserved by this call.
    pub(crate) fn address(&mut self, id: Id) -> Result<Address> {
        if let Some(address) = self.objects.written(id.index()) {
            return Ok(address);
        }
        let object = self.object(id)?;
        let place = object.place.as_ref().map(|place| place.header.0);
        if let Some(address) = place.or(object.origin.as_ref().map(|origin| origin.address)) {
            return Ok(address);
        }
        let address = self.output.allocate(RESERVED as u64)?;
        self.objects.set_address(id.index(), Some(address));
        let object = self.object_mut(id)?;
        object.place = Some(Box::new(Place { header: (address, RESERVED), spare: None }));
        if matches!(object.kind, Kind::Datatype(_)) {
            self.held.types.insert(address, id);
        }
        Ok(address)
    }

    /// Adds an attribute, or gives an existing attribute of that name another value.
    pub(crate) fn attribute(&mut self, id: Id, attribute: Attribute) -> Result<()> {
        if attribute.name.is_empty() || attribute.name.contains(&0) {
            return Err(Error::usage(
                "attribute",
                "needs a name that is not empty and has no NUL characters",
            ));
        }
        self.held.weigh(&attribute);
        let number = self.load_attributes(id)?;
        let attributes = &mut self.object_mut(id)?.attributes;
        match attributes.get_mut(&attribute.name) {
            Some(other) => {
                *other = Attribute { creation_order: other.creation_order, ..attribute };
                self.attributes_changed(id, 0)
            }
            None => match self.take_attribute(id, &attribute.name)? {
                Some(before) => {
                    let attribute = Attribute { creation_order: before.creation_order, ..attribute };
                    self.object_mut(id)?.attributes.push(attribute);
                    self.attributes_changed(id, 0)
                }
                None => {
                    self.check_one_more(id, &attribute, number)?;
                    let attribute = Attribute { creation_order: number, ..attribute };
                    self.object_mut(id)?.attributes.push(attribute);
                    self.attributes_changed(id, 1)
                }
            },
        }
    }
}

/// Splits a path into the groups before its last name, if there is a slash, and that name. The groups are empty if they are the root
/// group.
pub(crate) fn last_name(path: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| bound::sum(last, 1));
    let path = path.get(..end).unwrap_or_default();
    match path.iter().rposition(|byte| *byte == b'/') {
        None => (None, path),
        Some(at) => (path.get(..at), path.get(bound::sum(at, 1)..).unwrap_or_default()),
    }
}
