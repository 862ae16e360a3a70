//! Checks that the README of each library answers the first questions, and lists the features that the manifest has. The
//! README is also part of the first page of the library's documentation.

use std::collections::BTreeMap;

use super::Finding;
use super::tree::Tree;

/// The headings that answer the first questions, in their order. What the library is stands before them.
const SECTIONS: &[&str] = &["Install", "Read", "Write", "Edit", "Errors", "Features", "Limits", "Compare"];

/// Libraries that do not read and write files themselves, and the headings that do not apply to them.
const WITHOUT: &[(&str, &[&str])] = &[
    ("sciformats-core", &["Read", "Write", "Edit", "Errors", "Limits", "Compare"]),
    ("sciformats-remote", &["Write", "Edit"]),
    ("sciformats-salvage", &["Edit"]),
];

/// Checks all libraries that others can depend on.
pub(crate) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, manifest) in tree.packages().filter(|(folder, _)| folder.starts_with("crates/")) {
        let name = folder.trim_start_matches("crates/");
        let is_program = manifest.contains_key("bin") || manifest.contains_key("lib");
        let path = format!("{folder}/README.md");
        let Some(text) = tree.text(&path).filter(|_| !is_program) else { continue };
        let page = tree.text(&format!("{folder}/src/lib.rs")).unwrap_or_default();
        if !page.contains("#![doc = include_str!(\"../README.md\")]") {
            let message =
                "its README must be part of its documentation: `#![doc = include_str!(\"../README.md\")]`";
            findings.push(Finding::new(&format!("{folder}/src/lib.rs"), 1, message));
        }
        let not_here =
            WITHOUT.iter().find(|(library, _)| *library == name).map_or(&[][..], |(_, without)| without);
        let wanted: Vec<&str> =
            SECTIONS.iter().copied().filter(|section| !not_here.contains(section)).collect();
        let found: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        let found: Vec<&str> = found.into_iter().filter(|section| SECTIONS.contains(section)).collect();
        if found != wanted {
            let message = format!("its sections must be {}, in this order", wanted.join(", "));
            findings.push(Finding::new(&path, 0, message));
        }
        findings.extend(features(&path, &declared(&manifest), &told(text)));
    }
    findings
}

/// Compares the features of the manifest with those of the README.
fn features(path: &str, declared: &BTreeMap<&str, bool>, told: &BTreeMap<&str, bool>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, by_default) in declared {
        let message = match told.get(name) {
            None => format!("the table of features lacks `{name}`"),
            Some(told) if told != by_default => {
                format!("whether `{name}` is a default feature differs from Cargo.toml")
            }
            Some(_) => continue,
        };
        findings.push(Finding::new(path, 0, message));
    }
    for name in told.keys().filter(|name| !declared.contains_key(*name)) {
        findings.push(Finding::new(path, 0, format!("Cargo.toml has no feature `{name}`")));
    }
    findings
}

/// The features of a manifest, and whether each is on by default.
fn declared(manifest: &toml::Table) -> BTreeMap<&str, bool> {
    let features = manifest.get("features").and_then(toml::Value::as_table);
    let list = |name: &str| features?.get(name)?.as_array();
    let default: Vec<&str> = list("default").into_iter().flatten().filter_map(toml::Value::as_str).collect();
    let names = features.into_iter().flat_map(toml::Table::keys).map(String::as_str);
    names.filter(|name| *name != "default").map(|name| (name, default.contains(&name))).collect()
}

/// The rows of the table of features.
fn told(readme: &str) -> BTreeMap<&str, bool> {
    let table = readme.lines().skip_while(|line| !line.starts_with("| feature | default |")).skip(2);
    let rows = table.take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| {
        let mut cells = row.split('|').map(str::trim).skip(1);
        Some((cells.next()?.trim_matches('`'), cells.next()? == "yes"))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"a\"\n[features]\ndefault = [\"x\"]\nx = []\ny = []\n";
    const LIB: &str = "//! A.\n#![doc = include_str!(\"../README.md\")]\n";

    fn findings(readme: &str, lib: &str) -> Vec<String> {
        let files =
            [("crates/a/Cargo.toml", MANIFEST), ("crates/a/README.md", readme), ("crates/a/src/lib.rs", lib)];
        rule(&Tree::of(&files)).into_iter().map(|finding| finding.message).collect()
    }

    fn readme(sections: &[&str], table: &str) -> String {
        let sections: String = sections.iter().map(|section| format!("## {section}\n\n")).collect();
        format!("# a\n\n{sections}| feature | default | what it adds |\n|---|---|---|\n{table}\n")
    }

    #[test]
    fn a_page_that_answers_all_questions_passes() {
        let table = "| `x` | yes | x |\n| `y` | no | y |\n";
        assert_eq!(findings(&readme(SECTIONS, table), LIB), Vec::<String>::new());
        assert_eq!(findings(&readme(SECTIONS, table), "//! A.\n").len(), 1);
        assert_eq!(findings(&readme(&SECTIONS[1..], table), LIB).len(), 1);
    }

    #[test]
    fn features_agree_with_the_manifest() {
        let table = "| `x` | no | x |\n| `z` | no | z |\n";
        let expected = [
            "whether `x` is a default feature differs from Cargo.toml",
            "the table of features lacks `y`",
            "Cargo.toml has no feature `z`",
        ];
        assert_eq!(findings(&readme(SECTIONS, table), LIB), expected);
    }
}
