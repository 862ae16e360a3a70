//! External files, and the elements that they hold.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sciformats_core::arith::{increase, sub};
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::storage::Access;
use sciformats_core::{Error, ReadAt, Result, Slab, bound};

use crate::dataset::read::{Content, Reader, runs};
use crate::file::open::Opened;
use crate::heap::local::Names;
use crate::space::context::Context;
use crate::spec::Name;
use crate::spec::message::MessageType;
use crate::spec::message::external_files::{ExternalFiles, Slot};

/// Returns the path of the file that `opened` calls `name` in a link or as a source, or `None` if there is no such file. As in the
/// C library, an absolute name belongs to a file that may have been moved together with this one, so its last part is also looked up
/// beside this file. The folders of a relative name must exist.
///
/// # Errors
/// Returns `Forbidden` if the file exists but the caller does not allow opening it.
pub(crate) fn find(opened: &Opened, name: &[u8]) -> Result<Option<PathBuf>> {
    let name = named(name)?;
    // (`is_absolute` is never true in WebAssembly.)
    let last = name.file_name().map(Path::new).filter(|_| name.has_root());
    opened.options.external.find(opened.folder(), &[name, last.unwrap_or(name)])
}

/// Works like [`find`], for a file that has elements. Another file of that name is not taken for it.
///
/// # Errors
/// Returns the errors of [`find`].
pub(crate) fn find_elements(opened: &Opened, name: &[u8]) -> Result<Option<PathBuf>> {
    opened.options.external.find(opened.folder(), &[named(name)?])
}

#[cfg(unix)]
fn named(name: &[u8]) -> Result<&Path> {
    use std::os::unix::ffi::OsStrExt;
    Ok(Path::new(std::ffi::OsStr::from_bytes(name)))
}

#[cfg(not(unix))]
fn named(name: &[u8]) -> Result<&Path> {
    let name = std::str::from_utf8(name);
    name.map(Path::new).map_err(|_| Error::unsupported("the name of an external file that is not UTF-8"))
}

/// The purpose of the file in error messages.
const WHAT: &str = "external file";

/// A range of the elements, and the file that holds it.
struct Part<'n> {
    /// The first byte, and the byte after the last.
    start: u64,
    end: u64,
    /// The offset of the first byte in the file.
    offset: u64,
    name: &'n [u8],
    storage: Option<Arc<dyn ReadAt>>,
}

impl Part<'_> {
    /// Reads bytes from `from` on, as far as they are in this part, and returns their number. Bytes beyond the end of
    /// the file are zero, as in the C library.
    fn read(&mut self, opened: &Opened, from: u64, out: &mut [u8]) -> Result<()> {
        let storage = match &mut self.storage {
            Some(storage) => storage,
            none => none.insert(reached(opened, self.name)?),
        };
        // This saturates: an offset that no file can reach is beyond the end of this file too.
        let at = bound::sum(self.offset, sub(from, self.start)?);
        let there = bound::addressable(bound::left(storage.size(), at)).min(out.len());
        let (stored, beyond) = out.split_at_mut(there);
        if !beyond.is_empty() {
            let wanted = bound::sum(stored.len(), beyond.len()) as u64;
            opened.missing(too_short(self.name, storage.size(), bound::sum(at, wanted)))?;
            beyond.fill(0);
        }
        if stored.is_empty() { Ok(()) } else { storage.read_into(at, stored) }
    }
}

/// Returns the names, the offsets of the first bytes, and the sizes of the files. A file that may grow has no size.
pub(crate) fn list(context: &Context, files: &ExternalFiles) -> Result<Vec<(Name, u64, Option<u64>)>> {
    let names = Names::open(context, files.heap)?;
    let slot = |slot: &Slot| Ok((names.get(slot.name)?.into(), slot.offset, slot.size));
    files.slots.iter().map(slot).collect()
}

/// Checks that all external files of a dataset exist, may be opened, and are long enough.
///
/// # Errors
/// Returns an error for the first file that is missing or may not be opened, and for the first one that is too short, unless
/// missing elements are accepted.
pub(crate) fn reach(opened: &Opened, content: &Content) -> Result<()> {
    let Some(files) = &content.storage()?.external else { return Ok(()) };
    let names = Names::open(&opened.context, files.heap)?;
    let elements = content.dataspace.elements().unwrap_or(u64::MAX); // a bound
    let mut left = bound::product(elements, content.datatype.size.into());
    for slot in &files.slots {
        let size = slot.size.unwrap_or(u64::MAX).min(left); // a bound
        if size == 0 {
            continue;
        }
        let name = names.get(slot.name)?;
        let (len, end) = (reached(opened, name)?.size(), bound::sum(slot.offset, size));
        if len < end {
            opened.missing(too_short(name, len, end))?;
        }
        left = bound::left(left, size);
    }
    Ok(())
}

/// Returns the error for an external file that ends before its elements do.
fn too_short(name: &[u8], len: u64, end: u64) -> Error {
    let problem = format!("is cut short: it has {len} bytes, but its elements extend to byte {end}");
    Error::missing(WHAT, String::from_utf8_lossy(name), problem)
}

/// Opens the external file `name`. Its elements are read once, so no pages of it are kept.
fn reached(opened: &Opened, name: &[u8]) -> Result<Arc<dyn ReadAt>> {
    let missing = || Error::missing(WHAT, String::from_utf8_lossy(name), "does not exist");
    opened.options.external.open(&find_elements(opened, name)?.ok_or_else(missing)?, Access::direct())
}

/// Reads elements that lie in external files, one part after another.
pub(crate) fn read(reader: &Reader<'_>, files: &ExternalFiles, slab: &Slab, out: &mut [u8]) -> Result<()> {
    let opened = reader.opened;
    let names = Names::open(&opened.context, files.heap)?;
    let mut parts = Vec::new();
    let mut start = 0u64;
    for slot in &files.slots {
        // The last file may have no limit.
        let end = bound::sum(start, slot.size.unwrap_or(u64::MAX)); // a bound
        parts.push(Part { start, end, offset: slot.offset, name: names.get(slot.name)?, storage: None });
        start = end;
    }
    let size = reader.element();
    runs(slab, size, out, |mut from, mut out| {
        for part in &mut parts {
            let room = bound::addressable(bound::left(part.end, from)).min(out.len());
            if out.is_empty() || from < part.start || room == 0 {
                continue;
            }
            let (now, later) = out.split_at_mut(room);
            part.read(opened, from, now)?;
            increase(&mut from, room as u64)?;
            out = later;
        }
        if out.is_empty() {
            return Ok(());
        }
        let kind = FaultKind::OutOfBounds { found: bound::sum(from, out.len() as u64), end: start };
        let fault = Fault::new("the end of the elements", kind);
        Err(opened.context.fault(MessageType::ExternalFiles.name(), reader.content.address, fault))
    })
}
