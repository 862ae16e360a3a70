//! The bytes of the format: pure functions between bytes and types. They neither read files nor interpret what they parse.
//!
//! | file | structure |
//! |---|---|
//! | [`header`] | the header: six words and the dimensions |
//! | [`flags`] | the word of flags |
//! | [`element_kind`] | the codes of the element types |

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]

pub(crate) mod element_kind;
pub(crate) mod flags;
pub(crate) mod header;

pub use element_kind::ElementKind;
pub use flags::Flags;
pub use header::Header;
