//! References to the arrays of scientific files, which make one virtual Zarr store of a file without copying it.
//!
//! A reader of Zarr asks for metadata and for chunks by name. References answer each of these requests with
//! bytes, or with a range of bytes of the file. Every array of a file is either referenced, or inlined in
//! decoded form, or refused with a reason; the [`Report`] names all of them, and none is left out in silence.
//!
//! ```no_run
//! use sciformats_references::{Options, kerchunk};
//!
//! let file = sciformats::open("weather.h5")?;
//! let mut json = Vec::new();
//! let report = kerchunk::write(&file, &Options::new("s3://bucket/weather.h5"), &mut json)?;
//! for entry in &report.entries {
//!     println!("{}: {}", entry.path, entry.treatment);
//! }
//! # Ok::<(), sciformats::Error>(())
//! ```
//!
//! | type | what it is |
//! |---|---|
//! | [`VirtualArray`], [`Chunks`], [`Place`] | an array of Zarr, its stored chunks, and where the bytes of each are |
//! | [`Report`], [`Entry`], [`Treatment`] | what became of each object of a file |
//! | [`Part`], [`combine`] | several files as one, joined along a dimension |
//! | [`Files`], [`combine_files`] | the same, of files that are opened and closed on the way, several at the same time |
//! | [`Along`], [`NamePattern`] | the dimension, and its coordinate from the names of the files |
//! | [`Existing`], [`extend`] | files that come later, added to references that exist already |
//! | [`virtual_arrays`] | how several files become virtual datasets of HDF5 |
//! | [`Sink`], [`scan`] | receives the groups and arrays of a file one after another |
//! | [`kerchunk`] | writes them as JSON of kerchunk, version 1 |
//! | `parquet` | writes them as a folder of Parquet files |
//! | [`icechunk`] | writes them as a stream, of which the program `sciformats-icechunk` makes an Icechunk repository |
//! | `zarr` | writes the elements of a file as a store of Zarr 3, and reads such stores |
//!
#![doc = include_str!("../README.md")]

mod attributes;
mod bare;
#[cfg(feature = "blosc2")]
mod blosc2;
mod chunks;
mod combine;
mod element;
mod extent;
#[cfg(feature = "hdf5")]
mod hdf5;
pub mod icechunk;
mod inline;
pub mod kerchunk;
mod model;
#[cfg(feature = "parquet")]
pub mod parquet;
mod scan;
#[cfg(feature = "hdf5")]
mod unlimited;
#[cfg(feature = "zarr")]
pub mod zarr;

pub use bare::number;
pub use chunks::{Chunks, Place};
pub use combine::{
    Along, Existing, Files, NamePattern, Open, Part, Steps, Virtual, combine, combine_files, extend,
    virtual_arrays,
};
pub use model::{Entry, Options, Report, Sink, Treatment, VirtualArray};
pub use scan::scan;
pub use sciformats;
