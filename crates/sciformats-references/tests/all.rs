//! The integration tests, in one program, because each program is linked with everything.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod blosc2;
mod combine;
mod hdf5;
mod mutants;
mod support;
mod zarr;
