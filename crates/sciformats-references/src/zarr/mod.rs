//! Stores of Zarr, version 3, in a folder: written with the elements of a file, and read.
//!
//! The core specification of Zarr 3 is the source: one `zarr.json` for each group and array, and one file for each chunk, or for each
//! shard of many chunks. Chunks are compressed with gzip or Zstandard, or not at all.
//!
//! ```no_run
//! use sciformats_references::zarr::{self, WriteOptions};
//!
//! let file = sciformats::open("weather.h5")?;
//! let folder = std::path::Path::new("weather.zarr");
//! std::fs::create_dir(folder).map_err(|error| sciformats::Error::io("create", error))?;
//! let report = zarr::write(&file, folder, &WriteOptions::default().with_shards([1000]))?;
//! let store = zarr::Store::open(folder)?;
//! # Ok::<(), sciformats::Error>(())
//! ```

mod codec;
mod metadata;
mod read;
mod write;

pub use read::{Node, Store, StoredArray};
pub use write::{WriteOptions, rehearse, write};

use sciformats::Error;

/// The name of the metadata of a group or an array.
const METADATA: &str = "zarr.json";

fn io(action: &'static str, path: &std::path::Path, error: std::io::Error) -> Error {
    Error::io(action, error).in_file(path, None)
}
