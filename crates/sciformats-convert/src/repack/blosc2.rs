//! Repacks Blosc2 frames. Whatever no option changes is stored as it was, including the bytes of the chunks.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cframe::{ChunkSize, Frame, Repack};
use sciformats_core::bound;

use crate::sink::WriteOptions;
use sciformats::formats::blosc2::{self, Parts};
use sciformats::{Error, File, Format, Result};

/// The level that chunks get if the old ones were stored without compression.
const LEVEL: u8 = 5;

pub(super) fn rewrite(
    file: &File,
    output: &Path,
    options: &WriteOptions,
    cancel: Option<Arc<AtomicBool>>,
) -> Result<()> {
    crate::sink::refuse_bound(Format::Blosc2, options)?;
    let parts = blosc2::parts(file.source());
    let parts = parts.ok_or_else(|| Error::unsupported("repacking a file that is not a Blosc2 frame"))?;
    let frame = parts.frame;
    let mut repack = cancel.map_or_else(Repack::new, |cancel| Repack::new().with_cancel(cancel));
    if let Some(word) = &options.filter {
        repack = repack.with_codec(crate::sink::blosc2_codec(word)?);
    }
    if let Some(level) = level(frame, options)? {
        repack = repack.with_level(level);
    }
    if let Some(chunks) = &options.chunks {
        repack = with_chunks(repack, &parts, chunks)?;
    }
    if options.filter.is_some() || options.level.is_some() || options.chunks.is_some() {
        // All elements are going to be decoded, so they count towards the limit.
        let array = file.array("/")?;
        let shape = array.info().shape.as_deref().unwrap_or_default();
        let elements = sciformats_core::slab::elements(shape).unwrap_or(u64::MAX); // a bound
        file.writing().add(elements, array.info())?;
    }
    repack.frame(frame, output)
}

fn level(frame: &Frame, options: &WriteOptions) -> Result<Option<u8>> {
    let level = options.level.map(|level| u8::try_from(level).ok().filter(|&level| level <= 9));
    Ok(match (options.filter.as_deref(), level) {
        (_, Some(None)) => return Err(Error::usage("level", "must be between 0 and 9")),
        (Some("none"), _) => Some(0),
        (_, Some(level)) => level,
        (Some(_), None) if frame.level() == 0 => Some(LEVEL),
        _ => None,
    })
}

fn with_chunks(repack: Repack, parts: &Parts<'_>, chunks: &[u64]) -> Result<Repack> {
    let dimensions = parts.array.map_or(1, |array| array.shape().len());
    if chunks.len() > dimensions {
        let problem = format!("have {} dimensions, but the array has {dimensions}", chunks.len());
        return Err(Error::usage("chunks", problem));
    }
    let Some(array) = parts.array else {
        let Some(&items) = chunks.first() else { return Ok(repack) };
        if parts.frame.chunk_size() == ChunkSize::Variable {
            return Err(Error::unsupported("changing the chunks of a frame whose chunks vary in size"));
        }
        let bytes = u32::try_from(bound::product(items, parts.size))
            .map_err(|_| Error::usage("chunks", "have more than 2^32 bytes"))?;
        return Ok(repack.with_chunk_bytes(bytes));
    };
    let named = chunks.iter().copied().map(Some).chain(std::iter::repeat(None));
    let axes = array.shape().iter().zip(array.chunk_shape()).zip(named);
    let cut = axes.map(|((&length, &old), named)| match named {
        // An array without elements can still grow.
        Some(chunk) if length == 0 => chunk,
        None if length == 0 => old,
        Some(chunk) => chunk.min(length),
        None => length,
    });
    Ok(repack.with_chunks(&cut.collect::<Vec<_>>()))
}
