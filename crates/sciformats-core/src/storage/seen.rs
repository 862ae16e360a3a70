//! The identity and the state of a file when it was read.

use std::path::Path;
use std::time::SystemTime;

use crate::error::{Error, Result};

/// The file to which a path led, its length, and the time of its last change. If two of them, taken before and after some
/// reading, are equal, nobody wrote to the file in between.
///
/// ```
/// use sciformats_core::storage::Seen;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("run.bin");
/// std::fs::write(&path, b"first").unwrap();
/// let before = Seen::of(&path)?;
/// std::fs::write(&path, b"longer").unwrap();
/// let after = Seen::of(&path)?;
/// assert!(before != after && before.is_same_file(&after));
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The device and the inode, if the system has them.
    identity: Option<(u64, u64)>,
    len: u64,
    modified: Option<SystemTime>,
}

impl Seen {
    /// Returns this for the file at `path`.
    ///
    /// # Errors
    /// `Io`.
    pub fn of(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let metadata = std::fs::metadata(path).map_err(|e| Error::io("find", e).in_file(path, None))?;
        let modified = metadata.modified().ok();
        Ok(Self { identity: identity(&metadata), len: metadata.len(), modified })
    }

    /// Returns whether both belong to the same file, which may have been changed in between.
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

#[cfg(unix)]
fn identity(metadata: &std::fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &std::fs::Metadata) -> Option<(u64, u64)> {
    None
}
