//! The fixtures. Valid files are read, written again and changed; the others fail with exactly the expected errors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

use std::path::{Path, PathBuf};

use asdf_core::structure::IndexState;
use asdf_core::{Access, Asdf, Document, External, Limits, OpenOptions, Result, Tree};

fn fixtures(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/asdf").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "asdf")).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> &str {
    path.file_stem().unwrap().to_str().unwrap()
}

/// Returns the bytes and the masks of all arrays, one after another.
fn arrays(file: &Asdf) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    for node in file.tree().reachable().into_iter().filter(|&node| file.is_array(node)) {
        let array = file.array_at(node)?;
        all.extend(array.read_bytes()?);
        all.extend(array.read_mask()?.unwrap_or_default());
    }
    Ok(all)
}

#[test]
fn right_files_are_read_and_written_again() {
    let paths = fixtures("");
    assert!(paths.len() > 40, "{}", paths.len());
    for path in paths {
        for access in [Access::paged(), Access::direct()] {
            let options = OpenOptions::default().with_external(External::SameFolder).with_access(access);
            let file = Asdf::open_with(&path, &options).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let wrong: Vec<_> =
                file.verify().unwrap().into_iter().filter(asdf_core::Finding::is_error).collect();
            assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
            let before = arrays(&file).unwrap();

            let again = Tree::parse(file.tree().to_text().unwrap()).unwrap();
            assert!(again.is_same(file.tree()), "{}", path.display());

            let mut document = Document::from_file(file);
            document.implode().unwrap();
            let whole = Asdf::from_bytes(document.to_bytes().unwrap()).unwrap();
            assert_eq!(arrays(&whole).unwrap(), before, "{}", path.display());
            assert!(!matches!(whole.layout().index, IndexState::Rejected { .. }));
        }
    }
}

#[test]
fn indices_that_are_wrong_say_why() {
    let mut seen = Vec::new();
    for path in fixtures("hostile") {
        let Ok(file) = Asdf::open(&path) else { continue };
        if let IndexState::Rejected { reason, .. } = file.layout().index {
            seen.push(format!("{}: {reason}", name(&path)));
        }
    }
    assert_eq!(
        seen,
        [
            "index-not-numbers: cannot be read",
            "index-too-long: does not end with the last block",
            "index-wrong: does not begin with the first block",
        ]
    );
}

/// Returns what is wrong with a file: the error of opening it, or all findings.
fn wrong(path: &Path) -> String {
    let limits = Limits::default().with_memory(64 << 20);
    match Asdf::open_with(path, &OpenOptions::default().with_limits(limits)) {
        Err(e) => e.to_string(),
        Ok(file) => {
            let findings = file.verify().unwrap();
            let shown: Vec<_> = findings.iter().map(ToString::to_string).collect();
            if !shown.is_empty() {
                return shown.join("; ");
            }
            arrays(&file).map_or_else(|e| e.to_string(), |_| "nothing".into())
        }
    }
}

#[test]
fn wrong_files_give_exact_errors() {
    let expected = include_str!("data/hostile.txt");
    let found: Vec<String> =
        fixtures("hostile").iter().map(|path| format!("{}: {}", name(path), wrong(path))).collect();
    for (found, expected) in found.iter().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.lines().count());
}
