//! What the structures mean together: where they are, how the tree describes arrays, and how changes are planned.

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]

pub(crate) mod complex;
pub(crate) mod datatype;
mod inline;
pub(crate) mod layout;
pub(crate) mod located;
pub(crate) mod ndarray;
pub(crate) mod strided;
