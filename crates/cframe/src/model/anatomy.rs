//! The parts of a frame, for programs that show or check them.

use std::collections::HashSet;
use std::ops::Range;

use sciformats_core::arith::add;
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, Result, bound};

use super::chunk::Chunk;
use super::frame::FRAME_HEADER;
use super::frame::{Frame, chunk_file};
use crate::spec::chunk_header::Special;
use crate::spec::offset::Offset;
use crate::spec::value::Value;

/// The byte ranges of a frame, counted from its first byte. In a sparse frame, they are those of the index file.
///
/// ```
/// use cframe::{Frame, Params, SChunk};
///
/// let mut schunk = SChunk::new(Params::new(4));
/// schunk.append(&[7; 4000])?;
/// let anatomy = Frame::from_bytes(schunk.to_bytes()?)?.anatomy();
/// assert_eq!(anatomy.header.end, anatomy.chunks.start);
/// assert_eq!(anatomy.offsets.end, anatomy.trailer.start);
/// assert!(anatomy.behind.is_empty());
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anatomy {
    /// The header including the metalayers.
    pub header: Range<u64>,
    /// The chunks and the holes between them. The range is empty in a sparse frame.
    pub chunks: Range<u64>,
    /// The offsets chunk. The range is empty if there are no chunks.
    pub offsets: Range<u64>,
    /// The trailer including the metalayers of variable length.
    pub trailer: Range<u64>,
    /// Bytes of the storage after the frame, which do not belong to it.
    pub behind: Range<u64>,
}

/// The place of a chunk.
///
/// ```
/// use cframe::{ChunkPlace, Frame, Params, SChunk, Special};
///
/// let mut schunk = SChunk::new(Params::new(4));
/// schunk.append(&[7; 4000])?;
/// schunk.append_special(Special::Zeros, &[], 4000)?;
/// let frame = Frame::from_bytes(schunk.to_bytes()?)?;
/// assert_eq!(frame.chunk_place(0)?, ChunkPlace::At(frame.anatomy().chunks.start));
/// assert_eq!(frame.chunk_place(1)?, ChunkPlace::Nowhere(Special::Zeros));
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkPlace {
    /// In the frame, at this offset.
    At(u64),
    /// In a file with this name in the folder of a sparse frame.
    File(String),
    /// Nowhere, because nothing is stored but its kind.
    Nowhere(Special),
}

