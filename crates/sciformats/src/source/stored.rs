//! Elements as a file stores them, to be compared or copied without decoding.

use crate::Result;

/// The stored form of the elements of an array.
pub struct Stored<'a> {
    /// How they are stored: what a piece is, and how it is encoded.
    pub how: String,
    /// The number of pieces.
    pub pieces: usize,
    /// The size of the largest piece in bytes, or an upper bound of it.
    pub largest: u64,
    /// Reads consecutive pieces: appends their bytes, and returns for each piece where it belongs, which
    /// parts of `how` do not apply to it, and its number of bytes.
    pub read: ReadStored<'a>,
}

/// See [`Stored`].
pub type ReadStored<'a> =
    Box<dyn Fn(std::ops::Range<usize>, &mut Vec<u8>) -> Result<Vec<StoredPiece>> + Send + Sync + 'a>;

/// See [`Stored`].
pub type StoredPiece = (Vec<u64>, u32, usize);

#[cfg(feature = "hdf5")]
impl<'a> Stored<'a> {
    /// Describes elements that are not in pieces of their own.
    pub(crate) fn elsewhere(how: String) -> Self {
        Self { how, pieces: 0, largest: 0, read: Box::new(|_, _| Ok(Vec::new())) }
    }
}

impl std::fmt::Debug for Stored<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stored").field("how", &self.how).finish_non_exhaustive()
    }
}
