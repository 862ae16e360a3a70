//! One tree of groups, arrays and attributes for five scientific file formats: HDF5, ASDF, Blosc2, GSD and RawArray.
//!
//! ```no_run
//! let file = sciformats::open("run.h5")?;
//! let u = file.array("/fields/u")?;
//! println!("{}: {} {:?}", file.format(), u.element(), u.shape());
//! let values: Vec<f64> = u.read()?; // converted where nothing is lost, an error otherwise
//! let row: Vec<f32> = u.read_slice((-1, 10..20))?;
//! let unit: Option<String> = u.attr("unit")?;
//! # Ok::<(), sciformats::Error>(())
//! ```
//!
//! | module or type | does |
//! |---|---|
//! | [`open`], [`File`], [`Array`] | open a file by its contents, find objects by path, read typed values and slices |
//! | [`Format`] | tells the formats apart by signature |
//! | [`Source`] | what a format tells about a file; one adapter each |
//! | [`Registered`] | a format of the caller's own |
//! | [`ElementType`], [`Object`], … | the model: what a file means, not how it is stored |
//! | [`walk`] | all objects of a file in canonical order |
//! | [`pieces`] | arrays that are larger than memory, a few megabytes at a time |
//! | [`memory`] | a tree in memory |
//!
//! Writing, converting, comparing and verifying files is the work of the crate `sciformats-convert`.
//!
//! Each format is a cargo feature with the name of [`Format::word`]; a file of a format that is not built in is an
//! [`Error::Unsupported`] that says so. For all that a format can do, beyond this common view, use its own crate.

mod array;
mod attr;
mod cut;
pub mod details;
mod far;
mod file;
mod format;
pub mod formats;
pub mod memory;
pub mod model;
mod nearest;
pub mod options;
pub mod pieces;
mod registered;
mod selection;
pub mod source;
mod typed;
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
pub use npy;
#[cfg(feature = "rawarray")]
pub use rawarray;
#[cfg(feature = "remote")]
pub use sciformats_remote;

pub use array::Array;
pub use attr::FromAttribute;
pub use file::{File, VisitPiece};
pub use format::Format;
pub use model::{
    ArrayInfo, Attribute, AttributeValue, Datum, Decoder, ElementType, FloatKind, Kind, Name, Object,
    ObjectId, Target, Value,
};
pub use options::OpenOptions;
pub use registered::{Opening, Registered};
pub use sciformats_core::select::{Axis, Ellipsis, IntoSelection, by};
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

/// Opens the file at a URL of `http` or `https`, of any of the formats. What it reads comes with few requests, side by
/// side; the file's [`remote`](File::remote) tells how many.
///
/// ```no_run
/// let file = sciformats::open_url("https://data.example/run.h5")?;
/// let u: Vec<f64> = file.array("/fields/u")?.read()?;
/// println!("{:?}", file.remote().map(|remote| remote.statistics()));
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
/// As [`open_with`]; [`Error::Usage`] if it is no URL.
#[cfg(feature = "remote")]
pub fn open_url(url: &str) -> Result<File> {
    File::open_url(url, &OpenOptions::default(), &sciformats_remote::RemoteOptions::from_environment())
}

/// The examples of the project's README.
#[cfg(all(doctest, feature = "rawarray"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
