//! Each structure on disk has its layout as a table, its bytes one field a line in a test, and the test that no bytes make
//! its parser panic; and nom parses it.

use super::Finding;
use super::rust::{Kind, Source, Token};
use super::tree::Tree;
use crate::formats::packages;

/// Files of `spec/` that hold no structure of their own, and what they hold instead.
const OTHERS: &[(&str, &str)] = &[
    ("crates/asdf-core/src/spec/mod.rs", "lines, of which structures are made"),
    ("crates/cframe/src/spec/msgpack.rs", "single numbers, of which structures are made"),
    ("crates/cframe/src/spec/pipeline.rs", "codes, which stand in chunk and frame headers"),
    ("crates/gsd-rs/src/spec/element_type.rs", "a code, which stands in index entries"),
    ("crates/hdf5-pure/src/spec/lookup3.rs", "a hash"),
    ("crates/hdf5-pure/src/spec/message/dense.rs", "what two messages share, each of which has a file"),
    ("crates/hdf5-pure/src/spec/mod.rs", "addresses and lengths, of which structures are made"),
    ("crates/rawarray/src/spec/element_kind.rs", "a code, which stands in the header"),
    ("crates/rawarray/src/spec/flags.rs", "a word, which stands in the header"),
];

/// What the first column of a layout says: the place of a field in bytes, or in text.
const FIRST_COLUMNS: &[&str] = &["offset", "bytes", "first byte", "bits", "line", "text"];

/// The name of the property in each file.
const PROPERTY: &str = "no_bytes_panic";

/// A structure of one field alone has a line for its value and one for another; all others have more.
const FEWEST_LINES: usize = 2;

/// Words that a line of annotated bytes may have beside its literals; `b` is the prefix of a character.
const OF_BYTES: &[&str] =
    &["b", "bytes", "extend", "push", "to_le_bytes", "to_be_bytes", "u16", "u32", "u64"];

/// What takes numbers from bytes without nom.
const BY_HAND: &[&str] = &["from_le_bytes", "from_be_bytes", "split_first_chunk", "split_last_chunk"];

/// The lines before one that is parsed by hand in which the reason may stand.
const NEAR: usize = 4;

