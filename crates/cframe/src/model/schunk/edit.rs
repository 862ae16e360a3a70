//! Changes of the list of chunks.

use std::ops::Range;
use std::sync::Arc;

use sciformats_core::arith::{add, fit, increase, present, sub};
use sciformats_core::{Error, Result, bound};

use super::metalayers::block_bytes;
use super::{SChunk, described};
use crate::model::chunk::{Chunk, read_header};
use crate::model::compress::{compress, compress_blocks, special};
use crate::model::layout::{Entry, Place};
use crate::model::params::Params;
use crate::model::source::Source;
use crate::spec::chunk_header::Special;
use crate::spec::frame_header::{FrameHeader, Varying};

/// The chunks and metalayers of a super-chunk before an edit that may fail.
pub(crate) struct Edited {
    entries: Option<Vec<Entry>>,
    header: FrameHeader,
    changed: bool,
}

/// The chunks that an edit has replaced so far, which are put back if it fails.
pub(crate) struct Replaced {
    /// `None` if all chunks were those of the base.
    entries: Option<Vec<(u64, Entry)>>,
    changed: bool,
}

impl SChunk {
    /// Changes how new chunks are compressed. The type size stays, and so does the size of the blocks of an array, because other
    /// readers find its elements by it.
    ///
    /// ```
    /// use cframe::{Codec, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[1; 4000])?;
    /// schunk.set_params(Params::new(4).with_codec(Codec::Zlib).with_level(9));
    /// schunk.append(&[2; 4000])?;
    /// assert_eq!((schunk.chunk(0)?.codec(), schunk.chunk(1)?.codec()), (Codec::Lz4, Codec::Zlib));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn set_params(&mut self, params: Params) {
        let blocksize = block_bytes(&self.header).unwrap_or(params.blocksize);
        self.params = Params { typesize: self.params.typesize, blocksize, ..params };
        self.header = described(&self.header, &self.params);
        self.changed = true;
    }

    /// Overwrites decoded bytes, beginning at byte `start`. The chunks that contain them are compressed again, and blocks that vary in
    /// length keep their lengths. If this fails, all bytes are as they were before.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(1));
    /// schunk.append(b"a week in May")?;
    /// schunk.write_bytes(10, b"Dec")?;
    /// assert_eq!(schunk.chunk(0)?.decode()?, b"a week in Dec");
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the range is not inside the super-chunk; those of reading and compressing.
    pub fn write_bytes(&mut self, start: u64, bytes: &[u8]) -> Result<()> {
        let end = start.checked_add(bytes.len() as u64).filter(|&end| end <= self.nbytes());
        let Some(end) = end else {
            return Err(Error::usage(
                "range",
                format!("is not inside the {} bytes that exist", self.nbytes()),
            ));
        };
        self.all_or_none(|schunk, replaced| schunk.write_within(start..end, bytes, replaced))
    }

    fn write_within(&mut self, range: Range<u64>, bytes: &[u8], replaced: &mut Replaced) -> Result<()> {
        let Range { start: mut at, end } = range;
        let mut rest = bytes;
        while at < end {
            let index = self.chunk_at(at)?;
            let range = self.chunk_range(index)?;
            let len = fit(sub(range.end.min(end), at)?, "bytes of a chunk")?;
            let split = rest.split_at_checked(len).filter(|_| len > 0);
            let (piece, after) = present(split, "bytes of a chunk")?;
            if piece.len() as u64 == sub(range.end, range.start)? {
                self.replace(index, piece, replaced)?;
            } else {
                let mut whole = self.chunk(index)?.decode()?;
                let skip: usize = fit(sub(at, range.start)?, "place in a chunk")?;
                let target = whole.get_mut(skip..add(skip, piece.len())?);
                present(target, "place in a chunk")?.copy_from_slice(piece);
                self.replace(index, &whole, replaced)?;
            }
            increase(&mut at, piece.len() as u64)?;
            rest = after;
        }
        Ok(())
    }

    /// Overwrites items, beginning at item `first`.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[0; 400])?;
    /// schunk.write_items(7, &281.5f32.to_le_bytes())?;
    /// assert_eq!(schunk.read_items(7, 1)?, 281.5f32.to_le_bytes());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if `bytes` are not whole items; those of [`write_bytes`](Self::write_bytes).
    pub fn write_items(&mut self, first: u64, bytes: &[u8]) -> Result<()> {
        let size = u64::from(self.typesize());
        if !(bytes.len() as u64).is_multiple_of(size) {
            return Err(Error::usage("bytes", format!("are not whole items of {size} bytes")));
        }
        let start = first
            .checked_mul(size)
            .ok_or_else(|| Error::usage("first", "is too large, because the position exceeds 2^64 bytes"))?;
        self.write_bytes(start, bytes)
    }

    /// Compresses `data`, and appends it as a chunk.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// for day in 0..3u8 {
    ///     schunk.append(&[day; 4000])?;
    /// }
    /// assert_eq!((schunk.chunks(), schunk.nbytes()), (3, 12_000));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of compressing.
    pub fn append(&mut self, data: &[u8]) -> Result<()> {
        self.insert(self.chunks(), data)
    }

    /// Compresses `data`, and inserts it as a chunk before chunk `index`, or at the end.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[2; 4000])?;
    /// schunk.insert(0, &[1; 4000])?;
    /// assert_eq!((schunk.chunk(0)?.decode()?[0], schunk.chunk(1)?.decode()?[0]), (1, 2));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of compressing; `Usage` if `index` is larger than the number of chunks.
    pub fn insert(&mut self, index: u64, data: &[u8]) -> Result<()> {
        let chunk = self.compressed(data)?;
        self.insert_chunk(index, chunk)
    }

    /// Inserts a compressed chunk before chunk `index`, or at the end.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let chunk = cframe::compress(&[21; 4000], &Params::new(4))?; // perhaps on another thread
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.insert_chunk(schunk.chunks(), chunk)?;
    /// assert_eq!(schunk.chunk(0)?.decode()?, [21; 4000]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Chunk::new`]; `Usage` if `index` is larger than the number of chunks.
    pub fn insert_chunk(&mut self, index: u64, chunk: Vec<u8>) -> Result<()> {
        if index > self.chunks() {
            return Err(self.past_the_end(index));
        }
        let varies = varies(&chunk)?;
        let entry = self.entry(chunk)?;
        let at = bound::addressable(index);
        self.entries()?.insert(at, entry);
        self.declare(varies);
        Ok(())
    }

    /// Appends a chunk whose blocks have the given contents, and may have different lengths.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(1));
    /// schunk.append_blocks(&[b"Monday", b"a line about Tuesday"])?;
    /// let chunk = schunk.chunk(0)?;
    /// assert_eq!((chunk.blocks(), chunk.blocksize(), chunk.nbytes()), (2, None, 26));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of compressing; `Usage` if there are no bytes.
    pub fn append_blocks(&mut self, blocks: &[&[u8]]) -> Result<()> {
        let chunk = compress_blocks(blocks, &self.params, &self.context)?;
        self.insert_chunk(self.chunks(), chunk)
    }

    /// Appends a chunk of `nbytes` bytes that stores nothing but its kind, or the repeated `value`.
    ///
    /// ```
    /// use cframe::{Params, SChunk, Special};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append_special(Special::Zeros, &[], 4000)?;
    /// schunk.append_special(Special::Value, &281.5f32.to_le_bytes(), 4000)?;
    /// assert_eq!(schunk.read_items(999, 2)?, [0f32.to_le_bytes(), 281.5f32.to_le_bytes()].concat());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the size is not a multiple of the type size, or of the value.
    pub fn append_special(&mut self, kind: Special, value: &[u8], nbytes: u32) -> Result<()> {
        let chunk = special(kind, value, (self.header.typesize, self.header.blocksize), nbytes)?;
        self.insert_chunk(self.chunks(), chunk)
    }

    /// Compresses `data`, and replaces chunk `index` by it.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[1; 4000])?;
    /// schunk.update(0, &[2; 4000])?;
    /// assert_eq!(schunk.chunk(0)?.decode()?, [2; 4000]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of compressing; `Usage` if there is no such chunk.
    pub fn update(&mut self, index: u64, data: &[u8]) -> Result<()> {
        let chunk = self.compressed(data)?;
        self.update_chunk(index, chunk)
    }

    /// Replaces chunk `index` by a compressed chunk.
    ///
    /// ```
    /// use cframe::{Codec, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[21; 4000])?;
    /// let smaller = cframe::compress(&schunk.chunk(0)?.decode()?, &Params::new(4).with_codec(Codec::Zlib).with_level(9))?;
    /// schunk.update_chunk(0, smaller)?;
    /// assert_eq!((schunk.chunks(), schunk.chunk(0)?.codec()), (1, Codec::Zlib));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Chunk::new`]; `Usage` if there is no such chunk.
    pub fn update_chunk(&mut self, index: u64, chunk: Vec<u8>) -> Result<()> {
        let varies = varies(&chunk)?;
        let entry = self.entry(chunk)?;
        self.exchange(index, entry)?;
        self.declare(varies);
        Ok(())
    }

    /// Declares in the header that blocks vary in length, if those of a new chunk do.
    fn declare(&mut self, varies: bool) {
        if varies {
            self.header.general_flags = FrameHeader::general_flags(Varying { chunks: false, blocks: true });
        }
    }

    /// Returns the old entry of a chunk that is replaced.
    fn exchange(&mut self, index: u64, entry: Entry) -> Result<Entry> {
        let missing = self.past_the_end(index);
        let at = bound::addressable(index);
        Ok(std::mem::replace(self.entries()?.get_mut(at).ok_or(missing)?, entry))
    }

    /// Carries out an edit that [replaces](Self::replace) chunks one after another. If it fails in the middle, they are put back. Until
    /// then, the old ones that no commit has written stay in memory, compressed.
    pub(crate) fn all_or_none(
        &mut self,
        edit: impl FnOnce(&mut Self, &mut Replaced) -> Result<()>,
    ) -> Result<()> {
        let mut replaced = Replaced { entries: self.entries.is_some().then(Vec::new), changed: self.changed };
        let done = edit(self, &mut replaced);
        if done.is_err() {
            match replaced.entries {
                None => self.entries = None,
                Some(old) => {
                    for (index, entry) in old.into_iter().rev() {
                        self.exchange(index, entry)?;
                    }
                }
            }
            self.changed = replaced.changed;
        }
        done
    }

    /// Overwrites all bytes of a chunk, within [`all_or_none`](Self::all_or_none). Blocks that vary in length keep their lengths, because
    /// each may be an item of its own.
    pub(crate) fn replace(&mut self, index: u64, data: &[u8], replaced: &mut Replaced) -> Result<()> {
        let lengths = if self.header.has_vl_blocks() { self.chunk(index)?.vl_blocks() } else { None };
        let chunk = match lengths {
            Some(ranges) => {
                let blocks = ranges.into_iter().map(|range| present(data.get(range), "bytes of a block"));
                compress_blocks(&blocks.collect::<Result<Vec<_>>>()?, &self.params, &self.context)?
            }
            None => self.compressed(data)?,
        };
        let entry = self.entry(chunk)?;
        let old = self.exchange(index, entry)?;
        replaced.entries.iter_mut().for_each(|entries| entries.push((index, old.clone())));
        Ok(())
    }

    /// Removes chunk `index`.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[1; 4000])?;
    /// schunk.append(&[2; 4000])?;
    /// schunk.remove(0)?;
    /// assert_eq!((schunk.chunks(), schunk.chunk(0)?.decode()?[0]), (1, 2));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if there is no such chunk.
    pub fn remove(&mut self, index: u64) -> Result<()> {
        if index >= self.chunks() {
            return Err(self.past_the_end(index));
        }
        let at = bound::addressable(index);
        self.entries()?.remove(at);
        Ok(())
    }

    fn compressed(&self, data: &[u8]) -> Result<Vec<u8>> {
        compress(data, &self.params, &self.context)
    }

    /// Uses an old chunk, or zeros of `size` bytes, for each new chunk.
    pub(crate) fn rearrange(&mut self, order: &[Option<u64>], size: u32) -> Result<()> {
        let zeros = self.entry(special(Special::Zeros, &[], (self.header.typesize, 0), size)?)?;
        let entries = self.entries()?;
        let old = |index: u64| usize::try_from(index).ok().and_then(|index| entries.get(index)).cloned();
        let new =
            order.iter().map(|old_index| old_index.and_then(old).unwrap_or_else(|| zeros.clone())).collect();
        *entries = new;
        Ok(())
    }

    /// Returns the present chunks and metalayers, to which [`take_back`](Self::take_back) returns.
    pub(crate) fn edited(&self) -> Edited {
        Edited { entries: self.entries.clone(), header: self.header.clone(), changed: self.changed }
    }

    /// Undoes what was done to chunks and metalayers since then. There must not have been a commit in between.
    pub(crate) fn take_back(&mut self, edited: Edited) {
        Edited { entries: self.entries, header: self.header, changed: self.changed } = edited;
    }

    /// Checks a chunk that will be part of this. It is refused if it cannot be read.
    fn entry(&self, chunk: Vec<u8>) -> Result<Entry> {
        let nbytes = read_header(&Source::bytes(&chunk))?.nbytes;
        let cbytes = Chunk::open(Source::bytes(&chunk), &self.context)?.cbytes();
        let mut chunk = chunk;
        chunk.truncate(cbytes);
        Ok(Entry { place: Place::New(Arc::new(chunk)), nbytes })
    }

    /// Returns the chunks as a list that can be edited.
    pub(super) fn entries(&mut self) -> Result<&mut Vec<Entry>> {
        self.changed = true;
        if self.entries.is_none() {
            self.entries = Some(self.listed()?);
        }
        Ok(self.entries.get_or_insert_default())
    }
}

/// Returns whether the blocks of a chunk vary in length.
fn varies(chunk: &[u8]) -> Result<bool> {
    Ok(read_header(&Source::bytes(chunk))?.has_vl_blocks())
}
