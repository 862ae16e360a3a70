//! References take part in the run like a format: readers of Zarr read every fixture through them.

use crate::formats::Format;

/// The entry that stands in the list of formats. Its side is the program.
pub(crate) const REFERENCES: Format =
    Format { name: "references", title: "References", package: "sciformats-references", writes: true };