/// The rule.
pub(crate) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, what) in OTHERS.iter().filter(|(path, _)| !tree.has(path) && tree.has("crates/hdf5-pure")) {
        findings.push(Finding::new(
            path,
            0,
            format!("is no file any more that holds {what}: correct the list"),
        ));
    }
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".rs")) {
        let Some(layer) = layer(path) else { continue };
        let source = Source::new(path, text);
        let parses = |words: &[&str]| source.code().any(|token| words.iter().any(|word| token.is(word)));
        let structure = match layer {
            Layer::Spec | Layer::Codec if path.ends_with("/mod.rs") => parses(&["Parsed"]),
            Layer::Codec => parses(&["nom"]),
            Layer::Spec => true,
        };
        if !structure || OTHERS.iter().any(|(other, _)| *other == path) {
            continue;
        }
        if !has_layout(text) {
            let columns = FIRST_COLUMNS.join("`, `");
            let message = format!(
                "show the layout in the module's documentation: a table that begins with `{columns}`"
            );
            findings.push(Finding::new(path, 1, message));
        }
        if annotated(&source, text) < FEWEST_LINES {
            let message = "test the structure's bytes, one field a line with its name in a comment";
            findings.push(Finding::new(path, 0, message));
        }
        let named = |pair: &[Token<'_>]| pair[0].is("fn") && pair[1].is(PROPERTY) && pair[0].test;
        if !source.tokens.windows(2).any(named) {
            findings.push(Finding::new(
                path,
                0,
                format!("test that no bytes make the parser panic: `{PROPERTY}`"),
            ));
        }
        if layer == Layer::Spec {
            findings.extend(by_hand(path, &source, text));
        }
    }
    findings
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layer {
    Spec,
    Codec,
}

/// The layer of a source, if it is one in which bytes are parsed.
fn layer(path: &str) -> Option<Layer> {
    let inside = packages()
        .find_map(|package| path.strip_prefix("crates/")?.strip_prefix(package)?.strip_prefix("/src/"))?;
    match inside.split('/').next()? {
        "spec" => Some(Layer::Spec),
        "codec" => Some(Layer::Codec),
        _ => None,
    }
}

/// Whether the module's documentation has a table whose first column is that of a layout.
fn has_layout(text: &str) -> bool {
    let docs: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
    docs.windows(2).any(|pair| {
        let first = pair[0].strip_prefix('|').and_then(|row| row.split('|').next()).map(str::trim);
        pair[1].starts_with("|--") && first.is_some_and(|first| FIRST_COLUMNS.contains(&first))
    })
}

/// Lines of tests that are bytes and a comment.
fn annotated(source: &Source<'_>, text: &str) -> usize {
    let is_annotated = |(number, line): (usize, &str)| {
        let tokens: Vec<&Token<'_>> = source.tokens.iter().filter(|token| token.line == number + 1).collect();
        let bytes = tokens.iter().any(|token| token.kind == Kind::Literal)
            && tokens.iter().all(|token| {
                token.test && (token.kind != Kind::Word || OF_BYTES.contains(&token.text)) && !token.is("=")
            });
        let end = tokens
            .iter()
            .try_fold(0, |at, token| Some(at + line.get(at..)?.find(token.text)? + token.text.len()));
        let comment = end.and_then(|end| line.get(end..)).and_then(|rest| rest.trim().strip_prefix("//"));
        bytes && comment.is_some_and(|comment| !comment.trim().is_empty())
    };
    text.lines().enumerate().filter(|&line| is_annotated(line)).count()
}

/// Where numbers are taken from bytes without nom and without a word why.
fn by_hand(path: &str, source: &Source<'_>, text: &str) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().collect();
    let excused = |line: usize| {
        let near = lines.get(line.saturating_sub(NEAR + 1)..line).unwrap_or_default();
        near.iter().filter_map(|line| line.split_once("//")).any(|(_, comment)| comment.contains("nom"))
    };
    let found = source.code().filter(|token| BY_HAND.iter().any(|word| token.is(word)));
    let found = found.filter(|token| !excused(token.line));
    let message = |word: &str| format!("`{word}`: parse with nom, or say in a comment why not nom");
    found.map(|token| Finding::new(path, token.line, message(token.text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "//! A header.\n//!\n//! | offset | size | field |\n//! |---|---|---|\n//! | 0 | 1 | version |\n\
        use sciformats_core::fault::Parsed;\n\
        #[cfg(test)]\nmod tests {\n    const BYTES: [u8; 3] = [\n        1, // version, first\n        0xf0, b'a', // text\n    ];\n\
        proptest! { #[test] fn no_bytes_panic(bytes: Vec<u8>) {} }\n}\n";

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        rule(&Tree::of(&[(path, text)])).into_iter().map(|finding| (finding.line, finding.message)).collect()
    }

    #[test]
    fn a_structure_has_its_layout_its_bytes_and_the_property() {
        let path = "crates/gsd-rs/src/spec/header.rs";
        assert_eq!(found(path, GOOD), []);
        let without = [
            GOOD.replace("| offset |", "| name |"),
            GOOD.replace("1, // version, first", "1,"),
            GOOD.replace("no_bytes_panic", "bytes_panic"),
        ];
        let starts = ["show the layout", "test the structure's bytes", "test that no bytes"];
        for (text, start) in without.iter().zip(starts) {
            let found = found(path, text);
            assert!(matches!(&found[..], [(_, message)] if message.starts_with(start)), "{found:?}");
        }
        assert_eq!(found(path, "").len(), 3);
    }

    #[test]
    fn comments_beside_other_code_are_no_bytes() {
        let text = GOOD.replace("1, // version", "assert_eq!(x, 1); // version");
        assert_eq!(found("crates/gsd-rs/src/spec/header.rs", &text).len(), 1);
        let text = GOOD.replace("mod tests", "mod bytes").replace("#[cfg(test)]\n", "");
        assert_eq!(found("crates/gsd-rs/src/spec/header.rs", &text).len(), 2);
    }

    #[test]
    fn modules_without_a_parser_and_codecs_without_nom_are_no_structures() {
        assert_eq!(found("crates/gsd-rs/src/spec/mod.rs", "//! Structures.\npub mod header;\n"), []);
        assert_eq!(found("crates/gsd-rs/src/spec/list/mod.rs", "use x::Parsed;").len(), 3);
        assert_eq!(found("crates/gsd-rs/src/codec/lz.rs", "fn f() { u32::from_le_bytes(x) }"), []);
        assert_eq!(found("crates/gsd-rs/src/codec/lz.rs", "use nom::Parser;").len(), 3);
        assert_eq!(found("crates/gsd-rs/src/model/x.rs", "use x::Parsed;"), []);
        assert_eq!(found("crates/rawarray/src/spec/flags.rs", ""), []);
    }

    #[test]
    fn what_is_parsed_by_hand_says_why() {
        let path = "crates/gsd-rs/src/spec/header.rs";
        let text = format!("{GOOD}fn f() {{\n    u32::from_le_bytes(x)\n}}\n");
        assert!(matches!(&found(path, &text)[..], [(_, message)] if message.starts_with("`from_le_bytes`")));
        let text =
            format!("{GOOD}fn f() {{\n    // Not nom: twice as slow.\n    u32::from_le_bytes(x)\n}}\n");
        assert_eq!(found(path, &text), []);
    }

    #[test]
    fn the_list_of_others_is_of_files_that_are_there() {
        let tree = Tree::of(&[("crates/hdf5-pure/src/lib.rs", "")]);
        assert_eq!(rule(&tree).len(), OTHERS.len());
    }
}
