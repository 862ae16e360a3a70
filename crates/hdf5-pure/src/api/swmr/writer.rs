//! Writing while others read.

use std::borrow::Cow;
use std::path::Path;

use sciformats_core::commit;
use sciformats_core::storage::{Durability, FileStorage};
use sciformats_core::{Conversion, Error, Result, Slab};

use crate::api::editor::lock;
use crate::api::writer::elements::appended;
use crate::change::append::LiveFile;
use crate::file::options::OpenOptions;
use crate::group::path::{self, Found};
use crate::heap::global::GlobalHeapWriter;
use crate::object::bound::Bound;
use crate::space::output::Storage;
use crate::value::store::{self, Elsewhere, Store};

/// An existing file whose datasets grow while others read them.
///
/// Groups, datasets and attributes are made before, by a [`Writer`](crate::Writer) with [`Bound::V110`] or a later one, or
/// by another library. Here datasets get elements. A [`flush`](Self::flush) lets readers see them: chunks, then the index
/// of the chunks, then the new shape, each complete before what leads to it. A process that is killed leaves what the last
/// flush showed, and marks in the superblock; [`take_over`](Self::take_over) goes on in such a file, and the C library's
/// `h5clear -s` takes the marks away.
///
/// Space that a reader may know is not used again. What is filtered and flushed before its chunk is full is therefore
/// stored once more with each flush, and version 2 B-trees leave some KiB with each flush behind.
///
/// ```
/// use hdf5_pure::swmr::SwmrWriter;
/// use hdf5_pure::{File, Writer};
///
/// # fn main() -> hdf5_pure::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("run.h5");
/// let mut file = Writer::create(&path)?;
/// file.dataset("energy").shape([0]).max_shape([None]).chunks([1024]).create::<f64>()?;
/// file.finish()?;
///
/// let mut run = SwmrWriter::open(&path)?;
/// for step in 0..3 {
///     run.dataset("energy")?.append(&[f64::from(step), 0.5])?;
///     run.flush()?; // now others see it
/// }
/// run.close()?;
/// assert_eq!(File::open(&path)?.dataset("energy")?.read::<f64>()?, [0.0, 0.5, 1.0, 0.5, 2.0, 0.5]);
/// # Ok(())
/// # }
/// ```
pub struct SwmrWriter {
    file: LiveFile,
    heap: GlobalHeapWriter,
}

impl std::fmt::Debug for SwmrWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SwmrWriter").finish_non_exhaustive()
    }
}

