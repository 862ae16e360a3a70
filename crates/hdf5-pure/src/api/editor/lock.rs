//! File locking as the C library does it.

use std::io::ErrorKind;

use sciformats_core::storage::FileStorage;
use sciformats_core::{Error, Result};

/// The environment variable that says whether files are locked.
const VARIABLE: &str = "HDF5_USE_FILE_LOCKING";

/// When files are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Locking {
    Never,
    /// Where the file system can.
    BestEffort,
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

/// Takes the lock of a writer, which the storage holds until it is closed.
///
/// # Errors
/// [`Error::Conflict`] if another program has the file open; `Io` if the file system cannot lock and has to.
pub(crate) fn lock(storage: &FileStorage) -> Result<()> {
    let locking = Locking::of(std::env::var(VARIABLE).ok().as_deref());
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
        lock(&first).unwrap();
        assert!(matches!(lock(&second), Err(Error::Conflict { .. })));
        drop(first);
        lock(&second).unwrap();
    }
}
