//! The identity and the state of a file when it was read.

use std::path::Path;
use std::time::SystemTime;

use crate::error::{Error, Result};

/// The file to which a path led, its length, and the times of its last change. If two of them, taken before and after some
/// reading, are equal, nobody wrote to the file in between, as far as the clock of the file system can tell.
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
    /// When the system last noted a change, in seconds and nanoseconds. No program can set it back, as it can the time above.
    changed: Option<(i64, i64)>,
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
        let (identity, changed) = (identity(&metadata), changed(&metadata));
        Ok(Self { identity, len: metadata.len(), modified, changed })
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

#[cfg(unix)]
fn changed(metadata: &std::fs::Metadata) -> Option<(i64, i64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.ctime(), metadata.ctime_nsec()))
}

#[cfg(not(unix))]
fn identity(_: &std::fs::Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(not(unix))]
fn changed(_: &std::fs::Metadata) -> Option<(i64, i64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_change_is_seen_even_if_its_time_is_set_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.bin");
        std::fs::write(&path, b"first").unwrap();
        let before = Seen::of(&path).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        std::fs::write(&path, b"other").unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(before.modified.unwrap()).unwrap();
        let after = Seen::of(&path).unwrap();
        assert_eq!((before.len, before.modified), (after.len, after.modified));
        assert_ne!(before, after);
    }
}
