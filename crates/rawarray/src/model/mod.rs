//! The meaning of the bytes: element types, encodings, the position of the data, and how an edit is committed.
//!
//! | file | what it does |
//! |---|---|
//! | [`element_type`] | the type of the elements, from the header's code and width and back |
//! | [`layout`] | checks a header against itself and the file's length |
//! | [`gather`] | reads the runs of a hyperslab |
//! | [`payload`] | reads and decodes the data of an array |
//! | [`image`] | the bytes of a new file |
//! | [`edit`] | plans appending, overwriting and the change of metadata |

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]

pub(crate) mod edit;
pub(crate) mod element_type;
pub(crate) mod gather;
pub(crate) mod image;
pub(crate) mod layout;
pub(crate) mod payload;
