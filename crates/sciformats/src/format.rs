//! The five formats and NumPy's, which are recognised by their contents, and formats of the caller.

use std::fmt;
use std::path::Path;

use sciformats_core::ReadAt;
use sciformats_core::bound;
use sciformats_core::storage::FileStorage;

use crate::{Name, Result};

/// A scientific file format.
///
/// ```
/// use sciformats::Format;
///
/// assert_eq!((Format::Hdf5.to_string(), Format::Hdf5.word()), ("HDF5".into(), "hdf5"));
/// assert_eq!(Format::detect(&b"#ASDF 1.0.0\n".to_vec())?, Some(Format::Asdf));
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// Hierarchical Data Format 5.
    Hdf5,
    /// Advanced Scientific Data Format.
    Asdf,
    /// Blosc2 frames: contiguous, sparse (a folder), and n-dimensional arrays in them.
    Blosc2,
    /// General Simulation Data.
    Gsd,
    /// RawArray.
    RawArray,
    /// NumPy's `.npy`, which is not one of the five formats but is often used to exchange arrays.
    Npy,
    /// A format of the caller, with the word that it was [registered](crate::Registered) with.
    Other(&'static str),
}

/// The number of bytes that are examined to recognise a format whose signature is at the start of the file.
const HEAD: u64 = 16;

impl Format {
    /// All built-in formats.
    pub const ALL: [Self; 6] = [Self::Hdf5, Self::Asdf, Self::Blosc2, Self::Gsd, Self::RawArray, Self::Npy];

    /// Returns the format of the bytes in `storage` by their signature; `None` if it has none of these
    /// formats.
    ///
    /// ```
    /// use sciformats::Format;
    ///
    /// assert_eq!(Format::detect(&b"rawarray\0\0\0\0".to_vec())?, Some(Format::RawArray));
    /// assert_eq!(Format::detect(&b"a text".to_vec())?, None);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Io`.
    pub fn detect(storage: &dyn ReadAt) -> Result<Option<Self>> {
        let size = bound::addressable(storage.size().min(HEAD));
        let head = storage.read_at(0, size)?;
        let found = Self::ALL.into_iter().find(|format| format.begins(&head));
        if found.is_some() {
            return Ok(found);
        }
        // An HDF5 file may follow a user block; its signature is then at 512, 1024, 2048 …
        let mut offset = 512u64;
        while offset.checked_add(8).is_some_and(|end| end <= storage.size()) {
            if *storage.read_at(offset, 8)? == HDF5[..] {
                return Ok(Some(Self::Hdf5));
            }
            offset *= 2;
        }
        Ok(None)
    }

    /// Returns the format of the file at `path`, or of a folder that is one file, such as a sparse Blosc2
    /// frame.
    ///
    /// ```
    /// use sciformats::Format;
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("u.npy");
    /// # sciformats::npy::write(&path, &[2, 2], &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(Format::of_path(&path)?, Some(Format::Npy)); // whatever its name
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Io`.
    pub fn of_path(path: impl AsRef<Path>) -> Result<Option<Self>> {
        let path = path.as_ref();
        if path.is_dir() {
            return Ok(path.join("chunks.b2frame").is_file().then_some(Self::Blosc2));
        }
        Self::detect(&FileStorage::open(path)?)
    }

    fn begins(self, head: &[u8]) -> bool {
        match self {
            Self::Hdf5 => head.starts_with(&HDF5),
            Self::Asdf => head.starts_with(b"#ASDF "),
            // This is a MessagePack array with 13 or 14 entries, of which the first is the string `b2frame`
            // with a NUL.
            Self::Blosc2 => head.get(2..10).is_some_and(|magic| magic == b"b2frame\0"),
            Self::Gsd => head.starts_with(&0x65DF_65DF_65DF_65DF_u64.to_le_bytes()),
            Self::RawArray => head.starts_with(b"rawarray"),
            Self::Npy => npy::is_npy(head),
            Self::Other(_) => false,
        }
    }

    /// Returns the format that files with such a name usually have. This is only a hint for messages;
    /// [`detect`](Self::detect) determines the format of a file.
    ///
    /// ```
    /// use sciformats::Format;
    /// use std::path::Path;
    ///
    /// assert_eq!(Format::expected_of(Path::new("run.nc")), Some(Format::Hdf5));
    /// assert_eq!(Format::expected_of(Path::new("run.dat")), None);
    /// ```
    pub fn expected_of(path: &Path) -> Option<Self> {
        Some(match path.extension()?.to_str()? {
            "h5" | "hdf5" | "hdf" | "he5" | "nc" | "nxs" => Self::Hdf5,
            "asdf" => Self::Asdf,
            "b2nd" | "b2frame" | "b2f" => Self::Blosc2,
            "gsd" => Self::Gsd,
            "ra" => Self::RawArray,
            "npy" => Self::Npy,
            _ => return None,
        })
    }

    /// Returns whether an attribute with this name only describes how an array is stored, which its type,
    /// shape and elements already say: the metalayer of Blosc2 that turns a frame into an array.
    pub fn is_storage(self, attribute: &Name) -> bool {
        self == Self::Blosc2 && matches!(attribute.as_bytes(), b"meta:b2nd" | b"meta:caterva")
    }

    /// Returns the word of the format in manifests and cargo features: `hdf5`, `asdf`, `blosc2`, `gsd`,
    /// `rawarray`; `npy`, which is always built in; or the word that the caller
    /// [registered](crate::Registered).
    pub fn word(self) -> &'static str {
        match self {
            Self::Hdf5 => "hdf5",
            Self::Asdf => "asdf",
            Self::Blosc2 => "blosc2",
            Self::Gsd => "gsd",
            Self::RawArray => "rawarray",
            Self::Npy => "npy",
            Self::Other(word) => word,
        }
    }
}

const HDF5: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// Prints the name of the format for people. A format of the caller is printed as its word.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Hdf5 => "HDF5",
            Self::Asdf => "ASDF",
            Self::Blosc2 => "Blosc2",
            Self::Gsd => "GSD",
            Self::RawArray => "RawArray",
            Self::Npy => "npy",
            Self::Other(word) => word,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures() {
        let table: [(&[u8], Option<Format>); 10] = [
            (b"\x93NUMPY\x01\0", Some(Format::Npy)),
            (b"\x89HDF\r\n\x1a\n\0", Some(Format::Hdf5)),
            (b"#ASDF 1.0.0\n", Some(Format::Asdf)),
            (b"#ASDFOO", None),
            (b"\x9e\xa8b2frame\0\xd2\0\0", Some(Format::Blosc2)),
            (b"\xDF\x65\xDF\x65\xDF\x65\xDF\x65\0", Some(Format::Gsd)),
            (b"rawarray\0", Some(Format::RawArray)),
            (b"rawarra", None),
            (b"", None),
            (b"\x89HDF\r\n\x1a\r", None),
        ];
        for (bytes, expected) in table {
            assert_eq!(Format::detect(&bytes.to_vec()).unwrap(), expected, "{bytes:?}");
        }
    }

    #[test]
    fn hdf5_after_a_user_block() {
        for (offset, expected) in [(512, true), (1024, true), (1536, false), (65536, true)] {
            let mut bytes = vec![b' '; offset];
            bytes.extend(HDF5);
            assert_eq!(Format::detect(&bytes).unwrap().is_some(), expected, "{offset}");
        }
    }
}
