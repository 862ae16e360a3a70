//! NumPy's representation of elements, which `.npy` files and the arrays of Blosc2 use.

mod encode;
mod fixed;
mod times;

pub(crate) use encode::is_text;
pub use encode::{dtype, flat, longest, ucs4};
pub use fixed::Fixed;
pub(crate) use times::FACT as TYPE_FACT;
pub use times::Times;
