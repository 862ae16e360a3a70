//! A file that replaces another one in one step: readers see the old bytes or the new ones, and never a
//! mixture.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::{fs, io};

use super::temporary::{self, Temporary};
use super::{FileStorage, WriteAt};
use crate::error::{Error, Result};

/// What a finished write survives.
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
    /// The end of the process at any instant. Bytes that were stored before also survive a loss of power; new
    /// bytes survive it when the system has written them back.
    #[default]
    Process,
    /// A loss of power after the call has returned, because everything is synced to the device first.
    Power,
}

/// A new file that is written beside `target` and replaces it on [`finish`](Self::finish). If it is dropped
/// before that, it disappears, and the target is unchanged.
///
/// Until then it has no name, if the system has files without names, and a process that is killed leaves
/// nothing. On other systems it has a hidden name, and the next replacement of the same file removes what is
/// left of it. While a file is being replaced, nobody can start to edit it, and a file that is being edited
/// is not replaced.
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
    file: Option<Temporary>,
    target: PathBuf,
    existing: Existing,
    /// The file to be replaced, with a lock that excludes writers.
    _held: Option<FileStorage>,
}

impl Replacement {
    /// Creates the temporary file. If `target` is a symbolic link, the link stays, and the file that it leads
    /// to is replaced or created. The permissions of an existing file are kept, and its owner and group as far as the system
    /// lets this process set them.
    ///
    /// If there is no file at `target` now, there must still be none when the new file is [finished](Self::finish): whoever has
    /// created one in the meantime keeps it.
    ///
    /// # Errors
    /// [`Error::Conflict`] if a writer has the existing file open; `Io`, if the folder or the existing file cannot be written to, or
    /// if there is something at `target` that is not a regular file.
    pub fn create(target: impl AsRef<Path>) -> Result<Self> {
        let (target, existing) = resolved(target.as_ref());
        regular(&target, existing.as_ref())?;
        let held = shared(&target)?;
        Ok(Self { _held: held, ..Self::of_held(target)? })
    }

    /// Does the same as [`create`](Self::create), but `target` must not exist, neither now nor when the new file is
    /// [finished](Self::finish).
    ///
    /// ```
    /// use sciformats_core::WriteAt;
    /// use sciformats_core::storage::{Durability, Replacement};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("result.dat");
    /// let mut new = Replacement::create_new(&path)?;
    /// new.storage()?.write_at(0, b"all of it")?;
    /// new.finish(Durability::Process)?;
    /// assert!(Replacement::create_new(&path).is_err());
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`, if there is something at `target` or the folder cannot be written to.
    pub fn create_new(target: impl AsRef<Path>) -> Result<Self> {
        let target = target.as_ref();
        absent(target)?;
        let file = Some(Temporary::beside(target)?);
        Ok(Self { file, target: target.into(), existing: Existing::Refused, _held: None })
    }

    /// Does the same as [`create`](Self::create), for a writer that has the existing file open.
    ///
    /// # Errors
    ///
    /// Those of [`create`](Self::create), except for the conflict.
    pub fn of_held(target: impl AsRef<Path>) -> Result<Self> {
        let (target, existing) = resolved(target.as_ref());
        regular(&target, existing.as_ref())?;
        let file = Temporary::beside(&target)?;
        if let Some(metadata) = &existing {
            belong(file.storage.file(), metadata);
        }
        let existing = if existing.is_some() { Existing::Replaced } else { Existing::Refused };
        Ok(Self { file: Some(file), target, existing, _held: None })
    }

    /// Returns the open temporary file.
    ///
    /// # Errors
    /// Never, before [`finish`](Self::finish).
    pub fn storage(&mut self) -> Result<&mut FileStorage> {
        self.file.as_mut().map(|file| &mut file.storage).ok_or_else(finished)
    }

    /// Returns the same for reading what was written to it.
    ///
    /// # Errors
    /// Never, before [`finish`](Self::finish).
    pub fn written(&self) -> Result<&FileStorage> {
        self.file.as_ref().map(|file| &file.storage).ok_or_else(finished)
    }

    /// Puts the new file in the target's place.
    ///
    /// An existing file is only replaced after the new bytes are on the device, whatever the durability,
    /// because its bytes may be the only copy until then.
    ///
    /// # Errors
    ///
    /// `Io`; the target is then unchanged, unless the device only failed to make the name of the new file durable.
    pub fn finish(self, durability: Durability) -> Result<()> {
        self.finish_open(durability).map(drop)
    }

    /// Does the same as [`finish`](Self::finish), but returns the file with the lock of a writer, so that nobody can access
    /// it in between.
    ///
    /// ```
    /// use sciformats_core::WriteAt;
    /// use sciformats_core::storage::{Durability, FileStorage, Replacement};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("result.dat");
    /// let mut new = Replacement::create(&path)?;
    /// new.write_at(0, b"the first part")?;
    /// let mut file = new.finish_open(Durability::Process)?;
    /// assert!(FileStorage::edit(&path)?.try_lock().is_err());
    /// file.write_at(14, b" and the second")?;
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`finish`](Self::finish).
    pub fn finish_open(mut self, durability: Durability) -> Result<FileStorage> {
        let mut file = self.file.take().ok_or_else(finished)?;
        let folder = Folder::to_sync(&self.target, durability)?;
        if self.existing == Existing::Replaced || durability == Durability::Power {
            file.storage.sync()?;
        }
        let storage = match self.existing {
            Existing::Refused => file.finish_new(&self.target)?,
            Existing::Replaced => file.finish(&self.target)?,
        };
        let is_durable = folder.is_some();
        folder.map_or(Ok(()), |folder| folder.sync())?;
        Ok(storage.with_new_name(!is_durable))
    }
}

