//! Under construction.
#![allow(dead_code, unused_imports)]
mod codec;
mod model;
mod spec;

pub use codec::registry::{Registry, UserCodec, UserFilter};
pub use model::chunk::Chunk;
pub use model::parallel::Threads;
pub use sciformats_core::{Error, Limits, Result};
pub use spec::chunk_header::Special;
pub use spec::pipeline::{Codec, Filter, Pipeline};
