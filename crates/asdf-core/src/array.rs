//! Arrays of an open file.

use std::borrow::Cow;
use std::sync::Arc;

use sciformats_core::arith::{add, fit, mul, present, sub};
use sciformats_core::endian::ByteOrder;
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::number::not_stored_as;
use sciformats_core::storage::zeroed;
use sciformats_core::{Conversion, Error, Misfit, Range, ReadAt, Result, Slab, bound, slab};

use crate::codec::Compression;
use crate::element::Element;
use crate::model::datatype::{Datatype, ScalarType};
use crate::model::ndarray::{Mask, NdArray, Source, is_ndarray};
use crate::model::strided::{Dimension, Strided};
use crate::reader::{Asdf, Checksum, Data};
use crate::yaml::NodeId;

/// An array: its type and its shape. Elements are read on demand.
///
/// ```
/// use asdf_core::ScalarType;
///
/// # let mut document = asdf_core::Document::new();
/// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
/// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
/// let image = file.array("image")?;
/// assert_eq!((image.shape(), image.len()), (&[2, 3][..], 6));
/// assert_eq!(image.datatype().scalar(), Some(ScalarType::Float32));
/// assert_eq!(image.read::<f32>()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Array<'a> {
    file: &'a Asdf,
    node: NodeId,
    description: NdArray,
    shape: Vec<u64>,
    len: u64,
    strides: Vec<i64>,
    place: Place,
    conversion: Conversion,
}

#[derive(Debug)]
enum Place {
    /// A block of the file itself.
    Block(usize),
    /// The first block of another file.
    Other(Arc<Asdf>),
    Inline,
}

impl<'a> Array<'a> {
    pub(crate) fn new(file: &'a Asdf, node: NodeId) -> Result<Self> {
        let description = file.described(node);
        let description = description.map_err(|error| match error {
            // Without the tag of an array, the node need not describe one, so this is not a fault of the file.
            Error::Malformed { .. } if !is_ndarray(&file.tree, node) => {
                Error::wrong_type(file.tree.path_of(node), "an array", file.tree.told(node))
            }
            error => error,
        })?;
        let blocks = file.block_count();
        let place = match &description.source {
            Source::Inline(_) => Place::Inline,
            Source::Block(index) => {
                let index = i128::from(*index);
                let from_start = if index < 0 { index.checked_add(blocks as i128) } else { Some(index) };
                let found = from_start.and_then(|index| usize::try_from(index).ok());
                let found = found.filter(|&index| index < blocks);
                Place::Block(found.ok_or_else(|| {
                    let kind = FaultKind::Rule("is the index of a block that does not exist");
                    Fault::new("source", kind).at("ndarray", description.at)
                })?)
            }
            Source::External(uri) => match uri.split('#').next().unwrap_or_default() {
                "" => Place::Block(0),
                name => Place::Other(file.external(name)?),
            },
        };
        let available = match (&place, &description.source) {
            (Place::Block(index), _) => file.block(*index)?.data_size(),
            (Place::Other(other), _) => other.block(0)?.data_size(),
            (Place::Inline, Source::Inline(bytes)) => bytes.len() as u64,
            (Place::Inline, _) => 0,
        };
        let (shape, strides) = description.dimensions(available)?;
        let len = present(slab::elements(&shape), "number of elements of an array")?;
        Ok(Self { file, node, description, shape, len, strides, place, conversion: Conversion::Exact })
    }

