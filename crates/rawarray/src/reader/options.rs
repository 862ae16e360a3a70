//! Options of opening a file.

use sciformats_core::Limits;
use sciformats_core::storage::Access;

/// Options for opening a file.
///
/// ```
/// use rawarray::{Access, Limits, OpenOptions, RawArray, Reader};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("rows.ra");
/// # RawArray::from(vec![1u8, 2]).write(&path)?;
/// let limits = Limits::default().with_memory(1 << 20); // for what an encoded array decodes to
/// let options = OpenOptions::default().with_access(Access::direct()).with_limits(limits);
/// assert_eq!(Reader::open_with(&path, &options)?.read::<u8>()?, [1, 2]);
/// # Ok::<(), rawarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The limits on what a file may declare.
    pub limits: Limits,
    /// Whether files with flags that the format does not define are read as if these flags were not set. The default is false,
    /// because such a flag may mean that the data must be interpreted differently.
    pub ignore_undefined_flags: bool,
    /// How files are accessed. The default is to use system calls. If it is certain that nobody changes the files, they can be
    /// [mapped](Access::mapped) into memory; stored bytes then need not be copied.
    pub access: Access,
    /// Whether a file that a [`StreamWriter`](crate::StreamWriter) has not finished is opened with the rows that are in it. The
    /// default is false, because the writer may be gone, and nothing says whether all rows are there.
    pub unfinished: bool,
}

impl OpenOptions {
    /// Returns the same options with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the same options; undefined flags are ignored or not.
    ///
    /// ```
    /// use rawarray::{OpenOptions, RawArray, Reader};
    ///
    /// let mut bytes = RawArray::from(vec![1u8, 2]).encode(&Default::default())?;
    /// bytes[8] = 1 << 5; // bit 5 of the flags
    /// assert!(Reader::from_bytes(bytes.clone()).is_err());
    /// let options = OpenOptions::default().with_undefined_flags_ignored(true);
    /// assert_eq!(Reader::from_storage(bytes, &options)?.read::<u8>()?, [1, 2]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    #[must_use]
    pub fn with_undefined_flags_ignored(self, ignore_undefined_flags: bool) -> Self {
        Self { ignore_undefined_flags, ..self }
    }

    /// Returns the same options with another way to access files.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Returns the same options; a file that is being written row by row is opened with its whole rows, or not.
    ///
    /// ```
    /// use rawarray::{OpenOptions, Reader, StreamWriter, WriteOptions};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("position.ra");
    /// let mut stream = StreamWriter::create::<f64>(&path, &[2], &WriteOptions::default())?;
    /// stream.write(&[0.1, 0.2, 0.3])?; // a row and a half
    /// stream.sync()?;
    /// assert!(Reader::open(&path).is_err());
    /// let reader = Reader::open_with(&path, &OpenOptions::default().with_unfinished(true))?;
    /// assert_eq!((reader.shape(), reader.read::<f64>()?), (&[1, 2][..], vec![0.1, 0.2]));
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    #[must_use]
    pub fn with_unfinished(self, unfinished: bool) -> Self {
        Self { unfinished, ..self }
    }
}
