//! Elements as numbers of Rust.

use std::borrow::Cow;
use std::mem::size_of;

use sciformats_core::endian::ByteOrder;
use sciformats_core::number::{Number, NumberType, not_stored_as};
use sciformats_core::{Conversion, Error, Result, Slab, bound};

use crate::array::Array;
use crate::array_params::ArrayParams;
use crate::model::dtype::{DType, Kind};

/// Elements in the bytes of an array.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    kind: Kind,
    size: usize,
    order: ByteOrder,
    bytes: &'a [u8],
    conversion: Conversion,
}

mod sealed {
    use sciformats_core::Result;

    /// How elements are read and written.
    pub trait Sealed: Sized {
        /// The name of the type in Rust.
        const NAME: &'static str;
        /// The kind of elements that have the same bytes in memory and in the array.
        const STORED: Option<super::Kind>;
        /// The size of the part that a byte order applies to.
        const WORD: usize;

        /// Returns this many zeros.
        fn zeroed(len: usize) -> Result<Vec<Self>>;

        /// Returns the bytes of elements, so that they can be overwritten by stored bytes; `None` if not all bytes are valid.
        fn bytes_mut(elements: &mut [Self]) -> Option<&mut [u8]>;

        /// Fills `out` with stored elements, of which there must be as many.
        fn read(stored: super::Stored<'_>, out: &mut [Self]) -> Result<()>;
    }
}

/// A Rust type that elements of an array can be read as: integers of 1 to 16 bytes, `f32`, `f64`, `bool`, and with the feature
/// `num-complex` complex numbers.
///
/// ```
/// use cframe::{Array, ArrayParams, Element};
///
/// /// The first element of an array.
/// fn first<T: Element>(array: &Array) -> cframe::Result<Option<T>> {
///     Ok(array.read::<T>()?.first().copied())
/// }
/// let mut array = Array::new(&ArrayParams::of::<f32>(&[0])?)?;
/// array.append(0, &[281.0f32, 282.0])?;
/// assert_eq!(first::<i128>(&array)?, Some(281));
/// # Ok::<(), cframe::Error>(())
/// ```
pub trait Element: Copy + Default + Send + Sync + sealed::Sealed + 'static {}

/// A Rust type that elements of an array can be written as: integers and floats of 1 to 8 bytes, `bool`, and with the feature
/// `num-complex` complex numbers.
///
/// ```
/// use cframe::{Array, ArrayParams, Slab, Store};
///
/// /// An array in memory of one dimension.
/// fn series<T: Store>(values: &[T]) -> cframe::Result<Array> {
///     let shape = [values.len() as u64];
///     let mut array = Array::new(&ArrayParams::of::<T>(&shape)?)?;
///     array.write_slab(&Slab::all(&shape)?, values)?;
///     Ok(array)
/// }
/// assert_eq!(series(&[281.5f32, 282.0])?.dtype(), Some(f32::DTYPE));
/// assert_eq!(series(&[true, false])?.read::<bool>()?, [true, false]);
/// # Ok::<(), cframe::Error>(())
/// ```
pub trait Store: Element {
    /// The kind of the type.
    const KIND: Kind;
    /// The name of the type in NumPy, in the byte order of this machine.
    const DTYPE: &'static str;

