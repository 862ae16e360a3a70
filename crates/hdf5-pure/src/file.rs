//! Files: opening, objects by path or address, and walks over everything.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, ReadAt, Result};

use crate::attribute::Attribute;
use crate::dataset::Dataset;
use crate::group::Group;
use crate::model::object::Object;
use crate::model::open::{self, Found, Opened, Options};
use crate::model::places::{self, Place};
use crate::model::{attributes, links, shared};
use crate::spec::btree_v1::BtreeK;
use crate::spec::free_space::{self, FreeSpace, Section};
use crate::spec::message::datatype::Datatype;
use crate::spec::message::file_space_info::FileSpaceInfo;
use crate::spec::message::group_info::GroupInfo;
use crate::spec::message::link::Target;
use crate::spec::message::{MessageType, small};
use crate::spec::object_header::Version;
use crate::spec::shared_table::{SharedIndex, SharedRecord};
use crate::spec::superblock::Superblock;
use crate::spec::{Address, Name};

/// An open HDF5 file. Clones share it; any number of threads may read at once.
#[derive(Clone)]
pub struct File(Arc<Shared>);

struct Shared {
    opened: Opened,
    /// The path by which each object is first reached.
    paths: OnceLock<HashMap<Address, Box<[u8]>>>,
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File").field("path", &self.0.opened.path).finish_non_exhaustive()
    }
}

