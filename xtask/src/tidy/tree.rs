//! The files of the project in memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::rust::Source;
use crate::sh::{About, Result};

/// The files by path relative to the root, with `/` between folders.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, Vec<u8>>,
}

impl Tree {
    /// Reads all files except those that `.gitignore` names from the root, and hidden folders that tools
    /// create.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let mut skip: Vec<&str> = ignored.lines().filter_map(|line| line.trim().strip_prefix('/')).collect();
        skip.push(".git");
        let mut tree = Self::default();
        tree.read_folder(root, "", &skip)?;
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str, skip: &[&str]) -> Result {
        for entry in fs::read_dir(folder).about(folder)? {
            let entry = entry.about(folder)?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if skip.contains(&path.as_str()) {
                continue;
            }
            let kind = entry.file_type().about(folder)?;
            if kind.is_dir() {
                self.read_folder(&entry.path(), &format!("{path}/"), skip)?;
            } else if kind.is_file() {
                self.files.insert(path, fs::read(entry.path()).about(&entry.path())?);
            }
        }
        Ok(())
    }

    /// Creates an invented tree.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self {
            files: files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect(),
        }
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    pub(crate) fn bytes(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// Returns the text of a file; `None` if the file does not exist or is not UTF-8.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        std::str::from_utf8(self.bytes(path)?).ok()
    }

    /// Returns whether a file or folder exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self.paths().any(|other| other.starts_with(&folder))
    }

    /// Returns the files that are text and not fixtures.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let written = self.paths().filter(|path| !path.starts_with("fixtures/"));
        written.filter_map(|path| Some((path, self.text(path)?)))
    }

    /// Returns the Markdown documents.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".md"))
    }

    /// Returns the Rust sources.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, Source<'_>)> {
        self.texts()
            .filter(|(path, _)| path.ends_with(".rs"))
            .map(|(path, text)| (path, Source::new(path, text)))
    }

    /// Returns the manifests of the workspace's packages with their folders.
    pub(crate) fn packages(&self) -> impl Iterator<Item = (&str, toml::Table)> {
        self.texts().filter_map(|(path, text)| {
            let folder = path.strip_suffix("/Cargo.toml")?;
            let inside =
                folder == "xtask" || folder.strip_prefix("crates/").is_some_and(|name| !name.contains('/'));
            Some((folder, text.parse().ok()?)).filter(|_| inside)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_folders_are_not_read() {
        let place = tempfile::tempdir().unwrap();
        for folder in ["target/debug", "src/target", ".git"] {
            fs::create_dir_all(place.path().join(folder)).unwrap();
            fs::write(place.path().join(folder).join("file"), "x").unwrap();
        }
        fs::write(place.path().join(".gitignore"), "/target\n*.profraw\n").unwrap();
        let tree = Tree::read(place.path()).unwrap();
        assert_eq!(tree.paths().collect::<Vec<_>>(), [".gitignore", "src/target/file"]);
        assert!(tree.has("src/target"));
        assert!(!tree.has("src/tar"));
    }
}
