//! Scalars in their five styles.

use sciformats_core::{Result, bound};

use super::cursor::{Cursor, signed};
use super::node::{Content, ScalarStyle};
use super::parse::Parser;

impl Parser<'_> {
    /// Parses a plain scalar. Its further lines must be to the right of column `indent`, which is `None` inside brackets.
    pub(super) fn plain(&mut self, indent: Option<isize>) -> Result<Content> {
        let cursor = &mut self.cursor;
        let flow = indent.is_none();
        if !starts_plain(cursor, flow) {
            return Err(cursor.error("has a character that cannot begin a plain scalar"));
        }
        let mut text = String::from(plain_line(cursor, flow));
        while let Some(fold) = plain_fold(cursor, indent)? {
            let line = plain_line(cursor, flow);
            if line.is_empty() {
                break;
            }
            text.push_str(&fold);
            text.push_str(line);
        }
        Ok(Content::Scalar { text, style: ScalarStyle::Plain })
    }

    pub(super) fn single_quoted(&mut self) -> Result<Content> {
        let cursor = &mut self.cursor;
        let open = *cursor;
        cursor.advance(1);
        let mut text = String::new();
        loop {
            let start = cursor.at;
            cursor.skip_ordinary();
            while !matches!(cursor.peek(), b'\'' | b' ' | b'\t' | 0) && !cursor.is_break() {
                cursor.advance(1);
            }
            text.push_str(cursor.slice(start, cursor.at));
            match cursor.peek() {
                b'\'' if cursor.peek_at(1) == b'\'' => {
                    text.push('\'');
                    cursor.advance(2);
                }
                b'\'' => break,
                0 => return Err(open.error("has a quote that is not closed")),
                _ => quoted_blanks(cursor, &mut text)?,
            }
        }
        cursor.advance(1);
        Ok(Content::Scalar { text, style: ScalarStyle::Single })
    }

    pub(super) fn double_quoted(&mut self) -> Result<Content> {
        let cursor = &mut self.cursor;
        let open = *cursor;
        cursor.advance(1);
        let mut text = String::new();
        loop {
            let start = cursor.at;
            cursor.skip_ordinary();
            while !matches!(cursor.peek(), b'"' | b'\\' | b' ' | b'\t' | 0) && !cursor.is_break() {
                cursor.advance(1);
            }
            text.push_str(cursor.slice(start, cursor.at));
            match cursor.peek() {
                b'\\' => escape(cursor, &mut text)?,
                b'"' => break,
                0 => return Err(open.error("has a quote that is not closed")),
                _ => quoted_blanks(cursor, &mut text)?,
            }
        }
        cursor.advance(1);
        Ok(Content::Scalar { text, style: ScalarStyle::Double })
    }

    /// Parses a literal (`|`) or folded (`>`) scalar inside a collection in column `parent`.
    pub(super) fn block_scalar(&mut self, parent: isize) -> Result<Content> {
        let cursor = &mut self.cursor;
        let folded = cursor.peek() == b'>';
        cursor.advance(1);
        let (chomp, explicit) = block_header(cursor)?;
        // Text in the first column ends the scalar even at the top level.
        let least = columns(bound::sum(parent, 1)).max(1);
        let mut pending = String::new();
        let indent = match explicit {
            Some(more) => bound::sum(columns(parent), more),
            None => detect_indent(cursor, least),
        };
        leading_breaks(cursor, indent, &mut pending)?;
        let mut text = String::new();
        let mut last_break = String::new();
        let mut was_blank = false;
        while cursor.column() == indent && !cursor.is_end() && !cursor.is_marker() {
            let blank = matches!(cursor.peek(), b' ' | b'\t');
            // A single line break between two lines of text is folded to a space.
            if folded && last_break == "\n" && !was_blank && !blank {
                if pending.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(&last_break);
            }
            text.push_str(&pending);
            pending.clear();
            was_blank = blank;
            let start = cursor.at;
            cursor.skip_line();
            text.push_str(cursor.slice(start, cursor.at));
            last_break.clear();
            if cursor.is_end() {
                break;
            }
            last_break.push_str(cursor.take_break());
            leading_breaks(cursor, indent, &mut pending)?;
        }
        match chomp {
            b'-' => {}
            b'+' => {
                text.push_str(&last_break);
                text.push_str(&pending);
            }
            _ => text.push_str(&last_break),
        }
        let style = if folded { ScalarStyle::Folded } else { ScalarStyle::Literal };
        Ok(Content::Scalar { text, style })
    }
}

