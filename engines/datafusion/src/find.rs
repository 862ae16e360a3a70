//! The files of a table.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use datafusion::error::{DataFusionError, Result};
use glob::MatchOptions;
use sciformats_arrow::sciformats_conventions::sciformats::Error;
use url::Url;

use crate::error::{external, of_file, usage};

/// A file as it was when a query was planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its path, which is also the value of the column of files.
    pub(crate) path: String,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// When it was changed, in nanoseconds since the start of 1970; 0 if the system does not know.
    pub(crate) changed: i64,
}

impl Found {
    /// Looks at a file.
    ///
    /// # Errors
    ///
    /// If it is not there.
    pub(crate) fn at(path: &Path) -> Result<Self> {
        let io = |error| of_file(path, Error::io("open", error));
        let about = std::fs::metadata(path).map_err(io)?;
        if !about.is_file() {
            return Err(usage("files", format!("include {}, which is not a file", path.display())));
        }
        let changed = about.modified().ok().and_then(|moment| moment.duration_since(UNIX_EPOCH).ok());
        let changed = changed.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default();
        let name = path
            .to_str()
            .ok_or_else(|| usage("files", format!("include {}, whose name is not a text", path.display())))?;
        Ok(Self { path: name.to_owned(), size: about.len(), changed })
    }

    /// Checks that the file is the one that the query was planned for.
    ///
    /// # Errors
    ///
    /// If it is not there, or if its size or the time of its change differ.
    pub(crate) fn check(&self) -> Result<()> {
        let now = Self::at(Path::new(&self.path))?;
        if now == *self {
            return Ok(());
        }
        Err(DataFusionError::Execution(format!(
            "{} was changed after the query had been planned: it had {} bytes and has {} now",
            self.path, self.size, now.size
        )))
    }
}

/// Returns the files that locations mean, in the order of the locations and of the names: a file, all files of a folder, or
/// the files that match a pattern with `*`, `?`, `[…]` and `**`. Hidden files are left out, unless a pattern names them.
///
/// # Errors
///
/// If a location means no file.
pub(crate) fn files(locations: &[String]) -> Result<Vec<Found>> {
    let mut all = Vec::new();
    for location in locations {
        let path = local(location)?;
        let before = all.len();
        if path.is_dir() {
            let io = |error| of_file(&path, Error::io("list", error));
            let mut names = Vec::new();
            for entry in std::fs::read_dir(&path).map_err(io)? {
                let at = entry.map_err(io)?.path();
                let hidden = at.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
                if !hidden && at.is_file() {
                    names.push(at);
                }
            }
            names.sort();
            for name in names {
                all.push(Found::at(&name)?);
            }
        } else if path.exists() {
            all.push(Found::at(&path)?);
        } else if location.contains(['*', '?', '[']) {
            let text = path.to_string_lossy();
            // As in shells, hidden files only match a pattern that begins with a dot.
            let visible = !text.rsplit('/').next().is_some_and(|name| name.starts_with('.'));
            let how = MatchOptions {
                case_sensitive: true,
                require_literal_separator: true,
                require_literal_leading_dot: visible,
            };
            let found = glob::glob_with(&text, how)
                .map_err(|error| usage("location", format!("{location}: {error}")))?;
            for at in found {
                let at: PathBuf = at.map_err(external)?;
                if at.is_file() {
                    all.push(Found::at(&at)?);
                }
            }
        } else {
            return Err(usage("location", format!("{location} is not there")));
        }
        if all.len() == before {
            return Err(usage("location", format!("{location} means no file")));
        }
    }
    Ok(all)
}

/// Returns the path that a location means, which may be a URL of this machine.
fn local(location: &str) -> Result<PathBuf> {
    match Url::parse(location) {
        Ok(url) if url.scheme() == "file" => {
            // A pattern may have characters that a URL has for other purposes.
            let path = location.get("file://".len()..).filter(|rest| rest.starts_with('/'));
            path.map(PathBuf::from)
                .ok_or_else(|| usage("location", format!("{location} is on another machine")))
        }
        Ok(url) if location.contains("://") => {
            let what = format!("tables behind URLs of {}: a query reads files of this machine", url.scheme());
            Err(external(Error::unsupported(what)))
        }
        _ => Ok(PathBuf::from(location)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_mean_files() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        for name in ["b.h5", "a.h5", ".c.h5", "d.txt"] {
            std::fs::write(at(name), name).unwrap();
        }
        std::fs::create_dir(at("e.h5")).unwrap();
        let names = |location: String| -> Vec<String> {
            files(&[location]).unwrap().into_iter().map(|found| found.path).collect()
        };
        assert_eq!(names(at("*.h5")), [at("a.h5"), at("b.h5")]);
        assert_eq!(names(at("[b]*.h5")), [at("b.h5")]);
        assert_eq!(names(at(".*.h5")), [at(".c.h5")]);
        assert_eq!(names(at("")), [at("a.h5"), at("b.h5"), at("d.txt")]);
        assert_eq!(names(format!("file://{}", at("d.txt"))), [at("d.txt")]);
        for wrong in [at("none.h5"), at("none*.h5"), at("e.h5"), "s3://bucket/a.h5".to_owned()] {
            assert!(files(std::slice::from_ref(&wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn changed_files_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.h5");
        std::fs::write(&path, "one").unwrap();
        let found = Found::at(&path).unwrap();
        found.check().unwrap();
        std::fs::write(&path, "three").unwrap();
        let error = found.check().unwrap_err().to_string();
        assert!(error.contains("it had 3 bytes and has 5 now"), "{error}");
    }
}
