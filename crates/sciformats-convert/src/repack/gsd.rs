//! Repacks GSD files chunk by chunk, so that names keep their order and chunks their types. Only unused space is left out.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gsd_rs::{Chunk, CreateOptions, Reader, Version, Writer};
use sciformats_core::WriteAt;
use sciformats_core::arith::increase;
use sciformats_core::bound;
use sciformats_core::storage::{Durability, FileStorage, Scratch};

use super::Input;
use crate::sink::{Filters, WriteOptions, gsd, refuse_options};
use sciformats::{Error, File, Format, Result};

pub(super) fn rewrite(
    (file, input): (&File, Input<'_>),
    output: &Path,
    options: &WriteOptions,
    cancel: Option<&AtomicBool>,
) -> Result<()> {
    refuse_options(Format::Gsd, options, Filters::Meaningless)?;
    let reader = open(input, file)?;
    let header = reader.header();
    let (application, schema) = (header.application.to_text(), header.schema.to_text());
    let create = CreateOptions::new(application, schema, header.schema_version);
    let create = match header.version {
        old if old < Version::new(2, 0) => create.with_layer(Version::new(1, 0)),
        _ => create,
    };
    let scratch = Scratch::beside(output)?;
    let path = scratch.path().to_owned();
    let mut writer = Writer::create(&path, &create)?;
    writer.set_durability(Durability::Process);
    // A damaged frame number may claim any number of empty frames, so these are not written one by one.
    let mut frame = 0;
    for chunk in reader.all_chunks() {
        let chunk = chunk?;
        let empty = chunk.frame.checked_sub(frame);
        let empty = empty.ok_or_else(|| {
            Error::unsupported("repacking a file whose chunks are not in the order of frames")
        })?;
        writer.end_frames(empty)?;
        frame = chunk.frame;
        copy((file, &reader), &chunk, (&mut writer, &path), cancel)?;
    }
    writer.end_frame()?;
    writer.finish()?;
    scratch.finish(Durability::Process)
}

/// Returns how the structures of the new file differ from those of the old one.
pub(super) fn changes((old, new): (Input<'_>, Input<'_>), of: &File) -> Result<Vec<String>> {
    let (old, new) = (open(old, of)?, open(new, of)?);
    let (from, to) = (old.header().version, new.header().version);
    Ok(if from == to { Vec::new() } else { vec![format!("is of layer {from}, which becomes {to}")] })
}

fn open(input: Input<'_>, of: &File) -> Result<Reader> {
    let read = gsd_rs::OpenOptions::default().with_limits(*of.limits()).with_access(of.options().access);
    match input {
        Input::Path(path) => Reader::open_with(path, &read),
        Input::Storage(storage) => Reader::from_storage(Arc::clone(storage), &read),
    }
}

fn copy(
    (file, reader): (&File, &Reader),
    chunk: &Chunk<'_>,
    to: (&mut Writer, &Path),
    cancel: Option<&AtomicBool>,
) -> Result<()> {
    let interrupted = || match cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
        true => Err(Error::io("repack", std::io::ErrorKind::Interrupted.into())),
        false => Ok(()),
    };
    interrupted()?;
    let Chunk { name, element, n, m, .. } = *chunk;
    let size = chunk.size().ok_or_else(|| Error::unsupported(format!("an element of the type {element}")))?;
    let (writer, path) = to;
    if size <= gsd::SMALL && m > 0 {
        let bytes = reader.read_bytes(chunk, 0..n)?;
        file.count_read(size);
        return writer.write_bytes(name, element, m, &bytes);
    }
    let region = gsd::reserve(writer, (name, element), (n, m))?;
    let mut storage = FileStorage::edit(path)?;
    let at_once = (gsd::SMALL / (size / n.max(1)).max(1)).max(1);
    let (mut row, mut at) = (0, region.location);
    while row < n {
        interrupted()?;
        let next = bound::sum(row, at_once).min(n);
        let bytes = reader.read_bytes(chunk, row..next)?;
        storage.write_at(at, &bytes)?;
        increase(&mut at, bytes.len() as u64)?;
        file.count_read(bytes.len() as u64);
        row = next;
    }
    Ok(())
}
