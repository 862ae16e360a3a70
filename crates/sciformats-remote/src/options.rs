//! How remote files are opened.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sciformats_core::storage::PlanOptions;
use sciformats_core::{Error, Result, bound};

use crate::cache::Place;

/// How a remote file is opened and read.
///
/// ```
/// use sciformats_remote::RemoteOptions;
/// use std::time::Duration;
///
/// let options = RemoteOptions::default()
///     .with_header("Authorization", "Bearer 1234") // to the host of the URL, and no other
///     .with_connections(32)
///     .with_timeout(Duration::from_secs(5));
/// assert!(!format!("{options:?}").contains("1234"));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct RemoteOptions {
    /// Headers for the host of the URL. They are not sent to another host that a redirect leads to.
    pub headers: Vec<(String, String)>,
    /// A file of user names and passwords by host, in the format of `curl` and NASA's tools. The default is
    /// none.
    pub netrc: Option<PathBuf>,
    /// Settings of object stores, with the names that they have in the environment, for example
    /// `AWS_ACCESS_KEY_ID` or `AZURE_STORAGE_ACCOUNT_NAME`. The default is none.
    pub settings: Vec<(String, String)>,
    /// The number of simultaneous requests for one file, each over its own connection. The default is 512. More than 64 are only
    /// made if there are at least two ranges for each, and fewer if the server answers that it is busy.
    pub connections: usize,
    /// How long connecting may take, and how long a server may send nothing. The default is 20 s.
    pub timeout: Duration,
    /// How often a request is repeated after a temporary failure without receiving a byte. The default is 6
    /// times.
    pub retries: u32,
    /// The first wait before a repeated request. Each further wait is twice as long, up to 10 s. The default
    /// is 100 ms.
    pub backoff: Duration,
    /// The number of bytes at the front of the file that are fetched when it is opened. The default is 1 MiB.
    pub front: u64,
    /// The number of bytes at its end that are fetched at the same time, because many formats have their
    /// index there. The default is 64 KiB; 0 means none.
    pub back: u64,
    /// If a server does not support ranges, a file of at most this many bytes is fetched as a whole. The
    /// default is 64 MiB.
    pub whole: u64,
    /// A folder in which ranges are kept for later openings of the same version of a file; see
    /// [`with_cache`](Self::with_cache). The default is none.
    pub(crate) cache: Option<Place>,
    /// What of the environment cannot be understood, which is an error when a file is opened.
    pub(crate) wrong: Option<String>,
    /// Certificates, as PEM, that are trusted instead of Mozilla's.
    pub certificates: Option<Vec<u8>>,
    /// How reads are planned.
    pub plan: PlanOptions,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            headers: Vec::new(),
            netrc: None,
            settings: Vec::new(),
            connections: 512,
            timeout: Duration::from_secs(20),
            retries: 6,
            backoff: Duration::from_millis(100),
            front: 1 << 20,
            back: 64 << 10,
            whole: 64 << 20,
            cache: None,
            wrong: None,
            certificates: None,
            plan: PlanOptions::default(),
        }
    }
}

