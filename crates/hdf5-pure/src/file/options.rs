//! Options of opening a file.

use sciformats_core::storage::Access;
use sciformats_core::{External, Limits};

use crate::filter::Registry;

/// Options of opening a file.
///
/// ```
/// use hdf5_pure::{File, OpenOptions};
/// use hdf5_pure::options::{Access, External, Limits};
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
    /// Limits on the resources that reading may use.
    pub limits: Limits,
    /// Filters that the caller provides.
    pub registry: Registry,
    /// Which other files may be opened on behalf of this one.
    pub external: External,
    /// How elements whose sources are missing are read.
    pub missing: MissingSources,
    /// The number of threads that a read may use; 0 means as many as the machine has.
    pub threads: usize,
    /// How files are accessed. By default they are read with system calls. If nobody changes the files, they can be
    /// [mapped](Access::mapped) into memory, so that stored bytes need not be copied.
    pub access: Access,
    /// The number of bytes of decoded chunks that are cached, for all datasets of the file together. A chunk that
    /// several reads need is then decoded only once. The default is 32 MiB, which holds some dozens of chunks of usual
    /// size; 0 disables the cache.
    pub chunk_cache: usize,
    /// Whether the canonical form of a reference to an object without a path is `?` and its address, such as `?1832`, and not only `?`.
    /// The address means something in the same file only, where it can be stored again.
    pub addresses: bool,
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
            addresses: false,
        }
    }
}

impl OpenOptions {
    /// Sets the limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the registry with the caller's filters.
    #[must_use]
    pub fn with_registry(self, registry: Registry) -> Self {
        Self { registry, ..self }
    }

    /// Sets which other files may be opened.
    #[must_use]
    pub fn with_external(self, external: External) -> Self {
        Self { external, ..self }
    }

    /// Sets how elements whose sources are missing are read.
    #[must_use]
    pub fn with_missing(self, missing: MissingSources) -> Self {
        Self { missing, ..self }
    }

    /// Sets the number of threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Sets how files are accessed.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Sets the number of bytes of decoded chunks that are cached.
    #[must_use]
    pub fn with_chunk_cache(self, chunk_cache: usize) -> Self {
        Self { chunk_cache, ..self }
    }

    /// Sets whether references to objects without a path are described by addresses.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, OpenOptions, Slab, Writer};
    ///
    /// let mut made = Writer::in_memory(&CreateOptions::default())?;
    /// let gone = made.dataset("gone").write(&[281.5])?;
    /// let reference = made.reference(gone)?;
    /// made.dataset("references").write(&[reference])?;
    /// made.root().unlink("gone")?;
    /// let bytes = made.into_bytes()?;
    /// for addresses in [false, true] {
    ///     let file = File::from_storage(bytes.clone(), &OpenOptions::default().with_addresses(addresses))?;
    ///     let canonical = file.dataset("references")?.read_canonical(&Slab::all(&[1])?)?;
    ///     // The text follows its length, which has 8 bytes.
    ///     assert_eq!((canonical[8], canonical.len() > 9), (b'?', addresses));
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_addresses(self, addresses: bool) -> Self {
        Self { addresses, ..self }
    }
}

/// How a read treats elements whose source is missing: elements of a virtual dataset whose source does not exist, and
/// elements beyond the end of an external file. An external file that does not exist is an error in any case.
///
/// ```
/// use hdf5_pure::{Error, File, OpenOptions, Slab, Writer};
/// use hdf5_pure::options::{External, MissingSources};
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
    /// They are read as in the C library: as fill values, or as zeros beyond the end of an external file.
    /// [`File::take_missing`](crate::File::take_missing) reports what was missing.
    #[default]
    Filled,
    /// Reading them fails with [`Error::Missing`](crate::Error::Missing).
    Refused,
}