impl File {
    /// Opens the file at `path` for reading. Parts of a family, multi or split file are found by its name.
    ///
    /// # Errors
    /// `Io`, or `Malformed` if there is no sound superblock.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &Options::default())
    }

    /// As [`open`](Self::open), with limits, filters and permissions of the caller's.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self> {
        Opened::open(path.as_ref(), options).map(Self::new)
    }

    /// A file that is in memory.
    ///
    /// # Errors
    /// `Malformed` if there is no sound superblock.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::from_storage(bytes.into(), &Options::default())
    }

    /// A file in any storage.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_storage(storage: impl ReadAt + 'static, options: &Options) -> Result<Self> {
        Opened::of(Arc::new(storage), None, options).map(Self::new)
    }

    fn new(opened: Opened) -> Self {
        Self(Arc::new(Shared { opened, paths: OnceLock::new() }))
    }

    pub(crate) fn opened(&self) -> &Opened {
        &self.0.opened
    }

    /// The superblock.
    pub fn superblock(&self) -> &Superblock {
        &self.0.opened.superblock
    }

    /// Where the superblock stands, and what all addresses are relative to: the length of the user block.
    pub fn base(&self) -> u64 {
        self.0.opened.context.base
    }

    /// Whether the file ends before its superblock says: something was cut off.
    pub fn is_truncated(&self) -> bool {
        let context = &self.0.opened.context;
        let stored = self.superblock().end_of_file.saturating_sub(self.superblock().base);
        context.storage.len().saturating_sub(context.base) < stored
    }

    /// How free space is managed, if the file says it.
    pub fn file_space(&self) -> Option<&FileSpaceInfo> {
        self.0.opened.file_space.as_ref()
    }

    /// The sizes of version 1 B-tree nodes: those of the superblock, or of its extension.
    pub fn btree_k(&self) -> BtreeK {
        self.0.opened.btree_k
    }

    /// The free parts that the file keeps account of.
    ///
    /// # Errors
    /// `Malformed` if a free-space manager is.
    pub fn free_space(&self) -> Result<Vec<Section>> {
        let context = &self.opened().context;
        let mut found = Vec::new();
        for &at in self.file_space().into_iter().flat_map(|info| &info.managers).flatten() {
            let len = FreeSpace::size(context.sizes) as u64;
            let header =
                context.parse("free-space header", at, len, |i| FreeSpace::parse(i, context.sizes))?;
            let Some(list) = header.list else { continue };
            let bytes = context.read("free-space section list", list, header.list_size)?;
            let base = context.offset(list);
            found.extend(sciformats_core::fault::locate("free-space section list", base, &bytes, |i| {
                free_space::sections(i, &header, context.sizes)
            })?);
        }
        Ok(found)
    }

    /// The indexes of messages that several objects share.
    pub fn shared_indexes(&self) -> &[SharedIndex] {
        &self.0.opened.context.shared
    }

    /// The messages of an index.
    ///
    /// # Errors
    /// `Malformed` if the index is.
    pub fn shared_records(&self, index: &SharedIndex) -> Result<Vec<SharedRecord>> {
        shared::records(&self.opened().context, index)
    }

    /// The root group.
    ///
    /// # Errors
    /// `Malformed` if it cannot be read.
    pub fn root(&self) -> Result<Group> {
        self.group_at(self.0.opened.root)
    }

    /// The object at `path`, soft links followed, external ones as [`Options::outside`] allows.
    ///
    /// # Errors
    /// [`Error::NotFound`], and what reading the groups on the way meets.
    pub fn object(&self, path: &str) -> Result<Node> {
        self.follow(self.0.opened.root, path.as_bytes(), 0)
    }

    pub(crate) fn follow(&self, from: Address, path: &[u8], depth: usize) -> Result<Node> {
        let text = || String::from_utf8_lossy(path).into_owned();
        match open::resolve(self.opened(), from, path, &mut 0)? {
            None => Err(Error::not_found("object", text())),
            Some(Found::Here(address)) => self.object_at(address),
            Some(Found::Elsewhere { file, path, rest }) => {
                const MAX_FILES: usize = 16;
                if depth >= MAX_FILES {
                    let (declared, limit) = (depth as u64 + 1, MAX_FILES as u64);
                    return Err(Error::LimitExceeded { what: "external links in a row", declared, limit });
                }
                let opened = self.opened();
                let Some(found) = opened.outside.find(opened.folder(), &file)? else {
                    return Err(Error::not_found("file of an external link", String::from_utf8_lossy(&file)));
                };
                let other = Self::new(opened.open_beside(&found)?);
                let path = [&b"/"[..], &path, &rest].concat();
                other.follow(other.opened().root, &path, depth + 1)
            }
        }
    }

    /// The group at `path`.
    ///
    /// # Errors
    /// As [`object`](Self::object), and [`Error::Usage`] if it is something else.
    pub fn group(&self, path: &str) -> Result<Group> {
        match self.object(path)? {
            Node::Group(group) => Ok(group),
            _ => Err(Error::usage("path", "does not lead to a group")),
        }
    }

    /// The dataset at `path`.
    ///
    /// # Errors
    /// As [`object`](Self::object), and [`Error::Usage`] if it is something else.
    pub fn dataset(&self, path: &str) -> Result<Dataset> {
        match self.object(path)? {
            Node::Dataset(dataset) => Ok(dataset),
            _ => Err(Error::usage("path", "does not lead to a dataset")),
        }
    }

    /// The object with the header at `address`.
    ///
    /// # Errors
    /// `Malformed` if it cannot be read.
    pub fn object_at(&self, address: Address) -> Result<Node> {
        let object = Object::read(&self.opened().context, address)?;
        Ok(match kind(&object) {
            Some(NodeKind::Group) => Node::Group(Group::new(self.clone(), address)),
            Some(NodeKind::Dataset) => Node::Dataset(Dataset::open(self.clone(), &object)?),
            Some(NodeKind::Datatype) => Node::Datatype(CommittedDatatype { file: self.clone(), address }),
            None => {
                return Err(
                    object.missing(&self.opened().context, "is neither a group, dataset nor datatype")
                );
            }
        })
    }

    /// What the object at `address` is.
    ///
    /// # Errors
    /// `Malformed` if it cannot be read.
    pub fn kind_at(&self, address: Address) -> Result<NodeKind> {
        let object = Object::read(&self.opened().context, address)?;
        kind(&object)
            .ok_or_else(|| object.missing(&self.opened().context, "is neither a group, dataset nor datatype"))
    }

    fn group_at(&self, address: Address) -> Result<Group> {
        match self.kind_at(address)? {
            NodeKind::Group => Ok(Group::new(self.clone(), address)),
            _ => {
                let kind = FaultKind::Rule("is not a group");
                Err(self.opened().context.fault("object header", address, Fault::from(kind)))
            }
        }
    }

    /// The dataset with the header at `address`.
    ///
    /// # Errors
    /// As [`object_at`](Self::object_at), and [`Error::Usage`] if it is something else.
    pub fn dataset_at(&self, address: Address) -> Result<Dataset> {
        match self.object_at(address)? {
            Node::Dataset(dataset) => Ok(dataset),
            _ => Err(Error::usage("address", "is not that of a dataset")),
        }
    }

    /// The attributes of the object at `address`, in byte order of their names; those that cannot be read come last.
    ///
    /// # Errors
    /// `Malformed` if the object's header cannot be read; broken attributes are items.
    pub fn attributes_at(&self, address: Address) -> Result<Vec<Attribute>> {
        let object = Object::read(&self.opened().context, address)?;
        let found = attributes::all(&self.opened().context, &object);
        let mut all: Vec<Attribute> =
            found.into_iter().map(|found| Attribute::new(self.clone(), found)).collect();
        all.sort_by(|a, b| {
            let key = |attribute: &Attribute| (attribute.name().is_none(), attribute.name().cloned());
            key(a).cmp(&key(b))
        });
        Ok(all)
    }

    /// The attribute `name` of the object at `address`, found without reading all of them.
    ///
    /// # Errors
    /// [`Error::NotFound`], and what reading meets.
    pub fn attribute_at(&self, address: Address, name: &str) -> Result<Attribute> {
        let object = Object::read(&self.opened().context, address)?;
        match attributes::find(&self.opened().context, &object, name.as_bytes())? {
            Some(found) => Ok(Attribute::new(self.clone(), found)),
            None => Err(Error::not_found("attribute", name)),
        }
    }

    /// What the header of the object at `address` says beside its content.
    ///
    /// # Errors
    /// `Malformed` if it cannot be read.
    pub fn object_info(&self, address: Address) -> Result<ObjectInfo> {
        let context = &self.opened().context;
        let object = Object::read(context, address)?;
        let count = object.parse(context, MessageType::ReferenceCount, small::reference_count)?;
        let modified = match object.parse(context, MessageType::ModificationTime, small::modification_time)? {
            Some(time) => Some(time),
            None => object.parse(context, MessageType::ModificationTimeOld, small::modification_time_old)?,
        };
        let (header_version, references, times) = match object.prefix.version {
            Version::V1 { references, .. } => (1, references, None),
            Version::V2 { times, .. } => (2, count.unwrap_or(1), times),
        };
        Ok(ObjectInfo {
            header_version,
            references,
            times,
            modified: times.map(|[_, modified, ..]| modified).or(modified),
            comment: object.parse(context, MessageType::Comment, small::comment)?,
            group: object.parse(context, MessageType::GroupInfo, GroupInfo::parse)?,
            messages: object.messages().iter().map(|m| (m.kind, m.offset, m.len())).collect(),
            blocks: object.blocks,
        })
    }

    /// The heaps, trees and arrays that the object at `address` needs beside its header; those that cannot be read are
    /// items.
    ///
    /// # Errors
    /// `Malformed` if the header cannot be read.
    pub fn places_of(&self, address: Address) -> Result<Vec<Result<Place>>> {
        let context = &self.opened().context;
        Ok(places::of(context, &Object::read(context, address)?))
    }

    /// A walk over all links, breadth first, members in byte order of their names. Each object comes once, by the path on
    /// which it is first met; further hard links to it are named as such.
    pub fn walk(&self) -> Walk {
        let root = self.0.opened.root;
        let mut seen = HashMap::new();
        seen.insert(root, Box::from(&b"/"[..]));
        let first = Visited { path: b"/".to_vec(), what: Met::Object(root) };
        Walk {
            file: self.clone(),
            seen,
            queue: VecDeque::from([(root, b"/".to_vec())]),
            ready: VecDeque::from([first]),
        }
    }

    /// The path by which the object at `address` is first reached in a [`walk`](Self::walk), if any leads to it.
    ///
    /// # Errors
    /// None at present: what cannot be read leads nowhere.
    pub fn path_of(&self, address: Address) -> Result<Option<&[u8]>> {
        let paths = self.0.paths.get_or_init(|| {
            let mut walk = self.walk();
            walk.by_ref().for_each(drop);
            walk.seen
        });
        Ok(paths.get(&address).map(|path| &path[..]))
    }
}

