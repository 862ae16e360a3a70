//! Files written anew in their own format, where more has to stay than the common tree tells.

use std::path::Path;

use crate::sink::WriteOptions;
use crate::{Error, Result};

/// Writes an ASDF file anew: tags, comments and all else of its tree stay; blocks that nothing refers to are left out. The
/// others keep their compression, unless `options` name another one.
///
/// # Errors
/// Those of reading the file; [`Error::Usage`] for options that ASDF does not know; `Io`.
pub fn asdf(input: impl AsRef<Path>, output: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
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
