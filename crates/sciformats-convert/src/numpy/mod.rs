//! Elements as NumPy has them, in its files and in the arrays of Blosc2.

mod encode;
mod fixed;

pub use encode::{dtype, flat, longest, ucs4};
pub use fixed::Fixed;
