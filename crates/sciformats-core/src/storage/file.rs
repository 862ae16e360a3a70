//! Files that are read and written at positions with system calls.

use std::borrow::Cow;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::replacement::sync_name;
use super::{ReadAt, WriteAt, check_range};
use crate::arith;
use crate::error::{Clash, Error, Result};

/// The largest number of bytes that one system call moves. A signal such as that of Ctrl-C is delivered between two calls, and a
/// call that moves a gigabyte into fresh memory can take seconds.
const CALL: usize = 8 << 20;

/// An open file. Reading takes `&self` and does not move a cursor, so threads do not disturb each other.
///
/// The length is that at opening, or that after the last write through this value.
///
/// ```no_run
/// use sciformats_core::WriteAt;
/// use sciformats_core::storage::FileStorage;
///
/// let mut file = FileStorage::create_new("new.bin")?;
/// file.write_at(4096, b"behind a gap of zeros")?;
/// file.sync()?;
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Debug)]
pub struct FileStorage {
    file: File,
    path: PathBuf,
    /// The path at which the file must be found. It is `None` as long as the file has no name.
    anchor: Option<PathBuf>,
    len: u64,
    /// Whether this value has locked the file.
    locked: AtomicBool,
    /// Whether the name of the file may be lost with the power, because it is new in its folder.
    has_new_name: bool,
}

