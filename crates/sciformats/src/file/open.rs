//! Opening: a file is recognised by its contents, and then read by the adapter of its format.

use std::path::Path;
use std::sync::Arc;

use sciformats_core::storage::FileStorage;
use sciformats_core::{Error, Fault, ReadAt};

use super::{File, Storage};
use crate::cut::{self, Cut};
use crate::options::OpenOptions;
use crate::registered::{Opening, Registered};
use crate::source::Source;
use crate::{Format, Result, formats};

impl File {
    /// Opens the file at `path`; see [`crate::open`].
    ///
    /// ```no_run
    /// let file = sciformats::File::open("run.h5")?;
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`crate::open_with`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// As [`open`](Self::open), with options.
    ///
    /// ```no_run
    /// use sciformats::{File, OpenOptions};
    ///
    /// let file = File::open_with("run.h5", &OpenOptions::default().with_threads(1))?;
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`crate::open_with`].
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        if path.is_dir() {
            let Some(format) = Format::of_path(path)? else {
                return Err(Error::io("open", std::io::ErrorKind::IsADirectory.into()).in_file(path, None));
            };
            let (source, size) = formats::open_folder(format, path, options)?;
            return Ok(Self::of(source, size, None, options).at(path));
        }
        // One handle, by which the file is recognised and then read.
        let file = FileStorage::open(path)?;
        let recognised = Recognised::of(&file, options)?;
        Ok(recognised.open(options.access.of(&file)?, Some(path), options)?.at(path))
    }

    /// Opens a file that is in memory.
    ///
    /// ```
    /// use sciformats::File;
    ///
    /// let bytes = sciformats::npy::to_bytes(&[2], &[1.5f32, 2.5])?;
    /// assert_eq!(File::from_bytes(bytes)?.array("/")?.read::<f64>()?, [1.5, 2.5]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`crate::open_with`].
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::from_storage(bytes.into(), &OpenOptions::default())
    }

    /// Opens a file that is in a storage of the caller's: somewhere else, or in a part of another file.
    ///
    /// ```
    /// use sciformats::{File, OpenOptions};
    ///
    /// let bytes = sciformats::npy::to_bytes(&[2], &[1.5f32, 2.5])?;
    /// let file = File::from_storage(bytes, &OpenOptions::default().with_threads(1))?;
    /// assert_eq!(file.array("/")?.read::<f64>()?, [1.5, 2.5]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`crate::open_with`].
    pub fn from_storage(storage: impl ReadAt + 'static, options: &OpenOptions) -> Result<Self> {
        Recognised::of(&storage, options)?.open(Arc::new(storage), None, options)
    }

    /// An open file without a path; `cut` is the size that it had before it was cut short.
    fn of(source: Box<dyn Source>, size: u64, cut: Option<u64>, options: &OpenOptions) -> Self {
        Self {
            source: source.into(),
            path: None,
            size,
            cut,
            damage: None,
            options: options.clone(),
            read: Arc::default(),
            far: false,
            #[cfg(feature = "remote")]
            remote: None,
        }
    }

    pub(crate) fn is_far(&self) -> bool {
        self.far
    }

    fn at(self, path: &Path) -> Self {
        Self { path: Some(path.to_path_buf()), ..self }
    }
}

impl<S: Source + 'static> From<S> for File {
    fn from(source: S) -> Self {
        // What the caller has in memory is not doubted.
        Self::of(Box::new(source), 0, None, &OpenOptions::default().with_unfolded(u64::MAX))
    }
}

/// Whose file it is.
enum Recognised<'o> {
    Own(Format),
    Callers(&'o Registered),
}

impl<'o> Recognised<'o> {
    /// Formats of the caller's come first: theirs may be a kind of one of the others.
    fn of(storage: &dyn ReadAt, options: &'o OpenOptions) -> Result<Self> {
        for registered in &options.formats {
            if registered.detects(storage)? {
                return Ok(Self::Callers(registered));
            }
        }
        let format = Format::detect(storage)?;
        format.map(Self::Own).ok_or_else(|| {
            Error::unsupported("a file that is none of HDF5, ASDF, Blosc2, GSD, RawArray and npy")
        })
    }

    fn open(self, storage: Storage, path: Option<&Path>, options: &OpenOptions) -> Result<File> {
        let (size, far) = (storage.len(), storage.read_ahead() > 0);
        let format = match self {
            Self::Own(format) => format,
            Self::Callers(registered) => {
                let source = registered.open(Opening { storage, path, options })?;
                return Ok(File::of(source, size, None, options));
            }
        };
        let strict = OpenOptions { cut: false, ..options.clone() };
        match formats::open(format, Arc::clone(&storage), path, &strict) {
            Err(Error::Malformed { structure, offset, fault }) => {
                Damage { structure, offset, fault }.open((format, storage), path, options)
            }
            opened => Ok(File { far, ..File::of(opened?, size, None, options) }),
        }
    }
}

/// Why a file could not be opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Damage {
    structure: &'static str,
    offset: u64,
    fault: Fault,
}

impl Damage {
    pub(super) fn error(self) -> Error {
        self.fault.at(self.structure, self.offset)
    }

    /// Opens what is left of the file, if the options allow it and something is.
    fn open(
        self,
        (format, storage): (Format, Storage),
        path: Option<&Path>,
        options: &OpenOptions,
    ) -> Result<File> {
        let size = storage.len();
        let whole = cut::whole(&*storage, format).filter(|&whole| whole > size);
        let error = || whole.map_or_else(|| self.error(), |whole| cut::error(size, whole));
        // The chunks of a frame can be found without its end, whether that is missing or damaged.
        let source = match whole {
            _ if !options.cut => return Err(error()),
            _ if format == Format::Blosc2 => {
                formats::open(format, storage, path, options).map_err(|_| error())?
            }
            Some(whole) => Cut::open((format, storage), whole, options)?,
            None => return Err(error()),
        };
        let damage = if whole.is_none() { Some(self) } else { None };
        Ok(File { damage, ..File::of(source, size, whole, options) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_bytes_are_refused() {
        let error = File::from_bytes([0u8; 9]).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }));
        assert!(File::open("no such file").is_err());
    }
}
