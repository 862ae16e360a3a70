//! Writes new files.

#[cfg(feature = "ndarray")]
mod arrays;
mod dataset;
pub(crate) mod elements;
mod filters;
mod group;
mod layout;
mod make;
mod scales;
pub(crate) mod value;

use std::path::Path;

use sciformats_core::storage::{Durability, Replacement};
use sciformats_core::{Error, Result};

use crate::change::tree::{Kind, Settings, Tree};
use crate::filter::Registry;
use crate::object::bound::Bound;
use crate::object::creation::{CreationOrder, CreationProperties};
use crate::object::id::ObjectId;
use crate::space::output::{Storage, Target};
use crate::spec::Address;
use crate::spec::btree_v1::BtreeK;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::file_space_info::FileSpaceInfo;
use crate::value::references::Reference;

pub use dataset::DatasetBuilder;
pub use elements::DatasetWriter;
pub use filters::{BloscCodec, BloscShuffle, Filters};
pub use group::GroupWriter;
pub use layout::ChunkIndex;
pub use value::{Committed, Empty, FixedString, Raw, Value};

/// Options of creating a file.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
/// use hdf5_pure::options::Bound;
///
/// let options = CreateOptions::default().with_bound(Bound::Earliest).with_time(1_700_000_000);
/// let mut file = Writer::in_memory(&options)?;
/// file.dataset("temperature").write(&[281.5, 282.0])?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.superblock().version, 0);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CreateOptions {
    /// The oldest release of the C library that must be able to read the file.
    pub bound: Bound,
    /// Whether the file tracks the creation order of links and attributes, for readers that ask for it. The netCDF
    /// library writes only to files that do.
    pub track_order: bool,
    /// The time that is stored in all objects, in seconds since 1970. By default no time is stored, so that equal input
    /// gives equal bytes.
    pub time: Option<u32>,
    /// The user block: bytes before the HDF5 file proper. Their number is 0, or 512 times a power of two.
    pub user_block: Vec<u8>,
    /// Filters that the caller provides.
    pub registry: Registry,
    /// The number of threads that filter chunks; 0 means as many as the machine has. More than one thread needs the
    /// feature `parallel`.
    pub threads: usize,
    /// How programs that change the file later manage its free space.
    pub file_space: FileSpace,
    /// The smallest number of free bytes in a row that such programs keep track of; 1 if this is `None`.
    pub free_space_threshold: Option<u64>,
    /// The sizes of nodes of version 1 B-trees.
    pub btree_k: BtreeK,
    /// The version of the superblock. If this is `None`, it follows from the bound.
    pub superblock: Option<u8>,
    /// The approximate number of bytes that the descriptions of new datasets take in memory before they are written; 8 MiB if
    /// this is `None`. They wait because later calls may add to them. A dataset that is changed after it was written is read
    /// back.
    pub held: Option<usize>,
}

/// The default number of bytes that the descriptions of new datasets take in memory.
const HELD: usize = 8 << 20;

