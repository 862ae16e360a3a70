//! An array in memory.

use std::path::Path;

use sciformats_core::{Error, Result, slab};

use crate::element::Element;
use crate::reader::Reader;
use crate::writer::{WriteOptions, Writer};

/// An array whose element type is known at compile time, with the metadata that follow the data in its file.
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
    /// The same from the last to the first.
    shape: Vec<u64>,
    data: Vec<T>,
    metadata: Vec<u8>,
}

impl<T> RawArray<T> {
    /// Creates an array with the dimensions `dims`, the fastest varying first. `data` are the elements in the order of the file.
    ///
    /// ```
    /// use rawarray::RawArray;
    ///
    /// let pressure = RawArray::new([4, 2], vec![1013.2f64, 1011.8, 1009.9, 1010.4, 1012.0, 1012.7, 1011.1, 1010.8])?;
    /// assert_eq!(pressure.dims(), [4, 2]);
    /// assert!(RawArray::new([4, 3], vec![0f64; 8]).is_err());
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the product of the dimensions is not the number of elements.
    pub fn new(dims: impl Into<Vec<u64>>, data: Vec<T>) -> Result<Self> {
        let dims = dims.into();
        check(&dims, data.len())?;
        Ok(Self { shape: reversed(&dims), dims, data, metadata: Vec::new() })
    }

    /// Creates an array from parts that are known to fit.
    #[cfg(feature = "ndarray")]
    pub(crate) fn of_parts(dims: Vec<u64>, data: Vec<T>) -> Self {
        Self { shape: reversed(&dims), dims, data, metadata: Vec::new() }
    }

    /// Returns the same array with other metadata.
    ///
    /// ```
    /// use rawarray::RawArray;
    ///
    /// let image = RawArray::new([2, 2], vec![7u16, 8, 9, 10])?.with_metadata(*b"exposure 30 s");
    /// let copy = RawArray::<u16>::from_bytes(image.encode(&Default::default())?)?;
    /// assert_eq!(copy.metadata(), b"exposure 30 s");
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    #[must_use]
    pub fn with_metadata(self, metadata: impl Into<Vec<u8>>) -> Self {
        Self { metadata: metadata.into(), ..self }
    }

    /// Returns the same elements with other dimensions.
    ///
    /// ```
    /// use rawarray::RawArray;
    ///
    /// let samples = RawArray::from(vec![1i32, 2, 3, 4, 5, 6]);
    /// let channels = samples.reshape([3, 2])?;
    /// assert_eq!(channels.get(&[0, 1]), Some(&4));
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the product of the dimensions is not the number of elements.
    pub fn reshape(self, dims: impl Into<Vec<u64>>) -> Result<Self> {
        let dims = dims.into();
        check(&dims, self.data.len())?;
        Ok(Self { shape: reversed(&dims), dims, ..self })
    }

    /// Returns the dimensions, the fastest varying first.
    ///
    /// ```
    /// use rawarray::RawArray;
    ///
    /// let rows = RawArray::from(vec![1u16, 2, 3, 4, 5, 6]).reshape(vec![3, 2])?;
    /// assert_eq!((rows.dims(), rows.shape(), rows.data()[1]), (&[3, 2][..], &[2, 3][..], 2));
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// Returns the dimensions in C order, the slowest varying first.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the elements in the order of the file.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// Returns the elements so that they can be changed.
    ///
    /// ```
    /// use rawarray::RawArray;
    ///
    /// let mut temperature = RawArray::from(vec![273.15f64, 293.15]);
    /// for value in temperature.data_mut() {
    ///     *value -= 273.15;
    /// }
    /// assert_eq!(temperature.data(), [0.0, 20.0]);
    /// ```
    pub fn data_mut(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// Returns the elements without dimensions and metadata.
    pub fn into_data(self) -> Vec<T> {
        self.data
    }

    /// Returns the bytes that follow the data in the file.
    pub fn metadata(&self) -> &[u8] {
        &self.metadata
    }

    /// Returns the element at an index in the order of [`dims`](Self::dims), or `None` if there is no such element.
    ///
    /// ```
    /// use rawarray::RawArray;
    ///
    /// let image = RawArray::new([3, 2], vec![1u8, 2, 3, 4, 5, 6])?;
    /// assert_eq!(image.get(&[1, 1]), Some(&5)); // index 1 along the fastest dimension
    /// assert_eq!(image.get(&[1, 2]), None); // outside
    /// assert_eq!(image.get(&[1]), None); // not as many indices as dimensions
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    pub fn get(&self, index: &[u64]) -> Option<&T> {
        if index.len() != self.dims.len() || index.iter().zip(&self.dims).any(|(i, dim)| i >= dim) {
            return None;
        }
        let position = index.iter().zip(&self.dims).rev().fold(0, |position, (i, dim)| position * dim + i);
        self.data.get(usize::try_from(position).ok()?)
    }
}

impl<T: Element> RawArray<T> {
    /// Reads a file. The elements are converted to this type if it can hold their values.
    ///
    /// ```
    /// use rawarray::RawArray;
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("volts.ra");
    /// RawArray::from(vec![1.5f32, 2.5]).write(&path)?;
    /// assert_eq!(RawArray::<f32>::read(&path)?.data(), [1.5, 2.5]);
    /// assert_eq!(RawArray::<f64>::read(&path)?.data(), [1.5, 2.5]);
    /// assert!(RawArray::<i32>::read(&path).is_err()); // 1.5 is no integer
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Reader::open`] and [`Reader::read`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_reader(&Reader::open(path)?)
    }

    /// Reads a file from its bytes.
    ///
    /// ```
    /// use rawarray::RawArray;
    ///
    /// let bytes = RawArray::from(vec![1.5f32, 2.5]).encode(&Default::default())?;
    /// assert_eq!(RawArray::<f32>::from_bytes(bytes)?.data(), [1.5, 2.5]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::from_reader(&Reader::from_bytes(bytes)?)
    }

