//! Tables of scientific files in [Apache DataFusion](https://datafusion.apache.org): a table provider, plans that travel to other machines, and
//! what workers of `datafusion-distributed` need to run them.
//!
//! - [`FileTable`] is a table of one file or many: lists of records in HDF5, tables of PyTables and pandas, frames of AnnData, logs of HOOMD,
//!   tables of ASDF, groups of arrays, and grids. Only requested columns are read, and conditions reach the files.
//! - [`FileTableFactory`] creates them by SQL.
//! - [`FileCodec`] writes and reads plans and tables as bytes.
//! - [`context`] and [`serve`] are the two sides of a query on several machines.
//!
//! Errors of files are [`DataFusionError::External`](datafusion::error::DataFusionError::External) with a [`FileError`], which has the error of
//! the crate `sciformats`.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod border;
mod cluster;
mod codec;
mod condition;
mod error;
mod factory;
mod find;
mod scan;
mod table;

pub use cluster::{Watch, Workers, context, serve};
pub use codec::FileCodec;
pub use datafusion;
pub use error::FileError;
pub use factory::{FileTableFactory, with_formats};
pub use scan::FileScan;
pub use table::{FileTable, TableOptions};
