//! Recognises files that have none of our formats by their first bytes, and says what to do with them.

use std::fs;
use std::io::Read;
use std::path::Path;

/// The number of bytes at the start that are examined; `ustar` of a tar archive comes last.
const HEAD: u64 = 600;

/// For each format: the offset and the bytes that identify it, its name, and the next step.
const SIGNATURES: &[(usize, &[u8], &str, &str)] = &[
    (
        0,
        b"version https://git-lfs.github.com/spec",
        "a pointer of Git LFS",
        "`git lfs pull` downloads the file itself",
    ),
    (0, b"CDF\x01", CLASSIC, NC4),
    (0, b"CDF\x02", CLASSIC, NC4),
    (0, b"CDF\x05", CLASSIC, NC4),
    (0, b"\x0e\x03\x13\x01", "HDF4", "`h4toh5` converts it"),
    (
        0,
        b"MATLAB 5.0 MAT-file",
        "a MATLAB file older than version 7.3",
        "`save -v7.3` in MATLAB writes one that is HDF5",
    ),
    (0, b"GRIB", "GRIB", "`grib_to_netcdf -k 3 -o new.nc` or `cdo -f nc4 copy` converts it"),
    (0, b"SIMPLE  =", "FITS", "Python's astropy.io.fits reads it"),
    (344, b"n+1\0", "NIfTI-1", "Python's nibabel reads it"),
    (344, b"ni1\0", "the header of NIfTI-1", "Python's nibabel reads it with the .img beside it"),
    (4, b"n+2\0", "NIfTI-2", "Python's nibabel reads it"),
    (128, b"DICM", "DICOM", "Python's pydicom reads it"),
    (0, b"PAR1", "Parquet", "Python's pandas.read_parquet reads it"),
    (0, b"ARROW1", "an Arrow file", "Python's pyarrow reads it"),
    (0, b"II*\0", "TIFF", "Python's tifffile reads it"),
    (0, b"MM\0*", "TIFF", "Python's tifffile reads it"),
    (0, b"II+\0", "BigTIFF", "Python's tifffile reads it"),
    (0, b"MM\0+", "BigTIFF", "Python's tifffile reads it"),
    (0, b"\x1f\x8b", "compressed with gzip", "`gunzip` unpacks it"),
    (0, b"\x28\xb5\x2f\xfd", "compressed with Zstandard", "`zstd -d` unpacks it"),
    (0, b"BZh", "compressed with bzip2", "`bunzip2` unpacks it"),
    (0, b"\xfd7zXZ\0", "compressed with xz", "`xz -d` unpacks it"),
    (257, b"ustar", "a tar archive", "`tar -xf` unpacks it"),
    (0, b"PK\x05\x06", "an empty zip archive", "it contains nothing"),
    (0, b"SQLite format 3\0", "a database of SQLite", "`sqlite3` reads it"),
    (0, b"\x89PNG\r\n\x1a\n", "a picture (PNG)", "it contains no arrays"),
    (0, b"\xff\xd8\xff", "a picture (JPEG)", "it contains no arrays"),
    (0, b"%PDF-", "PDF", "it contains no arrays"),
];

const CLASSIC: &str = "classic netCDF";
const NC4: &str = "`nccopy -k nc4 FILE new.nc` converts it to netCDF-4, which is HDF5";

/// The first bytes of our formats.
const OURS: &[(&[u8], &str)] =
    &[(b"\x89HDF\r\n\x1a\n", "HDF5"), (b"#ASDF ", "ASDF"), (b"rawarray", "RawArray"), (b"\x93NUMPY", "npy")];

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
    fs::File::open(path).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
    of_bytes(&head).map(|(what, step)| (what, step.replace("FILE", &path.display().to_string())))
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

