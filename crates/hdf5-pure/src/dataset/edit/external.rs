//! Writes elements in external files. They wait in memory, and are written and synced before the commit.
//!
//! External files have no journal. If the process is interrupted while they are written, they hold some of the new
//! elements.

use std::path::PathBuf;

use sciformats_core::arith::{add, fit, present, sub};
use sciformats_core::storage::FileStorage;
use sciformats_core::{Error, Result, WriteAt, bound};

use crate::dataset::external;
use crate::file::open::Opened;
use crate::heap::local::Names;
use crate::spec::message::external_files::ExternalFiles;

/// The external files of a dataset, and the bytes to be written to them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outer {
    parts: Vec<Part>,
    waiting: Vec<(u64, Vec<u8>)>,
}

/// A range of the elements' bytes, and the file that holds it.
#[derive(Clone, Debug)]
struct Part {
    start: u64,
    end: u64,
    offset: u64,
    path: PathBuf,
}

fn no_space() -> Error {
    Error::usage("elements", "lie beyond the space that the dataset has in its external files")
}

/// Returns the offset of the byte with this number in the file of a part.
fn position(part: &Part, byte: u64) -> Result<u64> {
    part.offset.checked_add(sub(byte, part.start)?).ok_or_else(no_space)
}

impl Outer {
    /// Finds the files.
    ///
    /// # Errors
    /// Returns [`Error::Forbidden`] if the files may not be opened, and [`Error::Missing`] if one does not exist.
    pub(crate) fn open(opened: &Opened, files: &ExternalFiles) -> Result<Self> {
        let names = Names::open(&opened.context, files.heap)?;
        let mut parts = Vec::new();
        let mut start = 0u64;
        for slot in &files.slots {
            let name = names.get(slot.name)?;
            let path = external::find_elements(opened, name)?;
            let path = path.ok_or_else(|| {
                Error::missing("external file", String::from_utf8_lossy(name), "does not exist")
            })?;
            // This saturates, because no file has bytes beyond the largest offset.
            let end = slot.size.map_or(u64::MAX, |size| bound::sum(start, size));
            parts.push(Part { start, end, offset: slot.offset, path });
            start = end;
        }
        Ok(Self { parts, waiting: Vec::new() })
    }

    /// Checks that the files have space for the first `end` bytes of the elements.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if they have not.
    pub(crate) fn check(&self, end: u64) -> Result<()> {
        if self.parts.last().is_none_or(|part| part.end < end) {
            return Err(no_space());
        }
        // The last byte of a part has an offset too.
        let mut parts = self.parts.iter().filter(|part| part.start < end.min(part.end));
        parts.try_for_each(|part| position(part, end.min(part.end)).map(drop))
    }

    /// Takes bytes of elements to be written; `at` counts from the first element. They must have passed [`check`](Self::check).
    pub(crate) fn put(&mut self, at: u64, bytes: &[u8]) {
        self.waiting.push((at, bytes.to_vec()));
    }

    /// Writes what was taken.
    ///
    /// # Errors
    /// Returns `Io`; some of the elements may have been written.
    pub(crate) fn write(&mut self) -> Result<()> {
        for part in &self.parts {
            let mut file: Option<FileStorage> = None;
            for (at, bytes) in &self.waiting {
                let end = add(*at, bytes.len() as u64)?;
                let (low, high) = (part.start.max(*at), part.end.min(end));
                if low >= high {
                    continue;
                }
                let within = |position: u64| fit::<usize, _>(sub(position, *at)?, "place of elements");
                let piece = present(bytes.get(within(low)?..within(high)?), "elements of a file")?;
                let file = match &mut file {
                    Some(file) => file,
                    none => none.insert(FileStorage::edit(&part.path)?),
                };
                file.write_at(position(part, low)?, piece)?;
            }
            file.map_or(Ok(()), |mut file| file.sync())?;
        }
        self.waiting.clear();
        Ok(())
    }
}
