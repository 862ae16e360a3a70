//! NumPy's file format, as the `numpy.lib.format` documentation states it: one array, for exchange with NumPy.
//!
//! | offset | size | field |
//! |--:|--:|---|
//! | 0 | 6 | `\x93NUMPY` |
//! | 6 | 2 | version: 1.0, 2.0 if the header is longer than 65535 bytes, 3.0 if it is not Latin-1 |
//! | 8 | 2 or 4 | length of the header, little-endian; 4 bytes from version 2.0 on |
//! | 10, 12 | | header: a Python dictionary in ASCII or UTF-8, spaces, a line feed; ends at a multiple of 64 |
//! | then | | the elements in C order, or in Fortran order if the header says so |

mod encode;
mod fixed;
mod header;
mod literal;
mod types;

pub use encode::{descr, flat, header, longest, ucs4};
pub use fixed::Fixed;
pub(crate) use header::Header;
pub(crate) use types::{Scalar, Stored};

/// The first bytes of every file.
pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";
