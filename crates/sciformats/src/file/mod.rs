//! An open file of any format.

mod members;
mod open;
mod opened;
mod read;
mod resolve;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use sciformats_core::{Error, Limits, ReadAt};

pub use self::opened::Opened;
pub use self::read::VisitPiece;

use crate::Format;
use crate::options::OpenOptions;
use crate::source::Source;

/// The bytes of a file, which several readers share.
pub(crate) type Storage = Arc<dyn ReadAt>;

/// An open file: one tree of groups, arrays and attributes, whatever its format. Clones share the file, and
/// any number of threads may read at the same time.
///
/// ```no_run
/// let file = sciformats::open("run.h5")?;
/// let u = file.array("/fields/u")?;
/// println!("{} {:?}", u.element(), u.shape());
/// let values: Vec<f64> = u.read()?;
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone)]
pub struct File {
    source: Arc<dyn Source>,
    /// The bytes that the source reads; `None` for a tree of the caller.
    storage: Option<Storage>,
    path: Option<PathBuf>,
    opened: Option<Opened>,
    size: u64,
    cut: Option<u64>,
    damage: Option<open::Damage>,
    options: OpenOptions,
    read: Arc<AtomicU64>,
    /// Whether reading costs round trips, which [`gather`](Self::gather) reduces.
    far: bool,
    #[cfg(feature = "remote")]
    pub(crate) remote: Option<sciformats_remote::Remote>,
}

impl File {
    /// Returns what the system said about the file when it was opened by its path; `None` for other files, and for those that a
    /// program has marked as being written, because these change all the time.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("u.npy");
    /// # std::fs::write(&path, sciformats::npy::to_bytes(&[2], &[1.5f32, 2.5])?).unwrap();
    /// let file = sciformats::open(&path)?;
    /// let u: Vec<f32> = file.array("/")?.read()?;
    /// // Nobody has overwritten it since, so that all of this is of one state.
    /// file.opened().map_or(Ok(()), |opened| opened.check_unchanged())?;
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn opened(&self) -> Option<&Opened> {
        self.opened.as_ref().filter(|_| !self.source.is_being_written())
    }

    /// Returns the number of bytes that the file should have, if it was cut short.
    ///
    /// ```
    /// use sciformats::{File, OpenOptions};
    ///
    /// let mut bytes = sciformats::npy::to_bytes(&[4], &[1u16, 2, 3, 4])?;
    /// bytes.truncate(128 + 5); // of 8
    /// assert!(File::from_bytes(bytes.clone()).unwrap_err().to_string().ends_with("cut short: 133 of 136 bytes"));
    /// let file = File::from_storage(bytes, &OpenOptions::default().with_cut(true))?;
    /// assert_eq!(file.cut_short(), Some(136));
    /// assert!(file.array("/")?.read::<u16>().is_err());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn cut_short(&self) -> Option<u64> {
        self.cut.or_else(|| self.source.cut_short())
    }

    /// Says of an error of who reads this file in another way that the cut is its reason, where it is: what should be there ends
    /// behind what is left of the file.
    pub fn explained(&self, error: Error) -> Error {
        crate::cut::named(error, self.size(), || self.cut_short())
    }

    /// What is wrong with a file that could only be opened because the options allow files of which something is
    /// [missing](OpenOptions::with_cut), and that was not cut short: the damaged end of a Blosc2 frame.
    ///
    /// ```
    /// # #[cfg(feature = "blosc2")] {
    /// use sciformats::{File, OpenOptions};
    ///
    /// let mut frame = cframe::SChunk::new(cframe::Params::new(1));
    /// frame.append(&[21; 4000])?;
    /// let mut bytes = frame.to_bytes()?;
    /// bytes.last_mut().map(|byte| *byte = 0);
    /// let trailer = bytes.len() - 23;
    /// bytes[trailer] = 0; // where its length stands
    /// assert!(File::from_bytes(bytes.clone()).is_err());
    /// let file = File::from_storage(bytes, &OpenOptions::default().with_cut(true))?;
    /// assert!(file.damage().is_some_and(|error| error.to_string().contains("frame trailer")));
    /// # }
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn damage(&self) -> Option<Error> {
        self.damage.map(open::Damage::error)
    }

    /// Returns the same file with other options. The reader of the format keeps the limits with which the
    /// file was opened.
    ///
    /// ```
    /// use sciformats::{Limits, OpenOptions};
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let small = OpenOptions::default().with_limits(Limits::default().with_memory(10));
    /// assert!(file.with_options(small).array("/fields/u")?.read::<f64>().is_err());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    #[must_use]
    pub fn with_options(self, options: OpenOptions) -> Self {
        Self { options, ..self }
    }

    /// Returns the tree behind the file, for operations that have no method here.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let source = file.source();
    /// for member in source.members(source.root())? {
    ///     assert_eq!(member?.name.to_string(), "fields");
    /// }
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn source(&self) -> &dyn Source {
        &*self.source
    }

    /// Returns the format.
    pub fn format(&self) -> Format {
        self.source.format()
    }

    /// Returns the path by which the file was opened, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the storage from which the file is read, for readers that need more of its format than the common tree has. A remote
    /// file stays the version that was opened. There is none if the tree belongs to a [`Source`] of the caller.
    ///
    /// ```
    /// use sciformats::File;
    /// use sciformats_core::ReadAt;
    ///
    /// let file = File::from_bytes(sciformats::npy::to_bytes(&[2], &[1.5f32, 2.5])?)?;
    /// assert_eq!(file.storage().map(|storage| storage.size()), Some(file.size()));
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn storage(&self) -> Option<&Arc<dyn ReadAt>> {
        self.storage.as_ref()
    }

    /// Returns the size of the file in bytes.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("u.npy");
    /// # sciformats::npy::write(&path, &[2], &[1.0f64, 2.0])?;
    /// let file = sciformats::open(&path)?;
    /// assert_eq!((file.format().word(), file.size()), ("npy", 128 + 16));
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the limits for the resources that the file may use.
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// Returns the options with which the file was opened.
    pub fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// Returns the same tree as if it belonged to a file of this many bytes. This is for a [`Source`] that
    /// presents another file, because the size of a file determines how many bytes may be read from it.
    #[must_use]
    pub fn with_size(self, size: u64) -> Self {
        Self { size, ..self }
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("format", &self.format())
            .field("path", &self.path)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
