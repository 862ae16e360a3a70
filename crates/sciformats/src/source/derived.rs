//! Elements that are computed from those of another file.

use std::fmt;

use sciformats_core::{Error, Slab, bound};

use crate::model::ObjectId;
use crate::{File, Result};

/// The bytes of the stored elements that are computed at once: few enough to stay in the fastest cache.
const BLOCK: usize = 8 << 10;

/// How the elements of an array are computed from those of an array with the same shape.
pub struct Derived<'a> {
    /// The other file.
    pub file: &'a File,
    /// The array in it.
    pub array: ObjectId,
    /// The size of one of its elements in bytes.
    pub stored: usize,
    /// The size of a computed element in bytes.
    pub size: usize,
    /// Computes elements from the canonical bytes of as many others.
    pub compute: Compute<'a>,
}

/// Computes elements: see [`Derived::compute`].
pub type Compute<'a> = Box<dyn Fn(&[u8], &mut [u8]) -> Result<()> + Sync + 'a>;

impl Derived<'_> {
    /// Reads the stored elements of a selection, and computes those of `out` from them, which must have exactly their size.
    ///
    /// The stored elements are read to the end of `out`, and the others are written over them from its start, a few at a time, while
    /// they are in the cache.
    ///
    /// # Errors
    ///
    /// Those of reading and computing; [`Error::Usage`] if `out` has another size than the selection.
    pub(crate) fn read_into(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        let count = bound::addressable(slab.len());
        let (stored, size) = (bound::product(count, self.stored), bound::product(count, self.size));
        if out.len() != size || self.stored == 0 || self.size == 0 {
            return Err(Error::usage("out", "has another size than the selection"));
        }
        let Some(tail) = size.checked_sub(stored) else {
            let mut bytes = vec![0; stored];
            self.file.read_into(self.array, slab, &mut bytes)?;
            return (self.compute)(&bytes, out);
        };
        self.file.read_into(self.array, slab, out.get_mut(tail..).unwrap_or_default())?;
        let inside = || Error::internal("a block of elements is not inside of the selection");
        let mut block = Vec::new();
        // A computed element is at least as large as a stored one, and the last ones end together, so that none is written over before it
        // was taken from there.
        let mut first = 0;
        while first < count {
            let number = (BLOCK / self.stored).max(1).min(count - first);
            let from = tail + first * self.stored;
            block.clear();
            block.extend_from_slice(out.get(from..from + number * self.stored).ok_or_else(inside)?);
            let place = out.get_mut(first * self.size..(first + number) * self.size).ok_or_else(inside)?;
            (self.compute)(&block, place)?;
            first += number;
        }
        Ok(())
    }
}

impl fmt::Debug for Derived<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Derived").field("file", self.file).field("array", &self.array).finish_non_exhaustive()
    }
}
