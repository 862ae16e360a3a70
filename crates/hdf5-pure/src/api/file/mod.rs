//! Opens files, and finds objects by their path or address.

mod absent;
mod elsewhere;
mod info;
mod node;
mod walk;

use std::path::Path;
use std::sync::Arc;

use sciformats_core::error::Within;
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, ReadAt, Result};

pub use crate::api::file::info::ObjectInfo;
pub use crate::api::file::node::{CommittedDatatype, Node};
pub use crate::api::file::walk::Walk;

use crate::api::attribute::Attribute;
use crate::api::dataset::Dataset;
use crate::api::group::Group;
use crate::api::named::{AsName, shown};
use crate::file::open::Opened;
use crate::file::options::OpenOptions;
use crate::group::path::{self, Found, Met};
use crate::object::attributes;
use crate::object::header::Object;
use crate::object::kind::NodeKind;
use crate::spec::superblock::Superblock;
use crate::spec::{Address, Name};

/// An open HDF5 file. Clones share the same open file, and any number of threads can read it at the same time.
///
/// ```
/// use hdf5_pure::File;
///
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let bytes = made.into_bytes()?;
/// let file = File::from_bytes(bytes)?;
/// let title: Vec<String> = file.root()?.attribute("title")?.read()?;
/// assert_eq!(title, ["a week in May"]);
///
/// let reading = file.clone(); // of the same open file
/// let handle = std::thread::spawn(move || reading.dataset("surface/temperature")?.read::<f64>());
/// assert_eq!(handle.join().unwrap_or_else(|_| Ok(Vec::new()))?.len(), 6);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone)]
pub struct File(Arc<Opened>);

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File").field("path", &self.0.path).finish_non_exhaustive()
    }
}

