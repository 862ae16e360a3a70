//! Filter pipelines in both directions. They are applied to chunks, and to blocks and objects of heaps.

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod decode;
mod encode;
#[cfg(feature = "parallel")]
mod threads;

pub(crate) use self::decode::{Buffers, Filtered};
pub use self::decode::{Filter, Registry, known};
pub(crate) use self::encode::{check, each, encode};
#[cfg(feature = "parallel")]
pub(crate) use self::threads::shared;

/// Returns the feature of this crate that a filter is built with.
fn feature(id: u16) -> Option<&'static str> {
    match id {
        1 => Some("deflate"),
        307 => Some("bzip2"),
        32004 => Some("lz4"),
        32015 => Some("zstd"),
        32001 | 32026 => Some("blosc2"),
        _ => None,
    }
}
