//! The lock file that other writers use: `FILE.b2lock` beside a file, or `.b2lock` in a folder.
//!
//! C-Blosc2 locks it since version 3.2 if this is requested: shared while it reads, and exclusively while it changes something.
//! It counts the changes. This crate locks the file wherever it exists, and creates it if `BLOSC_LOCKING` requests it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sciformats_core::storage::FileStorage;
use sciformats_core::{Clash, Error, ReadAt, Result, WriteAt};

use crate::model::frame::LOCK_FILE;
use crate::spec::lock_file::LockFile;

/// The environment variable that makes the C library lock.
const VARIABLE: &str = "BLOSC_LOCKING";
/// How long another program's lock is waited for. Such locks are only held during single operations.
const MOMENTS: u32 = 500;
const MOMENT: Duration = Duration::from_millis(1);

/// The lock file, which is locked.
#[derive(Debug)]
pub(super) struct Sidecar(FileStorage);

fn path_for(home: &Path) -> PathBuf {
    if home.is_dir() {
        return home.join(LOCK_FILE);
    }
    let mut name = home.as_os_str().to_owned();
    name.push(LOCK_FILE);
    name.into()
}

impl Sidecar {
    /// Locks the file, if there is one, for reading the frame at `home`, or with `exclusive` for changing it.
    pub(super) fn hold(home: &Path, exclusive: bool) -> Result<Option<Self>> {
        let path = path_for(home);
        let asked = std::env::var(VARIABLE).is_ok_and(|value| !matches!(value.as_str(), "" | "0"));
        let open = if exclusive { FileStorage::edit(&path) } else { FileStorage::open(&path) };
        let mut file = match open {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                if !(asked && exclusive) {
                    return Ok(None);
                }
                FileStorage::create_new(&path).or_else(|_| FileStorage::edit(&path))?
            }
            opened => opened?,
        };
        for _ in 0..MOMENTS {
            let locked = if exclusive { file.try_lock() } else { file.try_lock_shared() };
            match locked {
                Err(Error::Conflict { .. }) => std::thread::sleep(MOMENT),
                locked => {
                    locked?;
                    file.refresh()?;
                    return Ok(Some(Self(file)));
                }
            }
        }
        Err(Error::conflict(Clash::Held).in_file(home, None))
    }

    /// Returns the number of changes so far.
    pub(super) fn count(&self) -> Result<u64> {
        let len = sciformats_core::bound::addressable(self.0.size()).min(LockFile::SIZE);
        Ok(LockFile::of(&self.0.read_at(0, len)?).changes)
    }

    /// Increases the number of changes, so that other programs read the frame again.
    pub(super) fn advance(&mut self) -> Result<()> {
        let mut bytes = Vec::new();
        LockFile { changes: self.count()?.wrapping_add(1) }.encode(&mut bytes);
        self.0.write_at(0, &bytes)
    }
}
