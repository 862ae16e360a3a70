//! What is left of a frame that was cut short.
//!
//! The index of the chunks and the trailer are at the end of a frame, so a cut removes them first. The header of each chunk
//! contains the length of the chunk. The chunks can therefore be found one after another, from the first one to the cut.

use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, ReadAt, Result};

use super::Frame;
use crate::model::chunk::{Chunk, PLAIN, read_header};
use crate::model::offsets::Offsets;
use crate::model::source::Source;
use crate::spec::frame_header::ChunkSize;

/// What is left of a frame that was cut short, or whose end is damaged.
///
/// ```
/// use cframe::{Frame, OpenOptions, Params, SChunk};
///
/// # let data = |n: u32| (n..n + 1000).flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
/// # let mut schunk = SChunk::new(Params::new(4).with_level(0));
/// # (0..4).try_for_each(|n| schunk.append(&data(n)).map(drop))?;
/// let mut bytes = schunk.to_bytes()?; // four chunks
/// bytes.truncate(bytes.len() * 3 / 4);
/// assert!(Frame::from_bytes(bytes.clone()).is_err());
///
/// let frame = Frame::from_bytes_with(bytes, &OpenOptions::default().with_rescue(true))?;
/// let left = frame.rescued().ok_or(cframe::Error::not_found("cut", "frame"))?;
/// assert_eq!((frame.chunks(), left.chunks), (4, 3));
/// for index in 0..left.chunks {
///     assert_eq!(frame.chunk(index)?.decode()?, data(index as u32));
/// }
/// assert!(frame.chunk(3).unwrap_err().to_string().contains("cut short"));
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rescued {
    /// The number of bytes that the frame had, according to its header.
    pub whole: u64,
    /// The number of bytes up to which something of it was found.
    pub found: u64,
    /// The chunks with smaller numbers can be read. If the index was found, some of them may be missing.
    pub chunks: u64,
    /// How the numbers of these chunks are known.
    pub places: Places,
}

/// How the numbers of the chunks are known in a frame that was cut short. A frame does not store chunks that contain only zeros,
/// and only its index says which these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Places {
    /// The index was found.
    Indexed,
    /// There are as many chunks in the file as the frame has, so each chunk has its number, unless chunks were rewritten.
    Counted,
    /// The chunks are assumed to be the first ones of the frame. If a chunk is missing because it contained only zeros, the
    /// chunks after it have wrong numbers.
    Assumed,
    /// Some chunks were not stored, and it cannot be known any more which they are, so that none can be read. In the folder of
    /// a sparse frame, it cannot be known which file has which chunk.
    Unknown,
}

impl Frame {
    /// Returns what is left of the frame, if it was opened for [rescue](crate::OpenOptions::rescue) and was cut short or has a
    /// damaged end; `None` if the frame is complete.
    pub fn rescued(&self) -> Option<Rescued> {
        self.rescued
    }

    /// Finds the chunks of a frame whose trailer could not be read.
    pub(super) fn rescue(&mut self) -> Result<()> {
        let (whole, limits) = (self.header.frame_len, self.context.limits);
        let expected = self.expected_chunks();
        if let Some(offsets) = self.index_without_trailer(expected)? {
            let chunks = offsets.len();
            let found = self.storage.size().min(whole);
            self.offsets = offsets;
            self.rescued = Some(Rescued { whole, found, chunks, places: Places::Indexed });
            return Ok(());
        }
        if self.is_sparse() {
            // Only the index says which file has which chunk.
            let found = self.storage.size().min(whole);
            self.offsets = Offsets::walked(Vec::new(), expected.unwrap_or(0)); // a bound
            self.rescued = Some(Rescued { whole, found, chunks: 0, places: Places::Unknown });
            return Ok(());
        }
        let (mut at, mut end) = (Vec::new(), 0u64);
        while end < self.header.cbytes && expected.is_none_or(|expected| (at.len() as u64) < expected) {
            let Some(size) = self.whole_chunk(end, at.len() as u64)? else { break };
            at.push(end);
            limits.items("chunks", at.len() as u64)?;
            let next = end.checked_add(size);
            end = next.ok_or_else(|| Fault::new("cbytes", FaultKind::Overflow).at("chunk header", end))?;
        }
        let stored = at.len() as u64;
        let places = match expected {
            Some(expected) if end == self.header.cbytes && stored == expected => Places::Counted,
            Some(_) if end == self.header.cbytes => Places::Unknown,
            _ => Places::Assumed,
        };
        if places == Places::Unknown {
            at.clear();
        }
        let found = u64::from(self.header.header_len).checked_add(end);
        let found = found.map_or(whole, |found| found.min(whole));
        let rescued = Rescued { whole, found, chunks: at.len() as u64, places };
        self.offsets = Offsets::walked(at, expected.unwrap_or(stored));
        self.rescued = Some(rescued);
        Ok(())
    }

