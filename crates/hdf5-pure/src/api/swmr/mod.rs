//! Reading a file while another process writes it: a writer that readers can follow, and a reader that follows a
//! writer.
//!
//! The format calls this single-writer/multiple-reader (SWMR) access. Readers of the C library can follow a
//! [`SwmrWriter`] (in h5py: `File(name, "r", swmr=True)` and `dataset.refresh()`), and a [`Tail`] can follow writers of
//! the C library.

mod refresh;
mod tail;
mod writer;

pub use tail::Tail;
pub use writer::{SwmrDataset, SwmrWriter};
