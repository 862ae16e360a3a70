//! Decides which of the files that a file names may be opened.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::storage::{Access, ReadAt};
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
    /// Files that the caller lends. The file system is not asked, which there may be none of, as in a browser.
    Lent(Lent),
}

/// Lends the files beside a file, by their names.
pub trait Lend: fmt::Debug + Send + Sync {
    /// Returns the file of this name, or `None` if there is none. A name is a path from the folder of the file that was
    /// opened first, with `/` between its parts, and without `.` and `..`.
    ///
    /// # Errors
    ///
    /// Why it is unknown whether there is such a file, or why it cannot be read.
    fn lend(&self, name: &str) -> Result<Option<Arc<dyn ReadAt>>>;

    /// Returns the name of the file that was opened first, by which the other parts of it are found if it is one of several. By
    /// default it is unknown.
    fn name(&self) -> Option<String> {
        None
    }

    /// Returns the names that begin with `start`, of files in the folder of the file that was opened first. By default none are known.
    fn names(&self, start: &str) -> Vec<String> {
        let _ = start;
        Vec::new()
    }
}

/// The caller who lends files. Two values are equal if they are clones.
#[derive(Clone, Debug)]
pub struct Lent(Arc<dyn Lend>);

impl Lent {
    /// Wraps what lends the files.
    ///
    /// ```
    /// use std::path::Path;
    /// use std::sync::Arc;
    /// use sciformats_core::external::{Lend, Lent};
    /// use sciformats_core::storage::Access;
    /// use sciformats_core::{External, ReadAt, Result};
    ///
    /// #[derive(Debug)]
    /// struct Monday;
    ///
    /// impl Lend for Monday {
    ///     fn lend(&self, name: &str) -> Result<Option<Arc<dyn ReadAt>>> {
    ///         Ok(if name == "days/monday.dat" { Some(Arc::new(b"281.5".to_vec())) } else { None })
    ///     }
    /// }
    ///
    /// let policy = External::Lent(Lent::new(Monday));
    /// let found = policy.find(None, &[Path::new("days/./monday.dat")])?.expect("a file");
    /// assert_eq!(policy.open(&found, Access::default())?.size(), 5);
    /// assert!(policy.find(None, &[Path::new("../monday.dat")]).is_err());
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    pub fn new(lend: impl Lend + 'static) -> Self {
        Self(Arc::new(lend))
    }

    /// Opens the file at a path that [`External::find`] returned.
    ///
    /// # Errors
    ///
    /// `Io` if there is no such file; those of the lender.
    pub fn open(&self, path: &Path) -> Result<Arc<dyn ReadAt>> {
        let missing = || Error::io("open", std::io::ErrorKind::NotFound.into()).in_file(path, None);
        self.0.lend(&path.to_string_lossy())?.ok_or_else(missing)
    }

    /// Returns the first of `names` that is lent, for a file in `folder`.
    fn find(&self, folder: Option<&Path>, names: &[&Path]) -> Result<Option<PathBuf>> {
        for name in names {
            // An absolute name belongs to another machine. (`is_absolute` is never true in WebAssembly.)
            if name.has_root() || name.as_os_str().is_empty() {
                continue;
            }
            let path = folder.unwrap_or(Path::new("")).join(name);
            let inside = inside(&path).ok_or_else(|| forbidden(name, None))?;
            if !inside.is_empty() && self.0.lend(&inside)?.is_some() {
                return Ok(Some(inside.into()));
            }
        }
        Ok(None)
    }
}

impl PartialEq for Lent {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Lent {}

impl Hash for Lent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).cast::<()>().hash(state);
    }
}

/// Returns a relative path without `.` and `..`, or `None` if it leads out of the folder where it begins.
fn inside(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()?),
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

impl External {
    /// Opens the file at a path that [`find`](Self::find) returned.
    ///
    /// # Errors
    ///
    /// `Io` if it cannot be opened or read.
    pub fn open(&self, path: &Path, access: Access) -> Result<Arc<dyn ReadAt>> {
        match self {
            Self::Lent(lent) => lent.open(path),
            _ => access.open(path),
        }
    }

    /// Returns the name of the file that was opened first, if files are lent and the lender knows it.
    pub fn own_name(&self) -> Option<PathBuf> {
        let Self::Lent(lent) = self else { return None };
        lent.0.name().map(PathBuf::from)
    }

    /// Returns whether there is a file at `path`, which is a part of a file that may be opened.
    ///
    /// # Errors
    ///
    /// Those of the lender.
    pub fn has(&self, path: &Path) -> Result<bool> {
        match self {
            Self::Lent(lent) => Ok(lent.find(None, &[path])?.is_some()),
            _ => Ok(path.is_file()),
        }
    }

