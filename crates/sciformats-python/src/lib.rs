//! The part of the Python package `sciformats` that is not Python: files, arrays and attributes as the formats' crates read
//! them, and NumPy arrays of their bytes.
//!
//! It says as little as it can: which elements to read is decided in Python (`python/sciformats/_index.py`), and so is what
//! NumPy's type for them is (`_dtypes.py`). Nothing here needs the interpreter while a file is read, so all of it happens
//! while other threads of Python run.

mod element;
mod error;
mod file;
mod hdf5;
mod program;
mod storage;

use pyo3::prelude::*;

/// The module `sciformats._sciformats`.
#[pymodule]
mod _sciformats {
    #[pymodule_export]
    use crate::file::{Array, File};
    #[pymodule_export]
    use crate::hdf5::{Node, open_hdf5};
    #[pymodule_export]
    use crate::program::run;
}
