//! What users see: files to read, to make, to change and to append to.

pub(crate) mod attr;
pub(crate) mod attribute;
pub mod conventions;
pub(crate) mod dataset;
pub(crate) mod editor;
pub(crate) mod file;
pub(crate) mod group;
pub mod swmr;
pub(crate) mod writer;
