//! Opens files: the format is recognised by the contents, and its adapter then reads the file.

use std::path::Path;
use std::sync::Arc;

use sciformats_core::error::Within;
use sciformats_core::storage::FileStorage;
use sciformats_core::{Error, Fault, ReadAt};

use super::{File, Opened, Storage};
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
    ///
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
    ///
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
        Self::of_path(path, options).within(Some(path), None)
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
    ///
    /// As [`crate::open_with`].
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::from_storage(bytes.into(), &OpenOptions::default())
    }

    /// Opens a file in a storage of the caller, for example one that is remote, or a part of another file.
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
    ///
    /// As [`crate::open_with`].
    pub fn from_storage(storage: impl ReadAt + 'static, options: &OpenOptions) -> Result<Self> {
        Recognised::of(&storage, options)?.open(Arc::new(storage), None, options)
    }

    /// Creates an open file without a path; `cut` is the original size if the file was cut short.
    fn of_path(path: &Path, options: &OpenOptions) -> Result<Self> {
        // The same handle is used to recognise the file and to read it.
        let file = FileStorage::open(path)?;
        let opened = file.file().metadata().ok().map(|metadata| Opened::of(path, &metadata));
        let recognised = Recognised::of(&file, options)?;
        let found = recognised.open(options.access.of(&file)?, Some(path), options)?;
        Ok(Self { opened, ..found.at(path) })
    }

    fn of(source: Box<dyn Source>, size: u64, cut: Option<u64>, options: &OpenOptions) -> Self {
        Self {
            source: source.into(),
            storage: None,
            path: None,
            opened: None,
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

    /// Returns whether each read that is not prepared by [`ahead`](Self::ahead) may cost a round trip to a server.
    ///
    /// ```
    /// use sciformats::{File, OpenOptions};
    ///
    /// let bytes = sciformats::npy::to_bytes(&[2], &[1.5f32, 2.5])?;
    /// assert!(!File::from_storage(bytes, &OpenOptions::default())?.is_far());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn is_far(&self) -> bool {
        self.far
    }

    fn at(self, path: &Path) -> Self {
        Self { path: Some(path.to_path_buf()), ..self }
    }
}

impl<S: Source + 'static> From<S> for File {
    fn from(source: S) -> Self {
        // The size of a storage in memory is never in doubt.
        Self::of(Box::new(source), 0, None, &OpenOptions::default().with_unfolded(u64::MAX))
    }
}

/// The format that recognised a file.
enum Recognised<'o> {
    Own(Format),
    Callers(&'o Registered),
}

impl<'o> Recognised<'o> {
    /// Formats of the caller come first, because one of them may be a special kind of another format.
    fn of(storage: &dyn ReadAt, options: &'o OpenOptions) -> Result<Self> {
        for registered in &options.formats {
            if registered.detects(storage)? {
                return Ok(Self::Callers(registered));
            }
        }
        let format = Format::detect(storage)?;
        format
            .map(Self::Own)
            .ok_or_else(|| Error::not_this_format("HDF5, ASDF, Blosc2, GSD, RawArray or npy", storage))
    }

    fn open(self, storage: Storage, path: Option<&Path>, options: &OpenOptions) -> Result<File> {
        let (size, far) = (storage.size(), storage.read_ahead() > 0);
        let format = match self {
            Self::Own(format) => format,
            Self::Callers(registered) => {
                let source = registered.open(Opening { storage, path, options })?;
                return Ok(File::of(source, size, None, options));
            }
        };
        let strict = OpenOptions { cut: false, ..options.clone() };
        match formats::open(format, Arc::clone(&storage), path, &strict) {
            Err(Error::Malformed { structure, offset, fault, .. }) => {
                Damage { structure, offset, fault }.open((format, storage), path, options)
            }
            opened => Ok(File { far, storage: Some(storage), ..File::of(opened?, size, None, options) }),
        }
    }
}

/// The reason why a file could not be opened.
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

    /// Opens the remaining part of a file, if the options permit it and there is something left.
    fn open(
        self,
        (format, storage): (Format, Storage),
        path: Option<&Path>,
        options: &OpenOptions,
    ) -> Result<File> {
        let size = storage.size();
        let whole = cut::whole(&*storage, format).filter(|&whole| whole > size);
        let error = || whole.map_or_else(|| self.error(), |whole| cut::error(size, whole));
        // The chunks of a frame can be found without its end, even if the end is missing or damaged.
        let source = match whole {
            _ if !options.cut => return Err(error()),
            _ if format == Format::Blosc2 => {
                formats::open(format, Arc::clone(&storage), path, options).map_err(|_| error())?
            }
            Some(whole) => Cut::open((format, Arc::clone(&storage)), whole, options)?,
            None => return Err(error()),
        };
        let damage = if whole.is_none() { Some(self) } else { None };
        Ok(File { damage, storage: Some(storage), ..File::of(source, size, whole, options) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_bytes_are_refused() {
        let error = File::from_bytes([0u8; 9]).unwrap_err();
        assert!(matches!(error, Error::NotThisFormat { .. }));
        assert!(File::open("no such file").is_err());
    }
}
