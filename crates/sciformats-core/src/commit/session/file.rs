//! Sessions with files: the lock of a writer, and the file that has the path.

use std::path::Path;
use std::time::Duration;

use super::Session;
use crate::error::{Clash, Error, Result};
use crate::storage::{Durability, FileStorage, Replacement, Seen};

/// How often a file may be replaced between being opened and being locked.
const REPLACED: usize = 64;

/// How often to wait for a lock that others only hold for moments.
const MOMENTS: u32 = 200;
const MOMENT: Duration = Duration::from_millis(1);

impl Session<FileStorage> {
    /// Opens the file at `path` and takes the lock of a writer, which is held until the session is dropped.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another writer holds the file; `Io`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, FileStorage::try_lock)
    }

    /// Creates the file at `path`, which must not exist yet, and takes the lock of a writer.
    ///
    /// # Errors
    /// Those of [`open`](Self::open); `Io` if the file exists.
    pub fn create_new(path: impl AsRef<Path>) -> Result<Self> {
        let storage = FileStorage::create_new(path.as_ref())?.with_new_name(true);
        storage.try_lock()?;
        Ok(Self { path: Some(path.as_ref().into()), ..Self::over(storage) })
    }

    /// Does the same as [`open`](Self::open), for a writer that has read the file before. The file must be the one of
    /// `seen`. Waits a moment for others who read it under [`while_reading`](Self::while_reading).
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and [`Error::Conflict`] if another file has taken its place.
    pub fn open_seen(path: impl AsRef<Path>, seen: &Seen) -> Result<Self> {
        let path = path.as_ref();
        let mut session = Self::open(path);
        // Those who read the file in order to change it only hold the lock for a moment.
        for _ in 0..MOMENTS {
            if !matches!(session, Err(Error::Conflict { clash: Clash::Held, .. })) {
                break;
            }
            std::thread::sleep(MOMENT);
            session = Self::open(path);
        }
        let session = session?;
        if seen.is_same_file(&Seen::of(path)?) { Ok(session) } else { Err(session.conflict(Clash::Replaced)) }
    }

    /// Reads the file at `path` while no writer has it, so that it can be changed later. Returns the result
    /// of `read`, and which file was read. The latter is `None` if a writer keeps the file for longer than a
    /// moment; the file can then be read but not changed, because it may have been read in an intermediate
    /// state.
    ///
    /// ```
    /// use sciformats_core::commit::{Generation, Session};
    /// use sciformats_core::{Error, ReadAt};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("run.bin");
    /// std::fs::write(&path, b"first").unwrap();
    /// let read = || std::fs::read(&path).map_err(|e| Error::io("read", e));
    /// let (bytes, seen) = Session::while_reading(&path, read)?;
    /// let seen = seen.ok_or(Error::conflict(sciformats_core::Clash::Held))?;
    /// let mut session = Session::open_seen(&path, &seen)?; // with the lock of a writer
    /// session.expect(&Generation::of(&bytes, [(0, 5)])?);
    /// session.verify()?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`; those of `read`; [`Error::Conflict`] instead of these if a writer keeps the file, which may be the reason.
    pub fn while_reading<T>(
        path: impl AsRef<Path>,
        read: impl Fn() -> Result<T>,
    ) -> Result<(T, Option<Seen>)> {
        let path = path.as_ref();
        for _ in 0..MOMENTS {
            let before = Seen::of(path)?;
            let file = FileStorage::open(path)?;
            if is_held(&file) {
                std::thread::sleep(MOMENT);
                continue;
            }
            let result = read();
            if Seen::of(path).ok().is_some_and(|after| after == before) {
                return Ok((result?, Some(before)));
            }
        }
        let before = Seen::of(path)?;
        let result = read();
        if result.is_err() && (is_held(&FileStorage::open(path)?) || Seen::of(path)? != before) {
            return Err(Error::conflict(Clash::Held).in_file(path, None));
        }
        result.map(|read| (read, None))
    }

    /// Does the same as [`open`](Self::open), with the lock that the format requires.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and those of `lock`.
    pub fn open_with(path: impl AsRef<Path>, lock: impl Fn(&FileStorage) -> Result<()>) -> Result<Self> {
        let path = path.as_ref();
        for _ in 0..REPLACED {
            let mut storage = FileStorage::edit(path)?;
            lock(&storage)?;
            // Another writer may have changed or replaced the file before the lock was taken.
            storage.refresh()?;
            if storage.displaced()?.is_none() {
                return Ok(Self { path: Some(path.into()), ..Self::over(storage) });
            }
        }
        Err(Error::conflict(Clash::Replaced).in_file(path, None))
    }

    /// Replaces the edited file by a new one from [`Replacement::of_held`], and continues with the new one.
    /// No other writer can take its lock in between.
    ///
    /// # Errors
    /// Those of [`commit`](Self::commit).
    pub fn replace(&mut self, new: Replacement, durability: Durability) -> Result<()> {
        self.verify()?;
        self.storage = new.finish_open(durability)?;
        self.watched.clear();
        self.keep();
        Ok(())
    }

    /// Uses the file in its present state, without watched bytes. This is for a caller that has read the file
    /// again.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another file is at its path; `Io`.
    pub fn renew(&mut self) -> Result<()> {
        if let Some(clash) = self.storage.displaced()? {
            return Err(self.conflict(clash));
        }
        self.storage.refresh()?;
        self.watched.clear();
        self.keep();
        Ok(())
    }
}

/// Returns whether a writer has the file. If none has, no writer can take it until `file` is closed. On a system without locks, no writers
/// are known.
fn is_held(file: &FileStorage) -> bool {
    matches!(file.try_lock_shared(), Err(Error::Conflict { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn the_first_sync_of_a_new_file_makes_its_name_durable() {
        use crate::WriteAt;

        let folder = tempfile::tempdir().unwrap();
        let made: [fn(&Path) -> FileStorage; 3] = [
            |path| Session::create_new(path).unwrap().into_storage(),
            |path| Replacement::create_new(path).unwrap().finish_open(Durability::Process).unwrap(),
            |path| {
                std::fs::write(path, b"old").unwrap();
                let mut session = Session::open(path).unwrap();
                session.replace(Replacement::of_held(path).unwrap(), Durability::Process).unwrap();
                session.into_storage()
            },
        ];
        // Without its folder, a file can be synced, but not its name.
        for make in made {
            let inner = folder.path().join("inner");
            for is_durable in [false, true] {
                std::fs::create_dir(&inner).unwrap();
                let mut file = make(&inner.join("file"));
                file.write_at(0, b"bytes").unwrap();
                if is_durable {
                    file.sync().unwrap();
                }
                std::fs::remove_dir_all(&inner).unwrap();
                assert_eq!(file.sync().is_ok(), is_durable);
            }
        }
    }

    #[test]
    fn what_cannot_be_read_while_a_writer_has_the_file_is_a_conflict() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"half").unwrap();
        let read = || Err::<(), _>(Error::io("read", std::io::ErrorKind::UnexpectedEof.into()));
        assert!(matches!(Session::while_reading(&path, read), Err(Error::Io { .. })));
        let writer = Session::open(&path).unwrap();
        assert!(matches!(
            Session::while_reading(&path, read),
            Err(Error::Conflict { clash: Clash::Held, .. })
        ));
        assert!(matches!(Session::while_reading(&path, || Ok(7)), Ok((7, None))));
        drop(writer);
    }
}