    /// Returns the node that describes it.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Returns how the tree describes it.
    ///
    /// ```
    /// use asdf_core::structure::Source;
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let image = file.array("image")?;
    /// assert_eq!((&image.description().source, image.block()), (&Source::Block(0), Some(0)));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn description(&self) -> &NdArray {
        &self.description
    }

    /// Returns the type of its elements.
    pub fn datatype(&self) -> &Datatype {
        &self.description.datatype
    }

    /// Returns its dimensions, the slowest varying first. For a streamed array, the number of rows follows from the size of the
    /// block.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the index of its block in the file; `None` if it is inline or in another file.
    pub fn block(&self) -> Option<usize> {
        match self.place {
            Place::Block(index) => Some(index),
            _ => None,
        }
    }

    /// Reads all elements as packed little-endian bytes in C order. Bytes of `bool8` are as stored.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// document.set_array("counts", NewArray::new(&[1u16, 300], &[2])?)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.array("counts")?.read_bytes()?, [1, 0, 0x2c, 1]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`; `Malformed`, `Unsupported` or `LimitExceeded` if its block cannot be decoded.
    pub fn read_bytes(&self) -> Result<Vec<u8>> {
        self.read_slab_bytes(&Slab::all(&self.shape)?)
    }

    /// Reads the elements of a selection as packed little-endian bytes in C order. If the block is not compressed, only the
    /// necessary parts of it are read.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray, Range, Slab};
    ///
    /// # let mut document = Document::new();
    /// # document.set_array("counts", NewArray::new(&[1u16, 2, 300], &[3])?)?;
    /// # let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// let counts = file.array("counts")?;
    /// let last = Slab::new(counts.shape(), [Range::new(2, 1)])?;
    /// assert_eq!(counts.read_slab_bytes(&last)?, [0x2c, 1]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the selection is one of another shape; and those of [`read_bytes`](Self::read_bytes).
    pub fn read_slab_bytes(&self, slab: &Slab) -> Result<Vec<u8>> {
        let size = self.element_size()?;
        let bytes = slab
            .len()
            .checked_mul(size)
            .ok_or_else(|| Error::usage("selection", "has more than 2^64 bytes"))?;
        // If elements overlap or repeat, the selection can be larger than what is stored.
        let mut out = zeroed(self.file.options.limits.memory("bytes of the selection", bytes)?)?;
        self.read_slab_bytes_into(slab, &mut out)?;
        Ok(out)
    }

    /// Does the same as [`read_slab_bytes`](Self::read_slab_bytes), but writes to `out`, which must have the size of the
    /// selection.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray, Range, Slab};
    ///
    /// # let mut document = Document::new();
    /// # document.set_array("frames", NewArray::new(&[1u8, 2, 3, 4, 5, 6], &[3, 2])?)?;
    /// # let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// let frames = file.array("frames")?;
    /// let (mut frame, mut sums) = ([0; 2], Vec::new());
    /// for i in 0..3 {
    ///     frames.read_slab_bytes_into(&Slab::new(frames.shape(), [Range::new(i, 1), Range::all(2)])?, &mut frame)?;
    ///     sums.push(frame[0] + frame[1]);
    /// }
    /// assert_eq!(sums, [3, 7, 11]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if `out` has another size; and those of [`read_slab_bytes`](Self::read_slab_bytes).
    pub fn read_slab_bytes_into(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        if slab.of() != self.shape {
            return Err(Error::usage("selection", "selects from another shape than that of the array"));
        }
        let size = self.element_size()?;
        if slab.len().checked_mul(size) != Some(out.len() as u64) {
            return Err(Error::usage("buffer", "does not have the size of the selection"));
        }
        self.gather(slab.ranges(), size, out).map_err(|error| self.file.within(self.node, error))?;
        if !matches!(self.place, Place::Inline) {
            self.description.datatype.swap_to_little(self.description.byteorder, out);
        }
        Ok(())
    }

    fn element_size(&self) -> Result<u64> {
        let overflow = || Fault::new("datatype", FaultKind::Overflow).at("ndarray", self.description.at);
        self.description.datatype.size().ok_or_else(overflow)
    }

    fn gather(&self, ranges: &[Range], size: u64, out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let (mut start, mut dimensions) = (self.description.offset, Vec::with_capacity(ranges.len()));
        for (range, &stride) in ranges.iter().zip(&self.strides) {
            // The whole array is inside its block, so no position in it exceeds 64 bits.
            let factor = |by: u64| mul(fit(by, "index of a selection")?, stride);
            start = start.wrapping_add_signed(factor(range.start)?);
            // No index follows a single one, so its step has no effect.
            let stride = if range.count > 1 { factor(range.step)? } else { 0 };
            dimensions.push(Dimension { count: range.count, stride });
        }
        let strided = Strided { start, size, dimensions }.joined()?;
        let threads = self.file.options.thread_count();
        match (&self.place, &self.description.source) {
            (Place::Inline, Source::Inline(bytes)) => strided.read(bytes, out, threads),
            (Place::Inline, _) => Ok(()),
            (Place::Block(index), _) => read_block(self.file, *index, strided, out, threads),
            (Place::Other(other), _) => read_block(other, 0, strided, out, threads),
        }
    }

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

    /// Compares the checksum of the block that contains the elements with the block, if it has a checksum; and the same for the array
    /// that is its mask. Reading elements does not do this, because it would read the whole block. Whoever copies all elements to a
    /// place with another checksum should do it first.
    ///
    /// ```
    /// use asdf_core::Asdf;
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// # let mut bytes = document.to_bytes()?;
    /// # let at = file.block(0)?.entry().data_offset() as usize;
    /// bytes[at] ^= 1; // a flipped bit in the data of the block
    /// let damaged = Asdf::from_bytes(bytes)?;
    /// assert!(damaged.array("image")?.read::<f32>().is_ok());
    /// assert!(damaged.array("image")?.check().is_err());
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if they differ; `Io`.
    pub fn check(&self) -> Result<()> {
        match &self.place {
            Place::Block(index) => self.file.check_block(*index)?,
            Place::Other(other) => other.check_block(0)?,
            Place::Inline => Checksum::Absent,
        };
        match self.description.mask {
            Mask::Array(mask) if mask != self.node => Array::new(self.file, mask)?.check(),
            _ => Ok(()),
        }
    }

    /// Reads the elements of an array of texts, without the zeros at their ends.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// document.set_array("stars", NewArray::from_strings(&["Vega", "Deneb", "Altair"], &[3])?)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.array("stars")?.read_strings()?, ["Vega", "Deneb", "Altair"]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the array has another type; `Misfit` with the index of the element, and the byte in it, if bytes are not text;
    /// and those of [`read_bytes`](Self::read_bytes).
    pub fn read_strings(&self) -> Result<Vec<String>> {
        let scalar = self.description.datatype.scalar();
        let Some(scalar @ (ScalarType::Ascii(_) | ScalarType::Ucs4(_))) = scalar else {
            return Err(Error::usage("element type", "must be ascii or ucs4 to read texts"));
        };
        let size: usize = fit(self.element_size()?, "bytes of a text")?;
        if size == 0 {
            let count = self.file.options.limits.items("texts", self.len())?;
            return Ok(vec![String::new(); count]);
        }
        let bytes = self.read_bytes()?;
        let elements = (0..).zip(bytes.chunks_exact(size));
        elements.map(|(index, element)| text(scalar, index, element)).collect()
    }

    /// Reads which elements are missing: one byte per element in C order, with 1 for missing ones; `None` if the array has no
    /// mask.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray, NewMask};
    ///
    /// let mut document = Document::new();
    /// let flux = NewArray::new(&[1.5, -999.0, 2.5], &[3])?.with_mask(NewMask::Value(-999.0));
    /// document.set_array("flux", flux)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.array("flux")?.read_mask()?, Some(vec![0, 1, 0]));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the mask has another shape; and those of [`read_bytes`](Self::read_bytes).
    pub fn read_mask(&self) -> Result<Option<Vec<u8>>> {
        match &self.description.mask {
            Mask::None => Ok(None),
            Mask::Inline(mask) => Ok(Some(mask.clone())),
            Mask::Array(node) => self.mask_array(*node).map(Some),
            Mask::Value(value) => self.mask_of(*value).map(Some),
        }
    }

    fn mask_array(&self, node: NodeId) -> Result<Vec<u8>> {
        let fault = |rule| Fault::new("mask", FaultKind::Rule(rule)).at("ndarray", self.description.at);
        let mask = Array::new(self.file, node)?;
        let shape = mask.shape();
        let Some(lead) = self.shape.len().checked_sub(shape.len()) else {
            return Err(fault("has more dimensions than the array"));
        };
        let bytes = mask.read_bytes()?;
        let size = bound::addressable(mask.element_size()?);
        let flags = bytes.chunks_exact(size.max(1)).map(|element| u8::from(element.iter().any(|&b| b != 0)));
        let flags: Vec<u8> = flags.collect();
        if shape == self.shape {
            return Ok(flags);
        }
        // A mask may be smaller than the array. It is repeated along dimensions that it lacks, or in which it has one index.
        let mut dimensions = Vec::with_capacity(self.shape.len());
        let mut stride = 1i64;
        for (axis, &count) in self.shape.iter().enumerate().rev() {
            let own = axis.checked_sub(lead).and_then(|axis| shape.get(axis)).copied().unwrap_or(1);
            match own {
                1 => dimensions.push(Dimension { count, stride: 0 }),
                own if own == count => dimensions.push(Dimension { count, stride }),
                _ => return Err(fault("has a shape that does not fit that of the array")),
            }
            // If the mask has no elements, none is read.
            stride = if flags.is_empty() { 0 } else { mul(stride, fit(own, "dimension of a mask")?)? };
        }
        dimensions.reverse();
        let mut out = zeroed(self.file.options.limits.memory("bytes of the mask", self.len())?)?;
        Strided { start: 0, size: 1, dimensions }.read(&flags, &mut out, 1)?;
        Ok(out)
    }

    fn mask_of(&self, value: f64) -> Result<Vec<u8>> {
        let scalar = self.description.datatype.scalar();
        let scalar =
            scalar.ok_or_else(|| Error::unsupported("a number as the mask of a structured array"))?;
        let size = bound::addressable(self.element_size()?).max(1);
        let bytes = self.read_bytes()?;
        let is_masked = |element: &[u8]| {
            crate::element::number(scalar, element)
                .map(|number| u8::from(number == value || number.is_nan() && value.is_nan()))
        };
        let flags: Option<Vec<u8>> = bytes.chunks_exact(size).map(is_masked).collect();
        flags.ok_or_else(|| {
            Error::unsupported("a number as the mask of an array whose elements are not real numbers")
        })
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

    /// Returns the decoded bytes that contain the array's elements, for a caller that gathers the elements itself.
    ///
    /// ```
    /// use asdf_core::{Asdf, Compression, Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// document.set_array("counts", NewArray::new(&[7u8; 100], &[10, 10])?.with_compression(Compression::Zlib))?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(*file.array("counts")?.source_bytes()?, [7; 100]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_bytes`](Self::read_bytes).
    pub fn source_bytes(&self) -> Result<Cow<'_, [u8]>> {
        let owned = |data| match data {
            Data::Stored(bytes) => bytes,
            Data::Decoded(bytes) => Cow::Owned(Vec::clone(&bytes)),
        };
        match (&self.place, &self.description.source) {
            (Place::Inline, Source::Inline(bytes)) => Ok(Cow::Borrowed(bytes)),
            (Place::Inline, _) => Ok(Cow::Borrowed(&[])),
            (Place::Block(index), _) => self.file.block_data(*index).map(owned),
            (Place::Other(other), _) => other.block_data(0).map(owned),
        }
    }
}