fn kind(object: &Object<'_>) -> Option<NodeKind> {
    let has = |kind| object.find(kind).is_some();
    if has(MessageType::SymbolTable) || has(MessageType::LinkInfo) {
        Some(NodeKind::Group)
    } else if has(MessageType::Layout) || has(MessageType::Dataspace) {
        Some(NodeKind::Dataset)
    } else if has(MessageType::Datatype) {
        Some(NodeKind::Datatype)
    } else if has(MessageType::Link) || has(MessageType::GroupInfo) {
        Some(NodeKind::Group)
    } else {
        None
    }
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A group.
    Group,
    /// A dataset.
    Dataset,
    /// A committed datatype.
    Datatype,
}

/// An object.
#[derive(Clone, Debug)]
pub enum Node {
    /// A group.
    Group(Group),
    /// A dataset.
    Dataset(Dataset),
    /// A committed datatype.
    Datatype(CommittedDatatype),
}

/// A datatype that is an object of its own.
#[derive(Clone, Debug)]
pub struct CommittedDatatype {
    file: File,
    address: Address,
}

impl CommittedDatatype {
    /// Where its header is.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The datatype.
    ///
    /// # Errors
    /// `Malformed` if it cannot be read.
    pub fn datatype(&self) -> Result<Datatype> {
        let context = &self.file.opened().context;
        let object = Object::read(context, self.address)?;
        let datatype = object.parse(context, MessageType::Datatype, Datatype::parse)?;
        datatype.ok_or_else(|| object.missing(context, "lacks the datatype message of a datatype"))
    }

