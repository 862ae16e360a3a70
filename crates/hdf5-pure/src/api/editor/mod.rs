//! Edits files in place.

mod created;
mod dataset;
pub(crate) mod lock;
mod object;
mod options;

use std::path::Path;
use std::sync::Arc;

use sciformats_core::storage::FileStorage;
use sciformats_core::{Error, Result, commit};

pub use lock::Locking;
pub use object::ObjectWriter;
pub use options::EditOptions;

use crate::api::file::File;
use crate::api::named::AsName;
use crate::api::writer::value::{self, Value};
use crate::api::writer::{DatasetBuilder, GroupWriter, Writer};
use crate::change::tree::{Settings, Tree};
use crate::file::options::OpenOptions;
use crate::file::session::Session;
use crate::object::bound::Bound;
use crate::object::id::ObjectId;
use crate::space::output::Storage;
use crate::space::pending::Flush;
use crate::spec::Address;
use crate::value::references::Reference;

/// An existing file that is edited in place.
///
/// New objects are created with the same methods as with a [`Writer`](crate::Writer). Nothing in the file changes
/// before a [`commit`](Self::commit), and then everything changes at once: if the process is interrupted, the file
/// holds the state of the last commit or of the one before. Dropping an editor leaves the file at its last commit.
///
/// While a commit moves its parts to their places, the file ends in a journal. If the process is interrupted then, the
/// next reader or editor of this library completes the commit from the journal. At all other times there is no journal,
/// and the file is a plain HDF5 file.
///
/// The editor locks the file in the same way as the C library: a program that has the file open with the C library
/// keeps an editor out, and the reverse. The environment variable `HDF5_USE_FILE_LOCKING` is honoured: `FALSE` or `0`
/// never locks, `TRUE` or `1` always locks, and `BEST_EFFORT` (the default) locks if the file system supports it. A
/// [`File`] of this library takes no lock. A program that reads with it during an edit can see a mixture of old and new
/// state, and must not [map](crate::options::Access::mapped) the file, because a commit may shorten it.
///
/// ```
/// use hdf5_pure::{Editor, File, Writer};
///
/// # fn main() -> hdf5_pure::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("run.h5");
/// let mut file = Writer::create(&path)?;
/// file.dataset("old/u").write(&[1.0, 2.0])?;
/// file.finish()?;
///
/// let mut editor = Editor::open(&path)?;
/// editor.root().attribute("title", "edited")?;
/// editor.move_link("old/u", "fields/u")?;
/// editor.unlink("old")?;
/// editor.dataset("fields/v").attribute("units", "m/s").write(&[3.0, 4.0])?;
/// editor.commit()?;
///
/// let file = File::open(&path)?;
/// assert_eq!(file.dataset("fields/u")?.read::<f64>()?, [1.0, 2.0]);
/// assert!(file.group("old").is_err());
/// # Ok(())
/// # }
/// ```
pub struct Editor {
    pub(crate) tree: Tree,
    path: Option<Box<Path>>,
    options: OpenOptions,
    /// Why writing the pending changes has failed. They are incomplete then and must not be committed, so that every later
    /// operation returns this error again.
    failure: Option<Box<Error>>,
}

