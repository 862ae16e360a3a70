//! What structures mean together: addresses are followed, names are looked up, chunks are found.

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects))]

pub(crate) mod attributes;
pub(crate) mod btree_v2;
pub(crate) mod chunk_cache;
pub(crate) mod chunked;
pub(crate) mod chunks;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod creation;
pub(crate) mod edit;
pub(crate) mod external;
pub(crate) mod file_set;
pub(crate) mod filters;
pub(crate) mod fractal_heap;
pub(crate) mod free_space;
pub(crate) mod global_heap;
pub(crate) mod links;
pub(crate) mod load;
pub(crate) mod object;
pub(crate) mod open;
pub(crate) mod places;
pub(crate) mod read;
pub(crate) mod region;
pub(crate) mod shared;
pub(crate) mod swmr;
pub(crate) mod symbols;
pub(crate) mod virtual_layout;
pub(crate) mod write;
