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
//! | overwrite a part of a file, or append to it | [`Editor`] |
//! | say what elements are | [`DType`], [`Header`] |
//!
//! A file is written as a whole and takes its place at once. One that is there is changed in place: readers find the elements by the
//! length of the header, which stays as it is, so that an array can grow as far as the header has room for its shape. Python objects,
//! which a file holds as a pickle, are neither read nor written, since reading them would run what the file says.
//!
#![doc = include_str!("../README.md")]

mod edit;
mod editor;
mod element;
mod gather;
mod growth;
mod reader;
mod spec;
mod writer;

pub use editor::Editor;
pub use element::Element;
pub use reader::{OpenOptions, Reader, is_npy, whole_size};
pub use sciformats_core::endian::ByteOrder;
pub use sciformats_core::storage::{Access, Durability};
pub use sciformats_core::{Conversion, Error, Limits, Misfit, Range, ReadAt, Result, Slab, WriteAt};
pub use spec::{DType, Field, Header, Kind};
pub use writer::{Writer, to_bytes, write};
