//! What is going to be written: the objects of a new file, and the changes of an existing one.
//!
//! | module | content |
//! |---|---|
//! | `tree` | the file as a tree of objects |
//! | `objects` | the objects by number, and those that a commit has to look at |
//! | `emit` | the order in which new objects are written |
//! | `edit` | stored objects of an existing file in the tree |
//! | `attributes` | the attributes of stored objects |
//! | `counts` | links to objects, and the objects that nothing leads to any more |
//! | `append` | a file that grows while others read it |

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