impl FileStorage {
    /// Opens an existing file for reading.
    ///
    /// # Errors
    /// `Io`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::with_options(path.as_ref(), OpenOptions::new().read(true), "open")
    }

    /// Opens an existing file for reading and writing.
    ///
    /// ```
    /// use sciformats_core::storage::FileStorage;
    /// use sciformats_core::{ReadAt, WriteAt};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("new.bin");
    /// FileStorage::create_new(&path)?.write_at(0, b"old bytes")?;
    /// FileStorage::edit(&path)?.write_at(0, b"new")?;
    /// assert_eq!(*FileStorage::open(&path)?.read_at(0, 9)?, *b"new bytes");
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`.
    pub fn edit(path: impl AsRef<Path>) -> Result<Self> {
        Self::with_options(path.as_ref(), OpenOptions::new().read(true).write(true), "open")
    }

    /// Creates a file that must not exist yet.
    ///
    /// # Errors
    /// `Io`.
    pub fn create_new(path: impl AsRef<Path>) -> Result<Self> {
        Self::with_options(
            path.as_ref(),
            OpenOptions::new().read(true).write(true).create_new(true),
            "create",
        )
    }

    fn with_options(path: &Path, options: &OpenOptions, action: &'static str) -> Result<Self> {
        let open = || {
            let file = options.open(path)?;
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            Ok((file, metadata.len()))
        };
        let (file, len) = open().map_err(|e| Error::io(action, e).in_file(path, None))?;
        // The path is made absolute, because the working directory may change.
        let anchor = std::path::absolute(path).unwrap_or_else(|_| path.into());
        let (locked, path) = (AtomicBool::new(false), path.into());
        Ok(Self { file, path, anchor: Some(anchor), len, locked, has_new_name: false })
    }

    /// Returns a file that was created under another name, or without one, and will be at `path`.
    pub(super) fn made(file: File, path: &Path) -> Self {
        let (locked, path) = (AtomicBool::new(false), path.into());
        Self { file, path, anchor: None, len: 0, locked, has_new_name: false }
    }

    /// Returns the same file, whose name is new in its folder or is not. The next sync makes a new name durable, too.
    pub(crate) fn with_new_name(mut self, is_new: bool) -> Self {
        self.has_new_name = is_new;
        self
    }

    /// Returns the same file, which is now at `path`, is locked, and has `len` bytes.
    pub(super) fn at(mut self, path: &Path, len: u64) -> Self {
        self.anchor = Some(std::path::absolute(path).unwrap_or_else(|_| path.into()));
        self.len = len;
        self.locked.store(true, Ordering::Relaxed);
        self
    }

    /// Returns another handle of the same open file, for reading.
    pub(super) fn again(&self) -> Result<Self> {
        let file = self.file.try_clone().map_err(|e| self.error("open", e, None))?;
        let (path, anchor) = (self.path.clone(), self.anchor.clone());
        let (len, locked) = (self.len, AtomicBool::new(false));
        Ok(Self { file, path, anchor, len, locked, has_new_name: false })
    }

    /// Returns the reason why the file is not the one at its path, if there is one. The length is not checked.
    pub(crate) fn displaced(&self) -> Result<Option<Clash>> {
        let Some(anchor) = &self.anchor else { return Ok(None) };
        let there = match std::fs::metadata(anchor) {
            Ok(there) => there,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Some(Clash::Gone)),
            Err(e) => return Err(self.error("find", e, None)),
        };
        let here = self.file.metadata().map_err(|e| self.error("find", e, None))?;
        Ok((!is_same(&there, &here)).then_some(Clash::Replaced))
    }

    /// Announces to the system that a range will be read, so that it fetches what is not in memory yet.
    pub(super) fn advise(&self, start: u64, len: u64) {
        // Whatever the system does with the advice, no result changes.
        #[cfg(all(target_os = "linux", feature = "linux"))]
        let _ = rustix::fs::fadvise(
            &self.file,
            start,
            std::num::NonZeroU64::new(len),
            rustix::fs::Advice::WillNeed,
        );
        #[cfg(not(all(target_os = "linux", feature = "linux")))]
        let _ = (start, len);
    }

    /// Returns the path by which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file itself.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Reads the length again, because another process may have appended to the file.
    ///
    /// ```
    /// use sciformats_core::storage::FileStorage;
    /// use sciformats_core::{ReadAt, WriteAt};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("new.bin");
    /// let mut writer = FileStorage::create_new(&path)?;
    /// let mut reader = FileStorage::open(&path)?;
    /// writer.write_at(0, b"appended")?;
    /// assert_eq!(reader.size(), 0);
    /// assert_eq!(reader.refresh()?, 8);
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`.
    pub fn refresh(&mut self) -> Result<u64> {
        self.len = self.file.metadata().map_err(|e| self.error("read the length of", e, None))?.len();
        Ok(self.len)
    }

    /// Requests space for the first `size` bytes from the system, without changing the length of the file. A full disk is then
    /// noticed before the first byte is written, and large writes into reserved space are faster. If the system or the file
    /// system cannot reserve space, this does nothing.
    ///
    /// # Errors
    /// `Io` if there is not enough space.
    pub fn reserve(&self, size: u64) -> Result<()> {
        reserved::reserve(&self.file, size).map_err(|e| self.error("reserve space for", e, None))
    }

    /// Takes the advisory lock of a writer without waiting. It is released when this value is dropped.
    ///
    /// ```
    /// use sciformats_core::storage::FileStorage;
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("new.bin");
    /// let first = FileStorage::create_new(&path)?;
    /// first.try_lock()?;
    /// assert!(FileStorage::edit(&path)?.try_lock().is_err());
    /// drop(first);
    /// FileStorage::edit(&path)?.try_lock()?;
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`] if another program has locked the file; `Io`.
    pub fn try_lock(&self) -> Result<()> {
        self.locked(self.file.try_lock())
    }

    /// Takes a lock that excludes writers, without waiting. Any number of programs can hold it. It is released when this value is
    /// dropped.
    ///
    /// ```
    /// use sciformats_core::storage::FileStorage;
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("new.bin");
    /// let first = FileStorage::create_new(&path)?;
    /// let second = FileStorage::open(&path)?;
    /// first.try_lock_shared()?;
    /// second.try_lock_shared()?;
    /// assert!(FileStorage::edit(&path)?.try_lock().is_err());
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`] if a writer has locked the file; `Io`.
    pub fn try_lock_shared(&self) -> Result<()> {
        self.locked(self.file.try_lock_shared())
    }

    fn locked(&self, result: std::result::Result<(), TryLockError>) -> Result<()> {
        match result {
            Ok(()) => {
                self.locked.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(TryLockError::WouldBlock) => Err(Error::conflict(Clash::Held).in_file(&self.path, None)),
            Err(TryLockError::Error(e)) => Err(self.error("lock", e, None)),
        }
    }

    fn error(&self, action: &'static str, source: io::Error, offset: Option<u64>) -> Error {
        Error::io(action, source).in_file(&self.path, offset)
    }
}

impl Drop for FileStorage {
    fn drop(&mut self) {
        if self.locked.load(Ordering::Relaxed) {
            // Closing the file also releases the lock, but not while a process that was just started shares the open file.
            let _ = self.file.unlock();
        }
    }
}

impl ReadAt for FileStorage {
    fn size(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        check_range(self.len, offset, len as u64)?;
        let mut out = super::zeroed(len)?;
        self.read_into(offset, &mut out)?;
        Ok(Cow::Owned(out))
    }

    fn read_with<'a>(&'a self, offset: u64, len: usize, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        super::fill_buffer(self, offset, len, buffer)
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        check_range(self.len, offset, out.len() as u64)?;
        for (part, at) in out.chunks_mut(CALL).zip((offset..).step_by(CALL)) {
            positioned::read_exact(&self.file, part, at).map_err(|e| self.error("read", e, Some(at)))?;
        }
        Ok(())
    }
}

impl WriteAt for FileStorage {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let end = arith::add(offset, bytes.len() as u64)?;
        for (part, at) in bytes.chunks(CALL).zip((offset..).step_by(CALL)) {
            if let Err(error) = positioned::write_all(&self.file, part, at) {
                // On a full disk, a part of the bytes is in the file. Whoever takes them back must know how long it has become.
                let found = self.file.metadata().map_or(end, |metadata| metadata.len());
                self.len = self.len.max(found.min(end));
                return Err(self.error("write", error, Some(at)));
            }
        }
        self.len = self.len.max(end);
        Ok(())
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        self.file.set_len(size).map_err(|e| self.error("resize", e, None))?;
        self.len = size;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync_data().map_err(|e| self.error("sync", e, None))?;
        if let Some(anchor) = self.anchor.as_deref().filter(|_| self.has_new_name) {
            sync_name(anchor)?;
            self.has_new_name = false;
        }
        Ok(())
    }

    fn check_unchanged(&self) -> Result<()> {
        let conflict = |clash| Err(Error::conflict(clash).in_file(&self.path, None));
        if let Some(clash) = self.displaced()? {
            return conflict(clash);
        }
        let found = self.file.metadata().map_err(|e| self.error("read the length of", e, None))?.len();
        if found == self.len { Ok(()) } else { conflict(Clash::Resized { known: self.len, found }) }
    }
}

#[cfg(unix)]
fn is_same(a: &std::fs::Metadata, b: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// On other systems, files are not distinguished here, but their length and their bytes are checked.
#[cfg(not(unix))]
fn is_same(_: &std::fs::Metadata, _: &std::fs::Metadata) -> bool {
    true
}

#[cfg(all(target_os = "linux", feature = "linux"))]
mod reserved {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;

    pub(super) fn reserve(file: &std::fs::File, size: u64) -> std::io::Result<()> {
        match fallocate(file, FallocateFlags::KEEP_SIZE, 0, size) {
            Err(e) if e == Errno::NOSPC || e == Errno::FBIG || e == Errno::DQUOT => Err(e.into()),
            _ => Ok(()),
        }
    }
}

#[cfg(not(all(target_os = "linux", feature = "linux")))]
mod reserved {
    pub(super) fn reserve(_: &std::fs::File, _: u64) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(unix)]
pub(super) mod positioned {
    use std::fs::File;
    use std::io::Result;
    use std::os::unix::fs::FileExt;

    pub(in crate::storage) fn read_exact(file: &File, out: &mut [u8], offset: u64) -> Result<()> {
        file.read_exact_at(out, offset)
    }

    pub(in crate::storage) fn write_all(file: &File, bytes: &[u8], offset: u64) -> Result<()> {
        file.write_all_at(bytes, offset)
    }
}

#[cfg(windows)]
pub(super) mod positioned {
    use std::fs::File;
    use std::io::{ErrorKind, Result};
    use std::os::windows::fs::FileExt;

    // `seek_read` and `seek_write` are given the position in the call. They also move the cursor, which nobody uses.
    pub(in crate::storage) fn read_exact(file: &File, mut out: &mut [u8], mut offset: u64) -> Result<()> {
        while !out.is_empty() {
            match file.seek_read(out, offset) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    out = out.get_mut(n..).unwrap_or_default();
                    offset += n as u64; // positions in the system are below 2^63
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    pub(in crate::storage) fn write_all(file: &File, mut bytes: &[u8], mut offset: u64) -> Result<()> {
        while !bytes.is_empty() {
            match file.seek_write(bytes, offset) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => {
                    bytes = bytes.get(n..).unwrap_or_default();
                    offset += n as u64; // positions in the system are below 2^63
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

#[cfg(not(any(unix, windows)))]
pub(super) mod positioned {
    use std::fs::File;
    use std::io::{ErrorKind, Result};

    pub(in crate::storage) fn read_exact(_: &File, _: &mut [u8], _: u64) -> Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(in crate::storage) fn write_all(_: &File, _: &[u8], _: u64) -> Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
}
