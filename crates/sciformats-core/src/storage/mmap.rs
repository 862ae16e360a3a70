//! A file mapped into memory: opening costs the same for every size, and stored bytes are borrowed.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use super::{ReadAt, memory};
use crate::error::{Error, Result};

/// A read-only memory map of a whole file.
///
/// The map shows the file as it is: bytes that another process overwrites change under the reader, and if the file
/// is cut shorter, reading past its new end ends the process with `SIGBUS`. Map files that nobody truncates; use
/// [`FileStorage`](super::FileStorage) for the others.
#[derive(Debug)]
pub struct Mapped(memmap2::Mmap);

impl Mapped {
    /// Maps the file at `path`.
    ///
    /// # Errors
    /// `Io`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|e| Error::io("open", e).in_file(path, None))?;
        Self::of(&file).map_err(|e| e.in_file(path, None))
    }

    /// Maps an open file, which may be closed afterwards.
    ///
    /// # Errors
    /// `Io`.
    #[allow(unsafe_code)]
    pub fn of(file: &File) -> Result<Self> {
        // SAFETY: the map is read-only and owned by the returned value, so no Rust reference outlives it. What the type
        // system cannot rule out is another process changing the file; the type's documentation says what happens then.
        // Reading changed bytes is a race on plain `u8`s with a writer outside the program, which every user of mapped
        // files accepts; all parsers behind it check bounds on the slice and cannot be led outside.
        unsafe { memmap2::Mmap::map(file) }.map(Self).map_err(|e| Error::io("map", e))
    }
}

impl ReadAt for Mapped {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        memory::slice(&self.0, offset, len).map(Cow::Borrowed)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        Some(&self.0)
    }
}
