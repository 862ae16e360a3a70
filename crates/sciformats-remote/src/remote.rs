//! A remote file in any store.

use std::borrow::Cow;
use std::ops::Range;

use sciformats_core::storage::{Planned, Purpose, Ranges, Statistics, length};
use sciformats_core::{Error, ReadAt, Result, bound};

use crate::cache::Cached;
use crate::cloud::Address;
use crate::http::{Http, Version};
use crate::index::Index;
use crate::options::RemoteOptions;
use crate::url::Url;

/// What a store knows about a file besides its bytes.
pub(crate) trait Store: Ranges {
    /// Returns the version that was opened.
    fn version(&self) -> Version;

    /// Returns the URL without its secrets.
    fn name(&self) -> String;

    /// Returns the number of repeated requests.
    fn repeated(&self) -> u64;

    /// Returns what was asked for, and what of it was requested, because the rest is kept on this machine.
    fn saved(&self) -> (Asked, Asked) {
        Default::default()
    }
}

/// Requests for ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) batches: u64,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
}

impl Asked {
    /// Adds a batch.
    pub(crate) fn add(&mut self, ranges: &[Range<u64>]) {
        self.batches = bound::sum(self.batches, u64::from(!ranges.is_empty()));
        self.requests = bound::sum(self.requests, ranges.len() as u64);
        self.bytes = ranges.iter().map(length).fold(self.bytes, bound::sum);
    }
}

/// What was fetched when a file was opened.
pub(crate) struct Opening {
    pub(crate) store: Box<dyn Store>,
    /// The front of the file.
    pub(crate) front: Vec<u8>,
    /// The end of the file, and its offset.
    pub(crate) back: Option<(u64, Vec<u8>)>,
}

/// A remote file, which any format crate can read: a [`ReadAt`] that plans its requests. Clones share the
/// connections and the fetched bytes, and any number of threads may read at the same time.
///
/// ```no_run
/// use sciformats_core::ReadAt;
///
/// let file = sciformats_remote::open("https://data.example/run.gsd", &Default::default())?;
/// println!("{} bytes, {:?}", file.size(), file.statistics());
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Remote(Planned<Box<dyn Store>>);

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote")
            .field("name", &self.name())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}

/// Returns whether a text is a URL of a remote file: one of `http` or `https`, or of an object store (`s3`, `gs`
/// or `az`), which [`open`] reads with the feature of that store.
///
/// ```
/// assert!(sciformats_remote::is_url("https://data.example/run.gsd"));
/// assert!(sciformats_remote::is_url("s3://data/run.gsd"));
/// assert!(!sciformats_remote::is_url("run.gsd"));
/// ```
pub fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https")) || Address::is_address(text)
}

/// Returns the part of a URL that may be shown, without the password and without the query, which contains
/// the signature of a presigned URL.
///
/// ```
/// let url = "https://me:password@data.example/run.gsd?signature=1234";
/// assert_eq!(sciformats_remote::shown(url), "https://data.example/run.gsd");
/// ```
pub fn shown(url: &str) -> String {
    if Address::is_address(url) {
        return Address::parse(url).map_or_else(|_| "an invalid address".into(), |found| found.to_string());
    }
    Url::parse(url).map_or_else(|_| "an invalid URL".into(), |url| url.to_string())
}

/// Opens the file at a URL. Its front and its end are fetched at the same time.
///
/// # Errors
///
/// `Io` with the URL, but without its query and password; [`Usage`](sciformats_core::Error::Usage) if the
/// text is not a URL, or if the options are those of an environment that cannot be understood; `Unsupported` if it is in an object store whose feature this build lacks.
pub fn open(url: &str, options: &RemoteOptions) -> Result<Remote> {
    options.check()?;
    if Address::is_address(url) {
        #[cfg(feature = "cloud")]
        return Remote::new(crate::cloud::Object::open(url, options)?, url, options);
        #[cfg(not(feature = "cloud"))]
        return Err(Address::parse(url)?.unsupported());
    }
    Remote::new(Http::open(url, options)?, url, options)
}

