//! The command `sciformats`, which the wheel installs.

use std::ffi::OsString;

use pyo3::prelude::*;

#[cfg(not(feature = "program"))]
use pyo3::exceptions::PyNotImplementedError;

/// Runs the program `sciformats` with the arguments `argv`, whose first element is the name of the program,
/// and returns its exit status.
#[cfg(feature = "program")]
#[pyfunction]
pub(crate) fn run(py: Python<'_>, argv: Vec<OsString>) -> PyResult<u8> {
    Ok(py.detach(|| sciformats_cli::run(argv)))
}

/// Raises an exception, because the package was built without the program.
#[cfg(not(feature = "program"))]
#[pyfunction]
pub(crate) fn run(argv: Vec<OsString>) -> PyResult<u8> {
    drop(argv);
    Err(PyNotImplementedError::new_err(
        "this package was built without the cargo feature `program`, so it has no command",
    ))
}
