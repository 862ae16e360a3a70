//! Finds the structures of a file, and checks that no byte belongs to two of them.

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects))]

pub(crate) mod carve;
mod extents;
pub(crate) mod space;
pub(crate) mod structures;
