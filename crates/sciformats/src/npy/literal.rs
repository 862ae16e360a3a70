//! Python literals, as far as headers have them: strings, whole numbers, `True`, `False`, tuples, lists, dictionaries.

/// Literals within literals that are followed.
const DEPTH: usize = 32;

/// A literal.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Text(String),
    Number(u64),
    Bool(bool),
    /// A tuple or a list.
    List(Vec<Literal>),
    Dictionary(Vec<(Literal, Literal)>),
}

/// The literal that a text is; `None` if it is none.
pub(super) fn parse(text: &str) -> Option<Literal> {
    let mut rest = text;
    let literal = any(&mut rest, 0)?;
    rest.trim().is_empty().then_some(literal)
}

fn any(rest: &mut &str, depth: usize) -> Option<Literal> {
    if depth > DEPTH {
        return None;
    }
    *rest = rest.trim_start();
    match rest.chars().next()? {
        '(' => list(rest, ')', depth),
        '[' => list(rest, ']', depth),
        '{' => dictionary(rest, depth),
        quote @ ('\'' | '"') => text(rest, quote),
        '0'..='9' => {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (digits, after) = rest.split_at(end);
            // A long integer of Python 2.
            *rest = after.strip_prefix('L').unwrap_or(after);
            digits.parse().ok().map(Literal::Number)
        }
        _ if eat(rest, "True") => Some(Literal::Bool(true)),
        _ if eat(rest, "False") => Some(Literal::Bool(false)),
        // Text of Python 2 and 3 with a prefix.
        'u' | 'b' => {
            let quote = rest.chars().nth(1).filter(|c| matches!(c, '\'' | '"'))?;
            *rest = rest.get(1..)?;
            text(rest, quote)
        }
        _ => None,
    }
}

/// Takes `word` away if it comes next.
fn eat(rest: &mut &str, word: &str) -> bool {
    let after = rest.trim_start().strip_prefix(word);
    if let Some(after) = after {
        *rest = after;
    }
    after.is_some()
}

fn list(rest: &mut &str, close: char, depth: usize) -> Option<Literal> {
    let mut items = Vec::new();
    *rest = rest.get(1..)?;
    let mut close_text = [0; 4];
    let close = &*close.encode_utf8(&mut close_text);
    loop {
        if eat(rest, close) {
            return Some(Literal::List(items));
        }
        items.push(any(rest, depth + 1)?);
        if !eat(rest, ",") {
            return eat(rest, close).then_some(Literal::List(items));
        }
    }
}

fn dictionary(rest: &mut &str, depth: usize) -> Option<Literal> {
    let mut pairs = Vec::new();
    *rest = rest.get(1..)?;
    loop {
        if eat(rest, "}") {
            return Some(Literal::Dictionary(pairs));
        }
        let key = any(rest, depth + 1)?;
        if !eat(rest, ":") {
            return None;
        }
        pairs.push((key, any(rest, depth + 1)?));
        if !eat(rest, ",") {
            return eat(rest, "}").then_some(Literal::Dictionary(pairs));
        }
    }
}

fn text(rest: &mut &str, quote: char) -> Option<Literal> {
    let mut out = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => {
                *rest = rest.get(at.checked_add(1)?..)?;
                return Some(Literal::Text(out));
            }
            '\\' => {
                let (_, escape) = chars.next()?;
                let digits = match escape {
                    'n' => {
                        out.push('\n');
                        continue;
                    }
                    't' => {
                        out.push('\t');
                        continue;
                    }
                    'r' => {
                        out.push('\r');
                        continue;
                    }
                    'x' => 2,
                    'u' => 4,
                    'U' => 8,
                    '\\' | '\'' | '"' => {
                        out.push(escape);
                        continue;
                    }
                    _ => return None,
                };
                let mut code = 0u32;
                for _ in 0..digits {
                    code = code.checked_mul(16)?.checked_add(chars.next()?.1.to_digit(16)?)?;
                }
                out.push(char::from_u32(code)?);
            }
            c => out.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            ("{'a': True, u'b': (False,), }", {
                let second = list(vec![Literal::Bool(false)]);
                Literal::Dictionary(vec![(text("a"), Literal::Bool(true)), (text("b"), second)])
            }),
        ];
        for (source, expected) in table {
            assert_eq!(parse(source), Some(expected), "{source}");
        }
        for source in ["", "(", "(1 2)", "'a", "{1}", "{1:}", "x", "99999999999999999999", "1 1", r"'\ud800'"]
        {
            assert_eq!(parse(source), None, "{source}");
        }
        assert_eq!(parse(&"(".repeat(100_000)), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in r#"[(){}\[\]'"\\,: 0-9uTrxµ]{0,24}"#) {
            let _ = parse(&text);
        }
    }
}