    /// Returns the elements as they are stored in a byte order.
    #[doc(hidden)]
    fn bytes(elements: &[Self], order: ByteOrder) -> Cow<'_, [u8]>;
}

macro_rules! elements {
    ($($rust:ty, $part:ty, $kind:ident, $little:literal, $big:literal, $read:ident;)*) => {$(
        impl sealed::Sealed for $rust {
            const NAME: &'static str = stringify!($rust);
            const STORED: Option<Kind> = Some(Kind::$kind);
            const WORD: usize = size_of::<$part>();

            fn zeroed(len: usize) -> Result<Vec<Self>> {
                zeroed(len)
            }

            fn bytes_mut(elements: &mut [Self]) -> Option<&mut [u8]> {
                Some(bytemuck::cast_slice_mut(elements))
            }

            fn read(stored: Stored<'_>, out: &mut [Self]) -> Result<()> {
                $read(stored, out)
            }
        }
        impl Element for $rust {}
        impl Store for $rust {
            const KIND: Kind = Kind::$kind;
            const DTYPE: &'static str = if cfg!(target_endian = "big") { $big } else { $little };

            fn bytes(elements: &[Self], order: ByteOrder) -> Cow<'_, [u8]> {
                let mut bytes = Cow::Borrowed(bytemuck::cast_slice(elements));
                if order != ByteOrder::NATIVE && <Self as sealed::Sealed>::WORD > 1 {
                    ByteOrder::NATIVE.convert(order, bytes.to_mut(), <Self as sealed::Sealed>::WORD);
                }
                bytes
            }
        }
    )*};
}
elements! {
    i8, i8, Signed, "|i1", "|i1", numbers;
    i16, i16, Signed, "<i2", ">i2", numbers;
    i32, i32, Signed, "<i4", ">i4", numbers;
    i64, i64, Signed, "<i8", ">i8", numbers;
    u8, u8, Unsigned, "|u1", "|u1", numbers;
    u16, u16, Unsigned, "<u2", ">u2", numbers;
    u32, u32, Unsigned, "<u4", ">u4", numbers;
    u64, u64, Unsigned, "<u8", ">u8", numbers;
    f32, f32, Float, "<f4", ">f4", numbers;
    f64, f64, Float, "<f8", ">f8", numbers;
}

#[cfg(feature = "num-complex")]
elements! {
    num_complex::Complex<f32>, f32, Complex, "<c8", ">c8", pairs;
    num_complex::Complex<f64>, f64, Complex, "<c16", ">c16", pairs;
}

impl sealed::Sealed for bool {
    const NAME: &'static str = "bool";
    const STORED: Option<Kind> = Some(Kind::Bool);
    const WORD: usize = 1;

    fn zeroed(len: usize) -> Result<Vec<Self>> {
        zeroed(len)
    }

    fn bytes_mut(_: &mut [Self]) -> Option<&mut [u8]> {
        None
    }

    fn read(stored: Stored<'_>, out: &mut [Self]) -> Result<()> {
        // No other type can read truth values without a conversion.
        let exact = stored.kind == Kind::Bool && stored.conversion == Conversion::None;
        let conversion = if exact { Conversion::Exact } else { stored.conversion };
        numbers(Stored { kind: if exact { Kind::Unsigned } else { stored.kind }, conversion, ..stored }, out)
    }
}

impl Element for bool {}
impl Store for bool {
    const KIND: Kind = Kind::Bool;
    const DTYPE: &'static str = "|b1";

    fn bytes(elements: &[Self], _: ByteOrder) -> Cow<'_, [u8]> {
        Cow::Owned(elements.iter().map(|&truth| u8::from(truth)).collect())
    }
}

macro_rules! wide {
    ($($rust:ty)*) => {$(
        impl sealed::Sealed for $rust {
            const NAME: &'static str = stringify!($rust);
            const STORED: Option<Kind> = None;
            const WORD: usize = size_of::<$rust>();

            fn zeroed(len: usize) -> Result<Vec<Self>> {
                zeroed(len)
            }

            fn bytes_mut(_: &mut [Self]) -> Option<&mut [u8]> {
                None
            }

            fn read(stored: Stored<'_>, out: &mut [Self]) -> Result<()> {
                numbers(stored, out)
            }
        }
        impl Element for $rust {}
    )*};
}
wide! { i128 u128 }

fn zeroed<T: Copy + Default>(len: usize) -> Result<Vec<T>> {
    let mut zeros = Vec::new();
    zeros
        .try_reserve_exact(len)
        .map_err(|_| Error::io("allocate", std::io::ErrorKind::OutOfMemory.into()))?;
    zeros.resize(len, T::default());
    Ok(zeros)
}

/// Reads numbers of any type that have the same values as `T`.
fn numbers<T: Number>(stored: Stored<'_>, out: &mut [T]) -> Result<()> {
    let Stored { kind, size, order, bytes, conversion } = stored;
    let size = size as u64;
    let number = match kind {
        Kind::Signed => NumberType::integer(true, size),
        Kind::Unsigned => NumberType::integer(false, size),
        Kind::Float => NumberType::float(size),
        // Elements without a type have the type that is asked for, if it has their size.
        Kind::Raw => T::STORED.filter(|stored| stored.size() as u64 == size),
        Kind::Bool if conversion != Conversion::None => Some(NumberType::U8),
        _ => None,
    };
    let number = number.ok_or_else(|| not_stored_as(T::NAME, described(kind)))?;
    T::read(number, if kind == Kind::Raw { ByteOrder::NATIVE } else { order }, bytes, conversion, out)
}