    /// Its attributes, as [`File::attributes_at`] has them.
    ///
    /// # Errors
    /// As [`File::attributes_at`].
    pub fn attributes(&self) -> Result<Vec<Attribute>> {
        self.file.attributes_at(self.address)
    }
}

/// What an object's header says beside its content.
#[derive(Clone, Debug)]
pub struct ObjectInfo {
    /// 1 or 2.
    pub header_version: u8,
    /// Hard links to the object, as it counts them.
    pub references: u32,
    /// Access, modification, change and birth, in seconds of the Unix epoch.
    pub times: Option<[u32; 4]>,
    /// Time of the last modification, in seconds of the Unix epoch.
    pub modified: Option<u32>,
    /// A comment.
    pub comment: Option<Name>,
    /// When a group's links move to dense storage, where the group says it.
    pub group: Option<GroupInfo>,
    /// All messages, the absolute offsets of their bodies, and the bytes of these.
    pub messages: Vec<(MessageType, u64, u64)>,
    /// Absolute offsets and bytes of the header's parts: the first one, and those where it continues.
    pub blocks: Vec<(u64, u64)>,
}

/// A step of a [`Walk`].
#[derive(Debug)]
pub struct Visited {
    /// The path, names joined by slashes.
    pub path: Vec<u8>,
    /// What is there.
    pub what: Met,
}

/// What a [`Walk`] meets.
#[derive(Debug)]
pub enum Met {
    /// An object that was not met before.
    Object(Address),
    /// An object that was met before, by this path.
    HardLink(Vec<u8>),
    /// A soft link, which is not followed: its text.
    SoftLink(Name),
    /// An external link, which is not followed.
    ExternalLink {
        /// The file.
        file: Name,
        /// The path in it.
        path: Name,
    },
    /// A user-defined link of this class.
    UserLink(u8),
    /// A link that cannot be read, or the members of a group that cannot be listed.
    Broken(Error),
}

/// The iterator of [`File::walk`].
#[derive(Debug)]
pub struct Walk {
    file: File,
    seen: HashMap<Address, Box<[u8]>>,
    /// Groups whose members are still to be listed.
    queue: VecDeque<(Address, Vec<u8>)>,
    ready: VecDeque<Visited>,
}

impl Iterator for Walk {
    type Item = Visited;

    fn next(&mut self) -> Option<Visited> {
        while self.ready.is_empty() {
            let (address, path) = self.queue.pop_front()?;
            self.list(address, &path);
        }
        self.ready.pop_front()
    }
}

impl Walk {
    fn list(&mut self, address: Address, path: &[u8]) {
        let file = self.file.clone();
        let context = &file.opened().context;
        // What is not a group has no members; why an object cannot be read is said when it is opened.
        let members = match Object::read(context, address) {
            Ok(object) if kind(&object) == Some(NodeKind::Group) => links::all(context, &object),
            _ => return,
        };
        let mut links = Vec::new();
        for member in members.unwrap_or_else(|error| vec![Err(error.into())]) {
            match member {
                Ok(link) => links.push(link),
                Err(broken) => {
                    let name = broken.name.as_ref().map_or(&b"?"[..], Name::as_bytes);
                    self.ready.push_back(Visited { path: join(path, name), what: Met::Broken(broken.error) });
                }
            }
        }
        links.sort_by(|a, b| a.name.cmp(&b.name));
        for link in links {
            let path = join(path, link.name.as_bytes());
            let what = match link.target {
                Target::Soft(text) => Met::SoftLink(text),
                Target::External { file, path } => Met::ExternalLink { file, path },
                Target::User { class, .. } => Met::UserLink(class),
                Target::Hard(address) => match self.seen.get(&address) {
                    Some(first) => Met::HardLink(first.to_vec()),
                    None => {
                        self.seen.insert(address, path.clone().into());
                        self.queue.push_back((address, path.clone()));
                        Met::Object(address)
                    }
                },
            };
            self.ready.push_back(Visited { path, what });
        }
    }
}

fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if path.ends_with(b"/") { b"" } else { b"/" };
    [path, slash, name].concat()
}
