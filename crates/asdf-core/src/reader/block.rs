//! Blocks of an open file.

use std::borrow::Cow;
use std::fmt;

use sciformats_core::arith::{add, fit};
use sciformats_core::fault::FaultKind;
use sciformats_core::limits::within;
use sciformats_core::storage::zeroed;
use sciformats_core::{Fault, Result, bound};

use super::Asdf;
use crate::codec::{self, Compression};
use crate::model::layout::BlockEntry;
use crate::pieces;

/// Blocks of at least this size are decoded while they are read. For smaller blocks, another thread costs more than it saves.
const OVERLAPPED: u64 = 1 << 20;

/// A block of an open file.
///
/// ```
/// use asdf_core::{Checksum, Compression};
///
/// # let mut document = asdf_core::Document::new();
/// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
/// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
/// let block = file.block(0)?;
/// assert_eq!((block.compression(), block.stored_size(), block.data_size()), (Compression::None, 24, 24));
/// assert_eq!(block.checksum()?, Checksum::Stored);
/// assert_eq!(block.data()?[..4], 1.0f32.to_ne_bytes());
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Block<'a> {
    pub(super) file: &'a Asdf,
    pub(super) index: usize,
    pub(super) entry: BlockEntry,
}

impl fmt::Debug for Block<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("index", &self.index).field("entry", &self.entry).finish()
    }
}

/// The result of checking a block's checksum.
///
/// ```
/// use asdf_core::{Asdf, Checksum};
///
/// # let mut document = asdf_core::Document::new();
/// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
/// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
/// let mut bytes = document.to_bytes()?;
/// let at = file.block(0)?.entry().data_offset() as usize;
/// bytes[at] ^= 1; // a flipped bit
/// assert_eq!(file.block(0)?.checksum()?, Checksum::Stored);
/// assert_eq!(Asdf::from_bytes(bytes)?.block(0)?.checksum()?, Checksum::Wrong);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// There is no checksum, or the block is streamed.
    Absent,
    /// The checksum is that of the stored bytes, as the standard requires.
    Stored,
    /// The checksum is that of the decoded bytes, as older writers computed it.
    Decoded,
    /// The checksum is that of neither, so it or the block is damaged.
    Wrong,
}

impl<'a> Block<'a> {
    /// Returns its index.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns its header and its position.
    pub fn entry(&self) -> BlockEntry {
        self.entry
    }

    /// Returns how it is compressed.
    pub fn compression(&self) -> Compression {
        Compression::from_label(self.entry.header.compression.0)
    }

    /// Returns the number of stored bytes.
    pub fn stored_size(&self) -> u64 {
        self.entry.stored
    }

    /// Returns the number of bytes after decoding.
    pub fn data_size(&self) -> u64 {
        self.entry.data_size()
    }

    /// Returns its bytes as they are stored.
    ///
    /// ```
    /// use asdf_core::{Asdf, Compression, Document};
    ///
    /// let mut document = Document::new();
    /// document.add_block(vec![7; 1000], Compression::Zlib);
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert!(file.block(0)?.stored()?.len() < 100);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`; `LimitExceeded` if this machine cannot address as many bytes.
    pub fn stored(&self) -> Result<Cow<'a, [u8]>> {
        let size = within("bytes of a block", self.entry.stored, u64::MAX)?;
        self.file.storage.read_at(self.entry.data_offset(), size)
    }

    /// Returns its decoded data.
    ///
    /// ```
    /// use asdf_core::{Asdf, Compression, Document};
    ///
    /// let mut document = Document::new();
    /// document.add_block(vec![7; 1000], Compression::Zlib);
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(*file.block(0)?.data()?, [7; 1000]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the decoded bytes do not have the declared size; `Unsupported`, `LimitExceeded`, `Io`.
    pub fn data(&self) -> Result<Cow<'a, [u8]>> {
        if self.compression() == Compression::None { self.stored() } else { self.decode().map(Cow::Owned) }
    }

    pub(super) fn decode(&self) -> Result<Vec<u8>> {
        let size =
            self.file.options.limits.memory("bytes of the decoded block", self.entry.header.data_size)?;
        let (storage, at) = (&*self.file.storage, self.entry.data_offset());
        if let Some(error) = self.compression().obstacle() {
            return Err(codec::DecodeError::Unsupported(error).at(at));
        }
        let mut out = zeroed(size)?;
        let threads = self.file.options.thread_count();
        let is_large = self.entry.stored >= OVERLAPPED && !cfg!(target_family = "wasm");
        if is_large && threads > 1 && storage.as_slice().is_none() && self.compression().is_stream() {
            let decoded = pieces::overlapped(storage, at..add(at, self.entry.stored)?, |stored| {
                codec::decode_stream(self.compression(), stored, &mut out, threads)
            })?;
            decoded.map_err(|error| error.at(at))?;
            return Ok(out);
        }
        codec::decode(self.compression(), &self.stored()?, &mut out, threads)
            .map_err(|error| error.at(at))?;
        Ok(out)
    }

