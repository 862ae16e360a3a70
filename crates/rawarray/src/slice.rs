//! Reads and writes slices that are written like `(.., 3.., 0..=9, 5)`.

use sciformats_core::{IntoSelection, ReadAt, Result, WriteAt};

use crate::editor::Editor;
use crate::element::Element;
use crate::reader::Reader;

impl Reader {
    /// Reads the elements of a slice in C order. A slice has one range or index per dimension. Negative numbers count from the
    /// end, and dimensions that are not named are taken whole. [`IntoSelection`] lists all ways to write a slice.
    ///
    /// ```
    /// use rawarray::{RawArray, Reader, by};
    ///
    /// # let bytes = RawArray::new([3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?.encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// assert_eq!(reader.shape(), [2, 3]);
    /// assert_eq!(reader.read_slice::<f64>((0, ..))?, [1.0, 2.0, 3.0]);
    /// assert_eq!(reader.read_slice::<f64>((.., -1))?, [3.0, 6.0]);
    /// assert_eq!(reader.read_slice::<f64>((1, by(.., -2)))?, [6.0, 4.0]);
    /// assert_eq!(reader.read_slice::<f64>("1, ::2")?, [4.0, 6.0]);
    /// # Ok::<(), rawarray::Error>(())
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

    /// Does the same as [`read_slice`](Self::read_slice), but returns an array. A dimension of which a single index is selected is
    /// dropped.
    ///
    /// ```
    /// use ndarray::{Array2, array, s};
    ///
    /// # let array = rawarray::RawArray::new([3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// # let bytes = array.encode(&Default::default())?;
    /// let reader = rawarray::Reader::from_bytes(bytes)?;
    /// let part: Array2<f64> = reader.read_slice_ndarray(s![.., 1..;-1])?;
    /// assert_eq!(part, array![[3.0, 2.0], [6.0, 5.0]]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_slice`](Self::read_slice); `Usage` if the slice and the array differ in their number of dimensions.
    #[cfg(feature = "ndarray")]
    pub fn read_slice_ndarray<T: Element, D: ndarray::Dimension>(
        &self,
        part: impl IntoSelection,
    ) -> Result<ndarray::Array<T, D>> {
        let selection = part.into_selection(self.shape())?;
        sciformats_core::nd::array(self.read_slice(&selection)?, &selection.shape())
    }

    /// Reads the elements of a slice as decoded little-endian bytes, in C order.
    ///
    /// ```
    /// use rawarray::{RawArray, Reader};
    ///
    /// # let bytes = RawArray::new([2, 2], vec![1u16, 2, 3, 300])?.encode(&Default::default())?;
    /// let reader = Reader::from_bytes(bytes)?;
    /// assert_eq!(reader.read_slice_bytes(-1)?, [3, 0, 0x2c, 1]); // the last row
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the slice is not inside the array, and the errors of [`read_slab_bytes`](Self::read_slab_bytes).
    pub fn read_slice_bytes(&self, part: impl IntoSelection) -> Result<Vec<u8>> {
        let selection = part.into_selection(self.shape())?;
        let mut bytes = self.read_slab_bytes(selection.slab())?;
        selection.turn_bytes(&mut bytes);
        Ok(bytes)
    }
}

impl<S: ReadAt + WriteAt> Editor<S> {
    /// Overwrites the elements of a slice, which is written as for [`Reader::read_slice`]. The last dimension of
    /// [`shape`](Self::shape) varies fastest.
    ///
    /// ```
    /// use rawarray::{Editor, RawArray};
    ///
    /// # let file = RawArray::new([3, 2], vec![1u8, 2, 3, 4, 5, 6])?.encode(&Default::default())?;
    /// let mut editor = Editor::in_storage(file)?; // 1, 2, 3 and 4, 5, 6
    /// editor.write_slice((.., 1), &[20u8, 50])?;
    /// editor.write_slice((-1, ..1), &[40u8])?;
    /// assert_eq!(RawArray::<u8>::from_bytes(editor.into_storage())?.data(), [1, 20, 3, 40, 50, 6]);
    /// # Ok::<(), rawarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the slice is not inside the array or has a negative step, and the errors of
    /// [`write_slab`](Self::write_slab).
    pub fn write_slice<T: Element>(&mut self, part: impl IntoSelection, elements: &[T]) -> Result<()> {
        let selection = part.into_selection(self.shape())?;
        self.write_slab(selection.ascending()?, elements)
    }

    /// Does the same as [`write_slice`](Self::write_slice), with elements that are given as little-endian bytes.
    ///
    /// # Errors
    /// `Usage` if the slice is not inside the array or has a negative step, and the errors of
    /// [`write_slab_bytes`](Self::write_slab_bytes).
    pub fn write_slice_bytes(&mut self, part: impl IntoSelection, bytes: &[u8]) -> Result<()> {
        let selection = part.into_selection(self.shape())?;
        self.write_slab_bytes(selection.ascending()?, bytes)
    }
}
