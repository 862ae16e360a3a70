//! Bytes that Python owns and that are read in place.

use std::borrow::Cow;

use pyo3::pybacked::PyBackedBytes;
use sciformats::storage::check_range;
use sciformats::{ReadAt, Result};

/// A `bytes` object, which is kept alive while a file is read from it.
pub(crate) struct Buffer(pub(crate) PyBackedBytes);

impl ReadAt for Buffer {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        let end = check_range(self.size(), offset, len as u64)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX); // a bound: both are inside of bytes in memory
        let end = usize::try_from(end).unwrap_or(usize::MAX); // likewise a bound
        Ok(Cow::Borrowed(self.0.get(start..end).unwrap_or_default()))
    }

    fn as_slice(&self) -> Option<&[u8]> {
        Some(&self.0)
    }
}