/// Returns the number of columns before an indentation; there are none before the first.
fn columns(indentation: isize) -> usize {
    usize::try_from(indentation).unwrap_or(0) // a bound: -1 means outside of all collections
}

fn starts_plain(cursor: &Cursor<'_>, flow: bool) -> bool {
    let alone = cursor.is_blank_or_end(bound::sum(cursor.at, 1));
    match cursor.peek() {
        b'-' => !alone,
        b'?' | b':' => !alone && !flow,
        b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%'
        | b'@' | b'`' => false,
        _ => !cursor.is_end(),
    }
}

/// Returns the part of a plain scalar on the cursor's line, without blanks at its end. The cursor stays before these blanks.
fn plain_line<'a>(cursor: &mut Cursor<'a>, flow: bool) -> &'a str {
    let start = cursor.at;
    let mut end = cursor.at;
    loop {
        if cursor.at == end {
            cursor.skip_ordinary();
            end = cursor.at;
        }
        match cursor.peek() {
            b' ' | b'\t' => {
                cursor.skip_blanks();
                if cursor.peek() == b'#' {
                    break;
                }
                continue;
            }
            b':' if cursor.is_blank_or_end(bound::sum(cursor.at, 1)) => break,
            b':' if flow && matches!(cursor.peek_at(1), b',' | b'[' | b']' | b'{' | b'}') => break,
            b',' | b'[' | b']' | b'{' | b'}' if flow => break,
            _ if cursor.is_end() || cursor.is_break() => break,
            _ => cursor.advance(1),
        }
        end = cursor.at;
    }
    cursor.at = end;
    cursor.slice(start, end)
}

/// Skips the line breaks between two lines of a plain scalar, and returns the text that they stand for. If the scalar ends, the
/// result is `None`, and the cursor is not moved.
fn plain_fold(cursor: &mut Cursor<'_>, indent: Option<isize>) -> Result<Option<String>> {
    let before = *cursor;
    cursor.skip_blanks();
    if !cursor.is_break() {
        *cursor = before;
        return Ok(None);
    }
    let fold = folded_breaks(cursor);
    let column = signed(cursor.column());
    let outside = indent.is_some_and(|indent| column <= indent);
    if cursor.is_end() || cursor.is_marker() || cursor.peek() == b'#' || outside {
        *cursor = before;
        return Ok(None);
    }
    let least = indent.map_or(0, |indent| columns(bound::sum(indent, 1)));
    let indentation = cursor.slice(cursor.line_start, bound::sum(cursor.line_start, least).min(cursor.at));
    if indentation.contains('\t') {
        return Err(cursor.error("is indented with a tab"));
    }
    Ok(Some(fold))
}

/// Skips from a line break over blank lines to the next text. One line break is a space; several are all but the first.
fn folded_breaks(cursor: &mut Cursor<'_>) -> String {
    let first = cursor.take_break();
    let mut more = String::new();
    loop {
        cursor.skip_blanks();
        if !cursor.is_break() {
            break;
        }
        more.push_str(cursor.take_break());
    }
    match (first, more.is_empty()) {
        ("\n", true) => " ".into(),
        ("\n", false) => more,
        _ => format!("{first}{more}"),
    }
}

/// Appends blanks inside quotes. They are kept within a line, and folded with the line breaks at its end.
fn quoted_blanks(cursor: &mut Cursor<'_>, text: &mut String) -> Result<()> {
    let start = cursor.at;
    cursor.skip_blanks();
    if !cursor.is_break() {
        text.push_str(cursor.slice(start, cursor.at));
        return Ok(());
    }
    text.push_str(&folded_breaks(cursor));
    inside_quotes(cursor)
}

