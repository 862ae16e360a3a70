//! The deflate encoder of hdf5-pure.

#[path = "../../../../crates/hdf5-pure/src/codec/deflate/blocks.rs"]
mod blocks;
#[path = "../../../../crates/hdf5-pure/src/codec/deflate/compress.rs"]
pub(crate) mod compress;
#[path = "../../../../crates/hdf5-pure/src/codec/deflate/huffman.rs"]
mod huffman;
#[path = "../../../../crates/hdf5-pure/src/codec/deflate/matches.rs"]
mod matches;
