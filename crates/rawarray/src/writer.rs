//! Writing of whole arrays.

use std::borrow::Cow;
use std::path::Path;

use sciformats_core::arith::fit;
use sciformats_core::endian::ByteOrder;
use sciformats_core::storage::{Durability, Replacement};
use sciformats_core::{Result, WriteAt};

use crate::element::{self, Element};
use crate::model::element_type::ElementType;
use crate::model::image::{Elements, Image};
use crate::model::layout::Encoding;

/// Files of at least this size reserve their space before they are written. This is faster, and a full disk is noticed at once.
const WORTH_RESERVING: u64 = 1 << 20;

/// Options for writing.
///
/// ```
/// use rawarray::{Encoding, RawArray, Reader, WriteOptions};
///
/// let options = WriteOptions::default().with_encoding(Encoding::Leb128); // small integers in few bytes
/// let bytes = RawArray::from(vec![1i64, -2, 3]).encode(&options)?;
/// let reader = Reader::from_bytes(bytes)?;
/// assert_eq!((reader.stored_size(), reader.read::<i64>()?), (3, vec![1, -2, 3]));
/// # Ok::<(), rawarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The byte order of the elements. The default is little-endian, which all readers understand.
    pub byte_order: ByteOrder,
    /// How the elements are stored. The default is raw, which all readers understand.
    pub encoding: Encoding,
    /// What the file must survive. The default is the end of the process.
    pub durability: Durability,
}

impl WriteOptions {
    /// Returns the same options with another byte order.
    #[must_use]
    pub fn with_byte_order(self, byte_order: ByteOrder) -> Self {
        Self { byte_order, ..self }
    }

    /// Returns the same options with another encoding: LZ4 for elements of any type (which are stored raw if LZ4 does not make
    /// them smaller), LEB128 for integers, or bits for truth values.
    ///
    /// ```
    /// # #[cfg(feature = "lz4")] {
    /// use rawarray::{Encoding, RawArray, Reader, WriteOptions};
    ///
    /// let options = WriteOptions::default().with_encoding(Encoding::Lz4);
    /// let reader = Reader::from_bytes(RawArray::from(vec![0f64; 1000]).encode(&options)?)?;
    /// assert!(reader.stored_size() < 100);
    /// assert_eq!(reader.read::<f64>()?, [0.0; 1000]);
    /// # }
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    #[must_use]
    pub fn with_encoding(self, encoding: Encoding) -> Self {
        Self { encoding, ..self }
    }

    /// Returns the same options with another durability.
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }
}

/// Writes arrays of given dimensions from borrowed elements.
///
/// ```
/// use rawarray::{ByteOrder, Reader, WriteOptions, Writer};
///
/// let options = WriteOptions::default().with_byte_order(ByteOrder::Big);
/// let bytes = Writer::new(&[3, 2]).with_metadata(b"volts").with_options(options).encode(&[1.0f64, 2., 3., 4., 5., 6.])?;
/// let reader = Reader::from_bytes(bytes)?;
/// assert_eq!(reader.read::<f64>()?, [1., 2., 3., 4., 5., 6.]);
/// assert_eq!(*reader.metadata()?, *b"volts");
/// # Ok::<(), rawarray::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Writer<'a> {
    dims: Cow<'a, [u64]>,
    metadata: &'a [u8],
    options: WriteOptions,
}

