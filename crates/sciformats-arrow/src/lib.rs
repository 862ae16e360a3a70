//! Tables of scientific files as [Arrow](https://arrow.apache.org) record batches.
//!
#![doc = include_str!("../README.md")]

mod ahead;
mod batches;
mod build;
mod csv;
mod dates;
mod decode;
mod grid;
mod guarded;
mod indexed;
#[cfg(feature = "ipc")]
mod ipc;
mod marks;
#[cfg(feature = "parquet")]
mod parquet;
mod predicate;
mod source;
#[cfg(feature = "sql")]
pub mod sql;
mod text;
#[cfg(feature = "hdf5")]
pub mod write;

pub use arrow_array;
pub use arrow_schema;
pub use batches::{Batches, Options};
pub use csv::{Csv, write_csv};
pub use grid::table;
pub use guarded::Reader;
#[cfg(feature = "ipc")]
pub use ipc::{read_ipc, write_ipc};
#[cfg(feature = "parquet")]
pub use parquet::{ParquetOptions, read_parquet, write_parquet};
pub use predicate::{Comparison, Predicate, Scalar};
pub use sciformats_conventions;
pub use source::{Files, Open, Scan, Whole, of_file, open_file};
pub use text::{Style, write_cell};
