//! Objects: headers and their messages, attributes, and shared messages.

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects))]

pub(crate) mod attributes;
pub(crate) mod bound;
pub(crate) mod committed;
pub(crate) mod creation;
mod extents;
pub(crate) mod header;
pub(crate) mod id;
pub(crate) mod kind;
pub(crate) mod shared;
