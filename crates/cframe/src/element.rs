//! Elements as numbers of Rust.

use std::mem::size_of;

use sciformats_core::endian::ByteOrder;
use sciformats_core::number::{Number, NumberType, not_stored_as};
use sciformats_core::{Conversion, Error, Result, Slab, bound};

use crate::array::Array;
use crate::array_params::ArrayParams;
use crate::model::dtype::{DType, Kind};

mod sealed {
    pub trait Sealed {}
}

/// A Rust type as which elements of an array can be written: integers and floats of 1 to 8 bytes. They can be read as any
/// [`Number`] that holds their values.
///
/// ```
/// use cframe::{Array, ArrayParams, Element, Slab};
///
/// /// An array in memory of one dimension.
/// fn series<T: Element>(values: &[T]) -> cframe::Result<Array> {
///     let shape = [values.len() as u64];
///     let mut array = Array::new(&ArrayParams::of::<T>(&shape)?)?;
///     array.write_slab(&Slab::all(&shape)?, values)?;
///     Ok(array)
/// }
/// assert_eq!(series(&[281.5f32, 282.0])?.dtype(), Some(f32::DTYPE));
/// # Ok::<(), cframe::Error>(())
/// ```
pub trait Element: bytemuck::Pod + Number + sealed::Sealed {
    /// The kind of the type.
    const KIND: Kind;
    /// The name of the type in NumPy, in the byte order of this machine.
    const DTYPE: &'static str;
}

macro_rules! elements {
    ($($rust:ty, $kind:ident, $little:literal, $big:literal;)*) => {$(
        impl sealed::Sealed for $rust {}
        impl Element for $rust {
            const KIND: Kind = Kind::$kind;
            const DTYPE: &'static str = if cfg!(target_endian = "big") { $big } else { $little };
        }
    )*};
}
elements! {
    i8, Signed, "|i1", "|i1";
    i16, Signed, "<i2", ">i2";
    i32, Signed, "<i4", ">i4";
    i64, Signed, "<i8", ">i8";
    u8, Unsigned, "|u1", "|u1";
    u16, Unsigned, "<u2", ">u2";
    u32, Unsigned, "<u4", ">u4";
    u64, Unsigned, "<u8", ">u8";
    f32, Float, "<f4", ">f4";
    f64, Float, "<f8", ">f8";
}

impl ArrayParams {
    /// Creates parameters for an array of `shape` whose elements have the type `T`.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams};
    ///
    /// let temperature = Array::new(&ArrayParams::of::<f32>(&[365, 24])?)?;
    /// assert_eq!((temperature.shape(), temperature.typesize()), (&[365, 24][..], 4));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if there are more than 16 dimensions.
    pub fn of<T: Element>(shape: &[u64]) -> Result<Self> {
        Self::new(shape, T::DTYPE)
    }
}

