//! A super-chunk: the chunks of a frame as a list that can be edited, and its metalayers.

mod commit;
mod metalayers;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sciformats_core::storage::{FileStorage, zeroed};
use sciformats_core::{Error, Limits, Result};

use crate::model::chunk::{Chunk, Context, read_header};
use crate::model::compress::{compress, compress_blocks, special};
use crate::model::frame::Frame;
use crate::model::frame_parts::read_across;
#[cfg(test)]
use crate::model::layout;
use crate::model::layout::{Entry, Place, Space};
use crate::model::options::Options;
use crate::model::parallel::Threads;
use crate::model::params::{Params, Split};
use crate::model::source::Source;
use crate::spec::chunk_header::Special;
use crate::spec::frame_header::{ChunkSize, FrameHeader};
use crate::spec::pipeline::SLOTS;
use crate::spec::trailer::Trailer;

/// A super-chunk. Edits happen in memory; [`commit`](Self::commit) writes them to where the super-chunk lives, and a
/// kill at any instant leaves the old frame or the new one.
///
/// ```
/// use cframe::{Params, SChunk};
///
/// let mut schunk = SChunk::new(Params::new(4));
/// for i in 0..3u32 {
///     let items: Vec<u8> = (i * 1000..(i + 1) * 1000).flat_map(u32::to_le_bytes).collect();
///     schunk.append(&items)?;
/// }
/// schunk.set_vlmeta("made by", b"an example")?;
///
/// let frame = cframe::Frame::from_bytes(schunk.to_bytes()?)?;
/// assert_eq!((frame.chunks(), frame.typesize()), (3, 4));
/// let mut item = [0; 4];
/// frame.read_bytes(4 * 2500, &mut item)?;
/// assert_eq!(u32::from_le_bytes(item), 2500);
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Debug)]
pub struct SChunk {
    base: Option<Frame>,
    /// The chunks, once they differ from those of the base.
    entries: Option<Vec<Entry>>,
    header: FrameHeader,
    trailer: Trailer,
    params: Params,
    context: Context,
    home: Home,
    space: Space,
    changed: bool,
}

/// Where a super-chunk lives.
#[derive(Clone, Debug)]
enum Home {
    Memory,
    File(PathBuf),
    Folder(PathBuf),
}

impl SChunk {
    /// An empty one in memory.
    pub fn new(params: Params) -> Self {
        Self::empty(params, Home::Memory)
    }

    /// An empty one that becomes a file with the first commit, in place of one that may be there.
    pub fn create(path: impl Into<PathBuf>, params: Params) -> Self {
        Self::empty(params, Home::File(path.into()))
    }

    /// An empty one that becomes a folder, one file a chunk, with the first commit.
    pub fn create_sparse(folder: impl Into<PathBuf>, params: Params) -> Self {
        Self::empty(params, Home::Folder(folder.into()))
    }

    fn empty(params: Params, home: Home) -> Self {
        let header = header_of(&params);
        let context = Context { typesize: Some(params.typesize), ..Options::default().context() };
        Self {
            base: None,
            entries: Some(Vec::new()),
            header,
            trailer: Trailer::default(),
            params,
            context,
            home,
            space: Space::default(),
            changed: true,
        }
    }

