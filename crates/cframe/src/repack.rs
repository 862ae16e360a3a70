//! Frames written anew: with another codec, other filters, chunks of another size or shape, or only without holes.

use std::path::Path;

use sciformats_core::{Error, Range, Result, Slab, slab::elements};

use crate::array::Array;
use crate::array_params::ArrayParams;
use crate::model::chunk::Chunk;
use crate::model::frame::Frame;
use crate::model::params::Params;
use crate::model::schunk::SChunk;
use crate::spec::chunk_header::Special;

/// How a frame is written anew. What is not said stays as it is; chunks of which nothing changes are copied as they are
/// stored.
///
/// ```no_run
/// use cframe::{Codec, Filter, Params, Repack};
///
/// let params = Params::new(4).with_codec(Codec::Zstd).with_level(9).with_filters(&[Filter::BITSHUFFLE])?;
/// Repack::new().with_params(params).run("fast.b2nd", "small.b2nd")?;
/// # Ok::<(), cframe::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Repack {
    params: Option<Params>,
    chunk_bytes: Option<u32>,
    chunks: Option<Vec<u32>>,
    blocks: Option<Vec<u32>>,
    sparse: Option<bool>,
}

impl Repack {
    /// Nothing changes but that holes go.
    ///
    /// ```
    /// use cframe::{Frame, Params, Repack, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (from, to) = (folder.path().join("holes.b2frame"), folder.path().join("dense.b2frame"));
    /// # let mut schunk = SChunk::create(&from, Params::new(4));
    /// # schunk.append(&[21; 4000])?;
    /// # schunk.commit()?;
    /// Repack::new().run(&from, &to)?;
    /// assert_eq!(Frame::open(&to)?.nbytes(), Frame::open(&from)?.nbytes());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Another codec, level, filters, split mode and block size; the type size stays that of the frame.
    ///
    /// ```
    /// use cframe::{Codec, Frame, Params, Repack, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (from, to) = (folder.path().join("fast.b2frame"), folder.path().join("small.b2frame"));
    /// # let mut schunk = SChunk::create(&from, Params::new(4));
    /// # schunk.append(&[21; 4000])?;
    /// # schunk.commit()?;
    /// Repack::new().with_params(Params::new(4).with_codec(Codec::Zlib).with_level(9)).run(&from, &to)?;
    /// assert_eq!(Frame::open(&to)?.codec(), Codec::Zlib);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    #[must_use]
    pub fn with_params(self, params: Params) -> Self {
        Self { params: Some(params), ..self }
    }

    /// Another size of the chunks, in bytes, for frames that are no arrays; rounded down to whole items.
    #[must_use]
    pub fn with_chunk_bytes(self, bytes: u32) -> Self {
        Self { chunk_bytes: Some(bytes), ..self }
    }

    /// Another shape of the chunks of an array.
    #[must_use]
    pub fn with_chunks(self, chunks: &[u32]) -> Self {
        Self { chunks: Some(chunks.into()), ..self }
    }

    /// Another shape of the blocks of an array.
    #[must_use]
    pub fn with_blocks(self, blocks: &[u32]) -> Self {
        Self { blocks: Some(blocks.into()), ..self }
    }

    /// Whether the result is the folder of a sparse frame, or a file; as it is, unless this is said.
    ///
    /// ```
    /// use cframe::{Frame, FrameType, Params, Repack, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (from, to) = (folder.path().join("frames.b2frame"), folder.path().join("frames"));
    /// # let mut schunk = SChunk::create(&from, Params::new(4));
    /// # schunk.append(&[21; 4000])?;
    /// # schunk.commit()?;
    /// Repack::new().with_sparse(true).run(&from, &to)?;
    /// assert_eq!(Frame::open(&to)?.frame_type(), FrameType::Sparse);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    #[must_use]
    pub fn with_sparse(self, sparse: bool) -> Self {
        Self { sparse: Some(sparse), ..self }
    }

    /// Reads the frame or array `from`, and writes it to `to`, in place of what may be there: a kill leaves the old one or
    /// the new one. The compressed chunks stand in memory until then.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Repack, Slab};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (from, to) = (folder.path().join("rows.b2nd"), folder.path().join("columns.b2nd"));
    /// let mut array = Array::create(&from, &ArrayParams::of::<f32>(&[100, 100])?.with_chunks(&[1, 100]))?;
    /// array.write_slab(&Slab::all(&[100, 100])?, &[281.5f32; 10_000])?;
    /// array.commit()?;
    ///
    /// Repack::new().with_chunks(&[100, 10]).with_blocks(&[100, 1]).run(&from, &to)?;
    /// assert_eq!(Array::open(&to)?.chunk_shape(), [100, 10]);
    /// assert_eq!(Array::open(&to)?.read_bytes()?, array.read_bytes()?);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of reading and compressing; `Usage` if shapes are given for what is no array, or a chunk size for what is one.
    pub fn run(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
        self.frame(Frame::open(from)?, to)
    }

