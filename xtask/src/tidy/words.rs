//! What the text must not contain: places on somebody's machine, and talk of anything but the project.

use super::Finding;
use super::rust::Source;
use super::tree::Tree;

/// This file, which must name what it looks for.
const HERE: &str = "xtask/src/tidy/words.rs";

/// Folders of one machine.
const PLACES: &[&str] = &["/work", "/home", "/root", "/Users"];

/// Fine in tests, where nothing is meant to be there.
const TEMPORARY: &str = "/tmp";

/// Words that are about how the text came to be, not about the project. A file may have sessions of its own, a task an
/// agent; only phrases tell these apart.
const MAKING_OF: &[&str] = &[
    "this session",
    "last session",
    "previous session",
    "earlier session",
    "next session",
    "an agent",
    "the agent",
    "agents",
    "subagent",
    "chatbot",
    "llm",
    "claude",
    "anthropic",
    "openai",
    "gpt",
    "copilot",
];

/// Absolute paths.
pub(crate) fn places(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| *path != HERE) {
        for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
            for place in PLACES.iter().filter(|place| has_place(line, place)) {
                findings.push(Finding::new(path, number, format!("`{place}` is a folder of one machine")));
            }
            if has_place(line, TEMPORARY) && !is_test(path, text, number) {
                findings.push(Finding::new(
                    path,
                    number,
                    format!("`{TEMPORARY}` only in tests; ask the system"),
                ));
            }
        }
    }
    findings
}

/// Words about the making of.
pub(crate) fn project_only(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| *path != HERE) {
        for (index, line) in text.lines().enumerate() {
            let line = line.to_lowercase();
            for word in MAKING_OF.iter().filter(|word| has_word(&line, word)) {
                let message = format!("`{word}`: the text speaks of the project alone");
                findings.push(Finding::new(path, index + 1, message));
            }
        }
    }
    findings
}

/// Whether the word stands in the line with no letter, digit or `_` beside it.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: Option<char>| c.is_some_and(|c| c == '_' || c.is_alphanumeric());
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|text| text.chars().next());
        !joins(before) && !joins(after)
    })
}

/// Whether an absolute path begins with the place: nothing of a path before it, `/` or an end after it.
fn has_place(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + place.len()..).and_then(|text| text.chars().next());
        before.is_none_or(|c| " \t\"'`(=:<[{,".contains(c))
            && after.is_none_or(|c| "/ \"'`),;:>]}".contains(c))
    })
}

fn is_test(path: &str, text: &str, line: usize) -> bool {
    let source = Source::new(path, text);
    path.ends_with(".rs") && source.tokens.iter().any(|token| token.test && token.line == line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rule: fn(&Tree) -> Vec<Finding>, path: &str, text: &str) -> Vec<usize> {
        rule(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn folders_of_one_machine_are_found() {
        assert_eq!(
            lines(places, "a.md", "see /home/me/x\nand `/work`\nor src/work/x\nor /workbench"),
            [1, 2]
        );
        assert_eq!(lines(places, "a.py", "open('/root/x')"), [1]);
    }

    #[test]
    fn temporary_folders_are_for_tests() {
        let text = "fn f() { g(\"/tmp/a\") }\n#[cfg(test)]\nmod tests { fn f() { g(\"/tmp/a\") } }\n";
        assert_eq!(lines(places, "crates/a/src/b.rs", text), [1]);
        assert!(lines(places, "crates/a/tests/b.rs", text).is_empty());
    }

    #[test]
    fn only_whole_words_count() {
        assert_eq!(
            lines(project_only, "a.md", "As the last session said\nten sessions, reagents\nAn agent"),
            [1, 3]
        );
    }
}
