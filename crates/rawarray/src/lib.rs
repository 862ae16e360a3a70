//! RawArray files (`.ra`): n-dimensional arrays behind a header of 48 bytes and 8 for each dimension.
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
//! | look into any file, read a part, map it | [`Reader`] |
//! | write borrowed elements, or elements whose type is known only at run time | [`Writer`] |
//! | write rows as they come, more than memory holds | [`StreamWriter`] |
//! | append rows, overwrite a part, change the metadata of a file | [`Editor`] |
//!
//! The first of an array's [`dims`](Header::dims) varies fastest in memory: the format is column-major. Reversed they are
//! the shape that C and NumPy give the same bytes, and what a [`Slab`] selects from; no element ever moves for it.
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
pub use sciformats_core::{Conversion, Error, Limits, Misfit, Range, ReadAt, Result, Slab, WriteAt};
pub use spec::{ElementKind, Flags, Header};
pub use stream::StreamWriter;
pub use writer::{WriteOptions, Writer};
