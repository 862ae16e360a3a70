//! What is going to be written: the objects of a new file, and what changes of one that is there.
//!
//! | module | what it holds |
//! |---|---|
//! | `tree` | the file, by its objects |
//! | `objects` | the objects by number, and those that a commit has to look at |
//! | `emit` | the order in which new objects are written |
//! | `early` | datasets of a new file that are written before its end, and read back where they are changed |
//! | `edit` | objects of the file among those that are new |
//! | `attributes` | their attributes |
//! | `counts` | links to objects, and what none leads to any more |
//! | `append` | a file that others read while it grows |

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects))]

pub(crate) mod append;
mod attributes;
pub(crate) mod counts;
mod early;
pub(crate) mod edit;
pub(crate) mod emit;
pub(crate) mod objects;
pub(crate) mod tree;
