//! RawArray files (`.ra`): n-dimensional arrays with a short header.
//!
//! ```no_run
//! use rawarray::RawArray;
//! use std::io;
//!
//! fn main() -> io::Result<()> {
//!     let vec1: Vec<f32> = vec![1.0, 2.0, 3.0, 4.0];
//!     let ra: RawArray<f32> = vec1.clone().into();
//!     ra.write("myarray.ra")?;
//!
//!     let vec2: Vec<f32> = RawArray::<f32>::read("myarray.ra")?.into();
//!     assert_eq!(vec1, vec2);
//!     Ok(())
//! }
//! ```

mod array;
mod codec;
mod editor;
mod element;
mod model;
#[cfg(feature = "ndarray")]
mod nd;
mod reader;
pub mod spec;
mod stream;
mod writer;

#[doc(hidden)]
pub use bytemuck;

pub use array::RawArray;
pub use editor::Editor;
pub use element::Element;
pub use model::element_type::ElementType;
pub use model::layout::Encoding;
pub use reader::{ReadOptions, Reader, is_rawarray};
pub use sciformats_core::endian::ByteOrder;
pub use sciformats_core::storage::{Durability, FileStorage};
pub use sciformats_core::{Error, Limits, Range, ReadAt, Result, Slab, WriteAt};
pub use spec::{ElementKind, Flags, Header};
pub use stream::StreamWriter;
pub use writer::{WriteOptions, Writer};
