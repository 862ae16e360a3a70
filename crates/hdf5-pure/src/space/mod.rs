//! The bytes of a file: reading them, allocating new space, and committing changes.
//!
//! | module | content |
//! |---|---|
//! | `context` | what every reader needs: the storage, the sizes, the limits |
//! | `hash` | the hash function of maps by address and by name |
//! | `output` | allocation of new structures, and collected writes |
//! | `pages` | space of files that are allocated in pages |
//! | `pending` | the file in the state after the next commit, and the commit itself |
//! | `ranges` | sets of byte ranges: free space, allocated space |
//! | `free` | what the free-space managers of a file manage |
//! | `extents` | where structures are, so that their space can be freed |

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects))]

pub(crate) mod context;
pub(crate) mod extents;
pub(crate) mod free;
pub(crate) mod hash;
pub(crate) mod output;
pub(crate) mod pages;
pub(crate) mod pending;
pub(crate) mod ranges;