impl std::fmt::Debug for Editor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Editor").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Editor {
    /// Opens the file at `path`. If a commit was interrupted, it is completed or undone first.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.root().attribute("title", "a week in June")?;
    /// file.commit()?;
    /// assert_eq!(File::open(&path)?.root()?.attribute("title")?.read::<String>()?, ["a week in June"]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Io`, [`Error::Conflict`] if the file is locked, [`Error::Usage`] if it is marked as open for writing,
    /// `Malformed` if it is damaged, and `Unsupported` for files of several parts or with addresses or lengths that do
    /// not have 4 or 8 bytes.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &EditOptions::default())
    }

    /// Opens the file at `path`. If it does not exist, `create` creates its contents first. This suits programs that
    /// continue where they stopped.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// for start in [0.0, 0.5] { // the same program, twice
    ///     let mut file = Editor::open_or_create(&path, |new| {
    ///         new.dataset("energy").shape([0]).max_shape([None]).create::<f64>().map(drop)
    ///     })?;
    ///     file.open_dataset("energy")?.append(&[start, start + 0.25])?;
    ///     file.commit()?;
    /// }
    /// assert_eq!(File::open(&path)?.dataset("energy")?.read::<f64>()?, [0.0, 0.25, 0.5, 0.75]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open), [`Writer::create`](crate::Writer::create) and `create`. If `create`
    /// fails, there is no file.
    pub fn open_or_create(
        path: impl AsRef<Path>,
        create: impl FnOnce(&mut Writer) -> Result<()>,
    ) -> Result<Self> {
        let path = path.as_ref();
        match Self::open(path) {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                let mut new = Writer::create(path)?;
                create(&mut new)?;
                new.finish()?;
                Self::open(path)
            }
            opened => opened,
        }
    }

    /// Works like [`open`](Self::open), with options.
    ///
    /// ```
    /// use hdf5_pure::{EditOptions, Editor};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open_with(&path, &EditOptions::default().with_track_order(true))?;
    /// file.group("runs")?.group("7")?;
    /// file.commit()?;
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &EditOptions) -> Result<Self> {
        let path = path.as_ref();
        let lock = |storage: &FileStorage| lock::lock(storage, options.locking);
        let storage = commit::Session::open_with(path, lock)?.into_storage();
        Self::start(Box::new(storage), Some(path), options).map_err(|error| error.in_file(path, None))
    }

    /// Edits a file in any storage.
    ///
    /// ```
    /// use hdf5_pure::{EditOptions, Editor};
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let bytes = made.into_bytes()?;
    /// let mut editor = Editor::in_storage(Box::new(bytes), &EditOptions::default())?;
    /// editor.root().attribute("title", "a week in June")?;
    /// editor.commit()?;
    /// assert_eq!(editor.file()?.root()?.attribute("title")?.read::<String>()?, ["a week in June"]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of the storage and of [`open`](Self::open).
    pub fn in_storage(storage: Box<dyn Storage>, options: &EditOptions) -> Result<Self> {
        Self::start(storage, None, options)
    }

    fn start(storage: Box<dyn Storage>, path: Option<&Path>, options: &EditOptions) -> Result<Self> {
        let session = Session::open(storage, path, &options.reading)?;
        let bound = options.bound.unwrap_or(match session.superblock.version {
            0 | 1 => Bound::Earliest,
            2 => Bound::V18,
            _ => Bound::V110,
        });
        let settings = Settings {
            bound,
            index_bound: None,
            tracked: options.track_order,
            time: options.time,
            registry: options.reading.registry.clone(),
            threads: options.reading.threads,
            file_space: None,
            btree_k: session.opened.context.btree_k,
            superblock: None,
            held: 0, // what is new waits for the commit
            metadata_room: 0,
        };
        Ok(Self {
            tree: Tree::edit(session, settings)?,
            path: path.map(Into::into),
            options: options.reading.clone(),
            failure: None,
        })
    }

    /// Returns the root group.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.root().attribute("version", 2)?.soft_link("main", "/surface/temperature")?;
    /// file.commit()?;
    /// assert_eq!(File::open(&path)?.dataset("main")?.shape(), [2, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn root(&mut self) -> GroupWriter<'_> {
        GroupWriter::new(&mut self.tree, ObjectId::ROOT)
    }

    /// Returns the group at `path`. Missing groups are created.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.group("surface")?.attribute("height", 2.0)?; // it is there
    /// file.group("upper air/north")?; // these are made
    /// file.commit()?;
    /// assert_eq!(File::open(&path)?.group("surface")?.attribute("height")?.read::<f64>()?, [2.0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the path names something else, and any error of reading the groups along the path.
    pub fn group(&mut self, path: &(impl AsName + ?Sized)) -> Result<GroupWriter<'_>> {
        self.root().into_group(path)
    }

    /// Sets whether objects that are created from now on track the creation order of their links and attributes. Existing
    /// objects keep their setting.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// Writer::create(&path)?.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.set_track_order(true);
    /// file.group("days")?;
    /// file.set_track_order(false);
    /// for day in ["monday", "tuesday", "friday"] {
    ///     file.group(&format!("days/{day}"))?;
    /// }
    /// file.commit()?;
    /// let links = File::open(&path)?.group("days")?.links()?;
    /// let orders: Vec<_> = links.into_iter().filter_map(|link| link.ok()?.creation_order).collect();
    /// assert_eq!(orders.len(), 3);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn set_track_order(&mut self, track_order: bool) {
        self.tree.settings.tracked = track_order;
    }

    /// Sets the time that is stored in objects that are created from now on, in seconds since 1970.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// Writer::create(&path)?.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.set_time(Some(1_700_000_000));
    /// file.dataset("temperature").write(&[281.5, 282.0])?;
    /// file.commit()?;
    /// let file = File::open(&path)?;
    /// assert_eq!(file.object_info(file.dataset("temperature")?.address())?.modified, Some(1_700_000_000));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn set_time(&mut self, time: Option<u32>) {
        self.tree.settings.time = time;
    }

    /// Starts a new dataset at `path`. Missing groups are created.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.dataset("surface/pressure").attribute("units", "hPa").write(&[1013.0, 1012.5])?;
    /// file.commit()?;
    /// assert_eq!(File::open(&path)?.dataset("surface/pressure")?.read::<f64>()?, [1013.0, 1012.5]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn dataset(&mut self, path: &(impl AsName + ?Sized)) -> DatasetBuilder<'_> {
        DatasetBuilder::new(&mut self.tree, ObjectId::ROOT, path)
    }

    /// Returns the object at `path`, of any kind, to change its attributes. Soft links are followed.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.object("surface/temperature")?.rename_attribute("units", "unit")?.attribute("height", 2.0)?;
    /// file.commit()?;
    /// assert_eq!(File::open(&path)?.dataset("surface/temperature")?.attributes()?.len(), 2);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::NotFound`], [`Error::Usage`] if the path leads to another file, and any error of reading the
    /// groups along the path.
    pub fn object(&mut self, path: &(impl AsName + ?Sized)) -> Result<ObjectWriter<'_>> {
        let id = self.id(path)?;
        Ok(ObjectWriter::new(&mut self.tree, id))
    }

    /// Returns an identifier of the object at `path`, for hard links and references. It stays valid across commits.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// let temperature = file.id("surface/temperature")?;
    /// file.root().hard_link("main", temperature)?;
    /// file.commit()?;
    /// assert_eq!(File::open(&path)?.dataset("main")?.shape(), [2, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`object`](Self::object).
    pub fn id(&mut self, path: &(impl AsName + ?Sized)) -> Result<ObjectId> {
        self.tree.find(ObjectId::ROOT, path.name_bytes())
    }

    /// Returns a reference to an object, which can be stored in elements and attributes.
    ///
    /// ```
    /// use hdf5_pure::{Address, Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// let temperature = file.id("surface/temperature")?;
    /// let reference = file.reference(temperature)?;
    /// file.root().attribute("main", reference)?;
    /// file.commit()?;
    /// let file = File::open(&path)?;
    /// let main: Vec<Option<Address>> = file.root()?.attribute("main")?.read()?;
    /// assert_eq!(main, [Some(file.dataset("surface/temperature")?.address())]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the object does not belong to this file.
    pub fn reference(&mut self, object: ObjectId) -> Result<Reference> {
        let Address(address) = self.tree.address(object)?;
        Ok(Reference::to(address))
    }

    /// Sets an attribute of an object. An existing attribute of this name gets the new value.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// let pressure = file.dataset("surface/pressure").write(&[1013.0, 1012.5])?;
    /// file.attribute(pressure, "units", "hPa")?;
    /// file.commit()?;
    /// assert_eq!(File::open(&path)?.dataset("surface/pressure")?.attribute("units")?.read::<String>()?, ["hPa"]);
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
        let attribute = value::attribute(&mut self.tree, name.name_bytes(), value)?;
        self.tree.attribute(object, attribute)
    }

    /// Removes the link at `path`. If this was the last hard link to an object, the object is removed too, together
    /// with all objects that only it leads to. Their space is reused after the next commit.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.unlink("surface/temperature")?;
    /// file.commit()?;
    /// assert!(File::open(&path)?.dataset("surface/temperature").is_err());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::NotFound`], and `Malformed` if the group has links that cannot be read, because they would be
    /// lost.
    pub fn unlink(&mut self, path: &(impl AsName + ?Sized)) -> Result<()> {
        self.tree.unlink(ObjectId::ROOT, path.name_bytes())
    }

    /// Moves or renames the link at `path`. Missing groups of the new path are created. The object itself stays where
    /// it is.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.move_link("surface/temperature", "ground/air temperature")?;
    /// file.commit()?;
    /// assert_eq!(File::open(&path)?.dataset("ground/air temperature")?.shape(), [2, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`unlink`](Self::unlink), and [`Error::Usage`] if the new name exists already, is not a
    /// valid name, or lies inside the object that is moved.
    pub fn move_link(&mut self, path: &(impl AsName + ?Sized), to: &(impl AsName + ?Sized)) -> Result<()> {
        self.tree.move_link(ObjectId::ROOT, path.name_bytes(), to.name_bytes())
    }

    /// Writes all changes since the last commit to the file, with [`Flush::Ordered`].
    ///
    /// The cost of a commit follows from the changes and hardly from the size of the file: of a large index, only the
    /// nodes that lead to a change are written. A group or a list of attributes is written whole if it is small or if
    /// much of it has changed.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.open_dataset("surface/temperature")?.append(&[279.0, 279.5, 280.0])?;
    /// assert_eq!(File::open(&path)?.dataset("surface/temperature")?.shape(), [2, 3]);
    /// file.commit()?;
    /// assert_eq!(File::open(&path)?.dataset("surface/temperature")?.shape(), [3, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Conflict`] if another program has changed the file since it was opened, in spite of the lock;
    /// nothing is written then. After `Io`, the file has the state of the last commit. If the device failed after the
    /// commit had become effective, the next opening completes it. After any other error the editor refuses further
    /// commits, because the pending changes are incomplete.
    pub fn commit(&mut self) -> Result<()> {
        self.commit_with(Flush::default())
    }

    /// Works like [`commit`](Self::commit), with a choice of how far the data must have reached before the call
    /// returns.
    ///
    /// ```
    /// use hdf5_pure::Editor;
    /// use hdf5_pure::options::Flush;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.open_dataset("surface/temperature")?.append(&[279.0, 279.5, 280.0])?;
    /// file.commit_with(Flush::Durable)?; // the rows are on the device
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`commit`](Self::commit).
    pub fn commit_with(&mut self, flush: Flush) -> Result<()> {
        self.settle()?;
        self.tree.commit(flush)
    }

    /// Commits and closes the file. If the file tracks its free space, the list of free sections is written, so that
    /// other programs can reuse that space.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.unlink("surface")?;
    /// file.close()?;
    /// assert_eq!(File::open(&path)?.root()?.links()?.len(), 0);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`commit`](Self::commit).
    pub fn close(self) -> Result<()> {
        self.close_with(Flush::default())
    }

    /// Works like [`close`](Self::close), with a choice of how far the data must have reached before the call returns.
    ///
    /// ```
    /// use hdf5_pure::Editor;
    /// use hdf5_pure::options::Flush;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// file.root().attribute("title", "a week in June")?;
    /// file.close_with(Flush::None)?; // the device is not waited for
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`commit`](Self::commit).
    pub fn close_with(mut self, flush: Flush) -> Result<()> {
        self.commit_with(flush)?;
        self.tree.keep_free_space(flush)
    }

    /// Writes everything that is still in memory to the place where the commit expects it.
    fn settle(&mut self) -> Result<()> {
        if let Some(failure) = &self.failure {
            return Err((**failure).clone());
        }
        let settled = self.tree.settle();
        self.tree.within(None, settled).inspect_err(|error| self.failure = Some(Box::new(error.clone())))
    }

    /// Opens the file with all pending changes for reading. What it shows is no longer consistent once the editor makes
    /// further changes.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut editor = Editor::open(&path)?;
    /// editor.dataset("surface/pressure").write(&[1013.0, 1012.5])?;
    /// assert_eq!(editor.file()?.dataset("surface/pressure")?.read::<f64>()?, [1013.0, 1012.5]);
    /// assert!(File::open(&path)?.dataset("surface/pressure").is_err()); // not committed
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`commit`](Self::commit).
    pub fn file(&mut self) -> Result<File> {
        self.settle()?;
        let session = self.tree.session()?;
        File::of_pending(Arc::clone(&session.space), self.path.as_deref(), &session.superblock, &self.options)
    }

    /// Returns the number of bytes, pending changes included, that no link leads to and that are not known to be free.
    /// Writing the file anew would save them in addition to the free space. They include old elements of variable
    /// length, and space that other programs have lost. The call visits every object.
    ///
    /// ```
    /// use hdf5_pure::Editor;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// let before = file.unaccounted()?;
    /// file.root().attribute("title", "a text of variable length, which replaces the one before")?;
    /// file.commit()?;
    /// assert!(file.unaccounted()? > before);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`commit`](Self::commit), and `Malformed` if two structures overlap or a structure lies in
    /// free space.
    pub fn unaccounted(&mut self) -> Result<u64> {
        self.settle()?;
        let bytes = self.tree.session()?.unaccounted();
        self.tree.within(None, bytes)
    }
}
