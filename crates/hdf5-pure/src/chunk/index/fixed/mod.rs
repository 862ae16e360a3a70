//! Fixed arrays of chunks.

mod build;
mod read;
pub(crate) mod write;
