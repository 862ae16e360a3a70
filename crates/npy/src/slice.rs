//! Reads slices that are written like `(.., 3.., 0..=9, 5)`.

use sciformats_core::{IntoSelection, Result};

use crate::element::Element;
use crate::reader::Reader;

impl Reader {
    /// Reads the elements of a slice in C order. A slice has one range or index per dimension. Negative numbers count from the
    /// end, and dimensions that are not named are taken whole. [`IntoSelection`] lists all ways to write a slice.
    ///
    /// ```
    /// use npy::{Reader, by};
    ///
    /// let reader = Reader::from_bytes(npy::to_bytes(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?)?;
    /// assert_eq!(reader.read_slice::<f64>((0, ..))?, [1.0, 2.0, 3.0]);
    /// assert_eq!(reader.read_slice::<f64>((.., -1))?, [3.0, 6.0]);
    /// assert_eq!(reader.read_slice::<f64>((1, by(.., -2)))?, [6.0, 4.0]);
    /// assert_eq!(reader.read_slice::<f64>("1, ::2")?, [4.0, 6.0]);
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the slice is not inside the array, and the errors of [`read_slab`](Self::read_slab).
    pub fn read_slice<T: Element>(&self, part: impl IntoSelection) -> Result<Vec<T>> {
        let selection = part.into_selection(self.shape())?;
        let mut elements = self.read_slab(selection.slab())?;
        selection.turn(&mut elements);
        Ok(elements)
    }

    /// Does the same as [`read_slice`](Self::read_slice), but writes to `out`, which must have as many elements as the slice.
    ///
    /// # Errors
    /// Those of [`read_slice`](Self::read_slice); `Usage` if `out` has another length.
    pub fn read_slice_into<T: Element>(&self, part: impl IntoSelection, out: &mut [T]) -> Result<()> {
        let selection = part.into_selection(self.shape())?;
        self.read_slab_into(selection.slab(), out)?;
        selection.turn(out);
        Ok(())
    }
}