impl SwmrWriter {
    /// Opens the file at `path`, and marks it as one that is written and may be read meanwhile.
    ///
    /// ```
    /// use hdf5_pure::File;
    /// use hdf5_pure::swmr::SwmrWriter;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).chunks([64, 3]).create::<f32>()?;
    /// # made.finish()?;
    /// let mut run = SwmrWriter::open(&path)?;
    /// run.dataset("position")?.append(&[0.0f32, 0.5, 1.0])?;
    /// run.close()?;
    /// assert_eq!(File::open(&path)?.dataset("position")?.shape(), Some(&[1, 3][..]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`, `Malformed`; [`Error::Usage`] if another writes to it, or was killed as it did; `Unsupported` if its superblock
    /// is older than version 3.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// As [`open`](Self::open), with limits and filters of the caller's.
    ///
    /// ```
    /// use hdf5_pure::swmr::SwmrWriter;
    /// use hdf5_pure::{Limits, OpenOptions};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).chunks([64, 3]).create::<f32>()?;
    /// # made.finish()?;
    /// let options = OpenOptions::default().with_limits(Limits::default().with_memory(1 << 30));
    /// let mut run = SwmrWriter::open_with(&path, &options)?;
    /// assert_eq!(run.dataset("position")?.shape()?, [0, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        Self::at(path.as_ref(), options, false)
    }

    /// As [`open_with`](Self::open_with), whatever marks are in the file. That no other writer is alive, the caller knows.
    ///
    /// ```
    /// use hdf5_pure::OpenOptions;
    /// use hdf5_pure::swmr::SwmrWriter;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).chunks([64, 3]).create::<f32>()?;
    /// # made.finish()?;
    /// std::mem::forget(SwmrWriter::open(&path)?); // as if it were killed
    /// assert!(SwmrWriter::open(&path).is_err());
    /// let mut run = SwmrWriter::take_over(&path, &OpenOptions::default())?;
    /// run.dataset("position")?.append(&[0.0f32, 0.5, 1.0])?;
    /// run.close()?;
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn take_over(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        Self::at(path.as_ref(), options, true)
    }

    fn at(path: &Path, options: &OpenOptions, take_over: bool) -> Result<Self> {
        let _held = commit::Session::open_with(path, lock::lock)?;
        // Those who read take a lock as they open the file, and would be refused: it is let go at the end, when the marks
        // keep other writers out.
        let file = LiveFile::over(Box::new(FileStorage::edit(path)?), options, take_over)?;
        Ok(Self { file, heap: GlobalHeapWriter::new() })
    }

    /// As [`open_with`](Self::open_with), for a file in a storage.
    ///
    /// ```
    /// use hdf5_pure::swmr::SwmrWriter;
    /// use hdf5_pure::{CreateOptions, OpenOptions, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("energy").shape([0]).max_shape([None]).chunks([64]).create::<f64>()?;
    /// let mut run = SwmrWriter::in_storage(Box::new(file.into_bytes()?), &OpenOptions::default())?;
    /// assert_eq!(run.dataset("energy")?.append(&[0.5, 0.25])?.shape()?, [2]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn in_storage(storage: Box<dyn Storage>, options: &OpenOptions) -> Result<Self> {
        let file = LiveFile::over(storage, options, false)?;
        Ok(Self { file, heap: GlobalHeapWriter::new() })
    }

    /// The dataset at `path`, to write to.
    ///
    /// ```
    /// use hdf5_pure::swmr::SwmrWriter;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).chunks([64, 3]).create::<f32>()?;
    /// # made.finish()?;
    /// let mut run = SwmrWriter::open(&path)?;
    /// let mut position = run.dataset("position")?;
    /// position.append(&[0.0f32, 0.5, 1.0])?.append(&[0.1f32, 0.6, 1.1])?;
    /// assert_eq!(position.shape()?, [2, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`]; `Unsupported` where readers could not follow: elements of variable length, compact, virtual and
    /// external storage, chunks in a version 1 B-tree, and some rare ways to store chunks.
    pub fn dataset(&mut self, path: &str) -> Result<SwmrDataset<'_>> {
        let opened = &self.file.opened;
        let address = match path::resolve(opened, opened.root, path.as_bytes(), &mut 0)? {
            Some(Found::Here(address)) => address,
            Some(Found::Elsewhere { .. }) => {
                return Err(Error::unsupported("writing to another file through a link"));
            }
            None => return Err(Error::not_found("object", path)),
        };
        let number = self.file.series(address)?;
        store::refuse_indirect(&self.file.get(number)?.dataset.datatype)?;
        Ok(SwmrDataset { writer: self, number })
    }

    /// Lets readers see what was written.
    ///
    /// ```
    /// use hdf5_pure::File;
    /// use hdf5_pure::swmr::SwmrWriter;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).chunks([64, 3]).create::<f32>()?;
    /// # made.finish()?;
    /// let mut run = SwmrWriter::open(&path)?;
    /// run.dataset("position")?.append(&[0.0f32, 0.5, 1.0])?;
    /// assert_eq!(File::open(&path)?.dataset("position")?.shape(), Some(&[0, 3][..]));
    /// run.flush()?;
    /// assert_eq!(File::open(&path)?.dataset("position")?.shape(), Some(&[1, 3][..]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`. Readers then see what they saw before, or some of the new elements; a later flush completes it.
    pub fn flush(&mut self) -> Result<()> {
        self.flush_with(Durability::Process)
    }

    /// As [`flush`](Self::flush), and says what the file must survive: with [`Durability::Power`] everything is synced to the
    /// device four times, in the order in which it is written.
    ///
    /// ```
    /// use hdf5_pure::Durability;
    /// use hdf5_pure::swmr::SwmrWriter;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).chunks([64, 3]).create::<f32>()?;
    /// # made.finish()?;
    /// let mut run = SwmrWriter::open(&path)?;
    /// run.dataset("position")?.append(&[0.0f32, 0.5, 1.0])?;
    /// run.flush_with(Durability::Power)?;
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn flush_with(&mut self, durability: Durability) -> Result<()> {
        self.file.flush(durability)
    }

    /// Flushes, and takes the marks away. A writer that is dropped is closed too, but does not say what went wrong.
    ///
    /// ```
    /// use hdf5_pure::File;
    /// use hdf5_pure::swmr::SwmrWriter;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).chunks([64, 3]).create::<f32>()?;
    /// # made.finish()?;
    /// let run = SwmrWriter::open(&path)?;
    /// assert_ne!(File::open(&path)?.superblock().consistency_flags, 0);
    /// run.close()?;
    /// assert_eq!(File::open(&path)?.superblock().consistency_flags, 0);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn close(mut self) -> Result<()> {
        self.file.close(Durability::Process)
    }
}

impl Drop for SwmrWriter {
    fn drop(&mut self) {
        // Nobody is left who could be told.
        let _ = self.file.close(Durability::Process);
    }
}

/// A dataset of a [`SwmrWriter`].
///
/// ```
/// use hdf5_pure::swmr::SwmrWriter;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("run.h5");
/// # let mut made = hdf5_pure::Writer::create(&path)?;
/// # made.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).chunks([64, 3]).create::<f32>()?;
/// # made.finish()?;
/// let mut run = SwmrWriter::open(&path)?;
/// for step in 0..3u8 {
///     run.dataset("position")?.append(&[f32::from(step), 0.5, 1.0])?;
///     run.flush()?;
/// }
/// assert_eq!(run.dataset("position")?.shape()?, [3, 3]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Debug)]
pub struct SwmrDataset<'w> {
    writer: &'w mut SwmrWriter,
    number: usize,
}

