//! The command `sciformats`, which the wheel installs.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program `sciformats` with the arguments `argv`, whose first element is the name of the program,
/// and returns its exit status.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, argv: Vec<OsString>) -> u8 {
    py.detach(|| sciformats_cli::run(argv))
}
