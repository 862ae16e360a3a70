//! Locks files in the same way as the C library.

use std::io::ErrorKind;

use sciformats_core::storage::FileStorage;
use sciformats_core::{Error, Result};

/// The environment variable that controls whether files are locked.
const VARIABLE: &str = "HDF5_USE_FILE_LOCKING";

/// When a file that is edited is locked against other programs.
///
/// ```
/// use hdf5_pure::options::Locking;
/// use hdf5_pure::{EditOptions, Editor, Writer};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("weather.h5");
/// Writer::create(&path)?.finish()?;
/// let first = Editor::open_with(&path, &EditOptions::default().with_locking(Locking::Always))?;
/// assert!(Editor::open_with(&path, &EditOptions::default().with_locking(Locking::Always)).is_err());
/// # drop(first);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Locking {
    /// Never, so that the caller takes care that no other program uses the file meanwhile.
    Never,
    /// Only if the file system supports locks.
    BestEffort,
    /// Always. If the file system does not support locks, the file cannot be opened.
    Always,
}

impl Locking {
    fn of(value: Option<&str>) -> Self {
        match value {
            Some("FALSE" | "0") => Self::Never,
            Some("TRUE" | "1") => Self::Always,
            _ => Self::BestEffort,
        }
    }
}

/// Takes a writer's lock, which the storage holds until it is closed. If `locking` is `None`, the environment says when.
///
/// # Errors
/// Returns [`Error::Conflict`] if another program has the file open, and `Io` if locking is required but the file
/// system does not support it.
pub(crate) fn lock(storage: &FileStorage, locking: Option<Locking>) -> Result<()> {
    let locking = locking.unwrap_or_else(|| Locking::of(std::env::var(VARIABLE).ok().as_deref()));
    if locking == Locking::Never {
        return Ok(());
    }
    match storage.try_lock() {
        Err(Error::Io { source, .. })
            if locking == Locking::BestEffort && source.kind() == ErrorKind::Unsupported =>
        {
            Ok(())
        }
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_says_when() {
        let table = [
            (None, Locking::BestEffort),
            (Some("FALSE"), Locking::Never),
            (Some("0"), Locking::Never),
            (Some("TRUE"), Locking::Always),
            (Some("1"), Locking::Always),
            (Some("BEST_EFFORT"), Locking::BestEffort),
        ];
        for (value, locking) in table {
            assert_eq!(Locking::of(value), locking, "{value:?}");
        }
    }

    #[test]
    fn two_writers_exclude_each_other() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let first = FileStorage::edit(file.path()).unwrap();
        let second = FileStorage::edit(file.path()).unwrap();
        lock(&first, None).unwrap();
        assert!(matches!(lock(&second, None), Err(Error::Conflict { .. })));
        lock(&second, Some(Locking::Never)).unwrap();
        assert!(matches!(lock(&second, Some(Locking::Always)), Err(Error::Conflict { .. })));
        drop(first);
        lock(&second, None).unwrap();
    }
}
