//! Recognises what a file is that a reader refuses, by its first bytes, and says what to do with it. Errors use it; nothing is
//! read by it, which is why the names of formats may be here although the core reads none of them.

use std::fmt;

use crate::error::{Error, Place};
use crate::{ReadAt, bound};

/// What a file seems to be.
///
/// ```
/// use sciformats_core::Foreign;
///
/// let archive = Foreign::of(b"\x1f\x8b\x08\0").unwrap();
/// assert_eq!(archive.to_string(), "compressed with gzip (`gunzip` unpacks it)");
/// assert_eq!(Foreign::of(&[0xde, 0xad, 0xbe, 0xef]), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Foreign {
    /// What it is: the text completes "it is …".
    pub what: &'static str,
    /// What to do with it, in which `FILE` stands for its name; `None` for a format of this family of libraries.
    pub step: Option<&'static str>,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)?;
        self.step.map_or(Ok(()), |step| write!(f, " ({step})"))
    }
}

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
    (0, b"PAR1", "Parquet", TABLE),
    (0, b"ARROW1", "an Arrow file", TABLE),
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

/// The next step for a table of another program.
const TABLE: &str = "`sciformats sql` and `sciformats convert FILE out.h5` read it";

const CLASSIC: &str = "classic netCDF";
const NC4: &str = "`nccopy -k nc4 FILE new.nc` converts it to netCDF-4, which is HDF5";

/// The first bytes of our formats, their names, and what a file is that ends within these bytes.
const OURS: &[(usize, &[u8], &str, &str)] = &[
    (0, b"\x89HDF\r\n\x1a\n", "HDF5", "only the first bytes of HDF5"),
    (0, b"#ASDF ", "ASDF", "only the first bytes of ASDF"),
    (2, b"b2frame\0", "a frame of Blosc2", "only the first bytes of a frame of Blosc2"),
    (0, b"\xDF\x65\xDF\x65\xDF\x65\xDF\x65", "GSD", "only the first bytes of GSD"),
    (0, b"rawarray", "RawArray", "only the first bytes of RawArray"),
    (0, b"\x93NUMPY", "npy", "only the first bytes of npy"),
];

const DOWNLOAD: &str = "copy or download it again";

impl Foreign {
    /// The number of bytes at the start that are examined; `ustar` of a tar archive comes last.
    pub const HEAD: u64 = 600;

    /// Tells what a file is that begins with these bytes, of which [`HEAD`](Self::HEAD) suffice.
    pub fn of(head: &[u8]) -> Option<Self> {
        let told = |what, step| Some(Self { what, step: Some(step) });
        if head.is_empty() {
            return told("empty", "writing or copying it was probably interrupted");
        }
        if let Some(rest) = head.strip_prefix(b"PK\x03\x04") {
            // The name of the first member is at byte 30 of the archive, and its length at byte 26.
            let name = rest.get(26..).unwrap_or_default();
            let length = rest.get(22..).and_then(<[u8]>::first_chunk);
            let length = length.map_or(0, |two| usize::from(u16::from_le_bytes(*two)));
            let name = name.get(..length).unwrap_or(name);
            return if name.ends_with(b".npy") {
                told("an archive of NumPy (npz)", "`unzip` unpacks it; each .npy in it can be read")
            } else {
                told("a zip archive", "`unzip` unpacks it")
            };
        }
        let begins =
            |offset: usize, bytes: &[u8]| head.get(offset..).is_some_and(|rest| rest.starts_with(bytes));
        if let Some((_, _, what, _)) = OURS.iter().find(|(offset, bytes, ..)| begins(*offset, bytes)) {
            return Some(Self { what, step: None });
        }
        if let Some((_, _, what, step)) = SIGNATURES.iter().find(|(offset, bytes, ..)| begins(*offset, bytes))
        {
            return told(what, step);
        }
        if let Some((.., cut)) =
            OURS.iter().find(|(offset, bytes, ..)| *offset == 0 && bytes.starts_with(head))
        {
            return told(cut, DOWNLOAD);
        }
        if head.iter().all(|&byte| byte == 0) {
            return told("filled with zeros at its start", DOWNLOAD);
        }
        text(head)
    }

    /// Does the same for a file in a storage; `None` also if it cannot be read.
    pub fn in_storage(storage: &(impl ReadAt + ?Sized)) -> Option<Self> {
        Self::of(&storage.read_at(0, bound::addressable(storage.size().min(Self::HEAD))).ok()?)
    }
}

impl Error {
    /// Creates an [`Error::NotThisFormat`] for a file that lacks the signature of the expected format.
    ///
    /// ```
    /// use sciformats_core::{Blame, Error};
    ///
    /// let error = Error::not_this_format("GSD", &b"CDF\x01\0\0\0\0".to_vec());
    /// assert_eq!(error.to_string(), "the file is not GSD; it is classic netCDF");
    /// assert_eq!(error.blame(), Blame::File);
    /// ```
    #[cold]
    pub fn not_this_format(expected: &'static str, storage: &(impl ReadAt + ?Sized)) -> Self {
        // A file that begins like the expected format is damaged rather than foreign, so no other format is named.
        let found = Foreign::in_storage(storage).filter(|found| found.what != expected);
        Self::NotThisFormat { expected, found, place: Place::default() }
    }
}

/// Describes a text file.
fn text(head: &[u8]) -> Option<Foreign> {
    let told = |what, step| Some(Foreign { what, step: Some(step) });
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
    // The last character may be cut.
    let whole = |begin: &[u8]| std::str::from_utf8(begin).map_or_else(|e| e.error_len().is_none(), |_| true);
    let words = head.iter().all(printed) && whole(head.get(..head.len().min(256))?);
    if words { told("text", "perhaps a message in place of the file, so look at it") } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(bytes: &[u8]) -> &'static str {
        Foreign::of(bytes).map_or("?", |found| found.what)
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
    fn characters_are_cut_where_the_examined_bytes_end() {
        for before in 253..257 {
            let text = format!("{}\u{1F30D} and so on", "a".repeat(before));
            assert_eq!(what(text.as_bytes()), "text", "{before}");
        }
        assert_eq!(what(b"text in Latin-1: \xe9t\xe9"), "?");
    }

    #[test]
    fn a_file_of_another_format_of_ours() {
        let error = Error::not_this_format("npy", &b"rawarray\0\0".to_vec());
        assert!(
            matches!(error, Error::NotThisFormat { found: Some(Foreign { what: "RawArray", .. }), .. }),
            "{error}"
        );
        assert_eq!(Error::not_this_format("npy", &vec![]).to_string(), "the file is not npy; it is empty");
    }
}