    /// Opens a file or the folder of a sparse frame, for reading and editing.
    ///
    /// # Errors
    /// As [`Frame::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &Options::default())
    }

    /// As [`open`](Self::open), with limits, threads, and codecs and filters of the caller's.
    ///
    /// # Errors
    /// As [`Frame::open`].
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self> {
        let path = path.as_ref();
        let home = if path.is_dir() { Home::Folder(path.into()) } else { Home::File(path.into()) };
        Ok(Self::over(open_home(&home, options)?, home))
    }

    /// A frame in memory, for reading and editing.
    ///
    /// # Errors
    /// As [`Frame::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::from_bytes_with(bytes, &Options::default())
    }

    /// As [`from_bytes`](Self::from_bytes), with limits, threads, and codecs and filters of the caller's.
    ///
    /// # Errors
    /// As [`Frame::open`].
    pub fn from_bytes_with(bytes: Vec<u8>, options: &Options) -> Result<Self> {
        Ok(Self::over(Frame::from_bytes_with(bytes, options)?, Home::Memory))
    }

    /// A frame that is open already, for reading and editing. Edits stay in memory: the first [`commit`](Self::commit)
    /// makes a frame there, and [`save`](Self::save) writes a file.
    pub fn from_frame(frame: Frame) -> Self {
        Self::over(frame, Home::Memory)
    }

    fn over(frame: Frame, home: Home) -> Self {
        Self {
            entries: None,
            header: frame.header().clone(),
            trailer: frame.trailer().clone(),
            params: params_of(frame.header()),
            context: frame.context().clone(),
            home,
            space: Space::of(&frame),
            changed: false,
            base: Some(frame),
        }
    }

    /// How new chunks are compressed.
    pub fn params(&self) -> Params {
        self.params
    }

    /// Changes how new chunks are compressed; the type size stays.
    pub fn set_params(&mut self, params: Params) {
        self.params = Params { typesize: self.params.typesize, ..params };
        let described = header_of(&self.params);
        self.header = FrameHeader {
            codec_flags: described.codec_flags,
            other_flags: (self.header.other_flags & !3) | described.other_flags,
            pipeline: described.pipeline,
            codec: described.codec,
            codec_meta: described.codec_meta,
            other_flags2: (self.header.other_flags2 & !1) | described.other_flags2,
            blocksize: described.blocksize,
            ..self.header.clone()
        };
        self.changed = true;
    }

    /// The frame beneath, as it was when opened or last committed.
    pub fn frame(&self) -> Option<&Frame> {
        self.base.as_ref()
    }

    /// Size of an element in bytes.
    pub fn typesize(&self) -> u32 {
        self.header.typesize
    }

    /// Number of chunks.
    pub fn chunks(&self) -> u64 {
        match (&self.entries, &self.base) {
            (Some(entries), _) => entries.len() as u64,
            (None, Some(base)) => base.chunks(),
            (None, None) => 0,
        }
    }

    /// Size of all chunks decoded, in bytes.
    pub fn nbytes(&self) -> u64 {
        match (&self.entries, &self.base) {
            (Some(entries), _) => {
                entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.nbytes.into()))
            }
            (None, Some(base)) => base.nbytes(),
            (None, None) => 0,
        }
    }

    /// A chunk.
    ///
    /// # Errors
    /// As [`Frame::chunk`].
    pub fn chunk(&self, index: u64) -> Result<Chunk<'_>> {
        let Some(entries) = &self.entries else {
            return match &self.base {
                Some(base) => base.chunk(index),
                None => Err(self.past_the_end(index)),
            };
        };
        let entry = usize::try_from(index).ok().and_then(|index| entries.get(index));
        let entry = entry.ok_or_else(|| self.past_the_end(index))?;
        match (&entry.place, &self.base) {
            (Place::New(bytes), _) => Chunk::open(Source::bytes(bytes), &self.context),
            (Place::Stored(offset), Some(base)) => base.chunk_of(*offset, Some(entry.nbytes)),
            (Place::Stored(_), None) => Err(self.past_the_end(index)),
        }
    }

    /// All chunks in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Chunk<'_>>> {
        (0..self.chunks()).map(|index| self.chunk(index))
    }

    /// The decoded bytes that a chunk holds.
    ///
    /// # Errors
    /// As [`Frame::chunk_range`].
    pub fn chunk_range(&self, index: u64) -> Result<Range<u64>> {
        match (&self.entries, &self.base) {
            (None, Some(base)) => base.chunk_range(index),
            (Some(entries), _) if index < self.chunks() => {
                let at = usize::try_from(index).unwrap_or(usize::MAX);
                let before = entries.iter().take(at);
                let start = before.fold(0u64, |sum, entry| sum.saturating_add(entry.nbytes.into()));
                let size = entries.get(at).map_or(0, |entry| entry.nbytes);
                Ok(start..start.saturating_add(size.into()))
            }
            _ => Err(self.past_the_end(index)),
        }
    }

    /// The chunk that holds a decoded byte.
    fn chunk_at(&self, byte: u64) -> Result<u64> {
        match (&self.entries, &self.base) {
            (None, Some(base)) => base.chunk_at(byte),
            (Some(entries), _) => {
                let mut end = 0u64;
                let index = entries.iter().position(|entry| {
                    end = end.saturating_add(entry.nbytes.into());
                    byte < end
                });
                Ok(index.map_or(self.chunks(), |index| index as u64))
            }
            (None, None) => Ok(0),
        }
    }

    /// Fills `out` with decoded bytes from `start` on.
    ///
    /// # Errors
    /// As [`Frame::read_bytes`].
    pub fn read_bytes(&self, start: u64, out: &mut [u8]) -> Result<()> {
        read_across(self.nbytes(), start, out, |at| {
            let index = self.chunk_at(at)?;
            Ok((self.chunk(index)?, self.chunk_range(index)?))
        })
    }

    /// Overwrites decoded bytes from `start` on; chunks that are touched are compressed anew.
    ///
    /// # Errors
    /// `Usage` if the range leaves the super-chunk; those of reading and compressing.
    pub fn write_bytes(&mut self, start: u64, bytes: &[u8]) -> Result<()> {
        let end = start.checked_add(bytes.len() as u64).filter(|&end| end <= self.nbytes());
        let Some(end) = end else {
            return Err(Error::usage("range", format!("leaves the {} bytes that there are", self.nbytes())));
        };
        let (mut at, mut rest) = (start, bytes);
        while at < end {
            let index = self.chunk_at(at)?;
            let range = self.chunk_range(index)?;
            let len = usize::try_from(range.end.min(end).saturating_sub(at)).unwrap_or(usize::MAX);
            let Some((piece, after)) = rest.split_at_checked(len).filter(|_| len > 0) else { break };
            if piece.len() as u64 == range.end.saturating_sub(range.start) {
                self.update(index, piece)?;
            } else {
                let mut whole = self.chunk(index)?.decode()?;
                let skip = usize::try_from(at.saturating_sub(range.start)).unwrap_or(usize::MAX);
                if let Some(target) = whole.get_mut(skip..skip.saturating_add(piece.len())) {
                    target.copy_from_slice(piece);
                }
                self.update(index, &whole)?;
            }
            at = at.saturating_add(piece.len() as u64);
            rest = after;
        }
        Ok(())
    }

    /// The bytes of `count` items from item `first` on.
    ///
    /// # Errors
    /// `Usage` if there are not so many; `LimitExceeded`; those of [`read_bytes`](Self::read_bytes).
    pub fn read_items(&self, first: u64, count: u64) -> Result<Vec<u8>> {
        let size = u64::from(self.typesize());
        let bytes = self.limits().memory("bytes of the items", count.saturating_mul(size))?;
        let mut out = zeroed(bytes);
        self.read_bytes(first.saturating_mul(size), &mut out)?;
        Ok(out)
    }

    /// Overwrites items from item `first` on.
    ///
    /// # Errors
    /// `Usage` if `bytes` are no whole number of items; those of [`write_bytes`](Self::write_bytes).
    pub fn write_items(&mut self, first: u64, bytes: &[u8]) -> Result<()> {
        let size = u64::from(self.typesize());
        if !(bytes.len() as u64).is_multiple_of(size) {
            return Err(Error::usage("bytes", format!("are no whole number of items of {size} bytes")));
        }
        self.write_bytes(first.saturating_mul(size), bytes)
    }

    /// Compresses `data` into a chunk at the end.
    ///
    /// # Errors
    /// Those of compressing.
    pub fn append(&mut self, data: &[u8]) -> Result<()> {
        self.insert(self.chunks(), data)
    }

    /// Compresses `data` into a chunk before chunk `index`, or at the end.
    ///
    /// # Errors
    /// Those of compressing; `Usage` if `index` is past the end.
    pub fn insert(&mut self, index: u64, data: &[u8]) -> Result<()> {
        let chunk = self.compressed(data)?;
        self.insert_chunk(index, chunk)
    }

    /// Inserts a chunk that is compressed already, before chunk `index` or at the end.
    ///
    /// # Errors
    /// Those of [`Chunk::new`]; `Usage` if `index` is past the end.
    pub fn insert_chunk(&mut self, index: u64, chunk: Vec<u8>) -> Result<()> {
        if index > self.chunks() {
            return Err(self.past_the_end(index));
        }
        let entry = self.entry(chunk)?;
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        self.entries()?.insert(at, entry);
        Ok(())
    }

    /// Appends a chunk whose blocks have the given contents, and lengths of their own.
    ///
    /// # Errors
    /// Those of compressing; `Usage` if there are no bytes.
    pub fn append_blocks(&mut self, blocks: &[&[u8]]) -> Result<()> {
        let chunk = compress_blocks(blocks, &self.params, &self.context)?;
        self.header.general_flags = FrameHeader::general_flags(false, true);
        self.insert_chunk(self.chunks(), chunk)
    }

    /// Appends a chunk of `nbytes` bytes of which nothing is stored but its kind, or the repeated `value`.
    ///
    /// # Errors
    /// `Usage` if the size is no multiple of the type size, or of the value.
    pub fn append_special(&mut self, kind: Special, value: &[u8], nbytes: u32) -> Result<()> {
        let chunk = special(kind, value, self.header.typesize, nbytes)?;
        self.insert_chunk(self.chunks(), chunk)
    }

    /// Compresses `data` into the place of chunk `index`.
    ///
    /// # Errors
    /// Those of compressing; `Usage` past the last chunk.
    pub fn update(&mut self, index: u64, data: &[u8]) -> Result<()> {
        let chunk = self.compressed(data)?;
        self.update_chunk(index, chunk)
    }

    /// Puts a chunk that is compressed already in the place of chunk `index`.
    ///
    /// # Errors
    /// Those of [`Chunk::new`]; `Usage` past the last chunk.
    pub fn update_chunk(&mut self, index: u64, chunk: Vec<u8>) -> Result<()> {
        let entry = self.entry(chunk)?;
        let missing = self.past_the_end(index);
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        *self.entries()?.get_mut(at).ok_or(missing)? = entry;
        Ok(())
    }

    /// Removes chunk `index`.
    ///
    /// # Errors
    /// `Usage` past the last chunk.
    pub fn remove(&mut self, index: u64) -> Result<()> {
        if index >= self.chunks() {
            return Err(self.past_the_end(index));
        }
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        self.entries()?.remove(at);
        Ok(())
    }

    fn compressed(&self, data: &[u8]) -> Result<Vec<u8>> {
        compress(data, &self.params, &self.context)
    }

    fn options(&self) -> Options {
        Options::default()
            .with_limits(self.context.limits)
            .with_threads(self.context.threads)
            .with_registry(self.context.registry.clone())
    }

    fn past_the_end(&self, index: u64) -> Error {
        Error::usage("chunk", format!("{index} is not one of {}", self.chunks()))
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.context.limits
    }

    pub(crate) fn threads(&self) -> Threads {
        self.context.threads
    }

    /// Takes for each new chunk an old one, or zeros of `size` bytes.
    pub(crate) fn rearrange(&mut self, order: &[Option<u64>], size: u32) -> Result<()> {
        let zeros = self.entry(special(Special::Zeros, &[], self.header.typesize, size)?)?;
        let entries = self.entries()?;
        let old = |index: u64| usize::try_from(index).ok().and_then(|index| entries.get(index)).cloned();
        let new =
            order.iter().map(|old_index| old_index.and_then(old).unwrap_or_else(|| zeros.clone())).collect();
        *entries = new;
        Ok(())
    }

    /// A chunk that is to be part of this; what cannot be read is refused.
    fn entry(&self, chunk: Vec<u8>) -> Result<Entry> {
        let nbytes = read_header(&Source::bytes(&chunk))?.nbytes;
        let cbytes = Chunk::open(Source::bytes(&chunk), &self.context)?.cbytes();
        let mut chunk = chunk;
        chunk.truncate(cbytes);
        Ok(Entry { place: Place::New(Arc::new(chunk)), nbytes })
    }

    /// What a commit writes.
    #[cfg(test)]
    pub(crate) fn parts(&self) -> Result<(Vec<Entry>, FrameHeader, Trailer)> {
        let mut entries = self.listed()?;
        let mut header = self.header.clone();
        header.has_vlmeta = !self.trailer.layers.is_empty();
        if layout::chunk_size(entries.iter().map(|entry| entry.nbytes)) == ChunkSize::Variable {
            commit::store_specials(&mut entries, self.header.typesize)?;
        }
        Ok((entries, header, self.trailer.clone()))
    }

    /// The chunks as a list that can be edited.
    fn entries(&mut self) -> Result<&mut Vec<Entry>> {
        self.changed = true;
        if self.entries.is_none() {
            self.entries = Some(self.listed()?);
        }
        Ok(self.entries.get_or_insert_default())
    }

    fn listed(&self) -> Result<Vec<Entry>> {
        if let Some(entries) = &self.entries {
            return Ok(entries.clone());
        }
        let Some(base) = &self.base else { return Ok(Vec::new()) };
        (0..base.chunks())
            .map(|index| {
                let range = base.chunk_range(index)?;
                let nbytes = u32::try_from(range.end.saturating_sub(range.start)).unwrap_or(u32::MAX);
                Ok(Entry { place: Place::Stored(base.offset(index)?), nbytes })
            })
            .collect()
    }
}

