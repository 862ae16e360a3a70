//! GSD files: frames of named N×M arrays, appended one after another.

mod chunk;
mod element;
mod model;
mod reader;
mod spec;

pub use chunk::Chunk;
pub use element::Element;
pub use reader::{ReadOptions, Reader, Space};
pub use sciformats_core::{Error, Limits, Result, storage};
pub use spec::{Block, ElementType, Header, Label, Version};
