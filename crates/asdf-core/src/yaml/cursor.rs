//! A position in the text, and the character classes of YAML 1.1.
//!
//! A position after the end of the text counts as its end. Sums of positions may therefore be bounds, because there is nothing to
//! read.

use sciformats_core::arith::add;
use sciformats_core::fault::FaultKind;
use sciformats_core::{Error, Fault, Result, bound};

/// A position in a text that has been checked. `base` is the offset of the text in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) line_start: usize,
    /// Whether a comment was passed.
    pub(super) is_commented: bool,
    base: u64,
}

impl<'a> Cursor<'a> {
    /// Checks that `bytes` are valid UTF-8, and contain only characters that YAML allows.
    pub(super) fn new(bytes: &'a [u8], base: u64) -> Result<Self> {
        add(base, bytes.len() as u64)?;
        let bad = |at: usize, rule| {
            let kind = FaultKind::Rule(rule);
            Err(Fault::new("text", kind).at("tree", bound::sum(base, at as u64)))
        };
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(e) => return bad(e.valid_up_to(), "is not UTF-8"),
        };
        // Most trees are ASCII, in which only control characters are forbidden.
        let is_bad = |b: &u8| !matches!(b, b' '..=b'~' | b'\t' | b'\n' | b'\r');
        // Many bytes are checked at a time, because a loop that may end at each byte is several times slower.
        if !bytes.chunks(64).any(|some| some.iter().fold(false, |bad, b| bad | is_bad(b))) {
            return Ok(Self { text, at: 0, line_start: 0, is_commented: false, base });
        }
        match text.char_indices().find(|(_, c)| !is_printable(*c)) {
            Some((at, _)) => bad(at, "has a character that YAML does not allow"),
            None => Ok(Self { text, at: 0, line_start: 0, is_commented: false, base }),
        }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset_of(self.at)
    }

    pub(super) fn offset_of(&self, at: usize) -> u64 {
        bound::sum(self.base, at as u64)
    }

    /// Returns an error at this position; `rule` completes the sentence "it …".
    pub(super) fn error(&self, rule: &'static str) -> Error {
        Fault::from(FaultKind::Rule(rule)).at("tree", self.offset())
    }

    /// Returns the byte at this position. At the end it is 0, which no text contains.
    pub(super) fn peek(&self) -> u8 {
        self.byte(self.at)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> u8 {
        self.byte(bound::sum(self.at, ahead))
    }

    pub(super) fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0) // a position after the end
    }

    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    pub(super) fn column(&self) -> usize {
        bound::left(self.at, self.line_start)
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        self.at = bound::sum(self.at, bytes).min(self.text.len());
    }

    /// Skips bytes that have no special meaning in scalars of any style.
    pub(super) fn skip_ordinary(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let ordinary =
            |b: &&u8| matches!(b, b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-' | b'.' | b'/' | b'+');
        self.advance(rest.iter().take_while(ordinary).count());
    }

    pub(super) fn is_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Returns the length of the line break at `at`, 0 if there is none.
    pub(super) fn break_len(&self, at: usize) -> usize {
        match self.byte(at) {
            b' '..=b'~' => 0,
            b'\n' => 1,
            b'\r' if self.byte(bound::sum(at, 1)) == b'\n' => 2,
            b'\r' => 1,
            0xC2 if self.slice(at, bound::sum(at, 2)) == "\u{85}" => 2,
            0xE2 if matches!(self.slice(at, bound::sum(at, 3)), "\u{2028}" | "\u{2029}") => 3,
            _ => 0,
        }
    }

    /// Returns the text that a line break stands for in a scalar: `\n`, or the break itself if the standard preserves it.
    pub(super) fn take_break(&mut self) -> &'a str {
        let len = self.break_len(self.at);
        let text = self.slice(self.at, bound::sum(self.at, len));
        self.advance(len);
        self.line_start = self.at;
        if len == 3 { text } else { "\n" }
    }

    pub(super) fn is_break(&self) -> bool {
        self.break_len(self.at) > 0
    }

    /// Returns whether there is a blank, a line break or the end at `at`.
    pub(super) fn is_blank_or_end(&self, at: usize) -> bool {
        matches!(self.byte(at), b' ' | b'\t' | 0) || self.break_len(at) > 0
    }

    /// Returns whether there is an indicator at this position, which is `b` followed by a blank, a line break or the end.
    pub(super) fn is_indicator(&self, b: u8) -> bool {
        self.peek() == b && self.is_blank_or_end(bound::sum(self.at, 1))
    }

    /// Returns whether there is a document marker at this position, which is `---` or `...` in the first column.
    pub(super) fn is_marker(&self) -> bool {
        self.at == self.line_start
            && matches!(self.slice(self.at, bound::sum(self.at, 3)), "---" | "...")
            && self.is_blank_or_end(bound::sum(self.at, 3))
    }

    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t') {
            self.advance(1);
        }
    }

    /// Skips to the line break that ends the line, or to the end.
    pub(super) fn skip_line(&mut self) {
        while !self.is_end() && !self.is_break() {
            self.advance(1);
        }
    }

    /// Skips a comment, up to the line break that ends it.
    pub(super) fn skip_comment(&mut self) {
        self.is_commented = true;
        self.skip_line();
    }

    /// Skips blanks, comments and line breaks up to the next content. Returns whether a line break (or the end) was passed.
    /// Tabs must not indent the content.
    pub(super) fn skip_to_content(&mut self) -> Result<bool> {
        self.skip_with(Tabs::Refused)
    }

    /// Does the same as [`skip_to_content`](Self::skip_to_content) in a flow collection, where indentation has no meaning.
    pub(super) fn skip_to_content_in_flow(&mut self) -> Result<bool> {
        self.skip_with(Tabs::Allowed)
    }

    fn skip_with(&mut self, tabs: Tabs) -> Result<bool> {
        let mut crossed = false;
        loop {
            let start = self.at;
            self.skip_blanks();
            let before = self.byte(bound::left(self.at, 1));
            let after_blank = self.at == self.line_start || matches!(before, b' ' | b'\t');
            if self.peek() == b'#' && after_blank {
                self.skip_comment();
            }
            if self.is_break() {
                self.take_break();
                crossed = true;
                continue;
            }
            if self.is_end() {
                return Ok(true);
            }
            let indentation = self.slice(self.line_start, self.at);
            let only_blanks = crossed || start == self.line_start;
            if tabs == Tabs::Refused && only_blanks && indentation.contains('\t') {
                return Err(self.error("is indented with a tab"));
            }
            return Ok(crossed);
        }
    }
}

/// Whether tabs may indent content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tabs {
    Allowed,
    Refused,
}

/// Returns a column as a signed number, in which −1 means that there is none. No text has so many columns that one is lost.
pub(super) fn signed(column: usize) -> isize {
    isize::try_from(column).unwrap_or(isize::MAX) // a bound, which no memory reaches
}

/// Returns whether a YAML 1.1 stream may contain the character without an escape.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FEFE}'
        | '\u{FF00}'..='\u{FFFD}' | '\u{10000}'..='\u{10FFFF}')
}
