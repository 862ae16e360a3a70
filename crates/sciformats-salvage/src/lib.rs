//! Finds out what is left of a damaged HDF5 file, and writes it to a clean file.
//!
#![doc = include_str!("../README.md")]

mod boxes;
mod hdf5;
mod laid;
mod map;
mod report;
mod scan;
mod write;

use std::path::Path;
use std::sync::Arc;

pub use sciformats_convert::convert::Loss;
use sciformats_core::storage::Access;
use sciformats_core::{Error, ReadAt, Result};

pub use crate::map::{Map, Part};
pub use crate::report::{Action, Cause, Confidence, ObjectReport, Report, State};
pub use crate::write::{DAMAGE, MISSING};

/// How a file is examined.
///
/// ```
/// use sciformats_salvage::Options;
///
/// assert_eq!(Options::default().with_threads(2).threads, 2);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// The threads that share the scan of the file; 0 means as many as the machine has.
    pub threads: usize,
    /// The largest number of bytes of elements that are written, unless they are at most 1032 bytes per byte of the damaged file. A
    /// damaged shape may declare more elements than any disk holds. `None` means the default of the facade, which is 256 MiB.
    pub written: Option<u64>,
}

impl Options {
    /// Sets the number of threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Sets the largest number of bytes of elements that are written.
    #[must_use]
    pub fn with_written(self, written: u64) -> Self {
        Self { written: Some(written), ..self }
    }
}

/// A damaged file that was examined. The file itself is only read.
pub struct Examination {
    report: Report,
    view: Option<Arc<dyn ReadAt>>,
    written: Option<u64>,
}

/// Examines the file at `path`.
///
/// ```
/// use sciformats_salvage::Options;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("cut.h5");
/// let mut whole = hdf5_pure::Writer::in_memory(&Default::default())?;
/// whole.dataset("energy").write(&[1.5; 1000])?;
/// let mut bytes = whole.into_bytes()?;
/// bytes.truncate(bytes.len() - 4000);
/// std::fs::write(&path, bytes).unwrap();
///
/// let found = sciformats_salvage::examine(&path, &Options::default())?;
/// assert_eq!(found.report().causes[0].kind, "cut off");
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
/// Returns `Io` if the file cannot be read, and `Unsupported` if nothing shows that it is or was an HDF5 file.
pub fn examine(path: impl AsRef<Path>, options: &Options) -> Result<Examination> {
    examine_storage(&Access::default().open(path)?, options)
}

/// Does the same as [`examine`] for a file in any storage.
///
/// # Errors
/// Returns the errors of [`examine`].
pub fn examine_storage(storage: &Arc<dyn ReadAt>, options: &Options) -> Result<Examination> {
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let hdf5::Found { report, view } = hdf5::examine(storage, threads)?;
    let nothing =
        report.structures.is_empty() && report.causes.iter().any(|cause| cause.kind == "overwritten head");
    if nothing {
        return Err(Error::unsupported("salvaging a file in which no structure of HDF5 is left"));
    }
    Ok(Examination { report, view, written: options.written })
}

impl Examination {
    /// Returns what was found.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Writes everything that was found to a new file at `path`, and returns what could not be written, also because it exceeds
    /// [`Options::written`]. Objects that nothing leads
    /// to are below `/lost+found`. A partial dataset has fill values where elements are missing, an attribute
    /// [`MISSING`] that lists these parts, and an attribute [`DAMAGE`] that says why.
    ///
    /// # Errors
    /// Returns `Io` if the file cannot be written. A file that is at `path` already then stays as it was, and is replaced otherwise.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<Vec<Loss>> {
        match &self.view {
            Some(view) => write::hdf5(&self.report, (view.clone(), self.written), path.as_ref()),
            None => Err(Error::unsupported("writing a file of which nothing is left")),
        }
    }
}
