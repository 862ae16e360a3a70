//! How files are opened.

use sciformats_core::storage::Access;
use sciformats_core::{External, Limits};

use crate::filter::Registry;

/// How a file is opened.
///
/// ```
/// use hdf5_pure::{Access, External, File, Limits, OpenOptions};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("weather.h5");
/// # let mut made = hdf5_pure::Writer::create(&path)?;
/// # made.root().attribute("title", "a week in May")?;
/// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
/// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
/// # made.finish()?;
/// let options = OpenOptions::default()
///     .with_limits(Limits::default().with_memory(1 << 30))
///     .with_external(External::SameFolder)
///     .with_chunk_cache(256 << 20)
///     .with_access(Access::direct());
/// let file = File::open_with(&path, &options)?;
/// assert_eq!(file.dataset("surface/temperature")?.read::<f64>()?[0], 281.5);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Bounds on what the file may ask for.
    pub limits: Limits,
    /// Filters of the caller's.
    pub registry: Registry,
    /// Which other files may be opened on its behalf.
    pub external: External,
    /// What becomes of elements whose sources are missing.
    pub missing: MissingSources,
    /// Threads that a read may use; 0 stands for as many as there are.
    pub threads: usize,
    /// How files are reached. Default: with the system's calls. Whoever knows that nobody changes the files can have them
    /// [mapped](Access::mapped) into memory; stored bytes need not be copied then.
    pub access: Access,
    /// Bytes of decoded chunks that are kept, all datasets of the file together: a chunk of which reads take a part at a
    /// time is decoded once. Default: 32 MiB, some dozens of chunks of a usual size. 0 keeps none.
    pub chunk_cache: usize,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            registry: Registry::default(),
            external: External::default(),
            missing: MissingSources::default(),
            threads: 0,
            access: Access::default(),
            chunk_cache: 32 << 20,
        }
    }
}

impl OpenOptions {
    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same with filters of the caller's.
    #[must_use]
    pub fn with_registry(self, registry: Registry) -> Self {
        Self { registry, ..self }
    }

    /// The same with another policy for other files.
    #[must_use]
    pub fn with_external(self, external: External) -> Self {
        Self { external, ..self }
    }

    /// The same with another answer to sources that are missing.
    #[must_use]
    pub fn with_missing(self, missing: MissingSources) -> Self {
        Self { missing, ..self }
    }

    /// The same with another number of threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// The same with another way to reach files.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// The same with room for so many bytes of decoded chunks.
    #[must_use]
    pub fn with_chunk_cache(self, chunk_cache: usize) -> Self {
        Self { chunk_cache, ..self }
    }
}

/// What a read makes of elements that other files should have, and have not: those of a virtual dataset whose source is
/// missing, and those after the end of an external file. A missing external file is an error in any case.
///
/// ```
/// use hdf5_pure::{Error, External, File, MissingSources, OpenOptions, Slab, Writer};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("week.h5");
/// let mut file = Writer::create(&path)?;
/// let all = Slab::all(&[3])?;
/// file.dataset("week").shape([3]).fill(-1.0).map("monday.h5", "/temperature", &all, &all).create::<f64>()?;
/// file.finish()?;
///
/// let options = OpenOptions::default().with_external(External::SameFolder);
/// let file = File::open_with(&path, &options)?; // as the library does
/// assert_eq!(file.dataset("week")?.read::<f64>()?, [-1.0; 3]);
/// assert!(matches!(file.take_missing()[..], [Error::Missing { .. }]));
/// let file = File::open_with(&path, &options.with_missing(MissingSources::Refused))?;
/// assert!(matches!(file.dataset("week")?.read::<f64>(), Err(Error::Missing { .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MissingSources {
    /// They read as the library has them: as fill values, and as zeros after the end of an external file.
    /// [`File::take_missing`](crate::File::take_missing) tells what was missing.
    #[default]
    Filled,
    /// Reading them is [`Error::Missing`](crate::Error::Missing).
    Refused,
}
