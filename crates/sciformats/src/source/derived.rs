//! Elements that are computed from those of another file.

use std::fmt;

use crate::model::ObjectId;
use crate::{File, Result};

/// How the elements of an array are computed from those of an array with the same shape.
pub struct Derived<'a> {
    /// The other file.
    pub file: &'a File,
    /// The array in it.
    pub array: ObjectId,
    /// Replaces the contents of a buffer by the elements that are computed from the canonical bytes of some of the others.
    pub compute: Compute<'a>,
}

/// Computes elements: see [`Derived::compute`].
pub type Compute<'a> = Box<dyn Fn(&[u8], &mut Vec<u8>) -> Result<()> + 'a>;

impl fmt::Debug for Derived<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Derived").field("file", self.file).field("array", &self.array).finish_non_exhaustive()
    }
}
