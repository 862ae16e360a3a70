//! The bytes of the format, as the documentation of `numpy.lib.format` states them: pure functions between bytes and types.
//!
//! | file | structure |
//! |---|---|
//! | [`header`] | all that stands before the elements |
//! | [`growth`] | another shape in a header that is there |
//! | [`literal`] | the Python literals that a header is written in |
//! | [`dtype`] | the type of elements, the value of `descr` |

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]

pub(crate) mod dtype;
pub(crate) mod growth;
pub(crate) mod header;
pub(crate) mod literal;

pub use dtype::{DType, Field, Kind};
pub use header::Header;
