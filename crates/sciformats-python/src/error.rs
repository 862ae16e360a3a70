//! Converts errors to exceptions. The classes are defined in `sciformats.errors`, so that they are documented
//! and can be pickled in Python.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use sciformats::Error;

/// Returns the exception for `error`, which concerns the file at `path`.
pub(crate) fn raise(error: &Error, path: Option<&str>) -> PyErr {
    Python::attach(|py| exception(py, error, path).unwrap_or_else(|failed| failed))
}

/// Returns the exception for a closed file.
pub(crate) fn closed() -> PyErr {
    pyo3::exceptions::PyValueError::new_err("the file is closed; open it again to read from it")
}

fn exception(py: Python<'_>, error: &Error, path: Option<&str>) -> PyResult<PyErr> {
    let errno = match error {
        Error::Io { source, .. } => source.raw_os_error().or(by_kind(source.kind())),
        _ => None,
    };
    let path = match error {
        Error::Io { path: Some(own), .. } | Error::Conflict { path: Some(own), .. } => own.to_str().or(path),
        _ => path,
    };
    let module = py.import("sciformats.errors")?;
    let made = module.call_method1("_of", (word(error), error.to_string(), path, error.offset(), errno));
    Ok(match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(_) => PyRuntimeError::new_err(error.to_string()),
    })
}

/// Returns the name of the class in `sciformats.errors` for an error.
fn word(error: &Error) -> &'static str {
    match error {
        Error::Io { .. } => "io",
        Error::Malformed { .. } => "damaged",
        Error::Unsupported { .. } => "unsupported",
        Error::NotThisFormat { .. } => "format",
        Error::LimitExceeded { what: "soft links in a row", .. } => "links",
        Error::LimitExceeded { .. } => "limit",
        Error::Conflict { .. } => "conflict",
        Error::NotFound { .. } => "absent",
        Error::Missing { .. } => "missing",
        Error::Forbidden { .. } => "forbidden",
        Error::Misfit(_) => "misfit",
        Error::Usage { .. } => "usage",
        _ => "internal",
    }
}

/// Returns the system's error number for an error that was created without one.
fn by_kind(kind: std::io::ErrorKind) -> Option<i32> {
    Some(match kind {
        std::io::ErrorKind::NotFound => 2,
        std::io::ErrorKind::OutOfMemory => 12,
        std::io::ErrorKind::PermissionDenied => 13,
        std::io::ErrorKind::AlreadyExists => 17,
        std::io::ErrorKind::IsADirectory => 21,
        _ => return None,
    })
}
