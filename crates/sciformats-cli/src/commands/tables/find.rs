//! Finds the files that a name of a table means: `run.h5:/log`, `runs/*.h5:/log`, `log.parquet`.

use std::path::{Path, PathBuf};

use sciformats_arrow::sql::Pattern;

/// The files of a table, and the path in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) files: Vec<PathBuf>,
    pub(super) path: Option<String>,
    /// Whether the name is a pattern, which may mean any number of files.
    pub(super) is_pattern: bool,
}

/// Returns the files that a name means; there are none if nothing has this name.
pub(super) fn find(name: &str) -> Named {
    let mut ends: Vec<usize> = name.match_indices(":/").map(|(at, _)| at).collect();
    ends.push(name.len());
    // A file may have such a name as a whole; otherwise the longest part that is a file counts.
    for end in ends.into_iter().rev() {
        let (file, path) = name.split_at_checked(end).unwrap_or((name, ""));
        let path = path.strip_prefix(':').map(str::to_owned);
        // A query may also read stdin.
        if !file.is_empty() && (file == "-" || Path::new(file).exists()) {
            return Named { files: vec![file.into()], path, is_pattern: false };
        }
    }
    let (file, path) = match name.rfind(":/") {
        Some(at) => (name.get(..at).unwrap_or_default(), name.get(at + 1..).map(str::to_owned)),
        None => (name, None),
    };
    let is_pattern = file.contains(['*', '?']);
    let files = if is_pattern { matching(file) } else { Vec::new() };
    Named { files, path, is_pattern }
}

/// Returns the files whose names match a pattern with `*` and `?`, in the order of their names.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![if pattern.starts_with('/') { PathBuf::from("/") } else { PathBuf::new() }];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for folder in found {
            if !part.contains(['*', '?']) {
                let path = folder.join(part);
                if path.exists() {
                    next.push(path);
                }
                continue;
            }
            let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder.as_path() };
            let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            // As in shells, hidden files only match a pattern that begins with a dot.
            let hidden = part.starts_with('.');
            let pattern = Pattern::glob(part);
            let names = names.filter(|name| pattern.matches(name) && (hidden || !name.starts_with('.')));
            let mut paths: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
            paths.sort();
            next.extend(paths);
        }
        found = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tables() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| format!("{}/{name}", folder.path().display());
        for name in ["b.h5", "a.h5", ".c.h5", "a.txt", "odd:"] {
            std::fs::write(at(name), "").unwrap();
        }
        let one = find(&at("a.h5:/log/x"));
        assert_eq!(
            (one.files, one.path.as_deref(), one.is_pattern),
            (vec![at("a.h5").into()], Some("/log/x"), false)
        );
        assert_eq!(find(&at("a.h5")).path, None);
        assert_eq!(find(&at("odd::/log")).path.as_deref(), Some("/log"));
        let many = find(&at("*.h5:/log"));
        assert_eq!((many.files, many.is_pattern), (vec![at("a.h5").into(), at("b.h5").into()], true));
        assert_eq!(find(&at("?.txt")).files, [PathBuf::from(at("a.txt"))]);
        assert!(find(&at("none.h5:/log")).files.is_empty());
    }
}
