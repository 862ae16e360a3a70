//! Commits the changes of an editor, and shows them before.

use std::sync::Arc;

use sciformats_core::Result;

use super::Editor;
use crate::api::file::File;
use crate::space::pending::Flush;

impl Editor {
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
    /// Returns [`Error::Conflict`](crate::Error::Conflict) if another program has changed the file since it was opened,
    /// in spite of the lock; nothing is written then. After `Io`, the file has the state of the last commit. If the
    /// device failed after the commit had become effective, the next opening completes it. After any other error the
    /// editor refuses further commits, because the pending changes are incomplete.
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
