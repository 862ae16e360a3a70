//! Writes HDF5 files anew, object by object.
//!
//! | what stays | what changes |
//! |---|---|
//! | types as they are stored, including byte order and padding; which objects share a committed type | links and attributes are numbered anew |
//! | fill values, when space is allocated and filled, maximum extents | messages that objects shared are copied into each object |
//! | chunks and filters with their parameters, elements in other files and datasets | addresses and lengths become 8 bytes wide |
//! | links of every class, the order of links and attributes, thresholds, character sets | |
//! | references to objects of the file, and into other files | references to objects that were removed become null, which is reported |
//! | comments, times, versions of headers, the user block, sizes of nodes, the free-space strategy | |

mod copied;
mod elements;
mod hollow;
mod job;
mod joined;
mod object;
mod regions;
mod rounder;
mod storage;
mod structures;
mod supplied;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hdf5_pure::options::{Bound, MissingSources};
use hdf5_pure::{Dataset, Writer};

use self::copied::{Copy, unusual};
pub(crate) use self::elements::{Kept, Stored, extents};
pub use self::hollow::Hollow;
use self::job::Job;
pub use self::joined::Joined;
pub use self::object::CopyOptions;
pub(super) use self::object::copy;
use self::rounder::Measured;
pub(crate) use self::rounder::Rounder;
pub(super) use self::structures::changes;
pub use self::supplied::{ChunkSupplier, PutChunk, WantedChunks};
use super::Input;
use crate::compare::Pattern;
use crate::convert::Loss;
use crate::sink::{Rounding, WriteOptions};
use sciformats::{Error, File, Result};

/// Returns the size of a chunk of the new file after its filters, from the dataset and the size before them.
pub(in crate::repack) type Guess<'a> = &'a (dyn Fn(&Dataset, u64) -> Result<u64> + Sync);

/// Twice the room for structures in a file whose structures are counted, which is more than any file has.
const FAR: u64 = 1 << 46;

