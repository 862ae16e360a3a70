//! Python literals, in which NumPy writes the types and shapes of arrays.
//!
//! | text | field |
//! |---|---|
//! | `'a\n'`, `"a"`, `u'a'`, `b'a'`, `r'a'`, `'a' 'b'` | text: Latin-1 or UTF-8, with the escapes of Python; texts one after another are one text |
//! | `12`, `1_000`, `0x1F`, `0o17`, `0b11`, `12L` | a whole number, which may have the suffix of long numbers in Python 2 |
//! | `True`, `False`, `None` | a truth value, or nothing |
//! | `(1, 2)`, `(1,)`, `[1, 2]`, `[1]` | a tuple or a list |
//! | `(1)` | the literal between the parentheses |
//! | `{'a': 1, 'b': 2}` | a dictionary |
//! | `# anything` | a comment, up to the end of its line |
//!
//! There may be white space and comments between all parts, and a comma after the last item.

use std::fmt;

use nom::Parser;
use nom::branch::alt;
use nom::bytes::complete::{tag, take, take_while, take_while1};
use nom::character::complete::one_of;
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
        Some(b'(') => cut(|i| parentheses(i, inner)).parse(i),
        Some(b'[') => map(cut(items("[", "]", inner)), Literal::List).parse(i),
        Some(b'{') => {
            let pair = separated_pair(inner, cut(token(":")), cut(inner));
            map(cut(items("{", "}", pair)), Literal::Dictionary).parse(i)
        }
        _ if is_text(i) => map(cut(|i| texts(i, encoding)), Literal::Text).parse(i),
        Some(b'0'..=b'9') => map(cut(number), Literal::Number).parse(i),
        Some(b'T') => value(Literal::Bool(true), tag("True")).parse(i),
        Some(b'F') => value(Literal::Bool(false), tag("False")).parse(i),
        Some(b'N') => value(Literal::None, tag("None")).parse(i),
        _ => fail(i, FaultKind::Rule("is not a Python literal")),
    }
}

/// Skips white space and comments.
fn space(i: &[u8]) -> Parsed<'_, ()> {
    let blank = |byte: u8| byte.is_ascii_whitespace() || byte == 0x0B; // Rust does not count the vertical tab
    let (mut i, _) = take_while(blank).parse(i)?;
    while i.starts_with(b"#") {
        (i, _) = take_while(|byte| byte != b'\n' && byte != b'\r').parse(i)?;
        (i, _) = take_while(blank).parse(i)?;
    }
    Ok((i, ()))
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

/// Parses what is in parentheses. A single literal is in a tuple only if a comma follows it.
fn parentheses<'a>(i: &'a [u8], inner: impl Fn(&'a [u8]) -> Parsed<'a, Literal>) -> Parsed<'a, Literal> {
    let some = (separated_list1(token(","), inner), opt(token(",")));
    let (i, found) = delimited(token("("), opt(some), token(")")).parse(i)?;
    let (mut items, comma) = found.unwrap_or_default();
    let single = if items.len() == 1 && comma.is_none() { items.pop() } else { None };
    Ok((i, single.unwrap_or(Literal::List(items))))
}

fn number(i: &[u8]) -> Parsed<'_, u64> {
    let (rest, word) = take_while1(|byte: u8| byte.is_ascii_alphanumeric() || byte == b'_').parse(i)?;
    let word = std::str::from_utf8(word).unwrap_or_default(); // it is ASCII
    // A long integer in Python 2 ends with `L`.
    let word = word.strip_suffix('L').unwrap_or(word);
    let (digits, radix) = match word.get(..2) {
        Some("0x" | "0X") => (word.get(2..), 16),
        Some("0o" | "0O") => (word.get(2..), 8),
        Some("0b" | "0B") => (word.get(2..), 2),
        _ => (Some(word), 10),
    };
    let digits = digits.unwrap_or_default();
    // A digit follows each underscore, and only zeros may begin with a zero.
    let grouped = if radix == 10 { digits } else { digits.strip_prefix('_').unwrap_or(digits) };
    let is_number =
        grouped.split('_').all(|some| !some.is_empty() && some.chars().all(|c| c.is_digit(radix)))
            && (radix != 10 || !digits.starts_with('0') || digits.bytes().all(|b| matches!(b, b'0' | b'_')));
    if !is_number {
        return fail(i, FaultKind::Rule("is not a whole number"));
    }
    match u64::from_str_radix(&digits.replace('_', ""), radix) {
        Ok(number) => Ok((rest, number)),
        Err(_) => fail(i, FaultKind::Overflow),
    }
}

