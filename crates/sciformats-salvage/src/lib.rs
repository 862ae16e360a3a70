//! Finds out what is left of a damaged file, and writes it to a clean file.
//!
#![doc = include_str!("../README.md")]

mod boxes;
mod earlier;
mod family;
mod flips;
mod hdf5;
mod laid;
mod map;
mod others;
mod proof;
mod repair;
mod report;
mod scan;
mod spliced;
mod write;

use std::path::Path;
use std::sync::Arc;

use sciformats::Format;
pub use sciformats_convert::convert::Loss;
use sciformats_core::storage::Access;
use sciformats_core::{Error, ReadAt, Result};

pub use crate::map::{Map, Part};
pub use crate::repair::{Repair, RepairPlan};
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
    left: Left,
    written: Option<u64>,
}

/// What is left of a file.
enum Left {
    /// A view of an HDF5 file; `None` if nothing can be read.
    Hdf5(Option<Arc<dyn ReadAt>>),
    Other(others::Output),
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
/// Returns `Io` if the file cannot be read, and `Unsupported` if nothing shows that it is or was a file of one of the formats.
pub fn examine(path: impl AsRef<Path>, options: &Options) -> Result<Examination> {
    let path = path.as_ref();
    if path.is_dir() {
        let others::Found { report, output } = others::blosc2::examine_folder(path)?;
        return Ok(Examination { report, left: Left::Other(output), written: options.written });
    }
    let hint = path.extension().and_then(|extension| extension.to_str()).and_then(hinted);
    examined(&Access::default().open(path)?, (hint, Some(path)), options)
}

/// Does the same as [`examine`] for a file in any storage.
///
/// # Errors
/// Returns the errors of [`examine`].
pub fn examine_storage(storage: &Arc<dyn ReadAt>, options: &Options) -> Result<Examination> {
    examined(storage, (None, None), options)
}

/// Returns the format that the extension of a name stands for.
fn hinted(extension: &str) -> Option<Format> {
    match extension {
        "asdf" => Some(Format::Asdf),
        "b2frame" | "b2nd" => Some(Format::Blosc2),
        "gsd" => Some(Format::Gsd),
        "ra" => Some(Format::RawArray),
        _ => None,
    }
}

/// Returns the format of a file by its signature, or else by the fields that follow a damaged one, or by its name.
fn format_of(storage: &dyn ReadAt, hint: Option<Format>) -> Result<Format> {
    if let Some(found) = Format::detect(storage)? {
        return Ok(found);
    }
    let likely = [
        (Format::Gsd, others::gsd::looks_like(storage)),
        (Format::Blosc2, others::blosc2::looks_like(storage)),
        (Format::RawArray, others::rawarray::looks_like(storage)),
    ];
    let found = likely.into_iter().find_map(|(format, is_likely)| is_likely.then_some(format));
    Ok(found.or(hint).unwrap_or(Format::Hdf5))
}

fn examined(
    storage: &Arc<dyn ReadAt>,
    (hint, path): (Option<Format>, Option<&Path>),
    options: &Options,
) -> Result<Examination> {
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let scan = |mark: Option<&'static [u8; 4]>| {
        let mut first = [false; 256];
        if let Some(known) = mark.and_then(|mark| first.get_mut(usize::from(mark[0]))) {
            *known = true;
        }
        scan::scan(storage, threads, &first, |bytes, _| mark.is_some_and(|mark| bytes.starts_with(mark)))
    };
    let found = match format_of(&**storage, hint)? {
        Format::Asdf => others::asdf::examine(storage, scan(Some(others::asdf::MAGIC))?)?,
        Format::Blosc2 => others::blosc2::examine(storage, scan(None)?)?,
        Format::Gsd => others::gsd::examine(storage, scan(None)?)?,
        Format::RawArray => others::rawarray::examine(storage, scan(None)?)?,
        Format::Hdf5 => {
            let family = family::of(path, storage)?;
            let whole = family.as_ref().map_or(storage, |family| &family.storage);
            let hdf5::Found { mut report, view, .. } = hdf5::examine(whole, threads)?;
            if let Some(cause) = family.and_then(|family| family.cause) {
                // The length says nothing else.
                report.causes.retain(|known| known.kind != "cut off");
                report.causes.insert(0, cause);
            }
            let overwritten = report.causes.iter().any(|cause| cause.kind == "overwritten head");
            if report.structures.is_empty() && overwritten {
                // A file of ASDF without its head has blocks.
                let scan = scan(Some(others::asdf::MAGIC))?;
                if scan.candidates.is_empty() {
                    return Err(Error::unsupported(
                        "salvaging a file in which no structure of a known format is left",
                    ));
                }
                others::asdf::examine(storage, scan)?
            } else {
                return Ok(Examination { report, left: Left::Hdf5(view), written: options.written });
            }
        }
        other => return Err(Error::unsupported(format!("salvaging a file of the format {other}"))),
    };
    let others::Found { report, output } = found;
    Ok(Examination { report, left: Left::Other(output), written: options.written })
}

impl Examination {
    /// Returns what was found.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns whether nothing is left that a file could hold.
    pub fn is_empty(&self) -> bool {
        matches!(self.left, Left::Hdf5(None) | Left::Other(others::Output::Nothing))
    }

    /// Writes everything that was found to a new file at `path`, which has the format of the damaged one, and returns what could not
    /// be written, also because it exceeds [`Options::written`].
    ///
    /// Of HDF5, objects that nothing leads to are below `/lost+found`, as are the bytes of chunks whose dataset is lost, and a
    /// partial dataset has fill values where elements are missing, an attribute [`MISSING`] that lists these parts, and an attribute
    /// [`DAMAGE`] that says why. The user block is kept if the superblock is at a place that readers look at. In the other formats,
    /// missing elements are zeros; the key `lost+found` of an ASDF tree, the metalayers of a Blosc2 frame, the chunk
    /// `lost+found/damage` of a frame of GSD and the metadata of RawArray say what is missing.
    ///
    /// # Errors
    /// Returns `Io` if the file cannot be written. A file that is at `path` already then stays as it was, and is replaced otherwise.
    /// Returns `Unsupported` if nothing is left, which [`is_empty`](Self::is_empty) tells.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<Vec<Loss>> {
        match &self.left {
            Left::Hdf5(Some(view)) => write::hdf5(&self.report, (view.clone(), self.written), path.as_ref()),
            Left::Hdf5(None) => Err(Error::unsupported(others::NOTHING)),
            Left::Other(output) => output.write(path.as_ref(), self.written.unwrap_or(WRITTEN)),
        }
    }
}

/// The bytes of elements that may be written unless the options say otherwise.
const WRITTEN: u64 = 256 << 20;
