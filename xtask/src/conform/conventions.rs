//! Conventions take part in the run like a format: other programs write files and tell what they decode of them.

use crate::formats::Format;
use crate::sh::Result;

/// What takes the place of a format.
pub(crate) const CONVENTIONS: Format =
    Format { name: "conventions", title: "Conventions", package: "sciformats-conventions", writes: true };

/// What was asked for: conventions, a format, or all of them.
pub(super) fn beside(
    asked: Option<&str>,
    formats: fn(&str, Option<&str>) -> Result<Vec<Format>>,
) -> Result<Vec<Format>> {
    match asked {
        Some(asked) if asked == CONVENTIONS.name || asked == CONVENTIONS.package => Ok(vec![CONVENTIONS]),
        Some(_) => formats("peer", asked),
        None => Ok([formats("peer", None)?, vec![CONVENTIONS]].concat()),
    }
}
