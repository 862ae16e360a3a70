//! ASDF files: lossless YAML trees with binary blocks.
//!
//! ```
//! use asdf_core::Asdf;
//!
//! let file = Asdf::from_bytes("#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n---\nname: M31\nsizes: [1, 2]\n...\n")?;
//! let name = file.get("name").unwrap();
//! assert_eq!(file.tree().node(name).text(), Some("M31"));
//! # Ok::<(), asdf_core::Error>(())
//! ```
//!
#![doc = include_str!("../README.md")]

mod array;
pub mod codec;
mod core_types;
mod document;
mod element;
mod explode;
mod model;
mod new_array;
mod options;
mod parallel;
mod pieces;
mod provenance;
mod reader;
mod slice;
mod spec;
mod stream;
mod tables;
mod update;
mod verify;
mod write;
pub mod yaml;

pub use array::Array;
pub use codec::Compression;
pub use document::{Document, NEWEST, View};
pub use element::Element;
pub use model::datatype::{Datatype, Field, ScalarType};
pub use new_array::{NewArray, NewMask, Storage};
pub use options::{OpenOptions, WriteOptions};
pub use provenance::{Extension, HistoryEntry, Software};
pub use reader::{Asdf, Block, Checksum};
pub use sciformats_core::endian::ByteOrder;
pub use sciformats_core::storage::{Access, Durability};
pub use sciformats_core::{
    Conversion, Ellipsis, Error, External, Fault, IntoSelection, Limits, Misfit, Range, ReadAt, Result, Slab,
    by,
};
pub use spec::header_line::Version;
pub use stream::StreamWriter;
pub use tables::{Column, ExternalArray, Table};
pub use update::Update;
pub use verify::Finding;
pub use yaml::{NodeId, Tree};

/// The structures of the format, as they are stored.
pub mod structure {
    pub use crate::model::layout::{BlockEntry, IndexState, Layout};
    pub use crate::model::ndarray::{Mask, NdArray, Source};
    pub use crate::reader::damaged_header;
    pub use crate::spec::block_header::{BlockHeader, Label};
    pub use crate::spec::header_line::Header;
}
