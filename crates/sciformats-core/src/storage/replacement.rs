//! A file that takes another one's place at once: readers see the old bytes or the new ones, never a mixture.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{FileStorage, WriteAt};
use crate::error::{Error, Result};

/// What a finished write must survive.
///
/// ```
/// use sciformats_core::WriteAt;
/// use sciformats_core::storage::{Durability, Replacement};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("result.dat");
/// let mut new = Replacement::create(&path)?;
/// new.storage()?.write_at(0, b"all of it")?;
/// new.finish(Durability::Power)?; // which takes as long as the device needs
/// assert_eq!(std::fs::read(&path).unwrap(), b"all of it");
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Durability {
    /// The end of the process, at any instant. Bytes that were stored before survive a loss of power too; new ones
    /// do when the system has written them back.
    #[default]
    Process,
    /// A loss of power as soon as the call has returned: everything is synced to the device first.
    Power,
}

/// A new file that is written beside `target` under a temporary name, and takes its place on [`finish`](Self::finish).
/// Dropped before that, it disappears and the target is as it was.
///
/// ```no_run
/// use sciformats_core::WriteAt;
/// use sciformats_core::storage::{Durability, Replacement};
///
/// let mut new = Replacement::create("result.dat")?; // a file of that name stays as it is
/// new.storage()?.write_at(0, b"all of it")?;
/// new.finish(Durability::Power)?; // until now, when the new one takes its place
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Replacement {
    // `None` once finished.
    storage: Option<FileStorage>,
    target: PathBuf,
    replaces: bool,
}

impl Replacement {
    /// Creates the temporary file. A symbolic link at `target` is followed, so that the link stays and the file it
    /// names is replaced; an existing file's permissions are kept.
    ///
    /// # Errors
    /// `Io`, if the folder cannot be written to or `target` is a folder.
    pub fn create(target: impl AsRef<Path>) -> Result<Self> {
        let target = target.as_ref();
        let existing = fs::metadata(target).ok();
        if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(Error::io("write", std::io::ErrorKind::IsADirectory.into()).in_file(target, None));
        }
        let target = if existing.is_some() {
            fs::canonicalize(target).unwrap_or_else(|_| target.into())
        } else {
            target.into()
        };
        let storage = Self::temporary(&target)?;
        if let Some(metadata) = &existing {
            // A file system without permissions is no reason to refuse the write.
            let _ = fs::set_permissions(storage.path(), metadata.permissions());
        }
        Ok(Self { storage: Some(storage), target, replaces: existing.is_some() })
    }

    fn temporary(target: &Path) -> Result<FileStorage> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        loop {
            let name = target.file_name().unwrap_or_default().to_string_lossy();
            let unique = COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = target.with_file_name(format!(".{name}.{}-{unique}.partial", std::process::id()));
            match FileStorage::create_new(path) {
                Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::AlreadyExists => {}
                done => return done,
            }
        }
    }

    /// Where the bytes are until [`finish`](Self::finish).
    ///
    /// ```
    /// use sciformats_core::storage::Replacement;
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("result.dat");
    /// let new = Replacement::create(&path)?;
    /// let partial = new.partial_path().to_owned();
    /// assert!(partial.exists() && !path.exists());
    /// drop(new); // unfinished
    /// assert!(!partial.exists());
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    pub fn partial_path(&self) -> &Path {
        self.storage.as_ref().map_or(&self.target, |storage| storage.path())
    }

    /// The open temporary file.
    ///
    /// # Errors
    /// Never, before [`finish`](Self::finish).
    pub fn storage(&mut self) -> Result<&mut FileStorage> {
        self.storage.as_mut().ok_or_else(|| Error::usage("replacement", "has been finished"))
    }

    /// Puts the new file in the target's place.
    ///
    /// An existing file gives way only after the new bytes are on the device, whatever the durability: until then its
    /// bytes may be the only copy there is.
    ///
    /// # Errors
    /// `Io`; the target is then as it was.
    pub fn finish(mut self, durability: Durability) -> Result<()> {
        let storage = self.storage()?;
        let partial = storage.path().to_owned();
        if self.replaces || durability == Durability::Power {
            self.storage()?.sync()?;
        }
        fs::rename(&partial, &self.target)
            .map_err(|e| Error::io("rename into", e).in_file(&self.target, None))?;
        self.storage = None;
        if durability == Durability::Power {
            sync_folder_of(&self.target)?;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn sync_folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|e| Error::io("sync", e).in_file(folder, None))
}

#[cfg(not(unix))]
fn sync_folder_of(_: &Path) -> Result<()> {
    Ok(()) // The name is part of what syncing the file makes durable.
}

impl WriteAt for Replacement {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.storage()?.write_at(offset, bytes)
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        self.storage()?.set_size(size)
    }

    fn sync(&mut self) -> Result<()> {
        self.storage()?.sync()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(storage) = self.storage.take() {
            let path = storage.path().to_owned();
            drop(storage);
            // Nothing can be done about a failure here, and a left-over temporary file harms nobody.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_it_leaves_the_old_file_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        fs::write(&path, b"old").unwrap();
        let mut replacement = Replacement::create(&path).unwrap();
        replacement.write_at(0, b"new bytes").unwrap();
        drop(replacement);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn a_link_stays_a_link_and_permissions_stay() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("data"), dir.path().join("link"));
        fs::write(&path, b"old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut replacement = Replacement::create(&link).unwrap();
        replacement.write_at(0, b"new").unwrap();
        replacement.finish(Durability::Power).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
