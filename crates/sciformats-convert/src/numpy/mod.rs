//! NumPy's representation of elements, which `.npy` files and the arrays of Blosc2 use.

mod encode;
mod fixed;

pub use encode::{dtype, flat, longest, ucs4};
pub use fixed::Fixed;
