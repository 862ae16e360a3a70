//! A super-chunk: the chunks of a frame as a list that can be changed, and its metalayers.

mod commit;
mod edit;
mod folder;
mod home;
mod metalayers;
mod sidecar;
pub(crate) mod stream;

use std::ops::Range;
use std::path::{Path, PathBuf};

use home::{Home, Known};
use sciformats_core::arith::{add, fit, increase, present, sub, sum};
use sciformats_core::error::Within;
use sciformats_core::storage::zeroed;
use sciformats_core::{Error, Limits, Result, bound};

use crate::model::chunk::{Chunk, Context};
use crate::model::frame::{Frame, read_across};
#[cfg(test)]
use crate::model::layout;
use crate::model::layout::{Entry, Place, Space};
use crate::model::options::OpenOptions;
use crate::model::parallel::Threads;
use crate::model::params::{Params, Split};
use crate::model::source::Source;
use crate::spec::frame_header::{ChunkSize, FrameHeader, Varying};
use crate::spec::pipeline::SLOTS;
use crate::spec::trailer::Trailer;

/// A super-chunk. Edits happen in memory, and [`commit`](Self::commit) writes them to the place of the super-chunk. If the
/// process is killed at any time, the old frame or the new one remains.
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
    /// Whether the first commit replaces what exists at its place.
    replaces: bool,
    /// The base as it was read from its place.
    known: Option<Known>,
    space: Space,
    /// Whether what follows the frame in its file is known to be of an earlier commit.
    knows_tail: bool,
    changed: bool,
}

