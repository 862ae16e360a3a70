//! What the structures mean together: where things are, what the tree says of arrays, how changes are planned.

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]

pub mod complex;
pub mod datatype;
mod inline;
pub mod layout;
pub mod ndarray;
pub(crate) mod strided;
