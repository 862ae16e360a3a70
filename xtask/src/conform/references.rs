//! References take part in the run like a format: libraries of Zarr read the fixtures through what the program writes.

use crate::formats::Format;
use crate::python::Python;
use crate::sh::Result;

/// The entry that stands in the list of formats.
pub(crate) const REFERENCES: Format =
    Format { name: "references", title: "References", package: "sciformats-references", writes: true };

/// Returns their environment: the libraries of Zarr need newer versions of others than the peers of the formats.
pub(crate) fn python() -> Result<Python> {
    Python::prepare_in("venv-references", "requirements-references.txt")
}
