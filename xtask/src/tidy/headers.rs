//! Checks the beginning of files: module documentation and lints; and that each crate has a README.

use super::Finding;
use super::layers::{ROOMS, Rooms};
use super::tree::Tree;
use crate::formats::packages;

/// The lints that `spec/mod.rs` and `model/mod.rs`, or the rooms in place of it, must enable, because values
/// from a file may only be used with checked arithmetic.
const LINTS: &[&str] = &[
    "arithmetic_side_effects",
    "indexing_slicing",
    "cast_possible_truncation",
    "cast_sign_loss",
    "cast_possible_wrap",
];

/// Checks that each source begins with `//!`.
pub(crate) fn module_docs(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".rs")) {
        let before_docs = |line: &&str| line.trim().is_empty() || line.starts_with("#![");
        let first = text.lines().find(|line| !before_docs(line)).unwrap_or("");
        if !first.starts_with("//!") {
            findings.push(Finding::new(path, 1, "the file must begin with `//!` and say what the module is"));
        }
    }
    findings
}

/// Checks that `spec/mod.rs` and `model/mod.rs` of the format crates enable the lints.
pub(crate) fn lints(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages() {
        let rooms = ROOMS.iter().filter(|rooms| rooms.package == package).flat_map(Rooms::model);
        for layer in ["spec", "model"].into_iter().chain(rooms) {
            let folder = format!("crates/{package}/src/{layer}");
            if !tree.has(&folder) {
                continue;
            }
            let path = format!("{folder}/mod.rs");
            let Some(text) = tree.text(&path) else {
                findings.push(Finding::new(
                    &path,
                    0,
                    "this file is missing; it enables the lints of the layer",
                ));
                continue;
            };
            let header = text
                .split_once("#![warn(")
                .and_then(|(_, rest)| rest.split_once(")]"))
                .map_or("", |(list, _)| list);
            for lint in LINTS.iter().filter(|lint| !header.contains(&format!("clippy::{lint}"))) {
                findings.push(Finding::new(&path, 1, format!("add clippy::{lint} to `#![warn(…)]`")));
            }
        }
    }
    findings
}

/// Checks that each crate has a README, and that its manifest names it.
pub(crate) fn readmes(tree: &Tree) -> Vec<Finding> {
    let crates = tree.packages().filter(|(folder, _)| folder.starts_with("crates/"));
    let without = crates.filter(|(folder, _)| !tree.has(&format!("{folder}/README.md")));
    without.map(|(folder, _)| Finding::new(&format!("{folder}/README.md"), 0, "write it")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docs_come_first_but_for_inner_attributes() {
        let tree = Tree::of(&[
            ("a.rs", "//! Good.\n"),
            ("b.rs", "#![no_main]\n\n//! Good too.\n"),
            ("c.rs", "use x;\n//! Late.\n"),
            ("d.rs", ""),
        ]);
        let paths: Vec<String> = module_docs(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["c.rs", "d.rs"]);
    }

    #[test]
    fn layers_need_all_lints() {
        let all: Vec<String> = LINTS.iter().map(|lint| format!("clippy::{lint}")).collect();
        let header = format!("//! Docs.\n#![warn({})]\n", all.join(", "));
        let one_less = header.replace("clippy::indexing_slicing, ", "");
        let tree = |text: &str| lints(&Tree::of(&[("crates/gsd-rs/src/spec/mod.rs", text)]));
        assert!(tree(&header).is_empty());
        assert_eq!(tree(&one_less).len(), 1);
        assert_eq!(tree("").len(), LINTS.len());
        assert_eq!(lints(&Tree::of(&[("crates/gsd-rs/src/model/x.rs", "")])).len(), 1);
    }

    #[test]
    fn each_crate_has_a_readme() {
        let manifest = "[package]\nname = \"a\"\n";
        let tree = Tree::of(&[
            ("crates/a/Cargo.toml", manifest),
            ("crates/a/README.md", ""),
            ("crates/b/Cargo.toml", manifest),
            ("xtask/Cargo.toml", manifest),
        ]);
        assert_eq!(readmes(&tree), [Finding::new("crates/b/README.md", 0, "write it")]);
    }
}
