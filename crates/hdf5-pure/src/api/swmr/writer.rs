//! Writes datasets while other processes read them.

use std::borrow::Cow;
use std::path::Path;

use sciformats_core::commit;
use sciformats_core::storage::{Durability, FileStorage};
use sciformats_core::{Conversion, Error, IntoSelection, Result, Slab};

use crate::api::editor::lock;
use crate::api::writer::elements::appended;
use crate::change::append::LiveFile;
use crate::file::options::OpenOptions;
use crate::group::path::{self, Found, Met};
use crate::heap::global::GlobalHeapWriter;
use crate::object::bound::Bound;
use crate::space::output::Storage;
use crate::value::store::{self, Elsewhere, Store};

/// An existing file whose datasets grow while other processes read them.
///
/// Groups, datasets and attributes must exist before; create them with a [`Writer`](crate::Writer) with [`Bound::V110`]
/// or later, or with another library. This writer only adds elements. A [`flush`](Self::flush) makes them visible to
/// readers. It writes the chunks first, then the chunk index, then the new shape, so that everything is complete before
/// something refers to it. If the process is killed, the file holds what the last flush made visible, and the
/// superblock stays marked. [`take_over`](Self::take_over) continues with such a file, and `h5clear -s` of the C
/// library removes the marks.
///
/// Space that a reader may still refer to is not reused. A filtered chunk that is flushed before it is full is
/// therefore stored again in a new place with each flush, and a version 2 B-tree leaves some KiB behind with each
/// flush.
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
    /// Opens the file at `path` and marks it as being written by a SWMR writer.
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
    /// assert_eq!(File::open(&path)?.dataset("position")?.shape(), [1, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Io` or `Malformed`, [`Error::Usage`] if another writer has the file open or was killed, and
    /// `Unsupported` if the superblock is older than version 3.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Works like [`open`](Self::open), with limits and filters that the caller chooses.
    ///
    /// ```
    /// use hdf5_pure::swmr::SwmrWriter;
    /// use hdf5_pure::OpenOptions;
    /// use hdf5_pure::options::Limits;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.dataset("position").shape([0, 3]).max_shape([None, Some(3)]).chunks([64, 3]).create::<f32>()?;
    /// # made.finish()?;
    /// let options = OpenOptions::default().with_limits(Limits::default().with_memory(1 << 30));
    /// let mut run = SwmrWriter::open_with(&path, &options)?;
    /// assert_eq!(run.dataset("position")?.shape(), [0, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        Self::at(path.as_ref(), options, false)
    }

    /// Works like [`open_with`](Self::open_with), but ignores the marks in the file. The caller must be sure that no
    /// other writer is running.
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
    /// Returns the errors of [`open`](Self::open).
    pub fn take_over(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        Self::at(path.as_ref(), options, true)
    }

    fn at(path: &Path, options: &OpenOptions, take_over: bool) -> Result<Self> {
        let _held = commit::Session::open_with(path, |storage| lock::lock(storage, None))?;
        // Readers lock the file when they open it, and would be refused as long as the writer's lock is held. The lock
        // is therefore released at the end of opening; from then on the marks in the superblock keep other writers out.
        let file = LiveFile::over(Box::new(FileStorage::edit(path)?), options, take_over)?;
        Ok(Self { file, heap: GlobalHeapWriter::new() })
    }

    /// Works like [`open_with`](Self::open_with), for a file in any storage.
    ///
    /// ```
    /// use hdf5_pure::swmr::SwmrWriter;
    /// use hdf5_pure::{CreateOptions, OpenOptions, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("energy").shape([0]).max_shape([None]).chunks([64]).create::<f64>()?;
    /// let mut run = SwmrWriter::in_storage(Box::new(file.into_bytes()?), &OpenOptions::default())?;
    /// assert_eq!(run.dataset("energy")?.append(&[0.5, 0.25])?.shape(), [2]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub fn in_storage(storage: Box<dyn Storage>, options: &OpenOptions) -> Result<Self> {
        let file = LiveFile::over(storage, options, false)?;
        Ok(Self { file, heap: GlobalHeapWriter::new() })
    }

    /// Returns the dataset at `path` for writing.
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
    /// assert_eq!(position.shape(), [2, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::NotFound`], and `Unsupported` for datasets that readers cannot follow: elements of variable
    /// length; compact, virtual and external storage; chunks in a version 1 B-tree; and some rare forms of chunked
    /// storage.
    pub fn dataset(&mut self, path: &str) -> Result<SwmrDataset<'_>> {
        let opened = &self.file.opened;
        let address = match path::resolve(opened, opened.root, path.as_bytes(), &mut Met::default())? {
            Some(Found::Here(address)) => address,
            Some(Found::Elsewhere { .. }) => {
                return Err(Error::unsupported("writing through an external link into another file"));
            }
            None => return Err(Error::not_found("object", path)),
        };
        let number = self.file.series(address)?;
        store::refuse_indirect(&self.file.get(number)?.dataset.datatype)?;
        let shape = self.file.get(number)?.dataset.shape().to_vec();
        Ok(SwmrDataset { writer: self, number, shape })
    }

    /// Makes everything that was written visible to readers.
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
    /// assert_eq!(File::open(&path)?.dataset("position")?.shape(), [0, 3]);
    /// run.flush()?;
    /// assert_eq!(File::open(&path)?.dataset("position")?.shape(), [1, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Io`. Readers then see the previous state or some of the new elements; a later flush completes it.
    pub fn flush(&mut self) -> Result<()> {
        self.flush_with(Durability::Process)
    }

    /// Works like [`flush`](Self::flush), with a choice of what the file must survive. With [`Durability::Power`] the
    /// data is synced to the device after each step of the flush: the chunks, the index, and the new shape.
    ///
    /// ```
    /// use hdf5_pure::options::Durability;
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
    /// Returns the errors of [`flush`](Self::flush).
    pub fn flush_with(&mut self, durability: Durability) -> Result<()> {
        self.file.flush(durability)
    }

    /// Flushes and removes the marks. A writer that is dropped is closed as well, but cannot report errors.
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
    /// Returns the errors of [`flush`](Self::flush).
    pub fn close(mut self) -> Result<()> {
        self.file.close(Durability::Process)
    }
}

