//! Elements as a file stores them, to be compared or copied without decoding.

use sciformats_core::endian::ByteOrder;

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

/// Where a file stores all elements of an array one after another, so that other programs can read them without this library.
/// The elements are numbers of the same size as in canonical bytes, or opaque bytes.
///
/// ```
/// use sciformats::{File, Source};
///
/// let bytes = npy::to_bytes(&[3], &[1u16, 2, 300])?;
/// let file = File::from_bytes(bytes.clone())?;
/// let extent = file.source().extent(file.source().root())?.unwrap();
/// assert_eq!((extent.length, extent.compression), (6, None));
/// let at = extent.offset as usize;
/// assert_eq!(bytes[at..at + 6], [1, 0, 2, 0, 0x2c, 1]);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The offset of the first byte in the file.
    pub offset: u64,
    /// The number of stored bytes, which all lie within the file.
    pub length: u64,
    /// The byte order of the numbers.
    pub order: ByteOrder,
    /// Whether the first dimension varies fastest, instead of the last one.
    pub columns: bool,
    /// How the bytes are compressed as a whole: `zlib` or `bz2`.
    pub compression: Option<&'static str>,
}

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