    /// As [`run`](Self::run), for a frame that is open already.
    ///
    /// ```
    /// use cframe::{Frame, Params, Repack, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let to = folder.path().join("frames.b2frame");
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[21; 4000])?;
    /// Repack::new().with_chunk_bytes(1000).frame(Frame::from_bytes(schunk.to_bytes()?)?, &to)?;
    /// assert_eq!(Frame::open(&to)?.chunks(), 4);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn frame(&self, from: Frame, to: impl AsRef<Path>) -> Result<()> {
        let sparse = self.sparse.unwrap_or(from.is_sparse());
        let target = |params| match sparse {
            true => SChunk::create_sparse(to.as_ref(), params),
            false => SChunk::create(to.as_ref(), params),
        };
        let from = SChunk::from_frame(from);
        let mut out = if from.metalayer("b2nd").or_else(|| from.metalayer("caterva")).is_some() {
            if self.chunk_bytes.is_some() {
                return Err(Error::usage("chunk size", "is that of an array: give it the shape of a chunk"));
            }
            self.array(&Array::from_schunk(from)?, target)?
        } else {
            if self.chunks.is_some() || self.blocks.is_some() {
                return Err(Error::usage("chunk or block shape", "is for arrays, and the frame is none"));
            }
            self.items(&from, target)?
        };
        out.commit()
    }

    fn params_for(&self, from: &SChunk) -> Params {
        let kept = from.params();
        self.params.map_or(kept, |params| Params { typesize: kept.typesize, ..params })
    }

    fn items(&self, from: &SChunk, target: impl FnOnce(Params) -> SChunk) -> Result<SChunk> {
        let mut out = target(self.params_for(from));
        out.take_layers(from);
        match self.chunk_bytes {
            Some(bytes) => {
                let size = from.typesize();
                let bytes =
                    u64::from(bytes.checked_div(size).unwrap_or(0).max(1)).saturating_mul(size.into());
                let mut at = 0;
                while at < from.nbytes() {
                    let len = bytes.min(from.nbytes().saturating_sub(at));
                    let mut data = vec![0; from.limits().memory("bytes of a chunk", len)?];
                    from.read_bytes(at, &mut data)?;
                    out.append(&data)?;
                    at = at.saturating_add(len);
                }
            }
            None => {
                for chunk in from.iter() {
                    self.chunk(&chunk?, &mut out)?;
                }
            }
        }
        Ok(out)
    }

    /// Appends a chunk of the same content.
    fn chunk(&self, chunk: &Chunk<'_>, out: &mut SChunk) -> Result<()> {
        let kind = chunk.special();
        if self.params.is_none() || matches!(kind, Some(kind) if kind != Special::Zeros) {
            return out.insert_chunk(out.chunks(), chunk.stored()?.into_owned());
        }
        let data = chunk.decode()?;
        if chunk.blocksize().is_some() {
            return out.append(&data);
        }
        let blocks = (0..chunk.blocks()).map(|index| data.get(chunk.block_range(index)).unwrap_or_default());
        out.append_blocks(&blocks.collect::<Vec<_>>())
    }

    fn array(&self, from: &Array, target: impl FnOnce(Params) -> SChunk) -> Result<SChunk> {
        if self.chunks.is_none() && self.blocks.is_none() {
            // The blocks stay those of the array, whatever size the parameters say.
            let (params, blocksize) = (self.params_for(from.schunk()), from.schunk().params().blocksize);
            let same = Self { params: self.params.map(|_| Params { blocksize, ..params }), ..self.clone() };
            return same.items(from.schunk(), target);
        }
        let shape = from.shape().to_vec();
        let dtype = from.dtype().map_or_else(|| format!("|V{}", from.typesize()), str::to_owned);
        let mut spec =
            ArrayParams::raw(&shape, &dtype, from.typesize()).with_params(self.params_for(from.schunk()));
        spec = spec.with_chunks(self.chunks.as_deref().unwrap_or(from.chunk_shape()));
        spec = match &self.blocks {
            Some(blocks) => spec.with_blocks(blocks),
            None => spec,
        };
        let mut out = Array::over(target(spec.params), &spec)?;
        out.schunk_mut().take_layers(from.schunk());
        let sides: Vec<u64> = out.chunk_shape().iter().map(|&n| n.into()).collect();
        let counts: Vec<u64> = shape.iter().zip(&sides).map(|(&n, &side)| n.div_ceil(side.max(1))).collect();
        for number in 0..elements(&counts).unwrap_or(0) {
            let slab = Slab::new(&shape, part(number, &counts, &sides, &shape))?;
            let data = from.read_slab_bytes(&slab)?;
            if data.iter().any(|&byte| byte != 0) {
                out.write_slab_bytes(&slab, &data)?;
            }
        }
        Ok(out.into_schunk())
    }
}

/// The indices of a chunk, by its number in C order.
fn part(number: u64, counts: &[u64], sides: &[u64], shape: &[u64]) -> Vec<Range> {
    let position = crate::array::position_of(number, counts);
    position
        .iter()
        .zip(sides)
        .zip(shape)
        .map(|((&at, &side), &n)| {
            let start = at.saturating_mul(side);
            Range::new(start, side.min(n.saturating_sub(start)))
        })
        .collect()
}
