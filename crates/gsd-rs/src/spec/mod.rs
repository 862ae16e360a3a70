//! The structures of the file, with one module each. Pure functions convert between bytes and types, and do not know a storage.
//!
//! | module | structure | where it is |
//! |---|---|---|
//! | [`header`] | 256 bytes: where the other blocks are, who wrote the file | offset 0 |
//! | [`index_entry`] | 32 bytes: frame, shape, type and place of one chunk | in the index block |
//! | [`name_list`] | the names that entries refer to by position | in the name list block |
//! | [`element_type`] | the code of the type of elements | in an index entry |
//! | [`version`] | a major and a minor number in 32 bits | in the header, twice |
//!
//! All numbers are little-endian.
#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects))]

pub(crate) mod element_type;
pub(crate) mod header;
pub(crate) mod index_entry;
pub(crate) mod name_list;
pub(crate) mod version;

pub use element_type::ElementType;
pub use header::{Block, Header, Label};
pub use version::Version;

pub(crate) use index_entry::IndexEntry;