impl<'a> Writer<'a> {
    /// Creates a writer of arrays with these dimensions, the fastest varying first. A single element has no dimensions.
    ///
    /// ```
    /// use rawarray::{Reader, Writer};
    ///
    /// let rows = [[1u16, 2, 3], [4, 5, 6]];
    /// let bytes = Writer::new(&[3, 2]).encode(rows.as_flattened())?;
    /// assert_eq!(Reader::from_bytes(bytes)?.shape(), [2, 3]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    pub fn new(dims: impl Into<Cow<'a, [u64]>>) -> Self {
        Self { dims: dims.into(), metadata: &[], options: WriteOptions::default() }
    }

    /// Sets the bytes that follow the data. Other programs ignore them, and lose them when they rewrite the file.
    #[must_use]
    pub fn with_metadata(self, metadata: &'a [u8]) -> Self {
        Self { metadata, ..self }
    }

    /// Sets the options.
    #[must_use]
    pub fn with_options(self, options: WriteOptions) -> Self {
        Self { options, ..self }
    }

    /// Writes `elements` to the file at `path`. An existing file stays until the new one is complete, and is then replaced.
    ///
    /// ```
    /// use rawarray::{RawArray, Writer};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("volts.ra");
    /// let volts = [1.5f32, 2.5, 3.5];
    /// Writer::new(&[3]).with_metadata(b"channel 2").write(&path, &volts)?;
    /// assert_eq!(RawArray::<f32>::read(&path)?.data(), volts);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the number of elements is not the product of the dimensions, or if the encoding does not permit the type; `Io`.
    pub fn write<T: Element>(&self, path: impl AsRef<Path>, elements: &[T]) -> Result<()> {
        self.replace(path.as_ref(), &self.image(typed(elements))?)
    }

    /// Does the same as [`write`](Self::write), with elements whose type is only known at run time. `bytes` are little-endian,
    /// and a truth value is one byte.
    ///
    /// ```
    /// use rawarray::{ElementType, RawArray, Writer};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("counts.ra");
    /// Writer::new(&[2]).write_bytes(&path, ElementType::UInt(2), &[1, 0, 0x2c, 1])?;
    /// assert_eq!(RawArray::<u16>::read(&path)?.data(), [1, 300]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn write_bytes(&self, path: impl AsRef<Path>, element: ElementType, bytes: &[u8]) -> Result<()> {
        self.replace(path.as_ref(), &self.image(little(element, bytes))?)
    }

    /// Writes `elements` to a storage, starting at offset 0.
    ///
    /// ```
    /// use rawarray::{Reader, Writer};
    ///
    /// let mut storage = Vec::new(); // or a `FileStorage`, or what else there is `WriteAt` for
    /// Writer::new(&[2, 2]).write_to(&mut storage, &[1.0f64, 2.0, 3.0, 4.0])?;
    /// assert_eq!(Reader::from_bytes(storage)?.len(), 4);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn write_to<T: Element>(&self, storage: &mut impl WriteAt, elements: &[T]) -> Result<()> {
        self.image(typed(elements))?.write(storage)
    }

    /// Returns the bytes of the file.
    ///
    /// ```
    /// use rawarray::{Reader, Writer};
    ///
    /// let bytes = Writer::new(&[]).encode(&[9.81f64])?; // one number, no dimensions
    /// assert_eq!(Reader::from_bytes(bytes)?.read::<f64>()?, [9.81]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage`, as in [`write`](Self::write).
    pub fn encode<T: Element>(&self, elements: &[T]) -> Result<Vec<u8>> {
        encoded(&self.image(typed(elements))?)
    }

    /// Returns the bytes of the file; the elements are given as in [`write_bytes`](Self::write_bytes).
    ///
    /// ```
    /// use rawarray::{ElementType, Reader, Writer};
    ///
    /// let bytes = Writer::new(&[2]).encode_bytes(ElementType::Bool, &[1, 0])?;
    /// assert_eq!(Reader::from_bytes(bytes)?.read::<bool>()?, [true, false]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage`, as in [`write`](Self::write).
    pub fn encode_bytes(&self, element: ElementType, bytes: &[u8]) -> Result<Vec<u8>> {
        encoded(&self.image(little(element, bytes))?)
    }

    fn image<'e>(&'e self, elements: Elements<'e>) -> Result<Image<'e>> {
        let WriteOptions { encoding, byte_order, .. } = self.options;
        Image::new(elements, &self.dims, (encoding, byte_order), self.metadata)
    }

    fn replace(&self, path: &Path, image: &Image<'_>) -> Result<()> {
        let mut file = Replacement::create(path)?;
        let len = image.len()?;
        if len >= WORTH_RESERVING {
            file.storage()?.reserve(len)?;
        }
        image.write(&mut file)?;
        file.finish(self.options.durability)
    }
}

fn encoded(image: &Image<'_>) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(fit(image.len()?, "length of a file in memory")?);
    image.write(&mut out)?;
    Ok(out)
}

/// Elements as they are in memory.
pub(crate) fn typed<T: Element>(elements: &[T]) -> Elements<'_> {
    Elements { element: T::TYPE, bytes: element::bytes(elements), order: ByteOrder::NATIVE }
}

/// Elements that the caller passes as little-endian bytes.
pub(crate) fn little(element: ElementType, bytes: &[u8]) -> Elements<'_> {
    Elements { element, bytes, order: ByteOrder::Little }
}
