//! The files that are served, and nothing outside of their folder.

use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};

use sciformats::Format;
use sciformats_core::storage::FileStorage;

use crate::commands::json::JsonObject;
use crate::failure::{Failure, Outcome};

/// The number of files that are listed.
const LISTED: usize = 5000;

/// The number of files that are looked at for the list.
const VISITED: usize = 50_000;

/// How deep in the folder files are listed.
const DEPTH: usize = 12;

/// A folder, or a single file in it, which may name others of the folder.
#[derive(Debug)]
pub(super) struct Files {
    /// The folder with links and `..` resolved.
    root: PathBuf,
    only: Option<String>,
}

impl Files {
    /// All files of a folder.
    pub(super) fn of_folder(folder: &Path) -> Outcome<Self> {
        let shown = folder.display();
        let root = folder.canonicalize().map_err(|error| Failure::Input(format!("{shown}: {error}")))?;
        if root.is_dir() {
            Ok(Self { root, only: None })
        } else {
            Err(Failure::Usage(format!("{shown} is no folder; `sciformats view --web {shown}` opens a file")))
        }
    }

    /// One file, and its name.
    pub(super) fn of_file(file: &Path) -> Outcome<(Self, String)> {
        let shown = file.display();
        let path = file.canonicalize().map_err(|error| Failure::Input(format!("{shown}: {error}")))?;
        if !path.is_file() {
            return Err(Failure::Usage(format!(
                "{shown} is no file; `sciformats serve {shown}` serves a folder"
            )));
        }
        let name = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let name = name.ok_or_else(|| Failure::Usage(format!("the name of {shown} is not UTF-8")))?;
        let root = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok((Self { root, only: Some(name.clone()) }, name))
    }

    /// Opens the file with a name relative to the folder; `None` if there is none, or if it is hidden or elsewhere.
    pub(super) fn open(&self, name: &str) -> Option<File> {
        File::open(self.place(name)?).ok()
    }

    /// Returns where the file with a name relative to the folder is, if it may be served.
    fn place(&self, name: &str) -> Option<PathBuf> {
        let relative = Path::new(name);
        let asked = self.only.as_deref() == Some(name);
        if is_hidden(relative) && !asked {
            return None;
        }
        let plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || name.is_empty() || name.contains(['\\', '\0', ':']) {
            return None;
        }
        // Links may lead anywhere, so it is the resolved path that must be in the folder.
        let path = self.root.join(relative).canonicalize().ok()?;
        let below = path.strip_prefix(&self.root).ok()?;
        // A link with a plain name may lead to something that is hidden.
        if is_hidden(below) && !asked || !path.is_file() {
            return None;
        }
        Some(path)
    }

    /// Returns the scientific files as JSON: a list of objects with `name`, `size` and `format`.
    pub(super) fn list(&self) -> String {
        if let Some(only) = &self.only {
            return format!("[{}]", self.line(only).map(|(_, line)| line).unwrap_or_default());
        }
        let mut found = Vec::new();
        let mut folders = vec![(String::new(), 0)];
        let mut visited = 0;
        while let Some((prefix, depth)) = folders.pop() {
            let mut entries: Vec<_> =
                fs::read_dir(self.root.join(&prefix)).into_iter().flatten().flatten().collect();
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let Ok(name) = entry.file_name().into_string() else { continue };
                visited += 1;
                if name.starts_with('.') || found.len() >= LISTED || visited > VISITED {
                    continue;
                }
                let path = format!("{prefix}{name}");
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && depth < DEPTH => {
                        folders.push((format!("{path}/"), depth + 1));
                    }
                    _ => found.extend(self.line(&path)),
                }
            }
        }
        found.sort();
        format!("[{}]", found.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join(","))
    }

    /// Describes a file, if it can be served and has a known format.
    fn line(&self, name: &str) -> Option<(String, String)> {
        let place = self.place(name)?;
        let size = place.metadata().ok()?.len();
        let storage = FileStorage::open(place).ok()?;
        let format = Format::detect(&storage).ok()??;
        let mut line = JsonObject::new();
        line.value("name", name).value("size", size).value("format", format.to_string());
        Some((name.to_owned(), line.finish()))
    }
}

/// Returns whether a part of a path begins with a point.
fn is_hidden(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_of_the_folder() {
        let temporary = tempfile::tempdir().unwrap();
        let inside = temporary.path().join("in");
        fs::create_dir_all(inside.join("deep")).unwrap();
        fs::write(temporary.path().join("secret.npy"), "x").unwrap();
        let npy = sciformats::npy::to_bytes(&[1], &[1u8]).unwrap();
        for name in ["a.npy", "deep/b.npy", ".hidden.npy"] {
            fs::write(inside.join(name), &npy).unwrap();
        }
        fs::write(inside.join("notes.txt"), "no data").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(temporary.path().join("secret.npy"), inside.join("link.npy")).unwrap();
        #[cfg(unix)]
        for (target, name) in [(".hidden.npy", "plain.npy"), (".deep", "folder")] {
            fs::create_dir_all(inside.join(".deep")).unwrap();
            fs::write(inside.join(".deep/c.npy"), &npy).unwrap();
            std::os::unix::fs::symlink(inside.join(target), inside.join(name)).unwrap();
        }
        let files = Files::of_folder(&inside).unwrap();
        for name in ["a.npy", "deep/b.npy", "notes.txt"] {
            assert!(files.open(name).is_some(), "{name}");
        }
        let absolute = temporary.path().join("secret.npy");
        for name in [
            "",
            ".",
            "..",
            "../secret.npy",
            "deep/../../secret.npy",
            "/etc/passwd",
            "deep",
            "link.npy",
            ".hidden.npy",
            "plain.npy",
            "folder/c.npy",
            ".deep/c.npy",
            "a.npy/",
            "..\\secret.npy",
            "a.npy\0",
            "./a.npy",
            absolute.to_str().unwrap(),
        ] {
            assert!(files.open(name).is_none() || name == "a.npy/" || name == "./a.npy", "{name}");
        }
        let list = files.list();
        assert!(list.contains("\"a.npy\"") && list.contains("\"deep/b.npy\""), "{list}");
        assert!(!list.contains("secret") && !list.contains("hidden") && !list.contains("link"), "{list}");
        assert!(!list.contains("plain") && !list.contains("folder"), "{list}");
        let (one, name) = Files::of_file(&inside.join("a.npy")).unwrap();
        assert!(one.open(&name).is_some() && one.open("deep/b.npy").is_some());
        assert!(
            one.open("plain.npy").is_none()
                && one.open(".hidden.npy").is_none()
                && one.open("../secret.npy").is_none()
        );
        assert!(one.list().contains("\"a.npy\"") && !one.list().contains("deep"));
    }
}