/// What happens to a file that is already where another one is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays as it is, and nothing is written.
    Refused,
    /// The new file takes its place when it is complete.
    Replaced,
}

/// Writes a file into an object store, as a whole or not at all: `s3://BUCKET/KEY`, `gs://BUCKET/KEY` or
/// `az://CONTAINER/KEY`, with the feature of that store. Long files are sent in parts, several at the same time, which become a
/// file when all of them have arrived. What was written is read by [`open`].
///
/// `existing` says what happens to a file that is there already. For files of more than 8 MiB this is checked before the first part is sent,
/// and again before they become a file, which is a moment before; `object_store` has no condition for that last request.
/// If the answer to the request that makes the file is lost, and repeating it fails, there is no error if the store has the same bytes.
///
/// ```no_run
/// use sciformats_remote::Existing;
///
/// let file = sciformats_core::storage::FileStorage::open("run.h5")?;
/// sciformats_remote::upload(&file, "s3://data/run.h5", &Default::default(), Existing::Refused)?;
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
///
/// `Io`, for example if the file exists and is not to be replaced; [`Usage`](sciformats_core::Error::Usage) if `url` is not an address;
/// `Unsupported` for other URLs, or if this build lacks the feature of the store.
pub fn upload(file: &dyn ReadAt, url: &str, options: &RemoteOptions, existing: Existing) -> Result<()> {
    options.check()?;
    writable(url)?;
    #[cfg(feature = "cloud")]
    return crate::cloud::upload(file, url, options, existing);
    #[cfg(not(feature = "cloud"))]
    {
        let _ = (file, options, existing);
        Err(Address::parse(url)?.unsupported())
    }
}

/// Returns whether there is a file at an address in an object store.
///
/// # Errors
///
/// As those of [`upload`].
pub fn exists(url: &str, options: &RemoteOptions) -> Result<bool> {
    options.check()?;
    writable(url)?;
    #[cfg(feature = "cloud")]
    return crate::cloud::is_occupied(url, options);
    #[cfg(not(feature = "cloud"))]
    {
        let _ = options;
        Err(Address::parse(url)?.unsupported())
    }
}

fn writable(url: &str) -> Result<()> {
    if Address::is_address(url) {
        return Ok(());
    }
    Err(Error::unsupported("writing to another URL than one of s3://, gs:// and az://"))
}

impl Remote {
    fn new(opening: Opening, url: &str, options: &RemoteOptions) -> Result<Self> {
        let Opening { mut store, front, back } = opening;
        if let Some(place) = &options.cache {
            store = Cached::wrap(store, url, place)?;
        }
        let size = store.size();
        let planned = Planned::with_options(store, options.plan.clone());
        let bytes = back.as_ref().map_or(0, |(_, bytes)| bytes.len() as u64) + front.len() as u64;
        planned.count(if back.is_some() { 2 } else { 1 }, bytes);
        if front.len() as u64 == size {
            // The whole file was fetched and is kept, because the server may not support ranges.
            planned.supply_kept(0, front);
        } else {
            planned.supply(0, &front, Purpose::Structure);
            if let Some((start, bytes)) = back {
                planned.supply_kept(start, bytes);
            }
        }
        Ok(Self(planned))
    }

