//! The bytes of the format, as the documentation of `numpy.lib.format` describes them: pure functions between bytes and types.
//!
//! | file | structure |
//! |---|---|
//! | [`header`] | everything before the elements |
//! | [`dtype`] | the type of elements, the value of `descr` |
//!
//! Headers are written in Python literals: [`sciformats_core::literal`].

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]

pub(crate) mod dtype;
pub(crate) mod header;

pub use dtype::{DType, Field, Kind};
pub use header::Header;
