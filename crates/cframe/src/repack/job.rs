//! What is done with the chunks of a frame: they are copied, compressed again, or divided differently.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sciformats_core::{Error, Result, arith, bound};

use super::Repack;
use crate::array::Array;
use crate::model::chunk::{Chunk, Context};
use crate::model::compress::{compress, compress_blocks, special};
use crate::model::frame::{Frame, StoredChunk};
use crate::model::layout::{self, Stored};
use crate::model::params::Params;
use crate::model::schunk::stream::Stream;
use crate::model::schunk::{SChunk, described, params_of};
use crate::model::source::Source;
use crate::spec::chunk_header::Special;
use crate::spec::frame_header::{ChunkSize, FrameHeader, Varying};
use crate::spec::offset::Offset;
use crate::spec::pipeline::{Codec, Pipeline};
use crate::spec::trailer::Trailer;

/// The filter that replaces each element of a cell by their mean.
const NDMEAN: u8 = 33;

/// A frame that is written again.
pub(super) struct Job<'a> {
    pub(super) options: &'a Repack,
    pub(super) from: &'a Frame,
    to: &'a Path,
    is_array: bool,
}

impl<'a> Job<'a> {
    pub(super) fn new(options: &'a Repack, from: &'a Frame, to: &'a Path) -> Result<Self> {
        let is_array = from.metalayer("b2nd").or_else(|| from.metalayer("caterva")).is_some();
        if is_array && options.chunk_bytes.is_some() {
            return Err(Error::usage(
                "chunk size",
                "cannot be chosen for an array; choose the chunk shape instead",
            ));
        }
        if !is_array && (options.chunks.is_some() || options.blocks.is_some()) {
            return Err(Error::usage(
                "chunk or block shape",
                "can only be chosen for an array, but the frame does not contain one",
            ));
        }
        Ok(Self { options, from, to, is_array })
    }

    pub(super) fn run(&self) -> Result<()> {
        if let Some(bytes) = self.options.chunk_bytes {
            return self.cut(bytes);
        }
        if self.options.chunks.is_some() || self.options.blocks.is_some() {
            let array = Array::from_schunk(SChunk::from_frame(self.from.clone()))?;
            let b2nd = self.shapes(&array)?;
            if (&b2nd.chunks, &b2nd.blocks) != (&array.b2nd().chunks, &array.b2nd().blocks) {
                return self.lay(&array, &b2nd);
            }
        }
        self.copy()
    }

    /// Copies all chunks, or compresses each of them again.
    fn copy(&self) -> Result<()> {
        let params = self.params()?;
        let is_new = self.options.params.is_some() && !self.is_array;
        let blocksize = if is_new { params.declared_blocksize() } else { self.from.block_size() };
        let header = FrameHeader { blocksize, ..self.described(&params) };
        let mut out = self.begin(header, self.from.chunks())?;
        let mut twice = self.twice()?;
        let mut stored = 0u64;
        for index in 0..self.from.chunks() {
            self.go_on()?;
            let (offset, source, header) = match self.from.stored(index)? {
                StoredChunk::Bytes { offset, source, header } => (offset, source, header),
                StoredChunk::Nothing(kind) => {
                    out.kind(index, kind);
                    continue;
                }
            };
            if let Some(Some(place)) = twice.get(&offset) {
                out.place(index, *place);
                continue;
            }
            let place = if self.recodes() && header.special().is_none() && header.nbytes > 0 {
                self.recoded(&mut out, index)?
            } else {
                arith::increase(&mut stored, source.len())?;
                self.from.check_stored(stored)?;
                out.chunk(index, &source, &|| self.go_on())?
            };
            if let Some(known) = twice.get_mut(&offset) {
                *known = Some(place);
            }
        }
        out.finish()
    }

    /// Returns the places to which the offsets refer several times.
    fn twice(&self) -> Result<HashMap<u64, Option<Offset>>> {
        let mut places = Vec::new();
        for index in 0..self.from.chunks() {
            if let Offset::At(place) = self.from.offset(index)? {
                places.push(place);
            }
        }
        places.sort_unstable();
        let pairs = places.iter().zip(places.iter().skip(1));
        Ok(pairs.filter(|(a, b)| a == b).map(|(place, _)| (*place, None)).collect())
    }

    /// Decodes a chunk, and compresses it with the requested parameters.
    fn recoded(&self, out: &mut Stream, index: u64) -> Result<Offset> {
        let chunk = self.from.chunk(index)?;
        let params = self.params_of_chunk(&chunk)?;
        check(&params.pipeline)?;
        let data = chunk.decode()?;
        let bytes = match chunk.blocksize() {
            Some(_) => compress(&data, &params, self.from.context())?,
            None => {
                let blocks =
                    (0..chunk.blocks()).map(|index| data.get(chunk.block_range(index)).unwrap_or_default());
                compress_blocks(&blocks.collect::<Vec<_>>(), &params, self.from.context())?
            }
        };
        drop(data);
        self.put(out, index, bytes)
    }

    /// Compresses `data` into chunk `index`.
    pub(super) fn compressed(
        &self,
        out: &mut Stream,
        index: u64,
        data: &[u8],
        (params, context): (&Params, &Context),
    ) -> Result<()> {
        check(&params.pipeline)?;
        let bytes = compress(data, params, context)?;
        self.put(out, index, bytes).map(drop)
    }

    fn put(&self, out: &mut Stream, index: u64, chunk: Vec<u8>) -> Result<Offset> {
        let sizes = (out.header().chunksize, out.header().typesize);
        match layout::stored(&Arc::new(chunk), sizes, self.from.limits())? {
            Stored::Nothing(offset) => {
                out.place(index, offset);
                Ok(offset)
            }
            Stored::Bytes(bytes) => out.chunk(index, &Source::bytes(&bytes), &|| self.go_on()),
        }
    }

