//! A frame for reading: a file, a folder or bytes in memory.

mod folder;
mod parts;
mod properties;
mod rescue;
mod stored;
mod tail;

use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sciformats_core::arith::{add, div, fit, increase, mul, present, sub, sum};
use sciformats_core::error::Within;
use sciformats_core::external::Lent;
use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::storage::{Access, Window};
use sciformats_core::{Error, Limits, ReadAt, Result, bound};

pub use folder::is_part_of_folder;
pub(crate) use folder::{LOCK_FILE, SPARSE_INDEX, chunk_file, chunk_number};
pub(crate) use parts::{FRAME_HEADER, read_across};
use parts::{plain_view, read_frame_header, read_trailer, special_chunk};
pub(crate) use properties::decode_layer;
pub use rescue::{Places, Rescued};
pub(crate) use stored::StoredChunk;

use crate::model::chunk::{Chunk, Context, Held, PLAIN, read_header};
use crate::model::offsets::Offsets;
use crate::model::options::OpenOptions;
use crate::model::source::Source;
use crate::spec::b2nd::B2nd;
use crate::spec::chunk_header::Special;
use crate::spec::frame_header::{ChunkSize, FrameHeader, FrameType};
use crate::spec::metalayers::Layer;
use crate::spec::offset::Offset;
use crate::spec::trailer::Trailer;

/// What is wrong with the offset of a chunk whose file is not in the folder.
pub(crate) const MISSING_FILE: &str = "names a file that is missing in the folder";

/// A frame for reading. Opening reads the header and the trailer. Chunks and their places are read when they are needed.
///
/// ```no_run
/// let frame = cframe::Frame::open("data.b2frame")?;
/// let first = frame.chunk(0)?.decode()?;
/// let mut items = vec![0; 10 * frame.typesize() as usize];
/// frame.read_bytes(0, &mut items)?;
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone)]
pub struct Frame {
    storage: Arc<dyn ReadAt>,
    folder: Option<PathBuf>,
    /// Who lends the files of the chunks; the folder is then an empty path.
    lent: Option<Lent>,
    /// How chunk files are accessed.
    access: Access,
    header: FrameHeader,
    trailer: Trailer,
    /// The offsets of the offsets chunk and of the trailer.
    offsets_at: u64,
    trailer_at: u64,
    offsets: Offsets,
    context: Context,
    /// The start of each chunk in the decoded bytes, if chunks vary in size, followed by their end.
    starts: OnceLock<Vec<u64>>,
    /// What is left of the frame, if it was cut short.
    rescued: Option<Rescued>,
    /// The last large block of which several parts were read.
    held: Arc<Held>,
}

