//! Bytes in memory.

use std::borrow::Cow;

use super::{ReadAt, WriteAt, check_range};
use crate::error::{Error, Result};

impl ReadAt for [u8] {
    fn size(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        slice(self, offset, len).map(Cow::Borrowed)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        Some(self)
    }
}

impl ReadAt for Vec<u8> {
    fn size(&self) -> u64 {
        self.as_slice().len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        slice(self, offset, len).map(Cow::Borrowed)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        Some(self)
    }
}

/// Returns `len` bytes of `bytes` at `offset`.
pub(super) fn slice(bytes: &[u8], offset: u64, len: usize) -> Result<&[u8]> {
    let end = check_range(bytes.len() as u64, offset, len as u64)?;
    // The checked range is inside a slice, so it fits `usize`, and `get` succeeds.
    Ok(bytes.get(offset as usize..end as usize).unwrap_or_default())
}

impl WriteAt for Vec<u8> {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let end = offset.checked_add(bytes.len() as u64).and_then(|end| usize::try_from(end).ok());
        let end = end.ok_or_else(|| Error::io("write", std::io::ErrorKind::FileTooLarge.into()))?;
        if end > self.len() {
            self.resize(end, 0);
        }
        if let Some(target) = self.get_mut(offset as usize..end) {
            target.copy_from_slice(bytes);
        }
        Ok(())
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        let too_large = || Error::io("resize", std::io::ErrorKind::FileTooLarge.into());
        self.resize(usize::try_from(size).map_err(|_| too_large())?, 0);
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}