impl Frame {
    /// Returns the byte ranges of the frame's parts.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// # let mut schunk = SChunk::new(Params::new(4));
    /// # schunk.append(&[7; 4000])?;
    /// # let bytes = schunk.to_bytes()?;
    /// let frame = Frame::from_bytes(bytes)?;
    /// assert_eq!(frame.anatomy().header, 0..u64::from(frame.header().header_len));
    /// assert_eq!(frame.anatomy().trailer.end, frame.frame_len());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn anatomy(&self) -> Anatomy {
        let header_end = u64::from(self.header().header_len);
        let index = self.index_range();
        let trailer_at = self.trailer_start();
        let offsets = if self.chunks() == 0 { trailer_at..trailer_at } else { index.start..trailer_at };
        Anatomy {
            header: 0..header_end,
            chunks: header_end.min(offsets.start)..offsets.start,
            offsets,
            trailer: trailer_at..index.end,
            behind: index.end..self.storage_len().max(index.end),
        }
    }

    /// Returns where a chunk is.
    ///
    /// ```
    /// use cframe::{ChunkPlace, Frame, Params, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("frames");
    /// let mut schunk = SChunk::create_sparse(&path, Params::new(4))?;
    /// schunk.append(&[7; 4000])?;
    /// schunk.commit()?;
    /// assert_eq!(Frame::open(&path)?.chunk_place(0)?, ChunkPlace::File("00000000.chunk".to_owned()));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if there is no such chunk; those of the offsets chunk.
    pub fn chunk_place(&self, index: u64) -> Result<ChunkPlace> {
        Ok(match self.offset(index)? {
            Offset::Special(kind) => ChunkPlace::Nowhere(kind),
            Offset::At(number) if self.is_sparse() => ChunkPlace::File(chunk_file(number)),
            Offset::At(position) => ChunkPlace::At(add(position, self.header().header_len.into())?),
        })
    }

    /// Returns all chunks in order.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// # let mut schunk = SChunk::new(Params::new(4));
    /// # for day in 1..=3 { schunk.append(&[day; 4000])?; }
    /// # let bytes = schunk.to_bytes()?;
    /// let frame = Frame::from_bytes(bytes)?;
    /// let mut first = Vec::new();
    /// for chunk in frame.iter() {
    ///     first.push(chunk?.decode()?[0]);
    /// }
    /// assert_eq!(first, [1, 2, 3]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = Result<Chunk<'_>>> {
        (0..self.chunks()).map(|index| self.chunk(index))
    }

    /// Returns the value of a metalayer that is encoded as `MessagePack`.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.set_metalayer_value("units", &"K".into())?;
    /// let frame = Frame::from_bytes(schunk.to_bytes()?)?;
    /// assert_eq!(frame.metalayer_value("units")?.as_str(), Some("K"));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotFound`; `Malformed` if its bytes are not such a value.
    pub fn metalayer_value(&self, name: &str) -> Result<Value> {
        Value::from_msgpack(self.metalayer(name).ok_or_else(|| Error::not_found("metalayer", name))?)
    }

    /// Returns the value of a metalayer of variable length that is encoded as `MessagePack`.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk, Value};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.set_vlmeta_value("station", &Value::Map(vec![("height".into(), 412.5.into())]))?;
    /// let frame = Frame::from_bytes(schunk.to_bytes()?)?;
    /// let station = frame.vlmeta_value("station")?;
    /// assert_eq!(station.get("height").and_then(Value::as_f64), Some(412.5));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`vlmeta`](Self::vlmeta); `Malformed` if its bytes are not such a value.
    pub fn vlmeta_value(&self, name: &str) -> Result<Value> {
        Value::from_msgpack(&self.vlmeta(name)?)
    }

    /// Decodes every block of every chunk and every metalayer, checks all sizes, and reports each fault.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(1));
    /// for text in ["a week in May", "a week in June"] {
    ///     schunk.append(text.repeat(100).as_bytes())?;
    /// }
    /// let mut bytes = schunk.to_bytes()?;
    /// let chunks = Frame::from_bytes(bytes.clone())?.anatomy().chunks;
    /// bytes[chunks.start as usize + 36] = 255; // a size inside the first chunk
    /// let mut faults = Vec::new();
    /// Frame::from_bytes(bytes)?.check(&mut |error| faults.push(error));
    /// assert_eq!(faults.len(), 1);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn check(&self, visit: &mut dyn FnMut(Error)) {
        let names: Vec<&str> = self.vlmeta_names().collect();
        names.into_iter().filter_map(|name| self.vlmeta(name).err()).for_each(&mut *visit);
        let (mut total, mut known) = (0u64, true);
        // Several chunks may be at the same place, and are decoded once. All of them together are not larger than the frame.
        let mut seen = HashSet::new();
        for index in 0..self.chunks() {
            let checked = match (self.offset(index), self.expected_size(index)) {
                (Ok(Offset::Special(_)), Some(size)) => Ok(size.into()),
                (offset, _) => self.chunk(index).and_then(|chunk| {
                    let size = chunk.nbytes() as u64;
                    let again = matches!(offset, Ok(Offset::At(place)) if !seen.insert(place));
                    if !again && bound::sum(total, size) <= self.nbytes() {
                        chunk.check()?;
                    }
                    Ok(size)
                }),
            };
            match checked {
                Ok(size) => total = bound::sum(total, size),
                Err(error) => {
                    known = false;
                    visit(error);
                }
            }
        }
        if known && total != self.nbytes() {
            let kind = FaultKind::Mismatch { expected: total, found: self.nbytes() };
            visit(Fault::new("uncompressed size", kind).at(FRAME_HEADER, 29));
        }
    }
}
