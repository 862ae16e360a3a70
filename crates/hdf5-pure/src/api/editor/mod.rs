//! Edits files in place.

mod commit;
mod created;
mod dataset;
pub(crate) mod lock;
mod object;
mod open;
mod options;

use std::path::Path;

use sciformats_core::{Error, Result};

pub use lock::Locking;
pub use object::ObjectWriter;
pub use options::EditOptions;

use crate::api::named::AsName;
use crate::api::writer::value::{self, Value};
use crate::api::writer::{DatasetBuilder, GroupWriter};
use crate::change::tree::Tree;
use crate::file::options::OpenOptions;
use crate::object::id::{Id, ObjectId};
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
/// [`File`](crate::File) of this library takes no lock. A program that reads with it during an edit can see a mixture of old and new
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
        GroupWriter::new(&mut self.tree, Id::ROOT)
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

    /// Sets the time that is stored in objects that are created from now on, in seconds since 1970; `None` stores none. Objects that store
    /// times, and change before the next commit, get the one that is set then, or that of the clock if it is `None`.
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
        DatasetBuilder::new(&mut self.tree, Id::ROOT, path)
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
        let id = self.tree.find(Id::ROOT, path.name_bytes())?;
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
        let id = self.tree.find(Id::ROOT, path.name_bytes())?;
        Ok(self.tree.owner.name(id))
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
        let object = self.tree.owner.find(object)?;
        let Address(address) = self.tree.address(object)?;
        Ok(Reference::to(address))
    }

    /// Sets an attribute of an object. An existing attribute of this name gets the new value, and keeps its place in the creation order.
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
        let object = self.tree.owner.find(object)?;
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
        self.tree.unlink(Id::ROOT, path.name_bytes())
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
        self.tree.move_link(Id::ROOT, path.name_bytes(), to.name_bytes())
    }
}
