//! Checks that numbers that go into a file are exact: the code that computes them must not saturate, and must
//! not replace a missing number by another.

use super::Finding;
use super::tree::Tree;

/// The folders and files that plan and encode what goes into a file.
const ROOMS: &[&str] = &[
    "crates/sciformats-core/src/",
    "crates/hdf5-pure/src/",
    "crates/gsd-rs/src/",
    "crates/rawarray/src/",
    "crates/asdf-core/src/",
    "crates/cframe/src/",
    "crates/npy/src/",
    "crates/sciformats-convert/src/",
    "crates/sciformats-remote/src/",
    "crates/sciformats/src/",
    "crates/sciformats-cli/src/",
    "crates/sciformats-conventions/src/",
    "crates/sciformats-python/src/",
];

/// A line with one of these words may saturate, or replace a missing number.
const EXCUSES: [&str; 2] = ["a bound", "a position"];

/// In these rooms nothing saturates, and no end of a type or zero stands for what is not there.
pub(crate) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for room in ROOMS.iter().filter(|room| !tree.has(room.trim_end_matches('/')) && tree.has("crates")) {
        findings.push(Finding::new(room, 0, "is none of the rooms any more: correct the list"));
    }
    let rooms = tree
        .texts()
        .filter(|(path, _)| path.ends_with(".rs") && ROOMS.iter().any(|room| path.starts_with(room)));
    for (path, text) in rooms {
        for (number, line) in (1..).zip(text.lines()).take(before_tests(text)) {
            let (line, comment) = line.split_once("//").or(line.split_once("/*")).unwrap_or((line, ""));
            if EXCUSES.iter().any(|excuse| comment.contains(excuse)) {
                continue;
            }
            if let Some(what) = stand_in(line) {
                let message = format!(
                    "{what}; use sciformats_core::arith, or sciformats_core::bound for a number that is only a bound"
                );
                findings.push(Finding::new(path, number, message));
            }
        }
    }
    findings
}

/// Returns the number of lines before the module of tests. A test item between other code, such as an import,
/// does not end the count.
fn before_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let begins = |at: usize| {
        let item = lines.iter().skip(at + 1).find(|line| !line.starts_with("#["));
        item.is_some_and(|item| item.contains("mod ") && item.contains('{'))
    };
    let tests = (0..lines.len()).find(|&at| lines.get(at) == Some(&"#[cfg(test)]") && begins(at));
    tests.unwrap_or(lines.len())
}

/// Describes how the line replaces a missing number.
fn stand_in(line: &str) -> Option<&'static str> {
    if line.contains(".saturating_") || line.contains("::saturating_") {
        return Some("saturates");
    }
    let mut rest = line;
    while let Some((_, after)) = rest.split_once(".unwrap_or(") {
        let value = after.split(')').next().unwrap_or_default();
        let is_zero = value == "0" || value == "Address(0";
        if is_zero || value.ends_with("::MAX") {
            return Some("this replaces a missing number");
        }
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITER: &str = "crates/hdf5-pure/src/space/x.rs";

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let found = rule(&Tree::of(&[(path, text)]));
        found.into_iter().filter(|finding| finding.path == path).map(|finding| finding.line).collect()
    }

    #[test]
    fn writers_neither_saturate_nor_stand_in() {
        let text = "a.saturating_add(1);\nb.unwrap_or(u32::MAX);\nc.unwrap_or(0);\nd.unwrap_or(Address(0));\n\
                    e.fold(0, u64::saturating_add);\nf.unwrap_or(usize::MAX).min(g);\nadd(a, 1)?;\nh.unwrap_or(8);\n";
        assert_eq!(lines(WRITER, text), [1, 2, 3, 4, 5, 6]);
        assert!(lines("crates/elsewhere/src/read.rs", text).is_empty());
    }

    #[test]
    fn bounds_positions_and_tests_may() {
        let text = "a.saturating_add(1); // a bound\nb.unwrap_or(Address(0)) // a position in a message\n\
                    // c.saturating_add(1)\n#[cfg(test)]\nmod tests { fn d() { e.saturating_add(1); } }\n";
        assert!(lines(WRITER, text).is_empty());
    }

    #[test]
    fn an_item_for_tests_hides_nothing() {
        let text = "#[cfg(test)]\nuse a::b;\nc.saturating_add(1);\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n\
                    d.saturating_add(1);\n}\n";
        assert_eq!(lines(WRITER, text), [3]);
        assert_eq!(lines(WRITER, "#[cfg(test)]\nmod tests;\ne.saturating_add(1);\n"), [3]);
    }

    #[test]
    fn rooms_that_are_gone_are_found() {
        let gone = rule(&Tree::of(&[(WRITER, "")]));
        assert_eq!(gone.len(), ROOMS.len() - 1);
    }
}
