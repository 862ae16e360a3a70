//! Files that are read while they are written: a writer that others follow, and a reader that follows others.
//!
//! The format calls it single writer, multiple readers (SWMR). The C library's readers follow a [`SwmrWriter`] (h5py:
//! `File(name, "r", swmr=True)` and `dataset.refresh()`), and a [`Tail`] follows the C library's writers.

mod refresh;
mod tail;
mod writer;

pub use tail::Tail;
pub use writer::{SwmrDataset, SwmrWriter};
