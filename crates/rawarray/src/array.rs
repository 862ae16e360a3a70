//! An array in memory.

use std::path::Path;

use sciformats_core::{Error, ReadAt, Result, slab};

use crate::element::Element;
use crate::reader::{OpenOptions, Reader};
use crate::writer::{WriteOptions, Writer};

/// An array with elements of a type that is known at compile time, and the metadata that follow it in its file.
///
/// ```
/// use rawarray::RawArray;
///
/// // Columns of three: in memory and in the file 1, 2, 3 are neighbours.
/// let array = RawArray::new([3, 2], vec![1u8, 2, 3, 4, 5, 6])?;
/// assert_eq!(array.get(&[2, 0]), Some(&3));
/// assert_eq!(array.get(&[0, 1]), Some(&4));
/// assert_eq!(array.shape(), [2, 3]); // the same array in C order
/// # Ok::<(), rawarray::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawArray<T> {
    dims: Vec<u64>,
    data: Vec<T>,
    metadata: Vec<u8>,
}

impl<T> RawArray<T> {
    /// An array of `dims`, the fastest varying first, whose elements `data` has in the order of the file.
    ///
    /// # Errors
    /// `Usage` if the product of the dimensions is not the number of elements.
    pub fn new(dims: impl Into<Vec<u64>>, data: Vec<T>) -> Result<Self> {
        let dims = dims.into();
        check(&dims, data.len())?;
        Ok(Self { dims, data, metadata: Vec::new() })
    }

    /// An array of parts that are known to fit.
    #[cfg(feature = "ndarray")]
    pub(crate) fn of_parts(dims: Vec<u64>, data: Vec<T>) -> Self {
        Self { dims, data, metadata: Vec::new() }
    }

    /// The same array with other metadata.
    #[must_use]
    pub fn with_metadata(self, metadata: impl Into<Vec<u8>>) -> Self {
        Self { metadata: metadata.into(), ..self }
    }

    /// The same elements in other dimensions.
    ///
    /// # Errors
    /// `Usage` if their product is another.
    pub fn reshape(self, dims: impl Into<Vec<u64>>) -> Result<Self> {
        let dims = dims.into();
        check(&dims, self.data.len())?;
        Ok(Self { dims, ..self })
    }

    /// The dimensions, the fastest varying first.
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// The dimensions in C order: the slowest varying first.
    pub fn shape(&self) -> Vec<u64> {
        self.dims.iter().rev().copied().collect()
    }

    /// The elements, in the order of the file.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// The elements, for changing them.
    pub fn data_mut(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// The elements alone.
    pub fn into_data(self) -> Vec<T> {
        self.data
    }

    /// The bytes that follow the data in the file.
    pub fn metadata(&self) -> &[u8] {
        &self.metadata
    }

    /// The element at an index in the order of [`dims`](Self::dims), if it is there.
    pub fn get(&self, index: &[u64]) -> Option<&T> {
        if index.len() != self.dims.len() || index.iter().zip(&self.dims).any(|(i, dim)| i >= dim) {
            return None;
        }
        let position = index.iter().zip(&self.dims).rev().fold(0, |position, (i, dim)| position * dim + i);
        self.data.get(usize::try_from(position).ok()?)
    }
}

impl<T: Element> RawArray<T> {
    /// Reads a file whose elements are of this type.
    ///
    /// # Errors
    /// As [`Reader::open`] and [`Reader::read`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_reader(&Reader::open(path)?)
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn from_bytes(bytes: impl ReadAt + 'static) -> Result<Self> {
        Self::from_reader(&Reader::from_storage(bytes, &OpenOptions::default())?)
    }

    /// Reads an open file.
    ///
    /// # Errors
    /// As [`Reader::read`].
    pub fn from_reader(reader: &Reader) -> Result<Self> {
        let metadata = reader.metadata()?.into_owned();
        Ok(Self { dims: reader.dims().to_vec(), data: reader.read()?, metadata })
    }

    /// Writes the array and its metadata into the file at `path`, as [`Writer::write`] does.
    ///
    /// # Errors
    /// `Io`.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        self.write_with(path, &WriteOptions::default())
    }

    /// As [`write`](Self::write), with options.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn write_with(&self, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
        self.writer(options).write(path, &self.data)
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// As [`Writer::encode`].
    pub fn encode(&self, options: &WriteOptions) -> Result<Vec<u8>> {
        self.writer(options).encode(&self.data)
    }

    fn writer(&self, options: &WriteOptions) -> Writer<'_> {
        Writer::new(&self.dims[..]).metadata(&self.metadata).options(*options)
    }
}

/// An array of one dimension.
impl<T> From<Vec<T>> for RawArray<T> {
    fn from(data: Vec<T>) -> Self {
        Self { dims: vec![data.len() as u64], data, metadata: Vec::new() }
    }
}

/// The elements alone, in the order of the file.
impl<T> From<RawArray<T>> for Vec<T> {
    fn from(array: RawArray<T>) -> Self {
        array.data
    }
}

fn check(dims: &[u64], len: usize) -> Result<()> {
    if slab::elements(dims) == Some(len as u64) {
        return Ok(());
    }
    Err(Error::usage("dims", format!("are {dims:?}, but there are {len} elements")))
}
