//! Repacks npy and RawArray files, which contain one array. Whatever no option names stays the same, byte for byte.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sciformats_core::arith::increase;
use sciformats_core::storage::{Durability, Replacement};
use sciformats_core::{ReadAt, WriteAt, bound};

use super::Input;
use crate::sink::{Filters, WriteOptions, refuse_options};
use sciformats::{Error, File, Format, Result};

/// The number of bytes that are copied at once.
const AT_ONCE: u64 = 4 << 20;

/// Repacks an npy file. The elements keep their type, even if the common tree does not have it, their byte order, and the order
/// of their dimensions.
pub(super) fn npy(
    (file, input): (&File, Input<'_>),
    output: &Path,
    options: &WriteOptions,
    cancel: Option<&AtomicBool>,
) -> Result<()> {
    refuse_options(Format::Npy, options, Filters::Meaningless)?;
    let read = npy::OpenOptions::default().with_limits(*file.limits()).with_access(file.options().access);
    let reader = match input {
        Input::Path(path) => npy::Reader::open_with(path, &read)?,
        Input::Storage(storage) => npy::Reader::from_storage(Arc::clone(storage), &read)?,
    };
    copy(file, reader.stored(), output, cancel)
}

/// Repacks a RawArray file. The elements keep their type and byte order, even if `options` names another encoding.
#[cfg(feature = "rawarray")]
pub(super) fn rawarray(
    (file, input): (&File, Input<'_>),
    output: &Path,
    options: &WriteOptions,
    cancel: Option<&AtomicBool>,
) -> Result<()> {
    refuse_options(Format::RawArray, options, Filters::Possible)?;
    let read =
        rawarray::OpenOptions::default().with_limits(*file.limits()).with_access(file.options().access);
    let reader = match input {
        Input::Path(path) => rawarray::Reader::open_with(path, &read)?,
        Input::Storage(storage) => rawarray::Reader::from_storage(Arc::clone(storage), &read)?,
    };
    let encoding = match options.filter {
        None => reader.encoding(),
        Some(_) => crate::sink::rawarray::encoding(options)?,
    };
    if encoding == reader.encoding() {
        return copy(file, reader.stored(), output, cancel);
    }
    if reader.element().kind() != reader.header().eltype {
        return Err(Error::unsupported("changing the encoding of elements of an unknown kind"));
    }
    // Changing the encoding reads all elements, so they count towards the limit.
    let array = file.array("/")?;
    file.unfolding().add(reader.len(), array.info())?;
    let how = rawarray::WriteOptions::default().with_encoding(encoding).with_byte_order(reader.byte_order());
    let metadata = reader.metadata()?;
    let writer = rawarray::Writer::new(reader.dims()).with_options(how).with_metadata(&metadata);
    let bytes = reader.read_bytes()?;
    file.count_read(bytes.len() as u64);
    writer.write_bytes(output, reader.element(), &bytes)
}

fn copy(file: &File, from: &dyn ReadAt, output: &Path, cancel: Option<&AtomicBool>) -> Result<()> {
    let mut to = Replacement::create(output)?;
    let (size, mut at) = (from.size(), 0);
    while at < size {
        if cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Err(Error::io("repack", std::io::ErrorKind::Interrupted.into()));
        }
        let bytes = from.read_at(at, bound::addressable(bound::left(size, at).min(AT_ONCE)))?;
        to.write_at(at, &bytes)?;
        file.count_read(bytes.len() as u64);
        increase(&mut at, bytes.len() as u64)?;
    }
    to.finish(Durability::Process)
}
