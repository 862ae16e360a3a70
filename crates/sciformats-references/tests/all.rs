//! The integration tests, in one program, because each program is linked with everything.

mod blosc2;
mod combine;
mod hdf5;
mod mutants;
mod support;
mod zarr;
