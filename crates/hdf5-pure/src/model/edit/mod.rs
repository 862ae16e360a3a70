//! Editing files in place.
//!
//! ```text
//! tree               objects of the file among those that are new
//! counts             links to objects, and what none leads to any more
//! group ─ attributes read whole, changed, written anew
//! session            the open file, and what is not edited
//! space ─ ranges     the file as the next commit leaves it: allocation, patches, the commit itself
//! shared             the table of shared messages, and what is not used of it any more
//! header             the messages of an object, changed and put back
//! extents            where an object's structures are, to give their space back
//! audit              whether a byte belongs to two of them
//! ```

pub(crate) mod attributes;
pub(crate) mod audit;
pub(crate) mod counts;
pub(crate) mod dataset;
pub(crate) mod extents;
pub(crate) mod group;
pub(crate) mod header;
pub(crate) mod ranges;
pub(crate) mod session;
pub(crate) mod shared;
pub(crate) mod space;
pub(crate) mod tree;
