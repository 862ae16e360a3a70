//! The structures of the ASDF standard's low-level layout as bytes: pure parsers, each with its encoder.
//!
//! | module | structure | section of the standard |
//! |---|---|---|
//! | [`header_line`] | the first line and the comment lines | "Header", "Comments" |
//! | [`yaml_frame`] | where the tree begins and ends | "Tree" |
//! | [`block_header`] | what stands before the bytes of a block | "Blocks" |
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

/// The next line of `i` without its line break (`\n` or `\r\n`), and what follows the break; `None` at the end.
pub(crate) fn line(i: &[u8]) -> Option<(&[u8], &[u8])> {
    if i.is_empty() {
        return None;
    }
    let mut rest = i;
    // The standard library's search for a byte looks at many at a time.
    rest.skip_until(b'\n').ok()?;
    let text = i.get(..i.len().checked_sub(rest.len())?)?;
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    Some((text.strip_suffix(b"\r").unwrap_or(text), rest))
}
