//! The text of a query becomes a tree, within limits.

use sciformats_conventions::sciformats::{Error, Result};
use sqlparser::ast::Statement;
use sqlparser::dialect::GenericDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

/// The largest number of bytes of a query.
const TEXT: usize = 1 << 16;

/// The largest number of operators, brackets and keywords of a query. Each of them can make the tree one level deeper, and
/// the tree is freed by calls that are nested as deeply as the tree.
const WORDS: usize = 2_000;

/// The stack of the parser in bytes. It follows 50 levels of brackets, which without optimization take more than the
/// 2 MiB that threads usually have.
#[cfg(not(target_family = "wasm"))]
const STACK: usize = 16 << 20;

/// Returns the statements of a query.
///
/// # Errors
///
/// [`Error::Usage`] if the text is no SQL, or too long.
pub(super) fn statements(text: &str) -> Result<Vec<Statement>> {
    if text.len() > TEXT {
        return Err(Error::usage("sql", "is longer than 64 KiB"));
    }
    let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize_with_location();
    let tokens = tokens.map_err(|error| refused(&error.into()))?;
    if tokens.iter().filter(|token| nests(&token.token)).count() > WORDS {
        return Err(Error::usage("sql", format!("has more than {WORDS} operators, brackets and keywords")));
    }
    tree(tokens)?.map_err(|error| refused(&error))
}

/// Returns whether a token can make the tree deeper. Lists of any length do not.
fn nests(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.keyword != Keyword::NoKeyword,
        Token::EOF
        | Token::Comma
        | Token::Whitespace(_)
        | Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_) => false,
        _ => true,
    }
}

type Parsed = std::result::Result<Vec<Statement>, ParserError>;

#[cfg(not(target_family = "wasm"))]
fn tree(tokens: Vec<TokenWithSpan>) -> Result<Parsed> {
    std::thread::scope(|scope| {
        let parser = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || parse(tokens));
        match parser.map_err(|error| Error::io("start a thread", error))?.join() {
            Ok(parsed) => Ok(parsed),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// There are no threads to be had, and the stack is the page's.
#[cfg(target_family = "wasm")]
fn tree(tokens: Vec<TokenWithSpan>) -> Result<Parsed> {
    Ok(parse(tokens))
}

fn parse(tokens: Vec<TokenWithSpan>) -> Parsed {
    Parser::new(&GenericDialect {}).with_tokens_with_locations(tokens).parse_statements()
}

fn refused(error: &ParserError) -> Error {
    let shown = error.to_string();
    let shown = shown.strip_prefix("sql parser error: ").unwrap_or(&shown);
    Error::usage("sql", format!("cannot be parsed: {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_long_and_trees_are_not_deep() {
        let list = format!("SELECT a FROM t WHERE a IN (0{})", ", 1".repeat(10_000));
        assert_eq!(statements(&list).unwrap().len(), 1);
        for chain in [" + 1", " IS NULL", "::int", " OR a"] {
            let error = statements(&format!("SELECT a{}", chain.repeat(7_000))).unwrap_err();
            assert!(matches!(error, Error::Usage { .. }) && error.to_string().contains("2000"), "{error}");
            assert!(statements(&format!("SELECT a{}", chain.repeat(900))).is_ok());
        }
    }

    #[test]
    fn brackets_are_followed_on_any_thread() {
        let nested = |levels: usize| format!("SELECT {}1{}", "abs(".repeat(levels), ")".repeat(levels));
        let parser = std::thread::Builder::new().stack_size(256 << 10).spawn(move || {
            assert!(statements(&nested(40)).is_ok());
            assert!(matches!(statements(&nested(400)), Err(Error::Usage { .. })));
        });
        parser.unwrap().join().unwrap();
    }
}
