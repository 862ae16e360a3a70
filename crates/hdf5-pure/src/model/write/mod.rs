//! Writing: how objects become structures, and where these go.
//!
//! ```text
//! bound                       which versions of structures
//! dataset ─ chunks ─ pipeline elements: to the file as they come, chunks filtered
//! chunk_index ─ extensible_array ─ btree_v2
//! links ─ symbols ─ attributes ─ fractal_heap ─ btree_v2
//! attribute_list              attributes by name
//! global_heap                 elements of variable length
//! header ─ group ─ tree       objects and their headers
//! emit                        the order in which all is written
//! output                      allocation and gathered writes
//! ```

pub(crate) mod attribute_list;
pub(crate) mod attributes;
pub(crate) mod bound;
pub(crate) mod btree_v2;
pub(crate) mod chunk_index;
pub(crate) mod chunk_shape;
pub(crate) mod chunks;
pub(crate) mod dataset;
pub(crate) mod emit;
pub(crate) mod extensible_array;
pub(crate) mod fractal_heap;
pub(crate) mod global_heap;
pub(crate) mod group;
pub(crate) mod header;
pub(crate) mod links;
pub(crate) mod output;
pub(crate) mod pages;
pub(crate) mod pipeline;
pub(crate) mod symbols;
pub(crate) mod tree;
