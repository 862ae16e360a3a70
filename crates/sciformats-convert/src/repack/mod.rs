//! Writes files anew in their own format: without unused space, with other chunks, filters or versions.
//!
//! ASDF, Blosc2 and HDF5 files keep what the common tree does not describe: tags and comments of ASDF; stored
//! types, fill values, filters and compressed chunks of the others. The other formats contain nothing beyond
//! their tree.

#[cfg(feature = "asdf")]
mod asdf;
#[cfg(feature = "blosc2")]
mod blosc2;
#[cfg(feature = "gsd")]
mod gsd;
#[cfg(feature = "hdf5")]
mod hdf5;
mod plain;

#[cfg(feature = "hdf5")]
pub use hdf5::{ChunkSupplier, CopyOptions, Hollow, Joined, PutChunk, WantedChunks};
#[cfg(feature = "hdf5")]
pub(crate) use hdf5::{Kept, Rounder, Stored, extents, opened};

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::compare::Pattern;
use crate::convert::{self, Loss, Plan};
use crate::sink::WriteOptions;
use sciformats::{Error, File, Format, Result};
use sciformats_core::ReadAt;

/// Where the bytes of a file are.
#[derive(Clone, Copy)]
enum Input<'a> {
    /// By its path, other files beside it are found.
    Path(&'a Path),
    /// The file is remote or in memory, and has no neighbours.
    Storage(&'a Arc<dyn ReadAt>),
}

impl<'a> Input<'a> {
    /// Returns `None` for a tree that is no file.
    fn of(file: &'a File) -> Option<Self> {
        file.path().map(Self::Path).or_else(|| file.storage().map(Self::Storage))
    }

    /// Returns whether names relative to the folder of the file mean something else in the folder of `output`.
    #[cfg(any(feature = "asdf", feature = "hdf5"))]
    fn is_moved(self, output: &Path) -> bool {
        match self {
            Self::Path(input) => is_moved(input, output),
            Self::Storage(_) => true,
        }
    }
}

/// Writes `file` anew at `output`. If it succeeds, the new file takes the place of an existing one. Whatever
/// `options` does not name stays as it is stored, as far as the writer of the format can do that. Writing
/// ends with an error when `cancel` becomes true.
///
/// ```
/// use sciformats_convert::repack::rewrite;
/// use sciformats_convert::sink::WriteOptions;
/// use std::sync::Arc;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("u.npy");
/// # let u = sciformats::memory::array::<f32>(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
/// # let mut sink = sciformats_convert::sink::overwrite(&path, sciformats::Format::Npy, &Default::default())?;
/// # sink.add(sciformats_convert::sink::Place::Root, sciformats_convert::sink::New::Array(u.into()))?;
/// # sink.finish()?;
/// # let output = dir.path().join("new.npy");
/// let file = Arc::new(sciformats::open(&path)?);
/// rewrite(&file, &output, &WriteOptions::default(), None)?;
/// assert_eq!(sciformats::open(&output)?.array("/")?.read::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
///
/// Those of reading the file: damaged elements are not written anew, but chunks that are copied as they are
/// stored are not decoded. [`Error::Unsupported`] if the file contains something that cannot be written;
/// [`Error::Usage`] for options that the format does not know; `Io` of the kind `Interrupted` if it was
/// cancelled.
pub fn rewrite(
    file: &Arc<File>,
    output: impl AsRef<Path>,
    options: &WriteOptions,
    cancel: Option<Arc<AtomicBool>>,
) -> Result<()> {
    rewrite_selected(file, output, &[], options, cancel).map(|_| ())
}

/// Does the same as [`rewrite`], but from HDF5 files only the objects whose own path, or the path of a group that contains
/// them, matches a pattern; without patterns, all objects. References to objects that are left out become
/// null and are reported.
///
/// ```
/// use sciformats_convert::repack::rewrite_selected;
/// use sciformats_convert::sink::WriteOptions;
/// use std::sync::Arc;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("run.h5");
/// # let mut made = hdf5_pure::Writer::create(&path)?;
/// # made.dataset("fields/u").write(&[1.0f32, 2.0])?;
/// # made.dataset("fields/v").write(&[3.0f32, 4.0])?;
/// # made.finish()?;
/// # let output = dir.path().join("u.h5");
/// let file = Arc::new(sciformats::open(&path)?);
/// rewrite_selected(&file, &output, &["/fields/u".into()], &WriteOptions::default(), None)?;
/// let new = sciformats::open(&output)?;
/// assert!(new.array("/fields/u").is_ok() && new.array("/fields/v").is_err());
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
///
/// Those of [`rewrite`].
pub fn rewrite_selected(
    file: &Arc<File>,
    output: impl AsRef<Path>,
    select: &[Pattern],
    options: &WriteOptions,
    cancel: Option<Arc<AtomicBool>>,
) -> Result<Vec<Loss>> {
    anew(file, output.as_ref(), (select, options), cancel).map_err(|error| file.explained(error))
}

fn anew(
    file: &Arc<File>,
    output: &Path,
    (select, options): (&[Pattern], &WriteOptions),
    cancel: Option<Arc<AtomicBool>>,
) -> Result<Vec<Loss>> {
    let input = Input::of(file);
    if file.format() != Format::Hdf5 || input.is_none() {
        options.refuse_layout("a file that is not HDF5")?;
    }
    match (file.format(), input) {
        #[cfg(feature = "asdf")]
        (Format::Asdf, Some(input)) if select.is_empty() => {
            asdf::rewrite(input, output, options).map(|()| Vec::new())
        }
        #[cfg(feature = "hdf5")]
        (Format::Hdf5, Some(input)) => {
            hdf5::rewrite((file, input), output, (select, options), None, cancel.as_deref())
        }
        #[cfg(feature = "blosc2")]
        (Format::Blosc2, _) if select.is_empty() => {
            blosc2::rewrite(file, output, options, cancel).map(|()| Vec::new())
        }
        #[cfg(feature = "gsd")]
        (Format::Gsd, Some(input)) if select.is_empty() => {
            gsd::rewrite((file, input), output, options, cancel.as_deref()).map(|()| Vec::new())
        }
        (Format::Npy, Some(input)) if select.is_empty() => {
            plain::npy((file, input), output, options, cancel.as_deref()).map(|()| Vec::new())
        }
        #[cfg(feature = "rawarray")]
        (Format::RawArray, Some(input)) if select.is_empty() => {
            plain::rawarray((file, input), output, options, cancel.as_deref()).map(|()| Vec::new())
        }
        // A tree of the caller has nothing beyond what the tree describes.
        (format, _) => {
            let plan = Plan::new(file, format, &convert::Options { select: select.to_vec(), cancel })?;
            match plan.losses().first() {
                Some(loss) => {
                    let problem = format!("repacking without a loss ({}: {})", loss.path, loss.what);
                    Err(Error::unsupported(problem))
                }
                None => plan.write(output, options).map(|()| Vec::new()),
            }
        }
    }
}

/// Does the same as [`rewrite`] with an HDF5 file, but asks `supplier` for the chunks of each dataset that gets other chunks or
/// filters. Everything else is copied, and all of it is written by the caller's process alone. Datasets of texts with any length
/// and of references, and those with unfiltered chunks at their edges, are always encoded here.
///
/// ```
/// use std::sync::Arc;
///
/// use sciformats::Result;
/// use sciformats_convert::repack::{ChunkSupplier, PutChunk, WantedChunks, rewrite_supplied};
/// use sciformats_convert::sink::WriteOptions;
///
/// /// Knows the elements, and encodes each chunk as the filters say.
/// struct Ones;
///
/// impl ChunkSupplier for Ones {
///     fn supply(&self, wanted: &WantedChunks<'_>, put: &mut PutChunk<'_>) -> Result<bool> {
///         let elements = vec![1u8; wanted.chunks[0] as usize];
///         let (bytes, mask) = hdf5_pure::filters::Registry::default().apply(wanted.filters, elements)?;
///         (0..wanted.shape[0] / wanted.chunks[0]).try_for_each(|at| put(&[at], mask, &bytes))?;
///         Ok(true)
///     }
/// }
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("run.h5");
/// # let mut made = hdf5_pure::Writer::create(&path)?;
/// # made.dataset("u").shape([1000]).chunks([10]).write(&[1u8; 1000])?;
/// # made.finish()?;
/// # let output = dir.path().join("new.h5");
/// let file = Arc::new(sciformats::open(&path)?);
/// rewrite_supplied(&file, &output, &WriteOptions::default().with_chunks([100]), &Ones, None)?;
/// assert_eq!(sciformats::open(&output)?.array("/u")?.read::<u8>()?, [1; 1000]);
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
/// [`Error::Usage`] if the file is not an HDF5 file, or if the supplier puts a chunk twice, or not all of them; those of the
/// supplier, and those of [`rewrite`].
#[cfg(feature = "hdf5")]
pub fn rewrite_supplied(
    file: &Arc<File>,
    output: impl AsRef<Path>,
    options: &WriteOptions,
    supplier: &dyn ChunkSupplier,
    cancel: Option<&AtomicBool>,
) -> Result<Vec<Loss>> {
    match (file.format(), Input::of(file)) {
        (Format::Hdf5, Some(input)) => {
            let written =
                hdf5::rewrite((file, input), output.as_ref(), (&[], options), Some(supplier), cancel);
            written.map_err(|error| file.explained(error))
        }
        _ => Err(Error::usage("file", "is not an HDF5 file")),
    }
}

/// Writes a copy of an HDF5 file in which some datasets are virtual, and show those of several files one after another. The copy
/// contains no elements of the other files, and the HDF5 library reads it as one file. The names of the files are those that the new
/// file stores: relative ones are looked for in the folder of the new file. Datasets whose paths are in the second list are left out.
///
/// ```
/// use sciformats_convert::repack::{Joined, join};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # for (name, values) in [("monday.h5", [281.5, 282.0]), ("tuesday.h5", [280.0, 280.5])] {
/// #     let mut made = hdf5_pure::Writer::create(dir.path().join(name))?;
/// #     made.dataset("t").write(&values)?;
/// #     made.finish()?;
/// # }
/// let parts = vec![("monday.h5".to_owned(), 2), ("tuesday.h5".to_owned(), 2)];
/// let joined = Joined {
///     path: "/t".into(),
///     axis: 0,
///     parts,
///     rows: vec![],
///     continued: false,
///     values: None,
///     plain: false,
/// };
/// let (monday, week) = (dir.path().join("monday.h5"), dir.path().join("week.h5"));
/// join(&sciformats::open(&monday)?, &week, (&[joined], &[]), &Default::default(), None)?;
/// assert_eq!(sciformats::open(&week)?.array("/t")?.read::<f64>()?, [281.5, 282.0, 280.0, 280.5]);
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
/// [`Error::Usage`] if the file is not a local HDF5 file or has no such dimension, and those of [`rewrite`].
#[cfg(feature = "hdf5")]
#[allow(clippy::needless_pass_by_value, reason = "the caller has no further use for it")]
pub fn join(
    file: &File,
    output: impl AsRef<Path>,
    (joined, without): (&[Joined], &[&str]),
    options: &WriteOptions,
    cancel: Option<Arc<AtomicBool>>,
) -> Result<Vec<Loss>> {
    match (file.format(), file.path()) {
        (Format::Hdf5, Some(input)) => {
            let written = hdf5::join(
                (file, Input::Path(input)),
                output.as_ref(),
                ((joined, without), options),
                cancel.as_deref(),
            );
            written.map_err(|error| file.explained(error))
        }
        _ => Err(Error::usage("file", "is not a local HDF5 file")),
    }
}

/// Copies an object of an HDF5 file, with everything below, to a path of a file that is edited. Missing groups on the path are
/// created; if a group is there already, it gets the members and attributes of the object. Types, chunks, filters and all other
/// properties stay as they are stored, and objects with several hard links keep them. References to objects that are not copied
/// stay if they lead to the edited file, and are null otherwise.
///
/// ```
/// use hdf5_pure::{Editor, File, Writer};
/// use sciformats_convert::repack::{CopyOptions, copy};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let (from, to) = (dir.path().join("run.h5"), dir.path().join("all.h5"));
/// let mut made = Writer::create(&from)?;
/// made.dataset("fields/u").shape([1000]).chunks([10]).deflate(6).write(&[1.0f32; 1000])?;
/// made.finish()?;
/// Writer::create(&to)?.finish()?;
///
/// let mut editor = Editor::open(&to)?;
/// copy(&File::open(&from)?.object("fields")?, (&mut editor, "/runs/7"), CopyOptions::default())?;
/// editor.commit()?;
/// assert_eq!(File::open(&to)?.dataset("runs/7/u")?.read::<f32>()?, [1.0; 1000]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
///
/// # Errors
/// Those of reading the object and of writing it. [`Error::Unsupported`] if the edited file is in another folder, while elements are in
/// files that are named relative to the folder of the object. In each case nothing of the copy stays.
#[cfg(feature = "hdf5")]
pub fn copy(
    object: &hdf5_pure::Node,
    (editor, path): (&mut hdf5_pure::Editor, &(impl hdf5_pure::AsName + ?Sized)),
    options: CopyOptions,
) -> Result<()> {
    hdf5::copy(object, (editor, path), options)
}

/// Returns an HDF5 file as it would be repacked, with zeros in place of its elements, and the size of the room for structures before
/// the elements. `guess` tells the size of a chunk after its filters, from the dataset and the size of its elements; chunks that
/// are copied keep their size.
///
/// ```
/// use sciformats_convert::repack::planned;
/// use sciformats_convert::sink::WriteOptions;
/// use sciformats_core::ReadAt;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("run.h5");
/// # let mut made = hdf5_pure::Writer::create(&path)?;
/// # made.dataset("u").shape([1000]).chunks([10]).write(&[1.0f32; 1000])?;
/// # made.finish()?;
/// let file = sciformats::open(&path)?;
/// let options = WriteOptions::default().with_chunks([1000]);
/// let (new, _) = planned(&file, &[], &options, &|_, bytes| Ok(bytes))?;
/// assert!(new.size() < file.size());
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
/// [`Error::Usage`] if the file is not an HDF5 file, and those of [`rewrite`].
#[cfg(feature = "hdf5")]
pub fn planned(
    file: &File,
    select: &[Pattern],
    options: &WriteOptions,
    guess: &(dyn Fn(&hdf5_pure::Dataset, u64) -> Result<u64> + Sync),
) -> Result<(Hollow, u64)> {
    match (file.format(), Input::of(file)) {
        (Format::Hdf5, Some(input)) => hdf5::planned((file, input), (select, options), guess),
        _ => Err(Error::usage("file", "is not an HDF5 file")),
    }
}

/// Returns how the structures of a repacked file differ from those of the original, apart from its objects: the widths of
/// addresses, and versions. Each difference is a phrase that follows the name of the file. Differences that `options` requested
/// are left out.
///
/// ```
/// use sciformats_convert::repack::{changes, rewrite};
/// use std::sync::Arc;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("run.h5");
/// # let mut made = hdf5_pure::Writer::create(&path)?;
/// # made.dataset("u").write(&[1.0f32, 2.0])?;
/// # made.finish()?;
/// # let output = dir.path().join("new.h5");
/// let file = Arc::new(sciformats::open(&path)?);
/// rewrite(&file, &output, &Default::default(), None)?;
/// assert!(changes(&file, &sciformats::open(&output)?, &Default::default())?.is_empty());
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
/// Those of reading the files.
pub fn changes(old: &File, new: &File, options: &WriteOptions) -> Result<Vec<String>> {
    let (Some(before), Some(after)) = (Input::of(old), Input::of(new)) else { return Ok(Vec::new()) };
    match old.format() {
        #[cfg(feature = "hdf5")]
        Format::Hdf5 => hdf5::changes((before, after), old, options.bound.is_some()),
        #[cfg(feature = "gsd")]
        Format::Gsd => gsd::changes((before, after), old),
        #[cfg(feature = "asdf")]
        Format::Asdf => asdf::changes((before, after), old),
        _ => {
            let _ = (before, after, options);
            Ok(Vec::new())
        }
    }
}

/// Returns whether names relative to the folder of `input` mean something else in the folder of `output`.
#[cfg(any(feature = "asdf", feature = "hdf5"))]
fn is_moved(input: &Path, output: &Path) -> bool {
    let folder = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::canonicalize(folder).ok()
    };
    folder(input) != folder(output)
}