impl SwmrDataset<'_> {
    /// Lengths of the dimensions, what is not flushed included.
    ///
    /// # Errors
    /// None at present.
    pub fn shape(&self) -> Result<&[u64]> {
        Ok(self.writer.file.get(self.number)?.dataset.shape())
    }

    /// Lets the dataset grow to `shape`.
    ///
    /// ```
    /// use hdf5_pure::swmr::SwmrWriter;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).chunks([64, 3]).create::<f32>()?;
    /// # made.finish()?;
    /// let mut run = SwmrWriter::open(&path)?;
    /// assert_eq!(run.dataset("position")?.resize(&[100, 3])?.shape()?, [100, 3]);
    /// assert!(run.dataset("position")?.resize(&[50, 3]).is_err()); // readers know of 100
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if it passes the maximum; `Unsupported` if a dimension shrinks.
    pub fn resize(&mut self, shape: &[u64]) -> Result<&mut Self> {
        self.writer.file.grow(self.number, shape)?;
        Ok(self)
    }

    /// Writes the elements of a part of the dataset, row by row of the part.
    ///
    /// ```
    /// use hdf5_pure::swmr::SwmrWriter;
    /// use hdf5_pure::{File, Range, Slab};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).chunks([64, 3]).create::<f32>()?;
    /// # made.finish()?;
    /// let mut run = SwmrWriter::open(&path)?;
    /// let mut position = run.dataset("position")?;
    /// position.resize(&[2, 3])?;
    /// position.write_slab(&Slab::new(&[2, 3], [Range::all(2), Range::new(0, 1)])?, &[0.25f32, 0.5])?;
    /// run.close()?;
    /// let position = File::open(&path)?.dataset("position")?;
    /// assert_eq!(position.read::<f32>()?, [0.25, 0.0, 0.0, 0.5, 0.0, 0.0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if `slab` is one of another shape or the number of values is not its own;
    /// [`Error::Misfit`](crate::Error::Misfit) for a value that the dataset's type cannot hold; `Io`.
    pub fn write_slab<T: Store>(&mut self, slab: &Slab, values: &[T]) -> Result<&mut Self> {
        let bytes = self.stored(values)?;
        self.writer.file.write(self.number, slab, &bytes)?;
        Ok(self)
    }

    /// The elements as the dataset has them.
    fn stored<'v, T: Store>(&mut self, values: &'v [T]) -> Result<Cow<'v, [u8]>> {
        let datatype = &self.writer.file.get(self.number)?.dataset.datatype;
        match T::as_bytes(values).filter(|_| crate::value::convert::same(&T::datatype(), datatype)) {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => {
                let datatype = datatype.clone();
                let SwmrWriter { file, heap } = &mut *self.writer;
                let elsewhere = Elsewhere { output: &mut file.output, heap, bound: Bound::LATEST };
                store::convert(elsewhere, values, (&datatype, Conversion::Exact)).map(Cow::Owned)
            }
        }
    }

    /// Lets the dataset grow along its first dimension by the rows that `values` are, and writes them there.
    ///
    /// ```
    /// use hdf5_pure::swmr::SwmrWriter;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).chunks([64, 3]).create::<f32>()?;
    /// # made.finish()?;
    /// let mut run = SwmrWriter::open(&path)?;
    /// let mut position = run.dataset("position")?;
    /// position.append(&[0.0f32, 0.5, 1.0, 0.1, 0.6, 1.1])?; // two rows
    /// assert_eq!(position.shape()?, [2, 3]);
    /// assert!(position.append(&[0.2f32]).is_err()); // no whole row
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`append_along`](Self::append_along).
    pub fn append<T: Store>(&mut self, values: &[T]) -> Result<&mut Self> {
        self.append_along(0, values)
    }

    /// Lets the dataset grow along a dimension by as much as `values` are, and writes them there.
    ///
    /// ```
    /// use hdf5_pure::swmr::SwmrWriter;
    /// use hdf5_pure::{File, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// let mut file = Writer::create(&path)?;
    /// file.dataset("temperature").shape([2, 0]).max_shape([Some(2), None]).chunks([2, 64]).create::<f32>()?;
    /// file.finish()?;
    ///
    /// let mut run = SwmrWriter::open(&path)?;
    /// run.dataset("temperature")?.append_along(1, &[281.5f32, 280.0])?; // a column
    /// run.close()?;
    /// assert_eq!(File::open(&path)?.dataset("temperature")?.shape(), Some(&[2, 1][..]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`write_slab`](Self::write_slab); [`Error::Usage`] if values do not fill the other dimensions, or the dataset may not
    /// grow so far.
    pub fn append_along<T: Store>(&mut self, axis: usize, values: &[T]) -> Result<&mut Self> {
        let (shape, slab) = appended(self.shape()?, axis, values.len() as u64)?;
        let bytes = self.stored(values)?;
        self.resize(&shape)?;
        self.writer.file.write(self.number, &slab, &bytes)?;
        Ok(self)
    }
}
