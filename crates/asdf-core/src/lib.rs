//! ASDF files: lossless YAML trees with binary blocks.
//!
//! Under construction: the layers are added one after another.

pub mod codec;
pub mod model;
pub mod spec;
pub mod yaml;

pub use sciformats_core::{Error, Limits, Result};