/// Returns the length of the prefix of a text, such as `u` or `Rb`; `None` if no text begins here.
fn prefix(i: &[u8]) -> Option<usize> {
    let letters = i.iter().take_while(|byte| matches!(byte, b'u' | b'U' | b'b' | b'B' | b'r' | b'R')).count();
    (letters <= 2 && matches!(i.get(letters), Some(b'\'' | b'"'))).then_some(letters)
}

fn is_text(i: &[u8]) -> bool {
    prefix(i).is_some()
}

/// Parses a text, and those that follow it.
fn texts(i: &[u8], encoding: Encoding) -> Parsed<'_, String> {
    let (mut i, mut all) = text(i, encoding)?;
    loop {
        let (next, ()) = space(i)?;
        if !is_text(next) {
            return Ok((i, all));
        }
        let (rest, more) = text(next, encoding)?;
        all.push_str(&more);
        i = rest;
    }
}

fn text(i: &[u8], encoding: Encoding) -> Parsed<'_, String> {
    let (i, prefix) = take(prefix(i).unwrap_or_default()).parse(i)?;
    let raw = prefix.iter().any(|byte| matches!(byte, b'r' | b'R'));
    let (i, quote) = take(1usize).parse(i)?;
    let quote = quote.first().copied().unwrap_or(b'\'');
    let escape = |i| if raw { raw_escape(i, quote) } else { escape(i) };
    let plain = |i| {
        let (rest, bytes) = take_while1(|byte| byte != quote && byte != b'\\').parse(i)?;
        match (encoding, std::str::from_utf8(bytes)) {
            (Encoding::Latin1, _) => Ok((rest, bytes.iter().map(|&byte| char::from(byte)).collect())),
            (Encoding::Utf8, Ok(text)) => Ok((rest, text.to_owned())),
            (Encoding::Utf8, Err(_)) => cut(|i| fail(i, FaultKind::Encoding)).parse(i),
        }
    };
    let part = alt((plain, preceded(tag("\\"), cut(escape))));
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

/// Parses what follows a backslash that means itself. A quote after it does not end the text, and a second backslash has nothing to
/// do with what comes after both.
fn raw_escape(i: &[u8], quote: u8) -> Parsed<'_, String> {
    match i.split_first() {
        Some((&found, rest)) if found == quote || found == b'\\' => {
            Ok((rest, format!("\\{}", char::from(found))))
        }
        _ => Ok((i, "\\".to_owned())),
    }
}

/// Parses what follows a backslash.
fn escape(i: &[u8]) -> Parsed<'_, String> {
    let octal = i.iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    if octal > 0 {
        return code(i, octal, 8);
    }
    // A backslash before the end of a line joins the line with the next one; before any other letter, it means itself.
    let Ok((rest, letter)) = one_of::<_, _, ParseError>("abfnrtv\\'\"xuU\n").parse(i) else {
        return Ok((i, "\\".to_owned()));
    };
    let letter = match letter {
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0C',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0B',
        '\n' => return Ok((rest, String::new())),
        'x' => return code(rest, 2, 16),
        'u' => return code(rest, 4, 16),
        'U' => return code(rest, 8, 16),
        itself => itself,
    };
    Ok((rest, letter.into()))
}

/// Parses the number of a character, which has so many digits.
fn code(i: &[u8], digits: usize, radix: u32) -> Parsed<'_, String> {
    let (rest, digits) = take(digits).parse(i)?;
    let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.chars().all(|c| c.is_digit(radix)));
    match digits.and_then(|digits| u32::from_str_radix(digits, radix).ok()).and_then(char::from_u32) {
        Some(letter) => Ok((rest, letter.into())),
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
            ("(3)", number(3)),
            ("(('a'))", text("a")),
            ("[0x1F, 0o17, 0b11, 1_000, 0, 0x_f]", list([31, 15, 3, 1000, 0, 15].map(number).into())),
            ("# first\n[1, # second\n 2] # third", list(vec![number(1), number(2)])),
            ("('a' \"b\"\n u'c')", text("abc")),
            (r"r'a\n\''", text(r"a\n\'")),
            (r"r'a\\'", text(r"a\\")),
            (r#"[r"\\\"\\", 'b']"#, list(vec![text(r#"\\\"\\"#), text("b")])),
            (r"'\q\101\a'", text("\\qA\x07")),
            ("'''a'''", text("a")),
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
            ("[0_, 1]", "malformed text at offset 0x1: it is not a whole number"),
            ("[012]", "malformed text at offset 0x1: it is not a whole number"),
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
        fn no_bytes_panic(text in r##"[(){}\[\]'"\\,: 0-9uTrx_#\nµ]{0,24}"##, bytes: Vec<u8>) {
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
