//! Writing frames again: with another codec, other filters, chunks of another size or shape, or only without holes.

mod chunks;
mod job;
mod relaid;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sciformats_core::Result;

use crate::model::frame::Frame;
use crate::model::params::Params;
use crate::spec::pipeline::Codec;

/// How a frame is written again. What is not specified stays the same: metalayers, the codec, filters and their parameters, the
/// sizes of types, chunks and blocks, and whether it is a file or a folder.
///
/// Chunks in which nothing changes are copied in their stored form, and need not be decodable. Chunks that contain only zeros,
/// NaN, one value or uninitialised elements stay so. No more than a few chunks are in memory at a time.
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
    codec: Option<Codec>,
    level: Option<u8>,
    chunk_bytes: Option<u32>,
    chunks: Option<Vec<u64>>,
    blocks: Option<Vec<u64>>,
    sparse: Option<bool>,
    cancel: Option<Arc<AtomicBool>>,
}

impl Repack {
    /// Creates a repacking that changes nothing except that it removes holes.
    ///
    /// ```
    /// use cframe::{Frame, Params, Repack, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (from, to) = (folder.path().join("holes.b2frame"), folder.path().join("dense.b2frame"));
    /// # let mut schunk = SChunk::create(&from, Params::new(4))?;
    /// # schunk.append(&[21; 4000])?;
    /// # schunk.commit()?;
    /// Repack::new().run(&from, &to)?;
    /// assert_eq!(Frame::open(&to)?.nbytes(), Frame::open(&from)?.nbytes());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Selects another codec, level, filters, split mode and block size. The type size stays that of the frame.
    ///
    /// ```
    /// use cframe::{Codec, Frame, Params, Repack, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (from, to) = (folder.path().join("fast.b2frame"), folder.path().join("small.b2frame"));
    /// # let mut schunk = SChunk::create(&from, Params::new(4))?;
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

    /// Selects another codec. The filters, the level, and the sizes of blocks stay those of each chunk.
    ///
    /// ```
    /// use cframe::{Codec, Filter, Frame, Params, Repack, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (from, to) = (folder.path().join("fast.b2frame"), folder.path().join("small.b2frame"));
    /// let mut schunk = SChunk::create(&from, Params::new(4).with_filters(&[Filter::BITSHUFFLE])?)?;
    /// schunk.append(&(0..1000u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>())?;
    /// schunk.commit()?;
    /// Repack::new().with_codec(Codec::Zlib).with_level(9).run(&from, &to)?;
    /// let frame = Frame::open(&to)?;
    /// assert_eq!((frame.codec(), frame.level()), (Codec::Zlib, 9));
    /// assert!(frame.chunk(0)?.pipeline().filters().eq([Filter::BITSHUFFLE]));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    #[must_use]
    pub fn with_codec(self, codec: Codec) -> Self {
        Self { codec: Some(codec), ..self }
    }

    /// Selects another level, from 0 (uncompressed) to 9; with a larger level, [`run`](Self::run) fails with `Usage`. The codec,
    /// the filters, and the sizes of blocks stay those of each chunk.
    #[must_use]
    pub fn with_level(self, level: u8) -> Self {
        Self { level: Some(level), ..self }
    }

    /// Selects another size of the chunks in bytes, for frames that are not arrays. It is rounded down to whole items.
    #[must_use]
    pub fn with_chunk_bytes(self, bytes: u32) -> Self {
        Self { chunk_bytes: Some(bytes), ..self }
    }

    /// Selects another shape of the chunks of an array. Blocks keep their shape as far as it fits the chunks, unless another one
    /// is [selected](Self::with_blocks). If a chunk was a single block, a shape is chosen automatically.
    #[must_use]
    pub fn with_chunks(self, chunks: &[u64]) -> Self {
        Self { chunks: Some(chunks.into()), ..self }
    }

    /// Selects another shape of the blocks of an array.
    #[must_use]
    pub fn with_blocks(self, blocks: &[u64]) -> Self {
        Self { blocks: Some(blocks.into()), ..self }
    }

    /// Selects whether the result is the folder of a sparse frame, or a file. Without this, it is the same as before.
    ///
    /// ```
    /// use cframe::{Frame, FrameType, Params, Repack, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (from, to) = (folder.path().join("frames.b2frame"), folder.path().join("frames"));
    /// # let mut schunk = SChunk::create(&from, Params::new(4))?;
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

    /// Ends the work with an error of the kind `Interrupted` when `cancel` becomes true.
    #[must_use]
    pub fn with_cancel(self, cancel: Arc<AtomicBool>) -> Self {
        Self { cancel: Some(cancel), ..self }
    }

    /// Reads the frame or array `from`, and writes it to `to`, where it replaces an existing one. If the process is killed, the
    /// old or the new one remains.
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
    /// Those of reading and compressing; `Usage` if shapes are selected for a frame that is not an array, or a chunk size for an
    /// array; `Unsupported` if chunks must be compressed again with a codec or a filter that cannot be written, or that changes
    /// data that it has already filtered once.
    pub fn run(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
        self.frame(&Frame::open(from)?, to)
    }

    /// Does the same as [`run`](Self::run), for an open frame.
    ///
    /// ```
    /// use cframe::{Frame, Params, Repack, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let to = folder.path().join("frames.b2frame");
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[21; 4000])?;
    /// Repack::new().with_chunk_bytes(1000).frame(&Frame::from_bytes(schunk.to_bytes()?)?, &to)?;
    /// assert_eq!(Frame::open(&to)?.chunks(), 4);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub fn frame(&self, from: &Frame, to: impl AsRef<Path>) -> Result<()> {
        job::Job::new(self, from, to.as_ref())?.run()
    }
}
