//! NumPy's file format (`.npy`): one n-dimensional array behind a header.
//!
//! ```
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("u.npy");
//! npy::write(&path, &[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//!
//! let reader = npy::Reader::open(&path)?;
//! assert_eq!((reader.shape(), reader.dtype().to_string().as_str()), (&[2, 3][..], "'<f4'"));
//! assert_eq!(reader.read::<f64>()?[5], 6.0);
//! # Ok::<(), npy::Error>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | look into any file, read all of it or a part | [`Reader`] |
//! | write an array that is in memory | [`write`](fn@write), [`to_bytes`] |
//! | write an array in pieces, or elements whose type is known only at run time | [`Writer`] |
//! | say what elements are | [`DType`], [`Header`] |
//!
//! A file is written as a whole and takes its place at once. There is no editor: the length of the header depends on the shape
//! that it holds, and readers find the elements by it, so that an array that grows is written anew. Python objects, which a file
//! holds as a pickle, are neither read nor written, since reading them would run what the file says.

mod element;
mod gather;
mod reader;
mod spec;
mod writer;

pub use element::Element;
pub use reader::{OpenOptions, Reader, is_npy, whole_size};
pub use sciformats_core::endian::ByteOrder;
pub use sciformats_core::storage::Access;
pub use sciformats_core::{Conversion, Error, Limits, Misfit, Range, ReadAt, Result, Slab};
pub use spec::{DType, Field, Header, Kind};
pub use writer::{Writer, to_bytes, write};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
