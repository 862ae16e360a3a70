//! Reads the elements: all of them, a selection, or those that are borrowed.

use std::borrow::Cow;

use sciformats_core::endian::ByteOrder;
use sciformats_core::error::Within;
use sciformats_core::number::not_stored_as;
use sciformats_core::storage::zeroed;
use sciformats_core::{Conversion, Error, Fault, FaultKind, ReadAt, Result, Slab, bound};

use super::Reader;
use crate::element::Element;
use crate::model::element_type::ElementType;
use crate::model::layout::Encoding;
use crate::model::payload;

impl Reader {
    /// Reads the whole array in the order of the file, in which the first of [`dims`](Self::dims) varies fastest. Elements are
    /// converted if no value changes.
    ///
    /// ```
    /// use rawarray::{RawArray, Reader};
    ///
    /// # let bytes = RawArray::from(vec![20.5f32, 20.6]).encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// assert_eq!(reader.read::<f32>()?, [20.5, 20.6]);
    /// assert_eq!(reader.read::<f64>()?[0], 20.5);
    /// assert!(reader.read::<i32>().is_err()); // 20.5 is no integer
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Misfit`] with the first element that `T` cannot hold; `Usage` if the elements are of another kind; `Malformed`;
    /// `LimitExceeded` if an encoded array is larger than the limit; `Io`.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        self.check_type::<T>()?;
        self.check_size()?;
        let mut out = zeroed(self.count()?)?;
        self.read_into(&mut out)?;
        Ok(out)
    }

    /// Reads the whole array into `out`, which must have [`len`](Self::len) elements.
    ///
    /// ```
    /// use rawarray::{RawArray, Reader};
    ///
    /// # let bytes = RawArray::from(vec![20.5f32, 20.6]).encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// let mut temperature = [0f32; 2]; // to be used for the next file, too
    /// reader.read_into(&mut temperature)?;
    /// assert_eq!(temperature, [20.5, 20.6]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read`](Self::read); `Usage` if `out` has another length.
    pub fn read_into<T: Element>(&self, out: &mut [T]) -> Result<()> {
        self.check_type::<T>()?;
        check_len(out.len(), self.layout.count)?;
        self.fill(out, |bytes| {
            payload::read_all(&self.storage, &self.layout, ByteOrder::NATIVE, bytes)?;
            Ok(ByteOrder::NATIVE)
        })
    }

