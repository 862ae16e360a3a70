//! Chunks: which chunks exist, where they are, and how elements are divided among them.

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects))]

pub(crate) mod before;
pub(crate) mod cache;
pub(crate) mod copy;
mod edit;
mod extents;
pub(crate) mod index;
mod pending;
pub(crate) mod places;
pub(crate) mod shape;
pub(crate) mod write;

use sciformats_core::Error;

/// Returns the error for sizes that exceed what a file can hold.
pub(crate) fn too_large() -> Error {
    Error::usage("shape", "needs more bytes than a file can hold")
}
