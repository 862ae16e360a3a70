//! A chunk for reading: what its header says, and where its blocks are.

mod body;
mod decode;
mod held;
mod streams;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use sciformats_core::arith::div;
use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Limits, Result, bound};

pub(crate) use decode::{State, fill};
pub(crate) use held::Held;

use crate::codec::registry::Registry;
use crate::model::coder::Coder;
use crate::model::parallel::Threads;
use crate::model::source::Source;
use crate::model::stages::Stages;
use crate::spec::chunk_header::{ChunkHeader, Special};
use crate::spec::pipeline::{Codec, Pipeline};

const HEADER: &str = "chunk header";

/// What a chunk does not contain, and the options for reading it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    /// The type size of the frame, which may be larger than the field of a chunk allows.
    pub(crate) typesize: Option<u32>,
    /// The shape of a block, if the chunk belongs to an array.
    pub(crate) block_shape: Vec<u32>,
    pub(crate) registry: Registry,
    pub(crate) limits: Limits,
    pub(crate) threads: Threads,
}

pub(crate) static PLAIN: LazyLock<Context> = LazyLock::new(Context::default);

/// A compressed chunk. Opening reads the header and the block starts. Blocks are decoded when they are needed.
///
/// ```
/// use cframe::{Chunk, Codec, Filter, Params};
///
/// let counts: Vec<u8> = (0..50_000u32).flat_map(u32::to_le_bytes).collect();
/// let bytes = cframe::compress(&counts, &Params::new(4).with_codec(Codec::Zlib).with_blocksize(8192))?;
/// let chunk = Chunk::new(&bytes)?;
/// assert_eq!((chunk.nbytes(), chunk.cbytes(), chunk.typesize()), (200_000, bytes.len(), 4));
/// assert_eq!((chunk.blocks(), chunk.blocksize()), (25, Some(8192)));
/// assert_eq!((chunk.codec(), chunk.pipeline().contains(Filter::SHUFFLE.id)), (Codec::Zlib, true));
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone)]
pub struct Chunk<'a> {
    source: Source<'a>,
    header: ChunkHeader,
    body: Body,
    context: &'a Context,
    /// Where a large block is kept between reads, and the number of this chunk there.
    held: Option<(&'a Held, u64)>,
}

#[derive(Clone)]
enum Body {
    /// Uncompressed bytes after the header.
    Raw,
    /// One repeated value.
    Special { value: Vec<u8> },
    /// Blocks of equal length.
    Blocks { parts: Vec<Range<u32>>, coding: Coding },
    /// Blocks that declare their length.
    VlBlocks { parts: Vec<VlPart>, coding: Coding },
}

#[derive(Clone)]
struct Coding {
    coder: Coder,
    stages: Stages,
    /// The position of the dictionary, without its size.
    dictionary: Option<Range<u32>>,
    split: bool,
}

#[derive(Clone)]
struct VlPart {
    stored: Range<u32>,
    decoded: Range<u32>,
}

