//! The block index (ASDF standard, "Block index").
//!
//! | line | field |
//! |---|---|
//! | `#ASDF BLOCK INDEX` | first line |
//! | `%YAML 1.1` | directives, if any |
//! | `---` | start of a YAML document |
//! | `- 2043` | offset of a block from the start of the file, one per line; or all of them in brackets: `[2043, 16340]` |
//! | `...` | end of the document |
//!
//! Lines end with `\n` or `\r\n`. Empty lines and comments (`#`) may be anywhere. Zero bytes may follow.

use nom::Parser;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while1};
use nom::character::complete::{digit1, line_ending};
use nom::combinator::{eof, map_opt, opt, peek, value};
use nom::multi::{fold_many0, many0_count};
use nom::sequence::{preceded, terminated};
use sciformats_core::fault::{FaultKind, ParseError, Parsed, fail, field};

use super::line;

/// The first line of the index.
pub(crate) const TOKEN: &[u8] = b"#ASDF BLOCK INDEX";

/// The offsets of the blocks from the start of the file, as they are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockIndex {
    /// The offset of each block.
    pub(crate) offsets: Vec<u64>,
}

impl BlockIndex {
    /// Parses the index including its first line. Zeros after it are not consumed.
    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, _) = field("first line", first_line)(i)?;
        let (i, _) = many0_count(alt((blank, note(b'#'), note(b'%')))).parse(i)?;
        let (i, _) = opt(tag("---")).parse(i)?;
        let push = |mut offsets: Vec<u64>, offset| {
            offsets.push(offset);
            offsets
        };
        let (i, offsets) = fold_many0(preceded(separators, number), Vec::new, push).parse(i)?;
        let (i, _) = separators(i)?;
        let (i, ()) = field("offset", end)(i)?;
        Ok((i, Self { offsets }))
    }

    /// Appends the index with one line per block.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(TOKEN);
        out.extend_from_slice(b"\n%YAML 1.1\n---\n");
        for offset in &self.offsets {
            out.extend_from_slice(format!("- {offset}\n").as_bytes());
        }
        out.extend_from_slice(b"...\n");
    }
}

fn first_line(i: &[u8]) -> Parsed<'_, ()> {
    let line = terminated(tag(TOKEN), alt((line_ending, eof))).parse(i);
    line.map(|(i, _)| (i, ())).or_else(|_: nom::Err<ParseError>| fail(i, FaultKind::Signature))
}

/// Parses what is between numbers: white space, the marks of a list, and comments.
fn separators(i: &[u8]) -> Parsed<'_, usize> {
    let item = terminated(tag("-"), peek(alt((blank, value((), eof)))));
    many0_count(alt((blank, value((), item), note(b'#')))).parse(i)
}

fn blank(i: &[u8]) -> Parsed<'_, ()> {
    value((), take_while1(is_blank)).parse(i)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b'[' | b']')
}

/// Parses a comment or a directive, which is a mark and the rest of its line.
fn note<'a>(mark: u8) -> impl Fn(&'a [u8]) -> Parsed<'a, ()> {
    move |i| value((), preceded(tag(&[mark][..]), opt(line))).parse(i)
}

fn number(i: &[u8]) -> Parsed<'_, u64> {
    let digit = |number: u64, digit: &u8| number.checked_mul(10)?.checked_add((digit & 0xf).into());
    let decimal = |digits: &[u8]| digits.iter().try_fold(0, digit);
    let after = alt((blank, value((), tag(&[0][..])), value((), eof)));
    terminated(map_opt(digit1, decimal), peek(after)).parse(i)
}

/// Parses the end of the document. The end of the file, or zeros, which are not consumed, can take its place.
fn end(i: &[u8]) -> Parsed<'_, ()> {
    let dots = (tag("..."), take_while(|byte| matches!(byte, b' ' | b'\t')), alt((line_ending, eof)));
    let zeros = peek(tag(&[0][..]));
    let end = alt((value((), dots), value((), zeros), value((), eof))).parse(i);
    end.or_else(|_: nom::Err<ParseError>| fail(i, FaultKind::Rule("is not a whole number")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate;

    use super::*;

    #[test]
    fn both_styles_of_list() {
        let block = b"#ASDF BLOCK INDEX\r\n%YAML 1.1\r\n---\r\n- 2043\r\n- 16340\r\n...\r\n\0\0";
        let flow = b"#ASDF BLOCK INDEX\n%YAML 1.1\n--- [2043,\n 16340]\n...\n";
        for (text, left) in [(&block[..], 2), (flow, 0)] {
            let (rest, index) = BlockIndex::parse(text).unwrap();
            assert_eq!(index.offsets, [2043, 16340]);
            assert_eq!(rest.len(), left);
        }
        assert_eq!(BlockIndex::parse(b"#ASDF BLOCK INDEX\n--- []").unwrap().1, BlockIndex::default());
        let notes = b"#ASDF BLOCK INDEX\n# a\n\n%YAML 1.1\n--- # b\n- 7\n# c\n- 8\n... \n\0";
        assert_eq!(BlockIndex::parse(notes), Ok((&b"\0"[..], BlockIndex { offsets: vec![7, 8] })));
    }

    #[test]
    fn line_by_line() {
        let bytes = [
            &b"#ASDF BLOCK INDEX\n"[..], // first line
            b"%YAML 1.1\n",              // directive
            b"---\n",                    // start
            b"- 2043\n",                 // offset of block 0
            b"- 16340\n",                // offset of block 1
            b"...\n",                    // end
        ]
        .concat();
        let index = BlockIndex { offsets: vec![2043, 16340] };
        let mut out = Vec::new();
        index.encode(&mut out);
        assert_eq!(out, bytes);
        assert_eq!(BlockIndex::parse(&bytes), Ok((&b""[..], index)));
    }

    #[test]
    fn faults_are_where_they_are() {
        let text = b"#ASDF BLOCK INDEX\n---\n- 12\n- 1x\n...\n";
        let error = locate("block index", 0x100, text, BlockIndex::parse).unwrap_err();
        assert_eq!(error.to_string(), "malformed block index at offset 0x11d: offset is not a whole number");
        let error = locate("block index", 0x100, b"#ASDF BLOCKS\n", BlockIndex::parse).unwrap_err();
        assert_eq!(
            error.to_string(),
            "malformed block index at offset 0x100: first line is not the expected signature"
        );
    }

    #[test]
    fn anything_but_numbers_is_a_fault() {
        for text in ["- x", "- -1", "- 1.5", "- 99999999999999999999", "a: 1"] {
            let text = format!("#ASDF BLOCK INDEX\n---\n{text}\n...\n");
            assert!(BlockIndex::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(BlockIndex::parse(b"#ASDF BLOCK\n").is_err());
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_parsed(offsets in prop::collection::vec(any::<u64>(), 0..9)) {
            let index = BlockIndex { offsets };
            let mut bytes = Vec::new();
            index.encode(&mut bytes);
            prop_assert_eq!(BlockIndex::parse(&bytes).unwrap(), (&b""[..], index));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = BlockIndex::parse(&bytes);
            let _ = BlockIndex::parse(&[TOKEN, b"\n---", &bytes].concat());
        }

        #[test]
        fn no_text_panics(text in r"[-\[\]0-9,#%. \n\x00]{0,40}") {
            let _ = BlockIndex::parse(&[TOKEN, b"\n", text.as_bytes()].concat());
        }
    }
}
