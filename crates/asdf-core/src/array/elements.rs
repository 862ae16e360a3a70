//! The elements of an array as values of a type.

use sciformats_core::endian::ByteOrder;
use sciformats_core::number::not_stored_as;
use sciformats_core::storage::zeroed;
use sciformats_core::{Conversion, Error, Result, Slab, bound};

use super::{Array, Place};
use crate::element::Element;
use crate::model::datatype::ScalarType;
use crate::model::strided::{Dimension, Strided};

impl Array<'_> {
    /// Returns the same array with other rules for the conversion of elements to a type.
    ///
    /// ```
    /// use asdf_core::{Asdf, Conversion, Document, Error, NewArray};
    ///
    /// let mut document = Document::new();
    /// document.set_array("counts", NewArray::new(&[20.0, 300.5], &[2])?)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// let counts = file.array("counts")?;
    /// assert!(matches!(counts.read::<u8>(), Err(Error::Misfit(misfit)) if misfit.index == 1));
    /// let counts = counts.with_conversion(Conversion::Lossy);
    /// assert_eq!(counts.read::<u8>()?, [20, 255]);
    /// let counts = counts.with_conversion(Conversion::None);
    /// assert!(counts.read::<f64>().is_ok() && counts.read::<f32>().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn with_conversion(self, conversion: Conversion) -> Self {
        Self { conversion, ..self }
    }

    /// Returns the type of the elements, if they can be read as `T`.
    fn check_type<T: Element>(&self) -> Result<ScalarType> {
        let stored = self.description.datatype.scalar();
        let allowed = |&stored: &ScalarType| stored == T::TYPE || self.conversion != Conversion::None;
        stored
            .filter(allowed)
            .ok_or_else(|| not_stored_as(T::TYPE.name(), stored.map_or("structured", ScalarType::name)))
    }

    /// Reads all elements in C order. They are converted if no value changes.
    ///
    /// ```
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let image = file.array("image")?;
    /// assert_eq!(image.read::<f32>()?.iter().sum::<f32>(), 21.0);
    /// assert_eq!(image.read::<u8>()?, [1, 2, 3, 4, 5, 6]); // all of them are whole numbers
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Misfit`] with the first element that `T` cannot hold; `Usage` if the elements are of another kind; and those of
    /// [`read_bytes`](Self::read_bytes).
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        self.read_slab(&Slab::all(&self.shape)?)
    }

    /// Reads the elements of a selection in C order.
    ///
    /// ```
    /// use asdf_core::{Range, Slab};
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let image = file.array("image")?;
    /// let last_column = Slab::new(image.shape(), [Range::all(2), Range::new(2, 1)])?;
    /// assert_eq!(image.read_slab::<f32>(&last_column)?, [3.0, 6.0]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read`](Self::read) and [`read_slab_bytes`](Self::read_slab_bytes).
    pub fn read_slab<T: Element>(&self, slab: &Slab) -> Result<Vec<T>> {
        self.check_type::<T>()?;
        let bytes = bound::product(slab.len(), size_of::<T>() as u64);
        self.file.options.limits.memory("bytes of the selection", bytes)?;
        let count = usize::try_from(slab.len()).map_err(|_| Error::usage("selection", "is too large"))?;
        let mut out: Vec<T> = zeroed(count)?;
        self.read_slab_into(slab, &mut out)?;
        Ok(out)
    }

    /// Does the same as [`read_slab`](Self::read_slab), but writes to `out`, which must have the number of selected elements.
    ///
    /// ```
    /// use asdf_core::{Range, Slab};
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let image = file.array("image")?;
    /// let mut row = [0.0f32; 3];
    /// image.read_slab_into(&Slab::new(image.shape(), [Range::new(1, 1), Range::all(3)])?, &mut row)?;
    /// assert_eq!(row, [4.0, 5.0, 6.0]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_slab`](Self::read_slab); `Usage` if `out` has another length.
    pub fn read_slab_into<T: Element>(&self, slab: &Slab, out: &mut [T]) -> Result<()> {
        let stored = self.check_type::<T>()?;
        if let Some(bytes) = T::bytes_mut(out).filter(|_| stored == T::TYPE) {
            self.read_slab_bytes_into(slab, bytes)?;
            ByteOrder::Little.convert(ByteOrder::NATIVE, bytes, T::TYPE.word());
            return Ok(());
        }
        if slab.len() != out.len() as u64 {
            return Err(Error::usage("buffer", "does not have the size of the selection"));
        }
        T::convert(stored, &self.read_slab_bytes(slab)?, self.conversion, out)
            .map_err(|error| self.file.within(self.node, error))
    }

    /// Returns the elements without a copy. This is possible if they are stored uncompressed, in the byte order of this machine,
    /// aligned and without gaps, and if the file is mapped or in memory.
    ///
    /// ```
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let image = file.array("image")?;
    /// let sum: f32 = match image.as_slice::<f32>() {
    ///     Some(elements) => elements.iter().sum(), // without a copy
    ///     None => image.read::<f32>()?.iter().sum(),
    /// };
    /// assert_eq!(sum, 21.0);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        self.check_type::<T>().ok().filter(|&stored| stored == T::TYPE)?;
        let (file, index) = match &self.place {
            Place::Block(index) => (self.file, *index),
            Place::Other(other) => (&**other, 0),
            Place::Inline => return None,
        };
        let block = file.block(index).ok()?;
        let entry = block.entry();
        let plain = entry.header.compression.is_none()
            && (size_of::<T>() == 1 || self.description.byteorder == ByteOrder::NATIVE);
        let size = size_of::<T>() as u64;
        let dimensions = self
            .shape
            .iter()
            .zip(&self.strides)
            .map(|(&count, &stride)| Dimension { count, stride })
            .collect();
        let strided = Strided { start: self.description.offset, size, dimensions }.joined().ok()?;
        if !plain || !strided.dimensions.is_empty() {
            return None;
        }
        let start = usize::try_from(entry.data_offset().checked_add(self.description.offset)?).ok()?;
        let bytes = usize::try_from(self.len().checked_mul(size)?).ok()?;
        T::view(file.storage.as_slice()?.get(start..start.checked_add(bytes)?)?)
    }

    /// Returns the elements as an n-dimensional array.
    ///
    /// ```
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let image = file.array("image")?.to_ndarray::<f32>()?;
    /// assert_eq!(image[[1, 2]], 6.0);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    #[cfg(feature = "ndarray")]
    pub fn to_ndarray<T: Element>(&self) -> Result<::ndarray::ArrayD<T>> {
        sciformats_core::nd::array(self.read()?, &self.shape)
    }
}
