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

/// Returns the exception for a file that a forked process would have to open again, but that is not the same any more.
pub(crate) fn changed(path: Option<&str>) -> PyErr {
    let text =
        "the file was changed since it was opened, and a forked process has to open it again; open it anew";
    Python::attach(|py| made(py, ("conflict", text, path, None, None)).unwrap_or_else(|failed| failed))
}

type Parts<'a> = (&'a str, &'a str, Option<&'a str>, Option<u64>, Option<i32>);

fn made(py: Python<'_>, parts: Parts<'_>) -> PyResult<PyErr> {
    let made = py.import("sciformats.errors")?.call_method1("_of", parts);
    Ok(match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(_) => PyRuntimeError::new_err(parts.1.to_owned()),
    })
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
    made(py, (word(error), &error.to_string(), path, error.offset(), errno))
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
