//! Python literals, in which NumPy writes the types and shapes of arrays.
//!
//! | text | field |
//! |---|---|
//! | `'a\n'`, `"a"`, `u'a'`, `b'a'` | text: Latin-1 or UTF-8, with the escapes ``\n \t \r \\ \' \" \xNN \uNNNN \UNNNNNNNN`` |
//! | `12`, `12L` | a whole number, which may have the suffix of long numbers in Python 2 |
//! | `True`, `False`, `None` | a truth value, or nothing |
//! | `(1, 2)`, `(1,)`, `[1, 2]` | a tuple or a list |
//! | `{'a': 1, 'b': 2}` | a dictionary |
//!
//! There may be white space between all parts, and a comma after the last item.

use std::fmt;

use nom::Parser;
use nom::branch::alt;
use nom::bytes::complete::{tag, take, take_while, take_while1};
use nom::character::complete::{digit1, one_of};
use nom::combinator::{cut, map, opt, value};
use nom::multi::{fold_many0, separated_list1};
use nom::sequence::{delimited, preceded, separated_pair, terminated};

use crate::FaultKind;
use crate::fault::{ParseError, Parsed, fail};

/// The largest nesting depth of literals.
const DEPTH: usize = 32;

/// A literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// A string.
    Text(String),
    /// A whole number that is not negative.
    Number(u64),
    /// `True` or `False`.
    Bool(bool),
    /// `None`.
    None,
    /// A tuple or a list.
    List(Vec<Literal>),
    /// The keys of a dictionary and their values, in the order in which they are written.
    Dictionary(Vec<(Literal, Literal)>),
}

/// The meaning of bytes beyond ASCII in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Each byte is a character.
    Latin1,
    /// UTF-8.
    Utf8,
}

impl Literal {
    /// Parses a literal and the white space around it.
    ///
    /// ```
    /// use sciformats_core::fault::locate_all;
    /// use sciformats_core::literal::{Encoding, Literal};
    ///
    /// let literal = locate_all("type", 0, b"('<f4', 3)", Literal::parse(Encoding::Utf8))?;
    /// assert_eq!(literal, Literal::List(vec![Literal::Text("<f4".to_owned()), Literal::Number(3)]));
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    pub fn parse(encoding: Encoding) -> impl Fn(&[u8]) -> Parsed<'_, Self> {
        move |i| terminated(|i| any(i, encoding, 0), space).parse(i)
    }
}

fn any(i: &[u8], encoding: Encoding, depth: usize) -> Parsed<'_, Literal> {
    let (i, _) = space(i)?;
    if depth > DEPTH {
        return cut(|i| fail(i, FaultKind::Rule("is nested deeper than 32 levels"))).parse(i);
    }
    let inner = |i| any(i, encoding, depth.saturating_add(1)); // a bound, because deeper literals are refused
    match i.first() {
        Some(b'(') => map(cut(items("(", ")", inner)), Literal::List).parse(i),
        Some(b'[') => map(cut(items("[", "]", inner)), Literal::List).parse(i),
        Some(b'{') => {
            let pair = separated_pair(inner, cut(token(":")), cut(inner));
            map(cut(items("{", "}", pair)), Literal::Dictionary).parse(i)
        }
        Some(b'\'' | b'"') => map(cut(|i| text(i, encoding)), Literal::Text).parse(i),
        // Text with a prefix, as Python 2 and 3 write it.
        Some(b'u' | b'b') if matches!(i.get(1), Some(b'\'' | b'"')) => {
            map(cut(preceded(take(1usize), |i| text(i, encoding))), Literal::Text).parse(i)
        }
        Some(b'0'..=b'9') => map(cut(number), Literal::Number).parse(i),
        Some(b'T') => value(Literal::Bool(true), tag("True")).parse(i),
        Some(b'F') => value(Literal::Bool(false), tag("False")).parse(i),
        Some(b'N') => value(Literal::None, tag("None")).parse(i),
        _ => fail(i, FaultKind::Rule("is not a Python literal")),
    }
}