impl Frame {
    /// Opens a file, or the folder of a sparse frame.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("frames.b2frame");
    /// let mut schunk = SChunk::create(&path, Params::new(4))?;
    /// schunk.append(&[21; 4000])?;
    /// schunk.commit()?;
    ///
    /// let frame = Frame::open(&path)?;
    /// assert_eq!((frame.chunks(), frame.nbytes(), frame.typesize()), (1, 4000, 4));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`; `Malformed`; `Unsupported` if the type of frame is not known.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Does the same as [`open`](Self::open), with limits, threads, and the caller's own codecs and filters.
    ///
    /// ```no_run
    /// use cframe::{Access, Frame, OpenOptions};
    ///
    /// // A file that another process writes to.
    /// let frame = Frame::open_with("frames.b2frame", &OpenOptions::default().with_access(Access::direct()))?;
    /// println!("{} chunks of {:?}", frame.chunks(), frame.chunk_size());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        Self::of_path(path, options).within(Some(path), None)
    }

    fn of_path(path: &Path, options: &OpenOptions) -> Result<Self> {
        if path.is_dir() {
            let index = options.access.open(path.join(SPARSE_INDEX))?;
            return Self::read(plain_view(index)?, Some(path.into()), options);
        }
        Self::read(plain_view(options.access.open(path)?)?, None, options)
    }

    /// Opens a frame that begins at `offset` in any storage. Bytes after it are ignored.
    ///
    /// ```
    /// use cframe::{Frame, OpenOptions, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[21; 4000])?;
    /// let file = [b"a header ".as_slice(), &schunk.to_bytes()?].concat();
    /// let frame = Frame::from_storage(file, 9, &OpenOptions::default())?;
    /// assert_eq!(frame.chunk(0)?.decode()?, [21; 4000]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn from_storage(storage: impl ReadAt + 'static, offset: u64, options: &OpenOptions) -> Result<Self> {
        if offset == 0 {
            return Self::read(plain_view(storage)?, None, options);
        }
        let len = bound::left(storage.size(), offset); // the window checks that it begins inside of the storage
        Self::read(Arc::new(Window::new(storage, offset, len)?), None, options)
    }

    /// Opens a frame in memory.
    ///
    /// ```
    /// use cframe::{Codec, Frame, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(8).with_codec(Codec::Zlib).with_level(9));
    /// schunk.append(&[21; 4000])?;
    /// let frame = Frame::from_bytes(schunk.to_bytes()?)?;
    /// assert_eq!((frame.codec(), frame.level(), frame.typesize()), (Codec::Zlib, 9, 8));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::from_bytes_with(bytes, &OpenOptions::default())
    }

    /// Does the same as [`from_bytes`](Self::from_bytes), with limits, threads, and the caller's own codecs and filters.
    ///
    /// ```
    /// use cframe::{Error, Frame, Limits, OpenOptions, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[21; 1_000_000])?;
    /// let options = OpenOptions::default().with_limits(Limits::default().with_memory(1000));
    /// let frame = Frame::from_bytes_with(schunk.to_bytes()?, &options)?;
    /// assert!(matches!(frame.chunk(0)?.decode(), Err(Error::LimitExceeded { .. })));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn from_bytes_with(bytes: Vec<u8>, options: &OpenOptions) -> Result<Self> {
        Self::read(plain_view(bytes)?, None, options)
    }

    fn read(storage: Arc<dyn ReadAt>, folder: Option<PathBuf>, options: &OpenOptions) -> Result<Self> {
        let header = read_frame_header(&*storage, options.rescue)?;
        let sparse = match header.frame_type() {
            Some(kind) => kind == FrameType::Sparse,
            None => {
                return Err(Error::unsupported(format!("frame type {}", header.frame_type & 0x0f)));
            }
        };
        let (folder, lent) = match &options.lent {
            Some(lent) if sparse && folder.is_none() => (Some(PathBuf::new()), Some(lent.clone())),
            _ => (folder, None),
        };
        if sparse && folder.is_none() {
            return Err(Error::unsupported("the index of a sparse frame without its folder"));
        }
        let (trailer_at, trailer, is_cut) = match read_trailer(&*storage, &header) {
            Ok((at, trailer)) => (at, trailer, false),
            Err(error) if options.rescue => {
                rescue::unless_missing(error)?;
                (header.frame_len, Trailer::default(), true)
            }
            Err(error) => return Err(error),
        };
        let header_len = u64::from(header.header_len);
        let chunks = if sparse { 0 } else { header.cbytes };
        let offsets_at = header_len.checked_add(chunks);
        let offsets_at = offsets_at
            .ok_or_else(|| Fault::new("compressed size", FaultKind::Overflow).at(FRAME_HEADER, 39))?;
        let mut context = options.context();
        context.typesize = Some(header.typesize);
        if let Some(b2nd) = shape_of(&header.layers)? {
            context.block_shape = b2nd.blocks;
        }
        let mut frame = Self {
            storage,
            folder,
            lent,
            access: options.access,
            header,
            trailer,
            offsets_at,
            trailer_at,
            offsets: Offsets::none(),
            context,
            starts: OnceLock::new(),
            rescued: None,
            held: Arc::default(),
        };
        match if is_cut { None } else { Some(frame.read_offsets()) } {
            None => frame.rescue()?,
            Some(Ok(offsets)) => frame.offsets = offsets,
            Some(Err(error)) if options.rescue => {
                rescue::unless_missing(error)?;
                frame.rescue()?;
            }
            Some(Err(error)) => return Err(error),
        }
        Ok(frame)
    }

    fn read_offsets(&self) -> Result<Offsets> {
        let expected = match self.header.chunksize {
            ChunkSize::Fixed(size) => Some(self.header.nbytes.div_ceil(u64::from(size.max(1)))),
            ChunkSize::Variable | ChunkSize::Unknown => None,
        };
        if self.header.nbytes == 0 {
            return Ok(Offsets::none());
        }
        if self.offsets_at >= self.trailer_at {
            let end = bound::left(self.trailer_at, self.header.header_len.into());
            let kind = FaultKind::OutOfBounds { found: self.header.cbytes, end };
            return Err(Fault::new("compressed size", kind).at(FRAME_HEADER, 39));
        }
        let len = sub(self.trailer_at, self.offsets_at)?;
        let source = Source::shared(self.storage.clone(), self.offsets_at, len);
        Offsets::new(Chunk::open(source, &PLAIN)?, self.offsets_at, expected, &self.context.limits)
    }

    /// Returns a chunk. Only its header and its block starts are read.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// # let mut schunk = SChunk::new(Params::new(4));
    /// # for day in 1..=3 { schunk.append(&[day; 4000])?; }
    /// # let bytes = schunk.to_bytes()?;
    /// let frame = Frame::from_bytes(bytes)?;
    /// let chunk = frame.chunk(2)?;
    /// assert_eq!((chunk.nbytes(), chunk.decode()?[0]), (4000, 3));
    /// assert!(frame.chunk(3).is_err());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if there is no such chunk; `Malformed` if the chunk is damaged, or is not where the offsets say; `Unsupported` if
    /// its codec or a filter is not available.
    pub fn chunk(&self, index: u64) -> Result<Chunk<'_>> {
        let offset = self.offset(index)?;
        let expected = match (offset, self.expected_size(index)) {
            (Offset::Special(_), None) => Some(self.special_size(index)?),
            (_, expected) => expected,
        };
        self.chunk_of(offset, expected)
    }

    /// Returns the chunk at a place. If `expected` is known, the chunk must have as many decoded bytes.
    pub(crate) fn chunk_of(&self, offset: Offset, expected: Option<u32>) -> Result<Chunk<'_>> {
        let chunk = match offset {
            Offset::Special(special) => {
                let nbytes = present(expected, "size of a chunk that is not stored")?;
                return special_chunk(special, self.header.typesize, nbytes, &self.context);
            }
            Offset::At(position) => {
                Chunk::open(self.source(position)?, &self.context)?.holding(&self.held, position)
            }
        };
        match expected {
            Some(expected) if chunk.nbytes() as u64 != u64::from(expected) => {
                let kind = FaultKind::Mismatch { expected: expected.into(), found: chunk.nbytes() as u64 };
                Err(Fault::new("nbytes", kind).at("chunk header", bound::sum(self.position(offset), 4)))
            }
            _ => Ok(chunk),
        }
    }

    /// Returns the kind of a chunk for which nothing but its kind is stored.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk, Special};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[21; 4000])?;
    /// schunk.append_special(Special::Nan, &[], 4000)?;
    /// let frame = Frame::from_bytes(schunk.to_bytes()?)?;
    /// assert_eq!((frame.special(0)?, frame.special(1)?), (None, Some(Special::Nan)));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if there is no such chunk; those of the offsets chunk.
    pub fn special(&self, index: u64) -> Result<Option<Special>> {
        match self.offset(index)? {
            Offset::Special(special) => Ok(Some(special)),
            Offset::At(position) => Ok(read_header(&self.source(position)?)?.special()),
        }
    }

    /// Returns the range of decoded bytes that a chunk contains.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[1; 4000])?;
    /// schunk.append(&[2; 1200])?;
    /// let frame = Frame::from_bytes(schunk.to_bytes()?)?;
    /// assert_eq!(frame.chunk_range(1)?, 4000..5200);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if there is no such chunk; if chunks vary in size, those of reading all headers.
    pub fn chunk_range(&self, index: u64) -> Result<Range<u64>> {
        if index >= self.chunks() {
            return Err(past_the_end(index, self.chunks()));
        }
        if let ChunkSize::Fixed(size) = self.header.chunksize {
            let start = mul(index, size.into())?;
            return Ok(start..bound::sum(start, size.into()).min(self.header.nbytes));
        }
        let starts = self.starts()?;
        let at = |index: u64| {
            let start = starts.get(fit::<usize, _>(index, "number of a chunk")?);
            present(start.copied(), "start of a chunk")
        };
        Ok(at(index)?..at(add(index, 1)?)?)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.context.limits
    }

    /// Returns the chunk that contains a decoded byte.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[1; 4000])?;
    /// schunk.append(&[2; 1200])?;
    /// let frame = Frame::from_bytes(schunk.to_bytes()?)?;
    /// assert_eq!((frame.chunk_at(3999)?, frame.chunk_at(4000)?), (0, 1));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if there is no such byte; if chunks vary in size, those of reading all headers.
    pub fn chunk_at(&self, byte: u64) -> Result<u64> {
        if byte >= self.nbytes() {
            return Err(Error::usage(
                "byte",
                format!("{byte} does not exist, because the frame has {} bytes", self.nbytes()),
            ));
        }
        if let ChunkSize::Fixed(size) = self.header.chunksize {
            return div(byte, size.into());
        }
        let starts = self.starts()?;
        sub(starts.partition_point(|&start| start <= byte) as u64, 1)
    }

    /// Fills `out` with decoded bytes, beginning at byte `start`. Only the blocks that contain them are decoded.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(1));
    /// schunk.append(b"temperature ")?;
    /// schunk.append(b"and position")?;
    /// let mut part = [0; 7];
    /// Frame::from_bytes(schunk.to_bytes()?)?.read_bytes(8, &mut part)?; // of both chunks
    /// assert_eq!(&part, b"ure and");
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the range is not inside the frame; those of [`has_elements`](Self::has_elements), [`chunk`](Self::chunk) and
    /// [`Chunk::read_into`].
    pub fn read_bytes(&self, start: u64, out: &mut [u8]) -> Result<()> {
        self.has_elements()?;
        read_across(self.nbytes(), start, out, |at| {
            let index = self.chunk_at(at)?;
            Ok((self.chunk(index)?, self.chunk_range(index)?))
        })
    }

    /// Decodes every chunk and every metalayer, and returns the number of chunks. [`check`](Self::check) continues after a fault.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[1; 4000])?;
    /// schunk.append(&[2; 4000])?;
    /// assert_eq!(Frame::from_bytes(schunk.to_bytes()?)?.verify()?, 2);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first fault.
    pub fn verify(&self) -> Result<u64> {
        self.vlmeta_names().try_for_each(|name| self.vlmeta(name).map(drop))?;
        let mut total = 0u64;
        for index in 0..self.chunks() {
            let chunk = self.chunk(index)?;
            chunk.check()?;
            increase(&mut total, chunk.nbytes() as u64)?;
        }
        if total == self.nbytes() {
            return Ok(self.chunks());
        }
        let kind = FaultKind::Mismatch { expected: total, found: self.nbytes() };
        Err(Fault::new("uncompressed size", kind).at(FRAME_HEADER, 29))
    }

    pub(crate) fn offset(&self, index: u64) -> Result<Offset> {
        self.offsets.get(index)?.ok_or_else(|| match self.rescued {
            Some(rescued) if index < self.chunks() || self.header.chunksize == ChunkSize::Variable => {
                self.lost(rescued)
            }
            _ => past_the_end(index, self.chunks()),
        })
    }

    /// Returns a position for messages.
    fn position(&self, offset: Offset) -> u64 {
        match offset {
            Offset::At(position) if self.folder.is_none() => {
                bound::sum(position, self.header.header_len.into())
            }
            _ => 0,
        }
    }

    /// Returns the bytes of the chunk at a position, or in the file with that number, and what follows them.
    fn source(&self, position: u64) -> Result<Source<'_>> {
        if let Some(folder) = &self.folder {
            let path = folder.join(chunk_file(position));
            let opened = match &self.lent {
                Some(lent) => lent.open(&path),
                None => self.access.open(&path),
            };
            let storage = opened.map_err(|error| self.without_file(&path, error))?;
            let len = storage.size();
            return Ok(Source::shared(storage, 0, len));
        }
        if position >= self.header.cbytes {
            let kind = FaultKind::OutOfBounds { found: position, end: self.header.cbytes };
            return Err(Fault::new("chunk offset", kind).at("offsets chunk", self.offsets_at));
        }
        let len = sub(self.header.cbytes, position)?;
        Ok(Source::range(&*self.storage, add(position, self.header.header_len.into())?, len))
    }

    /// Returns the error for the file of a chunk that could not be opened. A file that is not in the folder is damage of the frame, as
    /// bytes that were cut off are.
    fn without_file(&self, path: &Path, error: Error) -> Error {
        match &error {
            Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
                Fault::new("chunk offset", FaultKind::Rule(MISSING_FILE))
                    .at("offsets chunk", self.offsets_at)
                    .in_file(path, None)
            }
            _ => error,
        }
    }

    /// Returns the decoded size of a chunk, if all chunks but the last have the same size; 0 after the last.
    pub(crate) fn expected_size(&self, index: u64) -> Option<u32> {
        match self.header.chunksize {
            ChunkSize::Fixed(size) => {
                let left = bound::left(self.header.nbytes, bound::product(index, size.into()));
                Some(u32::try_from(left).map_or(size, |left| left.min(size)))
            }
            ChunkSize::Variable | ChunkSize::Unknown => None,
        }
    }

    /// Returns the size of a chunk that is not stored, if chunks vary in size. It follows from the others if it is the only one.
    fn special_size(&self, index: u64) -> Result<u32> {
        let range = self.chunk_range(index)?;
        u32::try_from(sub(range.end, range.start)?)
            .map_err(|_| Fault::new("uncompressed size", FaultKind::Overflow).at(FRAME_HEADER, 29))
    }

    fn starts(&self) -> Result<&[u64]> {
        if let Some(starts) = self.starts.get() {
            return Ok(starts);
        }
        let mut sizes = Vec::new();
        for index in 0..self.chunks() {
            sizes.push(match self.offset(index)? {
                Offset::Special(_) => None,
                Offset::At(position) => Some(u64::from(read_header(&self.source(position)?)?.nbytes)),
            });
        }
        let known: u64 = sum(sizes.iter().flatten().copied())?;
        let unknown = sizes.iter().filter(|size| size.is_none()).count();
        let left = self.header.nbytes.checked_sub(known).filter(|&left| unknown > 0 || left == 0);
        // The last chunks of a frame that was cut short are missing.
        let Some(left) = left.or(self.rescued.map(|_| 0)) else {
            let kind = FaultKind::Mismatch { expected: known, found: self.header.nbytes };
            return Err(Fault::new("uncompressed size", kind).at(FRAME_HEADER, 29));
        };
        if unknown > 1 {
            let what = "a frame whose chunks vary in size, and of which several chunks are not stored,";
            return Err(Error::unsupported(what));
        }
        let mut end = 0u64;
        let mut starts = vec![0];
        for size in sizes {
            end = add(end, size.unwrap_or(left))?;
            starts.push(end);
        }
        Ok(self.starts.get_or_init(|| starts))
    }
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frame")
            .field("header", &self.header)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// Returns the metalayer that makes a frame an array.
pub(crate) fn shape_of(layers: &[Layer]) -> Result<Option<B2nd>> {
    let named = |name: &str| layers.iter().find(|layer| layer.name == name);
    match named("b2nd").or_else(|| named("caterva")) {
        Some(layer) => locate("metalayer b2nd", 0, &layer.content, B2nd::parse).map(Some),
        None => Ok(None),
    }
}

fn past_the_end(index: u64, count: u64) -> Error {
    Error::usage("chunk", format!("{index} does not exist, because there are {count} chunks"))
}
