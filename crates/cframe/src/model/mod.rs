//! The meaning of the structures: how chunks form frames and arrays, what a read needs, and how a change is committed.
#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap
    )
)]

pub(crate) mod anatomy;
pub(crate) mod chunk;
pub(crate) mod coder;
pub(crate) mod compress;
pub(crate) mod dtype;
pub(crate) mod elsewhere;
pub(crate) mod frame;
pub(crate) mod grid;
mod job;
pub(crate) mod kept;
pub(crate) mod layout;
pub(crate) mod offsets;
pub(crate) mod options;
pub(crate) mod parallel;
pub(crate) mod params;
pub(crate) mod schunk;
pub(crate) mod source;
pub(crate) mod stages;
