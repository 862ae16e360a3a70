//! NumPy's representation of elements, which `.npy` files and the arrays of Blosc2 use.

mod encode;
mod fixed;
mod times;

pub use encode::{dtype, flat, longest, ucs4};
pub use fixed::Fixed;
pub(crate) use times::FACT as TYPE_FACT;
pub use times::Times;