fn inside_quotes(cursor: &Cursor<'_>) -> Result<()> {
    if cursor.is_marker() { Err(cursor.error("has a document marker inside quotes")) } else { Ok(()) }
}

fn escape(cursor: &mut Cursor<'_>, text: &mut String) -> Result<()> {
    let at = *cursor;
    cursor.advance(1);
    if cursor.is_break() {
        // The line break and the blanks after it have no meaning, but further line breaks do.
        cursor.take_break();
        cursor.skip_blanks();
        while cursor.is_break() {
            text.push_str(cursor.take_break());
            cursor.skip_blanks();
        }
        return inside_quotes(cursor);
    }
    let digits = match cursor.peek() {
        b'x' => 2,
        b'u' => 4,
        b'U' => 8,
        _ => 0,
    };
    let c = match cursor.peek() {
        b'0' => Some('\0'),
        b'a' => Some('\x07'),
        b'b' => Some('\x08'),
        b't' | b'\t' => Some('\t'),
        b'n' => Some('\n'),
        b'v' => Some('\x0B'),
        b'f' => Some('\x0C'),
        b'r' => Some('\r'),
        b'e' => Some('\x1B'),
        b'N' => Some('\u{85}'),
        b'_' => Some('\u{A0}'),
        b'L' => Some('\u{2028}'),
        b'P' => Some('\u{2029}'),
        b @ (b' ' | b'"' | b'/' | b'\\') => Some(char::from(b)),
        b'x' | b'u' | b'U' => {
            let start = bound::sum(cursor.at, 1);
            let hex = cursor.slice(start, bound::sum(start, digits));
            let plain = hex.len() == digits && hex.bytes().all(|b| b.is_ascii_hexdigit());
            plain.then(|| u32::from_str_radix(hex, 16).ok().and_then(char::from_u32)).flatten()
        }
        _ => None,
    };
    let Some(c) = c else { return Err(at.error("has an escape that is not defined")) };
    text.push(c);
    cursor.advance(bound::sum(digits, 1));
    Ok(())
}

/// Parses the chomping indicator (0 if there is none) and the explicit indentation after `|` or `>`, and skips the rest of the
/// line.
fn block_header(cursor: &mut Cursor<'_>) -> Result<(u8, Option<usize>)> {
    let (mut chomp, mut indent) = (0, None);
    loop {
        match cursor.peek() {
            b @ (b'+' | b'-') if chomp == 0 => chomp = b,
            b @ b'1'..=b'9' if indent.is_none() => indent = Some(usize::from(b & 0xF)),
            _ => break,
        }
        cursor.advance(1);
    }
    let before = cursor.at;
    cursor.skip_blanks();
    if cursor.peek() == b'#' && cursor.at > before {
        cursor.skip_comment();
    }
    if cursor.is_break() {
        cursor.take_break();
    } else if !cursor.is_end() {
        return Err(cursor.error("has text after the header of a block scalar"));
    }
    Ok((chomp, indent))
}

/// Returns the indentation of the first line with text, which is at least `least`.
fn detect_indent(cursor: &Cursor<'_>, least: usize) -> usize {
    let mut ahead = *cursor;
    let mut indent = least;
    loop {
        while ahead.peek() == b' ' {
            ahead.advance(1);
        }
        indent = indent.max(ahead.column());
        if !ahead.is_break() {
            return indent;
        }
        ahead.take_break();
    }
}

/// Skips blank lines and the indentation of the next line, up to column `indent`.
fn leading_breaks(cursor: &mut Cursor<'_>, indent: usize, breaks: &mut String) -> Result<()> {
    loop {
        while cursor.column() < indent && cursor.peek() == b' ' {
            cursor.advance(1);
        }
        if cursor.column() < indent && cursor.peek() == b'\t' {
            return Err(cursor.error("is indented with a tab"));
        }
        if !cursor.is_break() {
            return Ok(());
        }
        breaks.push_str(cursor.take_break());
    }
}
