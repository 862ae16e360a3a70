//! Elements as a file has them, to be compared or copied without decoding.

use crate::Result;

/// The elements of an array as they are stored.
pub struct Stored<'a> {
    /// How they are stored: what a piece is, and what was done to it.
    pub how: String,
    /// How many pieces there are.
    pub pieces: usize,
    /// No piece has more bytes.
    pub largest: u64,
    /// Reads pieces that follow each other: appends their bytes, and tells of each where it belongs, what of `how` does not
    /// hold for it, and how many bytes it has.
    pub read: ReadStored<'a>,
}

/// See [`Stored`].
pub type ReadStored<'a> =
    Box<dyn Fn(std::ops::Range<usize>, &mut Vec<u8>) -> Result<Vec<StoredPiece>> + Send + Sync + 'a>;

/// See [`Stored`].
pub type StoredPiece = (Vec<u64>, u32, usize);

#[cfg(feature = "hdf5")]
impl<'a> Stored<'a> {
    /// How elements are stored that are in no pieces of their own.
    pub(crate) fn elsewhere(how: String) -> Self {
        Self { how, pieces: 0, largest: 0, read: Box::new(|_, _| Ok(Vec::new())) }
    }
}

impl std::fmt::Debug for Stored<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stored").field("how", &self.how).finish_non_exhaustive()
    }
}
