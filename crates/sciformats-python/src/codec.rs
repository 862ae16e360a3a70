//! Chunks of HDF5 and Blosc2 for readers of Zarr, and references to whole files.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use hdf5_pure::structure::{FilterDescription, Pipeline};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use sciformats::storage::{Planned, Ranges};
use sciformats::{Error, Limits, OpenOptions, Result, Slab};
use sciformats_references::{Options, kerchunk, scan};

use crate::error::raise;

/// The largest chunk that is decoded, in bytes.
const LARGEST: u64 = 4 << 30;

fn size(bytes: u64) -> Result<usize> {
    Limits::default().with_memory(LARGEST).memory("bytes of a chunk", bytes)
}

/// Undoes the filters of a chunk of HDF5, which are numbers with their parameters in the order of encoding, except for those whose bit is
/// set in `mask`. The result has `length` bytes.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "Python passes values")]
pub(crate) fn undo_hdf5<'py>(
    py: Python<'py>,
    filters: Vec<(u16, Vec<u32>)>,
    mask: u32,
    chunk: PyBackedBytes,
    length: u64,
) -> PyResult<Bound<'py, PyBytes>> {
    let filter = |(id, values)| FilterDescription { id, name: None, optional: false, values };
    let pipeline = Pipeline { filters: filters.into_iter().map(filter).collect() };
    let undone = py.detach(|| sciformats::filters::hdf5().undo(&pipeline, mask, &chunk, size(length)?));
    Ok(PyBytes::new(py, &undone.map_err(|error| raise(&error, None))?))
}

/// Decodes a chunk of Blosc2, and arranges its blocks in C order. Elements beyond the chunk, which fill its last blocks, are left out.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "Python passes values")]
pub(crate) fn undo_blosc2<'py>(
    py: Python<'py>,
    chunk: PyBackedBytes,
    sides: (Vec<u64>, Vec<u64>),
    width: u64,
) -> PyResult<Bound<'py, PyBytes>> {
    let undone = py.detach(|| {
        let options = sciformats::cframe::OpenOptions::default()
            .with_limits(Limits::default().with_memory(LARGEST))
            .with_threads(1)
            .with_registry(sciformats::filters::blosc2());
        let bytes = sciformats::cframe::decompress_with(&chunk, &options)?;
        arranged(&bytes, (&sides.0, &sides.1), width)
    });
    Ok(PyBytes::new(py, &undone.map_err(|error| raise(&error, None))?))
}

/// Puts blocks that stand one after another into C order.
fn arranged(bytes: &[u8], (chunks, blocks): (&[u64], &[u64]), width: u64) -> Result<Vec<u8>> {
    let wrong = || Error::usage("chunk", "does not have the blocks that the codec names");
    let volume =
        |sides: &[u64]| sides.iter().try_fold(width, |all, side| all.checked_mul(*side)).ok_or_else(wrong);
    if chunks.len() != blocks.len() || chunks.iter().chain(blocks).any(|side| *side == 0) || width == 0 {
        return Err(wrong());
    }
    let mut out = vec![0; size(volume(chunks)?)?];
    let block = size(volume(blocks)?)?;
    let width = size(width)?;
    let counts: Vec<u64> = chunks.iter().zip(blocks).map(|(chunk, block)| chunk.div_ceil(*block)).collect();
    let mut at = vec![0u64; counts.len()];
    for source in bytes.chunks(block) {
        // The part of the block that is inside of the chunk.
        let start: Vec<u64> = at.iter().zip(blocks).map(|(at, block)| at.saturating_mul(*block)).collect(); // a bound
        let inside = start.iter().zip(chunks).zip(blocks);
        let lengths: Vec<u64> =
            inside.map(|((start, chunk), block)| (*block).min(chunk.saturating_sub(*start))).collect(); // a bound
        let within = |at: &[u64], of: &[u64]| {
            let ranges = at.iter().zip(&lengths).map(|(at, len)| sciformats::Range::new(*at, *len));
            Slab::new(of, ranges.collect::<Vec<_>>())
        };
        let zeros = vec![0; blocks.len()];
        let (from, to) = (within(&zeros, blocks)?, within(&start, chunks)?);
        // Both have the same elements in the same order, in runs of different lengths, so rows are copied one by one.
        for (from, to) in rows(&from).zip(rows(&to)) {
            let bytes = |range: Range<u64>| -> Result<Range<usize>> {
                let end =
                    |at: u64| usize::try_from(at).ok().and_then(|at| at.checked_mul(width)).ok_or_else(wrong);
                Ok(end(range.start)?..end(range.end)?)
            };
            let (from, to) = (bytes(from)?, bytes(to)?);
            // The last block of a frame without dimensions may be shorter.
            let from = from.start.min(source.len())..from.end.min(source.len());
            let part = source.get(from).unwrap_or_default();
            let target = out.get_mut(to).and_then(|target| target.get_mut(..part.len())).ok_or_else(wrong)?;
            target.copy_from_slice(part);
        }
        // The next block, the last dimension fastest.
        let mut done = true;
        for (at, count) in at.iter_mut().zip(&counts).rev() {
            *at += 1;
            if *at < *count {
                done = false;
                break;
            }
            *at = 0;
        }
        if done {
            break;
        }
    }
    Ok(out)
}