    /// Returns the sorted names in `folder` that begin with `start`. A lender only knows those beside the file that was opened first.
    ///
    /// # Errors
    ///
    /// `Io` if the folder cannot be read.
    pub fn names(&self, folder: &Path, start: &str) -> Result<Vec<String>> {
        let mut found: Vec<String> = match self {
            Self::Lent(lent) => lent.0.names(start),
            _ => {
                let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                let entries = std::fs::read_dir(listed)
                    .map_err(|error| Error::io("read", error).in_file(listed, None))?;
                entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
            }
        };
        found.retain(|name| name.starts_with(start));
        crate::order::sort(&mut found);
        Ok(found)
    }

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
            Self::Lent(lent) => return lent.find(folder, names),
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

    #[derive(Debug)]
    struct Folder;

    impl Lend for Folder {
        fn lend(&self, name: &str) -> Result<Option<Arc<dyn ReadAt>>> {
            assert!(!name.contains("..") && !name.starts_with('/'), "{name} is asked for");
            match name {
                "a" | "deep/b" => Ok(Some(Arc::new(name.as_bytes().to_vec()))),
                "slow" => Err(Error::io("read", std::io::ErrorKind::WouldBlock.into())),
                _ => Ok(None),
            }
        }

        fn name(&self) -> Option<String> {
            Some("run.0".into())
        }

        fn names(&self, _start: &str) -> Vec<String> {
            ["walk", "run.1", "run.0"].map(str::to_owned).to_vec()
        }
    }

    #[test]
    fn files_are_lent_by_their_names_inside_of_the_folder() {
        let policy = External::Lent(Lent::new(Folder));
        let find = |folder: Option<&str>, names: &[&str]| {
            let names: Vec<&Path> = names.iter().map(Path::new).collect();
            policy.find(folder.map(Path::new), &names)
        };
        let found = |folder, names: &[&str]| find(folder, names).unwrap();
        for (folder, names, path) in [
            (None, &["a"][..], "a"),
            (Some(""), &["./deep/../a"], "a"),
            (Some("."), &["deep/b"], "deep/b"),
            (Some("deep"), &["b"], "deep/b"),
            (Some("deep"), &["../a"], "a"),
            // The folders of another machine do not count, but the name does.
            (None, &["/data/somebody/a", "a"], "a"),
            (None, &["gone/a", "a"], "a"),
        ] {
            let there = found(folder, names).unwrap();
            assert_eq!(there, Path::new(path), "{names:?}");
            let bytes = policy.open(&there, Access::default()).unwrap();
            assert_eq!(bytes.read_at(0, path.len()).unwrap(), path.as_bytes());
        }
        for names in [&["b"][..], &["."], &[""], &["/a"], &["deep/.."], &[]] {
            assert_eq!(found(None, names), None, "{names:?}");
        }
        for name in ["..", "../a", "deep/../../a"] {
            assert!(matches!(find(None, &[name, "a"]), Err(Error::Forbidden { .. })), "{name}");
        }
        // It is not yet known whether there is such a file, so no other one takes its place.
        assert!(matches!(find(None, &["slow", "a"]), Err(Error::Io { .. })));
        assert!(policy.open(Path::new("b"), Access::default()).is_err());
        assert_eq!(policy, policy.clone());
        assert_ne!(policy, External::Lent(Lent::new(Folder)));
    }

    #[test]
    fn parts_are_found_by_their_names() {
        let temporary = tempfile::tempdir().unwrap();
        for name in ["run.b", "run.a", "walk.a"] {
            std::fs::write(temporary.path().join(name), "").unwrap();
        }
        let near = External::None;
        assert_eq!(near.names(temporary.path(), "run.").unwrap(), ["run.a", "run.b"]);
        assert!(near.names(&temporary.path().join("gone"), "").is_err());
        assert!(near.has(&temporary.path().join("run.a")).unwrap() && near.own_name().is_none());
        assert!(!near.has(temporary.path()).unwrap());
        let lent = External::Lent(Lent::new(Folder));
        assert!(lent.has(Path::new("a")).unwrap() && !lent.has(Path::new("b")).unwrap());
        assert!(lent.has(Path::new("slow")).is_err());
        assert_eq!(lent.own_name(), Some("run.0".into()));
        assert_eq!(lent.names(Path::new(""), "run.").unwrap(), ["run.0", "run.1"]);
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