    /// Returns the whole array. It is borrowed if the storage has it in memory, aligned, unencoded, and in the byte order of the
    /// machine, which is usually the case if the file is [mapped](crate::Access::mapped). Otherwise it is read as by
    /// [`read`](Self::read).
    ///
    /// ```
    /// use rawarray::{Access, OpenOptions, RawArray, Reader};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("temperature.ra");
    /// # RawArray::from(vec![20.5f32, 21.5]).write(&path)?;
    /// // SAFETY: nobody else knows of the file.
    /// let mapped = OpenOptions::default().with_access(unsafe { Access::mapped() });
    /// let reader = Reader::open_with(&path, &mapped)?;
    /// let temperature = reader.view::<f32>()?; // in the map, no copy of the file
    /// assert_eq!(temperature.iter().sum::<f32>(), 42.0);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn view<T: Element>(&self) -> Result<Cow<'_, [T]>> {
        self.check_type::<T>()?;
        match self.stored_elements().and_then(T::view) {
            // The number of elements without bytes does not follow from their bytes.
            Some(elements) if elements.len() as u64 == self.len() && T::TYPE == self.element() => {
                Ok(Cow::Borrowed(elements))
            }
            _ => self.read().map(Cow::Owned),
        }
    }

    /// Returns the stored bytes of the elements, if they are in memory and need no conversion.
    fn stored_elements(&self) -> Option<&[u8]> {
        let layout = &self.layout;
        let plain = layout.encoding == Encoding::Raw
            && (layout.order == ByteOrder::NATIVE || layout.element.component() == 1);
        let bytes = self.storage.as_slice().filter(|_| plain)?;
        let (start, end) = (usize::try_from(layout.data).ok()?, usize::try_from(layout.metadata()).ok()?);
        bytes.get(start..end)
    }

    /// Reads the selected elements. The last dimension of [`shape`](Self::shape) varies fastest. If the array is not encoded,
    /// only the selected elements are read, and gaps between them that are too short to skip.
    ///
    /// ```
    /// use rawarray::{Range, RawArray, Reader, Slab};
    ///
    /// # let bytes = RawArray::new([3, 100], (0..300u32).collect::<Vec<_>>())?.encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// assert_eq!(reader.shape(), [100, 3]);
    /// let frames = Slab::new(reader.shape(), [Range::new(10, 2), Range::all(3)])?;
    /// assert_eq!(reader.read_slab::<u32>(&frames)?, [30, 31, 32, 33, 34, 35]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read`](Self::read); `Usage` if the slab does not select from this array's [`shape`](Self::shape).
    pub fn read_slab<T: Element>(&self, slab: &Slab) -> Result<Vec<T>> {
        self.check_type::<T>()?;
        self.check_slab(slab)?;
        self.check_size()?;
        let mut out = zeroed(usize::try_from(slab.len()).map_err(|_| too_large(slab.len()))?)?;
        self.read_slab_into(slab, &mut out)?;
        Ok(out)
    }

    /// Reads the selected elements into `out`, which must have the same number of elements.
    ///
    /// ```
    /// use rawarray::{Range, RawArray, Reader, Slab};
    ///
    /// # let bytes = RawArray::new([3, 4], (0..12u32).collect::<Vec<_>>())?.encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// let (mut row, mut sums) = ([0u32; 3], Vec::new());
    /// for i in 0..4 {
    ///     reader.read_slab_into(&Slab::new(reader.shape(), [Range::new(i, 1), Range::all(3)])?, &mut row)?;
    ///     sums.push(row.iter().sum::<u32>());
    /// }
    /// assert_eq!(sums, [3, 12, 21, 30]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_slab`](Self::read_slab); `Usage` if `out` has another length.
    pub fn read_slab_into<T: Element>(&self, slab: &Slab, out: &mut [T]) -> Result<()> {
        self.check_type::<T>()?;
        self.check_slab(slab)?;
        check_len(out.len(), slab.len())?;
        self.fill(out, |bytes| self.gather(slab, bytes))
    }

    /// Reads the selected elements as decoded little-endian bytes, in C order. A truth value is one byte.
    ///
    /// ```
    /// use rawarray::{Range, RawArray, Reader, Slab};
    ///
    /// # let bytes = RawArray::from(vec![1u16, 2, 300]).encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// let slab = Slab::new(reader.shape(), [Range::new(1, 2)])?;
    /// assert_eq!(reader.read_slab_bytes(&slab)?, [2, 0, 0x2c, 1]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_slab`](Self::read_slab).
    pub fn read_slab_bytes(&self, slab: &Slab) -> Result<Vec<u8>> {
        self.check_slab(slab)?;
        self.check_size()?;
        let bytes = bound::product(slab.len(), self.element().size());
        let mut out = zeroed(usize::try_from(bytes).map_err(|_| too_large(bytes))?)?;
        self.read_slab_bytes_into(slab, &mut out)?;
        Ok(out)
    }

    /// Reads the selected elements as decoded little-endian bytes into `out`, which must have their total size. A truth value is
    /// one byte.
    ///
    /// ```
    /// use rawarray::{Range, RawArray, Reader, Slab};
    ///
    /// # let bytes = RawArray::from(vec![1u16, 2, 300]).encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// let slab = Slab::new(reader.shape(), [Range::new(1, 2)])?;
    /// let mut out = vec![0; 2 * reader.element().size() as usize];
    /// reader.read_slab_bytes_into(&slab, &mut out)?;
    /// assert_eq!(out, [2, 0, 0x2c, 1]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_slab`](Self::read_slab); `Usage` if `out` has another length.
    pub fn read_slab_bytes_into(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        self.check_slab(slab)?;
        check_len(out.len(), bound::product(slab.len(), self.element().size()))?;
        let order = self.gather(slab, out).within(self.path.as_deref(), None)?;
        order.convert(ByteOrder::Little, out, self.element().swap_width());
        Ok(())
    }

    /// Reads all elements as decoded little-endian bytes. A truth value is one byte.
    ///
    /// ```
    /// use rawarray::{ByteOrder, RawArray, Reader, WriteOptions};
    ///
    /// let big = WriteOptions::default().with_byte_order(ByteOrder::Big);
    /// let reader = Reader::from_bytes(RawArray::from(vec![1u16, 300]).encode(&big)?)?;
    /// assert_eq!(reader.read_bytes()?, [1, 0, 0x2c, 1]); // little-endian, whatever the file is
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn read_bytes(&self) -> Result<Vec<u8>> {
        payload::decode(&self.storage, &self.layout, &self.options.limits).within(self.path.as_deref(), None)
    }

    /// Fills `out` by means of `read`, which returns the byte order of the bytes that it read.
    fn fill<T: Element>(
        &self,
        out: &mut [T],
        read: impl FnOnce(&mut [u8]) -> Result<ByteOrder>,
    ) -> Result<()> {
        self.filled(out, read).within(self.path.as_deref(), None)
    }

    fn filled<T: Element>(
        &self,
        out: &mut [T],
        read: impl FnOnce(&mut [u8]) -> Result<ByteOrder>,
    ) -> Result<()> {
        let stored = self.element();
        if T::TYPE == stored
            && let Some(bytes) = T::bytes_mut(out)
        {
            let order = read(bytes)?;
            order.convert(ByteOrder::NATIVE, bytes, stored.swap_width());
            return Ok(());
        }
        let bytes = bound::product(out.len() as u64, stored.size());
        let mut bytes: Vec<u8> = zeroed(usize::try_from(bytes).map_err(|_| too_large(bytes))?)?;
        let order = read(&mut bytes)?;
        if stored == ElementType::Bool && bytes.iter().any(|&byte| byte > 1) {
            let rule = Fault::new("element", FaultKind::Rule("is neither 0 nor 1"));
            return Err(rule.at("array", self.layout.data));
        }
        let conversion = if T::TYPE == stored { Conversion::Exact } else { self.conversion };
        T::convert(stored, order, &bytes, conversion, out)
    }

    fn gather(&self, slab: &Slab, out: &mut [u8]) -> Result<ByteOrder> {
        payload::read_slab(&self.storage, &self.layout, slab, || self.decoded(), out)
    }

    fn decoded(&self) -> Result<&[u8]> {
        if self.decoded.get().is_none() {
            let bytes = payload::decode(&self.storage, &self.layout, &self.options.limits)?;
            // If another thread was faster, it set the same bytes.
            let _ = self.decoded.set(bytes);
        }
        Ok(self.decoded.get().map(Vec::as_slice).unwrap_or_default())
    }

    pub(super) fn count(&self) -> Result<usize> {
        usize::try_from(self.layout.count).map_err(|_| too_large(self.layout.count))
    }

    fn check_size(&self) -> Result<()> {
        let checked = payload::checked_size(&self.layout, &self.options.limits);
        checked.map(drop).within(self.path.as_deref(), None)
    }

    fn check_type<T: Element>(&self) -> Result<()> {
        let stored = self.element();
        if T::TYPE == stored || self.conversion != Conversion::None {
            return Ok(());
        }
        Err(not_stored_as(T::TYPE, stored))
    }

    fn check_slab(&self, slab: &Slab) -> Result<()> {
        if slab.of().iter().eq(self.dims().iter().rev()) {
            return Ok(());
        }
        Err(Error::usage(
            "slab",
            format!(
                "selects from an array of {:?}, but this array has the shape {:?}",
                slab.of(),
                self.shape()
            ),
        ))
    }
}

fn too_large(count: u64) -> Error {
    Error::limit_exceeded("elements", count, usize::MAX as u64)
}

fn check_len(found: usize, expected: u64) -> Result<()> {
    if found as u64 == expected {
        return Ok(());
    }
    Err(Error::usage("out", format!("has a length of {found}, not {expected}")))
}