impl CreateOptions {
    /// Sets the K values of version 1 B-trees.
    ///
    /// ```
    /// use hdf5_pure::structure::BtreeK;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::options::Bound;
    ///
    /// let k = BtreeK { chunk: 64, ..BtreeK::default() };
    /// let options = CreateOptions::default().with_bound(Bound::Earliest).with_btree_k(k);
    /// let file = File::from_bytes(Writer::in_memory(&options)?.into_bytes()?)?;
    /// assert_eq!((file.btree_k(), file.superblock().version), (k, 1));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_btree_k(self, btree_k: BtreeK) -> Self {
        Self { btree_k, ..self }
    }

    /// Sets how many bytes the descriptions of new datasets take in memory before they are written.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default().with_held(0))?;
    /// let temperature = file.dataset("temperature").write(&[281.5, 282.0])?;
    /// file.dataset("pressure").write(&[1013.0, 1012.5])?; // the other dataset is written by now
    /// file.attribute(temperature, "units", "K")?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("temperature")?.attribute("units")?.read::<String>()?, ["K"]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_held(self, held: usize) -> Self {
        Self { held: Some(held), ..self }
    }

    /// Sets the bound.
    #[must_use]
    pub fn with_bound(self, bound: Bound) -> Self {
        Self { bound, ..self }
    }

    /// Sets whether the file tracks the creation order of links and attributes.
    #[must_use]
    pub fn with_track_order(self, track_order: bool) -> Self {
        Self { track_order, ..self }
    }

    /// Sets the time that is stored in all objects, in seconds since 1970.
    #[must_use]
    pub fn with_time(self, time: impl Into<Option<u32>>) -> Self {
        Self { time: time.into(), ..self }
    }

    /// Sets the user block.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut text = b"#!/usr/bin/env viewer\n".to_vec();
    /// text.resize(512, b'\n');
    /// let file = Writer::in_memory(&CreateOptions::default().with_user_block(text))?;
    /// let bytes = file.into_bytes()?;
    /// assert!(bytes.starts_with(b"#!/usr/bin/env viewer"));
    /// assert_eq!(File::from_bytes(bytes)?.base(), 512);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_user_block(self, user_block: impl Into<Vec<u8>>) -> Self {
        Self { user_block: user_block.into(), ..self }
    }

    /// Sets the registry with the caller's filters.
    #[must_use]
    pub fn with_registry(self, registry: Registry) -> Self {
        Self { registry, ..self }
    }

    /// Sets the number of threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Sets how free space is managed.
    #[must_use]
    pub fn with_file_space(self, file_space: FileSpace) -> Self {
        Self { file_space, ..self }
    }

    /// Sets the smallest number of free bytes in a row that are kept track of.
    ///
    /// ```
    /// use hdf5_pure::options::FileSpace;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let options = CreateOptions::default().with_file_space(FileSpace::Tracked).with_free_space_threshold(64);
    /// let file = File::from_bytes(Writer::in_memory(&options)?.into_bytes()?)?;
    /// assert_eq!(file.file_space().map(|info| info.threshold), Some(64));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_free_space_threshold(self, bytes: u64) -> Self {
        Self { free_space_threshold: Some(bytes), ..self }
    }

    /// Sets the version of the superblock, from 0 to 3. A file gets a later version if this one cannot store something: how
    /// free space is managed needs version 2, and the size of the nodes of chunk B-trees needs version 1.
    ///
    /// ```
    /// use hdf5_pure::options::Bound;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let options = CreateOptions::default().with_bound(Bound::V112).with_superblock(0);
    /// let file = File::from_bytes(Writer::in_memory(&options)?.into_bytes()?)?;
    /// assert_eq!(file.superblock().version, 0);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_superblock(self, version: u8) -> Self {
        Self { superblock: Some(version), ..self }
    }
}

/// How the free space of a file is managed. The file stores this for programs that change it later. All strategies
/// except the default need version 1.10 of the C library or later, whatever the bound. A new file contains no free
/// space that would have to be tracked.
///
/// ```
/// use hdf5_pure::{CreateOptions, Writer};
/// use hdf5_pure::options::FileSpace;
///
/// let options = CreateOptions::default().with_file_space(FileSpace::Paged { size: 4096, tracked: true });
/// let mut file = Writer::in_memory(&options)?;
/// file.dataset("temperature").write(&[281.5, 282.0])?;
/// assert_eq!(file.into_bytes()?.len() % 4096, 0);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum FileSpace {
    /// Free space is reused while the file is open and forgotten afterwards. The file stores nothing about it.
    #[default]
    Untracked,
    /// The file keeps track of its free space.
    Tracked,
    /// Space is allocated in pages of `size` bytes, from 512 bytes to 1 GiB. Metadata and elements never share a page.
    Paged {
        /// The number of bytes per page.
        size: u64,
        /// Whether the file keeps track of its free space.
        tracked: bool,
    },
    /// Space is allocated in larger blocks. What is free in them is forgotten when the file is closed, and never used again.
    Aggregated,
    /// New space is always at the end of the file.
    AppendOnly,
}

impl FileSpace {
    /// Returns the message that stores the strategy.
    fn info(self, options: &CreateOptions) -> Result<Option<FileSpaceInfo>> {
        let wrong = |problem: &'static str| Err(Error::usage("file space", problem));
        let threshold = options.free_space_threshold.unwrap_or(1);
        let (strategy, persist, page_size) = match self {
            Self::Untracked if threshold == 1 => return Ok(None),
            Self::Untracked => (0, false, None),
            Self::Tracked => (0, true, None),
            Self::Paged { size, tracked } => (FileSpaceInfo::PAGES, tracked, Some(size)),
            Self::Aggregated => (2, false, None),
            Self::AppendOnly => (3, false, None),
        };
        if page_size.is_some_and(|size| !(512..=1 << 30).contains(&size)) {
            return wrong("needs a page size of at least 512 bytes and at most 1 GiB");
        }
        if page_size.is_some_and(|size| !(options.user_block.len() as u64).is_multiple_of(size)) {
            return wrong("needs a page size that divides the size of the user block");
        }
        let managers = if persist { vec![None; 12] } else { Vec::new() };
        Ok(Some(FileSpaceInfo { strategy, persist, threshold, page_size, managers }))
    }
}

