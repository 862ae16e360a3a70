//! Where a file is: at a path, behind a URL, or in memory; and how remote files are opened.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sciformats::{OpenOptions, Result};
use sciformats_remote::{Remote, RemoteOptions};

use crate::error::changed;

/// Where a file is, so that a forked process can open it again.
pub(crate) enum Place {
    Path(PathBuf),
    Url(String, Box<RemoteOptions>),
    Memory,
}

impl Place {
    /// Returns what may be shown of it, which has neither a password nor a signature.
    pub(crate) fn shown(&self) -> Option<String> {
        match self {
            Self::Path(path) => Some(path.to_string_lossy().into_owned()),
            Self::Url(url, _) => Some(sciformats_remote::shown(url)),
            Self::Memory => None,
        }
    }

    /// Returns what is seen of a file before it is opened; nothing if it has no path.
    pub(crate) fn seen(&self) -> Seen {
        match self {
            Self::Path(path) => Seen::at(path),
            _ => Seen::Nothing,
        }
    }

    /// Opens the file with the common interface. The result is `None` for a file in memory.
    pub(crate) fn open(&self, options: &OpenOptions) -> Result<Option<sciformats::File>> {
        match self {
            Self::Path(path) => sciformats::open_with(path, options).map(Some),
            Self::Url(url, remote) => sciformats::File::open_url(url, options, remote).map(Some),
            Self::Memory => Ok(None),
        }
    }
}

/// What tells whether a file that a forked process opens again is the one that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing: it is in memory, it is a folder, or it may change.
    Nothing,
    /// The size, and the time of the last change.
    Local(u64, Option<SystemTime>),
    /// What the server says.
    Remote(State),
}

impl Seen {
    /// Returns what is seen at a path. If it cannot be examined, opening it says why.
    pub(crate) fn at(path: &Path) -> Self {
        match std::fs::metadata(path) {
            Ok(found) if !found.is_dir() => Self::Local(found.len(), found.modified().ok()),
            _ => Self::Nothing,
        }
    }

    /// Returns an exception if what was seen first shows another file than what was seen now.
    pub(crate) fn check(&self, now: &Self, shown: Option<&str>) -> PyResult<()> {
        if *self == Self::Nothing || self == now { Ok(()) } else { Err(changed(shown)) }
    }
}

/// The size and the version of a remote file: its entity tag, and the date of its last change.
pub(crate) type State = (u64, Option<String>, Option<String>);

/// Returns the size and the version of a remote file.
pub(crate) fn state(of: &Remote) -> State {
    let version = of.version();
    (of.size(), version.etag, version.modified)
}

/// Takes options of remote files by their names, which `sciformats._remote` has checked.
pub(crate) fn remote_options(given: &Bound<'_, PyDict>) -> PyResult<RemoteOptions> {
    let environment = given.get_item("environment")?.map_or(Ok(true), |value| value.extract())?;
    let mut options = if environment { RemoteOptions::from_environment() } else { RemoteOptions::default() };
    for (key, value) in given {
        let key: String = key.extract()?;
        options = match key.as_str() {
            "environment" => options,
            "headers" => {
                let headers: Vec<(String, String)> = value.extract()?;
                headers.into_iter().fold(options, |options, (name, value)| options.with_header(name, value))
            }
            "settings" => {
                let settings: Vec<(String, String)> = value.extract()?;
                options.settings.retain(|(name, _)| stays(name, &settings));
                settings.into_iter().fold(options, |options, (name, value)| options.with_setting(name, value))
            }
            "netrc" => options.with_netrc(value.extract::<PathBuf>()?),
            "connections" => options.with_connections(value.extract()?),
            "timeout" => options.with_timeout(seconds(&value)?),
            "retries" => {
                let backoff = options.backoff;
                options.with_retries(value.extract()?, backoff)
            }
            "certificates" => options.with_certificates(value.extract::<Vec<u8>>()?),
            _ => return Err(PyTypeError::new_err(format!("there is no option {key:?} of remote files"))),
        };
    }
    Ok(options)
}

/// The settings that belong together, because they say who asks, or whom: if the caller gives one of the first list, none of the second list
/// counts that the environment has.
const TOGETHER: [(&[&str], &[&str]); 4] = [
    (&["AWS_ENDPOINT_URL", "AWS_ENDPOINT"], &["AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_S3"]),
    (
        &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
        &[
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_TOKEN",
            "AWS_SKIP_SIGNATURE",
        ],
    ),
    (
        &["GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "GOOGLE_SERVICE_ACCOUNT_KEY"],
        &[
            "GOOGLE_SERVICE_ACCOUNT",
            "GOOGLE_SERVICE_ACCOUNT_PATH",
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_BEARER_TOKEN",
            "GOOGLE_SKIP_SIGNATURE",
        ],
    ),
    (
        &["AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_TOKEN"],
        &[
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_ACCESS_KEY",
            "AZURE_STORAGE_MASTER_KEY",
            "AZURE_STORAGE_SAS_KEY",
            "AZURE_STORAGE_SAS_TOKEN",
            "AZURE_STORAGE_TOKEN",
            "AZURE_CLIENT_SECRET",
            "AZURE_STORAGE_CLIENT_SECRET",
            "AZURE_FEDERATED_TOKEN_FILE",
            "AZURE_SKIP_SIGNATURE",
        ],
    ),
];

/// Returns whether a setting of the environment counts beside those of the caller. One of the same name does not, and neither does one that
/// belongs to it: a token of the environment would make the caller's key wrong, and would be sent to the caller's host.
fn stays(name: &str, given: &[(String, String)]) -> bool {
    let is_given = |name: &str| given.iter().any(|(other, _)| other == name);
    let is_replaced =
        |(first, all): &(&[&str], &[&str])| all.contains(&name) && first.iter().any(|name| is_given(name));
    !is_given(name) && !TOGETHER.iter().any(is_replaced)
}

fn seconds(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value.extract()?)
        .map_err(|_| PyTypeError::new_err("a time to wait is a positive number of seconds"))
}
