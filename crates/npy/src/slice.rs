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

    /// Reads the elements of a slice as bytes of the file's type, in C order.
    ///
    /// ```
    /// use npy::Reader;
    ///
    /// let reader = Reader::from_bytes(npy::to_bytes(&[2, 2], &[1u16, 2, 3, 300])?)?;
    /// assert_eq!(reader.read_slice_bytes(-1)?, [3, 0, 0x2c, 1]); // the last row
    /// # Ok::<(), npy::Error>(())
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
    /// Overwrites the elements of a slice, which is written as for [`Reader::read_slice`].
    ///
    /// ```
    /// use npy::{Editor, Reader};
    ///
    /// let mut editor = Editor::in_storage(npy::to_bytes(&[2, 3], &[1u8, 2, 3, 4, 5, 6])?)?;
    /// editor.write_slice((.., 1), &[20u8, 50])?;
    /// editor.write_slice((-1, ..1), &[40u8])?;
    /// assert_eq!(Reader::from_bytes(editor.into_storage())?.read::<u8>()?, [1, 20, 3, 40, 50, 6]);
    /// # Ok::<(), npy::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the slice is not inside the array or has a negative step, and the errors of
    /// [`write_slab`](Self::write_slab).
    pub fn write_slice<T: Element>(&mut self, part: impl IntoSelection, elements: &[T]) -> Result<()> {
        let selection = part.into_selection(self.shape())?;
        self.write_slab(selection.ascending()?, elements)
    }

    /// Does the same as [`write_slice`](Self::write_slice), with elements that are given as bytes of the file's type.
    ///
    /// # Errors
    /// `Usage` if the slice is not inside the array or has a negative step, and the errors of
    /// [`write_slab_bytes`](Self::write_slab_bytes).
    pub fn write_slice_bytes(&mut self, part: impl IntoSelection, bytes: &[u8]) -> Result<()> {
        let selection = part.into_selection(self.shape())?;
        self.write_slab_bytes(selection.ascending()?, bytes)
    }
}
