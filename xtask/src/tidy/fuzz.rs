//! Checks that each file in `fuzz/fuzz_targets` is a `[[bin]]` of `fuzz/Cargo.toml`; otherwise it would never
//! be built.

use super::Finding;
use super::tree::Tree;
use crate::fuzz::targets;

const MANIFEST: &str = "fuzz/Cargo.toml";
const FOLDER: &str = "fuzz/fuzz_targets/";

/// The name of a target is that of its file.
pub(crate) fn rule(tree: &Tree) -> Vec<Finding> {
    let listed = match targets(tree.text(MANIFEST).unwrap_or("")) {
        Ok(listed) => listed,
        Err(failure) => return vec![Finding::new(MANIFEST, 0, failure.message)],
    };
    let files = tree.paths().filter_map(|path| Some((path, path.strip_prefix(FOLDER)?.strip_suffix(".rs")?)));
    let unlisted = files.filter(|(_, name)| !listed.iter().any(|listed| listed == name));
    unlisted
        .map(|(path, name)| Finding::new(path, 0, format!("add a [[bin]] `{name}` to {MANIFEST}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_listed() {
        let manifest = "[[bin]]\nname = \"gsd_read\"\npath = \"fuzz_targets/gsd_read.rs\"\n";
        let tree = Tree::of(&[
            (MANIFEST, manifest),
            ("fuzz/fuzz_targets/gsd_read.rs", ""),
            ("fuzz/fuzz_targets/gsd_round_trip.rs", ""),
        ]);
        let paths: Vec<String> = rule(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["fuzz/fuzz_targets/gsd_round_trip.rs"]);
    }
}
