//! Decides which of the files that a file names may be opened.

use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Which other files may be opened when a file names them. The author of the file chose these names, so none
/// is opened unless the caller permits it.
///
/// ```
/// use std::path::Path;
/// use sciformats_core::{Error, External};
///
/// # let temporary = tempfile::tempdir().unwrap();
/// # let folder = temporary.path();
/// std::fs::write(folder.join("monday.dat"), "281.5")?;
/// let find = |policy: &External, name: &str| policy.find(Some(folder), &[Path::new(name)]);
/// assert!(find(&External::SameFolder, "monday.dat")?.is_some());
/// assert_eq!(find(&External::SameFolder, "friday.dat")?, None);
/// assert!(matches!(find(&External::SameFolder, "/proc/self/status"), Ok(None) | Err(Error::Forbidden { .. })));
/// assert!(matches!(find(&External::None, "monday.dat"), Err(Error::Forbidden { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum External {
    /// None. If another file is needed, this is an error.
    #[default]
    None,
    /// Files in the folder of the file, or in folders inside it.
    SameFolder,
    /// Files that [`SameFolder`](Self::SameFolder) permits, and files in these folders or in folders inside
    /// them.
    SameFolderAnd(Vec<PathBuf>),
    /// Files in these folders, or in folders inside them. The file's own folder is only permitted if it is
    /// one of these.
    Folders(Vec<PathBuf>),
    /// Any that the process can read.
    Anywhere,
}

impl External {
    /// Returns the first file that one of `names` leads to, for a file in `folder`, as a path with links and
    /// `..` resolved; `None` if there is no such file. A relative name is searched for in that folder, and
    /// then in the folders of the policy. For a file without a folder, such as one in memory, only absolute
    /// names are possible.
    ///
    /// # Errors
    ///
    /// [`Error::Forbidden`] if the first name that leads to a file leads to one that the policy does not
    /// permit, or if no file is permitted at all; `Io` if the system does not say whether there is one.
    pub fn find(&self, folder: Option<&Path>, names: &[&Path]) -> Result<Option<PathBuf>> {
        let own = folder.map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        let (with_own, others): (bool, &[PathBuf]) = match self {
            Self::None => (false, &[]),
            Self::SameFolder | Self::Anywhere => (true, &[]),
            Self::SameFolderAnd(others) => (true, others),
            Self::Folders(others) => (false, others),
        };
        let anywhere = *self == Self::Anywhere;
        let allowed: Vec<&Path> =
            own.filter(|_| with_own).into_iter().chain(others.iter().map(PathBuf::as_path)).collect();
        let Some(first) = names.first() else { return Ok(None) };
        if allowed.is_empty() && !anywhere {
            return Err(forbidden(first, None));
        }
        // A name that is absolute replaces the folder that it is looked for in.
        let root = Path::new("/");
        let places: Vec<&Path> = own
            .or(Some(root).filter(|_| anywhere))
            .into_iter()
            .chain(others.iter().map(PathBuf::as_path))
            .collect();
        for name in names {
            let mut outside = None;
            for place in &places {
                let Some(found) = resolved(&place.join(name))? else { continue };
                let inside =
                    |folder: &&Path| folder.canonicalize().is_ok_and(|folder| found.starts_with(folder));
                if anywhere || allowed.iter().any(inside) {
                    return Ok(Some(found));
                }
                outside.get_or_insert(found);
            }
            // Another name is tried if the first one leads to no file, but not if it leads to a file that may
            // not be opened.
            if let Some(found) = outside {
                return Err(forbidden(name, Some(found.into())));
            }
        }
        Ok(None)
    }
}

fn forbidden(name: &Path, path: Option<Box<Path>>) -> Error {
    Error::Forbidden { name: name.to_string_lossy().into(), path }
}

/// Returns the path of a file with links and `..` resolved, if the file exists.
fn resolved(path: &Path) -> Result<Option<PathBuf>> {
    use std::io::ErrorKind::{InvalidInput, NotADirectory, NotFound};
    match path.canonicalize() {
        Ok(found) => Ok(Some(found).filter(|found| found.is_file())),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | InvalidInput) => Ok(None),
        Err(error) => Err(Error::io("find", error).in_file(path, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_policy_allows() {
        let temporary = tempfile::tempdir().unwrap();
        let (inside, outside) = (temporary.path().join("in"), temporary.path().join("out"));
        for folder in [&inside, &outside] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(inside.join("a"), "").unwrap();
        std::fs::write(outside.join("b"), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(outside.join("b"), inside.join("link")).unwrap();
        let find = |policy: &External, name: &str| policy.find(Some(&inside), &[Path::new(name)]);
        let found = |policy: &External, name: &str| find(policy, name).unwrap();
        let absolute = inside.join("a").display().to_string();
        for name in ["a", "./a", "../in/a", &absolute] {
            assert!(found(&External::SameFolder, name).is_some(), "{name}");
        }
        for name in ["b", ".", "", "../out/c", "/no/such/file", "a/b"] {
            assert_eq!(found(&External::SameFolder, name), None, "{name}");
        }
        // A file that exists and may not be opened is distinguished from one that does not exist.
        for name in [
            "../out/b",
            #[cfg(unix)]
            "link",
            outside.join("b").to_str().unwrap(),
        ] {
            let error = find(&External::SameFolder, name).unwrap_err();
            let Error::Forbidden { path: Some(path), .. } = error else { panic!("{name}: {error}") };
            assert_eq!(*path, outside.canonicalize().unwrap().join("b"));
            let both = External::SameFolderAnd(vec![outside.clone()]);
            assert!(
                found(&both, name).is_some() && found(&both, "a").is_some() && found(&both, "b").is_some()
            );
        }
        let folders = External::Folders(vec![outside.clone(), inside.clone()]);
        assert!(
            found(&folders, "a").is_some()
                && found(&folders, "b").is_some()
                && found(&folders, "c").is_none()
        );
        let elsewhere = External::Folders(vec![outside.clone()]);
        assert!(find(&elsewhere, "a").is_err() && found(&elsewhere, "../out/b").is_some());
        assert!(found(&External::Anywhere, "../out/b").is_some());
        let names = [Path::new("gone/a"), Path::new("a")];
        assert!(External::SameFolder.find(Some(&inside), &names).unwrap().is_some());
        // Another file of the same name does not take its place.
        std::fs::write(inside.join("b"), "").unwrap();
        assert!(External::SameFolder.find(Some(&inside), &[Path::new("../out/b"), Path::new("b")]).is_err());
    }

    #[test]
    fn a_file_in_memory_has_no_folder() {
        let name = [Path::new("a")];
        for policy in [External::SameFolder, External::None] {
            assert!(matches!(policy.find(None, &name), Err(Error::Forbidden { path: None, .. })));
        }
        assert_eq!(External::Anywhere.find(None, &name).unwrap(), None);
    }
}
