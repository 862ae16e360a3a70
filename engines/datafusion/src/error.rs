//! Errors of files within those of DataFusion.

use std::fmt;
use std::path::Path;

use datafusion::error::DataFusionError;
use sciformats_arrow::sciformats_conventions::sciformats::Error;

/// An error about a file of a table.
#[derive(Debug)]
pub struct FileError {
    file: String,
    error: Error,
}

impl FileError {
    /// Returns the path of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns what is wrong with it.
    pub fn error(&self) -> &Error {
        &self.error
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.error.to_string();
        // Some errors name the file themselves.
        if text.contains(&self.file) { f.write_str(&text) } else { write!(f, "{}: {text}", self.file) }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Wraps an error of another library.
pub(crate) fn external(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> DataFusionError {
    DataFusionError::External(error.into())
}

/// Wraps an error about a file, and names the file.
pub(crate) fn of_file(file: &Path, error: Error) -> DataFusionError {
    external(FileError { file: file.display().to_string(), error })
}

/// The error for something that the caller asked for.
pub(crate) fn usage(what: &'static str, problem: impl Into<String>) -> DataFusionError {
    external(Error::usage(what, problem.into()))
}
