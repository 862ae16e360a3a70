//! The Rust part of the Python package `sciformats`: files, arrays and attributes as the format crates read
//! them, and NumPy arrays of their bytes.
//!
//! This part is as small as possible. Python decides which elements to read (`python/sciformats/_index.py`)
//! and which NumPy type they have (`_dtypes.py`). The interpreter is not needed while a file is read, so
//! other Python threads can run at the same time.

mod asdf;
mod codec;
mod element;
mod error;
mod file;
mod hdf5;
mod process;
mod program;
mod remote;
mod repack;
mod storage;
mod table;

use pyo3::prelude::*;

/// The module `sciformats._sciformats`.
#[pymodule]
mod _sciformats {
    use pyo3::prelude::*;

    /// The version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python names it so")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::asdf::asdf_tree;
    #[pymodule_export]
    use crate::codec::{references, undo_blosc2, undo_hdf5};
    #[pymodule_export]
    use crate::file::{Array, File};
    #[pymodule_export]
    use crate::hdf5::{Edit, Node, Stored, edit_hdf5, open_hdf5, open_hdf5_url};
    #[pymodule_export]
    use crate::program::run;
    #[pymodule_export]
    use crate::repack::{apply_hdf5, repack_hdf5};
    #[pymodule_export]
    use crate::table::{Answer, Part, Table, open_table, run_query};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        py.import("numpy")?;
        // The first array of a process runs code of NumPy. After a long read, a signal that came meanwhile would be handled there, and
        // its exception be a panic.
        drop(numpy::PyArray1::<u8>::zeros(py, 0, false));
        crate::process::watch(module)
    }
}
