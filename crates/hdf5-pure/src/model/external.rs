//! Files beside the file, and elements that they hold.

use std::path::{Path, PathBuf};

use sciformats_core::storage::FileStorage;
use sciformats_core::{ReadAt, Result, Slab};

use super::open::Opened;
use super::read::{Reader, runs};
use super::symbols::Names;
use crate::spec::message::external_files::ExternalFiles;

/// The path of the file called `name` by `opened`; `None` if there is none.
///
/// # Errors
/// `Usage` if the caller allowed no other files.
pub(crate) fn find(opened: &Opened, name: &[u8]) -> Result<Option<PathBuf>> {
    let Ok(name) = std::str::from_utf8(name) else { return Ok(None) };
    let name = Path::new(name);
    // A name that leads elsewhere may mean a file that was moved here.
    let last = name.file_name().map(Path::new);
    opened.options.external.find(opened.folder(), &[name, last.unwrap_or(name)])
}

/// Reads elements that lie in external files, one part after another; what no file holds reads as the fill value.
pub(crate) fn read(reader: &Reader<'_>, files: &ExternalFiles, slab: &Slab, out: &mut [u8]) -> Result<()> {
    let opened = reader.opened;
    let names = Names::open(&opened.context, files.heap)?;
    let mut parts = Vec::new();
    let mut start = 0u64;
    for slot in &files.slots {
        let path = find(opened, names.get(slot.name)?)?;
        let storage = path.map(FileStorage::open).transpose()?;
        let size = slot.size.unwrap_or(u64::MAX);
        let end = start.saturating_add(size);
        parts.push((start, end, slot.offset, storage));
        start = end;
    }
    reader.fill(out)?;
    let size = usize::try_from(reader.content.datatype.size).unwrap_or(usize::MAX);
    runs(slab, size, out, |from, out| {
        let to = from.saturating_add(out.len() as u64);
        for (start, end, offset, storage) in &parts {
            let Some(storage) = storage else { continue };
            // What the part, the request and the file have in common.
            let stored = start.saturating_add(storage.len().saturating_sub(*offset));
            let (low, high) = (from.max(*start), to.min(*end).min(stored));
            let range = usize::try_from(low.saturating_sub(from))
                .ok()
                .zip(usize::try_from(high.saturating_sub(from)).ok());
            if low < high
                && let Some(part) = range.and_then(|(low, high)| out.get_mut(low..high))
            {
                storage.read_into(offset.saturating_add(low.saturating_sub(*start)), part)?;
            }
        }
        Ok(())
    })
}
