//! Tables: `sql`, and what `convert` writes of tables and reads of other programs' tables.

pub(super) mod convert;
mod find;
pub(crate) mod sql;
mod write;

use std::path::Path;
use std::sync::Arc;

use sciformats_arrow::Open;
use sciformats_conventions::Dataset;

use crate::session::Session;

pub(crate) use write::TableFormat;

/// Returns how files are opened: as for every command that writes what it reads.
fn opener(session: &Session) -> Open {
    let (options, far) = (session.options().clone(), session.shared_far());
    Arc::new(move |path: &Path| Ok(Dataset::new(far.open(path, &options)?)))
}
