//! Shows the control characters in a stream of text, so that a file cannot send commands to the terminal.

use std::io::{self, Write};

use super::safe;

/// Writes text with escapes instead of control characters, except for the ends of lines and tabs.
#[derive(Debug)]
pub(crate) struct Escaped<W> {
    out: W,
    /// The start of a character whose other bytes have not been written yet.
    start: Vec<u8>,
}

impl<W: Write> Escaped<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, start: Vec::new() }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        for part in text.split_inclusive(['\n', '\t']) {
            let end = part.len() - usize::from(part.ends_with(['\n', '\t']));
            let (shown, end) = part.split_at(end);
            self.out.write_all(safe(shown).as_bytes())?;
            self.out.write_all(end.as_bytes())?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let joined = [std::mem::take(&mut self.start).as_slice(), bytes].concat();
        let mut chunks = joined.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.text(chunk.valid())?;
            let wrong = chunk.invalid();
            let unfinished = std::str::from_utf8(wrong).is_err_and(|error| error.error_len().is_none());
            if unfinished && chunks.peek().is_none() {
                self.start = wrong.to_vec();
            } else {
                write!(self.out, "{}", wrong.escape_ascii())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        write!(self.out, "{}", std::mem::take(&mut self.start).escape_ascii())?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_and_lines_stay() {
        let mut out = Escaped::new(Vec::new());
        out.write_all("a,\u{1b}[31mb\tü\r\n\u{9b}2J\u{7}".as_bytes()).unwrap();
        // The bytes of a character may be written one by one; others are not UTF-8.
        "µ".as_bytes().iter().for_each(|byte| out.write_all(&[*byte]).unwrap());
        out.write_all(b"\xff.\xc3").unwrap();
        out.flush().unwrap();
        let expected = "a,\\u{1b}[31mb\tü\\r\n\\u{9b}2J\\u{7}µ\\xff.\\xc3";
        assert_eq!(String::from_utf8(out.out).unwrap(), expected);
    }
}