    /// Returns the content of all of the chunks, if they are all the same and of one kind.
    pub(super) fn uniform(&self, chunks: impl Iterator<Item = u64>) -> Result<Option<(Special, Vec<u8>)>> {
        let mut found = None;
        for index in chunks {
            let this = self.from.stored(index)?.uniform()?;
            let fits = this.as_ref().is_some_and(|(kind, value)| {
                *kind != Special::Value || value.len() as u64 == u64::from(self.from.typesize())
            });
            if !fits || found.as_ref().is_some_and(|found| Some(found) != this.as_ref()) {
                return Ok(None);
            }
            found = this;
        }
        Ok(found)
    }

    /// Writes that chunk `index` is of one kind.
    pub(super) fn alike(
        &self,
        out: &mut Stream,
        index: u64,
        (kind, value): &(Special, Vec<u8>),
        nbytes: u32,
    ) -> Result<()> {
        if *kind != Special::Value {
            out.kind(index, *kind);
            return Ok(());
        }
        let header = out.header();
        let chunk = special(*kind, value, (header.typesize, header.blocksize), nbytes)?;
        out.chunk(index, &Source::bytes(&chunk), &|| self.go_on()).map(drop)
    }

    pub(super) fn begin(&self, header: FrameHeader, chunks: u64) -> Result<Stream> {
        let chunks = bound::addressable(chunks);
        let sparse = self.options.sparse.unwrap_or(self.from.is_sparse());
        // A fingerprint would be that of the old bytes.
        let trailer = Trailer { layers: self.from.trailer().layers.clone(), ..Trailer::default() };
        Stream::begin(self.to, sparse, (header, trailer), chunks)
    }

    /// Returns the header of a frame whose new chunks have one size.
    pub(super) fn cut_header(&self, params: &Params, (size, nbytes): (u32, u64)) -> FrameHeader {
        let header = FrameHeader { blocksize: params.declared_blocksize(), ..self.described(params) };
        let chunksize = if nbytes == 0 { ChunkSize::Unknown } else { ChunkSize::Fixed(size) };
        let general_flags = FrameHeader::general_flags(Varying::NONE);
        FrameHeader { nbytes, chunksize, general_flags, ..header }
    }

    /// Returns the header with the new parameters of compression.
    fn described(&self, params: &Params) -> FrameHeader {
        let kept = self.from.header();
        let new = described(kept, params);
        let (codec, level) = (self.options.codec.is_some(), self.options.level.is_some());
        match self.options.params {
            Some(_) => new,
            None if codec => {
                let FrameHeader { codec_flags, codec, codec_meta, other_flags2, .. } = new;
                FrameHeader { codec_flags, codec, codec_meta, other_flags2, ..kept.clone() }
            }
            None if level => {
                let codec_flags = (kept.codec_flags & 0x0f) | (new.codec_flags & 0xf0);
                FrameHeader { codec_flags, ..kept.clone() }
            }
            None => kept.clone(),
        }
    }

    pub(super) fn go_on(&self) -> Result<()> {
        match self.options.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            true => Err(Error::io("repack", std::io::ErrorKind::Interrupted.into())),
            false => Ok(()),
        }
    }

    fn recodes(&self) -> bool {
        self.options.params.is_some() || self.options.codec.is_some() || self.options.level.is_some()
    }

    /// Returns the parameters with which chunks are compressed if their previous parameters are not known.
    pub(super) fn params(&self) -> Result<Params> {
        let kept = params_of(self.from.header());
        let params = match self.options.params {
            Some(params) => Params { typesize: kept.typesize, ..params },
            None => Params { level: self.options.level.unwrap_or(kept.level), ..self.other_codec(kept) },
        };
        params.check()?;
        Ok(params)
    }

    fn params_of_chunk(&self, chunk: &Chunk<'_>) -> Result<Params> {
        let params = self.params()?;
        // Blocks that vary in length have no common size.
        let blocksize = match chunk.blocksize() {
            Some(size) => arith::fit(size, "bytes of a block")?,
            None => 0,
        };
        if self.options.params.is_some() {
            // The blocks stay those of the array, whatever size the parameters contain.
            return Ok(if self.is_array { Params { blocksize, ..params } } else { params });
        }
        let codec = match (chunk.codec(), self.from.codec()) {
            // The short header does not distinguish between the two codecs.
            (Codec::Lz4, Codec::Lz4Hc) => Codec::Lz4Hc,
            (codec, _) => codec,
        };
        let own = Params {
            codec,
            codec_meta: chunk.codec_meta(),
            pipeline: chunk.pipeline(),
            typesize: match u32::try_from(chunk.typesize()) {
                Ok(typesize) if params.typesize <= u8::MAX.into() => typesize,
                _ => params.typesize,
            },
            dictionary: params.dictionary || chunk.has_dictionary(),
            blocksize,
            ..params
        };
        Ok(self.other_codec(own))
    }

    /// Removes the parameter of the codec if the codec is another one.
    fn other_codec(&self, params: Params) -> Params {
        match self.options.codec {
            Some(codec) if codec != params.codec => Params { codec, codec_meta: 0, ..params },
            _ => params,
        }
    }
}

/// Fails if there are filters that must not be applied twice.
fn check(pipeline: &Pipeline) -> Result<()> {
    match pipeline.contains(NDMEAN) {
        true => Err(Error::unsupported(
            "compressing data again that was filtered by filter 33 (ndmean), which would change its means,",
        )),
        false => Ok(()),
    }
}