    /// Returns the error for a chunk that does not exist any more.
    pub(super) fn lost(&self, rescued: Rescued) -> Error {
        // A storage may claim to have more bytes than it has.
        let found = if self.storage.size() < rescued.whole { self.storage.size() } else { rescued.found };
        match rescued.places {
            Places::Unknown => {
                let rule = "has lost its index, and it is not known which chunks were not stored";
                Fault::new("frame", FaultKind::Rule(rule)).at("file", found)
            }
            _ => Fault::from(FaultKind::Cut { found, whole: rescued.whole }).at("file", found),
        }
    }

    /// Returns the index if only the trailer is missing.
    fn index_without_trailer(&self, expected: Option<u64>) -> Result<Option<Offsets>> {
        let Some(len) = self.storage.size().min(self.header.frame_len).checked_sub(self.offsets_at) else {
            return Ok(None);
        };
        let source = Source::shared(self.storage.clone(), self.offsets_at, len);
        let index = read_header(&source).and_then(|header| {
            self.probe(self.offsets_at, header.cbytes.into())?;
            let chunk = Chunk::open(source, &PLAIN)?;
            Offsets::new(chunk, self.offsets_at, expected, &self.context.limits)
        });
        match index {
            Ok(offsets) => Ok(Some(offsets)),
            Err(error) => unless_missing(error).map(|()| None),
        }
    }

    /// Returns the size of the chunk at `at` after the header, if it is complete and can be chunk `index`.
    fn whole_chunk(&self, at: u64, index: u64) -> Result<Option<u64>> {
        let found = self.source(at).and_then(|source| {
            let header = read_header(&source)?;
            self.probe(source.base(), header.cbytes.into())?;
            Ok(header)
        });
        let header = match found {
            Ok(header) => header,
            Err(error) => return unless_missing(error).map(|()| None),
        };
        let fits = self.expected_size(index).is_none_or(|expected| expected == header.nbytes)
            && header.cbytes >= header.size();
        Ok(fits.then_some(header.cbytes.into()))
    }

    /// Fails if the last of `len` bytes from `at` on is missing, because a storage may claim to have more bytes than it has.
    fn probe(&self, at: u64, len: u64) -> Result<()> {
        let last = at.checked_add(len).and_then(|end| end.checked_sub(1));
        let last = last.ok_or_else(|| Fault::new("cbytes", FaultKind::Overflow).at("chunk header", at))?;
        self.storage.read_at(last, 1).map(drop)
    }

    /// Returns the number of chunks, if they all have the same size.
    fn expected_chunks(&self) -> Option<u64> {
        match self.header.chunksize {
            ChunkSize::Fixed(size) => Some(self.header.nbytes.div_ceil(u64::from(size.max(1)))),
            ChunkSize::Variable | ChunkSize::Unknown => None,
        }
    }
}

/// Returns errors that have other causes than missing or wrong bytes.
pub(super) fn unless_missing(error: Error) -> Result<()> {
    if matches!(error, Error::Malformed { .. } | Error::Unsupported { .. }) { Ok(()) } else { Err(error) }
}
