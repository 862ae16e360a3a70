//! Options of creating a file.

use sciformats_core::{Error, Result};

use crate::filter::Registry;
use crate::object::bound::Bound;
use crate::spec::btree_v1::BtreeK;
use crate::spec::message::file_space_info::{FileSpaceInfo, PAGE};

/// Options of creating a file.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
/// use hdf5_pure::options::Bound;
///
/// let options = CreateOptions::default().with_bound(Bound::Earliest).with_time(1_700_000_000);
/// let mut file = Writer::in_memory(&options)?;
/// file.dataset("temperature").write(&[281.5, 282.0])?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.superblock().version, 0);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CreateOptions {
    /// The oldest release of the C library that must be able to read the file.
    pub bound: Bound,
    /// The oldest release that must be able to read the indexes of chunks, if this is another one: a single object may need a
    /// newer release than the others.
    pub index_bound: Option<Bound>,
    /// Whether the file tracks the creation order of links and attributes, for readers that ask for it. The netCDF
    /// library writes only to files that do.
    pub track_order: bool,
    /// The time that is stored in all objects, in seconds since 1970. By default no time is stored, so that equal input
    /// gives equal bytes.
    pub time: Option<u32>,
    /// The user block: bytes before the HDF5 file proper. Their number is 0, or 512 times a power of two.
    pub user_block: Vec<u8>,
    /// Filters that the caller provides.
    pub registry: Registry,
    /// The number of threads that filter chunks; 0 means as many as the machine has. More than one thread needs the
    /// feature `parallel`.
    pub threads: usize,
    /// How programs that change the file later manage its free space.
    pub file_space: FileSpace,
    /// The smallest number of free bytes in a row that such programs keep track of; 1 if this is `None`.
    pub free_space_threshold: Option<u64>,
    /// See [`with_stated_page_size`](Self::with_stated_page_size).
    pub stated_page_size: Option<u64>,
    /// The sizes of nodes of version 1 B-trees.
    pub btree_k: BtreeK,
    /// The version of the superblock. If this is `None`, it follows from the bound.
    pub superblock: Option<u8>,
    /// The approximate number of bytes that the descriptions of new datasets take in memory before they are written; 4 MiB if
    /// this is `None`. They wait because later calls may add to them. A dataset that is changed after it was written is read
    /// back.
    pub held: Option<usize>,
    /// The number of bytes behind the superblock that are kept for structures: object headers, indexes, attributes and links. What
    /// does not fit is stored behind the elements.
    pub metadata_room: u64,
}

/// The default number of bytes that the descriptions of new datasets take in memory.
pub(super) const HELD: usize = 4 << 20;

