//! Version 1 B-trees of chunks.

mod build;
mod read;
pub(crate) mod write;
