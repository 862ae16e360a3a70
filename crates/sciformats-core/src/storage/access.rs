//! How the bytes of a file are accessed.

use std::path::Path;
use std::sync::Arc;

use super::{FileStorage, Mapped, Paged, ReadAt};
use crate::error::Result;

/// How the bytes of a file are accessed.
///
/// | access | how it reads | what happens if the file changes meanwhile |
/// |---|---|---|
/// | [`paged`](Self::paged), the default | with system calls; short reads use pages that are kept ([`Paged`]) | reads return a mixture of old and new bytes |
/// | [`direct`](Self::direct) | with one system call per read ([`FileStorage`]) | each read returns the present bytes |
/// | [`mapped`](Self::mapped) | from a memory map, without copying ([`Mapped`]) | the behaviour is undefined, and if the file is truncated, the process ends |
///
/// ```
/// use sciformats_core::storage::Access;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("survey.bin");
/// # std::fs::write(&path, b"survey").unwrap();
/// for access in [Access::default(), Access::direct()] {
///     assert_eq!(*access.open(&path)?.read_at(0, 3)?, *b"sur");
/// }
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Access(Kind);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Kind {
    #[default]
    Paged,
    Direct,
    Mapped,
}

impl Access {
    /// Returns the access by system calls, in which short reads use pages that are kept.
    pub const fn paged() -> Self {
        Self(Kind::Paged)
    }

    /// Returns the access by one system call per read. It is for files to which another process is writing.
    pub const fn direct() -> Self {
        Self(Kind::Direct)
    }

    /// Returns the access by a memory map of the file, so that stored bytes are borrowed and not copied. It needs the cargo feature
    /// `mmap`; without it, opening returns `Unsupported`.
    ///
    /// # Safety
    /// As long as anything that was opened with this value exists, nobody, in this process or another, may change or truncate the
    /// files that it opens. See [`Mapped::open`].
    #[allow(unsafe_code)]
    pub const unsafe fn mapped() -> Self {
        // SAFETY: nothing is done here. Only this function creates the value, which carries the caller's promise to `open`, where
        // the file is mapped.
        Self(Kind::Mapped)
    }

    /// Returns whether files are mapped.
    pub const fn is_mapped(self) -> bool {
        matches!(self.0, Kind::Mapped)
    }

    /// Opens a file for reading.
    ///
    /// ```
    /// use sciformats_core::storage::Access;
    ///
    /// assert!(Access::default().open("nowhere/to/be/found").is_err());
    /// ```
    ///
    /// # Errors
    /// `Io`.
    #[allow(unsafe_code)]
    pub fn open(self, path: impl AsRef<Path>) -> Result<Arc<dyn ReadAt>> {
        Ok(match self.0 {
            Kind::Paged => Arc::new(Paged::open(path)?),
            Kind::Direct => Arc::new(FileStorage::open(path)?),
            // SAFETY: only the unsafe function `mapped` creates this kind. Its caller promised what `Mapped::open` requires.
            Kind::Mapped => Arc::new(unsafe { Mapped::open(path)? }),
        })
    }

    /// Accesses a file that is open, with its present length.
    ///
    /// ```
    /// use sciformats_core::storage::{Access, FileStorage};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("survey.bin");
    /// # std::fs::write(&path, b"survey").unwrap();
    /// let file = FileStorage::open(&path)?;
    /// assert_eq!(*Access::default().of(&file)?.read_at(3, 3)?, *b"vey");
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`.
    #[allow(unsafe_code)]
    pub fn of(self, file: &FileStorage) -> Result<Arc<dyn ReadAt>> {
        Ok(match self.0 {
            Kind::Paged => Arc::new(Paged::from(file.again()?)),
            Kind::Direct => Arc::new(file.again()?),
            // SAFETY: the same as in `open`.
            Kind::Mapped => {
                Arc::new(unsafe { Mapped::of(file.file()) }.map_err(|e| e.in_file(file.path(), None))?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(unsafe_code)]
    fn every_access_gives_the_same_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, [5; 50_000]).unwrap();
        // SAFETY: nobody else uses the file.
        let mapped = unsafe { Access::mapped() };
        assert!(mapped.is_mapped() && !Access::default().is_mapped());
        if cfg!(not(feature = "mmap")) {
            let error = mapped.open(&path).err().unwrap();
            assert_eq!(error.blame(), crate::Blame::Library);
            assert!(error.to_string().ends_with("without the cargo feature `mmap`"), "{error}");
        }
        let all = [Access::paged(), Access::direct(), mapped];
        for access in all.into_iter().filter(|access| !access.is_mapped() || cfg!(feature = "mmap")) {
            let file = access.open(&path).unwrap();
            assert_eq!((file.size(), &*file.read_at(40_000, 9).unwrap()), (50_000, &[5; 9][..]));
            assert_eq!(file.as_slice().is_some(), access.is_mapped());
            assert!(access.open(dir.path().join("none")).is_err());
        }
    }
}