fn space(i: &[u8]) -> Parsed<'_, &[u8]> {
    take_while(|byte: u8| byte.is_ascii_whitespace()).parse(i)
}

/// Parses a mark, and the white space before it.
fn token(mark: &'static str) -> impl Fn(&[u8]) -> Parsed<'_, ()> {
    move |i| {
        let (i, _) = space(i)?;
        match i.strip_prefix(mark.as_bytes()) {
            Some(rest) => Ok((rest, ())),
            None => fail(i, FaultKind::Rule("is not a Python literal")),
        }
    }
}

/// Parses items between two marks. They are separated by commas, and a comma may follow the last one.
fn items<'a, T>(
    open: &'static str,
    close: &'static str,
    one: impl Parser<&'a [u8], Output = T, Error = ParseError>,
) -> impl Parser<&'a [u8], Output = Vec<T>, Error = ParseError> {
    let some = terminated(separated_list1(token(","), one), opt(token(",")));
    delimited(token(open), map(opt(some), Option::unwrap_or_default), token(close))
}

fn number(i: &[u8]) -> Parsed<'_, u64> {
    // A long integer in Python 2 ends with `L`.
    let (rest, digits) = terminated(digit1, opt(tag("L"))).parse(i)?;
    match std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()) {
        Some(number) => Ok((rest, number)),
        None => fail(i, FaultKind::Overflow),
    }
}

fn text(i: &[u8], encoding: Encoding) -> Parsed<'_, String> {
    let (i, quote) = take(1usize).parse(i)?;
    let quote = quote.first().copied().unwrap_or(b'\'');
    let plain = |i| {
        let (rest, bytes) = take_while1(|byte| byte != quote && byte != b'\\').parse(i)?;
        match (encoding, std::str::from_utf8(bytes)) {
            (Encoding::Latin1, _) => Ok((rest, bytes.iter().map(|&byte| char::from(byte)).collect())),
            (Encoding::Utf8, Ok(text)) => Ok((rest, text.to_owned())),
            (Encoding::Utf8, Err(_)) => cut(|i| fail(i, FaultKind::Encoding)).parse(i),
        }
    };
    let part = alt((plain, map(preceded(tag("\\"), cut(escape)), String::from)));
    let (i, text) = fold_many0(part, String::new, |text, part| text + &part).parse(i)?;
    let (i, _) = take_quote(quote)(i)?;
    Ok((i, text))
}

fn take_quote(quote: u8) -> impl Fn(&[u8]) -> Parsed<'_, ()> {
    move |i| match i.split_first() {
        Some((&found, rest)) if found == quote => Ok((rest, ())),
        _ => fail(i, FaultKind::Rule("has a string without an end")),
    }
}

/// Parses the character after a backslash.
fn escape(i: &[u8]) -> Parsed<'_, char> {
    let (rest, letter) = one_of("ntr\\'\"xuU").parse(i)?;
    let digits: usize = match letter {
        'n' => return Ok((rest, '\n')),
        't' => return Ok((rest, '\t')),
        'r' => return Ok((rest, '\r')),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        itself => return Ok((rest, itself)),
    };
    let (rest, digits) = take(digits).parse(rest)?;
    let hex = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    match hex.and_then(|hex| u32::from_str_radix(hex, 16).ok()).and_then(char::from_u32) {
        Some(letter) => Ok((rest, letter)),
        None => fail(i, FaultKind::Encoding),
    }
}

/// Returns the Python literal for a text.
///
/// ```
/// assert_eq!(sciformats_core::literal::quoted("it's"), r"'it\'s'");
/// ```
pub fn quoted(text: &str) -> String {
    let mut out = String::from("'");
    for letter in text.chars() {
        match letter {
            '\'' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => out.push_str(&format!("\\U{:08x}", u32::from(letter))),
            letter => out.push(letter),
        }
    }
    out.push('\'');
    out
}

/// Writes numbers as a Python tuple.
///
/// ```
/// use sciformats_core::literal::Tuple;
///
/// assert_eq!((Tuple(&[3]).to_string(), Tuple(&[3, 4]).to_string()), ("(3,)".into(), "(3, 4)".into()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tuple<'a>(pub &'a [u64]);

