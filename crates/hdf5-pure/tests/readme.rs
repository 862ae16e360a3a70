//! Checks that the README lists the features of the manifest.

use std::collections::BTreeMap;

const MANIFEST: &str = include_str!("../Cargo.toml");
const README: &str = include_str!("../README.md");

/// Returns the features of the manifest, and whether each is enabled by default.
fn declared() -> BTreeMap<&'static str, bool> {
    let section =
        MANIFEST.split("\n[").find_map(|section| section.strip_prefix("features]\n")).unwrap_or_default();
    let lines = section.lines().filter_map(|line| line.split_once(" = ")).collect::<BTreeMap<_, _>>();
    let default = lines["default"];
    let names = lines.keys().copied().filter(|&name| name != "default");
    names.map(|name| (name, default.contains(&format!("\"{name}\"")))).collect()
}

/// Returns the rows of the README's table.
fn told() -> BTreeMap<&'static str, bool> {
    let table = README.lines().skip_while(|line| !line.starts_with("| feature | default |")).skip(2);
    let rows = table.take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert!(["yes", "no"].contains(&cells[2]), "{row}");
        (cells[1].trim_matches('`'), cells[2] == "yes")
    })
    .collect()
}

#[test]
fn the_readme_lists_the_features() {
    assert!(declared().len() > 5);
    assert_eq!(told(), declared());
}
