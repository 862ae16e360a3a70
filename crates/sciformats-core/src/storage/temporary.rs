//! Temporary files beside the file whose place they will take.
//!
//! If the system has files without a name, a temporary file has none until it is complete, so that nothing is left however the
//! process ends. On other systems it has a hidden name, `.NAME.0.partial` and so on, and its owner has locked it. If such a file
//! is not locked, it was left by a process that was killed, and the next process that writes the same file removes it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::FileStorage;
use crate::error::{Error, Result};

/// The number of hidden names that are checked for abandoned files.
const SLOTS: u32 = 16;
/// The number of further names that are tried if all of these are in use.
const MORE: u32 = 100_000;

/// The hidden places of this process.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Returns the hidden places at which this process is writing files that are not complete yet. They are removed when the values
/// that write them are dropped. A program that is about to exit without dropping them can remove them itself; otherwise the next
/// process that writes the same file does.
///
/// ```
/// use sciformats_core::storage::{Scratch, unfinished};
///
/// # let dir = tempfile::tempdir().unwrap();
/// let scratch = Scratch::beside(dir.path().join("result.dat"))?;
/// assert!(unfinished().iter().any(|place| scratch.path().starts_with(place)));
/// # Ok::<(), sciformats_core::Error>(())
/// ```
pub fn unfinished() -> Vec<PathBuf> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Remembers a hidden place until it is [`forgotten`].
pub(super) fn remember(path: &Path) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.into());
}

/// Forgets a place that does not exist any more, or is complete.
pub(super) fn forgotten(path: &Path) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| known != path);
}

/// Returns a hidden name beside `target`.
pub(super) fn name(target: &Path, slot: u32) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{slot}.partial"))
}

/// Returns a hidden name beside `target`, for what the owner of the hidden folder of this slot writes outside of the folder.
fn sibling(target: &Path, slot: u32) -> PathBuf {
    target.with_file_name(format!(".{slot}-{}", target.file_name().unwrap_or_default().to_string_lossy()))
}

/// Returns the name beside `target` that belongs to its hidden folder `folder`, which [`first_free`] has created.
pub(super) fn sibling_of(target: &Path, folder: &Path) -> PathBuf {
    let slot = (0..MORE).find(|&slot| name(target, slot) == folder);
    sibling(target, slot.unwrap_or(MORE))
}

/// Removes a file or a folder. If this is impossible now, it can be done the next time.
pub(super) fn remove(path: &Path) {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let _ = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// Removes what killed processes have left beside `target`.
pub(super) fn clean(target: &Path) {
    for slot in 0..SLOTS {
        let path = name(target, slot);
        // The owner of a folder holds the lock of its file `lock`.
        let lock = if path.is_dir() { path.join(LOCK) } else { path.clone() };
        let open = OpenOptions::new().read(true).write(true).open(&lock);
        let left = match open {
            Ok(file) => file.try_lock().is_ok() && leads_to(&lock, &file),
            // The owner was killed before it created the lock, or is creating it now. Whoever creates it first owns the folder.
            Err(e) if e.kind() == ErrorKind::NotFound && lock != path => {
                locked_in(&path).is_ok_and(|lock| lock.is_some())
            }
            Err(_) => false,
        };
        if left {
            if lock != path {
                let beside = sibling(target, slot);
                clean(&beside);
                remove(&beside);
            }
            remove(&path);
        }
    }
}

/// The file in a temporary folder whose lock is that of the folder.
pub(super) const LOCK: &str = "lock";

/// Calls `make` with hidden names until it creates something under a name that is not in use.
pub(super) fn first_free<T>(
    target: &Path,
    mut make: impl FnMut(&Path) -> io::Result<Option<T>>,
) -> Result<(T, PathBuf)> {
    for slot in 0..MORE {
        let path = name(target, slot);
        match make(&path) {
            Ok(Some(made)) => return Ok((made, path)),
            Ok(None) => {}
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Error::io("create a temporary file for", e).in_file(target, None)),
        }
    }
    let all = io::Error::from(ErrorKind::AlreadyExists);
    Err(Error::io("create a temporary file for", all).in_file(target, None))
}

/// Returns a new locked file at `path`; `None` if another process took it for an abandoned one and removed it.
pub(super) fn locked(path: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(leads_to(path, &file).then_some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        // Without locks, nobody takes it for abandoned either.
        Err(fs::TryLockError::Error(_)) => Ok(Some(file)),
    }
}

/// Returns the lock of the new folder `folder`; `None` if another process has it.
pub(super) fn locked_in(folder: &Path) -> io::Result<Option<File>> {
    match locked(&folder.join(LOCK)) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        lock => lock,
    }
}

