//! Blosc2: compressed chunks, frames of chunks in files, folders and memory, and n-dimensional arrays.
//!
//! | type | what it is |
//! |---|---|
//! | [`compress`], [`decompress`], [`Chunk`] | one compressed buffer, which can also be read block by block |
//! | [`Frame`] | a frame for reading: a contiguous file, a folder, bytes, or a part of another file |
//! | [`SChunk`] | a list of chunks with metalayers, for reading and editing |
//! | [`Array`] | an n-dimensional array (`b2nd`), for reading and editing by selections |
//!
//! Any number of threads can read, because reading takes `&self`. It only reads what it needs: opening reads the header and the
//! trailer, a chunk is found through one block of the offsets, and a selection decodes only the blocks that contain it.
//!
//! ```
//! use cframe::{Array, ArrayParams, Codec, Params, Range, SChunk, Slab};
//!
//! // Write.
//! let params = ArrayParams::new(&[1000, 1000], "<i4")?.with_params(Params::new(4).with_codec(Codec::Zlib).with_level(4));
//! let mut array = Array::new(&params)?;
//! let row: Vec<u8> = (0..1000i32).flat_map(i32::to_le_bytes).collect();
//! array.write_slab_bytes(&Slab::new(&[1000, 1000], [Range::new(500, 1), Range::all(1000)])?, &row)?;
//! let bytes = array.schunk().to_bytes()?;
//!
//! // Read.
//! let array = Array::from_schunk(SChunk::from_bytes(bytes)?)?;
//! let part = array.read_slab_bytes(&Slab::new(array.shape(), [Range::new(500, 2), Range::new(10, 3)])?)?;
//! assert_eq!(part[..4], 10i32.to_le_bytes());
//! # Ok::<(), cframe::Error>(())
//! ```
//!
#![doc = include_str!("../README.md")]

mod array;
mod array_params;
mod codec;
mod element;
mod model;
#[cfg(feature = "ndarray")]
mod nd;
mod repack;
mod slice;
mod spec;

pub use array::Array;
pub use array_params::ArrayParams;
pub use codec::registry::{BlockOf, Registry, UserCodec, UserFilter};
pub use element::{Element, Store};
pub use model::anatomy::{Anatomy, ChunkPlace};
pub use model::chunk::Chunk;
pub use model::compress::MAX_OVERHEAD;
pub use model::dtype::{DType, Field, Kind};
pub use model::frame::{Frame, Places, Rescued, is_part_of_folder};
pub use model::options::OpenOptions;
pub use model::params::{Params, Split};
pub use model::schunk::SChunk;
pub use repack::Repack;
pub use sciformats_core::endian::ByteOrder;
pub use sciformats_core::external::Lent;
pub use sciformats_core::storage::Access;
pub use sciformats_core::{
    Conversion, Ellipsis, Error, IntoSelection, Limits, Misfit, Range, ReadAt, Result, Slab, by,
};
pub use spec::chunk_header::Special;
pub use spec::frame_header::{ChunkSize, FrameHeader, FrameType};
pub use spec::pipeline::{Codec, Filter, Pipeline, SLOTS};
pub use spec::value::Value;

use model::chunk::PLAIN;

/// Compresses `data` into a chunk with the threads of the current pool.
///
/// ```
/// use cframe::{Codec, Params};
///
/// let temperature: Vec<u8> = (0..10_000).flat_map(|hour| (280.0 + (hour % 24) as f32).to_le_bytes()).collect();
/// let chunk = cframe::compress(&temperature, &Params::new(4).with_codec(Codec::Zlib))?;
/// assert!(chunk.len() < temperature.len() / 20);
/// assert_eq!(cframe::decompress(&chunk)?, temperature);
/// # Ok::<(), cframe::Error>(())
/// ```
///
/// # Errors
/// `Usage` if the data is larger than a chunk can be (2 GiB minus 33 bytes), or if the parameters contradict each other;
/// `Unsupported` if this build does not have the codec or a filter.
pub fn compress(data: &[u8], params: &Params) -> Result<Vec<u8>> {
    model::compress::compress(data, params, &PLAIN)
}

/// Does the same as [`compress`], with threads, and the caller's own codecs and filters.
///
/// ```
/// use cframe::{OpenOptions, Params};
///
/// let options = OpenOptions::default().with_threads(1);
/// let chunk = cframe::compress_with(&[7; 100_000], &Params::new(4), &options)?;
/// assert_eq!(chunk, cframe::compress(&[7; 100_000], &Params::new(4))?);
/// # Ok::<(), cframe::Error>(())
/// ```
///
/// # Errors
/// Those of [`compress`].
pub fn compress_with(data: &[u8], params: &Params, options: &OpenOptions) -> Result<Vec<u8>> {
    model::compress::compress(data, params, &options.context())
}

/// Does the same as [`compress_with`], but writes to the front of `out`, which must have at least [`MAX_OVERHEAD`] bytes more
/// than `data`. Returns the size of the chunk. Bytes after it may change.
///
/// ```
/// use cframe::{MAX_OVERHEAD, OpenOptions, Params};
///
/// let temperature = [21u8; 4000];
/// let mut out = vec![0; temperature.len() + MAX_OVERHEAD]; // serves for many chunks
/// let size = cframe::compress_into(&temperature, &Params::new(4), &OpenOptions::default(), &mut out)?;
/// assert_eq!(cframe::decompress(&out[..size])?, temperature);
/// # Ok::<(), cframe::Error>(())
/// ```
///
/// # Errors
/// Those of [`compress`]; `Usage` if `out` is shorter.
pub fn compress_into(data: &[u8], params: &Params, options: &OpenOptions, out: &mut [u8]) -> Result<usize> {
    model::compress::compress_into(data, params, &options.context(), out)
}

