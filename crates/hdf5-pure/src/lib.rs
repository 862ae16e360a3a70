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
//!
#![doc = include_str!("../README.md")]

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

pub use api::attribute::Attribute;
pub use api::dataset::Dataset;
pub use api::editor::{EditOptions, Editor, ObjectWriter};
pub use api::file::{CommittedDatatype, File, Node};
pub use api::group::Group;
pub use api::named::AsName;
pub use api::writer::{
    ChunkIndex, CreateOptions, DatasetBuilder, DatasetWriter, GroupWriter, Value, Writer, write,
};
pub use api::{conventions, swmr};
pub use file::onion::{Revision, Revisions};
pub use file::options::OpenOptions;
#[cfg(feature = "derive")]
pub use hdf5_pure_derive::Record;
pub use object::id::ObjectId;
pub use object::kind::NodeKind;
pub use sciformats_core::{Conversion, Error, Range, Result, Slab};
pub use spec::message::datatype::Datatype;
pub use spec::{Address, Name};
pub use value::canonical;
#[doc(hidden)]
pub use value::derived;
pub use value::element::Element;
pub use value::element_type::ElementType;
pub use value::record::Record;
#[doc(hidden)]
pub use value::record::field_name;
pub use value::store::Store;

/// The values that options of opening, creating, editing and committing take.
pub mod options {
    pub use sciformats_core::storage::{Access, Durability};
    pub use sciformats_core::{External, Limits};

    pub use crate::api::editor::Locking;
    pub use crate::api::writer::FileSpace;
    pub use crate::file::options::MissingSources;
    pub use crate::object::bound::Bound;
    pub use crate::space::pending::Flush;
}

/// The filters of chunks, and those that callers implement.
pub mod filters {
    pub use crate::api::writer::{BloscCodec, BloscShuffle, Filters, SzipCoding};
    pub use crate::filter::{Filter, Registry, known};
}

/// Selections of a part of a dataset, as [`Dataset::read_slice`] takes them.
pub mod selection {
    pub use sciformats_core::select::{Axis, Ellipsis, IntoSelection, by};
}

/// The values of attributes, and the encoding of elements that are written.
pub mod values {
    pub use crate::api::attr::FromAttribute;
    pub use crate::api::writer::{Committed, Empty, FixedString, Raw};
    pub use crate::value::element::Values;
    pub use crate::value::store::Encoder;
}

/// References to objects, regions and attributes.
pub mod references {
    pub use crate::value::references::{ExternalReference, Reference, RegionReference, StandardReference};
}

/// Walks over all links of a file.
pub mod walk {
    pub use crate::api::file::Walk;
    pub use crate::group::walk::{Entry, Found};
}

/// The storages in which files can be.
pub mod storage {
    pub use sciformats_core::storage::FileStorage;
    pub use sciformats_core::{ReadAt, WriteAt};

    pub use crate::space::output::Storage;
}

/// The parts of an [`Error`].
pub mod error {
    pub use sciformats_core::{Fault, FaultKind, Misfit};
}

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

    pub use sciformats_core::endian::ByteOrder;

    pub use crate::api::file::ObjectInfo;
    pub use crate::audit::carve::{
        Carved, Carver, FoundHeader, FoundMessage, FoundNode, FoundSymbol, IndexedDataset, LooseBytes,
        LooseIndex, LooseNode,
    };
    pub use crate::audit::structures::StructureInfo;
    pub use crate::chunk::index::StoredChunk;
    pub use crate::file::set::FamilyPath;
    pub use crate::group::links::BrokenLink;
    pub use crate::object::creation::{CreationOrder, CreationProperties, LinkProperties};
    pub use crate::spec::Sizes;
    pub use crate::spec::btree_v1::BtreeK;
    pub use crate::spec::free_space::Section;
    pub use crate::spec::global_heap::GlobalId;
    pub use crate::spec::message::MessageType;
    pub use crate::spec::message::dataspace::Dataspace;
    pub use crate::spec::message::datatype::{
        BitField, CharacterSet, Class, EnumMember, FixedPoint, FloatOrder, FloatingPoint, Member,
        Normalization, Padding, ReferenceKind, VariableLength,
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
