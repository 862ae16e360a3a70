//! Conventions take part in the run like a format: other programs write files and report what they decode.

use super::EXAMPLES;
use super::references::REFERENCES;
use super::tables::TABLES;
use crate::formats::Format;
use crate::sh::Result;

/// The entry that stands in the list of formats.
pub(crate) const CONVENTIONS: Format =
    Format { name: "conventions", title: "Conventions", package: "sciformats-conventions", writes: true };

/// Returns what is to be run: conventions, references, tables, the examples, one format, or everything.
pub(super) fn beside(
    asked: Option<&str>,
    formats: fn(&str, Option<&str>) -> Result<Vec<Format>>,
) -> Result<Vec<Format>> {
    match asked {
        Some(asked) if asked == CONVENTIONS.name || asked == CONVENTIONS.package => Ok(vec![CONVENTIONS]),
        Some(asked) if asked == EXAMPLES.name => Ok(vec![EXAMPLES]),
        Some(asked) if asked == REFERENCES.name || asked == REFERENCES.package => Ok(vec![REFERENCES]),
        Some(asked) if asked == TABLES.name || asked == TABLES.package => Ok(vec![TABLES]),
        Some(_) => formats("peer", asked),
        None => Ok([formats("peer", None)?, vec![CONVENTIONS, REFERENCES, TABLES, EXAMPLES]].concat()),
    }
}
