//! RawArray files (`.ra`): n-dimensional arrays after a header of 48 bytes and 8 bytes per dimension.
//!
//! ```standalone_crate
//! use rawarray::RawArray;
//! use std::io;
//!
//! fn main() -> io::Result<()> {
//! #   let dir = tempfile::tempdir()?;
//! #   std::env::set_current_dir(&dir)?;
//!     let vec1: Vec<f32> = vec![1.0, 2.0, 3.0, 4.0];
//!     let ra: RawArray<f32> = vec1.clone().into();
//!     ra.write("myarray.ra")?;
//!
//!     let vec2: Vec<f32> = RawArray::<f32>::read("myarray.ra")?.into();
//!     assert_eq!(vec1, vec2);
//!     Ok(())
//! }
//! ```
//!
//! | to | use |
//! |---|---|
//! | read or write a whole array of a known type | [`RawArray`] |
//! | read any file, read a part of it, map it into memory | [`Reader`] |
//! | write borrowed elements, or elements whose type is only known at run time | [`Writer`] |
//! | write rows one after another, without holding the array in memory | [`StreamWriter`] |
//! | append rows, overwrite a part, change the metadata of a file | [`Editor`] |
//!
//! The format is column-major: the first of an array's [`dims`](Header::dims) varies fastest. In reversed order, the dimensions
//! are the shape by which C and NumPy interpret the same bytes. A [`Slab`] selects from this shape. Elements are never reordered.
//!
#![doc = include_str!("../README.md")]

mod array;
mod codec;
mod editor;
mod element;
mod model;
#[cfg(feature = "ndarray")]
mod nd;
mod reader;
mod slice;
mod spec;
mod stream;
mod writer;

#[doc(hidden)]
pub use bytemuck;

pub use array::RawArray;
pub use editor::Editor;
pub use element::Element;
pub use model::element_type::ElementType;
pub use model::layout::Encoding;
pub use reader::{OpenOptions, Reader, is_rawarray};
pub use sciformats_core::endian::ByteOrder;
pub use sciformats_core::storage::{Access, Durability, FileStorage};
pub use sciformats_core::{
    Conversion, Ellipsis, Error, IntoSelection, Limits, Misfit, Range, ReadAt, Result, Slab, WriteAt, by,
};
pub use spec::{ElementKind, Flags, Header};
pub use stream::StreamWriter;
pub use writer::{WriteOptions, Writer};
