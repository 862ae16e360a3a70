//! Rust sources in the form that the rules need: tokens with their lines, without comments, and with a mark
//! for tests.

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier or keyword.
    Word,
    /// One character of punctuation.
    Mark,
    /// A number, a character, a string, or a lifetime.
    Literal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    /// The line, from 1.
    pub(crate) line: usize,
    /// Whether the token is in an item under `#[cfg(test)]`, or in a file of tests.
    pub(crate) test: bool,
}

impl Token<'_> {
    pub(crate) fn is(&self, text: &str) -> bool {
        self.kind != Kind::Literal && self.text == text
    }
}

/// The tokens of a file.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) tokens: Vec<Token<'a>>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(path: &str, text: &'a str) -> Self {
        let mut tokens = Lexer { text, at: 0, line: 1 }.collect::<Vec<_>>();
        let all = path.ends_with("/tests.rs") || path.contains("/tests/");
        for token in &mut tokens {
            token.test = all;
        }
        for range in test_items(&tokens) {
            tokens.iter_mut().take(range.1).skip(range.0).for_each(|token| token.test = true);
        }
        Self { tokens }
    }

    /// Returns the tokens that do not belong to tests.
    pub(crate) fn code(&self) -> impl Iterator<Item = &Token<'a>> {
        self.tokens.iter().filter(|token| !token.test)
    }

    /// Returns the lines where `words` follow each other outside of tests, such as `["println", "!"]`.
    pub(crate) fn lines_with(&self, words: &[&str]) -> Vec<usize> {
        let windows = self.tokens.windows(words.len());
        let matching = windows
            .filter(|window| window.iter().zip(words).all(|(token, word)| token.is(word) && !token.test));
        matching.filter_map(|window| window.first().map(|token| token.line)).collect()
    }
}

/// Counts the lines that the tokens are on.
pub(crate) fn lines<'t>(tokens: impl Iterator<Item = &'t Token<'t>>) -> usize {
    let (mut count, mut last) = (0, 0);
    for token in tokens {
        // A string over several lines counts as code on each of them.
        let end = token.line + token.text.matches('\n').count();
        count += (end + 1).saturating_sub(token.line.max(last + 1));
        last = last.max(end);
    }
    count
}