impl File {
    /// Opens the file at `path` for reading. The parts of a family, multi or split file are found by its name.
    ///
    /// ```
    /// use hdf5_pure::File;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let file = File::open(&path)?;
    /// assert_eq!(file.dataset("surface/temperature")?.shape(), [2, 3]);
    /// assert!(File::open("no such file.h5").is_err());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Io`, or `Malformed` if no valid superblock is found.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Works like [`open`](Self::open), with limits, filters and permissions that the caller chooses.
    ///
    /// ```
    /// use hdf5_pure::{File, OpenOptions};
    /// use hdf5_pure::options::{External, Limits};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let limits = Limits::default().with_memory(1 << 30);
    /// let options = OpenOptions::default().with_limits(limits).with_external(External::SameFolder);
    /// let file = File::open_with(&path, &options)?;
    /// assert_eq!(file.dataset("surface/temperature")?.read::<f32>()?[0], 281.5);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        Opened::open(path.as_ref(), options).map(Self::new)
    }

    /// Opens a file whose bytes are in memory.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").write(&[281.5, 282.0])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("temperature")?.read::<f64>()?, [281.5, 282.0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if no valid superblock is found.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::from_storage(bytes.into(), &OpenOptions::default())
    }

    /// Opens a file in any storage.
    ///
    /// ```
    /// use hdf5_pure::{File, OpenOptions};
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let bytes = made.into_bytes()?;
    /// // Bytes, or anything else that is `ReadAt`.
    /// let file = File::from_storage(bytes, &OpenOptions::default().with_threads(1))?;
    /// assert_eq!(file.dataset("surface/temperature")?.read::<f64>()?.len(), 6);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub fn from_storage(storage: impl ReadAt + 'static, options: &OpenOptions) -> Result<Self> {
        Opened::of(Arc::new(storage), None, options).map(Self::new)
    }

    /// Opens a file in the state that the next commit of an editor will give it.
    pub(crate) fn of_pending(
        storage: impl ReadAt + 'static,
        path: Option<&Path>,
        superblock: &Superblock,
        options: &OpenOptions,
    ) -> Result<Self> {
        let mut opened = Opened::plain(Arc::new(storage), path, options)?;
        opened.superblock = superblock.clone();
        opened.unchanging = false;
        Ok(Self::new(opened))
    }

    fn new(opened: Opened) -> Self {
        Self(Arc::new(opened))
    }

    pub(crate) fn opened(&self) -> &Opened {
        &self.0
    }

    /// Returns the root group.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// for link in file.root()?.links()? {
    ///     assert_eq!(link.map(|link| link.name.to_string()).ok().as_deref(), Some("surface"));
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if it cannot be read.
    pub fn root(&self) -> Result<Group> {
        Ok(self.group_at(self.0.root).within(self.path(), Some("/"))?.named("/"))
    }

    /// Returns the object at `path`. Soft links are followed, and external links as [`OpenOptions::external`] allows.
    ///
    /// ```
    /// use hdf5_pure::{Error, Node};
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// assert!(matches!(file.object("surface")?, Node::Group(_)));
    /// assert!(matches!(file.object("/surface/temperature")?, Node::Dataset(_)));
    /// assert!(matches!(file.object("surface/wind"), Err(Error::NotFound { .. })));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::NotFound`] with similar paths that exist, and any error of reading the groups along the path.
    pub fn object(&self, path: &(impl AsName + ?Sized)) -> Result<Node> {
        let shown = shown(path);
        let found = self.follow(self.0.root, path.name_bytes(), 0).within(self.path(), Some(&shown))?;
        Ok(found.named(self, Some("/"), &shown))
    }

    pub(crate) fn follow(&self, from: Address, path: &[u8], depth: usize) -> Result<Node> {
        match self.opened().attempts(|| path::resolve(self.opened(), from, path, &mut Met::default()))? {
            None => Err(self.absent(from, path)),
            Some(Found::Here(address)) => self.object_at(address),
            Some(Found::Elsewhere { file, path, rest }) => {
                const MAX_FILES: usize = 16;
                if depth >= MAX_FILES {
                    let (declared, limit) = (depth as u64 + 1, MAX_FILES as u64);
                    return Err(Error::limit_exceeded("external links in a row", declared, limit));
                }
                let other = self.open_external(&file)?;
                let path = [&b"/"[..], &path, &rest].concat();
                other.follow(other.opened().root, &path, depth + 1)
            }
        }
    }

    /// Returns the group at `path`.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let surface = file.group("surface")?;
    /// assert_eq!(surface.links()?.len(), 1);
    /// assert!(file.group("surface/temperature").is_err()); // a dataset
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`object`](Self::object), and [`Error::WrongType`] if the object is not a group.
    pub fn group(&self, path: &(impl AsName + ?Sized)) -> Result<Group> {
        self.object(path)?.into_group(&shown(path))
    }

    /// Returns the dataset at `path`.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let temperature = file.dataset("surface/temperature")?;
    /// assert_eq!(temperature.shape(), [2, 3]);
    /// assert_eq!(temperature.read::<f32>()?[..2], [281.5, 282.0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`object`](Self::object), and [`Error::WrongType`] if the object is not a dataset.
    pub fn dataset(&self, path: &(impl AsName + ?Sized)) -> Result<Dataset> {
        self.object(path)?.into_dataset(&shown(path))
    }

    /// Returns the object whose header is at `address`.
    ///
    /// ```
    /// use hdf5_pure::Node;
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let address = file.group("surface")?.address();
    /// assert!(matches!(file.object_at(address)?, Node::Group(_)));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if it cannot be read.
    pub fn object_at(&self, address: Address) -> Result<Node> {
        self.opened().attempts(|| self.node_at(address)).within(self.path(), None)
    }

    fn node_at(&self, address: Address) -> Result<Node> {
        let object = Object::read(&self.opened().context, address)?;
        Ok(match NodeKind::of(&object) {
            Some(NodeKind::Group) => Node::Group(Group::new(self.clone(), address)),
            Some(NodeKind::Dataset) => Node::Dataset(Dataset::open(self.clone(), &object)?),
            Some(NodeKind::Datatype) => Node::Datatype(CommittedDatatype::new(self.clone(), address)),
            None => {
                return Err(object.missing(
                    &self.opened().context,
                    "has the messages of neither a group, a dataset nor a committed datatype",
                ));
            }
        })
    }

    /// Returns the kind of the object at `address`.
    ///
    /// ```
    /// use hdf5_pure::NodeKind;
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let address = file.dataset("surface/temperature")?.address();
    /// assert_eq!(file.kind_at(address)?, NodeKind::Dataset);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if it cannot be read.
    pub fn kind_at(&self, address: Address) -> Result<NodeKind> {
        self.opened().attempts(|| {
            let object = Object::read(&self.opened().context, address)?;
            NodeKind::of(&object).ok_or_else(|| {
                object.missing(
                    &self.opened().context,
                    "has the messages of neither a group, a dataset nor a committed datatype",
                )
            })
        })
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

    /// Returns the dataset whose header is at `address`.
    ///
    /// ```
    /// use hdf5_pure::{Address, CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let temperature = file.dataset("temperature").write(&[281.5, 282.0])?;
    /// let reference = file.reference(temperature)?;
    /// file.root().attribute("main", reference)?;
    ///
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let main: Vec<Option<Address>> = file.root()?.attribute("main")?.read()?;
    /// for address in main.into_iter().flatten() {
    ///     assert_eq!(file.dataset_at(address)?.read::<f64>()?, [281.5, 282.0]);
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`object_at`](Self::object_at), and [`Error::Usage`] if the object is not a dataset.
    pub fn dataset_at(&self, address: Address) -> Result<Dataset> {
        match self.object_at(address)? {
            Node::Dataset(dataset) => Ok(dataset),
            _ => Err(Error::usage("address", "is not the address of a dataset")),
        }
    }

    /// Returns the attributes of the object at `address`, sorted by the bytes of their names. Attributes that cannot be
    /// read come last.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let address = file.dataset("surface/temperature")?.address();
    /// let names: Vec<String> =
    ///     file.attributes_at(address)?.iter().filter_map(|found| Some(found.name()?.to_string())).collect();
    /// assert_eq!(names, ["units"]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the object header cannot be read. A damaged attribute is an item of the result.
    pub fn attributes_at(&self, address: Address) -> Result<Vec<Attribute>> {
        let context = &self.opened().context;
        let found = self.opened().attempts(|| Ok(attributes::all(context, &Object::read(context, address)?)));
        let found = found.within(self.path(), None)?;
        let mut all: Vec<Attribute> =
            found.into_iter().map(|found| Attribute::new(self.clone(), found)).collect();
        sciformats_core::order::sort_by(&mut all, |a, b| {
            let key = |attribute: &Attribute| (attribute.name().is_none(), attribute.name().cloned());
            key(a).cmp(&key(b))
        });
        Ok(all)
    }

    /// Returns the attribute `name` of the object at `address`. It is found without reading all attributes.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let address = file.dataset("surface/temperature")?.address();
    /// assert_eq!(file.attribute_at(address, "units")?.read::<String>()?, ["K"]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::NotFound`], and any error of reading.
    pub fn attribute_at(&self, address: Address, name: &(impl AsName + ?Sized)) -> Result<Attribute> {
        let found = self.find_attribute(address, name.name_bytes())?;
        found.ok_or_else(|| Error::not_found("attribute", shown(name)))
    }

    /// Returns the names of the attributes of the object at `address` in no particular order, or `None` if it has more
    /// than `most` attributes. Values are not read. Programs that ask an object for many names, most of which it does not
    /// have, ask once in this way.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.dataset("temperature").attribute("units", "K").write(&[281.5, 282.0])?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let address = file.dataset("temperature")?.address();
    /// let names = file.attribute_names_at(address, 16)?.expect("the dataset has a single attribute");
    /// assert_eq!(names[0].to_string(), "units");
    /// assert!(file.attribute_names_at(address, 0)?.is_none());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the object header or the name of an attribute cannot be read.
    pub fn attribute_names_at(&self, address: Address, most: usize) -> Result<Option<Vec<Name>>> {
        let context = &self.opened().context;
        let names = || attributes::names(context, &Object::read(context, address)?, most);
        self.opened().attempts(names).within(self.path(), None)
    }

    pub(crate) fn find_attribute(&self, address: Address, name: &[u8]) -> Result<Option<Attribute>> {
        let context = &self.opened().context;
        let find = || attributes::find(context, &Object::read(context, address)?, name);
        let found = self.opened().attempts(find).within(self.path(), None)?;
        Ok(found.map(|found| Attribute::new(self.clone(), found)))
    }
}
