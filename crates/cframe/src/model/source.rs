//! The bytes of a chunk: a range of some storage, which is borrowed or owned.

use std::borrow::Cow;
use std::sync::Arc;

use sciformats_core::arith::add;
use sciformats_core::storage::check_range;
use sciformats_core::{ReadAt, Result, bound};

/// A range of a storage.
#[derive(Clone)]
pub(crate) struct Source<'a> {
    storage: Holder<'a>,
    base: u64,
    len: u64,
}

#[derive(Clone)]
enum Holder<'a> {
    Bytes(&'a [u8]),
    Storage(&'a dyn ReadAt),
    Shared(Arc<dyn ReadAt>),
}

impl<'a> Source<'a> {
    /// Returns all of `bytes` as a source.
    pub(crate) fn bytes(bytes: &'a [u8]) -> Self {
        Self { storage: Holder::Bytes(bytes), base: 0, len: bytes.len() as u64 }
    }

    /// Returns `len` bytes of `storage`, beginning at `base`, or as many as exist.
    pub(crate) fn range(storage: &'a dyn ReadAt, base: u64, len: u64) -> Self {
        let len = bound::left(storage.size(), base).min(len);
        match storage.as_slice().and_then(|all| part(all, base, len)) {
            // If the bytes are in memory, no further calls are necessary.
            Some(bytes) => Self { storage: Holder::Bytes(bytes), base, len },
            None => Self { storage: Holder::Storage(storage), base, len },
        }
    }

    /// Does the same as [`range`](Self::range), for a storage that others share.
    pub(crate) fn shared(storage: Arc<dyn ReadAt>, base: u64, len: u64) -> Self {
        let len = bound::left(storage.size(), base).min(len);
        Self { storage: Holder::Shared(storage), base, len }
    }

    /// Returns the position of the first byte in its file.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the first `len` bytes only.
    pub(crate) fn cut(self, len: u64) -> Self {
        Self { len: self.len.min(len), ..self }
    }

    /// Reads `len` bytes at position `at` of the range.
    pub(crate) fn read(&self, at: u64, len: u64) -> Result<Cow<'_, [u8]>> {
        let size = bound::addressable(len);
        match &self.storage {
            Holder::Bytes(bytes) => {
                let bytes: &[u8] = bytes;
                match part(bytes, at, len).filter(|_| at.checked_add(len).is_some_and(|end| end <= self.len))
                {
                    Some(part) => Ok(Cow::Borrowed(part)),
                    None => Err(self.beyond(at, len)),
                }
            }
            Holder::Storage(storage) => {
                check_range(self.len, at, len).map_err(|_| self.beyond(at, len))?;
                storage.read_at(add(self.base, at)?, size)
            }
            Holder::Shared(storage) => {
                check_range(self.len, at, len).map_err(|_| self.beyond(at, len))?;
                storage.read_at(add(self.base, at)?, size)
            }
        }
    }

    /// Reads all bytes.
    pub(crate) fn into_bytes(self) -> Result<Cow<'a, [u8]>> {
        let (base, len) = (self.base, self.len);
        let size = bound::addressable(len);
        match self.storage.clone() {
            Holder::Bytes(bytes) => part(bytes, 0, len).map(Cow::Borrowed).ok_or_else(|| self.beyond(0, len)),
            Holder::Storage(storage) => storage.read_at(base, size),
            Holder::Shared(storage) => Ok(Cow::Owned(storage.read_at(base, size)?.into_owned())),
        }
    }

    /// Returns all bytes, if they are in memory.
    pub(crate) fn as_slice(&self) -> Option<&[u8]> {
        match &self.storage {
            Holder::Bytes(bytes) => part(bytes, 0, self.len),
            Holder::Storage(_) => None,
            Holder::Shared(storage) => storage.as_slice().and_then(|all| part(all, self.base, self.len)),
        }
    }

    fn beyond(&self, at: u64, len: u64) -> sciformats_core::Error {
        let end = bound::sum(self.base, self.len);
        match check_range(end, bound::sum(self.base, at), len) {
            Err(error) => error,
            Ok(_) => sciformats_core::Fault::from(sciformats_core::FaultKind::Truncated).at("file", end),
        }
    }
}

fn part(bytes: &[u8], at: u64, len: u64) -> Option<&[u8]> {
    let start = usize::try_from(at).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(len).ok()?)?)
}
