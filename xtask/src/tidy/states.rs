//! What goes into a file is exact: where it is computed, nothing saturates and no number stands in for a missing one.

use super::Finding;
use super::tree::Tree;

/// Where what goes into a file is planned and encoded: folders and files.
const ROOMS: &[&str] = &[
    "crates/sciformats-core/src/commit/journal.rs",
    "crates/sciformats-core/src/commit/mod.rs",
    "crates/sciformats-core/src/commit/plan.rs",
    "crates/sciformats-core/src/commit/session.rs",
    "crates/hdf5-pure/src/spec/",
    "crates/hdf5-pure/src/model/write/",
    "crates/hdf5-pure/src/model/edit/",
    "crates/hdf5-pure/src/model/swmr/",
    "crates/hdf5-pure/src/writer/",
    "crates/hdf5-pure/src/editor/",
    "crates/hdf5-pure/src/swmr/",
    "crates/gsd-rs/src/spec/",
    "crates/gsd-rs/src/writer/",
    "crates/gsd-rs/src/model/commit.rs",
    "crates/gsd-rs/src/model/names.rs",
    "crates/rawarray/src/spec/",
    "crates/rawarray/src/model/",
    "crates/rawarray/src/editor.rs",
    "crates/rawarray/src/stream.rs",
    "crates/rawarray/src/writer.rs",
    "crates/asdf-core/src/spec/",
    "crates/asdf-core/src/write/",
    "crates/asdf-core/src/update.rs",
    "crates/asdf-core/src/stream.rs",
    "crates/cframe/src/spec/",
    "crates/cframe/src/model/compress.rs",
    "crates/cframe/src/model/job.rs",
    "crates/cframe/src/model/layout.rs",
    "crates/cframe/src/model/schunk/",
];

/// What a line says that may saturate after all, or take a number for a missing one.
const EXCUSES: [&str; 2] = ["a bound", "a position"];

/// In the rooms of writers nothing saturates, and no end of a type or zero stands for what is not there.
pub(crate) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for room in ROOMS.iter().filter(|room| !tree.has(room.trim_end_matches('/')) && tree.has("crates")) {
        findings.push(Finding::new(room, 0, "is none of the rooms of writers any more: correct the list"));
    }
    let rooms = tree
        .texts()
        .filter(|(path, _)| path.ends_with(".rs") && ROOMS.iter().any(|room| path.starts_with(room)));
    for (path, text) in rooms {
        let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
        for (number, line) in (1..).zip(code) {
            let (line, comment) = line.split_once("//").or(line.split_once("/*")).unwrap_or((line, ""));
            if EXCUSES.iter().any(|excuse| comment.contains(excuse)) {
                continue;
            }
            if let Some(what) = stand_in(line) {
                let message = format!(
                    "{what}: use sciformats_core::arith, or sciformats_core::bound for what only bounds something"
                );
                findings.push(Finding::new(path, number, message));
            }
        }
    }
    findings
}

/// What in the line makes a number of what is none.
fn stand_in(line: &str) -> Option<&'static str> {
    if line.contains(".saturating_") || line.contains("::saturating_") {
        return Some("saturates");
    }
    let mut rest = line;
    while let Some((_, after)) = rest.split_once(".unwrap_or(") {
        let value = after.split(')').next().unwrap_or_default();
        let is_zero = value == "0" || value == "Address(0";
        if is_zero || value.ends_with("::MAX") {
            return Some("takes a number for what is not there");
        }
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITER: &str = "crates/hdf5-pure/src/model/write/x.rs";

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let found = rule(&Tree::of(&[(path, text)]));
        found.into_iter().filter(|finding| finding.path == path).map(|finding| finding.line).collect()
    }

    #[test]
    fn writers_neither_saturate_nor_stand_in() {
        let text = "a.saturating_add(1);\nb.unwrap_or(u32::MAX);\nc.unwrap_or(0);\nd.unwrap_or(Address(0));\n\
                    e.fold(0, u64::saturating_add);\nf.unwrap_or(usize::MAX).min(g);\nadd(a, 1)?;\nh.unwrap_or(8);\n";
        assert_eq!(lines(WRITER, text), [1, 2, 3, 4, 5, 6]);
        assert!(lines("crates/hdf5-pure/src/model/read.rs", text).is_empty());
    }

    #[test]
    fn bounds_positions_and_tests_may() {
        let text = "a.saturating_add(1); // a bound\nb.unwrap_or(Address(0)) // a position in a message\n\
                    // c.saturating_add(1)\n#[cfg(test)]\nmod tests { fn d() { e.saturating_add(1); } }\n";
        assert!(lines(WRITER, text).is_empty());
    }

    #[test]
    fn rooms_that_are_gone_are_found() {
        let gone = rule(&Tree::of(&[(WRITER, "")]));
        assert_eq!(gone.len(), ROOMS.len() - 1);
    }
}