    /// Decodes the data piece by piece. A piece has at most 1 MiB, so that a block can be larger than the memory. Blosc is the
    /// exception: it needs all of a block at once.
    ///
    /// ```
    /// use asdf_core::{Asdf, Compression, Document};
    ///
    /// let mut document = Document::new();
    /// document.add_block(vec![7; 3_000_000], Compression::Lz4);
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// let mut sum = 0;
    /// file.block(0)?.for_each_piece(|piece| {
    ///     sum += piece.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    ///     Ok(())
    /// })?;
    /// assert_eq!(sum, 21_000_000);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// An error of `take` ends the work and is returned. Otherwise the errors are those of [`data`](Self::data). If there is an
    /// error, the pieces before it may be wrong as well.
    pub fn for_each_piece(&self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (storage, at) = (&*self.file.storage, self.entry.data_offset());
        if !self.compression().is_read_in_pieces() {
            return take(&self.data()?);
        }
        let (size, range) = (self.data_size(), at..add(at, self.entry.stored)?);
        if let Some(error) = self.compression().obstacle() {
            return Err(codec::DecodeError::Unsupported(error).at(at));
        }
        if cfg!(target_family = "wasm") {
            return codec::decode_pieces(self.compression(), &mut &*self.stored()?, (size, at), &mut take);
        }
        pieces::overlapped(storage, range, |stored| {
            codec::decode_pieces(self.compression(), stored, (size, at), &mut take)
        })?
    }

    /// Compares the checksum with the stored bytes, and if they differ with the decoded ones.
    ///
    /// ```
    /// use asdf_core::Checksum;
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.block(0)?.checksum()?, Checksum::Stored);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`. If a block cannot be decoded, this is not an error, and the checksum counts as wrong.
    pub fn checksum(&self) -> Result<Checksum> {
        let expected = self.entry.header.checksum;
        if expected == [0; 16] || self.entry.header.is_streamed() {
            return Ok(Checksum::Absent);
        }
        if self.md5_of_stored()? == expected {
            return Ok(Checksum::Stored);
        }
        if self.compression() != Compression::None {
            let mut sum = codec::Md5Sum::default();
            let decoded = self.for_each_piece(|piece| {
                sum.update(piece);
                Ok(())
            });
            if decoded.is_ok() && sum.finish() == expected {
                return Ok(Checksum::Decoded);
            }
        }
        Ok(Checksum::Wrong)
    }

    /// The block is read in pieces, because it may be larger than the memory.
    fn md5_of_stored(&self) -> Result<[u8; 16]> {
        const PIECE: u64 = 1 << 20;
        let mut sum = codec::Md5Sum::default();
        let mut at = self.entry.data_offset();
        let end = add(at, self.entry.stored)?;
        while at < end {
            let size = PIECE.min(end - at);
            sum.update(&self.file.storage.read_at(at, fit(size, "length of a piece")?)?);
            at += size;
        }
        Ok(sum.finish())
    }

    /// Fails if the checksum is wrong.
    ///
    /// ```
    /// use asdf_core::Asdf;
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// # let mut bytes = document.to_bytes()?;
    /// # let at = file.block(0)?.entry().data_offset() as usize;
    /// bytes[at] ^= 1; // a flipped bit in the data of the block
    /// assert!(Asdf::from_bytes(bytes)?.block(0)?.check().is_err());
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed`, with the first halves of both checksums; `Io`.
    pub fn check(&self) -> Result<Checksum> {
        match self.checksum()? {
            Checksum::Wrong => {
                let half = |sum: [u8; 16]| sum.first_chunk::<8>().map_or(0, |half| u64::from_be_bytes(*half));
                let kind = FaultKind::Checksum {
                    stored: half(self.entry.header.checksum),
                    computed: half(self.md5_of_stored()?),
                };
                Err(Fault::new("checksum", kind).at("block header", bound::sum(self.entry.offset, 38)))
            }
            right => Ok(right),
        }
    }
}