impl SChunk {
    /// Creates an empty super-chunk in memory.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[21; 4000])?;
    /// assert_eq!((schunk.chunks(), schunk.nbytes(), schunk.typesize()), (1, 4000, 4));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn new(params: Params) -> Self {
        Self::empty(params, Home::Memory, true)
    }

    /// Creates an empty super-chunk. The first commit writes it to a file, which must not exist yet;
    /// [`overwrite`](Self::overwrite) replaces an existing file.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("frames.b2frame");
    /// let mut schunk = SChunk::create(&path, Params::new(4))?;
    /// schunk.append(&[21; 4000])?;
    /// schunk.commit()?;
    /// assert_eq!(Frame::open(&path)?.chunks(), 1);
    /// assert!(SChunk::create(&path, Params::new(4)).is_err());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the parameters do not fit each other; `Io` if the file exists, which the first commit checks again.
    pub fn create(path: impl Into<PathBuf>, params: Params) -> Result<Self> {
        Self::new_at(Home::File(path.into()), params)
    }

    /// Does the same as [`create`](Self::create), but the first commit replaces an existing file.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("frames.b2frame");
    /// for frames in [5, 2] {
    ///     let mut schunk = SChunk::overwrite(&path, Params::new(4))?;
    ///     for _ in 0..frames {
    ///         schunk.append(&[21; 4000])?;
    ///     }
    ///     schunk.commit()?;
    /// }
    /// assert_eq!(Frame::open(&path)?.chunks(), 2);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the parameters do not fit each other.
    pub fn overwrite(path: impl Into<PathBuf>, params: Params) -> Result<Self> {
        params.check()?;
        Ok(Self::empty(params, Home::File(path.into()), true))
    }

    /// Creates an empty super-chunk. The first commit writes it to a folder with one file per chunk, which must not exist yet;
    /// [`overwrite_sparse`](Self::overwrite_sparse) replaces an existing sparse frame.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("frames");
    /// let mut schunk = SChunk::create_sparse(&path, Params::new(4))?;
    /// schunk.append(&[21; 4000])?;
    /// schunk.commit()?;
    /// assert!(path.join("chunks.b2frame").exists() && path.join("00000000.chunk").exists());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the parameters do not fit each other; `Io` if the folder exists, which the first commit checks again.
    pub fn create_sparse(folder: impl Into<PathBuf>, params: Params) -> Result<Self> {
        Self::new_at(Home::Folder(folder.into()), params)
    }

    /// As [`create_sparse`](Self::create_sparse), but the first commit replaces a sparse frame that is already there.
    ///
    /// # Errors
    /// `Usage` if the parameters do not fit each other.
    pub fn overwrite_sparse(folder: impl Into<PathBuf>, params: Params) -> Result<Self> {
        params.check()?;
        Ok(Self::empty(params, Home::Folder(folder.into()), true))
    }

    fn new_at(home: Home, params: Params) -> Result<Self> {
        params.check()?;
        home.absent()?;
        Ok(Self::empty(params, home, false))
    }

    fn empty(params: Params, home: Home, replaces: bool) -> Self {
        let header = header_of(&params);
        let context = Context { typesize: Some(params.typesize), ..OpenOptions::default().context() };
        Self {
            base: None,
            entries: Some(Vec::new()),
            header,
            trailer: Trailer::default(),
            params,
            context,
            home,
            replaces,
            known: None,
            space: Space::default(),
            knows_tail: false,
            changed: true,
        }
    }

    /// Opens a file, or the folder of a sparse frame, for reading and editing.
    ///
    /// ```
    /// use cframe::SChunk;
    ///
    /// # use cframe::Params;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("frames.b2frame");
    /// # let mut made = SChunk::create(&path, Params::new(4))?;
    /// # made.append(&[1; 4000])?;
    /// # made.commit()?;
    /// let mut schunk = SChunk::open(&path)?;
    /// schunk.append(&[2; 4000])?;
    /// schunk.commit()?;
    /// assert_eq!(SChunk::open(&path)?.chunks(), 2);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Frame::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Does the same as [`open`](Self::open), with limits, threads, and the caller's own codecs and filters.
    ///
    /// ```no_run
    /// use cframe::{Limits, OpenOptions, SChunk};
    ///
    /// let options = OpenOptions::default().with_limits(Limits::default().with_memory(1 << 30));
    /// let schunk = SChunk::open_with("frames.b2frame", &options)?;
    /// println!("{} chunks", schunk.chunks());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Frame::open`].
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let home = if path.is_dir() { Home::Folder(path.into()) } else { Home::File(path.into()) };
        let (frame, known) = home.open(options).within(Some(path), None)?;
        Ok(Self { known, ..Self::over(frame, home) })
    }

    /// Returns the path of the frame, if it is a file or a folder.
    pub fn path(&self) -> Option<&Path> {
        match &self.home {
            Home::File(path) | Home::Folder(path) => Some(path),
            Home::Memory => None,
        }
    }

    /// Opens a frame in memory for reading and editing.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// # let mut made = SChunk::new(Params::new(4));
    /// # made.append(&[1; 4000])?;
    /// # let bytes = made.to_bytes()?;
    /// let mut schunk = SChunk::from_bytes(bytes)?;
    /// schunk.append(&[2; 4000])?;
    /// assert_eq!((schunk.chunks(), schunk.chunk(1)?.decode()?[0]), (2, 2));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Frame::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::from_bytes_with(bytes, &OpenOptions::default())
    }

    /// Does the same as [`from_bytes`](Self::from_bytes), with limits, threads, and the caller's own codecs and filters.
    ///
    /// ```
    /// use cframe::{OpenOptions, Params, SChunk};
    ///
    /// # let mut made = SChunk::new(Params::new(4));
    /// # made.append(&[1; 4000])?;
    /// # let bytes = made.to_bytes()?;
    /// let schunk = SChunk::from_bytes_with(bytes, &OpenOptions::default().with_threads(1))?;
    /// assert_eq!(schunk.chunk(0)?.decode()?, [1; 4000]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Frame::open`].
    pub fn from_bytes_with(bytes: Vec<u8>, options: &OpenOptions) -> Result<Self> {
        Ok(Self::over(Frame::from_bytes_with(bytes, options)?, Home::Memory))
    }

    /// Returns an open frame as a super-chunk, for reading and editing. Edits stay in memory: the first [`commit`](Self::commit)
    /// makes a frame there, and [`save`](Self::save) writes a file.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// # let mut made = SChunk::new(Params::new(4));
    /// # made.append(&[1; 4000])?;
    /// # let bytes = made.to_bytes()?;
    /// let mut schunk = SChunk::from_frame(Frame::from_bytes(bytes)?);
    /// schunk.remove(0)?;
    /// assert_eq!((schunk.chunks(), schunk.frame().map(Frame::chunks)), (0, Some(1)));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn from_frame(frame: Frame) -> Self {
        Self::over(frame, Home::Memory)
    }

    fn over(frame: Frame, home: Home) -> Self {
        let params = params_of(frame.header());
        let blocksize = metalayers::block_bytes(frame.header()).unwrap_or(params.blocksize);
        Self {
            entries: None,
            header: frame.header().clone(),
            trailer: frame.trailer().clone(),
            params: Params { blocksize, ..params },
            context: frame.context().clone(),
            home,
            replaces: true,
            known: None,
            space: Space::of(&frame),
            knows_tail: false,
            changed: false,
            base: Some(frame),
        }
    }

    /// Returns how new chunks are compressed.
    pub fn params(&self) -> Params {
        self.params
    }

    /// Returns the frame from which this was read, as it was when it was opened or last committed.
    pub fn frame(&self) -> Option<&Frame> {
        self.base.as_ref()
    }

    /// Returns the size of an element in bytes.
    pub fn typesize(&self) -> u32 {
        self.header.typesize
    }

    /// Returns the number of chunks.
    pub fn chunks(&self) -> u64 {
        match (&self.entries, &self.base) {
            (Some(entries), _) => entries.len() as u64,
            (None, Some(base)) => base.chunks(),
            (None, None) => 0,
        }
    }

    /// Returns the size of all decoded chunks in bytes.
    pub fn nbytes(&self) -> u64 {
        match (&self.entries, &self.base) {
            // Fewer than 2^32 entries fit into memory, and each has fewer than 2^32 bytes.
            (Some(entries), _) => entries.iter().map(|entry| u64::from(entry.nbytes)).sum(),
            (None, Some(base)) => base.nbytes(),
            (None, None) => 0,
        }
    }

    /// Returns a chunk.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[21; 4000])?;
    /// assert_eq!(schunk.chunk(0)?.decode()?, [21; 4000]);
    /// assert!(schunk.chunk(1).is_err());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Frame::chunk`]; [`Error::Conflict`] if another program has replaced the chunk of a folder.
    pub fn chunk(&self, index: u64) -> Result<Chunk<'_>> {
        let chunk = self.chunk_at_index(index).map_err(|error| match &self.known {
            Some(known) => self.home.told(error, known),
            None => error,
        });
        chunk.within(self.path(), None)
    }

    fn chunk_at_index(&self, index: u64) -> Result<Chunk<'_>> {
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

    /// Returns all chunks in order.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[1; 4000])?;
    /// schunk.append(&[2; 1200])?;
    /// let sizes = schunk.iter().map(|chunk| Ok(chunk?.nbytes())).collect::<cframe::Result<Vec<_>>>()?;
    /// assert_eq!(sizes, [4000, 1200]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = Result<Chunk<'_>>> {
        (0..self.chunks()).map(|index| self.chunk(index))
    }

    /// Returns the range of decoded bytes that a chunk contains.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[1; 4000])?;
    /// schunk.append(&[2; 1200])?;
    /// assert_eq!(schunk.chunk_range(1)?, 4000..5200);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Frame::chunk_range`].
    pub fn chunk_range(&self, index: u64) -> Result<Range<u64>> {
        match (&self.entries, &self.base) {
            (None, Some(base)) => base.chunk_range(index),
            (Some(entries), _) if index < self.chunks() => {
                let at = fit(index, "number of a chunk")?;
                let start = sum(entries.iter().take(at).map(|entry| u64::from(entry.nbytes)))?;
                let size = present(entries.get(at), "entry of a chunk")?.nbytes;
                Ok(start..add(start, size.into())?)
            }
            _ => Err(self.past_the_end(index)),
        }
    }

    /// Returns the chunk that contains a decoded byte.
    fn chunk_at(&self, byte: u64) -> Result<u64> {
        match (&self.entries, &self.base) {
            (None, Some(base)) => base.chunk_at(byte),
            (Some(entries), _) => {
                let mut end = 0;
                for (index, entry) in (0..).zip(entries) {
                    increase(&mut end, u64::from(entry.nbytes))?;
                    if byte < end {
                        return Ok(index);
                    }
                }
                Ok(self.chunks())
            }
            (None, None) => Ok(0),
        }
    }

    /// Fills `out` with decoded bytes, beginning at byte `start`.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(1));
    /// schunk.append(b"temperature ")?;
    /// schunk.append(b"and position")?;
    /// let mut part = [0; 7];
    /// schunk.read_bytes(8, &mut part)?;
    /// assert_eq!(&part, b"ure and");
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Frame::read_bytes`].
    pub fn read_bytes(&self, start: u64, out: &mut [u8]) -> Result<()> {
        crate::model::elsewhere::check(self.metalayers())?;
        read_across(self.nbytes(), start, out, |at| {
            let index = self.chunk_at(at)?;
            Ok((self.chunk(index)?, self.chunk_range(index)?))
        })
    }

    /// Returns the bytes of `count` items, beginning at item `first`.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&(0..1000u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>())?;
    /// assert_eq!(schunk.read_items(258, 2)?, [2, 1, 0, 0, 3, 1, 0, 0]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if there are not as many items; `LimitExceeded`; those of [`read_bytes`](Self::read_bytes).
    pub fn read_items(&self, first: u64, count: u64) -> Result<Vec<u8>> {
        let size = u64::from(self.typesize());
        let bytes = self.limits().memory("bytes of the items", bound::product(count, size))?;
        let start = first.checked_mul(size);
        let start =
            start.ok_or_else(|| Error::usage("items", format!("do not exist from item {first} on")))?;
        let mut out = zeroed(bytes)?;
        self.read_bytes(start, &mut out)?;
        Ok(out)
    }

    fn options(&self) -> OpenOptions {
        OpenOptions::default()
            .with_limits(self.context.limits)
            .with_threads(self.context.threads.0)
            .with_registry(self.context.registry.clone())
    }

    fn past_the_end(&self, index: u64) -> Error {
        Error::usage("chunk", format!("{index} does not exist, because there are {} chunks", self.chunks()))
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.context.limits
    }

    pub(crate) fn threads(&self) -> Threads {
        self.context.threads
    }

    /// Returns what a commit writes.
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

    fn listed(&self) -> Result<Vec<Entry>> {
        if let Some(entries) = &self.entries {
            return Ok(entries.clone());
        }
        let Some(base) = &self.base else { return Ok(Vec::new()) };
        (0..base.chunks())
            .map(|index| {
                let range = base.chunk_range(index)?;
                let nbytes = fit(sub(range.end, range.start)?, "size of a chunk")?;
                Ok(Entry { place: Place::Stored(base.offset(index)?), nbytes })
            })
            .collect()
    }
}

fn header_of(params: &Params) -> FrameHeader {
    FrameHeader {
        header_len: 0,
        frame_len: 0,
        general_flags: FrameHeader::general_flags(Varying::NONE),
        frame_type: 0,
        codec_flags: FrameHeader::codec_flags(params.codec, params.level),
        other_flags: params.split.code(),
        nbytes: 0,
        cbytes: 0,
        typesize: params.typesize,
        blocksize: params.declared_blocksize(),
        chunksize: ChunkSize::Unknown,
        threads: [1, 1],
        has_vlmeta: false,
        filter_slots: u8::try_from(SLOTS).unwrap_or(6),
        pipeline: params.pipeline,
        codec: params.codec.id(),
        codec_meta: params.codec_meta,
        other_flags2: u8::from(params.makes_dictionaries()),
        reserved: 0,
        layers: Vec::new(),
    }
}

/// Returns a header that declares how chunks are compressed.
pub(crate) fn described(header: &FrameHeader, params: &Params) -> FrameHeader {
    let new = header_of(params);
    FrameHeader {
        codec_flags: new.codec_flags,
        other_flags: (header.other_flags & !3) | new.other_flags,
        pipeline: new.pipeline,
        codec: new.codec,
        codec_meta: new.codec_meta,
        other_flags2: (header.other_flags2 & !1) | new.other_flags2,
        blocksize: new.blocksize,
        ..header.clone()
    }
}

pub(crate) fn params_of(header: &FrameHeader) -> Params {
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
