//! Files: opening, and objects by path or address.

mod info;
mod walk;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, ReadAt, Result};

pub use self::info::ObjectInfo;
pub use self::walk::{Met, Visited, Walk};

use crate::attribute::Attribute;
use crate::dataset::Dataset;
use crate::group::Group;
use crate::model::attributes;
use crate::model::object::Object;
use crate::model::open::{self, Found, Opened, OpenOptions};
use crate::spec::Address;
use crate::spec::message::MessageType;
use crate::spec::message::datatype::Datatype;
use crate::spec::superblock::Superblock;

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
        Self::open_with(path, &OpenOptions::default())
    }

    /// As [`open`](Self::open), with limits, filters and permissions of the caller's.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        Opened::open(path.as_ref(), options).map(Self::new)
    }

    /// A file that is in memory.
    ///
    /// # Errors
    /// `Malformed` if there is no sound superblock.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::from_storage(bytes.into(), &OpenOptions::default())
    }

    /// A file in any storage.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_storage(storage: impl ReadAt + 'static, options: &OpenOptions) -> Result<Self> {
        Opened::of(Arc::new(storage), None, options).map(Self::new)
    }

    /// A file as the next commit of an editor will leave it.
    pub(crate) fn of_pending(
        storage: impl ReadAt + 'static,
        path: Option<&Path>,
        superblock: &Superblock,
        options: &OpenOptions,
    ) -> Result<Self> {
        let mut opened = Opened::plain(Arc::new(storage), path, options)?;
        opened.superblock = superblock.clone();
        Ok(Self::new(opened))
    }

    fn new(opened: Opened) -> Self {
        Self(Arc::new(Shared { opened, paths: OnceLock::new() }))
    }

    pub(crate) fn opened(&self) -> &Opened {
        &self.0.opened
    }

    /// The root group.
    ///
    /// # Errors
    /// `Malformed` if it cannot be read.
    pub fn root(&self) -> Result<Group> {
        self.group_at(self.0.opened.root)
    }

    /// The object at `path`, soft links followed, external ones as [`OpenOptions::outside`] allows.
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
        self.object(path)?.into_group()
    }

    /// The dataset at `path`.
    ///
    /// # Errors
    /// As [`object`](Self::object), and [`Error::Usage`] if it is something else.
    pub fn dataset(&self, path: &str) -> Result<Dataset> {
        self.object(path)?.into_dataset()
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

impl Node {
    pub(crate) fn into_group(self) -> Result<Group> {
        match self {
            Self::Group(group) => Ok(group),
            _ => Err(Error::usage("path", "does not lead to a group")),
        }
    }

    pub(crate) fn into_dataset(self) -> Result<Dataset> {
        match self {
            Self::Dataset(dataset) => Ok(dataset),
            _ => Err(Error::usage("path", "does not lead to a dataset")),
        }
    }
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
