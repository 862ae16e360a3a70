//! Files that a file names: which of them may be opened.

use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Which other files may be opened on a file's behalf. Whoever wrote the file chose their names, so none is opened unless
/// the caller says so.
///
/// ```
/// use std::path::Path;
/// use sciformats_core::External;
///
/// # let temporary = tempfile::tempdir().unwrap();
/// # let folder = temporary.path();
/// std::fs::write(folder.join("monday.dat"), "281.5")?;
/// let found = External::SameFolder.find(Some(folder), &[Path::new("monday.dat")])?;
/// assert!(found.is_some_and(|path| path.ends_with("monday.dat")));
/// assert_eq!(External::SameFolder.find(Some(folder), &[Path::new("../../etc/passwd")])?, None);
/// assert!(External::None.find(Some(folder), &[Path::new("monday.dat")]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum External {
    /// None. What needs one is an error.
    #[default]
    None,
    /// Those in the folder of the file, or in folders inside it.
    SameFolder,
    /// Those in these folders, or in folders inside them; relative names are looked for in each.
    Folders(Vec<PathBuf>),
    /// Any that the process can read.
    Anywhere,
}

impl External {
    /// The first file that one of `names` leads to, for a file in `folder`: its path with links and `..` resolved. `None` if
    /// there is no such file, or all of them are elsewhere than the policy allows. A file without a folder, one in memory say,
    /// names absolute paths only.
    ///
    /// # Errors
    /// `Usage` if the policy allows no file.
    pub fn find(&self, folder: Option<&Path>, names: &[&Path]) -> Result<Option<PathBuf>> {
        let own = folder.map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        let folders: Vec<&Path> = match (self, own) {
            (Self::Folders(folders), _) => folders.iter().map(PathBuf::as_path).collect(),
            (Self::SameFolder | Self::Anywhere, Some(own)) => vec![own],
            (Self::Anywhere, None) => vec![Path::new("/")],
            (Self::None, _) | (Self::SameFolder, None) => {
                let name = names.first().map(|name| name.display().to_string()).unwrap_or_default();
                return Err(Error::usage("external", format!("does not allow to open the file {name:?}")));
            }
        };
        for folder in folders {
            for name in names {
                // A name that is absolute replaces the folder.
                let Ok(found) = folder.join(name).canonicalize() else { continue };
                let allowed = *self == Self::Anywhere
                    || folder.canonicalize().is_ok_and(|folder| found.starts_with(folder));
                if allowed && found.is_file() {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
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
        let find = |policy: &External, name: &str| policy.find(Some(&inside), &[Path::new(name)]).unwrap();
        let absolute = inside.join("a").display().to_string();
        for name in ["a", "./a", "../in/a", &absolute] {
            assert!(find(&External::SameFolder, name).is_some(), "{name}");
        }
        for name in ["b", "../out/b", "link", "/etc/passwd", ".", ""] {
            assert_eq!(find(&External::SameFolder, name), None, "{name}");
        }
        let folders = External::Folders(vec![outside.clone(), inside.clone()]);
        assert!(
            find(&folders, "a").is_some() && find(&folders, "b").is_some() && find(&folders, "c").is_none()
        );
        assert!(find(&External::Anywhere, "../out/b").is_some());
        let names = [Path::new("gone/a"), Path::new("a")];
        assert!(External::SameFolder.find(Some(&inside), &names).unwrap().is_some());
    }

    #[test]
    fn a_file_in_memory_has_no_folder() {
        let name = [Path::new("a")];
        assert!(External::SameFolder.find(None, &name).is_err());
        assert!(External::None.find(None, &name).is_err());
        assert_eq!(External::Anywhere.find(None, &name).unwrap(), None);
    }
}
