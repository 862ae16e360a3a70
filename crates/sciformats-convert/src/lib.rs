//! What one does with scientific files of any format: convert, repack, compare, verify, tell what they mean.
//!
//! ```no_run
//! use sciformats::Format;
//! use sciformats_convert::convert::{Options, Plan};
//! use std::sync::Arc;
//!
//! let file = Arc::new(sciformats::open("run.gsd")?);
//! let plan = Plan::new(&file, Format::Hdf5, &Options::default())?;
//! for loss in plan.losses() {
//!     println!("{} {}", loss.path, loss.what); // what HDF5 cannot hold of it
//! }
//! plan.write("run.h5", &Default::default())?;
//! # Ok::<(), sciformats::Error>(())
//! ```
//!
//! | module | does |
//! |---|---|
//! | [`convert`] | writes the tree of one format in another, with nothing lost in silence |
//! | [`repack`] | writes a file anew in its own format |
//! | [`sink`] | writes a file of any format, as far as it can hold what is to be written |
//! | [`compare`] | tells where two files differ, with tolerances |
//! | [`verify`] | reads everything and tells every fault |
//! | [`manifest`] | tells what a file means, as text with a hash an array |
//! | [`numpy`] | elements as NumPy has them |
//!
//! Files are opened and read by the crate [`sciformats`]. Its formats are features here, too, by the same names; a format that
//! is not built in is an [`Error::Unsupported`](sciformats::Error::Unsupported) that says so.

pub mod compare;
pub mod convert;
pub mod manifest;
pub mod numpy;
mod parts;
pub mod repack;
pub mod sink;
pub mod verify;

/// The examples of the README are tests.
#[cfg(all(doctest, feature = "gsd", feature = "hdf5"))]
#[doc = include_str!("../README.md")]
struct Readme;
