//! A file in an object store, as a store of ranges.

use std::future::Future;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use object_store::client::CryptoProvider;
use object_store::{
    BackoffConfig, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig,
};
use sciformats_core::storage::{Ranges, length};
use sciformats_core::{Error, Result};

use super::address::{Address, Service};
use super::connector::Connector;
use super::crypto::Crypto;
use crate::http::{Gate, LONGEST_WAIT, Version, replaced, side_by_side};
use crate::options::RemoteOptions;
use crate::remote::{Opening, Store};

/// A file in an object store.
pub(crate) struct Object {
    place: Place,
    version: Version,
    size: u64,
}

/// Where a file is, and how it is reached.
pub(super) struct Place {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) key: object_store::path::Path,
    address: Address,
    gate: Arc<Gate>,
    failed: Arc<AtomicU64>,
}

/// What a request returned.
struct Part {
    bytes: Vec<u8>,
    range: Range<u64>,
    version: Version,
    size: u64,
}

/// Sets up a builder with those settings whose names it knows.
macro_rules! built {
    ($builder:expr, $set:ident, $bucket:ident, $options:expr, $address:expr, $connector:expr) => {{
        let mut builder = $builder;
        for (name, value) in &$options.settings {
            if let Ok(key) = name.to_ascii_lowercase().parse() {
                builder = builder.$set(key, value);
            }
        }
        let crypto: Arc<dyn CryptoProvider> = Arc::new(Crypto);
        let builder = builder
            .$bucket(&$address.bucket)
            .with_http_connector($connector)
            .with_crypto_provider(crypto)
            .with_retry(retries($options));
        builder.build().ok().map(|store| Arc::new(store) as Arc<dyn ObjectStore>)
    }};
}

impl Place {
    pub(super) fn new(text: &str, options: &RemoteOptions) -> Result<Self> {
        let address = Address::parse(text)?;
        let key = object_store::path::Path::parse(&address.key)
            .map_err(|_| Error::usage("address", "contains a key with empty parts or control characters"))?;
        let connector = Connector::new(options)?;
        let (gate, failed) = (connector.gate.clone(), connector.failed.clone());
        let (built, needs) = match address.service {
            #[cfg(feature = "s3")]
            Service::S3 => {
                let builder = object_store::aws::AmazonS3Builder::new();
                let built = built!(builder, with_config, with_bucket_name, options, address, connector);
                (built, "the settings AWS_… of the environment are incomplete or invalid")
            }
            #[cfg(feature = "gcs")]
            Service::Gcs => {
                let builder = object_store::gcp::GoogleCloudStorageBuilder::new();
                let built = built!(builder, with_config, with_bucket_name, options, address, connector);
                (built, "the settings GOOGLE_… of the environment, or the file that they name, are invalid")
            }
            #[cfg(feature = "azure")]
            Service::Azure => {
                let builder = object_store::azure::MicrosoftAzureBuilder::new();
                let built = built!(builder, with_config, with_container_name, options, address, connector);
                (
                    built,
                    "AZURE_STORAGE_ACCOUNT_NAME must name the account, and the other settings AZURE_… must be valid",
                )
            }
            #[cfg(not(all(feature = "s3", feature = "gcs", feature = "azure")))]
            _ => return Err(address.unsupported()),
        };
        let store = built.ok_or_else(|| {
            let source = io::Error::new(io::ErrorKind::InvalidInput, needs);
            Error::io("open", source).in_file(Path::new(&address.to_string()), None)
        })?;
        Ok(Self { store, key, address, gate, failed })
    }

