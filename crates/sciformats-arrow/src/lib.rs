//! Tables of scientific files as [Arrow](https://arrow.apache.org) record batches.
//!
#![doc = include_str!("../README.md")]

mod batches;
mod build;
mod files;

pub use arrow_array;
pub use arrow_schema;
pub use batches::{Batches, Options, table};
pub use files::write_csv;
pub use sciformats_conventions;
