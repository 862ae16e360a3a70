//! Reads, writes and edits HDF5 files, in pure Rust.
//!
//! ```no_run
//! use hdf5_pure::File;
//!
//! let file = File::open("weather.h5")?;
//! for link in file.root()?.links()?.into_iter().flatten() {
//!     let _name = link.name;
//! }
//! let temperature = file.dataset("/surface/temperature")?;
//! let units: Option<String> = temperature.attr("units")?;
//! let all: Vec<f64> = temperature.read()?;
//! let corner: Vec<f32> = temperature.read_slice((..10, -10..))?;
//! # let _ = (units, all, corner);
//! # Ok::<(), hdf5_pure::Error>(())
//! ```
//!
//! Any number of threads can read a [`File`] at the same time. Damage stays local: a link, an object or an attribute
//! that cannot be read is reported as an error, and everything beside it can still be read. A file may name other
//! files; they are opened only as [`OpenOptions::external`] allows.
//!
//! A [`Writer`] creates a file:
//!
//! ```
//! use hdf5_pure::{CreateOptions, File, Writer};
//!
//! let mut file = Writer::in_memory(&CreateOptions::default())?;
//! file.root().attribute("title", "two numbers")?;
//! file.group("surface")?.dataset("temperature").attribute("units", "K").write(&[273.5, 280.0])?;
//! let file = File::from_bytes(file.into_bytes()?)?;
//! assert_eq!(file.dataset("surface/temperature")?.read::<f64>()?, [273.5, 280.0]);
//! # Ok::<(), hdf5_pure::Error>(())
//! ```
//!
//! An [`Editor`] changes an existing file in place. If the process is interrupted, the file holds either the state of
//! its last commit or that of the commit before.

mod api;
mod audit;
mod btree;
mod change;
mod chunk;
mod codec;
mod dataset;
mod file;
mod filter;
mod group;
mod heap;
mod object;
mod space;
mod spec;
mod value;

pub use api::attr::FromAttribute;
pub use api::attribute::Attribute;
pub use api::dataset::Dataset;
pub use api::editor::{EditOptions, Editor, ObjectWriter};
pub use api::file::{CommittedDatatype, File, Node, ObjectInfo, Walk};
pub use api::group::Group;
pub use api::writer::{
    BloscCodec, BloscShuffle, ChunkIndex, Committed, CreateOptions, DatasetBuilder, DatasetWriter, Empty,
    FileSpace, Filters, FixedString, GroupWriter, Raw, Value, Writer,
};
pub use api::{conventions, swmr};
pub use audit::structures::Place;
pub use chunk::index::StoredChunk;
pub use file::options::{MissingSources, OpenOptions};
pub use filter::{Filter, Registry};
pub use group::links::BrokenLink;
pub use group::walk::{Met, Visited};
pub use object::bound::Bound;
pub use object::id::ObjectId;
pub use object::kind::NodeKind;
pub use sciformats_core::endian::ByteOrder;
pub use sciformats_core::select::{Axis, Ellipsis, IntoSelection, by};
pub use sciformats_core::storage::{Access, Durability, FileStorage};
pub use sciformats_core::{
    Conversion, Error, External, Fault, FaultKind, Limits, Misfit, Range, ReadAt, Result, Slab, WriteAt,
};
pub use space::output::Storage;
pub use space::pending::Flush;
pub use spec::message::datatype::{Class, Datatype};
pub use spec::{Address, Name};
pub use value::canonical;
pub use value::element::{Element, Values};
pub use value::element_type::ElementType;
#[doc(hidden)]
pub use value::record::field_name;
pub use value::references::{ExternalReference, Reference, RegionReference, StandardReference};
pub use value::store::{Encoder, Store};

/// Types that describe the structures of the format as they are stored in a file.
pub mod structure {
    /// Computes the checksum at the end of many structures of the format: Jenkins' lookup3.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let bytes = made.into_bytes()?;
    /// // A superblock of version 3 ends in the checksum of what is before.
    /// let stored = u32::from_le_bytes([bytes[44], bytes[45], bytes[46], bytes[47]]);
    /// assert_eq!(hdf5_pure::structure::checksum(&bytes[..44]), stored);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn checksum(bytes: &[u8]) -> u32 {
        crate::spec::lookup3::hash(bytes, 0)
    }

    pub use crate::object::creation::{CreationOrder, CreationProperties, LinkProperties};
    pub use crate::spec::Sizes;
    pub use crate::spec::btree_v1::BtreeK;
    pub use crate::spec::free_space::Section;
    pub use crate::spec::global_heap::GlobalId;
    pub use crate::spec::message::MessageType;
    pub use crate::spec::message::dataspace::Dataspace;
    pub use crate::spec::message::datatype::{
        BitField, CharacterSet, EnumMember, FixedPoint, FloatOrder, FloatingPoint, Member, Normalization,
        Padding, ReferenceKind, VariableLength,
    };
    pub use crate::spec::message::file_space_info::FileSpaceInfo;
    pub use crate::spec::message::fill_value::{Fill, FillValue};
    pub use crate::spec::message::filter_pipeline::{FilterDescription, Pipeline};
    pub use crate::spec::message::group_info::GroupInfo;
    pub use crate::spec::message::layout::{Chunked, IndexKind, Layout};
    pub use crate::spec::message::link::{Link, Target};
    pub use crate::spec::reference::{Part, Reference};
    pub use crate::spec::selection::{Regular, Selection};
    pub use crate::spec::shared_table::{SharedIndex, SharedRecord};
    pub use crate::spec::superblock::{Rest, SIGNATURE, Superblock};
    pub use crate::spec::symbol_table::{Cache, Entry};
    pub use crate::spec::virtual_mapping::Mapping;
}

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