    /// Requests a part, of the given version if one is known.
    fn fetch(&self, range: GetRange, pinned: Option<&Version>) -> Result<Part> {
        let if_match = pinned.and_then(Version::strong).map(str::to_owned);
        let get = GetOptions { range: Some(range), if_match, ..GetOptions::default() };
        let request = async {
            let found = self.store.get_opts(&self.key, get).await?;
            let (range, version, size) = (found.range.clone(), version(&found.meta), found.meta.size);
            Ok(Part { bytes: found.bytes().await?.to_vec(), range, version, size })
        };
        let part: Part = self.wait(request)?;
        if part.bytes.len() as u64 != length(&part.range) {
            return Err(self.named(other_bytes()));
        }
        if pinned.is_some_and(|pinned| !pinned.agrees(&part.version)) {
            return Err(self.named(replaced()));
        }
        Ok(part)
    }

    /// Requests a range of the given version of a file.
    pub(super) fn bytes(&self, range: Range<u64>, pinned: &Version) -> Result<Vec<u8>> {
        let part = self.fetch(GetRange::Bounded(range.clone()), Some(pinned))?;
        if part.range != range {
            return Err(self.named(other_bytes()));
        }
        Ok(part.bytes)
    }

    /// Returns the size and the version of the file that is there.
    pub(super) fn state(&self) -> Result<(u64, Version)> {
        self.wait(self.store.head(&self.key)).map(|meta| (meta.size, version(&meta)))
    }

    /// Returns the number of requests that failed for the moment so far.
    pub(super) fn failures(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Requests the front of a file whose size is unknown.
    fn front(&self, count: u64) -> Result<Part> {
        self.fetch(GetRange::Bounded(0..count.max(1)), None).or_else(|error| {
            // A file without bytes has no range, and is refused with a status that has no name.
            if !matches!(&error, Error::Io { source, .. } if source.kind() == io::ErrorKind::Other) {
                return Err(error);
            }
            match self.wait(self.store.head(&self.key)) {
                Ok(meta) if meta.size == 0 => {
                    Ok(Part { bytes: Vec::new(), range: 0..0, version: version(&meta), size: 0 })
                }
                _ => Err(error),
            }
        })
    }

    /// Drives a request to its end with a runtime of its own.
    pub(super) fn wait<T: Send>(
        &self,
        request: impl Future<Output = object_store::Result<T>> + Send,
    ) -> Result<T> {
        let drive = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            runtime.map(|runtime| runtime.block_on(request))
        };
        // A thread of another runtime cannot wait for this one.
        let driven = match tokio::runtime::Handle::try_current() {
            Err(_) => drive(),
            Ok(_) => std::thread::scope(|scope| match scope.spawn(drive).join() {
                Ok(driven) => driven,
                Err(panic) => std::panic::resume_unwind(panic),
            }),
        };
        let outcome = driven.map_err(|error| self.named(Error::io("start a runtime for", error)))?;
        outcome.map_err(|error| self.named(understood(&error)))
    }

    pub(super) fn named(&self, error: Error) -> Error {
        error.in_file(Path::new(&self.address.to_string()), None)
    }
}

impl Object {
    /// Opens a file by requesting its front and its end at the same time. Azure cannot return the end of a file
    /// of unknown size.
    pub(crate) fn open(text: &str, options: &RemoteOptions) -> Result<Opening> {
        let place = Place::new(text, options)?;
        let (front, back) = match options.back {
            0 => (place.front(options.front), None),
            _ if place.address.service == Service::Azure => (place.front(options.front), None),
            back => std::thread::scope(|scope| {
                // Requesting the end is optional, because it is fetched when it is read.
                let back = scope.spawn(|| place.fetch(GetRange::Suffix(back), None));
                (place.front(options.front), back.join().ok().and_then(Result::ok))
            }),
        };
        let front = front?;
        if back.as_ref().is_some_and(|back| !front.version.agrees(&back.version) || front.size != back.size) {
            return Err(place.named(replaced()));
        }
        let (version, size) = (front.version, front.size);
        let back = back.map(|back| (back.range.start, back.bytes));
        Ok(Opening { store: Box::new(Self { place, version, size }), front: front.bytes, back })
    }

