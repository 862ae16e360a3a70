//! Recognises files and folders that have none of our formats, and says what to do with them.

use std::fs;
use std::io::Read;
use std::path::Path;

use sciformats::Foreign;

/// Returns what a file is that has none of our formats, and the next step; `None` if it is unknown.
pub(crate) fn named(path: &Path) -> Option<(String, String)> {
    if path.is_dir() {
        let marks = ["zarr.json", ".zgroup", ".zarray", ".zmetadata"];
        let zarr = marks.iter().any(|mark| path.join(mark).is_file());
        return zarr.then(|| {
            ("a folder of Zarr".to_owned(), "Python's zarr or xarray.open_zarr reads it".to_owned())
        });
    }
    let mut head = Vec::new();
    fs::File::open(path).ok()?.take(Foreign::HEAD).read_to_end(&mut head).ok()?;
    let found = Foreign::of(&head)?;
    Some((found.what.to_owned(), found.step?.replace("FILE", &path.display().to_string())))
}

/// Describes the file and the next step in one line.
pub(crate) fn told(path: &Path, what: &str, step: &str) -> String {
    let said = said(&(what.to_owned(), step.to_owned()));
    format!("{}: the file has none of the supported formats; {said}", path.display())
}

/// Describes a file in a list of files: what it is, and the next step.
pub(crate) fn said((what, step): &(String, String)) -> String {
    format!("it is {what} ({step})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_names() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(named(dir.path()), None);
        fs::write(dir.path().join(".zgroup"), "{}").unwrap();
        assert_eq!(named(dir.path()).unwrap().0, "a folder of Zarr");
        let file = dir.path().join("old.nc");
        fs::write(&file, b"CDF\x01\0\0\0\0").unwrap();
        assert!(named(&file).unwrap().1.contains(&format!("nccopy -k nc4 {}", file.display())));
    }
}
