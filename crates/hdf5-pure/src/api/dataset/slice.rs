//! Reads of a part as people write it: `(.., 3.., 0..=9, 5)`.

use sciformats_core::{IntoSelection, Result};

use crate::api::dataset::Dataset;
use crate::value::element::Element;

impl Dataset {
    /// The elements of a part, row by row: ranges and indices, one for each dimension; numbers below zero count from the end,
    /// and dimensions that are not named are taken whole. [`IntoSelection`] tells all that a part can be written as.
    ///
    /// ```
    /// use hdf5_pure::{Ellipsis, by};
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
    /// [`Error::Usage`](crate::Error::Usage) if the part is not inside of the dataset; as [`read`](Self::read).
    pub fn read_slice<T: Element>(&self, part: impl IntoSelection) -> Result<Vec<T>> {
        let selection = part.into_selection(self.shape().unwrap_or(&[0]))?;
        if self.shape().is_none() {
            return Ok(Vec::new());
        }
        let mut elements = self.read_slab(selection.slab())?;
        selection.turn(&mut elements);
        Ok(elements)
    }

    /// As [`read_slice`](Self::read_slice), into `out`, which has a place for each element.
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
    /// As [`read_slice`](Self::read_slice); [`Error::Usage`](crate::Error::Usage) if `out` has another length.
    pub fn read_slice_into<T: Element>(&self, part: impl IntoSelection, out: &mut [T]) -> Result<()> {
        let selection = part.into_selection(self.all()?.of())?;
        self.read_slab_into(selection.slab(), out)?;
        selection.turn(out);
        Ok(())
    }

    /// As [`read_slice`](Self::read_slice), as an array: dimensions of which one index is taken are dropped.
    ///
    /// ```
    /// use ndarray::{Array1, Array2, array, s};
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let temperature = file.dataset("surface/temperature")?; // 2 × 3
    /// let east: Array2<f64> = temperature.read_slice_array((.., 1..))?;
    /// assert_eq!(east, array![[282.0, 282.5], [280.5, 281.0]]);
    /// let backwards: Array1<f32> = temperature.read_slice_array(s![0, ..;-1])?;
    /// assert_eq!(backwards, array![282.5, 282.0, 281.5]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read_slice`](Self::read_slice); [`Error::Usage`](crate::Error::Usage) if the part has another number of dimensions
    /// than the array.
    #[cfg(feature = "ndarray")]
    pub fn read_slice_array<T: Element, D: ndarray::Dimension>(
        &self,
        part: impl IntoSelection,
    ) -> Result<ndarray::Array<T, D>> {
        let selection = part.into_selection(self.all()?.of())?;
        crate::value::element_features::array(self.read_slice(&selection)?, &selection.shape())
    }
}
