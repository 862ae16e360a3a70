//! Editing files in place.

mod dataset;
pub(crate) mod lock;
mod object;
mod options;

use std::path::Path;
use std::sync::Arc;

use sciformats_core::{Error, Result, commit};

pub use object::ObjectWriter;
pub use options::EditOptions;

use crate::api::file::File;
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

/// A file that is there and is edited in place.
///
/// What is new is made as a [`Writer`](crate::Writer) makes it. Nothing that was there changes before a
/// [`commit`](Self::commit), and then all of it at once: whatever ends the process leaves the file of the last commit or of
/// the one before. An editor that is dropped leaves the last commit.
///
/// While the parts of a commit are put in their places, the file ends in a journal, from which the next reader or editor of
/// this library completes it. Without one, and so always but in that instant, it is a plain HDF5 file.
///
/// The file is locked as the C library locks it: who has it open for reading or writing there keeps an editor out, and the
/// reverse. The environment variable `HDF5_USE_FILE_LOCKING` is honoured: `FALSE` or `0` locks nothing, `BEST_EFFORT` (the
/// default) only where the file system can, `TRUE` or `1` always. A [`File`] of this library locks nothing: who reads while
/// another edits sees a mixture, and must not [map](crate::Access::mapped) the file, as commits may cut its end off.
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
    /// Something failed while what was pending was written: it must not be committed.
    failed: bool,
}

