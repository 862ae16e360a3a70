//! Writing of a whole file. Its elements are given in C order, in pieces of any size.

use std::path::Path;

use sciformats_core::arith::increase;
use sciformats_core::storage::{Durability, Replacement};
use sciformats_core::{Error, Result, WriteAt};

use crate::element::Element;
use crate::spec::{DType, Header};

/// The size up to which elements are collected before they are written, in bytes.
const BUFFER: usize = 1 << 17;

/// A file that is being written. It appears at its path when it is complete.
///
/// ```
/// use npy::{DType, Element, Reader, Writer};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("u.npy");
/// let mut writer = Writer::create(&path, f32::dtype(), &[2, 3])?;
/// writer.write(&[1.0f32, 2.0, 3.0])?; // a row
/// writer.write(&[4.0f32, 5.0, 6.0])?;
/// assert!(!path.exists()); // not before it is complete
/// writer.finish()?;
/// assert_eq!(Reader::open(&path)?.read::<f32>()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// # Ok::<(), npy::Error>(())
/// ```
#[derive(Debug)]
pub struct Writer {
    file: Replacement,
    header: Header,
    /// The number of bytes that were written, without those in the buffer.
    at: u64,
    waiting: Vec<u8>,
    /// The number of bytes of elements that are still missing.
    missing: u64,
}

impl Writer {
    /// Creates a file for an array of `shape`, the slowest varying dimension first. The file must not exist yet.
    ///
    /// # Errors
    /// `Io`, also if the file exists; `Usage` if the array has 2^64 bytes or more; `Unsupported` for Python objects.
    pub fn create(path: impl AsRef<Path>, dtype: DType, shape: &[u64]) -> Result<Self> {
        Self::start(dtype, shape, || Replacement::create_new(path))
    }

    /// Does the same as [`create`](Self::create), but replaces an existing file, which stays until the new one is complete.
    ///
    /// ```
    /// use npy::{Element, Reader, Writer};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("u.npy");
    /// for value in [1u8, 2] {
    ///     let mut writer = Writer::overwrite(&path, u8::dtype(), &[1])?;
    ///     writer.write(&[value])?;
    ///     writer.finish()?;
    /// }
    /// assert_eq!(Reader::open(&path)?.read::<u8>()?, [2]);
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`create`](Self::create), except that the file may exist.
    pub fn overwrite(path: impl AsRef<Path>, dtype: DType, shape: &[u64]) -> Result<Self> {
        Self::start(dtype, shape, || Replacement::create(path))
    }

    fn start(dtype: DType, shape: &[u64], file: impl FnOnce() -> Result<Replacement>) -> Result<Self> {
        if dtype.has_objects() {
            return Err(Error::unsupported("writing an array of Python objects"));
        }
        let header = Header::new(dtype, shape);
        let wide = || Error::usage("shape", "has more than 2^64 bytes");
        let missing = header.stored_size().ok_or_else(wide)?;
        let waiting = header.to_bytes()?;
        Ok(Self { file: file()?, header, at: 0, waiting, missing })
    }

    /// Writes the next elements.
    ///
    /// # Errors
    /// `Usage` if `T` is not the type of the elements, or if there are more elements than the array has; `Io`.
    pub fn write<T: Element>(&mut self, elements: &[T]) -> Result<()> {
        if T::dtype() != self.header.dtype {
            let problem =
                format!("is {}, but the elements of the array are {}", T::dtype(), self.header.dtype);
            return Err(Error::usage("element type", problem));
        }
        let mut bytes = Vec::new();
        for part in elements.chunks(BUFFER / size_of::<u64>()) {
            bytes.clear();
            part.iter().for_each(|element| element.put(&mut bytes));
            self.write_bytes(&bytes)?;
        }
        Ok(())
    }

    /// Writes the next elements, given as bytes of the array's type.
    ///
    /// ```
    /// use npy::{DType, Reader, Writer};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("stars.npy");
    /// let mut writer = Writer::create(&path, DType::parse("[('id', '|u1'), ('name', '|S4')]")?, &[2])?;
    /// writer.write_bytes(b"\x01Vega\x02Mira")?;
    /// writer.finish()?;
    /// assert_eq!(Reader::open(&path)?.len(), 2);
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if there are more bytes than the array has; `Io`.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let more = || Error::usage("elements", "are more than the array can hold");
        let missing = self.missing.checked_sub(bytes.len() as u64).ok_or_else(more)?;
        if self.waiting.len() >= BUFFER || bytes.len() >= BUFFER {
            self.flush()?;
        }
        if bytes.len() < BUFFER {
            self.waiting.extend_from_slice(bytes);
        } else {
            self.file.write_at(self.at, bytes)?;
            increase(&mut self.at, bytes.len() as u64)?;
        }
        self.missing = missing;
        Ok(())
    }

    /// Completes the file, which then appears at its path.
    ///
    /// # Errors
    /// `Usage` if elements are missing; `Io`. There is no new file then, and an existing one is unchanged.
    pub fn finish(mut self) -> Result<()> {
        if self.missing > 0 {
            let problem = format!("are incomplete: {} bytes are missing", self.missing);
            return Err(Error::usage("elements", problem));
        }
        self.flush()?;
        self.file.finish(Durability::Process)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_at(self.at, &self.waiting)?;
        increase(&mut self.at, self.waiting.len() as u64)?;
        self.waiting.clear();
        Ok(())
    }
}

/// Writes an array of `shape`, the slowest varying dimension first. An existing file is replaced.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("u.npy");
/// npy::write(&path, &[2, 2], &[1.0f64, 2.0, 3.0, 4.0])?;
/// assert_eq!(npy::Reader::open(&path)?.shape(), [2, 2]);
/// # Ok::<(), npy::Error>(())
/// ```
///
/// # Errors
/// `Usage` if the number of elements does not agree with `shape`; `Io`.
pub fn write<T: Element>(path: impl AsRef<Path>, shape: &[u64], elements: &[T]) -> Result<()> {
    let mut writer = Writer::overwrite(path, T::dtype(), shape)?;
    writer.write(elements)?;
    writer.finish()
}

/// Returns the bytes of a file with an array of `shape`, the slowest varying dimension first.
///
/// ```
/// let bytes = npy::to_bytes(&[3], &[1u8, 2, 3])?;
/// assert_eq!((bytes.len(), &bytes[128..]), (131, &[1, 2, 3][..]));
/// # Ok::<(), npy::Error>(())
/// ```
///
/// # Errors
/// `Usage` if the number of elements does not agree with `shape`.
pub fn to_bytes<T: Element>(shape: &[u64], elements: &[T]) -> Result<Vec<u8>> {
    let header = Header::new(T::dtype(), shape);
    if header.elements() != Some(elements.len() as u64) {
        return Err(Error::usage(
            "shape",
            format!("does not agree with the {} elements that are given", elements.len()),
        ));
    }
    let mut out = header.to_bytes()?;
    elements.iter().for_each(|element| element.put(&mut out));
    Ok(out)
}