/// A new HDF5 file.
///
/// Elements are stored when they are given. Everything else is written by [`finish`](Self::finish), which also moves
/// the file to its path.
/// The same calls always give the same bytes.
///
/// ```
/// use hdf5_pure::{File, Writer};
///
/// # fn main() -> hdf5_pure::Result<()> {
/// # #[cfg(feature = "deflate")] {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("fields.h5");
/// let u: Vec<f64> = (0..200 * 300).map(f64::from).collect();
/// let mut file = Writer::create(&path)?;
/// file.root().attribute("title", "a run")?;
/// file.group("fields")?.dataset("u").shape([200, 300]).chunks([64, 64]).deflate(4).attribute("units", "m/s").write(&u)?;
/// file.finish()?;
///
/// let file = File::open(&path)?;
/// assert_eq!(file.dataset("fields/u")?.read::<f64>()?, u);
/// # }
/// # Ok(())
/// # }
/// ```
pub struct Writer {
    tree: Tree,
    scales: scales::Scales,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("settings", &self.tree.settings).finish_non_exhaustive()
    }
}

impl Writer {
    /// Starts a file, which appears at `path` when it is finished. There must not be a file yet;
    /// [`overwrite`](Self::overwrite) replaces one.
    ///
    /// ```
    /// use hdf5_pure::{File, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// let mut file = Writer::create(&path)?;
    /// file.dataset("temperature").attribute("units", "K").write(&[281.5, 282.0])?;
    /// assert!(!path.exists());
    /// file.finish()?;
    /// assert_eq!(File::open(&path)?.dataset("temperature")?.read::<f64>()?, [281.5, 282.0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Io` if the file exists, which [`finish`](Self::finish) checks again, or the folder cannot be written to.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::create_with(path, &CreateOptions::default())
    }

    /// Works like [`create`](Self::create), with options.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::options::Bound;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// let mut file = Writer::create_with(&path, &CreateOptions::default().with_bound(Bound::V18))?;
    /// file.dataset("temperature").write(&[281.5, 282.0])?;
    /// file.finish()?;
    /// assert_eq!(File::open(&path)?.superblock().version, 2);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`create`](Self::create), and [`Error::Usage`] if the user block has a length that the
    /// format does not allow.
    pub fn create_with(path: impl AsRef<Path>, options: &CreateOptions) -> Result<Self> {
        check_user_block(options)?;
        Self::start(Target::File(Replacement::create_new(path)?), options)
    }

    /// Works like [`create`](Self::create), but a file that is already at `path` is replaced when the new one is
    /// finished. Until then it stays as it was, even if the process is interrupted.
    ///
    /// ```
    /// use hdf5_pure::{File, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// for temperature in [281.5, 282.0] {
    ///     let mut file = Writer::overwrite(&path)?;
    ///     file.dataset("temperature").write_scalar(temperature)?;
    ///     file.finish()?;
    /// }
    /// assert_eq!(File::open(&path)?.dataset("temperature")?.read::<f64>()?, [282.0]);
    /// assert!(Writer::create(&path).is_err());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Conflict`] if a writer has the existing file open, and `Io` if the folder cannot be written to.
    pub fn overwrite(path: impl AsRef<Path>) -> Result<Self> {
        Self::overwrite_with(path, &CreateOptions::default())
    }

    /// Works like [`overwrite`](Self::overwrite), with options.
    ///
    /// # Errors
    /// Returns the errors of [`overwrite`](Self::overwrite), and [`Error::Usage`] if the user block has a length that
    /// the format does not allow.
    pub fn overwrite_with(path: impl AsRef<Path>, options: &CreateOptions) -> Result<Self> {
        check_user_block(options)?;
        Self::start(Target::File(Replacement::create(path)?), options)
    }

    /// Starts a file in memory; [`into_bytes`](Self::into_bytes) finishes it.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").write(&[281.5, 282.0])?;
    /// let bytes = file.into_bytes()?;
    /// assert_eq!(File::from_bytes(bytes)?.dataset("temperature")?.shape(), [2]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the user block has a length that the format does not allow.
    pub fn in_memory(options: &CreateOptions) -> Result<Self> {
        Self::start(Target::Memory(Vec::new()), options)
    }

    /// Starts a file in a storage, which should be empty.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use sciformats_core::storage::FileStorage;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// let mut file = Writer::in_storage(Box::new(FileStorage::create_new(&path)?), &CreateOptions::default())?;
    /// file.dataset("temperature").write(&[281.5, 282.0])?;
    /// file.finish()?;
    /// assert_eq!(File::open(&path)?.dataset("temperature")?.read::<f64>()?, [281.5, 282.0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of the storage and of [`in_memory`](Self::in_memory).
    pub fn in_storage(storage: Box<dyn Storage>, options: &CreateOptions) -> Result<Self> {
        Self::start(Target::Other(storage), options)
    }

    fn start(target: Target, options: &CreateOptions) -> Result<Self> {
        check_user_block(options)?;
        if options.superblock.is_some_and(|version| version > 3) {
            return Err(Error::usage("superblock", "has none of the versions 0 to 3"));
        }
        let settings = Settings {
            bound: options.bound,
            tracked: options.track_order,
            time: options.time,
            registry: options.registry.clone(),
            threads: options.threads,
            file_space: options.file_space.info(options)?,
            btree_k: options.btree_k,
            superblock: options.superblock,
            held: options.held.unwrap_or(HELD),
        };
        Ok(Self {
            tree: Tree::new(target, &options.user_block, settings)?,
            scales: scales::Scales::default(),
        })
    }

    /// Returns the root group.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.root().attribute("title", "a week in May")?.attribute("version", 2)?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.root()?.attribute("version")?.read::<i32>()?, [2]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn root(&mut self) -> GroupWriter<'_> {
        GroupWriter::new(&mut self.tree, ObjectId::ROOT)
    }

    /// Returns the group at `path`. Missing groups are created.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut surface = file.group("weather/surface")?;
    /// surface.attribute("height", 2.0)?;
    /// surface.dataset("temperature").write(&[281.5, 282.0])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("weather/surface/temperature")?.shape(), [2]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the path names something else.
    pub fn group(&mut self, path: &str) -> Result<GroupWriter<'_>> {
        self.root().into_group(path)
    }

    /// Starts a new dataset at `path`. Missing groups are created.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let temperature = file.dataset("surface/temperature").shape([2, 3]).attribute("units", "K");
    /// temperature.write(&[281.5f32, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("surface/temperature")?.shape(), [2, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn dataset(&mut self, path: &str) -> DatasetBuilder<'_> {
        DatasetBuilder::new(&mut self.tree, ObjectId::ROOT, path)
    }

    /// Returns a dataset that was created before, to write more of its elements.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let time = file.dataset("time").shape([0]).max_shape([None]).chunks([64]).create::<f64>()?.id();
    /// let energy = file.dataset("energy").shape([0]).max_shape([None]).chunks([64]).create::<f64>()?.id();
    /// for step in 0..100 {
    ///     file.open_id(time)?.append(&[f64::from(step)])?;
    ///     file.open_id(energy)?.append(&[0.5])?;
    /// }
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("time")?.shape(), file.dataset("energy")?.shape());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the object is not a dataset of this file.
    pub fn open_id(&mut self, dataset: ObjectId) -> Result<DatasetWriter<'_>> {
        self.tree.come_back_to(dataset)?;
        DatasetWriter::new(&mut self.tree, dataset)
    }

    /// Sets an attribute of an object. An existing attribute of this name gets the new value.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let temperature = file.dataset("temperature").write(&[281.5, 282.0])?;
    /// file.attribute(temperature, "units", "K")?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("temperature")?.attribute("units")?.read::<String>()?, ["K"]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the object does not belong to this file, or the format cannot store the attribute.
    pub fn attribute(&mut self, object: ObjectId, name: &str, value: impl Value) -> Result<()> {
        let attribute = value::attribute(&mut self.tree, name, value)?;
        self.tree.attribute(object, attribute)
    }

    /// Sets the comment of an object.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let kelvin = file.root().commit("kelvin", &Datatype::float32())?;
    /// file.comment(kelvin, "temperatures above absolute zero")?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// # let hdf5_pure::Node::Datatype(found) = file.object("kelvin")? else { unreachable!() };
    /// # assert_eq!(file.object_info(found.address())?.comment, Some("temperatures above absolute zero".into()));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the object does not belong to this file, or the comment contains a NUL character.
    pub fn comment(&mut self, object: ObjectId, text: &str) -> Result<()> {
        self.tree.comment(object, text)
    }

    /// Returns a reference to an object, which can be stored in elements and attributes.
    ///
    /// ```
    /// use hdf5_pure::{Address, CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let temperature = file.dataset("temperature").write(&[281.5, 282.0])?;
    /// let reference = file.reference(temperature)?;
    /// file.dataset("plotted").write(&[reference])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let plotted: Vec<Option<Address>> = file.dataset("plotted")?.read()?;
    /// assert_eq!(plotted, [Some(file.dataset("temperature")?.address())]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the object does not belong to this file.
    pub fn reference(&mut self, object: ObjectId) -> Result<Reference> {
        let Address(address) = self.tree.address(object)?;
        Ok(Reference(Some(address)))
    }

    /// Creates a committed datatype to which no link leads yet. Without a link, it stays in the file as long as a
    /// dataset or an attribute uses it.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let kelvin = file.commit_unlinked(&Datatype::float32())?;
    /// file.dataset("temperature").committed(kelvin).shape([2]).create_encoded()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert!(file.dataset("temperature")?.committed()?.is_some());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the bound of the file does not allow the datatype.
    pub fn commit_unlinked(&mut self, datatype: &Datatype) -> Result<ObjectId> {
        let datatype = self.tree.datatype(datatype)?;
        self.tree.add(Kind::Datatype(datatype), None)
    }

    /// Sets the creation properties of a new object: the versions of its structures, the creation orders that it
    /// tracks, and its times. The content of the object does not change.
    /// [`CreationProperties`](crate::structure::CreationProperties) has an example.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the object does not belong to this file, or should track the creation order of
    /// attributes in a header of version 1.
    pub fn creation_properties(&mut self, object: ObjectId, properties: &CreationProperties) -> Result<()> {
        let old = properties.header_version == 1;
        if old && properties.attribute_order != CreationOrder::Unknown
            || !matches!(properties.header_version, 1 | 2)
        {
            return Err(Error::usage(
                "header version",
                "must be 1 or 2, and must be 2 if the creation order of attributes is tracked",
            ));
        }
        self.tree.object_mut(object)?.properties = properties.clone();
        Ok(())
    }

    /// Completes the file and moves it to its path.
    ///
    /// ```
    /// use hdf5_pure::{File, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// let mut file = Writer::create(&path)?;
    /// file.dataset("temperature").write(&[281.5, 282.0])?;
    /// file.finish()?; // without it there is no file
    /// assert!(File::open(&path).is_ok());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Io`. An older file at that path is then unchanged.
    pub fn finish(self) -> Result<()> {
        self.finish_with(Durability::Process)
    }

    /// Works like [`finish`](Self::finish), with a choice of what the file must survive.
    ///
    /// ```
    /// use hdf5_pure::Writer;
    /// use hdf5_pure::options::Durability;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// let mut file = Writer::create(&path)?;
    /// file.dataset("temperature").write(&[281.5, 282.0])?;
    /// file.finish_with(Durability::Power)?; // it is on the device
    /// assert!(path.exists());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`finish`](Self::finish).
    pub fn finish_with(mut self, durability: Durability) -> Result<()> {
        self.write_scales()?;
        self.tree.finish(durability).map(drop)
    }

    /// Completes a file that was started with [`in_memory`](Self::in_memory), and returns its bytes.
    ///
    /// ```
    /// use hdf5_pure::structure::SIGNATURE;
    /// use hdf5_pure::{CreateOptions, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").write(&[281.5, 282.0])?;
    /// assert!(file.into_bytes()?.starts_with(&SIGNATURE));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the file is not in memory.
    pub fn into_bytes(mut self) -> Result<Vec<u8>> {
        self.write_scales()?;
        match self.tree.finish(Durability::Process)? {
            Target::Memory(bytes) => Ok(bytes),
            _ => Err(Error::usage("file", "was not created in memory")),
        }
    }
}

fn check_user_block(options: &CreateOptions) -> Result<()> {
    let len = options.user_block.len();
    if len == 0 || len >= 512 && len.is_power_of_two() {
        return Ok(());
    }
    Err(Error::usage(
        "user block",
        format!("has {len} bytes, but it must be empty or have 512 bytes times a power of two"),
    ))
}
