//! Reports files, functions and signatures that are too long to read in one go. Only lines with code count,
//! not blank lines and comments.

use super::Finding;
use super::rust::{Kind, Source, Token, closing, lines};
use super::tree::Tree;

const FILE: usize = 400;
const FILE_WITH_TESTS: usize = 600;
const FUNCTION: usize = 60;
const PARAMETERS: usize = 5;

/// Checks the files, functions and signatures of all sources.
pub(crate) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.sources() {
        let code = lines(source.code());
        let all = lines(source.tokens.iter());
        if code > FILE {
            findings.push(Finding::new(
                path,
                0,
                format!(
                    "the file has {code} lines of code, which is more than {FILE}; consider splitting it"
                ),
            ));
        } else if all > FILE_WITH_TESTS {
            let message = format!(
                "the file has {all} lines with its tests, which is more than {FILE_WITH_TESTS}; consider splitting it"
            );
            findings.push(Finding::new(path, 0, message));
        }
        for function in functions(&source) {
            let Function { name, line, lines, parameters } = function;
            if lines > FUNCTION {
                let message = format!(
                    "`{name}` has {lines} lines, which is more than {FUNCTION}; consider splitting it"
                );
                findings.push(Finding::new(path, line, message));
            }
            if parameters > PARAMETERS {
                let message = format!(
                    "`{name}` has {parameters} parameters, which is more than {PARAMETERS}; consider a type for them"
                );
                findings.push(Finding::new(path, line, message));
            }
        }
    }
    findings
}

struct Function<'a> {
    name: &'a str,
    line: usize,
    lines: usize,
    /// The number of parameters without `self`.
    parameters: usize,
}

fn functions<'a>(source: &Source<'a>) -> Vec<Function<'a>> {
    let tokens = &source.tokens;
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(name) = tokens.get(at + 1).filter(|name| token.is("fn") && name.kind == Kind::Word) else {
            continue;
        };
        let Some(open) = after_generics(tokens, at + 2) else { continue };
        let end_of_list = closing(tokens, open);
        let list = tokens.get(open + 1..end_of_list.saturating_sub(1)).unwrap_or_default();
        let end = end_of_function(tokens, end_of_list);
        let extent = tokens.get(at..end).unwrap_or_default();
        found.push(Function {
            name: name.text,
            line: token.line,
            lines: lines(extent.iter()),
            parameters: parameters(list),
        });
    }
    found
}

/// Returns the opening parenthesis of the parameter list.
fn after_generics(tokens: &[Token<'_>], from: usize) -> Option<usize> {
    let mut angles = 0i32;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token.text {
            "<" => angles += 1,
            ">" if !tokens.get(at - 1).is_some_and(|before| before.is("-") || before.is("=")) => angles -= 1,
            "(" if angles == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// Returns the position after the body, or after the semicolon of a declaration.
fn end_of_function(tokens: &[Token<'_>], mut at: usize) -> usize {
    while let Some(token) = tokens.get(at) {
        if token.is(";") {
            return at + 1;
        }
        if token.is("{") {
            return closing(tokens, at);
        }
        at = if token.is("(") || token.is("[") { closing(tokens, at) } else { at + 1 };
    }
    at
}

/// Counts the parts between commas, except inside of brackets.
fn parameters(list: &[Token<'_>]) -> usize {
    let (mut count, mut at, mut angles, mut empty) = (0, 0, 0i32, true);
    while let Some(token) = list.get(at) {
        let arrow =
            at.checked_sub(1).and_then(|before| list.get(before)).is_some_and(|t| t.is("-") || t.is("="));
        match token.text {
            "<" if token.kind == Kind::Mark => angles += 1,
            ">" if token.kind == Kind::Mark && !arrow => angles -= 1,
            "," if angles == 0 => empty = true,
            "self" | "&" | "mut" if empty => {}
            _ if token.kind == Kind::Literal && empty => {}
            _ if empty && !is_self_type(list, at) => {
                count += 1;
                empty = false;
            }
            _ => {}
        }
        at = if token.is("(") || token.is("[") || token.is("{") { closing(list, at) } else { at + 1 };
    }
    count
}

/// Returns whether this is the rest of `self: Type`.
fn is_self_type(list: &[Token<'_>], at: usize) -> bool {
    let upto = list.get(..at).unwrap_or_default();
    !upto.iter().any(|token| token.is(",")) && upto.iter().any(|token| token.is("self"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        rule(&Tree::of(&[("crates/a/src/b.rs", text)])).iter().map(ToString::to_string).collect()
    }

    fn calls(count: usize) -> String {
        "    call();\n".repeat(count)
    }

    #[test]
    fn functions_may_have_sixty_lines() {
        assert!(findings(&format!("fn f() {{\n{}}}\n", calls(58))).is_empty());
        let long = format!("\nfn f() -> [u8; 4]\nwhere\n    T: X,\n{{\n    // a reason\n\n{}}}\n", calls(60));
        assert_eq!(
            findings(&long),
            ["crates/a/src/b.rs:2: `f` has 65 lines, which is more than 60; consider splitting it"]
        );
    }

    #[test]
    fn files_may_have_four_hundred_lines_and_six_hundred_with_tests() {
        let file = |code: usize, tests: usize| {
            let code = "use a;\n".repeat(code);
            format!("{code}#[cfg(test)]\nmod tests {{\n{}}}\n", "use b;\n".repeat(tests))
        };
        assert!(findings(&file(400, 197)).is_empty());
        assert_eq!(findings(&file(401, 0)).len(), 1);
        assert_eq!(findings(&file(400, 198)).len(), 1);
    }

    #[test]
    fn signatures_may_have_five_parameters_and_self() {
        for good in [
            "fn f(a: A, b: B, c: C, d: D, e: E) {}",
            "fn f(&'a mut self, a: A, b: B, c: C, d: D, e: Map<K, V>,) {}",
            "fn f(self: Arc<Self>, a: (A, B), b: [C; 2], c: impl Fn(A, B) -> C, d: D, e: E);",
            "fn f(g: fn(A, B, C, D, E, F)) {}",
        ] {
            assert_eq!(findings(good), Vec::<String>::new(), "{good}");
        }
        for bad in [
            "fn f(a: A, b: B, c: C, d: D, e: E, f: F) {}",
            "fn f<T: Fn(A)>(&self, a: A, b: B, c: C, d: D, e: E, f: F) {}",
        ] {
            assert_eq!(findings(bad).len(), 1, "{bad}");
        }
    }
}