/// Returns the index after the bracket that closes the one at `open`.
pub(crate) fn closing(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        if token.kind == Kind::Mark {
            match token.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Returns the ranges of items under `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn test_items(tokens: &[Token<'_>]) -> Vec<(usize, usize)> {
    let is_at = |at: usize, words: &[&str]| {
        words.iter().enumerate().all(|(i, word)| tokens.get(at + i).is_some_and(|token| token.is(word)))
    };
    let mut ranges = Vec::new();
    for begin in 0..tokens.len() {
        let plain = is_at(begin, &["#", "[", "cfg", "(", "test", ")"]);
        if !plain && !is_at(begin, &["#", "[", "cfg", "(", "all", "(", "test"]) {
            continue;
        }
        let mut at = begin;
        while is_at(at, &["#", "["]) {
            at = closing(tokens, at + 1);
        }
        // The item ends with a semicolon or with its first braces.
        let end = loop {
            match tokens.get(at) {
                None => break at,
                Some(token) if token.is(";") => break at + 1,
                Some(token) if token.is("{") => break closing(tokens, at),
                Some(token) if token.is("(") || token.is("[") => at = closing(tokens, at),
                Some(_) => at += 1,
            }
        };
        ranges.push((begin, end));
    }
    ranges
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Takes `len` bytes.
    fn take(&mut self, len: usize) -> &'a str {
        let taken = self.rest().get(..len).unwrap_or(self.rest());
        self.at += taken.len();
        self.line += taken.matches('\n').count();
        taken
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            let rest = self.rest();
            let len = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                block_comment(rest)
            } else {
                rest.len() - rest.trim_start().len()
            };
            if len == 0 {
                return;
            }
            self.take(len);
        }
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_blanks_and_comments();
        let line = self.line;
        let rest = self.rest();
        let first = rest.chars().next()?;
        let (kind, len) = if let Some(len) = string(rest) {
            (Kind::Literal, len)
        } else if first.is_ascii_digit() {
            (Kind::Literal, number(rest))
        } else if first == '_' || first.is_alphabetic() {
            (Kind::Word, word(rest))
        } else if first == '\'' {
            (Kind::Literal, quote(rest))
        } else {
            (Kind::Mark, first.len_utf8())
        };
        Some(Token { kind, text: self.take(len), line, test: false })
    }
}

/// Returns the length of a block comment, which may contain others.
fn block_comment(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0usize);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let step = if rest.starts_with("/*") {
            depth += 1;
            2
        } else if rest.starts_with("*/") {
            depth -= 1;
            2
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

/// Returns the length of a string with its prefix and quotes, if there is a string here.
fn string(text: &str) -> Option<usize> {
    let prefix = text.len() - text.trim_start_matches(['b', 'c', 'r']).len();
    let raw = text.get(..prefix)?.ends_with('r');
    let after = text.get(prefix..)?;
    let hashes = if raw { after.len() - after.trim_start_matches('#').len() } else { 0 };
    let body = after.get(hashes..)?.strip_prefix('"').filter(|_| prefix <= 2)?;
    let begin = text.len() - body.len();
    if raw {
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(body.find(&end).map_or(text.len(), |at| begin + at + end.len()));
    }
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(begin + at + 1),
            _ => {}
        }
    }
    Some(text.len())
}

fn word(text: &str) -> usize {
    text.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(text.len())
}

fn number(text: &str) -> usize {
    let whole = word(text);
    let fraction = text.get(whole..).and_then(|rest| rest.strip_prefix('.'));
    match fraction {
        Some(fraction) if fraction.starts_with(|c: char| c.is_ascii_digit()) => whole + 1 + word(fraction),
        _ => whole,
    }
}

/// Takes a character or a lifetime.
fn quote(text: &str) -> usize {
    let mut inside = text.char_indices().skip(1);
    let first = inside.next();
    let second = inside.next();
    match (first, second) {
        (Some((_, '\\')), Some((at, escaped))) => {
            let from = at + escaped.len_utf8();
            text.get(from..).and_then(|rest| rest.find('\'')).map_or(text.len(), |end| from + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1 + text.get(1..).map_or(0, word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        Source::new("a.rs", text).tokens.iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_vanish_and_strings_stay_whole() {
        assert_eq!(texts("a // b\n/* c /* d */ e */ f"), ["a", "f"]);
        assert_eq!(texts(r#"x = "// \" no";"#), ["x", "=", r#""// \" no""#, ";"]);
        assert_eq!(texts("r#\"a \" b\"# br\"c\" b\"d\" e"), ["r#\"a \" b\"#", "br\"c\"", "b\"d\"", "e"]);
    }

    #[test]
    fn lifetimes_characters_and_numbers_are_literals() {
        assert_eq!(
            texts(r"<'a> '\'' 'b' b'{' '\u{7d}'"),
            ["<", "'a", ">", r"'\''", "'b'", "b", "'{'", r"'\u{7d}'"]
        );
        assert_eq!(texts("1.5e3 0..4 x.0"), ["1.5e3", "0", ".", ".", "4", "x", ".", "0"]);
    }

    #[test]
    fn lines_are_counted_once_and_strings_on_each() {
        let source = Source::new("a.rs", "fn a() {\n\n    // nothing\n    b(\"1\n2\n3\");\n}\n");
        assert_eq!(lines(source.tokens.iter()), 5);
    }

    #[test]
    fn items_under_cfg_test_are_tests() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { c(); } }\nfn d() {}\n#[cfg(test)]\nuse e;\nfn f() {}";
        let source = Source::new("src/a.rs", text);
        let words: Vec<&str> =
            source.code().filter(|token| token.kind == Kind::Word).map(|token| token.text).collect();
        assert_eq!(words, ["fn", "a", "fn", "d", "fn", "f"]);
        assert!(Source::new("tests/a.rs", "").tokens.is_empty());
        assert!(Source::new("crates/x/tests/a.rs", "fn a() {}").code().next().is_none());
    }

    #[test]
    fn sequences_are_found_by_line() {
        let source = Source::new("a.rs", "fn a() {\n    println!(\"println!\");\n}\n");
        assert_eq!(source.lines_with(&["println", "!"]), [2]);
    }
}