fn read_block(file: &Asdf, index: usize, mut strided: Strided, out: &mut [u8], threads: usize) -> Result<()> {
    let block = file.block(index)?;
    let entry = block.entry();
    if Compression::from_label(entry.header.compression.0) == Compression::None {
        strided.start = add(strided.start, entry.data_offset())?;
        return strided.read(&*file.storage, out, threads);
    }
    let data = file.block_data(index)?;
    strided.read(&&*data as &dyn ReadAt, out, threads)
}

/// Returns the text of element `index`, without the zeros at its end.
///
/// # Errors
/// `Misfit` if it is not text, with the first byte that is not UTF-8, or the code that is not a character.
pub(crate) fn text(scalar: ScalarType, index: u64, element: &[u8]) -> Result<String> {
    let ScalarType::Ucs4(_) = scalar else {
        let zeros = element.iter().rev().take_while(|&&b| b == 0).count();
        let text = element.get(..sub(element.len(), zeros)?).unwrap_or(element);
        let text = std::str::from_utf8(text).map_err(|_| Error::Misfit(Misfit::text(index, text)))?;
        return Ok(text.to_owned());
    };
    let codes = element.as_chunks::<4>().0;
    let zeros = codes.iter().rev().take_while(|&&code| code == [0; 4]).count();
    let characters = (0u64..).zip(codes).take(sub(codes.len(), zeros)?).map(|(place, code)| {
        let code = u32::from_le_bytes(*code);
        char::from_u32(code).ok_or_else(|| {
            let byte = bound::product(place, 4); // a position in a message
            let value = format!("text with the code {code:#x} at its byte {byte}");
            Error::Misfit(Misfit::new(index, &value, "String"))
        })
    });
    characters.collect()
}
