//! Files written anew in their own format: without lost space, with other chunks, filters or versions.
//!
//! ASDF and HDF5 files keep what the common tree does not tell: tags and comments of the one; types as they are stored, fill
//! values and filters of the other. The other formats have nothing more than their tree.

#[cfg(feature = "hdf5")]
mod hdf5;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::convert::{self, Plan};
use crate::sink::WriteOptions;
use crate::{Error, File, Format, Result};

/// Writes `file` anew at `output`, in place of a file that may be there, when all is well. What `options` do not name stays
/// as it is stored, as far as the format's writer has it. The writing ends, as if by an error, when `cancel` becomes true.
///
/// # Errors
/// Those of reading the file: what is damaged is not written anew. [`Error::Unsupported`] if it holds something that cannot
/// be written; [`Error::Usage`] for options that the format does not know; `Io`, of the kind `Interrupted` if it was
/// cancelled.
pub fn rewrite(
    file: &Arc<File>,
    output: impl AsRef<Path>,
    options: &WriteOptions,
    cancel: Option<Arc<AtomicBool>>,
) -> Result<()> {
    let input = file.path();
    match (file.format(), input) {
        #[cfg(feature = "asdf")]
        (Format::Asdf, Some(input)) => asdf(input, output.as_ref(), options),
        #[cfg(feature = "hdf5")]
        (Format::Hdf5, Some(input)) => hdf5::rewrite((file, input), output.as_ref(), options, cancel),
        (format, _) => {
            let plan = Plan::new(file, format, &convert::Options { select: Vec::new(), cancel })?;
            match plan.losses().first() {
                Some(loss) => Err(Error::unsupported(format!("repacking it: {} {}", loss.path, loss.what))),
                None => plan.write(output, options),
            }
        }
    }
}

/// Tags, comments and all else of the tree stay; blocks that nothing refers to are left out. The others keep their
/// compression, unless `options` name another one.
#[cfg(feature = "asdf")]
fn asdf(input: &Path, output: &Path, options: &WriteOptions) -> Result<()> {
    if options.chunks.is_some() {
        return Err(Error::usage("chunks", "mean nothing in ASDF"));
    }
    let read = asdf_core::OpenOptions::default().with_limits(options.limits).with_threads(options.threads);
    let mut document = asdf_core::Document::open_with(input, &read)?;
    document.drop_unused_blocks();
    if let Some(filter) = &options.filter {
        document.recompress(crate::sink::asdf_compression(filter)?, options.level);
    }
    document.options_mut().threads = options.threads;
    document.save(output)
}
