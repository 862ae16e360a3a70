//! Arrays that will be written.

use std::sync::Arc;

use sciformats_core::endian::ByteOrder;
use sciformats_core::{Error, ReadAt, Result, Slab, arith, slab};

use crate::codec::Compression;
use crate::element::Element;
use crate::model::datatype::{Datatype, ScalarType};

/// Where an array is stored.
///
/// ```
/// use asdf_core::{Document, NewArray, Storage};
///
/// let mut document = Document::new();
/// let corners = NewArray::new(&[0u16, 0, 640, 480], &[2, 2])?;
/// document.set_array("corners", corners.with_storage(Storage::Inline))?;
/// assert_eq!(document.block_count(), 0);
/// assert!(document.tree().to_text()?.contains("[[0, 0], [640, 480]]"));
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Storage {
    /// In a block of its own.
    #[default]
    Block,
    /// In the tree, as text.
    Inline,
}

/// Which elements are missing.
///
/// ```
/// use asdf_core::{Asdf, Document, NewArray, NewMask};
///
/// let mut document = Document::new();
/// let flux = NewArray::new(&[1.5, 2.5, 3.5], &[3])?;
/// document.set_array("flux", flux.with_mask(NewMask::Elements(vec![0, 0, 1])))?;
/// let file = Asdf::from_bytes(document.to_bytes()?)?;
/// assert_eq!(file.array("flux")?.read_mask()?, Some(vec![0, 0, 1]));
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum NewMask {
    /// Elements that equal a number. Integers are compared exactly, and floats with the number that is nearest in their type. A
    /// not-a-number masks all not-a-numbers.
    Value(f64),
    /// Elements for which the byte is not 0. There is one byte per element, in C order.
    Elements(Vec<u8>),
}

/// An array that will be written: its packed elements in C order, and how they are stored.
///
/// ```
/// use asdf_core::{Asdf, Compression, Document, NewArray};
///
/// let mut document = Document::new();
/// let dark = NewArray::new(&[0.5f32; 12], &[3, 4])?.with_compression(Compression::Zlib).with_level(9);
/// document.set_array("dark", dark)?;
/// let file = Asdf::from_bytes(document.to_bytes()?)?;
/// assert_eq!(file.array("dark")?.read::<f32>()?, [0.5; 12]);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone)]
pub struct NewArray {
    pub(crate) datatype: Datatype,
    pub(crate) byteorder: ByteOrder,
    pub(crate) shape: Vec<u64>,
    pub(crate) data: Arc<dyn ReadAt>,
    pub(crate) storage: Storage,
    pub(crate) compression: Compression,
    pub(crate) level: Option<u32>,
    pub(crate) mask: Option<NewMask>,
}

