//! Decodes what scientific files mean: variables with named dimensions, coordinates, units and decoded
//! values, tables, sparse matrices.
//!
//! Formats store arrays, and nearly every file follows a convention that says what their elements mean.
//! netCDF and CF scale and mask numbers and count time from a date; AnnData stores the columns of a table one
//! by one; MATLAB reverses the dimensions. This crate knows these conventions, recognises by the contents of
//! a file which of them it follows, and presents all of them in one way.
//!
//! ```no_run
//! use sciformats_conventions::Dataset;
//!
//! let data = Dataset::open("weather.nc")?;
//! if let Some(identity) = data.identity()? {
//!     println!("{identity}"); // CF 1.11
//! }
//! let temperature = data.variable("/tas")?;
//! println!("{temperature}"); // tas(time: unlimited 730, lat: 72, lon: 144) float32 ← int16, K
//! let kelvin = temperature.read()?.numbers()?; // what is missing is NaN
//! let stored = data.raw().variable("/tas")?.read()?; // as the file has them
//! # Ok::<(), sciformats::Error>(())
//! ```
//!
//! | type | what it is |
//! |---|---|
//! | [`Dataset`] | a file as its convention defines it |
//! | [`Identity`], [`Outline`] | the convention with its evidence, and what to look at first |
//! | [`Variable`], [`Dimension`], [`Coordinate`], [`Flags`] | an array with its description |
//! | [`Table`], [`Column`], [`SparseMatrix`] | what several arrays mean together |
//! | [`Values`], [`decoding`], [`time`] | decoded elements |
//! | [`Convention`] | one convention, which expresses more with a format than the format itself can |
//!
#![doc = include_str!("../README.md")]

mod convention;
mod conventions;
mod dataset;
mod decoded;
pub mod decoding;
mod elsewhere;
mod fields;
mod grid;
mod identity;
mod indexed;
#[cfg(feature = "blosc2")]
mod metalayer;
mod node;
mod pickle;
mod sparse;
mod table;
pub mod time;
mod undecoded;
mod values;
mod variable;
#[cfg(feature = "hdf5")]
pub mod write;

pub use convention::{Convention, Meaning};
pub use dataset::{Dataset, DecodeOptions};
pub use decoded::For;
pub use grid::Grid;
pub use identity::{Highlight, Identity, Outline};
pub use indexed::{Placing, StoredValue, TableIndex};
pub use node::Node;
pub use sciformats;
pub use sparse::{Major, SparseMatrix, Stored};
pub use table::{Column, Table};
pub use undecoded::{TextPadding, Undecoded};
pub use values::{Names, Values};
pub use variable::{Coordinate, Dimension, Flags, Role, Spacing, Variable, type_name};