#[cfg(unix)]
fn leads_to(path: &Path, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |of: io::Result<fs::Metadata>| of.ok().map(|of| (of.dev(), of.ino()));
    let there = id(fs::metadata(path));
    there.is_some() && there == id(file.metadata())
}

#[cfg(not(unix))]
fn leads_to(path: &Path, _: &File) -> bool {
    path.exists()
}

/// The error of a file that is not to be replaced.
pub(super) fn exists(path: &Path) -> Error {
    created(path, ErrorKind::AlreadyExists.into())
}

fn created(path: &Path, error: io::Error) -> Error {
    Error::io("create", error).in_file(path, None)
}

/// Moves a file to `target`, but fails if there is something.
pub(super) fn rename_new(path: &Path, target: &Path) -> Result<()> {
    match fs::hard_link(path, target) {
        Ok(()) => fs::remove_file(path),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(e),
        // There are file systems without such links.
        Err(_) if fs::symlink_metadata(target).is_ok() => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(path, target),
    }
    .map_err(|e| created(target, e))
}

/// A temporary file.
#[derive(Debug)]
pub(super) struct Temporary {
    pub(super) storage: FileStorage,
    name: Name,
}

/// The name of a temporary file, if it has one. The file is removed with it.
#[derive(Debug)]
struct Name(Option<PathBuf>);

impl Temporary {
    /// Creates a temporary file for `target`.
    pub(super) fn beside(target: &Path) -> Result<Self> {
        clean(target);
        if let Some(file) = unnamed::create(target) {
            return Ok(Self { storage: FileStorage::made(file, target), name: Name(None) });
        }
        Self::named(target)
    }

    /// Creates a temporary file with a hidden name.
    pub(super) fn named(target: &Path) -> Result<Self> {
        let (file, path) = first_free(target, locked)?;
        remember(&path);
        Ok(Self { storage: FileStorage::made(file, target), name: Name(Some(path)) })
    }

    /// Puts the file at `target`, where it replaces an existing file, and returns it. It is locked as long as it is open.
    pub(super) fn finish(mut self, target: &Path) -> Result<FileStorage> {
        let file = self.storage.file();
        let renamed = |e| Error::io("rename into", e).in_file(target, None);
        if self.name.0.is_none() {
            // Nobody else knows the file, so this succeeds wherever there are locks.
            let _ = file.try_lock();
            if unnamed::link(file, target).is_err() {
                // If there is a file already, only a rename can replace it.
                let link = |path: &Path| unnamed::link(file, path).map(Some);
                self.name.0 = Some(first_free(target, link)?.1);
            }
        }
        if let Some(path) = &self.name.0 {
            fs::rename(path, target).map_err(renamed)?;
        }
        Ok(self.put(target))
    }

    /// As [`finish`](Self::finish), but fails if there is something at `target`.
    pub(super) fn finish_new(self, target: &Path) -> Result<FileStorage> {
        match &self.name.0 {
            None => {
                let file = self.storage.file();
                let _ = file.try_lock(); // as above
                unnamed::link(file, target).map_err(|e| created(target, e))?;
            }
            Some(path) => rename_new(path, target)?,
        }
        Ok(self.put(target))
    }

    /// The file, which is at `target` now. This cannot fail, because everybody sees the file there already.
    fn put(self, target: &Path) -> FileStorage {
        let Self { storage, mut name } = self;
        if let Some(path) = name.0.take() {
            forgotten(&path);
        }
        let len = super::ReadAt::size(&storage);
        storage.at(target, len)
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // If it cannot be removed now, the next process that writes the same file removes it.
            let _ = fs::remove_file(path);
            forgotten(path);
        }
    }
}

#[cfg(all(target_os = "linux", feature = "linux"))]
mod unnamed {
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, OFlags, linkat};

    /// Returns the system's name for an open file.
    fn open_name(file: &File) -> PathBuf {
        format!("/proc/self/fd/{}", file.as_raw_fd()).into()
    }

    /// Creates a file without a name in the folder of `target`, if the file system has such files and can give them a name later.
    pub(super) fn create(target: &Path) -> Option<File> {
        let folder =
            target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::TMPFILE.bits().cast_signed();
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(folder).ok()?;
        open_name(&file).exists().then_some(file)
    }

    pub(super) fn link(file: &File, path: &Path) -> io::Result<()> {
        linkat(CWD, open_name(file), CWD, path, AtFlags::SYMLINK_FOLLOW).map_err(Into::into)
    }
}

#[cfg(not(all(target_os = "linux", feature = "linux")))]
mod unnamed {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub(super) fn create(_: &Path) -> Option<File> {
        None
    }

    pub(super) fn link(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