/// What a new file means for one that is at its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Existing {
    /// It is replaced.
    Replaced,
    /// There was none, and there must still be none.
    Refused,
}

/// Checks that a file can be created at `path`: there must not be anything yet, not even a link that leads
/// nowhere.
///
/// ```
/// use sciformats_core::storage::absent;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("result.dat");
/// assert!(absent(&path).is_ok());
/// std::fs::write(&path, b"a week of work").unwrap();
/// assert!(absent(&path).is_err());
/// ```
///
/// # Errors
/// `Io`, if there is something.
pub fn absent(path: impl AsRef<Path>) -> Result<()> {
    match fs::symlink_metadata(path.as_ref()) {
        Ok(_) => Err(temporary::exists(path.as_ref())),
        Err(_) => Ok(()),
    }
}

fn finished() -> Error {
    Error::usage("replacement", "has been finished")
}

/// Gives a new file the owner, the group and the permissions of the one that it replaces. Only the administrator can give a file
/// to another owner, and some file systems have none of this; neither is a reason to refuse the write.
fn belong(file: &fs::File, existing: &fs::Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let (owner, group) = (existing.uid(), existing.gid());
        let is_other = file.metadata().is_ok_and(|now| (now.uid(), now.gid()) != (owner, group));
        if is_other && fchown(file, Some(owner), Some(group)).is_err() {
            let _ = fchown(file, None, Some(group));
        }
    }
    // A change of the owner removes some permissions, so they are set last.
    let _ = file.set_permissions(existing.permissions());
}

/// The number of symbolic links that are followed one after another, as on Linux.
const LINKS: usize = 40;

/// Returns where a symbolic link at `target` leads, and what is there. The link may lead to a file that is yet to be created.
fn resolved(target: &Path) -> (PathBuf, Option<fs::Metadata>) {
    if let Ok(existing) = fs::metadata(target) {
        return (fs::canonicalize(target).unwrap_or_else(|_| target.into()), Some(existing));
    }
    let mut path = target.to_path_buf();
    for _ in 0..LINKS {
        let Ok(next) = fs::read_link(&path) else { return (path, None) };
        path = path.with_file_name("").join(next);
    }
    (target.into(), None)
}

/// Checks that what is at `target`, if anything, is a regular file that this process may write to. Anything else, such as a device or a
/// pipe, cannot be replaced by a file without harm. Who may write to the folder could replace a file that is protected from writing, but
/// it is protected because it must not change.
fn regular(target: &Path, existing: Option<&fs::Metadata>) -> Result<()> {
    let refused = |e| Err(Error::io("write", e).in_file(target, None));
    match existing {
        Some(metadata) if metadata.is_dir() => refused(io::ErrorKind::IsADirectory.into()),
        Some(metadata) if !metadata.is_file() => {
            refused(io::Error::new(io::ErrorKind::InvalidInput, "it is a device, a pipe or a socket"))
        }
        Some(_) => fs::OpenOptions::new().write(true).open(target).map(drop).or_else(refused),
        None => Ok(()),
    }
}

