//! The files that other programs have written.

use std::path::{Path, PathBuf};

/// Returns the HDF5 fixtures in a folder; `"."` has the undamaged ones.
pub(crate) fn fixtures(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hdf5").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "h5"))
        .collect();
    files.sort();
    assert!(files.len() > 5, "the fixtures are there");
    files
}