    /// Opens a file with its index. No request is made until something is read that the index does not
    /// contain. If the file was replaced meanwhile, that read is an error. If the URL is not that of the index, or has a query, which
    /// an index does not contain, the file is opened as usual to find out whether the index belongs to it.
    ///
    /// ```no_run
    /// use sciformats_remote::index::Index;
    /// use sciformats_remote::{Remote, RemoteOptions};
    ///
    /// let index = Index::read("run.h5.sfi")?;
    /// let file = Remote::with_index("https://data.example/run.h5", index, &RemoteOptions::default())?;
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Usage`](sciformats_core::Error::Usage) if `url` is not a URL, or if the index belongs to another file; those of [`open`] if
    /// the file has to be asked.
    pub fn with_index(url: &str, index: Index, options: &RemoteOptions) -> Result<Self> {
        options.check()?;
        if index.url.as_deref() != Some(shown(url).as_str()) || url.contains('?') {
            return Self::compared(url, index, options);
        }
        let (size, version) = (index.size, index.version);
        let store: Box<dyn Store> = if Address::is_address(url) {
            #[cfg(feature = "cloud")]
            let store = Box::new(crate::cloud::Object::known(url, size, version, options)?);
            #[cfg(not(feature = "cloud"))]
            return Err(Address::parse(url)?.unsupported());
            #[cfg(feature = "cloud")]
            store
        } else {
            Box::new(Http::known(url, size, version, options)?)
        };
        let planned = Planned::with_options(store, options.plan.clone());
        for (start, bytes) in index.extents {
            planned.supply_known(start, bytes);
        }
        Ok(Self(planned))
    }

    /// Opens a file, and adds the bytes of an index if it belongs to this file: if the size, what both know of the version, and the
    /// first bytes agree.
    fn compared(url: &str, index: Index, options: &RemoteOptions) -> Result<Self> {
        let file = open(url, options)?;
        let version = file.version();
        let differ = |one: &Option<String>, other: &Option<String>| {
            one.as_ref().zip(other.as_ref()).is_some_and(|(one, other)| one != other)
        };
        let alike = file.size() == index.size
            && !differ(&version.etag, &index.version.etag)
            && !differ(&version.modified, &index.version.modified)
            && match index.extents.first() {
                Some((start, bytes)) => *file.read_at(*start, bytes.len())? == **bytes,
                None => true,
            };
        if !alike {
            let of = index.url.map(|url| format!(": that of {url} when it was made")).unwrap_or_default();
            return Err(Error::usage("index", format!("belongs to another file{of}")));
        }
        for (start, bytes) in index.extents {
            file.0.supply_known(start, bytes);
        }
        Ok(file)
    }

    /// Returns the URL without its secrets.
    pub fn name(&self) -> String {
        self.0.ranges().name()
    }

    /// Returns the size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.0.size()
    }

    /// Returns the version that was opened, which every request asks for.
    pub fn version(&self) -> Version {
        self.0.ranges().version()
    }

    /// Returns the cost of the reads so far. What a cache on this machine had is no part of it.
    pub fn statistics(&self) -> Statistics {
        let mut told = self.0.statistics();
        let (asked, requested) = self.0.ranges().saved();
        let real = |told: u64, asked: u64, requested: u64| bound::sum(bound::left(told, asked), requested);
        told.batches = real(told.batches, asked.batches, requested.batches);
        told.requests = real(told.requests, asked.requests, requested.requests);
        told.bytes = real(told.bytes, asked.bytes, requested.bytes);
        // No more than what came can be without use.
        told.unread = told.unread.min(told.bytes);
        told
    }

    /// Returns the number of requests that were repeated after a temporary failure.
    pub fn repeated(&self) -> u64 {
        self.0.ranges().repeated()
    }

    /// Records from now on which ranges are structures, for an [`index`](Self::index): it contains everything
    /// that is opened, listed and described after this call.
    pub fn record(&self) {
        self.0.record();
    }

    /// Returns the index of what was read since [`record`](Self::record).
    ///
    /// # Errors
    ///
    /// `Io` if a part has to be fetched again.
    pub fn index(&self) -> Result<Index> {
        let index = Index::of(&self.0, &self.0.recorded(), self.version())?;
        Ok(Index { url: Some(self.name()), ..index })
    }
}

impl ReadAt for Remote {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.0.read_at(offset, len)
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.0.read_into(offset, out)
    }

    fn read_with<'a>(&'a self, offset: u64, len: usize, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        self.0.read_with(offset, len, buffer)
    }

    fn read_ahead(&self) -> u64 {
        self.0.read_ahead()
    }

    fn prefetch(&self, ranges: &[Range<u64>], purpose: Purpose) -> Result<()> {
        self.0.prefetch(ranges, purpose)
    }
}