/// The elements of a box along its last dimension, as ranges of linear indices.
fn rows(slab: &Slab) -> impl Iterator<Item = Range<u64>> {
    let row = slab.ranges().last().map_or(1, |range| range.count).max(1);
    let runs: Vec<_> = slab.runs().collect();
    runs.into_iter().flat_map(move |run| {
        // Elements that are not neighbours are ranges of their own, as are those of a box that is one element wide.
        let width = if run.step == 1 { row } else { 1 };
        let (from, step) = (run.from, if run.step == 1 { row } else { run.step });
        (0..run.len / width).map(move |n| from + n * step..from + n * step + width)
    })
}

/// A store of Python: a function that takes a list of ranges and returns a list of bytes.
struct Called {
    size: u64,
    get: Arc<Py<PyAny>>,
}

impl Ranges for Called {
    fn size(&self) -> u64 {
        self.size
    }

    fn get(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        let failed = |error: PyErr| Error::io("read", std::io::Error::other(error.to_string()));
        Python::attach(|py| {
            let wanted: Vec<(u64, u64)> = ranges.iter().map(|range| (range.start, range.end)).collect();
            let found: Vec<Vec<u8>> =
                self.get.call1(py, (wanted,)).and_then(|found| found.extract(py)).map_err(failed)?;
            let fits = found.len() == ranges.len()
                && found
                    .iter()
                    .zip(ranges)
                    .all(|(bytes, range)| bytes.len() as u64 == range.end - range.start);
            if fits {
                Ok(found)
            } else {
                Err(Error::io("read", std::io::Error::other("the store returned other ranges")))
            }
        })
    }
}

/// Returns references to the arrays of a file as JSON of kerchunk, and a list of what became of each object: its path, a word, and a
/// sentence. Marks of missing values are among the attributes and are fill values, too. The file is at a path, or in a store of that size from which `get` returns ranges.
#[pyfunction]
#[pyo3(signature = (url, *, path=None, store=None, inline=4 << 20, codecs=true))]
#[allow(clippy::type_complexity, reason = "the parts are named where they are used")]
pub(crate) fn references<'py>(
    py: Python<'py>,
    url: String,
    path: Option<PathBuf>,
    store: Option<(u64, Py<PyAny>)>,
    inline: u64,
    codecs: bool,
) -> PyResult<(Bound<'py, PyBytes>, Vec<(String, &'static str, String)>)> {
    let shown = url.clone();
    let made = py.detach(move || {
        let file = match (path, store) {
            (Some(path), _) => sciformats::open(path)?,
            (None, Some((size, get))) => {
                let storage = Planned::new(Called { size, get: Arc::new(get) });
                sciformats::File::from_storage(storage, &OpenOptions::default())?
            }
            (None, None) => return Err(Error::usage("file", "has neither a path nor a store")),
        };
        let mut options = Options::new(url).with_codecs(codecs);
        options.inline = inline;
        let mut json = Vec::new();
        // The fill values of Zarr 3 are no marks of missing values.
        let mut writer = kerchunk::Writer::new(&mut json, std::slice::from_ref(&options.url))?.with_marks();
        let report = scan(&file, &options, &mut writer)?;
        writer.finish()?;
        Ok((json, report))
    });
    let (json, report) = made.map_err(|error| raise(&error, Some(&shown)))?;
    let entries = report.entries.into_iter();
    let entries = entries.map(|entry| (entry.path, entry.treatment.word(), entry.treatment.to_string()));
    Ok((PyBytes::new(py, &json), entries.collect()))
}
