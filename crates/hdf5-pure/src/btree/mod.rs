//! Version 2 B-trees, with records of any type.
//!
//! | module | purpose |
//! |---|---|
//! | `read` | visits the records |
//! | `build` | writes a B-tree from sorted records |
//! | `edit` | finds, adds and removes single records |
//! | `nodes` | the nodes of a B-tree that is being edited |
//! | `extents` | where the nodes are |

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod build;
mod edit;
mod extents;
mod nodes;
mod read;

pub(crate) use self::build::{Records, build, build_of};
pub(crate) use self::edit::EditedTree;
pub(crate) use self::nodes::Order;
pub(crate) use self::read::Tree;
