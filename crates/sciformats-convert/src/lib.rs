//! Converts, repacks, compares and verifies scientific files of any format, and describes what they mean.
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
//! | module | what it does |
//! |---|---|
//! | [`convert`] | writes the tree of one format in another, and lists everything that is lost |
//! | [`repack`] | writes a file anew in its own format |
//! | [`advise`] | measures what reading a file costs, and plans how to repack it |
//! | [`sink`] | writes a file of any format, as far as the format can hold the contents |
//! | [`compare`] | finds where two files differ, with tolerances |
//! | [`verify`] | reads everything and reports every fault |
//! | [`manifest`] | describes what a file means, as text with one hash per array |
//! | [`numpy`] | converts elements to NumPy's types |
//!
//! Files are opened and read by the crate [`sciformats`]. Each of its formats is a cargo feature with the
//! same name here. For a format that is not built in, the functions return an
//! [`Error::Unsupported`](sciformats::Error::Unsupported) that names the feature.
//!
#![doc = include_str!("../README.md")]

pub mod advise;
pub mod compare;
pub mod convert;
pub mod manifest;
pub mod numpy;
mod parts;
pub mod repack;
pub mod sink;
pub mod verify;

/// Runs the examples of the book as tests. They use all formats.
#[cfg(all(
    doctest,
    feature = "asdf",
    feature = "blosc2",
    feature = "gsd",
    feature = "hdf5",
    feature = "rawarray"
))]
mod book {
    #[doc = include_str!("../../../docs/tour/rust.md")]
    struct Tour;
    #[doc = include_str!("../../../docs/recipes/look.md")]
    struct Look;
    #[doc = include_str!("../../../docs/recipes/check.md")]
    struct Check;
    #[doc = include_str!("../../../docs/recipes/grow.md")]
    struct Grow;
    #[doc = include_str!("../../../docs/recipes/large.md")]
    struct Large;
}
