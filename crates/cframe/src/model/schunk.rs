//! A super-chunk: the chunks of a frame as a list that can be edited, and its metalayers.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sciformats_core::commit::{apply, journal};
use sciformats_core::storage::{Durability, FileStorage, Replacement};
use sciformats_core::{Error, Limits, Result, WriteAt};

use super::chunk::{Chunk, Context, PLAIN, read_header};
use super::compress::{compress, compress_blocks, special};
use super::frame::{Frame, SPARSE_INDEX, chunk_file, read_across, shape_of};
use super::layout::{self, Entry, Place, Space, Stored};
use super::options::Options;
use super::parallel::Threads;
use super::params::{Params, Split};
use super::source::Source;
use crate::spec::chunk_header::Special;
use crate::spec::frame_header::{ChunkSize, FrameHeader};
use crate::spec::metalayers::{Layer, MAX_NAME};
use crate::spec::offset::Offset;
use crate::spec::pipeline::SLOTS;
use crate::spec::trailer::Trailer;

/// The most metalayers that other readers accept.
const MAX_METALAYERS: usize = 16;
/// The most metalayers of variable length that the format allows.
const MAX_VLMETA: usize = 8192;

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
        Ok(Self::over(Frame::from_bytes(bytes)?, Home::Memory))
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

    /// Names and bytes of the metalayers, in stored order.
    pub fn metalayers(&self) -> impl ExactSizeIterator<Item = (&str, &[u8])> {
        self.header.layers.iter().map(|layer| (layer.name.as_str(), layer.content.as_slice()))
    }

    /// The bytes of a metalayer.
    pub fn metalayer(&self, name: &str) -> Option<&[u8]> {
        self.metalayers().find(|(layer, _)| *layer == name).map(|(_, content)| content)
    }

    /// Sets a metalayer. If its size changes, or it is new, the next commit writes the whole frame anew.
    ///
    /// # Errors
    /// `Usage` if the name is longer than 31 bytes, or there are 16 metalayers already.
    pub fn set_metalayer(&mut self, name: &str, content: &[u8]) -> Result<()> {
        set_layer(&mut self.header.layers, name, content.to_vec(), MAX_METALAYERS)?;
        if let Ok(Some(b2nd)) = shape_of(&self.header.layers) {
            self.context.block_shape = b2nd.blocks;
        }
        self.changed = true;
        Ok(())
    }

    /// Names of the metalayers of variable length, in stored order.
    pub fn vlmeta_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.trailer.layers.iter().map(|layer| layer.name.as_str())
    }

    /// The bytes of a metalayer of variable length, decompressed.
    ///
    /// # Errors
    /// `NotFound`; those of [`Chunk::decode`].
    pub fn vlmeta(&self, name: &str) -> Result<Vec<u8>> {
        let layer = self.trailer.layers.iter().find(|layer| layer.name == name);
        let layer = layer.ok_or_else(|| Error::not_found("vlmetalayer", name))?;
        let plain = Context { typesize: None, block_shape: Vec::new(), ..self.context.clone() };
        Chunk::open(Source::bytes(&layer.content), &plain)?.decode()
    }

    /// Sets a metalayer of variable length.
    ///
    /// # Errors
    /// `Usage` if the name is longer than 31 bytes, or there are 8192 of them already.
    pub fn set_vlmeta(&mut self, name: &str, content: &[u8]) -> Result<()> {
        let params = Params::new(1).codec(crate::Codec::BloscLz);
        let chunk = compress(content, &params, &PLAIN)?;
        set_layer(&mut self.trailer.layers, name, chunk, MAX_VLMETA)?;
        self.changed = true;
        Ok(())
    }

    /// Removes a metalayer of variable length.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn remove_vlmeta(&mut self, name: &str) -> Result<()> {
        let at = self.trailer.layers.iter().position(|layer| layer.name == name);
        self.trailer.layers.remove(at.ok_or_else(|| Error::not_found("vlmetalayer", name))?);
        self.changed = true;
        Ok(())
    }

    /// Writes all edits to where the super-chunk lives. One in memory becomes a frame in memory.
    ///
    /// # Errors
    /// `Io`; the frame is then the old one or the new one, and can be opened again. `Usage` if another writer holds the
    /// file.
    pub fn commit(&mut self) -> Result<()> {
        if !self.changed {
            return Ok(());
        }
        match self.home.clone() {
            Home::Memory => {
                let frame = Frame::from_bytes_with(self.to_bytes()?, &self.options())?;
                self.rebase(frame, None);
            }
            Home::File(path) => self.commit_file(&path)?,
            Home::Folder(path) => self.commit_folder(&path)?,
        }
        Ok(())
    }

    /// Writes the whole frame anew in place of the old one, without holes.
    ///
    /// # Errors
    /// `Io`.
    pub fn compact(&mut self) -> Result<()> {
        self.entries()?;
        match self.home.clone() {
            Home::File(path) => {
                self.save(&path)?;
                self.reopen(None)
            }
            Home::Memory | Home::Folder(_) => self.commit(),
        }
    }

    /// The whole as the bytes of a contiguous frame.
    ///
    /// # Errors
    /// Those of reading the chunks.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.write_frame(&mut out)?;
        Ok(out)
    }

    /// Writes the whole as a contiguous frame to a file, in place of one that may be there.
    ///
    /// # Errors
    /// `Io`; those of reading the chunks.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut file = Replacement::create(path)?;
        self.write_frame(&mut file)?;
        file.finish(Durability::Process)
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
            store_specials(&mut entries, self.header.typesize)?;
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

    /// The bytes of each chunk as they are stored.
    fn stored(&self, entry: &Entry, chunksize: ChunkSize) -> Result<Stored> {
        match (&entry.place, &self.base) {
            (Place::New(bytes), _) => layout::stored(bytes, chunksize),
            (Place::Stored(offset @ Offset::Special(_)), _) if matches!(chunksize, ChunkSize::Fixed(_)) => {
                Ok(Stored::Nothing(*offset))
            }
            (Place::Stored(offset), Some(base)) => {
                let chunk = base.chunk_of(*offset, Some(entry.nbytes))?;
                layout::stored(&Arc::new(chunk.stored()?.into_owned()), chunksize)
            }
            (Place::Stored(_), None) => Err(Error::usage("chunk", "has no frame")),
        }
    }

    /// Writes a contiguous frame without holes: chunks, offsets and trailer, then the header.
    fn write_frame(&self, out: &mut dyn WriteAt) -> Result<()> {
        let entries = self.listed()?;
        let mut header = self.header.clone();
        header.frame_type &= 0xf0;
        layout::describe(&mut header, &entries);
        header.has_vlmeta = !self.trailer.layers.is_empty();
        let header_len = header.encode().len() as u64;
        let mut at = header_len;
        let mut offsets = Vec::with_capacity(entries.len());
        for entry in &entries {
            match self.stored(entry, header.chunksize)? {
                Stored::Nothing(offset) => offsets.push(offset),
                Stored::Bytes(bytes) => {
                    out.write_at(at, &bytes)?;
                    offsets.push(Offset::At(at.saturating_sub(header_len)));
                    at = at.saturating_add(bytes.len() as u64);
                }
            }
        }
        header.cbytes = at.saturating_sub(header_len);
        let mut index = layout::encode_offsets(&offsets, header.nbytes)?;
        index.extend(self.trailer.encode());
        if header.nbytes == 0 {
            header.cbytes = 0;
            at = header_len;
        }
        out.write_at(at, &index)?;
        header.frame_len = at.saturating_add(index.len() as u64);
        out.write_at(0, &header.encode())
    }

    fn commit_file(&mut self, path: &Path) -> Result<()> {
        let mut header = self.header.clone();
        header.has_vlmeta = !self.trailer.layers.is_empty();
        let same = |frame: &&Frame| frame.header().header_len as usize == header.encode().len();
        let Some(frame) = self.base.as_ref().filter(same) else {
            self.save(path)?;
            return self.reopen(None);
        };
        let mut entries = self.listed()?;
        let chunksize = layout::chunk_size(entries.iter().map(|entry| entry.nbytes));
        if chunksize == ChunkSize::Variable {
            store_specials(&mut entries, self.header.typesize)?;
        }
        let mut file = FileStorage::edit(path)?;
        file.try_lock()?;
        let steps = journal::recover(&file)?;
        apply(&steps, &mut file)?;
        if sciformats_core::ReadAt::len(&file) < frame.frame_len() {
            return Err(Error::usage("file", "has become shorter since it was opened"));
        }
        let plan = layout::plan(frame, &self.space, &entries, header, &self.trailer)?;
        apply(&plan.steps, &mut file)?;
        self.reopen(Some(plan.space))
    }

    fn commit_folder(&mut self, folder: &Path) -> Result<()> {
        let mut entries = self.listed()?;
        let mut header = self.header.clone();
        header.has_vlmeta = !self.trailer.layers.is_empty();
        header.frame_type = (header.frame_type & 0xf0) | 1;
        layout::describe(&mut header, &entries);
        if header.chunksize == ChunkSize::Variable {
            store_specials(&mut entries, header.typesize)?;
        }
        let io = |action, e| Error::io(action, e).in_file(folder, None);
        std::fs::create_dir_all(folder).map_err(|e| io("create", e))?;
        let old = chunk_files(folder).map_err(|e| io("list", e))?;
        let mut next = old.iter().max().map_or(0, |last| last.saturating_add(1));
        let mut offsets = Vec::with_capacity(entries.len());
        let mut stored_bytes = 0u64;
        for entry in &entries {
            let numbered = match (&entry.place, &self.base) {
                (Place::Stored(offset @ Offset::At(number)), Some(base)) if base.is_in(folder) => {
                    let size =
                        std::fs::metadata(folder.join(chunk_file(*number))).map_err(|e| io("read", e))?.len();
                    Some((*offset, size))
                }
                _ => None,
            };
            let (offset, size) = match numbered {
                Some(known) => known,
                None => match self.stored(entry, header.chunksize)? {
                    Stored::Nothing(offset) => (offset, 0),
                    Stored::Bytes(bytes) => {
                        let mut file = FileStorage::create_new(folder.join(chunk_file(next)))?;
                        file.write_at(0, &bytes)?;
                        let number = next;
                        next = next.saturating_add(1);
                        (Offset::At(number), bytes.len() as u64)
                    }
                },
            };
            offsets.push(offset);
            stored_bytes = stored_bytes.saturating_add(size);
        }
        header.cbytes = stored_bytes;
        let mut index = layout::encode_offsets(&offsets, header.nbytes)?;
        index.extend(self.trailer.encode());
        header.frame_len = (header.encode().len() as u64).saturating_add(index.len() as u64);
        let mut bytes = header.encode();
        bytes.extend(index);
        let mut file = Replacement::create(folder.join(SPARSE_INDEX))?;
        file.write_at(0, &bytes)?;
        file.finish(Durability::Process)?;
        // The new index is in place; what it does not name is nobody's.
        for number in old.into_iter().filter(|&number| !offsets.contains(&Offset::At(number))) {
            std::fs::remove_file(folder.join(chunk_file(number)))
                .map_err(|e| io("remove a chunk from", e))?;
        }
        self.reopen(None)
    }

    fn reopen(&mut self, space: Option<Space>) -> Result<()> {
        let frame = open_home(&self.home, &self.options())?;
        self.rebase(frame, space);
        Ok(())
    }

    fn rebase(&mut self, frame: Frame, space: Option<Space>) {
        self.header = frame.header().clone();
        self.trailer = frame.trailer().clone();
        self.context = frame.context().clone();
        self.space = space.unwrap_or_else(|| Space::of(&frame));
        self.base = Some(frame);
        self.entries = None;
        self.changed = false;
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

/// Numbers of the chunk files in a folder.
fn chunk_files(folder: &Path) -> std::io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".chunk"));
        numbers.extend(number.and_then(|digits| u64::from_str_radix(digits, 16).ok()));
    }
    Ok(numbers)
}