impl Array {
    /// Returns the same array with other rules for the conversion of elements to a type.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Conversion, Error, Slab};
    ///
    /// let mut array = Array::new(&ArrayParams::of::<f64>(&[2])?)?;
    /// array.write_slab(&Slab::all(&[2])?, &[20.0, 300.5])?;
    /// assert!(matches!(array.read::<u8>(), Err(Error::Misfit(misfit)) if misfit.index == 1));
    /// let array = array.with_conversion(Conversion::Lossy);
    /// assert_eq!(array.read::<u8>()?, [20, 255]);
    /// let array = array.with_conversion(Conversion::None);
    /// assert!(array.read::<f64>().is_ok() && array.read::<f32>().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn with_conversion(mut self, conversion: Conversion) -> Self {
        self.conversion = conversion;
        self
    }

    /// Reads the elements of a selection as numbers, whatever their byte order in the file is. They are converted if no value
    /// changes.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Range, Slab};
    ///
    /// let mut array = Array::new(&ArrayParams::of::<f32>(&[4, 3])?)?;
    /// array.write_slab(&Slab::all(&[4, 3])?, &(0..12).map(|i| i as f32).collect::<Vec<_>>())?;
    /// let column = Slab::new(&[4, 3], [Range::new(0, 4), Range::new(1, 1)])?;
    /// assert_eq!(array.read_slab::<f32>(&column)?, [1.0, 4.0, 7.0, 10.0]);
    /// assert_eq!(array.read_slab::<u8>(&column)?, [1, 4, 7, 10]); // all of them are whole numbers
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_slab_bytes`](Self::read_slab_bytes); [`Error::Misfit`] with the first element that `T` cannot hold;
    /// `Usage` if the elements are not numbers. Elements without a type can be read as any type of their size.
    pub fn read_slab<T: Number>(&self, slab: &Slab) -> Result<Vec<T>> {
        self.number::<T>()?;
        let limits = self.schunk().limits();
        let size = bound::product(slab.len(), size_of::<T>() as u64);
        let size = limits.memory("bytes of the selection", size)?;
        let mut values = T::zeroed(size / size_of::<T>())?;
        self.read_slab_into(slab, &mut values)?;
        Ok(values)
    }

    /// Does the same as [`read_slab`](Self::read_slab), but writes to `out`, which must have the number of selected elements.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Range, Slab};
    ///
    /// let mut array = Array::new(&ArrayParams::of::<f32>(&[0, 3])?)?;
    /// array.append(0, &(0..12).map(|i| i as f32).collect::<Vec<_>>())?;
    /// let mut row = [0.0f32; 3];
    /// array.read_slab_into(&Slab::new(array.shape(), [Range::new(2, 1), Range::all(3)])?, &mut row)?;
    /// assert_eq!(row, [6.0, 7.0, 8.0]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_slab`](Self::read_slab); `Usage` if `out` has another length.
    pub fn read_slab_into<T: Number>(&self, slab: &Slab, out: &mut [T]) -> Result<()> {
        let (stored, order, conversion) = self.number::<T>()?;
        if out.len() as u64 != slab.len() {
            let problem = format!("has a length of {}, but {} elements are selected", out.len(), slab.len());
            return Err(Error::usage("buffer", problem));
        }
        if T::STORED == Some(stored)
            && let Some(bytes) = T::bytes_mut(out)
        {
            self.read_slab_bytes_into(slab, bytes)?;
            order.convert(ByteOrder::NATIVE, bytes, size_of::<T>());
            return Ok(());
        }
        T::read(stored, order, &self.read_slab_bytes(slab)?, conversion, out)
    }

    /// Reads all elements in C order as numbers.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams};
    ///
    /// let mut counts = Array::new(&ArrayParams::new(&[0, 2], ">u2")?)?;
    /// counts.append(0, &[1u16, 2, 3, 4])?; // two rows
    /// assert_eq!(counts.read::<u16>()?, [1, 2, 3, 4]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_slab`](Self::read_slab).
    pub fn read<T: Number>(&self) -> Result<Vec<T>> {
        self.read_slab(&Slab::all(self.shape())?)
    }

    /// Extends the array along `axis` by numbers, which are whole rows of this axis in C order.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams};
    ///
    /// let mut position = Array::new(&ArrayParams::of::<f32>(&[0, 3])?)?;
    /// position.append(0, &[0.0f32, 0.5, 1.0])?;
    /// position.append(0, &[2.0f32; 6])?; // two rows more
    /// assert_eq!(position.shape(), [3, 3]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`append_bytes`](Self::append_bytes); `Usage` if the elements are of another type.
    pub fn append<T: Element>(&mut self, axis: usize, values: &[T]) -> Result<()> {
        match self.order_of::<T>()? {
            ByteOrder::NATIVE => self.append_bytes(axis, bytemuck::cast_slice(values)),
            order => self.append_bytes(axis, &converted(values, order)),
        }
    }

    /// Overwrites the elements of a selection with numbers.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Range, Slab};
    ///
    /// let mut temperature = Array::new(&ArrayParams::new(&[3, 2], ">f4")?)?;
    /// temperature.write_slab(&Slab::new(&[3, 2], [Range::new(1, 1), Range::all(2)])?, &[281.5f32, 282.0])?;
    /// assert_eq!(temperature.read_slab::<f32>(&Slab::all(&[3, 2])?)?, [0.0, 0.0, 281.5, 282.0, 0.0, 0.0]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`write_slab_bytes`](Self::write_slab_bytes); `Usage` if the elements are of another type.
    pub fn write_slab<T: Element>(&mut self, slab: &Slab, values: &[T]) -> Result<()> {
        match self.order_of::<T>()? {
            ByteOrder::NATIVE => self.write_slab_bytes(slab, bytemuck::cast_slice(values)),
            order => self.write_slab_bytes(slab, &converted(values, order)),
        }
    }

    /// Returns the type and the byte order of the elements, if they are numbers, and how they are converted to `T`.
    fn number<T: Number>(&self) -> Result<(NumberType, ByteOrder, Conversion)> {
        let no_number = || not_stored_as(T::NAME, self.dtype().unwrap_or("raw bytes"));
        let DType::Scalar { kind, size, order } = self.element()? else { return Err(no_number()) };
        let size = size as u64;
        let mut conversion = self.conversion;
        let (stored, order) = match kind {
            Kind::Signed => (NumberType::integer(true, size), order),
            Kind::Unsigned => (NumberType::integer(false, size), order),
            Kind::Float => (NumberType::float(size), order),
            Kind::Raw => (T::STORED.filter(|stored| stored.size() as u64 == size), ByteOrder::NATIVE),
            Kind::Bool => {
                // Without conversions, only `bool` can read truth values, and it is the only type for which no number type is
                // stored.
                if conversion == Conversion::None && T::STORED.is_none() {
                    conversion = Conversion::Exact;
                } else if conversion == Conversion::None {
                    return Err(no_number());
                }
                (Some(NumberType::U8), order)
            }
            _ => (None, order),
        };
        Ok((stored.ok_or_else(no_number)?, order, conversion))
    }

    /// Returns the byte order of the elements, if they have the type `T`.
    fn order_of<T: Element>(&self) -> Result<ByteOrder> {
        match self.element()? {
            DType::Scalar { kind, size, order } if size == size_of::<T>() => {
                let raw = kind == Kind::Raw;
                if kind == T::KIND || raw {
                    return Ok(if raw { ByteOrder::NATIVE } else { order });
                }
            }
            _ => {}
        }
        let stored = self.dtype().unwrap_or("raw bytes");
        Err(Error::usage(
            "element type",
            format!("is {}, but the elements of the array are {stored}", T::DTYPE),
        ))
    }
}
/// Returns the bytes of numbers in the byte order `order`.
fn converted<T: Element>(values: &[T], order: ByteOrder) -> Vec<u8> {
    let mut bytes = bytemuck::cast_slice(values).to_vec();
    ByteOrder::NATIVE.convert(order, &mut bytes, size_of::<T>());
    bytes
}
