//! Reads slices that are written like `(.., 3.., 0..=9, 5)`.

use sciformats_core::{IntoSelection, Result};

use crate::api::dataset::Dataset;
use crate::value::element::Element;

impl Dataset {
    /// Reads the elements of a slice in C order. A slice has one range or index per dimension. Negative numbers count
    /// from the end, and dimensions that are not named are taken whole. [`IntoSelection`] lists all ways to write a
    /// slice.
    ///
    /// ```
    /// use hdf5_pure::selection::{by, Ellipsis};
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let temperature = file.dataset("surface/temperature")?; // 2 × 3
    /// assert_eq!(temperature.read_slice::<f64>((0, ..))?, [281.5, 282.0, 282.5]);
    /// assert_eq!(temperature.read_slice::<f64>((.., -1))?, [282.5, 281.0]);
    /// assert_eq!(temperature.read_slice::<f64>((1, 0..=1))?, [280.0, 280.5]);
    /// assert_eq!(temperature.read_slice::<f64>((1, by(.., -2)))?, [281.0, 280.0]);
    /// assert_eq!(temperature.read_slice::<f64>((Ellipsis, 0))?, [281.5, 280.0]);
    /// assert_eq!(temperature.read_slice::<f64>("1, ::2")?, [280.0, 281.0]);
    /// let outside = temperature.read_slice::<f64>((.., 1..4)).unwrap_err();
    /// assert_eq!(outside.to_string(), "slice takes 1..4 of dimension 1, which has length 3");
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`](crate::Error::Usage) if the slice is not inside the dataset or the dataspace is null, and
    /// the errors of [`read`](Self::read).
    pub fn read_slice<T: Element>(&self, part: impl IntoSelection) -> Result<Vec<T>> {
        let selection = part.into_selection(self.all()?.of())?;
        let mut elements = self.read_slab(selection.slab())?;
        selection.turn(&mut elements);
        Ok(elements)
    }

    /// Works like [`read_slice`](Self::read_slice), but writes into `out`, which must have as many elements as the
    /// slice.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// let mut row = [0.0f32; 3];
    /// for number in 0..2 {
    ///     temperature.read_slice_into(number, &mut row)?;
    /// }
    /// assert_eq!(row, [280.0, 280.5, 281.0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read_slice`](Self::read_slice), and [`Error::Usage`](crate::Error::Usage) if `out` has
    /// another length.
    pub fn read_slice_into<T: Element>(&self, part: impl IntoSelection, out: &mut [T]) -> Result<()> {
        let selection = part.into_selection(self.all()?.of())?;
        self.read_slab_into(selection.slab(), out)?;
        selection.turn(out);
        Ok(())
    }

    /// Works like [`read_slice`](Self::read_slice), but returns an array. A dimension of which a single index is
    /// selected is dropped.
    ///
    /// ```
    /// use ndarray::{Array1, Array2, array, s};
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let temperature = file.dataset("surface/temperature")?; // 2 × 3
    /// let east: Array2<f64> = temperature.read_slice_ndarray((.., 1..))?;
    /// assert_eq!(east, array![[282.0, 282.5], [280.5, 281.0]]);
    /// let backwards: Array1<f32> = temperature.read_slice_ndarray(s![0, ..;-1])?;
    /// assert_eq!(backwards, array![282.5, 282.0, 281.5]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read_slice`](Self::read_slice), and [`Error::Usage`](crate::Error::Usage) if the slice
    /// and the array differ in their number of dimensions.
    #[cfg(feature = "ndarray")]
    pub fn read_slice_ndarray<T: Element, D: ndarray::Dimension>(
        &self,
        part: impl IntoSelection,
    ) -> Result<ndarray::Array<T, D>> {
        let selection = part.into_selection(self.all()?.of())?;
        sciformats_core::nd::array(self.read_slice(&selection)?, &selection.shape())
    }
}