/// Makes chunks of what has so far been only a kind: where sizes vary, nothing else says how long they are.
fn store_specials(entries: &mut [Entry], typesize: u32) -> Result<()> {
    for entry in entries {
        if let Place::Stored(Offset::Special(kind)) = entry.place {
            entry.place = Place::New(Arc::new(special(kind, &[], typesize, entry.nbytes)?));
        }
    }
    Ok(())
}

fn set_layer(layers: &mut Vec<Layer>, name: &str, content: Vec<u8>, most: usize) -> Result<()> {
    if name.len() > MAX_NAME {
        return Err(Error::usage("name", format!("has {} bytes, at most {MAX_NAME}", name.len())));
    }
    if let Some(layer) = layers.iter_mut().find(|layer| layer.name == name) {
        layer.content = content;
        return Ok(());
    }
    if layers.len() >= most {
        return Err(Error::usage("metalayers", format!("are {most} already, the most there can be")));
    }
    layers.push(Layer { name: name.to_owned(), content });
    Ok(())
}

fn header_of(params: &Params) -> FrameHeader {
    FrameHeader {
        header_len: 0,
        frame_len: 0,
        general_flags: FrameHeader::general_flags(false, false),
        frame_type: 0,
        codec_flags: (params.codec.format() & 0x0f) | (params.level << 4),
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
