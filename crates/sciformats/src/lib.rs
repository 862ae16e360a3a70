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
//! | module or type | what it does |
//! |---|---|
//! | [`open`], [`File`], [`Array`] | open a file by its contents, find objects by path, read typed values and slices |
//! | [`Format`] | recognises formats by their signatures |
//! | [`Source`] | the interface between a format and the facade, with one adapter per format |
//! | [`Registered`] | adds a format that the caller defines |
//! | [`DynArray`], [`Value`] | hold elements of a type that is only known at run time |
//! | [`ElementType`], [`Object`], … | describe what a file means, not how it is stored |
//! | [`walk`] | visits all objects of a file in canonical order |
//! | [`pieces`] | reads arrays that are larger than memory, a few megabytes at a time |
//! | [`memory`] | holds a tree in memory |
//!
//! The crate `sciformats-convert` writes, converts, compares and verifies files.
//!
//! Each format is a cargo feature with the name of [`Format::word`]. For a file whose format is not built in,
//! the result is an [`Error::Unsupported`] that names the feature. To use everything that a format offers,
//! beyond this common view, use the crate of that format.
//!
#![doc = include_str!("../README.md")]

mod array;
#[cfg(feature = "async")]
mod asynchronous;
mod attr;
mod cut;
pub mod details;
mod dynamic;
mod far;
mod file;
pub mod filters;
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
#[cfg(feature = "derive")]
pub use hdf5_pure_derive::FacadeRecord as Record;
pub use npy;
#[cfg(feature = "rawarray")]
pub use rawarray;
#[cfg(feature = "remote")]
pub use sciformats_remote;

pub use array::Array;
#[cfg(feature = "async")]
pub use asynchronous::{AsyncFile, open_async};
pub use attr::FromAttribute;
pub use dynamic::{DynArray, Shaped};
pub use file::{File, Opened, VisitPiece};
pub use format::Format;
pub use model::{
    ArrayInfo, Attribute, AttributeValue, Datum, Decoder, ElementType, FloatKind, Kind, Name, Object,
    ObjectId, Target, TextForm, Value,
};
pub use options::OpenOptions;
pub use registered::{Opening, Registered};
pub use sciformats_core::select::{Axis, Ellipsis, IntoSelection, by};
pub use sciformats_core::storage::Access;
pub use sciformats_core::{
    Blame, Conversion, Error, External, Foreign, Limits, Misfit, Range, ReadAt, Result, Slab, WriteAt,
    spelling, storage,
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
///
/// As [`open_with`].
pub fn open(path: impl AsRef<Path>) -> Result<File> {
    File::open(path)
}

/// Opens a file of any of the formats, with options.
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
///
/// `Io`; [`Error::Unsupported`] if the contents have none of the built-in formats; the error of the format if
/// its first structures are damaged.
pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<File> {
    File::open_with(path, options)
}

/// Opens the file at an `http` or `https` URL, which may have any of the formats. It is read with few
/// simultaneous requests; [`remote`](File::remote) of the file returns their number.
///
/// ```no_run
/// let file = sciformats::open_url("https://data.example/run.h5")?;
/// let u: Vec<f64> = file.array("/fields/u")?.read()?;
/// println!("{:?}", file.remote().map(|remote| remote.statistics()));
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
///
/// As [`open_with`]; [`Error::Usage`] if the text is not a URL.
#[cfg(feature = "remote")]
pub fn open_url(url: &str) -> Result<File> {
    File::open_url(url, &OpenOptions::default(), &sciformats_remote::RemoteOptions::from_environment())
}

/// Runs the examples of the project's README as tests.
#[cfg(all(doctest, feature = "rawarray"))]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Runs those of the page about remote files.
#[cfg(all(doctest, feature = "hdf5", feature = "remote"))]
#[doc = include_str!("../../../docs/remote.md")]
struct Remote;
