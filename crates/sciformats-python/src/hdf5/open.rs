//! How files are opened, also again in a process that was forked.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hdf5_pure::options::Access;
use hdf5_pure::{File, Node as Found, OpenOptions, Result};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;

use super::Node;
use crate::error::raise;
use crate::file::read_options;
use crate::process;
use crate::remote::{self, Place, Seen};
use crate::storage::Buffer;

/// Opens an HDF5 file by its path or from its bytes, and returns its root group.
#[pyfunction]
#[pyo3(signature = (path, buffer, options))]
pub(crate) fn open_hdf5(
    py: Python<'_>,
    path: Option<PathBuf>,
    buffer: Option<PyBackedBytes>,
    options: &Bound<'_, PyDict>,
) -> PyResult<Node> {
    let options = options_of(options)?;
    let place = path.map_or(Place::Memory, Place::Path);
    let seen = place.seen();
    opened(py, (place, seen), options, |place, options| match (place, buffer) {
        (Place::Path(path), _) => File::open_with(path, options),
        (_, Some(buffer)) => File::from_storage(Buffer(buffer), options),
        (_, None) => Err(hdf5_pure::Error::usage("file", "has neither a path nor bytes")),
    })
}

/// Opens an HDF5 file by its URL, and returns its root group, with the size, the entity tag and the date of the last change of
/// the file.
#[pyfunction]
pub(crate) fn open_hdf5_url(
    py: Python<'_>,
    url: String,
    storage: &Bound<'_, PyDict>,
    options: &Bound<'_, PyDict>,
) -> PyResult<(Node, remote::State)> {
    let (options, how) = (options_of(options)?, remote::remote_options(storage)?);
    let shown = sciformats_remote::shown(&url);
    let remote = py.detach(|| sciformats_remote::open(&url, &how));
    let remote = remote.map_err(|error| raise(&error, Some(&shown)))?;
    let state = remote::state(&remote);
    let place = (Place::Url(url, Box::new(how)), Seen::Remote(state.clone()));
    let root = opened(py, place, options, |_, options| File::from_storage(remote, options))?;
    Ok((root, state))
}

fn options_of(given: &Bound<'_, PyDict>) -> PyResult<OpenOptions> {
    let general = read_options(given)?;
    Ok(OpenOptions::default()
        .with_limits(general.limits)
        .with_external(general.external.clone())
        .with_threads(general.threads())
        .with_registry(sciformats::filters::hdf5())
        .with_missing(hdf5_pure::options::MissingSources::Filled)
        .with_addresses(true)
        .with_access(general.access))
}

fn opened(
    py: Python<'_>,
    (place, seen): (Place, Seen),
    options: OpenOptions,
    open: impl FnOnce(&Place, &OpenOptions) -> Result<File> + Send,
) -> PyResult<Node> {
    let shown = place.shown();
    let root = py.detach(|| open(&place, &options)?.root().map(Found::Group));
    let root = root.map_err(|error| raise(&error, shown.as_deref()))?;
    Ok(Node::new(root, Arc::new(Home::new(place, seen, options))))
}

/// What all objects of a file have in common.
pub(crate) struct Home {
    place: Place,
    /// The path of the file, for messages.
    pub(super) shown: Option<String>,
    options: OpenOptions,
    seen: Seen,
    /// The process that opened the file. Locks that another thread held are never released in a forked process, and its
    /// connections belong to the first process.
    pub(super) process: u32,
    /// The file as a forked process has opened it again.
    anew: Mutex<Option<(u32, File)>>,
}

impl Home {
    fn new(place: Place, seen: Seen, options: OpenOptions) -> Self {
        let shown = place.shown();
        let seen = if options.access == Access::direct() { Seen::Nothing } else { seen };
        Self { place, shown, options, seen, process: process::current(), anew: Mutex::new(None) }
    }

    /// Returns what the objects of a file that is being written have in common. Such a file is not opened again.
    pub(super) fn written(shown: Option<String>) -> Self {
        Self { shown, ..Self::new(Place::Memory, Seen::Nothing, OpenOptions::default()) }
    }

    /// Returns whether the file was opened by its path.
    pub(super) fn has_path(&self) -> bool {
        matches!(self.place, Place::Path(_))
    }

    /// Returns the file as this process, which was forked, opens it. The result is `None` if the file has no place.
    pub(super) fn again(&self) -> PyResult<Option<File>> {
        let mut anew = self.anew.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((process, file)) = &*anew
            && *process == process::current()
        {
            return Ok(Some(file.clone()));
        }
        let options = self.options.clone().with_threads(1);
        let fails = |error| raise(&error, self.shown.as_deref());
        let (file, now) = match &self.place {
            Place::Path(path) => {
                let now = self.place.seen();
                (File::open_with(path, &options), now)
            }
            Place::Url(url, how) => {
                let remote = sciformats_remote::open(url, how).map_err(fails)?;
                let now = Seen::Remote(remote::state(&remote));
                (File::from_storage(remote, &options), now)
            }
            Place::Memory => return Ok(None),
        };
        let file = file.map_err(fails)?;
        self.seen.check(&now, self.shown.as_deref())?;
        *anew = Some((process::current(), file.clone()));
        Ok(Some(file))
    }
}
