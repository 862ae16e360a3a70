//! Reads what free-space managers manage.

use sciformats_core::Result;
use sciformats_core::fault::locate;

use crate::space::context::Context;
use crate::spec::Address;
use crate::spec::free_space::{self, FreeSpace, Section};

/// Returns the sections of the file's manager at `at`.
///
/// # Errors
/// Returns `Malformed` if it cannot be read.
pub(crate) fn sections(context: &Context, at: Address) -> Result<Vec<Section>> {
    let len = FreeSpace::size(context.sizes) as u64;
    let header = context.parse("free-space header", at, len, |i| FreeSpace::parse(i, context.sizes))?;
    let Some(list) = header.list else { return Ok(Vec::new()) };
    let bytes = context.read("free-space section list", list, header.list_size)?;
    let parse = |i| free_space::sections(i, &header, context.sizes);
    locate("free-space section list", context.offset(list), &bytes, parse)
}
