//! A storage in the state after some of its bytes have been overwritten.

use std::borrow::Cow;
use std::ops::Range;

use super::{Purpose, ReadAt, check_range};
use crate::error::Result;
use crate::{arith, bound};

/// Bytes that replace those of a storage at `offset`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The position of the bytes.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Another storage, which is truncated or extended to `len`, and in which patches replace bytes. Other bytes are those of the
/// storage.
///
/// ```
/// use sciformats_core::ReadAt;
/// use sciformats_core::storage::{Overlay, Patch};
///
/// let patches = vec![Patch { offset: 4, bytes: b"new".to_vec() }];
/// let overlay = Overlay::new(b"the old text".to_vec(), 12, patches);
/// assert_eq!(*overlay.read_at(0, 12)?, *b"the new text");
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Overlay<S> {
    storage: S,
    len: u64,
    patches: Vec<Patch>,
}

impl<S: ReadAt> Overlay<S> {
    /// Applies `patches` to `storage` in their order. Bytes after the end of the storage that are not in a patch are zeros.
    pub fn new(storage: S, len: u64, patches: Vec<Patch>) -> Self {
        Self { storage, len, patches }
    }

    /// Returns the other storage.
    pub fn into_inner(self) -> S {
        self.storage
    }

    /// Returns the patches that overlap `offset .. end`, each with its position in the range and its part of the bytes.
    fn touching(&self, offset: u64, end: u64) -> impl Iterator<Item = (usize, &[u8])> {
        self.patches.iter().filter_map(move |patch| {
            let from = patch.offset.max(offset);
            let to = bound::sum(patch.offset, patch.bytes.len() as u64).min(end);
            let part = |position: u64, base: u64| usize::try_from(position.checked_sub(base)?).ok();
            let bytes = patch.bytes.get(part(from, patch.offset)?..part(to, patch.offset)?)?;
            (!bytes.is_empty()).then_some((part(from, offset)?, bytes))
        })
    }

    fn is_untouched(&self, offset: u64, end: u64) -> bool {
        end <= self.storage.size() && self.touching(offset, end).next().is_none()
    }
}

impl<S: ReadAt> ReadAt for Overlay<S> {
    fn size(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        let end = check_range(self.len, offset, len as u64)?;
        if self.is_untouched(offset, end) {
            return self.storage.read_at(offset, len);
        }
        let mut out = super::zeroed(len)?;
        self.read_into(offset, &mut out)?;
        Ok(Cow::Owned(out))
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let end = check_range(self.len, offset, out.len() as u64)?;
        let stored = self.storage.size().clamp(offset, end) - offset;
        let (below, beyond) = out.split_at_mut(bound::addressable(stored).min(out.len()));
        if !below.is_empty() {
            self.storage.read_into(offset, below)?;
        }
        beyond.fill(0);
        for (start, bytes) in self.touching(offset, end) {
            let target = out.get_mut(start..).and_then(|rest| rest.get_mut(..bytes.len()));
            arith::present(target, "place of a patch")?.copy_from_slice(bytes);
        }
        Ok(())
    }

    fn as_slice(&self) -> Option<&[u8]> {
        self.is_untouched(0, self.len)
            .then(|| self.storage.as_slice()?.get(..usize::try_from(self.len).ok()?))
            .flatten()
    }

    fn read_ahead(&self) -> u64 {
        self.storage.read_ahead()
    }

    fn prefetch(&self, ranges: &[Range<u64>], purpose: Purpose) -> Result<()> {
        self.storage.prefetch(ranges, purpose)
    }
}
