//! Tables take part in the run like a format: the libraries of tables write files that the program reads, and read what
//! it writes.

use crate::formats::Format;
use crate::python::Python;
use crate::sh::Result;

/// The entry that stands in the list of formats.
pub(crate) const TABLES: Format =
    Format { name: "tables", title: "Tables", package: "sciformats-arrow", writes: true };

/// Returns their environment: the libraries of tables need other versions than the peers of the formats.
pub(crate) fn python() -> Result<Python> {
    Python::prepare_in("venv-tables", "requirements-tables.txt")
}