impl Drop for SwmrWriter {
    fn drop(&mut self) {
        // `drop` has no way to report an error.
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
/// assert_eq!(run.dataset("position")?.shape(), [3, 3]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Debug)]
pub struct SwmrDataset<'w> {
    writer: &'w mut SwmrWriter,
    number: usize,
    shape: Vec<u64>,
}

impl SwmrDataset<'_> {
    /// Returns the length of each dimension, including rows that are not flushed yet.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Enlarges the dataset to `shape`.
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
    /// assert_eq!(run.dataset("position")?.resize(&[100, 3])?.shape(), [100, 3]);
    /// assert!(run.dataset("position")?.resize(&[50, 3]).is_err()); // readers know of 100
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if `shape` exceeds the maximum shape, and `Unsupported` if a dimension would shrink.
    pub fn resize(&mut self, shape: &[u64]) -> Result<&mut Self> {
        self.writer.file.grow(self.number, shape)?;
        self.shape = shape.to_vec();
        Ok(self)
    }

    /// Writes the elements of a part of the dataset, in C order.
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
    /// Returns [`Error::Usage`] if `slab` was made for another shape or does not have as many elements as `values`,
    /// [`Error::Misfit`](crate::Error::Misfit) for a value that the datatype cannot hold, and `Io`.
    pub fn write_slab<T: Store>(&mut self, slab: &Slab, values: &[T]) -> Result<&mut Self> {
        let bytes = self.stored(values)?;
        self.writer.file.write(self.number, slab, &bytes)?;
        Ok(self)
    }

    /// Writes a slice, which has one range or index per dimension. Negative numbers count from the end, and dimensions
    /// that are not named are taken whole.
    ///
    /// ```
    /// use hdf5_pure::File;
    /// use hdf5_pure::swmr::SwmrWriter;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.dataset("position").shape([2, 3]).unlimited().chunks([64, 3]).create::<f32>()?;
    /// # made.finish()?;
    /// let mut run = SwmrWriter::open(&path)?;
    /// run.dataset("position")?.write_slice((.., 0), &[0.25f32, 0.5])?; // two rows of three
    /// run.close()?;
    /// assert_eq!(File::open(&path)?.dataset("position")?.read::<f32>()?, [0.25, 0.0, 0.0, 0.5, 0.0, 0.0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the slice is not inside the dataset or has a negative step, and the errors of
    /// [`write_slab`](Self::write_slab).
    pub fn write_slice<T: Store>(&mut self, part: impl IntoSelection, values: &[T]) -> Result<&mut Self> {
        let selection = part.into_selection(self.shape())?;
        self.write_slab(selection.ascending()?, values)
    }

    /// Converts values to the datatype of the dataset.
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

    /// Extends the dataset along its first dimension by the rows in `values`, and writes them there.
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
    /// assert_eq!(position.shape(), [2, 3]);
    /// assert!(position.append(&[0.2f32]).is_err()); // no whole row
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`append_along`](Self::append_along).
    pub fn append<T: Store>(&mut self, values: &[T]) -> Result<&mut Self> {
        self.append_along(0, values)
    }

    /// Extends the dataset along one dimension by the elements in `values`, and writes them there.
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
    /// assert_eq!(File::open(&path)?.dataset("temperature")?.shape(), [2, 1]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`write_slab`](Self::write_slab), and [`Error::Usage`] if the values do not fill the other
    /// dimensions or the maximum shape does not allow the growth. After an error the dataset has
    /// the shape that it had before.
    pub fn append_along<T: Store>(&mut self, axis: usize, values: &[T]) -> Result<&mut Self> {
        let (shape, slab) = appended(self.shape(), axis, values.len() as u64)?;
        let bytes = self.stored(values)?;
        let before = self.shape.clone();
        self.resize(&shape)?;
        if let Err(error) = self.writer.file.write(self.number, &slab, &bytes) {
            self.writer.file.take_back(self.number, &before)?;
            self.shape = before;
            return Err(error);
        }
        Ok(self)
    }
}