/// Checks that a folder has no contents except files with such names, so that nothing else is removed with it.
fn only_parts(folder: &Path, is_part: fn(&OsStr) -> bool) -> Result<()> {
    let refused = |e| Error::io("replace", e).in_file(folder, None);
    for entry in fs::read_dir(folder).map_err(refused)? {
        let entry = entry.map_err(refused)?;
        let is_file = entry.file_type().map_err(refused)?.is_file();
        if !is_file || !is_part(&entry.file_name()) {
            let text =
                format!("the folder contains `{}`, which is not part of it", entry.file_name().display());
            return Err(refused(io::Error::new(io::ErrorKind::DirectoryNotEmpty, text)));
        }
    }
    Ok(())
}

/// Returns the file at `target`, locked against writers. Without permission to read, or without locks, no
/// writers are known.
fn shared(target: &Path) -> Result<Option<FileStorage>> {
    let Some(there) = FileStorage::open(target).ok() else { return Ok(None) };
    match there.try_lock_shared() {
        Err(conflict @ Error::Conflict { .. }) => Err(conflict),
        Ok(()) | Err(_) => Ok(Some(there)),
    }
}

/// A place beside `target` for a file that is written by its path; [`finish`](Self::finish) moves it to the
/// target. If it is dropped before that, it disappears with everything in it.
///
/// It is a hidden folder, or a hidden name with a folder that reserves it. If a killed process leaves one,
/// the next process that writes the same file removes it.
///
/// ```
/// use sciformats_core::storage::{Durability, Scratch};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("result.dat");
/// let scratch = Scratch::beside(&path)?;
/// std::fs::write(scratch.path(), b"all of it").unwrap();
/// assert!(!path.exists());
/// scratch.finish(Durability::Process)?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"all of it");
/// assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    path: PathBuf,
    target: PathBuf,
    /// What is known of the file or folder that is replaced.
    existing: Option<fs::Metadata>,
    /// Returns whether a file of this name is part of a folder that is replaced.
    is_part: fn(&OsStr) -> bool,
    /// The thread that brings the written bytes to the device.
    settling: Option<JoinHandle<()>>,
    /// The locks that show that the folder is in use, and that exclude writers from the file to be replaced.
    _locks: (fs::File, Option<FileStorage>),
}

impl Scratch {
    /// Creates the place, in a folder of its own.
    ///
    /// # Errors
    /// Those of [`Replacement::create`].
    pub fn beside(target: impl AsRef<Path>) -> Result<Self> {
        let (target, existing) = resolved(target.as_ref());
        regular(&target, existing.as_ref())?;
        Self::make(target, existing, |target, folder| folder.join(target.file_name().unwrap_or_default()))
    }