impl fmt::Display for Tuple<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [one] => write!(f, "({one},)"),
            more => write!(f, "({})", more.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fault::locate_all;

    fn parse(text: &str) -> Option<Literal> {
        locate_all("text", 0, text.as_bytes(), Literal::parse(Encoding::Utf8)).ok()
    }

    #[test]
    fn what_headers_have() {
        let list = Literal::List;
        let number = Literal::Number;
        let text = |text: &str| Literal::Text(text.into());
        let table = [
            ("(3,)", list(vec![number(3)])),
            ("()", list(vec![])),
            (" [ 1 , 2L ] \n", list(vec![number(1), number(2)])),
            (r#""a\'b\\""#, text(r"a'b\")),
            (r"'\x41\u00b5\U0001f600\n'", text("Aµ😀\n")),
            ("''", text("")),
            ("[None,'a']", list(vec![Literal::None, text("a")])),
            ("{'a': True, u'b': (False,), }", {
                let second = list(vec![Literal::Bool(false)]);
                Literal::Dictionary(vec![(text("a"), Literal::Bool(true)), (text("b"), second)])
            }),
        ];
        for (source, expected) in table {
            assert_eq!(parse(source), Some(expected), "{source}");
        }
        for source in [
            "",
            "(",
            "(1 2)",
            "'a",
            "{1}",
            "{1:}",
            "x",
            "99999999999999999999",
            "1 1",
            r"'\ud800'",
            "(,)",
            "(1,,)",
        ] {
            assert_eq!(parse(source), None, "{source}");
        }
        assert_eq!(parse(&"(".repeat(100_000)), None);
    }

    #[test]
    fn a_dictionary_byte_by_byte() {
        let bytes = [
            &b"{"[..],
            b"'a\\'b': ", // a key, a quote in it escaped
            b"True, ",    // a truth value
            b"u\"c\": ",  // a key of Python 2
            b"(3L,)",     // a tuple of one long number
            b"}",
        ]
        .concat();
        let text = |text: &str| Literal::Text(text.into());
        let expected = Literal::Dictionary(vec![
            (text("a'b"), Literal::Bool(true)),
            (text("c"), Literal::List(vec![Literal::Number(3)])),
        ]);
        assert_eq!(locate_all("text", 0, &bytes, Literal::parse(Encoding::Utf8)).unwrap(), expected);
    }

    #[test]
    fn a_fault_is_where_it_is() {
        for (source, message) in [
            ("{'a': (1, x)}", "malformed text at offset 0xa: it is not a Python literal"),
            ("{'a': 'b", "malformed text at offset 0x8: it has a string without an end"),
            (r"['a\q']", "malformed text at offset 0x4: it does not parse"),
            ("[99999999999999999999]", "malformed text at offset 0x1: it overflows"),
        ] {
            let parsed = locate_all("text", 0, source.as_bytes(), Literal::parse(Encoding::Utf8));
            assert_eq!(parsed.unwrap_err().to_string(), message, "{source}");
        }
    }

    #[test]
    fn bytes_beyond_ascii() {
        let parse =
            |bytes: &'static [u8], encoding| locate_all("text", 0, bytes, Literal::parse(encoding)).ok();
        assert_eq!(parse(b"'\xb5'", Encoding::Latin1), Some(Literal::Text("µ".into())));
        assert_eq!(parse(b"'\xb5'", Encoding::Utf8), None);
        assert_eq!(parse("'µ'".as_bytes(), Encoding::Utf8), Some(Literal::Text("µ".into())));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(text in r#"[(){}\[\]'"\\,: 0-9uTrxµ]{0,24}"#, bytes: Vec<u8>) {
            let _ = parse(&text);
            for encoding in [Encoding::Latin1, Encoding::Utf8] {
                let _ = Literal::parse(encoding)(&bytes);
                let _ = Literal::parse(encoding)(&[b"'", &bytes[..], b"'"].concat());
            }
        }

        #[test]
        fn a_string_comes_back(text: String) {
            prop_assert_eq!(parse(&quoted(&text)), Some(Literal::Text(text)));
        }
    }
}