fn open_home(home: &Home, options: &Options) -> Result<Frame> {
    match home {
        // Not mapped: this process is going to write to it.
        Home::File(path) => Frame::in_storage(FileStorage::open(path)?, 0, options),
        Home::Folder(path) => Frame::open_with(path, options),
        Home::Memory => Err(Error::usage("super-chunk", "is in memory")),
    }
}

fn header_of(params: &Params) -> FrameHeader {
    FrameHeader {
        header_len: 0,
        frame_len: 0,
        general_flags: FrameHeader::general_flags(false, false),
        frame_type: 0,
        codec_flags: FrameHeader::codec_flags(params.codec, params.level),
        other_flags: params.split.code(),
        nbytes: 0,
        cbytes: 0,
        typesize: params.typesize,
        blocksize: params.blocksize,
        chunksize: ChunkSize::Unknown,
        threads: [1, 1],
        has_vlmeta: false,
        filter_slots: u8::try_from(SLOTS).unwrap_or(6),
        pipeline: params.pipeline,
        codec: params.codec.id(),
        codec_meta: params.codec_meta,
        other_flags2: u8::from(params.dictionary),
        reserved: 0,
        layers: Vec::new(),
    }
}

fn params_of(header: &FrameHeader) -> Params {
    Params {
        codec: header.codec(),
        codec_meta: header.codec_meta,
        level: header.level().min(9),
        pipeline: header.pipeline,
        split: Split::from_code(header.other_flags),
        blocksize: header.blocksize,
        dictionary: header.other_flags2 & 1 != 0,
        ..Params::new(header.typesize)
    }
}
