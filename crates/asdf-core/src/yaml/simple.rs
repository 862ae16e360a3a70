//! Lines of a block mapping that consist of a simple key and a simple value. They are recognized without creating nodes.
//!
//! Such a line consists of the indentation, a key, `: `, a value and possibly blanks. All of it is printable ASCII, without `:`
//! and `#` in keys and values. A key begins with a letter, a digit or `_`. So does a value, unless it is in single quotes and
//! contains none. The parser handles all other lines.

use super::arena::LINES;

/// Returns the end of the [`LINES`] lines that begin at `at`, the first of them after its indentation; `None` if one of them is
/// not simple.
pub(super) fn lines(text: &[u8], at: usize, indent: usize) -> Option<usize> {
    let mut rest = text.get(at..)?;
    for line in 0..LINES {
        if line > 0 {
            rest = indented(rest, indent)?;
        }
        rest = value(key(rest)?)?;
    }
    // A line with more indentation would continue the last value.
    match rest.iter().position(|&b| b != b' ') {
        Some(blanks) if blanks > indent || matches!(rest.get(blanks), Some(b'\n' | b'\r' | b'\t' | b'#')) => {
            None
        }
        Some(_) => text.len().checked_sub(rest.len()),
        None => rest.is_empty().then_some(text.len()),
    }
}

fn indented(line: &[u8], indent: usize) -> Option<&[u8]> {
    let (blanks, rest) = line.split_at_checked(indent)?;
    blanks.iter().all(|&b| b == b' ').then_some(rest)
}

/// Returns what follows a key, its `:` and the blank.
fn key(line: &[u8]) -> Option<&[u8]> {
    /// The largest length of a key, which is below the limit of other readers.
    const LONGEST: usize = 128;
    let is_first = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let size = line.iter().take(LONGEST).position(|&b| b == b':' || !is_inner(b))?;
    let (key, rest) = line.split_at_checked(size)?;
    (is_first(*key.first()?) && key.last() != Some(&b' ')).then_some(())?;
    rest.strip_prefix(b": ")
}

/// Returns the lines after a value.
fn value(line: &[u8]) -> Option<&[u8]> {
    let line = after_blanks(line);
    let (quoted, line) = match line.strip_prefix(b"'") {
        Some(line) => (true, line),
        None => (false, line),
    };
    let end = line.iter().position(|&b| !is_inner(b) || quoted && b == b'\'')?;
    let (value, rest) = line.split_at_checked(end)?;
    if quoted {
        return after_blanks(rest.strip_prefix(b"'")?).strip_prefix(b"\n");
    }
    let first = *value.first()?;
    (first.is_ascii_alphanumeric() || first == b'_' || is_signed(value)).then_some(())?;
    rest.strip_prefix(b"\n")
}

/// Returns whether a value begins with a sign or a point and a digit.
fn is_signed(value: &[u8]) -> bool {
    matches!(value, [b'-' | b'+' | b'.', digit, ..] if digit.is_ascii_digit())
}

/// Returns whether a byte may be anywhere in a key or a value.
fn is_inner(b: u8) -> bool {
    matches!(b, b' '..=b'~') && b != b':' && b != b'#'
}

/// Returns the line without the blanks at its start. A line break is not a blank.
fn after_blanks(line: &[u8]) -> &[u8] {
    let blanks = line.iter().take_while(|&&b| b == b' ').count();
    line.get(blanks..).unwrap_or_default()
}
