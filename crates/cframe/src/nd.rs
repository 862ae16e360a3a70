//! Conversions from and to arrays of `ndarray`.

use ndarray::{ArrayBase, ArrayD, Data, Dimension};
use sciformats_core::{Error, Result, Slab, nd};

use crate::array::Array;
use crate::array_params::ArrayParams;
use crate::element::{Element, Store};
use crate::model::params::Params;

impl Array {
    /// Creates an array in memory with the shape and the elements of `values`. The shapes of chunks and blocks are chosen
    /// automatically.
    ///
    /// ```
    /// let values = ndarray::array![[1.5, 2.5], [3.5, 4.5], [5.5, 6.5]];
    /// let array = cframe::Array::from_ndarray(&values, cframe::Params::new(8))?;
    /// assert_eq!(array.read_slab_ndarray::<f64>(&cframe::Slab::all(&[3, 2])?)?, values.into_dyn());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`new`](Self::new) and [`write_slab_bytes`](Self::write_slab_bytes).
    pub fn from_ndarray<T: Store, S: Data<Elem = T>, D: Dimension>(
        values: &ArrayBase<S, D>,
        params: Params,
    ) -> Result<Self> {
        let shape: Vec<u64> = values.shape().iter().map(|&n| n as u64).collect();
        let mut array = Self::new(&ArrayParams::of::<T>(&shape)?.with_params(params))?;
        array.write_slab_ndarray(&Slab::all(&shape)?, values)?;
        Ok(array)
    }

    /// Returns all elements as an array of the same shape.
    ///
    /// ```
    /// use cframe::{Array, Params};
    ///
    /// let values = ndarray::array![[1.5, 2.5], [3.5, 4.5]];
    /// assert_eq!(Array::from_ndarray(&values, Params::new(8))?.to_ndarray::<f64>()?, values.into_dyn());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_slab`](Self::read_slab).
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        self.read_slab_ndarray(&Slab::all(self.shape())?)
    }

    /// Reads the elements of a selection. The result has the shape of the selection.
    ///
    /// ```
    /// use cframe::{Array, Params, Range, Slab};
    ///
    /// let array = Array::from_ndarray(&ndarray::array![[1.5, 2.5], [3.5, 4.5], [5.5, 6.5]], Params::new(8))?;
    /// let column = Slab::new(array.shape(), [Range::all(3), Range::new(1, 1)])?;
    /// assert_eq!(array.read_slab_ndarray::<f64>(&column)?, ndarray::array![[2.5], [4.5], [6.5]].into_dyn());
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_slab`](Self::read_slab).
    pub fn read_slab_ndarray<T: Element>(&self, slab: &Slab) -> Result<ArrayD<T>> {
        nd::array(self.read_slab(slab)?, &slab.shape())
    }

    /// Overwrites the elements of a selection with those of an array of the same shape.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Range, Slab};
    ///
    /// let mut array = Array::new(&ArrayParams::of::<f64>(&[2, 3])?)?;
    /// let left = Slab::new(array.shape(), [Range::all(2), Range::new(0, 2)])?;
    /// array.write_slab_ndarray(&left, &ndarray::array![[1.0, 2.0], [3.0, 4.0]].t())?;
    /// assert_eq!(array.read_slab::<f64>(&Slab::all(&[2, 3])?)?, [1.0, 3.0, 0.0, 2.0, 4.0, 0.0]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`write_slab`](Self::write_slab); `Usage` if the shapes differ.
    pub fn write_slab_ndarray<T: Store, S: Data<Elem = T>, D: Dimension>(
        &mut self,
        slab: &Slab,
        values: &ArrayBase<S, D>,
    ) -> Result<()> {
        if !values.shape().iter().map(|&n| n as u64).eq(slab.shape()) {
            let problem =
                format!("is {:?}, but the selection has the shape {:?}", values.shape(), slab.shape());
            return Err(Error::usage("shape", problem));
        }
        match values.as_slice() {
            Some(values) => self.write_slab(slab, values),
            None => self.write_slab(slab, &values.iter().copied().collect::<Vec<_>>()),
        }
    }
}