    /// Reads an open file.
    ///
    /// ```
    /// use rawarray::{ElementType, RawArray, Reader};
    ///
    /// # let bytes = RawArray::from(vec![1.5f32, 2.5]).encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// assert_eq!(reader.element(), ElementType::Float(4));
    /// assert_eq!(RawArray::<f64>::from_reader(&reader)?.data(), [1.5, 2.5]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Reader::read`].
    pub fn from_reader(reader: &Reader) -> Result<Self> {
        let metadata = reader.metadata()?.into_owned();
        Ok(Self {
            dims: reader.dims().to_vec(),
            shape: reader.shape().to_vec(),
            data: reader.read()?,
            metadata,
        })
    }

    /// Writes the array and its metadata to the file at `path`, as [`Writer::write`] does.
    ///
    /// ```
    /// use rawarray::RawArray;
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("image.ra");
    /// RawArray::new([3, 2], vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?.with_metadata(*b"volts").write(&path)?;
    /// assert_eq!(RawArray::<f32>::read(&path)?.shape(), [2, 3]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        self.write_with(path, &WriteOptions::default())
    }

    /// Does the same as [`write`](Self::write), with options.
    ///
    /// ```
    /// use rawarray::{ByteOrder, Durability, RawArray, Reader, WriteOptions};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("counts.ra");
    /// let options = WriteOptions::default().with_byte_order(ByteOrder::Big).with_durability(Durability::Power);
    /// RawArray::from(vec![1u32, 2, 3]).write_with(&path, &options)?;
    /// assert_eq!(Reader::open(&path)?.byte_order(), ByteOrder::Big);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Writer::write`].
    pub fn write_with(&self, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
        self.writer(options).write(path, &self.data)
    }

    /// Returns the bytes of the file.
    ///
    /// ```
    /// use rawarray::{RawArray, WriteOptions};
    ///
    /// let bytes = RawArray::from(vec![1u32, 2, 3]).encode(&WriteOptions::default())?;
    /// assert_eq!(bytes.len(), 48 + 8 + 3 * 4); // header, one dimension, elements
    /// assert!(bytes.starts_with(b"rawarray"));
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Writer::encode`].
    pub fn encode(&self, options: &WriteOptions) -> Result<Vec<u8>> {
        self.writer(options).encode(&self.data)
    }

    fn writer(&self, options: &WriteOptions) -> Writer<'_> {
        Writer::new(&self.dims[..]).with_metadata(&self.metadata).with_options(*options)
    }
}

/// Creates an array of one dimension.
impl<T> From<Vec<T>> for RawArray<T> {
    fn from(data: Vec<T>) -> Self {
        let dims = vec![data.len() as u64];
        Self { shape: dims.clone(), dims, data, metadata: Vec::new() }
    }
}

/// Returns the elements in the order of the file.
impl<T> From<RawArray<T>> for Vec<T> {
    fn from(array: RawArray<T>) -> Self {
        array.data
    }
}

fn reversed(dims: &[u64]) -> Vec<u64> {
    dims.iter().rev().copied().collect()
}

fn check(dims: &[u64], len: usize) -> Result<()> {
    if slab::elements(dims) == Some(len as u64) {
        return Ok(());
    }
    Err(Error::usage("dims", format!("are {dims:?}, but the array has {len} elements")))
}
