//! Extensible arrays of chunks.

mod build;
mod read;
pub(crate) mod write;

pub(crate) use self::build::{MAX_ELEMENTS, build};