pub(super) fn rewrite(
    (file, input): (&File, Input<'_>),
    output: &Path,
    (select, options): (&[Pattern], &WriteOptions),
    supplier: Option<&dyn ChunkSupplier>,
    cancel: Option<&AtomicBool>,
) -> Result<Vec<Loss>> {
    let source = source((file, input), options.inline)?;
    attempt((file, &source), (input, Some(output)), (select, options), cancel, &|job, bound| {
        let job = Job { supplier, ..*job };
        let room = if options.metadata_first { job.room(input, bound)? } else { 0 };
        job.run(Writer::overwrite_with(output, &job.create(input, bound)?.with_metadata_room(room))?)
    })
}

/// Writes a copy of a file in which some datasets show those of several files.
pub(super) fn join(
    (file, input): (&File, Input<'_>),
    output: &Path,
    ((joined, without), options): ((&[Joined], &[&str]), &WriteOptions),
    cancel: Option<&AtomicBool>,
) -> Result<Vec<Loss>> {
    let source = source((file, input), true)?;
    attempt((file, &source), (input, Some(output)), (&[], options), cancel, &|job, bound| {
        let job = Job { joined, without, ..*job };
        job.run(Writer::overwrite_with(output, &job.create(input, bound)?)?)
    })
}

/// Returns what the repacked file would be, with zeros in place of its elements, and the size of the room for structures before
/// the elements. `guess` tells the sizes of chunks.
pub(super) fn planned(
    (file, input): (&File, Input<'_>),
    (select, options): (&[Pattern], &WriteOptions),
    guess: Guess<'_>,
) -> Result<(Hollow, u64)> {
    let source = source((file, input), options.inline)?;
    attempt((file, &source), (input, None), (select, options), None, &|job, bound| {
        let room = if options.metadata_first { job.room(input, bound)? } else { 0 };
        let hollow = Hollow::new(room);
        let job = Job { hollow: Some(guess), ..*job };
        let create = job.create(input, bound)?.with_metadata_room(room);
        job.run(Writer::in_storage(Box::new(hollow.clone()), &create)?)?;
        Ok((hollow, room))
    })
}

/// Returns the HDF5 file behind a file of the common tree, if it is one that can be opened again.
pub(crate) fn opened(file: &File) -> Option<hdf5_pure::File> {
    let input = Input::of(file).filter(|_| file.format() == sciformats::Format::Hdf5)?;
    source((file, input), true).ok()
}

/// Opens the file to read it once more. With `elements`, those of other files and datasets are read.
fn source((file, input): (&File, Input<'_>), elements: bool) -> Result<hdf5_pure::File> {
    // Missing elements must never become values in the new file. Where they are not read, it does not matter whether they exist.
    let missing = if elements { MissingSources::Refused } else { MissingSources::Filled };
    let read = hdf5_pure::OpenOptions::default()
        .with_limits(*file.limits())
        .with_external(file.options().external.clone())
        .with_missing(missing)
        .with_access(file.options().access)
        .with_registry(sciformats::filters::hdf5())
        .with_threads(file.options().threads());
    match input {
        Input::Path(path) => hdf5_pure::File::open_with(path, &read),
        Input::Storage(storage) => hdf5_pure::File::from_storage(Arc::clone(storage), &read),
    }
}

/// Fails if filters do not exist, or if levels are given without a filter that they apply to.
fn filters(options: &WriteOptions) -> Result<()> {
    crate::sink::hdf5_filters(options)?;
    options.rules.iter().try_for_each(|rule| {
        let of = WriteOptions { filter: rule.filter.clone(), level: rule.level, ..WriteOptions::default() };
        crate::sink::hdf5_filters(&of).map(drop)
    })
}

/// Does `work` with the bound that the file seems to have, or if that does not suffice with the latest one.
fn attempt<T>(
    (file, source): (&File, &hdf5_pure::File),
    (input, output): (Input<'_>, Option<&Path>),
    (select, options): (&[Pattern], &WriteOptions),
    cancel: Option<&AtomicBool>,
    work: &dyn Fn(&Job<'_>, Bound) -> Result<T>,
) -> Result<T> {
    let wanted = options.bound.as_deref().map(crate::sink::hdf5_bound).transpose()?;
    options.rounding.map_or(Ok(()), Rounding::check)?;
    filters(options)?;
    let old = source.object_info(source.root()?.address())?.header_version == 1;
    let bound = wanted.unwrap_or(match source.superblock().version {
        0 | 1 => Bound::Earliest,
        2 if old => Bound::Earliest,
        2 => Bound::V18,
        _ => Bound::V110,
    });
    // Without a new file, nothing moves.
    let moved = output.is_some_and(|output| input.is_moved(output));
    let unfolding = file.writing();
    let measured = Measured::default();
    let job = Job {
        measured: &measured,
        file,
        source,
        select,
        options,
        wanted,
        indexes: None,
        moved,
        cancel,
        unfolding: &unfolding,
        output,
        hollow: None,
        supplier: None,
        joined: &[],
        without: &[],
    };
    match work(&job, bound) {
        // A file with an old superblock may contain newer structures, each with its own version. Older programs must be able to
        // read the other objects all the same.
        Err(Error::Usage { argument: "bound", .. }) if wanted.is_none() && bound < Bound::LATEST => {
            let unfolding = file.writing();
            work(&Job { unfolding: &unfolding, indexes: Some(bound), ..job }, Bound::LATEST)
        }
        result => result,
    }
}

/// Returns the text of a path or a name, as lists show it.
fn shown(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        Ok(text) if !text.contains(r"\x") => text.to_owned(),
        _ => {
            let names = path.split(|byte| *byte == b'/');
            let names = names.map(|name| sciformats::Name::from(name).shown().into_owned());
            names.collect::<Vec<_>>().join("/")
        }
    }
}
