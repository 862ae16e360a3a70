//! Recognises files and folders that have none of our formats, and says what to do with them.

use std::fs;
use std::io::Read;
use std::path::Path;

use sciformats::Foreign;

/// Returns what a file is that has none of our formats, and the next step; `None` if it is unknown.
pub(crate) fn named(path: &Path) -> Option<(String, String)> {
    if path.is_dir() {
        let has = |mark: &str| path.join(mark).is_file();
        let step = match () {
            () if has("zarr.json") => {
                format!("`sciformats convert {} out.h5` makes an HDF5 file of it", path.display())
            }
            () if [".zgroup", ".zarray", ".zmetadata"].into_iter().any(has) => {
                "Python's zarr or xarray.open_zarr reads it".to_owned()
            }
            () => return None,
        };
        return Some(("a folder of Zarr".to_owned(), step));
    }
    let mut head = Vec::new();
    fs::File::open(path).ok()?.take(Foreign::HEAD).read_to_end(&mut head).ok()?;
    let found = Foreign::of(&head)?;
    let is_csv = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
    if found.what == "text" && is_csv {
        let step = format!("`sciformats sql` and `sciformats convert {} out.h5` read it", path.display());
        return Some(("a table of comma-separated values".to_owned(), step));
    }
    Some((found.what.to_owned(), found.step?.replace("FILE", &path.display().to_string())))
}

/// Returns whether `ls` lists a foreign file beside scientific ones: data and archives are listed, but not pictures, web
/// pages and texts.
pub(crate) fn is_data((what, step): &(String, String)) -> bool {
    let other = ["text", "XML", "empty", "a web page (HTML)"].contains(&what.as_str());
    !other && step != "it contains no arrays"
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
        let (what, step) = named(dir.path()).unwrap();
        assert_eq!(what, "a folder of Zarr");
        assert!(step.starts_with("Python's zarr"));
        fs::write(dir.path().join("zarr.json"), "{}").unwrap();
        assert!(named(dir.path()).unwrap().1.starts_with("`sciformats convert "));
        let file = dir.path().join("old.nc");
        fs::write(&file, b"CDF\x01\0\0\0\0").unwrap();
        assert!(named(&file).unwrap().1.contains(&format!("nccopy -k nc4 {}", file.display())));
        let table = dir.path().join("old.csv");
        fs::write(&table, "a,b\n1,2\n").unwrap();
        let found = named(&table).unwrap();
        assert!(found.1.contains("`sciformats sql`") && is_data(&found), "{found:?}");
        for (bytes, data) in [
            (&b"SIMPLE  =                    T"[..], true),
            (b"\x1f\x8b\x08", true),
            (b"\x89PNG\r\n\x1a\n", false),
            (b"# Read me\n", false),
            (b"<!DOCTYPE html>", false),
        ] {
            fs::write(&file, bytes).unwrap();
            assert_eq!(is_data(&named(&file).unwrap()), data, "{bytes:?}");
        }
    }
}