/// Returns what an error calls elements of this kind.
fn described(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "truth values",
        Kind::Signed | Kind::Unsigned => "integers",
        Kind::Float => "floats",
        Kind::Complex => "complex numbers",
        Kind::Bytes | Kind::Text => "text",
        Kind::Raw => "raw bytes",
        Kind::DateTime | Kind::TimeDelta => "times",
    }
}

/// Reads complex numbers of either precision, and real numbers.
#[cfg(feature = "num-complex")]
fn pairs<T: Number>(stored: Stored<'_>, out: &mut [num_complex::Complex<T>]) -> Result<()> {
    use num_complex::Complex;

    let size = size_of::<Complex<T>>();
    let is_raw = stored.kind == Kind::Raw && stored.size == size;
    if stored.kind != Kind::Complex && !is_raw {
        let mut real = T::zeroed(out.len())?;
        numbers(stored, &mut real)?;
        out.iter_mut().zip(real).for_each(|(out, real)| *out = Complex::new(real, T::default()));
        return Ok(());
    }
    let kind = if is_raw { Kind::Raw } else { Kind::Float };
    let mut parts = T::zeroed(sciformats_core::arith::mul(out.len(), 2)?)?;
    numbers(Stored { kind, size: stored.size / 2, ..stored }, &mut parts).map_err(Error::of_pair)?;
    let pairs = parts.as_chunks().0;
    out.iter_mut().zip(pairs).for_each(|(out, &[real, imaginary])| *out = Complex::new(real, imaginary));
    Ok(())
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
    pub fn of<T: Store>(shape: &[u64]) -> Result<Self> {
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
    pub fn read_slab<T: Element>(&self, slab: &Slab) -> Result<Vec<T>> {
        self.scalar::<T>()?;
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
    pub fn read_slab_into<T: Element>(&self, slab: &Slab, out: &mut [T]) -> Result<()> {
        let (kind, size, order) = self.scalar::<T>()?;
        if out.len() as u64 != slab.len() {
            let problem = format!("has a length of {}, but {} elements are selected", out.len(), slab.len());
            return Err(Error::usage("buffer", problem));
        }
        let is_same = size == size_of::<T>() && (T::STORED == Some(kind) || kind == Kind::Raw);
        if is_same && let Some(bytes) = T::bytes_mut(out) {
            self.read_slab_bytes_into(slab, bytes)?;
            if kind != Kind::Raw {
                order.convert(ByteOrder::NATIVE, bytes, T::WORD);
            }
            return Ok(());
        }
        let bytes = &self.read_slab_bytes(slab)?;
        T::read(Stored { kind, size, order, bytes, conversion: self.conversion }, out)
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
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
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
    pub fn append<T: Store>(&mut self, axis: usize, values: &[T]) -> Result<()> {
        let order = self.order_of::<T>()?;
        self.append_bytes(axis, &T::bytes(values, order))
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
    pub fn write_slab<T: Store>(&mut self, slab: &Slab, values: &[T]) -> Result<()> {
        let order = self.order_of::<T>()?;
        self.write_slab_bytes(slab, &T::bytes(values, order))
    }

    /// Returns the kind, the size and the byte order of the elements, if `T` can hold elements of this kind.
    fn scalar<T: Element>(&self) -> Result<(Kind, usize, ByteOrder)> {
        let no_number = || not_stored_as(T::NAME, self.dtype().unwrap_or("raw bytes"));
        let DType::Scalar { kind, size, order } = self.element()? else { return Err(no_number()) };
        let is_same = size == size_of::<T>() && T::STORED == Some(kind);
        let fits = match kind {
            Kind::Raw => size == size_of::<T>(),
            Kind::Complex => T::STORED == Some(Kind::Complex),
            Kind::Signed | Kind::Unsigned | Kind::Float | Kind::Bool => {
                is_same || self.conversion != Conversion::None
            }
            _ => false,
        };
        if fits { Ok((kind, size, order)) } else { Err(no_number()) }
    }

    /// Returns the byte order of the elements, if they have the type `T`.
    fn order_of<T: Store>(&self) -> Result<ByteOrder> {
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
