//! Groups: links by their names, and the objects they lead to.

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod dense;
pub(crate) mod edit;
mod extents;
pub(crate) mod links;
pub(crate) mod members;
pub(crate) mod path;
mod plain;
pub(crate) mod storage;
pub(crate) mod symbols;
pub(crate) mod walk;

pub(crate) use self::edit::{destination, find, gathered, is_group, load, load_to_change, store};
