//! NumPy's file format (`.npy`): one n-dimensional array after a header.
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
//! | read any file completely or in part | [`Reader`] |
//! | write an array in memory | [`write`](fn@write), [`to_bytes`] |
//! | write an array in pieces, or elements whose type is only known at run time | [`Writer`] |
//! | overwrite a part of a file, or append to it | [`Editor`] |
//! | describe the type of elements | [`DType`], [`Header`] |
//!
//! A file is written as a whole, and takes its place in one step. An existing file is changed in place. The length of its
//! header, by which readers find the elements, stays the same, so an array can grow as long as its shape fits the header. Python
//! objects, which are stored as a pickle, are neither read nor written, because reading a pickle would execute code from the
//! file.
//!
#![doc = include_str!("../README.md")]

mod edit;
mod editor;
mod element;
mod gather;
mod growth;
mod reader;
mod slice;
mod spec;
mod writer;

pub use editor::Editor;
pub use element::Element;
pub use reader::{OpenOptions, Reader, is_npy, whole_size};
pub use sciformats_core::endian::ByteOrder;
pub use sciformats_core::storage::{Access, Durability};
pub use sciformats_core::{
    Conversion, Ellipsis, Error, IntoSelection, Limits, Misfit, Range, ReadAt, Result, Slab, WriteAt, by,
};
pub use spec::{DType, Field, Header, Kind};
pub use writer::{Writer, to_bytes, write};
