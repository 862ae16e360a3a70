//! Datasets: where their elements are, and how these are read, written and changed.

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects))]

pub(crate) mod append;
pub(crate) mod chunked;
pub(crate) mod edit;
pub(crate) mod external;
pub(crate) mod load;
pub(crate) mod parts;
mod pending;
pub(crate) mod read;
pub(crate) mod virtual_layout;
pub(crate) mod write;
