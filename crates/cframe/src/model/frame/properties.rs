//! What a frame declares about itself.

use std::ops::Range;
use std::path::Path;

use sciformats_core::arith::sub;
use sciformats_core::commit::Generation;
use sciformats_core::{Result, bound};

use super::Frame;
use crate::model::chunk::{Chunk, Context};
use crate::model::source::Source;
use crate::spec::frame_header::{ChunkSize, FrameHeader, FrameType};
use crate::spec::metalayers::Layer;
use crate::spec::pipeline::{Codec, Pipeline};
use crate::spec::trailer::Trailer;

impl Frame {
    /// Returns the header as it is stored.
    pub fn header(&self) -> &FrameHeader {
        &self.header
    }

    /// Returns the size of an element in bytes.
    pub fn typesize(&self) -> u32 {
        self.header.typesize
    }

    /// Returns the size of all decoded chunks in bytes.
    ///
    /// ```
    /// use cframe::{Codec, Frame, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4).with_codec(Codec::Zlib));
    /// schunk.append(&[21; 4000])?;
    /// schunk.append(&[22; 4000])?;
    /// let frame = Frame::from_bytes(schunk.to_bytes()?)?;
    /// assert_eq!((frame.nbytes(), frame.chunks(), frame.codec()), (8000, 2, Codec::Zlib));
    /// assert!(frame.cbytes() < frame.nbytes() && frame.cbytes() < frame.frame_len());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn nbytes(&self) -> u64 {
        self.header.nbytes
    }

    /// Returns the size of all stored chunks in bytes, including holes between them.
    pub fn cbytes(&self) -> u64 {
        self.header.cbytes
    }

    /// Returns the length of the frame including all chunks. For a sparse frame, this is the length of the index alone.
    pub fn frame_len(&self) -> u64 {
        self.header.frame_len
    }

    /// Returns whether the chunks are inside the frame or beside it.
    pub fn frame_type(&self) -> FrameType {
        if self.folder.is_some() { FrameType::Sparse } else { FrameType::Contiguous }
    }

    /// Returns the sizes of the chunks.
    pub fn chunk_size(&self) -> ChunkSize {
        self.header.chunksize
    }

    /// Returns the block size that the frame declares, or 0 if it declares none. Each chunk declares its own.
    pub fn block_size(&self) -> u32 {
        self.header.blocksize
    }

    /// Returns the codec that the frame declares. Each chunk declares its own.
    pub fn codec(&self) -> Codec {
        self.header.codec()
    }

    /// Returns the level of compression that the frame declares, from 0 to 9.
    pub fn level(&self) -> u8 {
        self.header.level()
    }

    /// Returns the filters that the frame declares. Each chunk declares its own.
    pub fn pipeline(&self) -> Pipeline {
        self.header.pipeline
    }

    /// Returns the number of chunks.
    pub fn chunks(&self) -> u64 {
        self.offsets.len()
    }

    /// Returns the names and bytes of the metalayers, in the order in which they are stored.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Frame};
    ///
    /// let mut temperature = Array::new(&ArrayParams::of::<f32>(&[24])?)?;
    /// temperature.schunk_mut().set_metalayer("units", b"K")?;
    /// let frame = Frame::from_bytes(temperature.schunk().to_bytes()?)?;
    /// let names: Vec<&str> = frame.metalayers().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["b2nd", "units"]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn metalayers(&self) -> impl ExactSizeIterator<Item = (&str, &[u8])> {
        self.header.layers.iter().map(|layer| (layer.name.as_str(), layer.content.as_slice()))
    }

    /// Returns the bytes of a metalayer.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.set_metalayer("units", b"K")?;
    /// let frame = Frame::from_bytes(schunk.to_bytes()?)?;
    /// assert_eq!(frame.metalayer("units"), Some(&b"K"[..]));
    /// assert_eq!(frame.metalayer("scale"), None);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn metalayer(&self, name: &str) -> Option<&[u8]> {
        self.metalayers().find(|(layer, _)| *layer == name).map(|(_, content)| content)
    }

    /// Returns whether the elements are in the chunks of the frame, as far as its metalayers say. They are not if python-blosc2 saved an
    /// expression, a function or a proxy: the chunks of such a frame are empty, or some of them are.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Error, Frame};
    ///
    /// let mut proxy = Array::new(&ArrayParams::of::<f32>(&[24])?)?;
    /// proxy.schunk_mut().set_metalayer("proxy-source", b"\x80")?;
    /// let frame = Frame::from_bytes(proxy.schunk().to_bytes()?)?;
    /// assert!(matches!(frame.has_elements(), Err(Error::Missing { .. })));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Missing`, which says where the elements are.
    pub fn has_elements(&self) -> Result<()> {
        crate::model::elsewhere::check(self.metalayers())
    }

    /// Returns the names of the metalayers of variable length, in the order in which they are stored.
    pub fn vlmeta_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.trailer.names()
    }

    /// Returns the decompressed bytes of a metalayer of variable length.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.set_vlmeta("history", b"made in May")?;
    /// let frame = Frame::from_bytes(schunk.to_bytes()?)?;
    /// assert_eq!(frame.vlmeta_names().collect::<Vec<_>>(), ["history"]);
    /// assert_eq!(frame.vlmeta("history")?, b"made in May");
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotFound`; those of [`Chunk::decode`].
    pub fn vlmeta(&self, name: &str) -> Result<Vec<u8>> {
        decode_layer(self.trailer.layer(name)?, &self.context)
    }

    /// Returns the number of bytes of the storage, which may continue after the frame.
    pub(crate) fn storage_len(&self) -> u64 {
        self.storage.size()
    }

    /// Returns what a commit builds upon: the header, the offsets and the trailer.
    pub(crate) fn generation(&self) -> Result<Generation> {
        let std::ops::Range { start, end } = self.index_range();
        let header = (0, u64::from(self.header.header_len));
        Generation::of(&*self.storage, [header, (start, sub(end, start)?)])
    }

    pub(crate) fn is_sparse(&self) -> bool {
        self.folder.is_some()
    }

    /// Returns the offset of the trailer.
    pub(crate) fn trailer_start(&self) -> u64 {
        self.trailer_at
    }

    /// Returns whether this is the sparse frame of this folder.
    pub(crate) fn is_in(&self, folder: &Path) -> bool {
        self.folder.as_deref() == Some(folder)
    }

    pub(crate) fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the range from the offsets chunk to the end of the frame.
    pub(crate) fn index_range(&self) -> Range<u64> {
        self.offsets_at.min(self.trailer_at)..self.header.frame_len
    }
}

/// The size in bytes that a metalayer may have, even if few bytes are stored for it.
const LAYER: u64 = 64 << 20;

/// The number of bytes by which the size may exceed this limit for each stored byte, which is what deflate can make of a byte.
const PER_BYTE: u64 = 1032;

/// Returns the bytes of a metalayer of variable length. They are always in memory as a whole.
pub(crate) fn decode_layer(layer: &Layer, context: &Context) -> Result<Vec<u8>> {
    let most = LAYER.max(bound::product(layer.content.len() as u64, PER_BYTE)).min(context.limits.memory);
    let limits = context.limits.with_memory(most);
    let plain = Context { typesize: None, block_shape: Vec::new(), ..context.clone() };
    let chunk = Chunk::open(Source::bytes(&layer.content), &plain)?;
    limits.memory("bytes of the metalayer", chunk.nbytes() as u64)?;
    chunk.decode()
}
