//! Checks that `fixtures/` contains exactly what `fixtures/MANIFEST.toml` lists, byte for byte.

use sha2::{Digest, Sha256};

use super::Finding;
use super::tree::Tree;
use crate::fixtures::{hex, parse_manifest};

const FOLDER: &str = "fixtures/";
const MANIFEST: &str = "fixtures/MANIFEST.toml";

/// Files that the folder may contain besides the fixtures.
const UNLISTED: &[&str] = &[MANIFEST, "fixtures/README.md"];

/// Compares the folder with its manifest.
pub(crate) fn rule(tree: &Tree) -> Vec<Finding> {
    let listed = match parse_manifest(tree.text(MANIFEST).unwrap_or("")) {
        Ok(listed) => listed,
        Err(failure) => return vec![Finding::new(MANIFEST, 0, failure.message)],
    };
    let mut findings = Vec::new();
    for (name, entry) in &listed {
        let path = format!("{FOLDER}{name}");
        match tree.bytes(&path) {
            None => {
                findings.push(Finding::new(&path, 0, "MANIFEST.toml lists this file, but it does not exist"));
            }
            Some(bytes)
                if bytes.len() as u64 != entry.size || hex(&Sha256::digest(bytes)) != entry.sha256 =>
            {
                findings.push(Finding::new(
                    &path,
                    0,
                    "this file differs from its entry in MANIFEST.toml; run `cargo xtask fixtures`",
                ));
            }
            Some(_) if entry.exercises.trim().is_empty() => {
                findings.push(Finding::new(&path, 0, "MANIFEST.toml does not say what it exercises"));
            }
            Some(_) => {}
        }
    }
    for path in tree.paths().filter(|path| path.starts_with(FOLDER) && !UNLISTED.contains(path)) {
        if !listed.contains_key(path.strip_prefix(FOLDER).unwrap_or(path)) {
            findings.push(Finding::new(
                path,
                0,
                "MANIFEST.toml does not list this file; let a script write it, or remove it",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(path: &str, bytes: &str, exercises: &str) -> String {
        let hash = hex(&Sha256::digest(bytes.as_bytes()));
        let size = bytes.len();
        format!(
            "[[file]]\npath = \"{path}\"\nsha256 = \"{hash}\"\nsize = {size}\ngenerator = \"x\"\nexercises = \"{exercises}\"\n"
        )
    }

    #[test]
    fn what_is_listed_and_there_is_fine() {
        let tree =
            Tree::of(&[("fixtures/gsd/a.gsd", "abc"), (MANIFEST, &manifest("gsd/a.gsd", "abc", "names"))]);
        assert!(rule(&tree).is_empty());
        assert!(rule(&Tree::of(&[])).is_empty());
    }

    #[test]
    fn changed_missing_unlisted_and_unexplained_files_are_found() {
        let listed = manifest("gsd/a.gsd", "abc", "names");
        for files in [
            &[("fixtures/gsd/a.gsd", "abd"), (MANIFEST, &listed)][..],
            &[(MANIFEST, &listed)],
            &[("fixtures/gsd/a.gsd", "abc"), ("fixtures/gsd/b.gsd", "abc"), (MANIFEST, &listed)],
            &[("fixtures/gsd/a.gsd", "abc"), (MANIFEST, &manifest("gsd/a.gsd", "abc", ""))],
            &[(MANIFEST, "[[file]]\npath = \"a\"\n")],
        ] {
            assert_eq!(rule(&Tree::of(files)).len(), 1, "{files:?}");
        }
    }
}
