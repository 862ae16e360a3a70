//! The adapters, with one file per format. Each is built with the cargo feature of its name. Two of them
//! offer more than [`Source`], for code that writes files of these formats anew.

#[cfg(feature = "asdf")]
mod asdf;
#[cfg(feature = "blosc2")]
pub mod blosc2;
#[cfg(feature = "gsd")]
mod gsd;
#[cfg(feature = "hdf5")]
pub mod hdf5;
mod npy;
#[cfg(any(feature = "asdf", feature = "gsd"))]
mod numbers;
#[cfg(feature = "rawarray")]
mod rawarray;

use std::path::Path;

use sciformats_core::Error;

use crate::file::Storage;
use crate::options::OpenOptions;
use crate::source::Source;
use crate::{Format, Result};

/// Opens bytes in `format`; `path` is that of their file, if there is one.
#[allow(unused_variables, reason = "without any format built in, nothing is opened")]
pub(crate) fn open(
    format: Format,
    storage: Storage,
    path: Option<&Path>,
    options: &OpenOptions,
) -> Result<Box<dyn Source>> {
    match format {
        #[cfg(feature = "asdf")]
        Format::Asdf => asdf::open(storage, path, options),
        #[cfg(feature = "blosc2")]
        Format::Blosc2 => blosc2::open(storage, options),
        #[cfg(feature = "gsd")]
        Format::Gsd => gsd::open(storage, options),
        #[cfg(feature = "hdf5")]
        Format::Hdf5 => hdf5::open(storage, path, options),
        Format::Npy => npy::open(storage, options),
        #[cfg(feature = "rawarray")]
        Format::RawArray => rawarray::open(storage, options),
        #[allow(unreachable_patterns, reason = "with all formats built in, none is absent")]
        absent => Err(self::absent(absent)),
    }
}

/// Opens a folder that is one file of `format`, and returns the size of its files too.
#[allow(unused_variables, reason = "without the format built in, nothing is opened")]
pub(crate) fn open_folder(
    format: Format,
    folder: &Path,
    options: &OpenOptions,
) -> Result<(Box<dyn Source>, u64)> {
    match format {
        #[cfg(feature = "blosc2")]
        Format::Blosc2 => blosc2::open_folder(folder, options),
        absent => Err(self::absent(absent)),
    }
}

/// Returns the error for a format that is not built in.
pub(crate) fn absent(format: Format) -> Error {
    Error::missing_feature(format!("the format {format}"), format.word())
}

/// Appends the elements of `slab` to `out`. `bytes` contains the whole array that the slab selects from, with
/// `size` bytes per element.
#[cfg(any(feature = "asdf", feature = "gsd"))]
fn gather(bytes: &[u8], size: usize, slab: &sciformats_core::Slab, out: &mut Vec<u8>) -> Result<()> {
    let short = || Error::usage("selection", "extends beyond the bytes of its array");
    let at = |index: u64| usize::try_from(index).ok()?.checked_mul(size);
    for run in slab.runs() {
        if run.step == 1 {
            let (start, len) = at(run.from).zip(at(run.len)).ok_or_else(short)?;
            let part = start.checked_add(len).and_then(|end| bytes.get(start..end));
            out.extend_from_slice(part.ok_or_else(short)?);
            continue;
        }
        for i in 0..run.len {
            let index = run.step.checked_mul(i).and_then(|step| step.checked_add(run.from));
            let start = index.and_then(at).ok_or_else(short)?;
            let element = start.checked_add(size).and_then(|end| bytes.get(start..end));
            out.extend_from_slice(element.ok_or_else(short)?);
        }
    }
    Ok(())
}
