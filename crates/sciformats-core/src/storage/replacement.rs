//! A file that replaces another one in one step: readers see the old bytes or the new ones, and never a
//! mixture.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

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
    /// to is replaced. The permissions of an existing file are kept.
    ///
    /// # Errors
    /// [`Error::Conflict`] if a writer has the existing file open; `Io`, if the folder cannot be written to or `target` is
    /// a folder.
    pub fn create(target: impl AsRef<Path>) -> Result<Self> {
        let held = shared(target.as_ref())?;
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
        no_folder(&target, existing.as_ref())?;
        let file = Temporary::beside(&target)?;
        if let Some(metadata) = &existing {
            // If the file system has no permissions, this is no reason to refuse the write.
            let _ = file.storage.file().set_permissions(metadata.permissions());
        }
        let existing = if existing.is_some() { Existing::Replaced } else { Existing::Absent };
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
    /// `Io`; the target is then unchanged.
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
        if self.existing == Existing::Replaced || durability == Durability::Power {
            file.storage.sync()?;
        }
        let storage = match self.existing {
            Existing::Refused => file.finish_new(&self.target)?,
            Existing::Absent | Existing::Replaced => file.finish(&self.target)?,
        };
        if durability == Durability::Power {
            sync_folder_of(&self.target)?;
        }
        Ok(storage)
    }
}

/// What a new file means for one that is at its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Existing {
    /// There was none; one that has appeared in the meantime is replaced.
    Absent,
    /// It is replaced.
    Replaced,
    /// There must be none.
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

/// Returns where a symbolic link at `target` leads, and what is there.
fn resolved(target: &Path) -> (PathBuf, Option<fs::Metadata>) {
    let existing = fs::metadata(target).ok();
    let path = if existing.is_some() {
        fs::canonicalize(target).unwrap_or_else(|_| target.into())
    } else {
        target.into()
    };
    (path, existing)
}

fn no_folder(target: &Path, existing: Option<&fs::Metadata>) -> Result<()> {
    match existing.is_some_and(fs::Metadata::is_dir) {
        true => Err(Error::io("write", std::io::ErrorKind::IsADirectory.into()).in_file(target, None)),
        false => Ok(()),
    }
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
    permissions: Option<fs::Permissions>,
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
        no_folder(target.as_ref(), fs::metadata(target.as_ref()).ok().as_ref())?;
        Self::make(target, |target, folder| folder.join(target.file_name().unwrap_or_default()))
    }

    /// Creates the place in the folder of `target` itself, for a file that names others relative to its
    /// position, or for a folder.
    ///
    /// # Errors
    /// Those of [`Replacement::create`], but what is at `target` may be a folder.
    pub fn sibling(target: impl AsRef<Path>) -> Result<Self> {
        Self::make(target, temporary::sibling_of)
    }

    fn make(target: impl AsRef<Path>, path: impl FnOnce(&Path, &Path) -> PathBuf) -> Result<Self> {
        let held = shared(target.as_ref())?;
        let (target, existing) = resolved(target.as_ref());
        temporary::clean(&target);
        let (lock, folder) = temporary::first_free(&target, |folder| {
            fs::create_dir(folder)?;
            temporary::locked_in(folder)
        })?;
        let path = path(&target, &folder);
        let permissions = existing.map(|metadata| metadata.permissions());
        Ok(Self { folder, path, target, permissions, settling: None, _locks: (lock, held) })
    }

    /// Returns the path to write the file to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what must be removed if the process ends before this is dropped.
    pub fn leavings(&self) -> [&Path; 2] {
        [&self.path, &self.folder]
    }

    /// Starts to bring the written bytes to the device while the caller still reads them, for example to
    /// check them. Only a file that will replace another one needs this; [`finish`](Self::finish) ensures it
    /// in any case.
    pub fn settle(&mut self) {
        if self.permissions.is_none() || self.settling.is_some() || !self.path.is_file() {
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
    /// `Io`; the target is then unchanged.
    pub fn finish(mut self, durability: Durability) -> Result<()> {
        self.settled();
        if self.path.is_dir() {
            return exchange(&self.path, &self.target)
                .map_err(|e| Error::io("rename into", e).in_file(&self.target, None));
        }
        let mut file = FileStorage::edit(&self.path)?;
        if self.permissions.is_some() || durability == Durability::Power {
            file.sync()?;
        }
        if let Some(permissions) = &self.permissions {
            // As above.
            let _ = file.file().set_permissions(permissions.clone());
        }
        fs::rename(&self.path, &self.target)
            .map_err(|e| Error::io("rename into", e).in_file(&self.target, None))?;
        if durability == Durability::Power { sync_folder_of(&self.target) } else { Ok(()) }
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
        temporary::remove(&self.path);
        temporary::remove(&self.folder);
    }
}

/// Moves the folder `new` to `target`. A folder that was there is at `new` afterwards.
fn exchange(new: &Path, target: &Path) -> std::io::Result<()> {
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

#[cfg(unix)]
fn sync_folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|e| Error::io("sync", e).in_file(folder, None))
}