    /// Creates the place in the folder of `target` itself, for a file that names others relative to its
    /// position, or for a folder. What is at `target` may also be a folder that contains nothing but files whose names satisfy
    /// `is_part`.
    ///
    /// # Errors
    /// Those of [`Replacement::create`]; `Io` if there is a folder that contains something else.
    pub fn sibling(target: impl AsRef<Path>, is_part: fn(&OsStr) -> bool) -> Result<Self> {
        let (target, existing) = resolved(target.as_ref());
        if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
            only_parts(&target, is_part)?;
        } else {
            regular(&target, existing.as_ref())?;
        }
        let mut scratch = Self::make(target, existing, temporary::sibling_of)?;
        scratch.is_part = is_part;
        Ok(scratch)
    }

    fn make(
        target: PathBuf,
        existing: Option<fs::Metadata>,
        path: impl FnOnce(&Path, &Path) -> PathBuf,
    ) -> Result<Self> {
        let held = shared(&target)?;
        temporary::clean(&target);
        let (lock, folder) = temporary::first_free(&target, |folder| {
            fs::create_dir(folder)?;
            temporary::locked_in(folder)
        })?;
        let path = path(&target, &folder);
        temporary::remember(&folder);
        temporary::remember(&path);
        let locks = (lock, held);
        Ok(Self { folder, path, target, existing, is_part: |_| false, settling: None, _locks: locks })
    }

    /// Returns the path to write the file to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts to bring the written bytes to the device while the caller still reads them, for example to
    /// check them. Only a file that will replace another one needs this; [`finish`](Self::finish) ensures it
    /// in any case.
    pub fn settle(&mut self) {
        if self.existing.is_none() || self.settling.is_some() || !self.path.is_file() {
            return;
        }
        let path = self.path.clone();
        // Without threads, or if this fails, `finish` does it and reports the error.
        let begin = move || drop(FileStorage::edit(&path).and_then(|mut file| file.sync()));
        self.settling = thread::Builder::new().spawn(begin).ok();
    }

    /// Moves the file to the target, as [`Replacement::finish`] does. It may also be a folder, whose files
    /// are not synced.
    ///
    /// # Errors
    ///
    /// `Io`; the target is then unchanged, unless the device only failed to make the name of the new file durable.
    pub fn finish(mut self, durability: Durability) -> Result<()> {
        self.settled();
        let is_new = self.existing.is_none();
        let moved = |e| Error::io("rename into", e).in_file(&self.target, None);
        if self.path.is_dir() {
            if is_new {
                absent(&self.target)?;
                return fs::rename(&self.path, &self.target).map_err(moved);
            }
            if self.target.is_dir() {
                only_parts(&self.target, self.is_part)?;
            }
            return exchange(&self.path, &self.target).map_err(moved);
        }
        let mut file = FileStorage::edit(&self.path)?;
        let folder = Folder::to_sync(&self.target, durability)?;
        if !is_new || durability == Durability::Power {
            file.sync()?;
        }
        if let Some(metadata) = &self.existing {
            belong(file.file(), metadata);
        }
        if is_new {
            temporary::rename_new(&self.path, &self.target)?;
        } else {
            fs::rename(&self.path, &self.target).map_err(moved)?;
        }
        folder.map_or(Ok(()), |folder| folder.sync())
    }
}

impl Scratch {
    fn settled(&mut self) {
        if let Some(settling) = self.settling.take() {
            // This only lets the device do early what is done again later.
            let _ = settling.join();
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.settled();
        // If it cannot be removed, the next process that writes the same file removes it.
        for place in [&self.path, &self.folder] {
            temporary::remove(place);
            temporary::forgotten(place);
        }
    }
}

/// Moves the folder `new` to `target`. A folder that was there is at `new` afterwards.
fn exchange(new: &Path, target: &Path) -> io::Result<()> {
    if !target.exists() {
        return fs::rename(new, target);
    }
    #[cfg(all(target_os = "linux", feature = "linux"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        Ok(renameat_with(CWD, new, CWD, target, RenameFlags::EXCHANGE)?)
    }
    #[cfg(not(all(target_os = "linux", feature = "linux")))]
    {
        let aside = new.with_extension("old");
        fs::rename(target, &aside)?;
        fs::rename(new, target).or_else(|e| fs::rename(&aside, target).and(Err(e)))?;
        fs::rename(&aside, new)
    }
}

/// Makes the name of a file durable.
pub(super) fn sync_name(path: &Path) -> Result<()> {
    Folder::to_sync(path, Durability::Power)?.map_or(Ok(()), |folder| folder.sync())
}

/// The folder of a file that gets its name there. It is opened before, so that only the device can fail afterwards.
#[cfg(unix)]
struct Folder(PathBuf, fs::File);

#[cfg(unix)]
impl Folder {
    /// Returns the folder of `target` if the durability requires that it is synced.
    fn to_sync(target: &Path, durability: Durability) -> Result<Option<Self>> {
        if durability == Durability::Process {
            return Ok(None);
        }
        let folder =
            target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let open = fs::File::open(folder).map_err(|e| Error::io("open", e).in_file(folder, None))?;
        Ok(Some(Self(folder.into(), open)))
    }

    fn sync(&self) -> Result<()> {
        self.1.sync_all().map_err(|e| Error::io("sync", e).in_file(&self.0, None))
    }
}

/// Syncing a file makes its name durable too.
#[cfg(not(unix))]
struct Folder;

#[cfg(not(unix))]
impl Folder {
    fn to_sync(_: &Path, _: Durability) -> Result<Option<Self>> {
        Ok(None)
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
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

#[cfg(test)]
mod tests;