    /// Opens a file that an index describes; no request is made until something is read.
    pub(crate) fn known(text: &str, size: u64, version: Version, options: &RemoteOptions) -> Result<Self> {
        Ok(Self { place: Place::new(text, options)?, version, size })
    }
}

impl Store for Object {
    fn version(&self) -> Version {
        self.version.clone()
    }

    fn name(&self) -> String {
        self.place.address.to_string()
    }

    fn repeated(&self) -> u64 {
        self.place.failures()
    }
}

impl Ranges for Object {
    fn size(&self) -> u64 {
        self.size
    }

    fn get(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        side_by_side(ranges, self.place.gate.threads(ranges.len()), |range| {
            let part = self.place.fetch(GetRange::Bounded(range.clone()), Some(&self.version))?;
            if part.size != self.size {
                return Err(self.place.named(replaced()));
            }
            if part.range != *range {
                return Err(self.place.named(other_bytes()));
            }
            Ok(part.bytes)
        })
    }
}

/// Returns the error for an answer with other bytes than were requested.
fn other_bytes() -> Error {
    let text = "the store answered with another range than was requested";
    Error::io("read", io::Error::new(io::ErrorKind::InvalidData, text))
}

fn version(meta: &ObjectMeta) -> Version {
    Version { etag: meta.e_tag.clone(), modified: Some(meta.last_modified.to_rfc3339()) }
}

/// Returns how often requests are repeated.
fn retries(options: &RemoteOptions) -> RetryConfig {
    let backoff = BackoffConfig { init_backoff: options.backoff, max_backoff: LONGEST_WAIT, base: 2.0 };
    let longest = options.timeout.max(LONGEST_WAIT).saturating_mul(bound_of(options.retries)); // a bound
    RetryConfig { backoff, max_retries: options.retries as usize, retry_timeout: longest }
}

fn bound_of(retries: u32) -> u32 {
    retries.saturating_add(1) // a bound
}

/// Returns the error for a request that failed. What the store wrote is left out, because it can contain
/// signatures.
fn understood(error: &object_store::Error) -> Error {
    use object_store::Error as Problem;
    let (kind, text) = match error {
        Problem::NotFound { .. } => (io::ErrorKind::NotFound, "the store has no such file".into()),
        Problem::PermissionDenied { .. } => {
            (io::ErrorKind::PermissionDenied, "the store refuses access with these credentials".into())
        }
        Problem::Unauthenticated { .. } => {
            (io::ErrorKind::PermissionDenied, "the store does not accept the credentials".into())
        }
        Problem::AlreadyExists { .. } => return super::upload::occupied(),
        Problem::Precondition { .. } | Problem::NotModified { .. } => return replaced(),
        other => failed(other),
    };
    Error::io("read", io::Error::new(kind, text))
}

/// As above, for problems that have no name.
fn failed(error: &object_store::Error) -> (io::ErrorKind, String) {
    let all = error.to_string();
    if ["//169.254.", "//metadata"].iter().any(|place| all.contains(place)) {
        let text = "the environment contains no credentials, and this machine has none of its own";
        return (io::ErrorKind::PermissionDenied, text.into());
    }
    let mut cause = std::error::Error::source(error);
    while let Some(found) = cause {
        if let Some(error) = found.downcast_ref::<io::Error>() {
            return (error.kind(), error.to_string());
        }
        cause = found.source();
    }
    if all.contains("redirect") {
        return (io::ErrorKind::Other, "the bucket is in another region than the settings say".into());
    }
    let status = all.split_once("status code: ").and_then(|(_, rest)| rest.get(..3));
    match status.and_then(|status| status.parse::<u16>().ok()) {
        Some(status @ (429 | 503)) => {
            (io::ErrorKind::ResourceBusy, format!("the server is busy (status {status})"))
        }
        Some(status) => {
            (io::ErrorKind::Other, format!("the store did not fulfil the request (status {status})"))
        }
        None => (io::ErrorKind::InvalidData, "the answer of the store is not what was requested".into()),
    }
}
