//! One tree of groups, arrays and attributes for five scientific file formats: HDF5, ASDF, Blosc2, GSD and RawArray.
//!
//! ```no_run
//! let file = sciformats::open("run.h5")?;
//! let u = file.array("/fields/u")?;
//! println!("{}: {} {:?}", file.format(), u.element(), u.shape());
//! let values: Vec<f64> = u.read()?; // converted where nothing is lost, an error otherwise
//! # Ok::<(), sciformats::Error>(())
//! ```
//!
//! | module or type | does |
//! |---|---|
//! | [`open`], [`File`], [`Array`] | open a file by its contents, find objects by path, read typed values and slices |
//! | [`Format`] | tells the formats apart by signature |
//! | [`Source`] | what a format tells about a file; one adapter each |
//! | [`ElementType`], [`Object`], … | the model: what a file means, not how it is stored |
//! | [`manifest`] | what a file means, as text with a hash an array |
//! | [`convert`] | from one format into another, with nothing lost in silence |
//! | [`repack`] | writes a file anew in its own format |
//! | [`sink`] | writes a file of any format, as far as it can hold what is to be written |
//! | [`compare`] | where two files differ, with tolerances |
//! | [`verify`] | reads everything and tells every fault |
//! | [`memory`] | a tree in memory |
//!
//! Each format is a cargo feature with the name of [`Format::word`]; a file of a format that is not built in is an
//! [`Error::Unsupported`] that says so. For all that a format can do, beyond this common view, use its own crate.

mod array;
pub mod compare;
pub mod convert;
mod cut;
mod file;
mod format;
mod formats;
pub mod manifest;
pub mod memory;
pub mod model;
mod nearest;
pub mod npy;
pub mod options;
mod pieces;
pub mod repack;
mod selection;
pub mod sink;
pub mod source;
mod typed;
pub mod verify;
pub mod walk;

use std::path::Path;

#[cfg(feature = "asdf")]
pub use asdf_core;
#[cfg(feature = "blosc2")]
pub use cframe;
#[cfg(feature = "gsd")]
pub use gsd_rs;
#[cfg(feature = "hdf5")]
pub use hdf5_pure;
#[cfg(feature = "rawarray")]
pub use rawarray;

pub use array::Array;
pub use file::{File, VisitPiece};
pub use format::Format;
pub use model::{
    ArrayInfo, Attribute, AttributeValue, Datum, Decoder, ElementType, FloatKind, Kind, Name, Object,
    ObjectId, Target, Value,
};
pub use options::OpenOptions;
pub use sciformats_core::storage::Access;
pub use sciformats_core::{
    Blame, Conversion, Error, External, Limits, Misfit, Range, ReadAt, Result, Slab, WriteAt, storage,
};
pub use selection::{SelectedAxis, Selection};
pub use source::Source;
pub use typed::Element;

/// Opens a file of any of the formats.
///
/// ```no_run
/// let file = sciformats::open("run.gsd")?;
/// let positions: Vec<f32> = file.array("/frames/0/particles/position")?.read()?;
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
/// As [`open_with`].
pub fn open(path: impl AsRef<Path>) -> Result<File> {
    File::open(path)
}

/// Opens a file of any of the formats.
///
/// ```no_run
/// use sciformats::{Access, Limits, OpenOptions};
///
/// // A file of unknown origin, which may change meanwhile.
/// let limits = Limits::default().with_memory(1 << 28);
/// let options = OpenOptions::default().with_limits(limits).with_access(Access::direct());
/// let file = sciformats::open_with("upload.h5", &options)?;
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
/// `Io`; [`Error::Unsupported`] if its contents are those of no format that is built in; whatever the format finds
/// wrong with its first structures.
pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<File> {
    File::open_with(path, options)
}

/// The examples of the project's README.
#[cfg(all(doctest, feature = "rawarray"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
