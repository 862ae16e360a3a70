//! Files written anew in their own format: without lost space, with other chunks, filters or versions.
//!
//! ASDF, Blosc2 and HDF5 files keep what the common tree does not tell: tags and comments of the first; types as they are
//! stored, fill values, filters and compressed chunks of the others. The other formats have nothing more than their tree.

#[cfg(feature = "blosc2")]
mod blosc2;
#[cfg(feature = "hdf5")]
mod hdf5;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::compare::Pattern;
use crate::convert::{self, Loss, Plan};
use crate::sink::WriteOptions;
#[cfg(any(feature = "asdf", feature = "blosc2", feature = "hdf5"))]
use sciformats::Format;
use sciformats::{Error, File, Result};

/// Writes `file` anew at `output`, in place of a file that may be there, when all is well. What `options` do not name stays
/// as it is stored, as far as the format's writer has it. The writing ends, as if by an error, when `cancel` becomes true.
///
/// ```
/// use sciformats_convert::repack::rewrite;
/// use sciformats_convert::sink::WriteOptions;
/// use std::sync::Arc;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("u.npy");
/// # let u = sciformats::memory::array::<f32>(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
/// # let mut sink = sciformats_convert::sink::create(&path, sciformats::Format::Npy, &Default::default())?;
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
/// Those of reading the file: what is damaged is not written anew, but chunks that are copied as they are stored are not
/// decoded. [`Error::Unsupported`] if it holds something that cannot be written; [`Error::Usage`] for options that the format
/// does not know; `Io`, of the kind `Interrupted` if it was cancelled.
pub fn rewrite(
    file: &Arc<File>,
    output: impl AsRef<Path>,
    options: &WriteOptions,
    cancel: Option<Arc<AtomicBool>>,
) -> Result<()> {
    rewrite_selected(file, output, &[], options, cancel).map(|_| ())
}

/// As [`rewrite`], but of HDF5 files only the objects whose path matches, or that of a group that they are in; all of them
/// without a pattern. References to objects that are left out become null; these are told.
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
/// As [`rewrite`].
pub fn rewrite_selected(
    file: &Arc<File>,
    output: impl AsRef<Path>,
    select: &[Pattern],
    options: &WriteOptions,
    cancel: Option<Arc<AtomicBool>>,
) -> Result<Vec<Loss>> {
    let input = file.path();
    match (file.format(), input) {
        #[cfg(feature = "asdf")]
        (Format::Asdf, Some(input)) if select.is_empty() => {
            asdf(input, output.as_ref(), options).map(|()| Vec::new())
        }
        #[cfg(feature = "hdf5")]
        (Format::Hdf5, Some(input)) => {
            hdf5::rewrite((file, input), output.as_ref(), (select, options), cancel.as_deref())
        }
        #[cfg(feature = "blosc2")]
        (Format::Blosc2, _) if select.is_empty() => {
            blosc2::rewrite(file, output.as_ref(), options, cancel).map(|()| Vec::new())
        }
        (format, _) => {
            let plan = Plan::new(file, format, &convert::Options { select: select.to_vec(), cancel })?;
            match plan.losses().first() {
                Some(loss) => {
                    let problem = format!("writing it anew without a loss: {} {},", loss.path, loss.what);
                    Err(Error::unsupported(problem))
                }
                None => plan.write(output, options).map(|()| Vec::new()),
            }
        }
    }
}

/// Tags, comments and all else of the tree stay; blocks that nothing refers to are left out. The others keep their
/// compression, unless `options` name another one.
#[cfg(feature = "asdf")]
fn asdf(input: &Path, output: &Path, options: &WriteOptions) -> Result<()> {
    crate::sink::refuse_bound(Format::Asdf, options)?;
    if options.chunks.is_some() {
        return Err(Error::usage("chunks", "mean nothing in ASDF"));
    }
    let read = asdf_core::OpenOptions::default().with_limits(options.limits).with_threads(options.threads);
    let mut document = asdf_core::Document::open_with(input, &read)?;
    document.drop_unused_blocks();
    if let Some(filter) = &options.filter {
        document.recompress(crate::sink::asdf_compression(filter)?, options.level)?;
    } else if options.level.is_some() {
        return Err(Error::usage("level", "is given without the filter whose level it is"));
    }
    document.options_mut().threads = options.threads;
    document.save(output)
}
