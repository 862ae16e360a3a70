//! Stored chunks, whatever their codec and filters are.

use std::borrow::Cow;

use sciformats_core::arith::sub;
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Result, bound};

use super::{FRAME_HEADER, Frame};
use crate::model::chunk::read_header;
use crate::model::source::Source;
use crate::spec::chunk_header::{ChunkHeader, Special};
use crate::spec::offset::Offset;

/// What is stored for a chunk.
pub(crate) enum StoredChunk<'a> {
    /// Nothing but its kind.
    Nothing(Special),
    /// Its bytes, and the entry of the offsets chunk that refers to them.
    Bytes { offset: u64, source: Source<'a>, header: ChunkHeader },
}

impl StoredChunk<'_> {
    pub(crate) fn special(&self) -> Option<Special> {
        match self {
            Self::Nothing(kind) => Some(*kind),
            Self::Bytes { header, .. } => header.special(),
        }
    }

    /// Returns the bytes that the chunk repeats, if it is a chunk of a kind.
    pub(crate) fn uniform(&self) -> Result<Option<(Special, Vec<u8>)>> {
        let value = |source: &Source<'_>, header: &ChunkHeader| -> Result<Vec<u8>> {
            let size = u64::from(header.size());
            Ok(source.read(size, sub(source.len(), size)?)?.into_owned())
        };
        Ok(match (self.special(), self) {
            (Some(Special::Value), Self::Bytes { source, header, .. }) => {
                Some((Special::Value, value(source, header)?))
            }
            (kind, _) => kind.map(|kind| (kind, Vec::new())),
        })
    }
}

impl Frame {
    /// Returns a stored chunk. Its codec and its filters need not be available.
    pub(crate) fn stored(&self, index: u64) -> Result<StoredChunk<'_>> {
        let offset = match self.offset(index)? {
            Offset::Special(kind) => return Ok(StoredChunk::Nothing(kind)),
            Offset::At(offset) => offset,
        };
        let source = self.source(offset)?;
        let header = read_header(&source)?;
        let fault = |name, kind, at| {
            let at = bound::sum(source.base(), at);
            Err(Fault::new(name, kind).at("chunk header", at))
        };
        let (cbytes, nbytes) = (u64::from(header.cbytes), u64::from(header.nbytes));
        if cbytes > source.len() || cbytes < u64::from(header.size()) {
            return fault(
                "cbytes",
                FaultKind::OutOfBounds { found: cbytes, end: bound::sum(source.len(), 1) },
                12,
            );
        }
        let range = self.chunk_range(index)?;
        let expected = sub(range.end, range.start)?;
        if nbytes != expected {
            return fault("nbytes", FaultKind::Mismatch { expected, found: nbytes }, 4);
        }
        Ok(StoredChunk::Bytes { offset, source: source.cut(cbytes), header })
    }

    /// Returns the stored bytes of a chunk; `None` if nothing but its [kind](Self::special) is stored. Its codec and its filters
    /// need not be available.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk, Special};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[21; 4000])?;
    /// schunk.append_special(Special::Nan, &[], 4000)?;
    /// let frame = Frame::from_bytes(schunk.to_bytes()?)?;
    /// let bytes = frame.stored_bytes(0)?.unwrap_or_default();
    /// assert_eq!(cframe::decompress(&bytes)?, [21; 4000]);
    /// assert!(frame.stored_bytes(1)?.is_none());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if there is no such chunk; `Malformed` if the chunk is not where the offsets say, or is cut short;
    /// `LimitExceeded`; `Io`.
    pub fn stored_bytes(&self, index: u64) -> Result<Option<Cow<'_, [u8]>>> {
        match self.stored(index)? {
            StoredChunk::Nothing(_) => Ok(None),
            StoredChunk::Bytes { source, .. } => {
                self.limits().memory("bytes of the stored chunk", source.len())?;
                source.into_bytes().map(Some)
            }
        }
    }

    /// Checks that chunks of `stored` bytes in all fit the frame without overlapping.
    pub(crate) fn check_stored(&self, stored: u64) -> Result<()> {
        match stored > self.cbytes() && !self.is_sparse() {
            true => Err(Fault::new(
                "compressed size",
                FaultKind::Mismatch { expected: stored, found: self.cbytes() },
            )
            .at(FRAME_HEADER, 39)),
            false => Ok(()),
        }
    }
}
