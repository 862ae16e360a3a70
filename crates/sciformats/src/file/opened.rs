//! Whether a file is still the one that was opened.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sciformats_core::{Error, Result};

/// What the system said about a file when it was opened.
#[derive(Clone, Debug)]
pub struct Opened {
    path: PathBuf,
    size: u64,
    modified: Option<SystemTime>,
    id: Option<(u64, u64)>,
}

impl Opened {
    pub(super) fn of(path: &Path, metadata: &Metadata) -> Self {
        Self { path: path.into(), size: metadata.len(), modified: metadata.modified().ok(), id: id(metadata) }
    }

    /// Checks that no other program has overwritten the file since it was opened: what was read of it may otherwise be partly
    /// old and partly new. A file that has grown is still what it was, and so is one that was removed or replaced by another,
    /// because the open file is read to the end.
    ///
    /// # Errors
    /// `Io`.
    pub fn check_unchanged(&self) -> Result<()> {
        let Ok(now) = std::fs::metadata(&self.path) else { return Ok(()) };
        if id(&now) != self.id || now.len() > self.size {
            return Ok(());
        }
        if now.len() == self.size && now.modified().ok() == self.modified {
            return Ok(());
        }
        let changed = std::io::Error::other("another program changed it in the meantime; read it again");
        Err(Error::io("read", changed).in_file(&self.path, None))
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems do not tell")]
fn id(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn id(_: &Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_what_was_overwritten_has_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        let opened = || {
            fs::write(&path, b"first bytes").unwrap();
            // As if the file had been written long ago: clocks of file systems are coarse.
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
            Opened::of(&path, &fs::metadata(&path).unwrap())
        };
        let file = opened();
        assert!(file.check_unchanged().is_ok());
        fs::write(&path, b"other bytes").unwrap();
        assert!(file.check_unchanged().unwrap_err().to_string().contains("another program"));
        let file = opened();
        fs::write(&path, b"first").unwrap();
        assert!(file.check_unchanged().is_err());
        let file = opened();
        fs::write(&path, b"first bytes and more").unwrap();
        assert!(file.check_unchanged().is_ok());
        let file = opened();
        fs::rename(&path, dir.path().join("aside")).unwrap();
        assert!(file.check_unchanged().is_ok());
        #[cfg(unix)]
        {
            fs::write(&path, b"replacement").unwrap();
            assert!(file.check_unchanged().is_ok());
        }
    }
}
