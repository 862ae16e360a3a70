//! The public interface: reading, creating, editing and appending to files.

pub(crate) mod attr;
pub(crate) mod attribute;
pub mod conventions;
pub(crate) mod dataset;
pub(crate) mod editor;
pub(crate) mod file;
pub(crate) mod group;
pub(crate) mod named;
pub mod swmr;
pub(crate) mod writer;
