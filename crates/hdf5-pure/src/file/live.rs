//! Files that another program is writing while they are read.
//!
//! Such a file is longer than it was when it was opened, and a structure that is read in the middle of a write is half old and half
//! new. As the C library does, a reader therefore reads again before it reports a fault.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Duration;

use sciformats_core::storage::{FileStorage, Seen};
use sciformats_core::{Error, ReadAt, Result, bound};

/// The number of attempts to read. A structure that is read while it is being written may be half old and half new, so
/// a failure is an error only after this many attempts.
pub(crate) const ATTEMPTS: u32 = 100;
/// The wait between two attempts. It doubles each time, up to the longest wait.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_micros(50);
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_millis(5);
/// The number of attempts in a row during which nobody wrote to the file, after which nobody is writing it any more.
const IDLE: u32 = 50;

/// Returns whether another attempt may succeed.
pub(crate) fn is_passing(error: &Error) -> bool {
    matches!(error, Error::Malformed { .. } | Error::Io { .. })
}

/// Repeats failed reads of a file that is marked as being written.
#[derive(Debug)]
pub(crate) struct Live {
    path: PathBuf,
    /// The state of the file in which repeating was in vain. The writer may have died without removing its mark, and then each
    /// fault of the file is met only once.
    in_vain: Mutex<Option<Seen>>,
}

impl Live {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.into(), in_vain: Mutex::default() }
    }

    /// Reads, and repeats this as long as its failure can be explained by a structure that is half written.
    pub(crate) fn attempts<T>(&self, mut read: impl FnMut() -> Result<T>) -> Result<T> {
        let mut error = match read() {
            Err(error) if is_passing(&error) => error,
            other => return other,
        };
        let look = || Seen::of(&self.path).ok();
        let mut seen = look();
        if seen.is_some() && seen == *self.in_vain.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let (mut pause, mut idle) = (FIRST_PAUSE, 0u32);
        for _ in 1..ATTEMPTS {
            std::thread::sleep(pause);
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE); // a bound
            match read() {
                Err(again) if is_passing(&again) => error = again,
                other => return other,
            }
            let now = look();
            idle = if now == seen { bound::sum(idle, 1) } else { 0 };
            seen = now;
            if idle >= IDLE {
                *self.in_vain.lock().unwrap_or_else(PoisonError::into_inner) = seen;
                break;
            }
        }
        Err(error)
    }
}

/// A file that grows while it is read. Its length is always the present one.
#[derive(Debug)]
pub(crate) struct Growing(RwLock<FileStorage>);

impl Growing {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        FileStorage::open(path).map(|file| Self(RwLock::new(file)))
    }

    /// Asks for the length again if the file is shorter than `end`, as far as this is known.
    fn reach(&self, end: Option<u64>) -> Result<()> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).size();
        if end.is_some_and(|end| end > known) {
            self.0.write().unwrap_or_else(PoisonError::into_inner).refresh()?;
        }
        Ok(())
    }
}

impl ReadAt for Growing {
    fn size(&self) -> u64 {
        let file = self.0.read().unwrap_or_else(PoisonError::into_inner);
        // If the system does not tell the length, the read itself reports why.
        file.file().metadata().map_or(file.size(), |metadata| metadata.len())
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.reach(offset.checked_add(len as u64))?;
        let file = self.0.read().unwrap_or_else(PoisonError::into_inner);
        file.read_at(offset, len).map(|bytes| Cow::Owned(bytes.into_owned()))
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.reach(offset.checked_add(out.len() as u64))?;
        self.0.read().unwrap_or_else(PoisonError::into_inner).read_into(offset, out)
    }
}
