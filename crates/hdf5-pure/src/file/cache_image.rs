//! Metadata cache images. A program can leave the contents of its metadata cache at the end of a file; they are valid
//! until the file is written to.

use std::sync::Arc;

use sciformats_core::Result;
use sciformats_core::fault::locate;
use sciformats_core::storage::Patch;

use crate::file::open::Opened;
use crate::object::header::{Header, Object};
use crate::space::context::Context;
use crate::space::output::{Output, Target};
use crate::space::pending::{Space, Use};
use crate::spec::message::MessageType;
use crate::spec::superblock::Rest;
use crate::spec::{Address, cache_image};

/// Moves the entries of a metadata cache image, if there is one, to the places where they belong, and removes the
/// image.
///
/// # Errors
/// Returns `Malformed` if the image is damaged, and the errors of the output.
pub(crate) fn unload(opened: &Opened, space: &Arc<Space>) -> Result<bool> {
    let context = &opened.context;
    let Rest::New { extension: Some(extension), .. } = opened.superblock.rest else { return Ok(false) };
    let object = Object::read(context, extension)?;
    let message =
        object.parse(context, MessageType::CacheImage, |i| cache_image::message(i, context.sizes))?;
    let Some((at, len)) = message.flatten() else { return Ok(false) };
    for patch in patches(context, at, len)? {
        space.write_at(patch.offset, &patch.bytes)?;
    }
    let mut output = Output::new(Target::Edited(space.clone()), context.base);
    let mut header = Header::read(context, extension)?;
    header.take(MessageType::CacheImage);
    header.write(&mut output)?;
    output.free(at, len, Use::Metadata)?;
    Ok(true)
}

/// Returns the patches that a metadata cache image applies to the file.
pub(crate) fn patches(context: &Context, at: Address, len: u64) -> Result<Vec<Patch>> {
    const IMAGE: &str = "metadata cache image";
    let bytes = context.read(IMAGE, at, len)?;
    let entries = locate(IMAGE, context.offset(at), &bytes, |i| cache_image::image(i, context.sizes))?;
    let patch = |entry: &cache_image::CacheEntry<'_>| Patch {
        offset: context.offset(entry.address),
        bytes: entry.bytes.to_vec(),
    };
    Ok(entries.iter().map(patch).collect())
}
