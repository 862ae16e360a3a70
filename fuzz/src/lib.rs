//! What the fuzz targets share.

pub mod chunks;

pub use sciformats_fuzz_memory::{FLOOR, PER_BYTE, bounded, peak_of};
