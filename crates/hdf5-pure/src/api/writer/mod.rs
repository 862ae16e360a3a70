//! Writes new files.

#[cfg(feature = "ndarray")]
mod arrays;
mod dataset;
pub(crate) mod elements;
mod filters;
mod group;
mod layout;
mod make;
mod object;
mod options;
mod scales;
pub(crate) mod value;

use std::path::Path;

use sciformats_core::storage::{Durability, Replacement};
use sciformats_core::{Error, Result};

use crate::api::named::AsName;
use crate::change::tree::{Kind, Settings, Tree};
use crate::object::creation::CreationProperties;
use crate::object::id::{Id, ObjectId};
use crate::space::output::{Storage, Target};
use crate::spec::Address;
use crate::spec::message::datatype::Datatype;
use crate::value::references::Reference;

pub(crate) use object::object_methods;
use options::{HELD, check_user_block};

pub use dataset::DatasetBuilder;
pub use elements::DatasetWriter;
pub use filters::{BloscCodec, BloscShuffle, Filters, SzipCoding};
pub use group::GroupWriter;
pub use layout::ChunkIndex;
pub use options::{CreateOptions, FileSpace};
pub use value::{Committed, Empty, FixedString, Raw, Value};

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

/// Writes a whole file, of which `fill` writes the contents, and replaces an existing file. If `fill` fails, or if the process
/// is interrupted, an existing file stays as it was, and otherwise there is none.
///
/// ```
/// use hdf5_pure::File;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("weather.h5");
/// hdf5_pure::write(&path, |file| {
///     file.root().attribute("title", "a week in May")?;
///     file.dataset("temperature").attribute("units", "K").write(&[281.5, 282.0])
/// })?;
/// assert_eq!(File::open(&path)?.dataset("temperature")?.read::<f64>()?, [281.5, 282.0]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of [`Writer::overwrite`], `fill` and [`Writer::finish`].
pub fn write<T>(path: impl AsRef<Path>, fill: impl FnOnce(&mut Writer) -> Result<T>) -> Result<()> {
    let mut file = Writer::overwrite(path)?;
    fill(&mut file)?;
    file.finish()
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
            index_bound: options.index_bound,
            tracked: options.track_order,
            time: options.time,
            registry: options.registry.clone(),
            threads: options.threads,
            file_space: options.file_space.info(options)?,
            btree_k: options.btree_k,
            superblock: options.superblock,
            held: options.held.unwrap_or(HELD),
            metadata_room: options.metadata_room,
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
        GroupWriter::new(&mut self.tree, Id::ROOT)
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
    pub fn group(&mut self, path: &(impl AsName + ?Sized)) -> Result<GroupWriter<'_>> {
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
    pub fn dataset(&mut self, path: &(impl AsName + ?Sized)) -> DatasetBuilder<'_> {
        DatasetBuilder::new(&mut self.tree, Id::ROOT, path)
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
        let dataset = self.tree.owner.find(dataset)?;
        self.tree.come_back_to(dataset)?;
        DatasetWriter::new(&mut self.tree, dataset)
    }

    /// Sets an attribute of an object. An existing attribute of this name gets the new value, and keeps its place in the creation order.
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
    pub fn attribute(
        &mut self,
        object: ObjectId,
        name: &(impl AsName + ?Sized),
        value: impl Value,
    ) -> Result<()> {
        let object = self.tree.owner.find(object)?;
        let attribute = value::attribute(&mut self.tree, name.name_bytes(), value)?;
        self.tree.attribute(object, attribute)
    }

    /// Sets the comment of an object. An empty text removes it.
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
    /// Returns [`Error::Usage`] if the object does not belong to this file, or the comment contains a NUL
    /// character or is too long for an object header.
    pub fn comment(&mut self, object: ObjectId, text: &(impl AsName + ?Sized)) -> Result<()> {
        self.tree.comment(self.tree.owner.find(object)?, text.name_bytes())
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
        let object = self.tree.owner.find(object)?;
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
        let datatype = self.tree.checked(datatype)?;
        let id = self.tree.add(Kind::Datatype(datatype), None)?;
        Ok(self.tree.owner.name(id))
    }

    /// Sets the creation properties of a new object: the versions of its structures, the creation orders that it
    /// tracks, and its times. The content of the object does not change.
    /// [`CreationProperties`](crate::structure::CreationProperties) has an example.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the object does not belong to this file, or should track the creation order of
    /// attributes in a header of version 1.
    pub fn creation_properties(&mut self, object: ObjectId, properties: &CreationProperties) -> Result<()> {
        self.tree.set_properties(self.tree.owner.find(object)?, properties)
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
