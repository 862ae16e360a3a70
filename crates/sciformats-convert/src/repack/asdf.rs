//! Repacks ASDF files. The text of the tree stays, apart from the numbers of blocks.

use std::path::Path;
use std::sync::Arc;

use super::Input;
use crate::sink::WriteOptions;
use sciformats::{Error, File, Format, Result};

/// Repacks an ASDF file. Tags, comments and the rest of the tree stay, and blocks that nothing refers to are left out. The
/// other blocks keep their compression, unless `options` names another one; a block that does not agree with its checksum gets no
/// other.
pub(super) fn rewrite(input: Input<'_>, output: &Path, options: &WriteOptions) -> Result<()> {
    crate::sink::refuse_bound(Format::Asdf, options)?;
    if options.chunks.is_some() {
        return Err(Error::usage("chunks", "have no meaning in ASDF"));
    }
    let read = asdf_core::OpenOptions::default().with_limits(options.limits).with_threads(options.threads);
    let mut document = match input {
        Input::Path(input) => asdf_core::Document::open_with(input, &read)?,
        Input::Storage(storage) => {
            asdf_core::Document::from_file(asdf_core::Asdf::from_storage(Arc::clone(storage), &read)?)
        }
    };
    if let (Some(name), true) = (document.other_files().into_iter().next(), input.is_moved(output)) {
        return Err(Error::unsupported(format!(
            "repacking a file into another folder while some of its arrays are in {name} beside it (`sciformats implode` makes \
             one file of them)"
        )));
    }
    document.drop_unused_blocks();
    if let Some(filter) = &options.filter {
        document.recompress(crate::sink::asdf_compression(filter)?, options.level)?;
    } else if options.level.is_some() {
        return Err(Error::usage("level", "is given without a filter that it applies to"));
    }
    document.options_mut().threads = options.threads;
    document.save(output)
}

/// Returns what is otherwise in the new file, apart from its blocks: comments that could not be kept.
pub(super) fn changes((old, new): (Input<'_>, Input<'_>), of: &File) -> Result<Vec<String>> {
    let are_lost = open(old, of)?.has_comments()? && !open(new, of)?.has_comments()?;
    Ok(if are_lost { vec!["has comments in its text, which are left out".into()] } else { Vec::new() })
}

fn open(input: Input<'_>, of: &File) -> Result<asdf_core::Asdf> {
    let read = asdf_core::OpenOptions::default().with_limits(*of.limits()).with_access(of.options().access);
    match input {
        Input::Path(path) => asdf_core::Asdf::open_with(path, &read),
        Input::Storage(storage) => asdf_core::Asdf::from_storage(Arc::clone(storage), &read),
    }
}
