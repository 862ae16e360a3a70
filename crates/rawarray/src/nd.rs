//! Conversions from and to `ndarray` arrays.
//!
//! The first dimension of the format varies fastest, and that of an array in `ndarray`'s standard order varies slowest. The
//! order of the elements is the same, so a file with `dims` [b, a] becomes an array of shape (a, b), and no element is moved.
//! `From`, [`RawArray::into_ndarray`], [`RawArray::ndarray`] and [`Reader::ndarray`] do this, as users of NumPy expect it.
//!
//! In Julia and MATLAB, the same file is an array of size (b, a). [`RawArray::into_fortran_ndarray`] returns this view, which
//! has the shape (b, a) and column-major strides, so that indices are the same as there. It does not move elements either.

use std::borrow::Cow;

use ndarray::{ArrayBase, ArrayD, ArrayViewD, CowArray, Data, Dimension, IxDyn, ShapeBuilder};
use sciformats_core::{Error, Result};

use crate::array::RawArray;
use crate::element::Element;
use crate::reader::Reader;

impl<T> RawArray<T> {
    /// Returns the array in C order, with the shape [`shape`](Self::shape). No element is moved; the metadata are dropped.
    ///
    /// ```
    /// use rawarray::RawArray;
    ///
    /// let array = RawArray::new([3, 2], vec![1, 2, 3, 4, 5, 6])?.into_ndarray()?;
    /// assert_eq!(array, ndarray::array![[1, 2, 3], [4, 5, 6]].into_dyn());
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if this machine cannot address an array of these dimensions.
    pub fn into_ndarray(self) -> Result<ArrayD<T>> {
        let shape = IxDyn(&sizes(self.shape())?);
        ArrayD::from_shape_vec(shape, self.into_data()).map_err(refused)
    }

    /// Returns the array as Julia and MATLAB index it, with the shape [`dims`](Self::dims). The first index varies fastest. No
    /// element is moved; the metadata are dropped.
    ///
    /// ```
    /// use rawarray::RawArray;
    ///
    /// let array = RawArray::new([3, 2], vec![1, 2, 3, 4, 5, 6])?.into_fortran_ndarray()?;
    /// assert_eq!(array, ndarray::array![[1, 4], [2, 5], [3, 6]].into_dyn());
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`into_ndarray`](Self::into_ndarray).
    pub fn into_fortran_ndarray(self) -> Result<ArrayD<T>> {
        let shape = IxDyn(&sizes(self.dims())?).f();
        ArrayD::from_shape_vec(shape, self.into_data()).map_err(refused)
    }

    /// Returns a view of the array in C order.
    ///
    /// ```
    /// use rawarray::RawArray;
    ///
    /// let image = RawArray::new([3, 2], vec![1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// assert_eq!(image.ndarray()?.sum_axis(ndarray::Axis(0)), ndarray::arr1(&[5.0, 7.0, 9.0]).into_dyn());
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`into_ndarray`](Self::into_ndarray).
    pub fn ndarray(&self) -> Result<ArrayViewD<'_, T>> {
        let shape = IxDyn(&sizes(self.shape())?);
        ArrayViewD::from_shape(shape, self.data()).map_err(refused)
    }
}

impl Reader {
    /// Returns the whole array in C order. It is a view if the file is [mapped](crate::Access::mapped) or in memory and
    /// [`view`](Self::view) can borrow; otherwise the array is read.
    ///
    /// ```
    /// use rawarray::{RawArray, Reader};
    ///
    /// let bytes = RawArray::new([3, 2], vec![1u8, 2, 3, 4, 5, 6])?.encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// let image = reader.ndarray::<u8>()?;
    /// assert_eq!(image, ndarray::array![[1, 2, 3], [4, 5, 6]].into_dyn());
    /// assert!(image.is_view()); // no element was copied
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read`](Self::read); `Usage` if this machine cannot address an array of these dimensions.
    pub fn ndarray<T: Element>(&self) -> Result<CowArray<'_, T, IxDyn>> {
        let shape = IxDyn(&sizes(self.shape())?);
        match self.view()? {
            Cow::Borrowed(elements) => {
                ArrayViewD::from_shape(shape, elements).map(CowArray::from).map_err(refused)
            }
            Cow::Owned(elements) => {
                ArrayD::from_shape_vec(shape, elements).map(CowArray::from).map_err(refused)
            }
        }
    }
}

/// An array of shape (a, b) becomes an array with dims [b, a], whatever its strides are. Element (i, j) stays element (i, j).
impl<T: Clone, S: Data<Elem = T>, D: Dimension> From<ArrayBase<S, D>> for RawArray<T> {
    fn from(array: ArrayBase<S, D>) -> Self {
        let dims: Vec<u64> = array.shape().iter().rev().map(|&dimension| dimension as u64).collect();
        let standard = array.is_standard_layout();
        let data = if standard {
            let (mut data, offset) = array.into_owned().into_raw_vec_and_offset();
            let start = offset.unwrap_or(0); // a position: an array without elements has none
            data.drain(..start.min(data.len()));
            let len: usize = dims.iter().product::<u64>() as usize;
            data.truncate(len);
            data
        } else {
            array.iter().cloned().collect()
        };
        Self::of_parts(dims, data)
    }
}

fn sizes(dims: &[u64]) -> Result<Vec<usize>> {
    dims.iter()
        .map(|&dimension| usize::try_from(dimension))
        .collect::<Result<_, _>>()
        .map_err(|_| Error::usage("dims", "are larger than this machine can address"))
}

#[allow(clippy::needless_pass_by_value, reason = "the signature of `map_err`")]
fn refused(error: ndarray::ShapeError) -> Error {
    Error::usage("dims", format!("are not a possible shape of an array: {error}"))
}
