//! Values: element types, conversions, strings, references, sequences and members of compounds.

pub mod canonical;
pub(crate) mod convert;
pub(crate) mod datatypes;
#[doc(hidden)]
pub mod derived;
pub(crate) mod element;
pub(crate) mod element_features;
pub(crate) mod element_type;
pub(crate) mod record;
pub(crate) mod references;
pub(crate) mod region;
pub(crate) mod store;
pub(crate) mod store_features;
