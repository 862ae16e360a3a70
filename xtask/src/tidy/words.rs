//! Checks that the text contains no paths of a particular machine, and is only about the project.

use super::Finding;
use super::rust::Source;
use super::tree::Tree;

/// This file, which has to name what it looks for.
const HERE: &str = "xtask/src/tidy/words.rs";

/// Folders of a particular machine.
const PLACES: &[&str] = &["/work", "/home", "/root", "/Users"];

/// This folder is permitted in tests, for paths where nothing is expected to exist.
const TEMPORARY: &str = "/tmp";

/// Phrases about how the text was written and not about the project. Single words are not enough, because a
/// file may have sessions of its own, and a task may have an agent.
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

/// Finds absolute paths.
pub(crate) fn places(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| *path != HERE) {
        for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
            for place in PLACES.iter().filter(|place| has_place(line, place)) {
                findings.push(Finding::new(
                    path,
                    number,
                    format!("`{place}` is a folder of a particular machine"),
                ));
            }
            if has_place(line, TEMPORARY) && !is_test(path, text, number) {
                findings.push(Finding::new(
                    path,
                    number,
                    format!("`{TEMPORARY}` is only permitted in tests; ask the system for its folder"),
                ));
            }
        }
    }
    findings
}

/// Finds phrases about how the text was written.
pub(crate) fn project_only(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| *path != HERE) {
        for (index, line) in text.lines().enumerate() {
            let line = line.to_lowercase();
            for word in MAKING_OF.iter().filter(|word| has_word(&line, word)) {
                let message = format!("`{word}`: the text must only be about the project");
                findings.push(Finding::new(path, index + 1, message));
            }
        }
    }
    findings
}

/// Returns whether the word is in the line without a letter, a digit or `_` beside it.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: Option<char>| c.is_some_and(|c| c == '_' || c.is_alphanumeric());
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|text| text.chars().next());
        !joins(before) && !joins(after)
    })
}

/// Returns whether an absolute path begins with the place: no part of a path precedes it, and `/` or an end
/// follows it.
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
