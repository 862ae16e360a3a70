//! Opens a file for editing.

use std::path::Path;

use sciformats_core::storage::FileStorage;
use sciformats_core::{Error, Result, commit};

use super::options::EditOptions;
use super::{Editor, lock};
use crate::api::writer::Writer;
use crate::change::tree::{Settings, Tree};
use crate::file::session::Session;
use crate::object::bound::Bound;
use crate::space::output::Storage;

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
    ///         new.dataset("energy").rows([]).write::<f64>(&[])
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
    pub fn open_or_create<T>(
        path: impl AsRef<Path>,
        create: impl FnOnce(&mut Writer) -> Result<T>,
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
}
