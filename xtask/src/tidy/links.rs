//! Checks that links in documents lead to existing files and headings.

use super::Finding;
use super::tree::Tree;

/// Checks all documents.
pub(crate) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.documents() {
        for (line, target) in links(text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let Some(file) = resolve(path, file) else {
                findings.push(Finding::new(path, line, format!("`{target}` leads out of the project")));
                continue;
            };
            let known = |text: &str| headings(text).iter().any(|slug| slug == heading);
            if !tree.has(&file) {
                findings.push(Finding::new(path, line, format!("`{target}`: there is no such file")));
            } else if !heading.is_empty() && tree.text(&file).is_some_and(|text| !known(text)) {
                findings.push(Finding::new(path, line, format!("`{target}`: there is no such heading")));
            }
        }
    }
    findings
}

/// Returns the targets of `[text](target)` and of `[name]: target`, except in code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        // Every second part is between backquotes; the rest keeps a mark in its place.
        let line = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for part in line.split("](").skip(1) {
            let target = part.split([')', ' ']).next().unwrap_or("");
            found.push((number, target.to_owned()));
        }
        if let Some((_, target)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
            found.push((number, target.split(' ').next().unwrap_or(target).to_owned()));
        }
    }
    found
}

/// Returns the lines outside of fenced blocks.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// Returns the path of `target` relative to the document `from`; `None` above the root.
fn resolve(from: &str, target: &str) -> Option<String> {
    if target.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Returns headings in the form that web addresses use: lower case, `-` for spaces, no punctuation.
fn headings(text: &str) -> Vec<String> {
    let lines = prose(text).filter(|(_, line)| line.starts_with('#'));
    let slug = |line: &str| {
        let kept = line.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    lines.map(|(_, line)| slug(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<usize> {
        let tree =
            Tree::of(&[("docs/a.md", text), ("docs/formats/b.md", "# Two Words: `x`\n"), ("README.md", "")]);
        rule(&tree).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text = "# Here\n[b](formats/b.md), [up](../README.md), [folder](formats), [web](https://example.org/x)\n\
                    [h](#here) [w](formats/b.md#two-words-x)\n`[code](nowhere.md)`\n```\n[code](nowhere.md)\n```\n[r]: formats/b.md\n";
        assert_eq!(findings(text), Vec::<usize>::new());
    }

    #[test]
    fn dead_ones_do_not() {
        assert_eq!(
            findings("[a](b.md)\n[a](../../x.md)\n[a](#there)\n[a](formats/b.md#three)\n[r]: b.md\n"),
            [1, 2, 3, 4, 5]
        );
    }
}
