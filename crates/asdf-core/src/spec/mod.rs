//! The structures of the ASDF standard's low-level layout. Each has a pure parser of bytes and an encoder.
//!
//! | module | structure | section of the standard |
//! |---|---|---|
//! | [`header_line`] | the first line and the comment lines | "Header", "Comments" |
//! | [`yaml_frame`] | where the tree begins and ends | "Tree" |
//! | [`block_header`] | the header of a block | "Blocks" |
//! | [`block_index`] | the offsets of all blocks | "Block index" |

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]

pub(crate) mod block_header;
pub(crate) mod block_index;
pub(crate) mod header_line;
pub(crate) mod yaml_frame;

use std::io::BufRead;

use nom::bytes::complete::take;
use sciformats_core::bound;
use sciformats_core::fault::{FaultKind, Parsed, fail};

/// Parses a line without its break (`\n` or `\r\n`), which may be missing in the last line of a file. There is no line at the
/// end.
pub(crate) fn line(i: &[u8]) -> Parsed<'_, &[u8]> {
    if i.is_empty() {
        return fail(i, FaultKind::Truncated);
    }
    // nom is not used here: its `take_till` needs 1.6 times the instructions for lines of 44 bytes, and more for longer lines,
    // because the search in the standard library examines many bytes at a time.
    let mut after = i;
    let _ = after.skip_until(b'\n'); // reading memory cannot fail
    let (rest, text) = take(bound::left(i.len(), after.len()))(i)?;
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    Ok((rest, text.strip_suffix(b"\r").unwrap_or(text)))
}
