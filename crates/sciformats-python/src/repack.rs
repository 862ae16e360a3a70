//! Repacks HDF5 files whose chunks Python encodes wherever it likes, for example on a cluster.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hdf5_pure::structure::{FilterDescription, Pipeline};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use sciformats::{Error, OpenOptions, Result};
use sciformats_convert::repack::{ChunkSupplier, PutChunk, WantedChunks, rewrite_supplied};
use sciformats_convert::sink::{Rule, WriteOptions};

use crate::error::raise;

/// What datasets get: the pattern of their paths, or none for all others; the shape of the chunks, the filter, and its level.
type Change = (Option<String>, Option<Vec<u64>>, Option<String>, Option<u32>);

/// A filter: its number, whether it is optional, and its parameters.
type FilterParts = (u16, bool, Vec<u32>);

/// Writes the HDF5 file `source` anew at `target`. `changes` says which chunks and filters datasets get; the first one that
/// matches holds. `supply` is called for each dataset whose chunks change, with its path, shape, chunks and filters and the bytes
/// of its fill value. It returns the chunks as an iterable of indices, mask and bytes, or `None` to leave the work to this function.
/// Returns what could not be kept: paths and phrases.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "Python passes values")]
pub(crate) fn repack_hdf5(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    changes: Vec<Change>,
    supply: Py<PyAny>,
) -> PyResult<Vec<(String, String)>> {
    let mut options = WriteOptions::default();
    for (path, chunks, filter, level) in changes {
        match path {
            Some(path) => options.rules.push(Rule { chunks, filter, level, ..Rule::of(&path) }),
            None => (options.chunks, options.filter, options.level) = (chunks, filter, level),
        }
    }
    let supplier = Supplier { supply, raised: Mutex::new(None) };
    let written = py.detach(|| {
        let file = Arc::new(sciformats::open_with(&source, &OpenOptions::default())?);
        rewrite_supplied(&file, &target, &options, &supplier, None)
    });
    let raised = supplier.raised.into_inner().unwrap_or_else(PoisonError::into_inner);
    match (written, raised) {
        (Ok(losses), _) => Ok(losses.into_iter().map(|loss| (loss.path, loss.what)).collect()),
        (Err(_), Some(raised)) => Err(raised),
        (Err(error), None) => Err(raise(&error, source.to_str())),
    }
}

/// Filters the elements of a chunk. Returns the mask of the filters that were skipped, and the filtered bytes.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "Python passes values")]
pub(crate) fn apply_hdf5<'py>(
    py: Python<'py>,
    filters: Vec<FilterParts>,
    elements: PyBackedBytes,
) -> PyResult<(u32, Bound<'py, PyBytes>)> {
    let filter = |(id, optional, values)| FilterDescription { id, name: None, optional, values };
    let pipeline = Pipeline { filters: filters.into_iter().map(filter).collect() };
    let applied = py.detach(|| sciformats::filters::hdf5().apply(&pipeline, elements.to_vec()));
    let (bytes, mask) = applied.map_err(|error| raise(&error, None))?;
    Ok((mask, PyBytes::new(py, &bytes)))
}

/// A function of Python that supplies chunks.
struct Supplier {
    supply: Py<PyAny>,
    /// The exception that ended the work.
    raised: Mutex<Option<PyErr>>,
}

impl Supplier {
    /// Keeps an exception until the work has ended.
    fn keep(&self, raised: PyErr) -> Error {
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
        Error::io("receive chunks", std::io::ErrorKind::Interrupted.into())
    }

    /// Starts the work of Python. Returns the iterator over chunks, if there is one.
    fn begin(&self, wanted: &WantedChunks<'_>) -> PyResult<Option<Py<PyAny>>> {
        let parts = |filter: &FilterDescription| (filter.id, filter.optional, filter.values.clone());
        let filters: Vec<FilterParts> = wanted.filters.filters.iter().map(parts).collect();
        Python::attach(|py| {
            let fill = PyBytes::new(py, &wanted.fill);
            let found = self.supply.bind(py).call1((
                wanted.path,
                wanted.shape.to_vec(),
                wanted.chunks.to_vec(),
                filters,
                fill,
            ))?;
            if found.is_none() { Ok(None) } else { Ok(Some(found.try_iter()?.into_any().unbind())) }
        })
    }
}

impl ChunkSupplier for Supplier {
    fn supply(&self, wanted: &WantedChunks<'_>, put: &mut PutChunk<'_>) -> Result<bool> {
        let Some(chunks) = self.begin(wanted).map_err(|raised| self.keep(raised))? else { return Ok(false) };
        let next = || {
            Python::attach(|py| {
                py.check_signals()?;
                let Some(next) = chunks.bind(py).try_iter()?.next() else { return Ok(None) };
                next?.extract::<(Vec<u64>, u32, PyBackedBytes)>().map(Some)
            })
        };
        while let Some((place, mask, bytes)) = next().map_err(|raised| self.keep(raised))? {
            put(&place, mask, &bytes)?;
        }
        Ok(true)
    }
}