fn of_bytes(head: &[u8]) -> Option<(String, String)> {
    let told = |what: &str, step: &str| Some((what.to_owned(), step.to_owned()));
    if head.is_empty() {
        return told("empty", "writing or copying it was probably interrupted");
    }
    if let Some(rest) = head.strip_prefix(b"PK\x03\x04") {
        // The name of the first member is at byte 30 of the archive.
        let name = rest.get(26..).unwrap_or_default();
        let length = rest.get(22..24).map_or(0, |two| usize::from(two[0]) | usize::from(two[1]) << 8);
        let name = name.get(..length).unwrap_or(name);
        return if name.ends_with(b".npy") {
            told("an archive of NumPy (npz)", "`unzip` unpacks it; each .npy in it can be read")
        } else {
            told("a zip archive", "`unzip` unpacks it")
        };
    }
    for (offset, bytes, what, step) in SIGNATURES {
        if head.get(*offset..).is_some_and(|rest| rest.starts_with(bytes)) {
            return told(what, step);
        }
    }
    if let Some((_, format)) = OURS.iter().find(|(bytes, _)| bytes.starts_with(head)) {
        return told(&format!("only the first bytes of {format}"), "copy or download it again");
    }
    if head.iter().all(|&byte| byte == 0) {
        return told("filled with zeros at its start", "copy or download it again");
    }
    text(head)
}

/// Describes a text file.
fn text(head: &[u8]) -> Option<(String, String)> {
    let told = |what: &str, step: &str| Some((what.to_owned(), step.to_owned()));
    let start =
        String::from_utf8_lossy(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head)).to_ascii_lowercase();
    let start = start.trim_start();
    if start.starts_with("<!doctype html") || start.starts_with("<html") || start.starts_with("<head") {
        return told(
            "a web page (HTML)",
            "perhaps an error message or a login page of a server; download the file itself",
        );
    }
    if start.starts_with("<?xml") || start.starts_with("<error>") {
        return told(
            "XML",
            "perhaps an error message of a server; look at it, then download the file itself",
        );
    }
    if start.contains("/annex/objects/") {
        return told("a pointer of git-annex", "`git annex get FILE` downloads the file itself");
    }
    if start.starts_with("netcdf ") && start.contains('{') {
        return told("CDL, the text of a netCDF file", "`ncgen -4 -o new.nc FILE` creates the file");
    }
    let printed = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..);
    let words = head.iter().all(printed) && std::str::from_utf8(head.get(..head.len().min(256))?).is_ok();
    if words { told("text", "it is in none of the supported formats") } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(bytes: &[u8]) -> String {
        of_bytes(bytes).map_or_else(|| "?".into(), |(what, _)| what)
    }

    #[test]
    fn by_their_first_bytes() {
        let table: &[(&[u8], &str)] = &[
            (b"", "empty"),
            (b"\xef\xbb\xbf \n<!DOCTYPE HTML><title>404", "a web page (HTML)"),
            (b"<?xml version=\"1.0\"?><Error>", "XML"),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "a pointer of Git LFS"),
            (b"../.git/annex/objects/aa/bb", "a pointer of git-annex"),
            (
                b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0x.npy\x93NUMPY",
                "an archive of NumPy (npz)",
            ),
            (b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0x.txt", "a zip archive"),
            (b"\x1f\x8b\x08\0", "compressed with gzip"),
            (b"SIMPLE  =                    T", "FITS"),
            (b"CDF\x01\0\0\0\0", "classic netCDF"),
            (b"CDF\x05\0\0\0\0", "classic netCDF"),
            (b"PAR1\x15\x04", "Parquet"),
            (b"II*\0\x08\0", "TIFF"),
            (b"\x89HDF", "only the first bytes of HDF5"),
            (b"\0\0\0\0\0\0\0\0\0", "filled with zeros at its start"),
            (b"time,value\n0,1\n", "text"),
            (b"netcdf climate {\ndimensions:", "CDL, the text of a netCDF file"),
            (b"\xde\xad\xbe\xef\x00\x01", "?"),
        ];
        for (bytes, expected) in table {
            assert_eq!(what(bytes), *expected, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn by_bytes_further_on() {
        for (offset, bytes, expected) in
            [(344, &b"n+1\0"[..], "NIfTI-1"), (128, b"DICM", "DICOM"), (257, b"ustar\0", "a tar archive")]
        {
            let mut head = vec![b' '; offset];
            head.extend(bytes);
            assert_eq!(what(&head), expected);
        }
    }

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
