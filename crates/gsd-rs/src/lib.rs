//! GSD files: frames of named N×M arrays, appended one after another.

mod chunk;
mod element;
mod model;
mod options;
mod reader;
mod region;
mod spec;
mod writer;

pub use chunk::Chunk;
pub use element::Element;
pub use options::CreateOptions;
pub use reader::{ReadOptions, Reader, Space};
pub use region::{Region, RegionWriter};
pub use sciformats_core::{Error, Limits, Result, storage};
pub use spec::{Block, ElementType, Header, Label, Version};
pub use writer::Writer;
