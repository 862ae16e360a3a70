//! How remote files are opened.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sciformats_core::storage::PlanOptions;

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
    /// Headers for the host of the URL. Where a redirect leads elsewhere, they are not sent.
    pub headers: Vec<(String, String)>,
    /// A file of user names and passwords by host, as `curl` and NASA's tools read it. Default: none.
    pub netrc: Option<PathBuf>,
    /// Requests that one file has under way at once, over as many connections. Default: 64.
    pub connections: usize,
    /// How long a connection may take, and how long a server may be silent. Default: 20 s.
    pub timeout: Duration,
    /// How often a request is made again that failed for a passing reason without bringing a byte. Default: 6 times.
    pub retries: u32,
    /// How long the first wait before such a request is; each further one is twice as long, up to 10 s. Default: 100 ms.
    pub backoff: Duration,
    /// Bytes from the front of the file that come as it is opened. Default: 1 MiB.
    pub front: u64,
    /// Bytes from its end that come at the same time: where formats keep their indexes. Default: 64 KiB; 0 for none.
    pub back: u64,
    /// A file of a server that knows no ranges is taken as a whole if it has at most so many bytes. Default: 64 MiB.
    pub whole: u64,
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
            connections: 64,
            timeout: Duration::from_secs(20),
            retries: 6,
            backoff: Duration::from_millis(100),
            front: 1 << 20,
            back: 64 << 10,
            whole: 64 << 20,
            certificates: None,
            plan: PlanOptions::default(),
        }
    }
}

/// The names of headers, and not what they say.
impl std::fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("RemoteOptions")
            .field("headers", &names)
            .field("connections", &self.connections)
            .field("timeout", &self.timeout)
            .field("retries", &self.retries)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl RemoteOptions {
    /// The same with another header for the host of the URL.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same with user names and passwords from a file.
    #[must_use]
    pub fn with_netrc(self, path: impl AsRef<Path>) -> Self {
        Self { netrc: Some(path.as_ref().to_path_buf()), ..self }
    }

    /// The same with so many connections, at least one.
    #[must_use]
    pub fn with_connections(self, connections: usize) -> Self {
        Self { connections: connections.max(1), ..self }
    }

    /// The same with another bound on silence.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The same with other retries: so many, the first after `backoff`.
    #[must_use]
    pub fn with_retries(self, retries: u32, backoff: Duration) -> Self {
        Self { retries, backoff, ..self }
    }

    /// The same with so many bytes from the front and the end of the file as it is opened.
    #[must_use]
    pub fn with_ends(self, front: u64, back: u64) -> Self {
        Self { front: front.max(1), back, ..self }
    }

    /// The same with these certificates, as PEM, instead of Mozilla's.
    #[must_use]
    pub fn with_certificates(self, pem: impl Into<Vec<u8>>) -> Self {
        Self { certificates: Some(pem.into()), ..self }
    }

    /// The same with another way to plan reads.
    #[must_use]
    pub fn with_plan(self, plan: PlanOptions) -> Self {
        Self { plan, ..self }
    }

    /// What the environment says: `NETRC`, or `.netrc` in the home folder.
    ///
    /// ```
    /// let options = sciformats_remote::RemoteOptions::from_environment();
    /// assert_eq!(options.connections, 64);
    /// ```
    pub fn from_environment() -> Self {
        let home =
            || Some(PathBuf::from(std::env::var_os("HOME")?).join(".netrc")).filter(|path| path.is_file());
        let netrc = std::env::var_os("NETRC").map(PathBuf::from).or_else(home);
        Self { netrc, ..Self::default() }
    }
}