impl std::fmt::Debug for NewArray {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewArray")
            .field("datatype", &self.datatype)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl NewArray {
    /// Creates an array of numbers.
    ///
    /// ```
    /// let array = asdf_core::NewArray::new(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the shape has another number of elements.
    pub fn new<T: Element>(elements: &[T], shape: &[u64]) -> Result<Self> {
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        Self::from_bytes(T::TYPE, ByteOrder::NATIVE, shape, bytes.to_vec())
    }

    /// Creates an array of `shape`, whose elements `element` computes from their indices.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// document.set_array("ramp", NewArray::from_fn([2, 3], |[y, x]| (10 * y + x) as u16)?)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.array("ramp")?.read::<u16>()?, [0, 1, 2, 10, 11, 12]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the shape has more than 2^64 elements; `Io` if the machine does not have enough memory.
    pub fn from_fn<T: Element, const N: usize>(
        shape: [u64; N],
        element: impl FnMut([u64; N]) -> T,
    ) -> Result<Self> {
        Self::new(&Slab::all(&shape)?.computed(element)?, &shape)
    }

    /// Creates an array with the shape and the elements of `values`.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray};
    ///
    /// let image = ndarray::array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    /// let mut document = Document::new();
    /// document.set_array("image", NewArray::from_ndarray(&image.t())?)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.array("image")?.to_ndarray::<f32>()?, image.t().into_dyn());
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    #[cfg(feature = "ndarray")]
    pub fn from_ndarray<T: Element, S: ndarray::Data<Elem = T>, D: ndarray::Dimension>(
        values: &ndarray::ArrayBase<S, D>,
    ) -> Result<Self> {
        let shape: Vec<u64> = values.shape().iter().map(|&n| n as u64).collect();
        match values.as_slice() {
            Some(elements) => Self::new(elements, &shape),
            None => Self::new(&values.iter().copied().collect::<Vec<_>>(), &shape),
        }
    }

    /// Creates an array of any type from bytes in `byteorder`, which are packed and in C order. If the bytes are in a storage
    /// other than memory, they are read piece by piece when the array is written.
    ///
    /// ```
    /// use asdf_core::{Asdf, ByteOrder, Document, NewArray, ScalarType};
    ///
    /// let counts = NewArray::from_bytes(ScalarType::UInt16, ByteOrder::Big, &[2], vec![0, 1, 1, 0x2c])?;
    /// let mut document = Document::new();
    /// document.set_array("counts", counts)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.array("counts")?.read::<u16>()?, [1, 300]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the number of bytes does not agree with the type and the shape.
    pub fn from_bytes(
        datatype: impl Into<Datatype>,
        byteorder: ByteOrder,
        shape: &[u64],
        data: impl ReadAt + 'static,
    ) -> Result<Self> {
        let datatype = datatype.into();
        let size = slab::elements(shape).and_then(|elements| elements.checked_mul(datatype.size()?));
        if size != Some(data.size()) {
            return Err(Error::usage("shape", format!("does not fit {} bytes of elements", data.size())));
        }
        Ok(Self {
            datatype,
            byteorder,
            shape: shape.into(),
            data: Arc::new(data),
            storage: Storage::Block,
            compression: Compression::None,
            level: None,
            mask: None,
        })
    }

    /// Creates an array of booleans.
    ///
    /// ```
    /// use asdf_core::{Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// document.set_array("good", NewArray::from_bools(&[true, false, true, true], &[2, 2])?)?;
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn from_bools(elements: &[bool], shape: &[u64]) -> Result<Self> {
        let bytes: Vec<u8> = elements.iter().map(|&element| element.into()).collect();
        Self::from_bytes(ScalarType::Bool8, ByteOrder::Big, shape, bytes)
    }

    /// Creates an array of texts that is as wide as the longest text. Its type is `ascii` if that is possible, and otherwise
    /// `ucs4`.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray, ScalarType};
    ///
    /// let mut document = Document::new();
    /// document.set_array("stars", NewArray::from_strings(&["Vega", "Altair"], &[2])?)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.array("stars")?.datatype().scalar(), Some(ScalarType::Ascii(6)));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn from_strings<S: AsRef<str>>(elements: &[S], shape: &[u64]) -> Result<Self> {
        let texts = || elements.iter().map(AsRef::as_ref);
        let longest = texts().map(|text| text.chars().count()).fold(1, usize::max);
        let mut bytes = Vec::new();
        let is_ascii = texts().all(str::is_ascii);
        for text in texts() {
            let start = bytes.len();
            let width = if is_ascii { 1 } else { 4 };
            for c in text.chars() {
                bytes.extend_from_slice(u32::from(c).to_le_bytes().get(..width).unwrap_or_default());
            }
            bytes.resize(arith::add(start, arith::mul(longest, width)?)?, 0);
        }
        let longest = longest as u64;
        let scalar = if is_ascii { ScalarType::Ascii(longest) } else { ScalarType::Ucs4(longest) };
        Self::from_bytes(scalar, ByteOrder::Little, shape, bytes)
    }

    /// Returns the same array, which is stored in the tree or in a block.
    #[must_use]
    pub fn with_storage(self, storage: Storage) -> Self {
        Self { storage, ..self }
    }

    /// Returns the same array with another compression.
    #[must_use]
    pub fn with_compression(self, compression: Compression) -> Self {
        Self { compression, ..self }
    }

    /// Returns the same array with a level on the compression's own scale ([`Compression::levels`]). A level that does not exist
    /// is refused when the array is added to a document.
    #[must_use]
    pub fn with_level(self, level: u32) -> Self {
        Self { level: Some(level), ..self }
    }

    /// Returns the same array with missing elements.
    #[must_use]
    pub fn with_mask(self, mask: NewMask) -> Self {
        Self { mask: Some(mask), ..self }
    }

    /// Returns the same array in the byte order `order`.
    ///
    /// ```
    /// use asdf_core::{Asdf, ByteOrder, Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// document.set_array("image", NewArray::new(&[1u16, 300], &[2])?.in_order(ByteOrder::Big)?)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(*file.block(0)?.data()?, [0, 1, 1, 0x2c]);
    /// assert_eq!(file.array("image")?.read::<u16>()?, [1, 300]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io` if the data cannot be read.
    pub fn in_order(self, order: ByteOrder) -> Result<Self> {
        if order == self.byteorder || self.datatype.scalar().is_none() {
            return Ok(Self { byteorder: order, ..self });
        }
        let size =
            usize::try_from(self.data.size()).map_err(|_| Error::usage("data", "is too large for memory"))?;
        let mut bytes = self.data.read_at(0, size)?.into_owned();
        let word = self.datatype.scalar().map_or(1, ScalarType::word);
        sciformats_core::endian::swap(&mut bytes, word);
        Ok(Self { byteorder: order, data: Arc::new(bytes), ..self })
    }
}