/// Shows the names of headers and settings, but not their values.
impl std::fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = |all: &[(String, String)]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        f.debug_struct("RemoteOptions")
            .field("headers", &names(&self.headers))
            .field("settings", &names(&self.settings))
            .field("connections", &self.connections)
            .field("timeout", &self.timeout)
            .field("retries", &self.retries)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl RemoteOptions {
    /// Adds a header for the host of the URL.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the file with user names and passwords.
    #[must_use]
    pub fn with_netrc(self, path: impl AsRef<Path>) -> Self {
        Self { netrc: Some(path.as_ref().to_path_buf()), ..self }
    }

    /// Adds a setting of an object store, with the name that it has in the environment.
    #[must_use]
    pub fn with_setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Sets the number of connections, which is at least one.
    #[must_use]
    pub fn with_connections(self, connections: usize) -> Self {
        Self { connections: connections.max(1), ..self }
    }

    /// Sets how long a server may send nothing.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sets the number of retries, and the wait before the first one.
    #[must_use]
    pub fn with_retries(self, retries: u32, backoff: Duration) -> Self {
        Self { retries, backoff, ..self }
    }

    /// Sets how many bytes at the front and the end of the file are fetched when it is opened.
    #[must_use]
    pub fn with_ends(self, front: u64, back: u64) -> Self {
        Self { front: front.max(1), back, ..self }
    }

    /// Keeps ranges in a folder, for later openings of the same version of a file, also by other processes. They need at most
    /// `bytes` of space, or an eighth more while several processes write. What is kept is checked whenever it is read. Opening a
    /// file still makes requests, to learn its version. Files without an entity tag, and files that are opened with an index, are
    /// not kept.
    #[must_use]
    pub fn with_cache(self, folder: impl AsRef<Path>, bytes: u64) -> Self {
        // What the environment says about a cache has no meaning any more.
        Self { cache: Some(Place { folder: folder.as_ref().to_path_buf(), bytes }), wrong: None, ..self }
    }

    /// Sets the certificates, as PEM, that are trusted instead of Mozilla's.
    #[must_use]
    pub fn with_certificates(self, pem: impl Into<Vec<u8>>) -> Self {
        Self { certificates: Some(pem.into()), ..self }
    }

    /// Sets how reads are planned.
    #[must_use]
    pub fn with_plan(self, plan: PlanOptions) -> Self {
        Self { plan, ..self }
    }

    /// Returns the options that the environment selects: `NETRC`, or `.netrc` in the home folder, the settings of object stores,
    /// which begin with `AWS_`, `GOOGLE_` and `AZURE_`, and a [cache](Self::with_cache) in the folder `SCIFORMATS_CACHE` of
    /// `SCIFORMATS_CACHE_MIB`, by default 4096 MiB. If that is no number, opening a file with these options is an error.
    ///
    /// ```
    /// let options = sciformats_remote::RemoteOptions::from_environment();
    /// assert_eq!(options.connections, 512);
    /// ```
    pub fn from_environment() -> Self {
        let home =
            || Some(PathBuf::from(std::env::var_os("HOME")?).join(".netrc")).filter(|path| path.is_file());
        let netrc = std::env::var_os("NETRC").map(PathBuf::from).or_else(home);
        let stores = ["AWS_", "GOOGLE_", "AZURE_"];
        let settings = std::env::vars_os().filter_map(|(name, value)| {
            let name =
                name.into_string().ok().filter(|name| stores.iter().any(|store| name.starts_with(store)));
            Some((name?, value.into_string().ok()?))
        });
        let (bytes, wrong) = match cache_size(std::env::var_os(CACHE_MIB).as_deref()) {
            Ok(bytes) => (bytes, None),
            Err(wrong) => (0, Some(wrong)),
        };
        let folder = std::env::var_os("SCIFORMATS_CACHE").filter(|folder| !folder.is_empty());
        let cache = folder.map(|folder| Place { folder: PathBuf::from(folder), bytes });
        Self { netrc, settings: settings.collect(), cache, wrong, ..Self::default() }
    }

    /// Fails if something of the environment could not be understood.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.wrong {
            Some(wrong) => Err(Error::usage(CACHE_MIB, wrong.clone())),
            None => Ok(()),
        }
    }
}

/// The variable with the size of the cache.
const CACHE_MIB: &str = "SCIFORMATS_CACHE_MIB";

/// Returns the size of the cache in bytes, or what is wrong with it.
fn cache_size(set: Option<&OsStr>) -> std::result::Result<u64, String> {
    match set.filter(|set| !set.is_empty()) {
        Some(set) => match set.to_str().and_then(|mib| mib.parse().ok()) {
            Some(mib) => Ok(bound::product(mib, 1 << 20)),
            None => Err(format!("is `{}`, which is not a number of MiB", set.display())),
        },
        None => Ok(4096 << 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_the_cache_is_a_number() {
        for (set, bytes) in [(None, 4096 << 20), (Some(""), 4096 << 20), (Some("0"), 0), (Some("3"), 3 << 20)]
        {
            assert_eq!(cache_size(set.map(OsStr::new)), Ok(bytes));
        }
        for set in ["4G", "-1", "1.5", " 7"] {
            let wrong = Some(cache_size(Some(OsStr::new(set))).unwrap_err());
            let options = RemoteOptions { wrong, ..RemoteOptions::default() };
            for url in ["http://127.0.0.1:1/a.h5", "s3://data/a.h5"] {
                let error = crate::open(url, &options).unwrap_err().to_string();
                assert!(error.contains(CACHE_MIB) && error.contains(set), "{error}");
                let error = crate::exists("s3://data/a.h5", &options).unwrap_err().to_string();
                assert!(error.contains(CACHE_MIB) && error.contains(set), "{error}");
            }
            // Who says how large the cache is does not need the variable.
            assert!(options.with_cache("/tmp", 1).check().is_ok());
        }
    }
}
