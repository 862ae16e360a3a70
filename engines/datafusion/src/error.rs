//! Errors of files within those of DataFusion.

use std::path::Path;

use datafusion::error::DataFusionError;
use sciformats_arrow::sciformats_conventions::sciformats::Error;

/// Wraps an error of another library.
pub(crate) fn external(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> DataFusionError {
    DataFusionError::External(error.into())
}

/// Wraps an error about a file, and names the file.
pub(crate) fn of_file(file: &Path, error: Error) -> DataFusionError {
    external(error.within(Some(file), None))
}

/// The error for something that the caller asked for.
pub(crate) fn usage(what: &'static str, problem: impl Into<String>) -> DataFusionError {
    external(Error::usage(what, problem.into()))
}
