//! Lines of a block mapping that consist of a simple key and a simple value. They are recognized without creating nodes.
//!
//! Such a line is the indentation, a key, `: `, a value and perhaps blanks. All of it is printable ASCII without `:` and
//! `#` in keys and values; a key begins with a letter, a digit or `_`, and a value too, or is in single quotes with none
//! inside. Whatever else a line may be, the parser reads it as it reads everything.
//!
//! Entries of other collections may be simple as well: see [`entries`](super::entries).

use super::arena::LINES;
use super::entries::Standing;

/// Shorter than the longest key that other readers take.
const LONGEST: usize = 128;

/// An entry whose value is a tag and a block mapping of plain values and lists.
pub(super) struct Entry<'a> {
    /// The end of its last line.
    pub(super) end: usize,
    /// The number of its nodes, the key included.
    pub(super) nodes: usize,
    /// The tag as it is written.
    pub(super) tag: &'a [u8],
    /// What follows the first line of the value.
    pub(super) tail: Tail<'a>,
}

/// Lines of a value after its first one, which are often the same in the next entry.
#[derive(Clone, Copy, Default)]
pub(super) struct Tail<'a> {
    text: &'a [u8],
    /// The column of its keys.
    column: usize,
    nodes: usize,
}

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

/// The entry whose key or `-` is at `at`, and only blanks before it on its line; `None` if it is not simple. It may end like
/// `like`, the entry before it.
pub(super) fn entry<'a>(text: &'a [u8], at: usize, standing: Standing, like: Tail<'_>) -> Option<Entry<'a>> {
    let Standing { column, is_item } = standing;
    let indentation = text.get(at.checked_sub(column)?..at)?;
    indentation.iter().all(|&b| b == b' ').then_some(())?;
    let rest = text.get(at..)?;
    let rest = match rest.strip_prefix(b"'") {
        _ if is_item => rest.strip_prefix(b"- ")?,
        Some(rest) => quoted_key(rest)?,
        None => key(rest)?,
    };
    let (tag, mut rest) = tag(rest)?;
    let mut nodes: usize = if is_item { 1 } else { 2 };
    let mut inner = 0;
    let (mut tail, mut before) = (None, 0);
    loop {
        if inner > 0 && tail.is_none() {
            (tail, before) = (Some(rest), nodes);
            if let Some(after) = rest.strip_prefix(like.text).filter(|_| inner == like.column) {
                nodes = nodes.checked_add(like.nodes)?;
                rest = after;
            }
        }
        let line = after_blanks(rest);
        let blanks = rest.len().checked_sub(line.len())?;
        match line.first() {
            // A comment or an empty line would be more than this can tell apart.
            Some(b'\n' | b'\r' | b'\t' | b'#') => return None,
            Some(_) if blanks > column => {
                (inner == 0 || blanks == inner).then_some(())?;
                inner = blanks;
                let line = key(line)?;
                let (items, after) =
                    if line.first() == Some(&b'[') { list(line)? } else { (0, value(line)?) };
                nodes = nodes.checked_add(2)?.checked_add(items)?;
                rest = after;
            }
            // The next entry, or the end of the collection.
            Some(_) => break,
            None if blanks == 0 => break,
            None => return None,
        }
    }
    let end = text.len().checked_sub(rest.len())?;
    let tail = tail?;
    let text = tail.get(..tail.len().checked_sub(rest.len())?)?;
    let tail = Tail { text, column: inner, nodes: nodes.checked_sub(before)? };
    Some(Entry { end, nodes, tag, tail })
}

/// Returns what follows a single-quoted key, its `:` and the blank. `line` begins after the opening quote.
fn quoted_key(line: &[u8]) -> Option<&[u8]> {
    let size = line.iter().take(LONGEST).position(|&b| b == b'\'' || !is_inner(b))?;
    line.get(size..)?.strip_prefix(b"': ")
}

/// Returns a tag that is alone on the rest of its line, and the lines after it.
fn tag(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'-' | b'_');
    let name = line.strip_prefix(b"!")?;
    let size = name.iter().position(|&b| !word(b)).filter(|&size| size > 0)?;
    let (tag, rest) = line.split_at_checked(size.checked_add(1)?)?;
    Some((tag, rest.strip_prefix(b"\n")?))
}

/// Returns the number of scalars in a list in brackets, and the lines after it.
fn list(line: &[u8]) -> Option<(usize, &[u8])> {
    let mut rest = after_blanks(line.strip_prefix(b"[")?);
    let mut items: usize = 0;
    if let Some(after) = rest.strip_prefix(b"]") {
        return Some((0, after_blanks(after).strip_prefix(b"\n")?));
    }
    loop {
        rest = after_blanks(item(rest)?);
        items = items.checked_add(1)?;
        match rest.split_first()? {
            (b',', after) => rest = after_blanks(after),
            (b']', after) => return Some((items, after_blanks(after).strip_prefix(b"\n")?)),
            _ => return None,
        }
    }
}

/// Returns what follows a scalar in brackets.
fn item(text: &[u8]) -> Option<&[u8]> {
    if let Some(text) = text.strip_prefix(b"'") {
        let size = text.iter().position(|&b| b == b'\'' || !is_inner(b))?;
        return text.get(size..)?.strip_prefix(b"'");
    }
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'+');
    let size = text.iter().position(|&b| !word(b))?;
    let (item, rest) = text.split_at_checked(size)?;
    let first = *item.first()?;
    (first.is_ascii_alphanumeric() || first == b'_' || is_signed(item)).then_some(rest)
}

fn indented(line: &[u8], indent: usize) -> Option<&[u8]> {
    let (blanks, rest) = line.split_at_checked(indent)?;
    blanks.iter().all(|&b| b == b' ').then_some(rest)
}

/// Returns what follows a key, its `:` and the blank.
fn key(line: &[u8]) -> Option<&[u8]> {
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