/// Decompresses a chunk of Blosc 1 or 2.
///
/// ```
/// let chunk = cframe::compress(b"a week in May", &cframe::Params::new(1))?;
/// assert_eq!(cframe::decompress(&chunk)?, b"a week in May");
/// assert!(cframe::decompress(&chunk[..20]).is_err());
/// # Ok::<(), cframe::Error>(())
/// ```
///
/// # Errors
/// Those of [`Chunk::new`] and [`Chunk::decode`].
pub fn decompress(chunk: &[u8]) -> Result<Vec<u8>> {
    Chunk::new(chunk)?.decode()
}

/// Does the same as [`decompress`], with limits, threads, and the caller's own codecs and filters.
///
/// ```
/// use cframe::{Error, Limits, OpenOptions, Params};
///
/// let chunk = cframe::compress(&[0; 1_000_000], &Params::new(4))?;
/// let options = OpenOptions::default().with_limits(Limits::default().with_memory(1000));
/// assert!(matches!(cframe::decompress_with(&chunk, &options), Err(Error::LimitExceeded { .. })));
/// # Ok::<(), cframe::Error>(())
/// ```
///
/// # Errors
/// Those of [`decompress`].
pub fn decompress_with(chunk: &[u8], options: &OpenOptions) -> Result<Vec<u8>> {
    let context = options.context();
    model::chunk::Chunk::open(model::source::Source::bytes(chunk), &context)?.decode()
}

/// Does the same as [`decompress_with`], but writes to `out`, which must be as long as the decoded data.
///
/// ```
/// use cframe::{Chunk, OpenOptions};
///
/// let chunk = cframe::compress(b"a week in May", &cframe::Params::new(1))?;
/// let mut out = vec![0; Chunk::new(&chunk)?.nbytes()];
/// cframe::decompress_into(&chunk, &OpenOptions::default(), &mut out)?;
/// assert_eq!(out, b"a week in May");
/// # Ok::<(), cframe::Error>(())
/// ```
///
/// # Errors
/// Those of [`Chunk::new`] and [`Chunk::decode_into`].
pub fn decompress_into(chunk: &[u8], options: &OpenOptions, out: &mut [u8]) -> Result<()> {
    let context = options.context();
    model::chunk::Chunk::open(model::source::Source::bytes(chunk), &context)?.decode_into(out)
}

/// The two shuffles alone, for other formats that use them.
///
/// All functions take elements of `size` bytes and return as many bytes. Bytes after the last whole element (after the last
/// group of eight, if bits are shuffled) are unchanged.
///
/// ```
/// let mut out = [0; 7];
/// cframe::shuffle::shuffle(b"a1b2c3!", 2, &mut out);
/// assert_eq!(&out, b"abc123!");
/// ```
pub mod shuffle {
    /// Makes bytes of equal significance adjacent. `out` must be as long as `input`, or the function panics.
    ///
    /// ```
    /// let mut out = [0; 6];
    /// cframe::shuffle::shuffle(b"a1b2c3", 2, &mut out);
    /// assert_eq!(&out, b"abc123");
    /// ```
    pub fn shuffle(input: &[u8], size: usize, out: &mut [u8]) {
        crate::codec::shuffle::shuffle(input, size, out);
    }

    /// Reverses [`shuffle`]. `out` must be as long as `input`, or the function panics.
    ///
    /// ```
    /// let mut out = [0; 6];
    /// cframe::shuffle::unshuffle(b"abc123", 2, &mut out);
    /// assert_eq!(&out, b"a1b2c3");
    /// ```
    pub fn unshuffle(input: &[u8], size: usize, out: &mut [u8]) {
        crate::codec::shuffle::unshuffle(input, size, out);
    }

    /// Makes bits of equal significance adjacent. `out` must be as long as `input`, or the function panics.
    ///
    /// ```
    /// // Eight bytes of which only the lowest bit is set.
    /// let mut out = [0; 8];
    /// cframe::shuffle::bitshuffle(&[1; 8], 1, &mut out);
    /// assert_eq!(out, [255, 0, 0, 0, 0, 0, 0, 0]);
    /// ```
    pub fn bitshuffle(input: &[u8], size: usize, out: &mut [u8]) {
        crate::codec::bitshuffle::shuffle(input, size, out);
    }

    /// Reverses [`bitshuffle`]. `out` must be as long as `input`, or the function panics.
    ///
    /// ```
    /// let (mut bits, mut back) = ([0; 16], [0; 16]);
    /// cframe::shuffle::bitshuffle(b"sixteen bytes, 2", 2, &mut bits);
    /// cframe::shuffle::bitunshuffle(&bits, 2, &mut back);
    /// assert_eq!(&back, b"sixteen bytes, 2");
    /// ```
    pub fn bitunshuffle(input: &[u8], size: usize, out: &mut [u8]) {
        crate::codec::bitshuffle::unshuffle(input, size, out);
    }
}
