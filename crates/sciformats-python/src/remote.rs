//! Where a file is: at a path, behind a URL, or in memory; and how remote files are opened.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sciformats::{OpenOptions, Result};
use sciformats_remote::{Remote, RemoteOptions};

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

    /// Opens the file with the common interface. The result is `None` for a file in memory.
    pub(crate) fn open(&self, options: &OpenOptions) -> Result<Option<sciformats::File>> {
        match self {
            Self::Path(path) => sciformats::open_with(path, options).map(Some),
            Self::Url(url, remote) => sciformats::File::open_url(url, options, remote).map(Some),
            Self::Memory => Ok(None),
        }
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
                // A later setting of the same name replaces that of the environment.
                options.settings.retain(|(name, _)| settings.iter().all(|(other, _)| other != name));
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

fn seconds(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value.extract()?)
        .map_err(|_| PyTypeError::new_err("a time to wait is a positive number of seconds"))
}