impl CreateOptions {
    /// Sets the oldest release that must be able to read the indexes of chunks.
    ///
    /// ```
    /// use hdf5_pure::options::Bound;
    /// use hdf5_pure::references::StandardReference;
    /// use hdf5_pure::structure::{IndexKind, Layout};
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// // A list of references that needs release 1.12 does not keep older releases from reading the counts.
    /// let options = CreateOptions::default().with_bound(Bound::V112).with_index_bound(Bound::Earliest);
    /// let mut file = Writer::in_memory(&options)?;
    /// let counts = file.dataset("counts").chunks([100]).write(&[7u8; 150])?;
    /// let counts = StandardReference::Object(file.reference(counts)?);
    /// file.dataset("links").write(&[counts])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let counts = file.dataset("counts")?;
    /// assert!(matches!(counts.layout()?, Layout::Chunked(chunked) if chunked.index == IndexKind::BtreeV1));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_index_bound(self, bound: Bound) -> Self {
        Self { index_bound: Some(bound), ..self }
    }

    /// Sets the K values of version 1 B-trees.
    ///
    /// ```
    /// use hdf5_pure::structure::BtreeK;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::options::Bound;
    ///
    /// let k = BtreeK { chunk: 64, ..BtreeK::default() };
    /// let options = CreateOptions::default().with_bound(Bound::Earliest).with_btree_k(k);
    /// let file = File::from_bytes(Writer::in_memory(&options)?.into_bytes()?)?;
    /// assert_eq!((file.btree_k(), file.superblock().version), (k, 1));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_btree_k(self, btree_k: BtreeK) -> Self {
        Self { btree_k, ..self }
    }

    /// Sets how many bytes the descriptions of new datasets take in memory before they are written.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default().with_held(0))?;
    /// let temperature = file.dataset("temperature").write(&[281.5, 282.0])?;
    /// file.dataset("pressure").write(&[1013.0, 1012.5])?; // the other dataset is written by now
    /// file.attribute(temperature, "units", "K")?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("temperature")?.attribute("units")?.read::<String>()?, ["K"]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_held(self, held: usize) -> Self {
        Self { held: Some(held), ..self }
    }

    /// Keeps this many bytes behind the superblock for structures, so that a reader finds them at the front of the file, before
    /// all elements. In a file of pages, the number is rounded up to whole pages.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default().with_metadata_room(4096))?;
    /// file.dataset("temperature").chunks([2]).write(&[281.5, 282.0, 282.5, 280.0])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let temperature = file.dataset("temperature")?;
    /// assert!(temperature.address().0 < 4096);
    /// for chunk in temperature.chunks()? {
    ///     assert!(chunk?.address.0 >= 4096);
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_metadata_room(self, bytes: u64) -> Self {
        Self { metadata_room: bytes, ..self }
    }

    /// Sets the bound.
    #[must_use]
    pub fn with_bound(self, bound: Bound) -> Self {
        Self { bound, ..self }
    }

    /// Sets whether the file tracks the creation order of links and attributes.
    #[must_use]
    pub fn with_track_order(self, track_order: bool) -> Self {
        Self { track_order, ..self }
    }

    /// Sets the time that is stored in all objects, in seconds since 1970.
    #[must_use]
    pub fn with_time(self, time: impl Into<Option<u32>>) -> Self {
        Self { time: time.into(), ..self }
    }

    /// Sets the user block.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut text = b"#!/usr/bin/env viewer\n".to_vec();
    /// text.resize(512, b'\n');
    /// let file = Writer::in_memory(&CreateOptions::default().with_user_block(text))?;
    /// let bytes = file.into_bytes()?;
    /// assert!(bytes.starts_with(b"#!/usr/bin/env viewer"));
    /// assert_eq!(File::from_bytes(bytes)?.base(), 512);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_user_block(self, user_block: impl Into<Vec<u8>>) -> Self {
        Self { user_block: user_block.into(), ..self }
    }

    /// Sets the registry with the caller's filters.
    #[must_use]
    pub fn with_registry(self, registry: Registry) -> Self {
        Self { registry, ..self }
    }

    /// Sets the number of threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Sets how free space is managed.
    #[must_use]
    pub fn with_file_space(self, file_space: FileSpace) -> Self {
        Self { file_space, ..self }
    }

    /// Sets the smallest number of free bytes in a row that are kept track of.
    ///
    /// ```
    /// use hdf5_pure::options::FileSpace;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let options = CreateOptions::default().with_file_space(FileSpace::Tracked).with_free_space_threshold(64);
    /// let file = File::from_bytes(Writer::in_memory(&options)?.into_bytes()?)?;
    /// assert_eq!(file.file_space().map(|info| info.threshold), Some(64));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_free_space_threshold(self, bytes: u64) -> Self {
        Self { free_space_threshold: Some(bytes), ..self }
    }

    /// Sets the size of pages that the file states although it does not allocate space in pages. It has no effect on
    /// [`FileSpace::Paged`]. The default is 4096, as in files that state nothing.
    ///
    /// ```
    /// use hdf5_pure::options::FileSpace;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let options = CreateOptions::default().with_file_space(FileSpace::Aggregated).with_stated_page_size(8192);
    /// let file = File::from_bytes(Writer::in_memory(&options)?.into_bytes()?)?;
    /// assert_eq!(file.file_space().and_then(|info| info.page_size), Some(8192));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_stated_page_size(self, bytes: u64) -> Self {
        Self { stated_page_size: Some(bytes), ..self }
    }

    /// Sets the version of the superblock, from 0 to 3. A file gets a later version if this one cannot store something: how
    /// free space is managed needs version 2, and the size of the nodes of chunk B-trees needs version 1.
    ///
    /// ```
    /// use hdf5_pure::options::Bound;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let options = CreateOptions::default().with_bound(Bound::V112).with_superblock(0);
    /// let file = File::from_bytes(Writer::in_memory(&options)?.into_bytes()?)?;
    /// assert_eq!(file.superblock().version, 0);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_superblock(self, version: u8) -> Self {
        Self { superblock: Some(version), ..self }
    }
}