impl<'a> Chunk<'a> {
    /// Opens a chunk in memory. Bytes after it are ignored.
    ///
    /// ```
    /// use cframe::{Chunk, Params};
    ///
    /// let mut bytes = cframe::compress(&[21; 4000], &Params::new(4))?;
    /// let size = bytes.len();
    /// bytes.extend(b"something else");
    /// assert_eq!(Chunk::new(&bytes)?.cbytes(), size);
    /// assert!(Chunk::new(b"no chunk").is_err());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the header or the block starts are damaged; `Unsupported` if its codec or a filter is not available.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        Self::open(Source::bytes(bytes), &PLAIN)
    }

    pub(crate) fn open(source: Source<'a>, context: &'a Context) -> Result<Self> {
        let header = read_header(&source)?;
        let base = source.base();
        if u64::from(header.cbytes) > source.len() {
            let kind =
                FaultKind::OutOfBounds { found: header.cbytes.into(), end: bound::sum(source.len(), 1) };
            return Err(Fault::new("cbytes", kind).at(HEADER, bound::sum(base, 12)));
        }
        let source = source.cut(header.cbytes.into());
        let body = Body::read(&source, &header, context)?;
        let mut header = header;
        if !header.has_vl_blocks() {
            header.blocksize = header.blocksize.min(header.nbytes).max(1);
        }
        Ok(Self { source, header, body, context, held: None })
    }

    /// Returns the same chunk. A large block of which several parts are read is decoded once and kept; `number` identifies the
    /// chunk.
    pub(crate) fn holding(self, held: &'a Held, number: u64) -> Self {
        Self { held: Some((held, number)), ..self }
    }

    /// Returns the bytes that the chunk repeats, if nothing else is stored.
    pub(crate) fn repeated(&self) -> Option<&[u8]> {
        match &self.body {
            Body::Special { value } => Some(value),
            _ => None,
        }
    }

    /// Returns the offset of the chunk in its file, for messages.
    pub(crate) fn base(&self) -> u64 {
        self.source.base()
    }

    /// Returns the size of the decoded chunk in bytes.
    pub fn nbytes(&self) -> usize {
        to_usize(self.header.nbytes)
    }

    /// Returns the size of the stored chunk in bytes.
    pub fn cbytes(&self) -> usize {
        to_usize(self.header.cbytes)
    }

    /// Returns the size of an element in bytes according to the chunk, which is 1 if the real size exceeds 255.
    pub fn typesize(&self) -> usize {
        self.header.typesize.into()
    }

    /// Returns the version of the chunk's format: up to 2 for Blosc 1, 6 for blocks of variable length.
    pub fn version(&self) -> u8 {
        self.header.version
    }

    /// Returns the size of a decoded block in bytes; `None` if blocks vary in length.
    pub fn blocksize(&self) -> Option<usize> {
        (!self.header.has_vl_blocks()).then_some(to_usize(self.header.blocksize))
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        match &self.body {
            Body::VlBlocks { parts, .. } => parts.len(),
            _ => self.nbytes().div_ceil(to_usize(self.header.blocksize).max(1)),
        }
    }

    /// Returns the codec.
    pub fn codec(&self) -> Codec {
        self.header.codec()
    }

    /// Returns the parameter of the codec.
    pub fn codec_meta(&self) -> u8 {
        self.header.codec_meta()
    }

    /// Returns the filters.
    pub fn pipeline(&self) -> Pipeline {
        self.header.pipeline()
    }

    /// Returns the kind of value that all bytes have, if nothing else is stored.
    ///
    /// ```
    /// use cframe::{Chunk, Params, Special};
    ///
    /// let bytes = cframe::compress(&[0; 1_000_000], &Params::new(4))?;
    /// assert_eq!(bytes.len(), 32); // the header
    /// assert_eq!(Chunk::new(&bytes)?.special(), Some(Special::Zeros));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn special(&self) -> Option<Special> {
        self.header.special()
    }

    /// Returns whether a block is divided into one stream for each byte of an element.
    pub fn is_split(&self) -> bool {
        matches!(&self.body, Body::Blocks { coding: Coding { split: true, .. }, .. })
    }

    /// Returns whether a dictionary is stored with the chunk.
    pub fn has_dictionary(&self) -> bool {
        self.header.has_dictionary()
    }

    /// Returns the stored chunk, if it is in memory.
    pub fn as_stored(&self) -> Option<&[u8]> {
        self.source.as_slice()
    }

    /// Returns the stored chunk.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[21; 4000])?;
    /// let frame = Frame::from_bytes(schunk.to_bytes()?)?;
    /// let mut other = SChunk::new(Params::new(4));
    /// other.insert_chunk(0, frame.chunk(0)?.stored()?.into_owned())?; // moved, and not compressed again
    /// assert_eq!(other.chunk(0)?.decode()?, [21; 4000]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`.
    pub fn stored(&self) -> Result<Cow<'_, [u8]>> {
        self.source.read(0, self.header.cbytes.into())
    }

    /// Returns the decoded bytes without a copy, if the chunk stores them uncompressed and is in memory.
    ///
    /// ```
    /// use cframe::{Chunk, Params};
    ///
    /// let raw = cframe::compress(b"a week in May", &Params::new(1).with_level(0))?;
    /// assert_eq!(Chunk::new(&raw)?.as_raw(), Some(&b"a week in May"[..]));
    /// let packed = cframe::compress(&[21; 4000], &Params::new(1))?;
    /// assert_eq!(Chunk::new(&packed)?.as_raw(), None);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn as_raw(&self) -> Option<&[u8]> {
        match self.body {
            Body::Raw => self.source.as_slice()?.get(to_usize(self.header.size())..),
            _ => None,
        }
    }

    /// Returns the range of decoded bytes that a block contains. It is empty after the last block.
    pub(crate) fn block_range(&self, index: usize) -> Range<usize> {
        match &self.body {
            Body::VlBlocks { parts, .. } => match parts.get(index) {
                Some(part) => to_usize(part.decoded.start)..to_usize(part.decoded.end),
                None => self.nbytes()..self.nbytes(),
            },
            _ => {
                let size = to_usize(self.header.blocksize);
                let start = bound::product(index, size).min(self.nbytes());
                start..bound::sum(start, size).min(self.nbytes())
            }
        }
    }

    /// Returns the ranges of decoded bytes of all blocks, if they vary in length.
    pub(crate) fn vl_blocks(&self) -> Option<Vec<Range<usize>>> {
        let varies = self.header.has_vl_blocks();
        varies.then(|| (0..self.blocks()).map(|index| self.block_range(index)).collect())
    }

    /// Returns the block that contains the decoded byte at `at`.
    fn block_at(&self, at: usize) -> Result<usize> {
        match &self.body {
            Body::VlBlocks { parts, .. } => {
                Ok(parts.partition_point(|part| to_usize(part.decoded.end) <= at))
            }
            _ => div(at, to_usize(self.header.blocksize)),
        }
    }
}

impl std::fmt::Debug for Chunk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chunk").field("header", &self.header).finish_non_exhaustive()
    }
}

/// Parses the header at the start of a source.
pub(crate) fn read_header(source: &Source<'_>) -> Result<ChunkHeader> {
    let head = source.read(0, source.len().min(ChunkHeader::LONG.into()))?;
    locate(HEADER, source.base(), &head, ChunkHeader::parse)
}

/// Converts a size inside a chunk, which has at most 31 bits.
fn to_usize(size: u32) -> usize {
    bound::addressable(size.into())
}
