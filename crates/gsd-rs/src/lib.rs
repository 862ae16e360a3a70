//! GSD files, which contain frames of named N×M arrays that were appended one after another; and HOOMD trajectories in such
//! files.
//!
//! Write frames, and read them back:
//!
//! ```
//! # fn main() -> gsd_rs::Result<()> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("walk.gsd");
//! use gsd_rs::{CreateOptions, Reader, Version, Writer};
//!
//! let mut writer = Writer::create(&path, &CreateOptions::new("my program", "walk", Version::new(1, 0)))?;
//! for step in 0..100u64 {
//!     writer.write("step", 1, &[step])?;
//!     writer.write("position", 3, &[0.5f32; 30])?; // 10 rows of 3
//!     writer.end_frame()?;
//! }
//! writer.finish()?;
//!
//! let reader = Reader::open(&path)?;
//! let chunk = reader.find(42, "position")?.expect("every frame has it");
//! assert_eq!((reader.frames(), chunk.n, chunk.m), (100, 10, 3));
//! assert_eq!(reader.read::<f32>(&chunk)?[0], 0.5);
//! # Ok(()) }
//! ```
//!
//! - [`Reader`] reads the layers 0.3, 1.x and 2.x. Opening a file costs the same for a million chunks as for one. If the file is
//!   mapped into memory, data is borrowed from the map where that is possible.
//! - [`Writer`] creates files of layer 2.1 or 1.0, and appends to all of them. If the process is killed or the device is full,
//!   committed frames are never lost, and no frame is ever incomplete.
//! - [`hoomd`] represents the chunks of HOOMD's schema as types: frames with particles, bonds and logged quantities.
//! - [`Region`] lets several threads and processes fill one chunk together.
//!
#![doc = include_str!("../README.md")]

mod carve;
mod chunk;
mod element;
pub mod hoomd;
mod model;
mod options;
mod reader;
mod region;
mod spec;
mod writer;

pub use chunk::Chunk;
pub use element::Element;
pub use options::{CreateOptions, OpenOptions};
pub use reader::{Reader, Space};
pub use region::{Region, RegionWriter};
pub use sciformats_core::number::Number;
pub use sciformats_core::storage::{self, Access, Durability, FileStorage};
pub use sciformats_core::{Conversion, Error, Limits, Misfit, ReadAt, Result, WriteAt};
pub use spec::{Block, ElementType, Header, Label, Version};
pub use writer::Writer;

/// The structures of a damaged file one by one, without the file having to be opened.
pub mod structure {
    pub use crate::carve::{FoundEntry, header, names};
}
