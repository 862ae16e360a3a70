//! Writing a file into an object store, as a whole or not at all.

use std::io;
use std::sync::{Mutex, PoisonError};

use object_store::{MultipartUpload, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use sciformats_core::storage::zeroed;
use sciformats_core::{Error, ReadAt, Result, bound};

use super::object::Place;
use crate::options::RemoteOptions;
use crate::remote::Existing;

/// The smallest length of a part in bytes. Files that are not longer are written by one request.
const PART: u64 = 8 << 20;

/// The largest number of parts; S3 permits 10,000.
const PARTS: u64 = 9000;

/// The number of parts that are sent at the same time. Each of them is in memory.
const AT_ONCE: usize = 8;

/// Writes a file, which appears in the store when all of it has arrived.
pub(crate) fn upload(
    file: &(impl ReadAt + ?Sized),
    address: &str,
    options: &RemoteOptions,
    existing: Existing,
) -> Result<()> {
    let place = Place::new(address, options)?;
    let size = file.size();
    if size <= PART {
        return at_once(file, &place, existing);
    }
    if existing == Existing::Refused && exists(&place)? {
        return Err(place.named(occupied()));
    }
    let multipart = place.wait(place.store.put_multipart(&place.key))?;
    let length = size.div_ceil(PARTS).max(PART).next_multiple_of(1 << 20);
    let upload = Mutex::new(Upload { multipart, next: 0 });
    let sent = send(&place, (file, length), &upload);
    let mut upload = upload.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut last = None;
    let done = sent.and_then(|()| {
        // Parts take long, and somebody else may have written the file meanwhile.
        if existing == Existing::Refused && exists(&place)? {
            return Err(place.named(occupied()));
        }
        last = Some(place.failures());
        place.wait(upload.multipart.complete()).map(drop)
    });
    if let Err(error) = done {
        let failed = last.is_some_and(|before| place.failures() > before);
        // The parts that arrived are not part of any file, and are deleted now or by the rules of the store.
        let _ = place.wait(upload.multipart.abort());
        return despite(failed, file, &place, error);
    }
    let found = place.wait(place.store.head(&place.key))?;
    if found.size != size {
        let text = "the store has another file than the one that was written";
        return Err(place.named(Error::io("write", io::Error::new(io::ErrorKind::InvalidData, text))));
    }
    Ok(())
}

/// Writes a short file by one request.
fn at_once(file: &(impl ReadAt + ?Sized), place: &Place, existing: Existing) -> Result<()> {
    let bytes = file.read_at(0, bound::addressable(file.size()))?.into_owned();
    let mode = match existing {
        Existing::Refused => PutMode::Create,
        Existing::Replaced => PutMode::Overwrite,
    };
    let put = place.store.put_opts(&place.key, bytes.into(), PutOptions::from(mode));
    place.wait(put).map(drop).or_else(|error| despite(place.failures() > 0, file, place, error))
}

/// Returns the error of the request that makes the file. If an attempt `failed` for the moment, the store may have fulfilled it although its
/// answer was lost, and may have refused to do so again. It has then the file, byte for byte, and there is no error.
fn despite(failed: bool, file: &(impl ReadAt + ?Sized), place: &Place, error: Error) -> Result<()> {
    if failed && matches!(has(place, file), Ok(true)) { Ok(()) } else { Err(error) }
}

/// Returns whether the store has the same bytes as a file.
fn has(place: &Place, file: &(impl ReadAt + ?Sized)) -> Result<bool> {
    let (size, version) = place.state()?;
    if size != file.size() {
        return Ok(false);
    }
    let mut start = 0;
    while start < size {
        let end = bound::sum(start, PART).min(size);
        let stored = place.bytes(start..end, &version)?;
        if *file.read_at(start, bound::addressable(end - start))? != *stored {
            return Ok(false);
        }
        start = end;
    }
    Ok(true)
}

/// Returns whether there is a file at an address.
pub(crate) fn is_occupied(address: &str, options: &RemoteOptions) -> Result<bool> {
    exists(&Place::new(address, options)?)
}

fn exists(place: &Place) -> Result<bool> {
    match place.wait(place.store.head(&place.key)) {
        Ok(_) => Ok(true),
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the error for a file that exists and must not be replaced.
pub(super) fn occupied() -> Error {
    let text = "the file exists already in the store";
    Error::io("write", io::Error::new(io::ErrorKind::AlreadyExists, text))
}

struct Upload {
    multipart: Box<dyn MultipartUpload>,
    /// The offset of the next part.
    next: u64,
}

/// Sends all parts, several at the same time. The first error ends it.
fn send(place: &Place, (file, length): (&(impl ReadAt + ?Sized), u64), upload: &Mutex<Upload>) -> Result<()> {
    let size = file.size();
    let work = || -> Result<()> {
        loop {
            let part = {
                let mut upload = upload.lock().unwrap_or_else(PoisonError::into_inner);
                let (start, end) = (upload.next, bound::sum(upload.next, length).min(size));
                if start >= end {
                    return Ok(());
                }
                let mut bytes = zeroed(bound::addressable(end - start))?;
                file.read_into(start, &mut bytes)?;
                upload.next = end;
                upload.multipart.put_part(PutPayload::from(bytes))
            };
            place.wait(part).inspect_err(|_| {
                upload.lock().unwrap_or_else(PoisonError::into_inner).next = size;
            })?;
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (1..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let own = work();
        workers.into_iter().fold(own, |outcome, worker| match worker.join() {
            Ok(other) => outcome.and(other),
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}
