//! Writes `docs/conformance.md` from the results of a run over all formats.

use std::fmt::Write as _;
use std::fs;

use super::matrix::{Matrix, WAYS};
use super::rows;
use crate::counts::Counts;
use crate::formats::Format;
use crate::sh::{About, Result, root};

const PATH: &str = "docs/conformance.md";

/// The start of lines about versions that differ between machines; these lines are not compared.
const VARIES: &str = "- here ";

const HEAD: &str = "\
<!-- Written by `cargo xtask conform`. -->

# Conformance

This document says whether other implementations agree with this one. `cargo xtask conform` lets both sides write files, read
each other's files and change each other's files. It compares every value with a formula that both sides know, and then writes
this document. `cargo xtask ci` runs the same checks and fails if the document is no longer true.

Each number counts checks. All of them pass and none is skipped; otherwise the document would not be written. A dot means that
there is nothing to check in that direction.

| column | who writes and who reads |
|---|---|
| we read theirs | the other side writes, and we read |
| they read ours | we write, and the other side reads |
| edited here | either side writes, we change the file, and the other side reads it (or we do, if the other side cannot) |
| edited there | either side writes, the other side changes the file, and we read it (or the other side does, if the file was ours) |

The last row of each format compares whole files: the other side lists the groups, arrays, attributes and values of a file, with
a hash of each array, and `sciformats manifest` must print the same list.
";

/// Writes the document, or compares it with the existing one.
pub(super) fn document(found: &[(Format, Matrix)], check: bool) -> Result {
    let path = root().join(PATH);
    let text = render(found);
    if !check {
        fs::write(&path, text).about(&path)?;
        println!("wrote {PATH}");
        return Ok(());
    }
    let there = fs::read_to_string(&path).about(&path)?;
    match difference(&there, &text) {
        None => Ok(()),
        Some(lines) => {
            Err(format!("{PATH} does not agree with the run: {lines}; `cargo xtask conform` writes it")
                .into())
        }
    }
}

/// Returns the first line that differs, in the document and in the results.
fn difference(there: &str, found: &str) -> Option<String> {
    let compared = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with(VARIES)).map(str::to_owned).collect()
    };
    let (there, found) = (compared(there), compared(found));
    let longest = there.len().max(found.len());
    let line = |text: &[String], at: usize| text.get(at).cloned().unwrap_or_default();
    let at = (0..longest).find(|at| there.get(*at) != found.get(*at))?;
    Some(format!("the document has `{}`, and the run found `{}`", line(&there, at), line(&found, at)))
}

fn render(found: &[(Format, Matrix)]) -> String {
    let mut text = HEAD.to_owned();
    // Writing to a String cannot fail.
    for (format, matrix) in found {
        let _ = writeln!(text, "\n## {}\n", format.title);
        for peer in &matrix.peers {
            let _ = match &peer.varies {
                None => writeln!(text, "- {}", peer.name),
                Some(version) => {
                    writeln!(text, "{VARIES}{version}: {}, whichever the machine has", peer.name)
                }
            };
        }
        let heads = WAYS.map(|(_, head)| head).join(" | ");
        let _ = writeln!(text, "\n| | {heads} |\n|---|--:|--:|--:|--:|");
        let mut sums = [Counts::default(); 4];
        for (title, counts) in
            matrix.rows(|group| rows::title(format.name, group), |title| rows::place(format.name, title))
        {
            let _ = writeln!(text, "| {title} | {} |", counts.map(cell).join(" | "));
            sums.iter_mut().zip(counts).for_each(|(sum, counts)| *sum += counts);
        }
        let _ = writeln!(text, "| **all** | {} |", sums.map(cell).join(" | "));
    }
    text
}

fn cell(counts: Counts) -> String {
    if counts.total() == 0 { "·".to_owned() } else { counts.passed.to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::matrix::{Check, Peer, Way};
    use super::*;
    use crate::formats::FORMATS;

    fn found(version: &str) -> Vec<(Format, Matrix)> {
        let mut matrix = Matrix::default();
        matrix.peers.push(Peer { name: "gsd 5.0.1".to_owned(), varies: None });
        matrix.peers.push(Peer { name: "a tool".to_owned(), varies: Some(version.to_owned()) });
        matrix.add(Way::WeReadTheirs, Check::passed("manifest: a"));
        matrix.add(Way::TheyReadOurs, Check::passed("names: all"));
        matrix.add(Way::EditedHere, Check::passed("types: f4"));
        matrix.add(Way::EditedHere, Check::passed("types: f8"));
        let gsd = FORMATS.iter().find(|format| format.name == "gsd").unwrap();
        vec![(*gsd, matrix)]
    }

    #[test]
    fn a_format_has_its_peers_and_a_table() {
        let text = render(&found("1.10.8"));
        let table = "\n## GSD\n\n- gsd 5.0.1\n- here 1.10.8: a tool, whichever the machine has\n\n\
                     | | we read theirs | they read ours | edited here | edited there |\n|---|--:|--:|--:|--:|\n\
                     | element types | · | · | 2 | · |\n| a thousand names | · | 1 | · | · |\n\
                     | whole files, by their content manifests | 1 | · | · | · |\n| **all** | 1 | 1 | 2 | · |\n";
        assert!(text.ends_with(table), "{text}");
    }

    #[test]
    fn versions_of_the_machine_are_not_compared_and_counts_are() {
        let text = render(&found("1.10.8"));
        assert_eq!(difference(&text, &render(&found("1.14.6"))), None);
        let other = difference(&text, &text.replace("| · | · | 2 |", "| · | · | 3 |")).unwrap();
        assert!(other.contains("element types"), "{other}");
        assert!(difference(&text, "").is_some());
    }
}
