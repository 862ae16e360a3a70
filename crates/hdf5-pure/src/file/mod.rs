//! Open files: superblocks, files of several parts, and the session of an editor.

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects))]

pub(crate) mod cache_image;
pub(crate) mod live;
pub(crate) mod missing;
pub(crate) mod onion;
pub(crate) mod open;
pub(crate) mod options;
pub(crate) mod session;
pub(crate) mod set;
