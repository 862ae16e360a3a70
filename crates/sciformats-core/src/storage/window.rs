//! A part of another storage, with offsets from its own start.

use std::borrow::Cow;
use std::ops::Range;

use super::{Purpose, ReadAt, check_range};
use crate::error::Result;

/// The `len` bytes of `S` at `start`, for example a file after a user block, or a file inside a file.
///
/// ```
/// use sciformats_core::ReadAt;
/// use sciformats_core::storage::Window;
///
/// let window = Window::new(b"header, payload".to_vec(), 8, 7)?;
/// assert_eq!(*window.read_at(0, 7)?, *b"payload");
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Window<S> {
    storage: S,
    start: u64,
    len: u64,
}

impl<S: ReadAt> Window<S> {
    /// Creates a window, which must be inside the storage.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`](crate::Error::Malformed) if it is not.
    pub fn new(storage: S, start: u64, len: u64) -> Result<Self> {
        check_range(storage.size(), start, len)?;
        Ok(Self { storage, start, len })
    }

    /// Returns the storage of which this is a part.
    pub fn into_inner(self) -> S {
        self.storage
    }
}

impl<S: ReadAt> ReadAt for Window<S> {
    fn size(&self) -> u64 {
        self.len
    }

    // The window is inside the storage, so a range that is checked against its length is inside too.
    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        check_range(self.len, offset, len as u64)?;
        self.storage.read_at(self.start + offset, len)
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        check_range(self.len, offset, out.len() as u64)?;
        self.storage.read_into(self.start + offset, out)
    }

    fn read_with<'a>(&'a self, offset: u64, len: usize, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        check_range(self.len, offset, len as u64)?;
        self.storage.read_with(self.start + offset, len, buffer)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        let start = usize::try_from(self.start).ok()?;
        let end = usize::try_from(self.start.checked_add(self.len)?).ok()?;
        self.storage.as_slice()?.get(start..end)
    }

    fn read_ahead(&self) -> u64 {
        self.storage.read_ahead()
    }

    fn prefetch(&self, ranges: &[Range<u64>], purpose: Purpose) -> Result<()> {
        let shifted = |range: &Range<u64>| {
            let place = |at: u64| self.start + at.min(self.len);
            place(range.start)..place(range.end)
        };
        self.storage.prefetch(&ranges.iter().map(shifted).collect::<Vec<_>>(), purpose)
    }
}
