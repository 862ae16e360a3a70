//! What concerns the whole file: its map, and the report on its damage.

use std::ops::ControlFlow;

use sciformats::{Error, Result};
use sciformats_convert::verify;
use serde_json::{Value, json};

use crate::describe::clipped;
use crate::session::{Opened, Reply, Request};

/// The number of structures that are listed.
const STRUCTURES: u64 = 20_000;

/// The number of faults that are listed.
const FAULTS: usize = 1000;

/// Answers which structures the file consists of, or which of them hold the byte `at`.
pub(crate) fn structures(opened: &Opened, request: &Request<'_>) -> Result<Reply> {
    let file = opened.file()?;
    let most = request.maybe_number("count").unwrap_or(STRUCTURES).min(STRUCTURES);
    let at = request.maybe_number("at");
    let mut found: Vec<Value> = Vec::new();
    let mut more = false;
    file.source().structures(&mut |structure| {
        let holds = |at: u64| at.checked_sub(structure.offset).is_some_and(|inside| inside < structure.size);
        if !at.is_none_or(holds) {
            return ControlFlow::Continue(());
        }
        if found.len() as u64 >= most {
            more = true;
            return ControlFlow::Break(());
        }
        let fields: Vec<Value> = structure
            .fields
            .iter()
            .map(|(key, value)| json!([key, clipped(&value.to_string(), 200)]))
            .collect();
        found.push(json!([structure.name, structure.offset, structure.size, structure.depth, fields]));
        ControlFlow::Continue(())
    })?;
    Ok(json!({ "size": file.size(), "structures": found, "more": more }).into())
}

/// Answers which faults the file has.
///
/// # Errors
///
/// `Usage` if the bytes of the file are not here, because all of them are read.
pub(crate) fn verify(opened: &Opened) -> Result<Reply> {
    if !opened.is_here() {
        return Err(Error::usage(
            "file",
            "is read by ranges, and only a file that is here as a whole is verified",
        ));
    }
    let file = opened.file()?;
    let mut faults: Vec<Value> = Vec::new();
    let summary = verify::verify(file, &mut |finding| {
        if faults.len() < FAULTS {
            let error = finding.error;
            faults.push(json!({ "path": finding.path, "error": error.to_string(), "offset": error.offset(), "blame": error.blame().word() }));
        }
    });
    Ok(json!({
        "faults": faults,
        "findings": summary.findings,
        "missing": summary.missing,
        "links": summary.links,
        "objects": summary.objects,
        "attributes": summary.attributes,
        "bytes": summary.bytes,
    })
    .into())
}
