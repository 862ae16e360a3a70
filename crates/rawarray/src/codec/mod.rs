//! The encodings of a payload, in both directions. They know neither the file nor its header.
//!
//! | file | written by | bytes |
//! |---|---|---|
//! | [`lz4`] | the `ra` program and library in C | the payload as one LZ4 block |
//! | [`leb128`] | the Julia package, for integers | a variable number of bytes per element |
//! | [`bits`] | the Julia package, for `BitArray` | one bit per element |
//!
//! Decoders know the exact length of the output, and fail if the output would be longer or shorter.

pub(crate) mod bits;
pub(crate) mod leb128;
pub(crate) mod lz4;
