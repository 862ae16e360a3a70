//! The bytes of a file: who reads them, where new ones go, and what a commit makes of them.
//!
//! | module | what it holds |
//! |---|---|
//! | `context` | what every reader needs: the storage, widths, limits |
//! | `output` | where new structures go: allocation and gathered writes |
//! | `pages` | space of files that are managed in pages |
//! | `pending` | the file as the next commit will leave it, and the commit itself |
//! | `ranges` | sets of byte ranges: what is free, what was taken |
//! | `free` | what free-space managers of a file manage |
//! | `extents` | where structures are, to give their space back |

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
pub(crate) mod output;
pub(crate) mod pages;
pub(crate) mod pending;
pub(crate) mod ranges;