/// How the free space of a file is managed. The file stores this for programs that change it later. All strategies
/// except the default need version 1.10 of the C library or later, whatever the bound. A new file contains no free
/// space that would have to be tracked.
///
/// ```
/// use hdf5_pure::{CreateOptions, Writer};
/// use hdf5_pure::options::FileSpace;
///
/// let options = CreateOptions::default().with_file_space(FileSpace::Paged { size: 4096, tracked: true });
/// let mut file = Writer::in_memory(&options)?;
/// file.dataset("temperature").write(&[281.5, 282.0])?;
/// assert_eq!(file.into_bytes()?.len() % 4096, 0);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum FileSpace {
    /// Free space is reused while the file is open and forgotten afterwards. The file stores nothing about it.
    #[default]
    Untracked,
    /// The file keeps track of its free space.
    Tracked,
    /// Space is allocated in pages of `size` bytes, from 512 bytes to 1 GiB. Metadata and elements never share a page.
    Paged {
        /// The number of bytes per page.
        size: u64,
        /// Whether the file keeps track of its free space.
        tracked: bool,
    },
    /// Space is allocated in larger blocks. What is free in them is forgotten when the file is closed, and never used again.
    Aggregated,
    /// New space is always at the end of the file.
    AppendOnly,
}

impl FileSpace {
    /// Returns the message that stores the strategy.
    pub(super) fn info(self, options: &CreateOptions) -> Result<Option<FileSpaceInfo>> {
        let wrong = |problem: &'static str| Err(Error::usage("file space", problem));
        let threshold = options.free_space_threshold.unwrap_or(1);
        let stated = options.stated_page_size.filter(|size| *size != PAGE);
        let (strategy, persist, page_size) = match self {
            Self::Untracked if threshold == 1 && stated.is_none() => return Ok(None),
            Self::Untracked => (0, false, stated),
            Self::Tracked => (0, true, stated),
            Self::Paged { size, tracked } => (FileSpaceInfo::PAGES, tracked, Some(size)),
            Self::Aggregated => (2, false, stated),
            Self::AppendOnly => (3, false, stated),
        };
        let paged = page_size.filter(|_| strategy == FileSpaceInfo::PAGES);
        if paged.is_some_and(|size| !(512..=1 << 30).contains(&size)) {
            return wrong("needs a page size of at least 512 bytes and at most 1 GiB");
        }
        if paged.is_some_and(|size| !(options.user_block.len() as u64).is_multiple_of(size)) {
            return wrong("needs a page size that divides the size of the user block");
        }
        let managers = if persist { vec![None; 12] } else { Vec::new() };
        Ok(Some(FileSpaceInfo { strategy, persist, threshold, page_size, managers }))
    }
}

/// Checks that the format can store the user block.
pub(super) fn check_user_block(options: &CreateOptions) -> Result<()> {
    let len = options.user_block.len();
    if len == 0 || len >= 512 && len.is_power_of_two() {
        return Ok(());
    }
    Err(Error::usage(
        "user block",
        format!("has {len} bytes, but it must be empty or have 512 bytes times a power of two"),
    ))
}
