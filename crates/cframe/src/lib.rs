//! Under construction.
#![allow(dead_code, unused_imports)]
mod codec;
mod model;
mod spec;

pub use codec::registry::{Registry, UserCodec, UserFilter};
pub use model::chunk::Chunk;
pub use model::frame::Frame;
pub use model::options::Options;
pub use model::parallel::Threads;
pub use model::params::{Params, Split};
pub use sciformats_core::{Error, Limits, Result};
pub use spec::chunk_header::Special;
pub use spec::frame_header::{ChunkSize, FrameType};
pub use spec::pipeline::{Codec, Filter, Pipeline, SLOTS};

use model::chunk::{Context, PLAIN};

/// Compresses `data` into a chunk, with the threads of the current pool.
///
/// # Errors
/// `Usage` if the data is larger than a chunk can be (2 GiB less 33 bytes), or the parameters do not fit each other;
/// `Unsupported` if this build does not have the codec or a filter.
pub fn compress(data: &[u8], params: &Params) -> Result<Vec<u8>> {
    model::compress::compress(data, params, &PLAIN)
}

/// Decompresses a chunk of Blosc 1 or 2.
///
/// # Errors
/// Those of [`Chunk::new`] and [`Chunk::decode`].
pub fn decompress(chunk: &[u8]) -> Result<Vec<u8>> {
    Chunk::new(chunk)?.decode()
}