#[cfg(not(unix))]
fn sync_folder_of(_: &Path) -> Result<()> {
    Ok(()) // Syncing a file makes its name durable too.
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
    fn a_new_file_does_not_take_the_place_of_one_that_appears_before_it_is_finished() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        let is_refused = |result: Result<()>| match result {
            Err(Error::Io { source, .. }) => source.kind() == std::io::ErrorKind::AlreadyExists,
            _ => false,
        };
        let mut new = Replacement::create_new(&path).unwrap();
        new.write_at(0, b"late").unwrap();
        fs::write(&path, b"early").unwrap();
        assert!(is_refused(new.finish(Durability::Process)));
        assert!(is_refused(Replacement::create_new(&path).map(drop)));
        let mut named = Temporary::named(&dir.path().join("other")).unwrap();
        named.storage.write_at(0, b"late").unwrap();
        assert!(is_refused(named.finish_new(&path).map(drop)));
        assert_eq!(fs::read(&path).unwrap(), b"early");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let mut named = Temporary::named(&dir.path().join("other")).unwrap();
        named.storage.write_at(0, b"other").unwrap();
        named.finish_new(&dir.path().join("other")).unwrap();
        assert_eq!(fs::read(dir.path().join("other")).unwrap(), b"other");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_was_settled_may_still_be_written_and_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        fs::write(&path, b"old").unwrap();
        let mut scratch = Scratch::sibling(&path).unwrap();
        scratch.settle(); // There is nothing yet.
        fs::write(scratch.path(), b"new").unwrap();
        scratch.settle();
        assert!(scratch.settling.is_some());
        fs::write(scratch.path(), b"newer").unwrap();
        scratch.finish(Durability::Process).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"newer");
        let mut scratch = Scratch::sibling(&path).unwrap();
        fs::write(scratch.path(), b"dropped").unwrap();
        scratch.settle();
        drop(scratch);
        assert_eq!(fs::read(&path).unwrap(), b"newer");
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
        let scratch = Scratch::beside(&link).unwrap();
        fs::write(scratch.path(), b"newer").unwrap();
        scratch.finish(Durability::Power).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"newer");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_killed_processes_left_is_removed_and_what_lives_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        let living = Scratch::beside(&path).unwrap();
        for slot in [1, 5] {
            fs::write(temporary::name(&path, slot), b"left").unwrap();
        }
        let left = temporary::name(&path, 3);
        fs::create_dir(&left).unwrap();
        fs::write(left.join(temporary::LOCK), b"").unwrap();
        fs::write(left.join("data"), b"left").unwrap();
        fs::create_dir(temporary::name(&path, 6)).unwrap();
        let held = temporary::name(&path, 4);
        let lock = temporary::locked(&held).unwrap().unwrap();
        let mut replacement = Replacement::create(&path).unwrap();
        replacement.write_at(0, b"new").unwrap();
        assert!(living.path().parent().unwrap().exists() && held.exists());
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            2 + usize::from(!cfg!(all(target_os = "linux", feature = "linux")))
        );
        replacement.finish(Durability::Process).unwrap();
        drop((living, lock));
        assert_eq!(fs::read(&path).unwrap(), b"new");
        drop(Replacement::create(&path).unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_place_in_the_same_folder_goes_with_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        let names = || {
            let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        };
        fs::write(&path, b"old").unwrap();
        // After a process was killed, its folder exists and its lock is free.
        fs::create_dir(dir.path().join(".data.0.partial")).unwrap();
        fs::write(dir.path().join(".data.0.partial/lock"), b"").unwrap();
        fs::write(dir.path().join(".0-data"), b"left").unwrap();
        // This is another program's file, because there is no folder with it.
        fs::write(dir.path().join(".1-data"), b"somebody's").unwrap();
        let scratch = Scratch::sibling(&path).unwrap();
        assert_eq!(scratch.path().parent(), Some(dir.path()));
        fs::write(scratch.path(), b"new").unwrap();
        scratch.finish(Durability::Process).unwrap();
        assert_eq!(names(), [".1-data", "data"]);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let scratch = Scratch::sibling(&path).unwrap();
        fs::write(scratch.path(), b"newer").unwrap();
        drop(scratch);
        assert_eq!(
            (names(), fs::read(&path).unwrap()),
            (vec![".1-data".into(), "data".into()], b"new".to_vec())
        );
    }

    #[test]
    fn a_folder_takes_the_place_of_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("frame");
        for content in ["old", "new"] {
            let scratch = Scratch::sibling(&path).unwrap();
            fs::create_dir(scratch.path()).unwrap();
            fs::write(scratch.path().join(content), content).unwrap();
            scratch.finish(Durability::Process).unwrap();
        }
        let names: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["new"]);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_edited_is_not_replaced_and_the_reverse() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        fs::write(&path, b"old").unwrap();
        let editor = FileStorage::edit(&path).unwrap();
        editor.try_lock().unwrap();
        assert!(matches!(Replacement::create(&path), Err(Error::Conflict { .. })));
        assert!(matches!(Scratch::beside(&path), Err(Error::Conflict { .. })));
        drop(editor);
        let replacement = Replacement::create(&path).unwrap();
        let other = FileStorage::edit(&path).unwrap();
        assert!(matches!(other.try_lock(), Err(Error::Conflict { .. })));
        replacement.finish(Durability::Process).unwrap();
        // The lock can be taken again, but it is that of the file that was there before.
        assert!(other.check_unchanged().is_err());
    }

    /// The implementation for systems and file systems that have no files without names.
    #[test]
    fn a_named_temporary_file_does_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        fs::write(&path, b"old").unwrap();
        let mut named = Temporary::named(&path).unwrap();
        named.storage.write_at(0, b"new").unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read_dir(dir.path()).unwrap().count()),
            (b"old".to_vec(), 2)
        );
        let open = named.finish(&path).unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read_dir(dir.path()).unwrap().count()),
            (b"new".to_vec(), 1)
        );
        assert!(FileStorage::edit(&path).unwrap().try_lock().is_err());
        drop(open);
        drop(Temporary::named(&path).unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
