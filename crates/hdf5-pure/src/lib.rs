//! HDF5 files in pure Rust.
mod spec;

/// The structures of the format, as they are stored.
pub mod structure {
    pub use crate::spec::message::MessageType;
}