impl std::fmt::Debug for Editor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Editor").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Editor {
    /// Opens the file at `path`. A commit that was cut is completed first, or taken back.
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
    /// `Io`; [`Error::Conflict`] if the file is locked; [`Error::Usage`] if it says that it is open for writing; `Malformed` if it is damaged;
    /// `Unsupported` for files of several parts, or with addresses or lengths that have neither 4 nor 8 bytes.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &EditOptions::default())
    }

    /// Opens the file at `path`, which `create` makes first if there is none: for programs that go on where they ended.
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
    /// As [`open`](Self::open) and [`Writer::create`](crate::Writer::create), and those of `create`: then there is no file.
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

    /// As [`open`](Self::open), with options.
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
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &EditOptions) -> Result<Self> {
        let path = path.as_ref();
        let storage = commit::Session::open_with(path, lock::lock)?.into_storage();
        Self::start(Box::new(storage), Some(path), options)
    }

    /// Edits the file in a storage.
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
    /// Those of the storage, and as [`open`](Self::open).
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
            tracked: options.track_order,
            time: options.time,
            registry: options.reading.registry.clone(),
            threads: 0,
            file_space: None,
            btree_k: session.opened.context.btree_k,
            held: 0, // what is new waits for the commit
        };
        Ok(Self {
            tree: Tree::edit(session, settings)?,
            path: path.map(Into::into),
            options: options.reading.clone(),
            failed: false,
        })
    }

    /// The root group.
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
    /// assert_eq!(File::open(&path)?.dataset("main")?.shape(), Some(&[2, 3][..]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn root(&mut self) -> GroupWriter<'_> {
        GroupWriter::new(&mut self.tree, ObjectId::ROOT)
    }

    /// The group at `path`; groups on the way that are missing are made.
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
    /// [`Error::Usage`] if something else is there; what reading the groups on the way meets.
    pub fn group(&mut self, path: &str) -> Result<GroupWriter<'_>> {
        self.root().into_group(path)
    }

    /// A new dataset at `path`; groups on the way that are missing are made.
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
    pub fn dataset(&mut self, path: &str) -> DatasetBuilder<'_> {
        DatasetBuilder::new(&mut self.tree, ObjectId::ROOT, path)
    }

    /// The object at `path`, whatever it is, to change its attributes. Soft links are followed.
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
    /// [`Error::NotFound`]; [`Error::Usage`] if the path leads to another file; what reading the groups on the way meets.
    pub fn object(&mut self, path: &str) -> Result<ObjectWriter<'_>> {
        let id = self.id(path)?;
        Ok(ObjectWriter::new(&mut self.tree, id))
    }

    /// The object at `path`, for hard links and references. It stays the same across commits.
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
    /// assert_eq!(File::open(&path)?.dataset("main")?.shape(), Some(&[2, 3][..]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`object`](Self::object).
    pub fn id(&mut self, path: &str) -> Result<ObjectId> {
        self.tree.find(ObjectId::ROOT, path)
    }

    /// A reference to an object, for elements and attributes.
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
    /// [`Error::Usage`] if the object is none of this file.
    pub fn reference(&mut self, object: ObjectId) -> Result<Reference> {
        let Address(address) = self.tree.address(object)?;
        Ok(Reference::to(address))
    }

    /// Gives an object an attribute; one of that name gets the new value.
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
    /// [`Error::Usage`] if the object is none of this file, or the format has no place for the attribute.
    pub fn attribute(&mut self, object: ObjectId, name: &str, value: impl Value) -> Result<()> {
        let attribute = value::attribute(&mut self.tree, name, value)?;
        self.tree.attribute(object, attribute)
    }

    /// Takes the link at `path` out. An object that no other hard link leads to goes with it, and what only it leads to:
    /// their space is used again after the next commit.
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
    /// [`Error::NotFound`]; `Malformed` if the group has links that cannot be read, which would be lost.
    pub fn unlink(&mut self, path: &str) -> Result<()> {
        self.tree.unlink(ObjectId::ROOT, path)
    }

    /// Gives the link at `path` another name or group; groups on the way there that are missing are made. What it leads to
    /// stays where it is.
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
    /// assert_eq!(File::open(&path)?.dataset("ground/air temperature")?.shape(), Some(&[2, 3][..]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`unlink`](Self::unlink), and [`Error::Usage`] if the new name is taken or none, or lies in what is moved.
    pub fn move_link(&mut self, path: &str, to: &str) -> Result<()> {
        self.tree.move_link(ObjectId::ROOT, path, to)
    }

    /// Makes everything since the last commit the file's; [`Flush::Ordered`].
    ///
    /// A group whose links changed is written anew, and so are the attributes of an object of which one changed, and the
    /// index of a chunked dataset: a commit costs their sizes, however many changes there were.
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
    /// assert_eq!(File::open(&path)?.dataset("surface/temperature")?.shape(), Some(&[2, 3][..]));
    /// file.commit()?;
    /// assert_eq!(File::open(&path)?.dataset("surface/temperature")?.shape(), Some(&[3, 3][..]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`] if another program has changed the file since it was opened, in spite of the lock; nothing is
    /// written then. `Io`: the file is that of the last commit. If the device failed after the commit had taken place, the next
    /// opening completes it. After other errors the editor commits nothing more, as what is pending is not whole.
    pub fn commit(&mut self) -> Result<()> {
        self.commit_with(Flush::default())
    }

    /// As [`commit`](Self::commit), and says how far it goes before it returns.
    ///
    /// ```
    /// use hdf5_pure::{Editor, Flush};
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
    /// As [`commit`](Self::commit).
    pub fn commit_with(&mut self, flush: Flush) -> Result<()> {
        self.settle()?;
        self.tree.commit(flush)
    }

    /// Commits, and writes down what is free if the file keeps account of that, so that other programs use it again.
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
    /// As [`commit`](Self::commit).
    pub fn close(self) -> Result<()> {
        self.close_with(Flush::default())
    }

    /// As [`close`](Self::close), and says how far it goes before it returns.
    ///
    /// ```
    /// use hdf5_pure::{Editor, Flush};
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
    /// As [`commit`](Self::commit).
    pub fn close_with(mut self, flush: Flush) -> Result<()> {
        self.commit_with(flush)?;
        self.tree.keep_free_space(flush)
    }

    /// Writes everything in memory to where the commit will find it.
    fn settle(&mut self) -> Result<()> {
        if self.failed {
            return Err(Error::usage("editor", "has failed before: the file has to be opened again"));
        }
        self.failed = true;
        self.tree.settle()?;
        self.failed = false;
        Ok(())
    }

    /// The file with all that is pending, for reading. It shows no longer one state when the editor goes on.
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
    /// As [`commit`](Self::commit).
    pub fn file(&mut self) -> Result<File> {
        self.settle()?;
        let session = self.tree.session()?;
        File::of_pending(Arc::clone(&session.space), self.path.as_deref(), &session.superblock, &self.options)
    }

    /// Bytes of the file, with all that is pending, that belong to no structure that a link leads to and are not known to be
    /// free: what writing the file anew would save beside the free space. Elements of variable length are among them, as is
    /// what other programs have lost. Every object is visited.
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
    /// As [`commit`](Self::commit); `Malformed` if two structures share a byte, or one lies in free space.
    pub fn unaccounted(&mut self) -> Result<u64> {
        self.settle()?;
        self.tree.session()?.unaccounted()
    }
}
