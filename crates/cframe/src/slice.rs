//! Reads and writes slices that are written like `(.., 3.., 0..=9, 5)`, and fills arrays by a function of the indices.

use sciformats_core::arith::{mul, sub};
use sciformats_core::slab::elements;
use sciformats_core::{IntoSelection, Range, Result, Slab};

use crate::array::{Array, position_of, unfit};
use crate::element::{Element, Store};

impl Array {
    /// Reads the elements of a slice in C order. A slice has one range or index per dimension. Negative numbers count from the
    /// end, and dimensions that are not named are taken whole. [`IntoSelection`] lists all ways to write a slice.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, by};
    ///
    /// let mut array = Array::new(&ArrayParams::of::<f64>(&[0, 3])?)?;
    /// array.append(0, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?; // 2 × 3
    /// assert_eq!(array.read_slice::<f64>((0, ..))?, [1.0, 2.0, 3.0]);
    /// assert_eq!(array.read_slice::<f64>((.., -1))?, [3.0, 6.0]);
    /// assert_eq!(array.read_slice::<f64>((1, by(.., -2)))?, [6.0, 4.0]);
    /// assert_eq!(array.read_slice::<f64>("1, ::2")?, [4.0, 6.0]);
    /// # Ok::<(), cframe::Error>(())
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

    /// Reads the elements of a slice as bytes of the array's type, in C order.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams};
    ///
    /// let mut array = Array::new(&ArrayParams::new(&[0, 2], "<u2")?)?;
    /// array.append(0, &[1u16, 2, 3, 4])?; // two rows
    /// assert_eq!(array.read_slice_bytes(-1)?, [3, 0, 4, 0]);
    /// # Ok::<(), cframe::Error>(())
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

    /// Overwrites the elements of a slice, which is written as for [`read_slice`](Self::read_slice).
    ///
    /// ```
    /// use cframe::{Array, ArrayParams};
    ///
    /// let mut temperature = Array::new(&ArrayParams::of::<f32>(&[3, 2])?)?;
    /// temperature.write_slice((.., 0), &[1.0f32, 2.0, 3.0])?;
    /// temperature.write_slice(-1, &[281.5f32, 282.0])?;
    /// assert_eq!(temperature.read::<f32>()?, [1.0, 0.0, 2.0, 0.0, 281.5, 282.0]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the slice is not inside the array or has a negative step, and the errors of
    /// [`write_slab`](Self::write_slab).
    pub fn write_slice<T: Store>(&mut self, part: impl IntoSelection, values: &[T]) -> Result<()> {
        let selection = part.into_selection(self.shape())?;
        self.write_slab(selection.ascending()?, values)
    }

    /// Does the same as [`write_slice`](Self::write_slice), with elements that are given as bytes of the array's type.
    ///
    /// # Errors
    /// `Usage` if the slice is not inside the array or has a negative step, and the errors of
    /// [`write_slab_bytes`](Self::write_slab_bytes).
    pub fn write_slice_bytes(&mut self, part: impl IntoSelection, bytes: &[u8]) -> Result<()> {
        let selection = part.into_selection(self.shape())?;
        self.write_slab_bytes(selection.ascending()?, bytes)
    }

    /// Overwrites all elements with those that `element` computes from their indices. One chunk at a time is in memory, so
    /// that the order is that of the chunks.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams};
    ///
    /// let mut image = Array::new(&ArrayParams::of::<f32>(&[2, 3])?.with_chunks(&[1, 2]).with_blocks(&[1, 1]))?;
    /// image.fill_with(|[y, x]| y as f32 + x as f32 / 10.0)?;
    /// assert_eq!(image.read::<f32>()?, [0.0, 0.1, 0.2, 1.0, 1.1, 1.2]);
    /// assert!(image.fill_with(|[x]| x as f32).is_err()); // it has two dimensions
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if `element` takes another number of indices than the array has dimensions, and the errors of
    /// [`write_slab`](Self::write_slab).
    pub fn fill_with<T: Store, const N: usize>(
        &mut self,
        mut element: impl FnMut([u64; N]) -> T,
    ) -> Result<()> {
        let shape = self.shape().to_vec();
        let side = self.chunk_shape().to_vec();
        let counts = self.grid().chunks();
        let all = Slab::all(&shape)?;
        if all.is_empty() {
            // There are no chunks, but the number of indices is checked all the same.
            return self.write_slab(&all, &all.computed(element)?);
        }
        for number in 0..elements(&counts).ok_or_else(unfit)? {
            let place = position_of(number, &counts)?.into_iter().zip(&side).zip(&shape);
            let ranges = place.map(|((at, &side), &length)| {
                let start = mul(at, side)?;
                Ok(Range::new(start, sub(length, start)?.min(side)))
            });
            let chunk = Slab::new(&shape, ranges.collect::<Result<Vec<_>>>()?)?;
            self.write_slab(&chunk, &chunk.computed(&mut element)?)?;
        }
        Ok(())
    }

    /// Does the same as [`read_slice`](Self::read_slice), but returns an array. A dimension of which a single index is selected is
    /// dropped.
    ///
    /// ```
    /// use ndarray::{Array2, array, s};
    ///
    /// let mut array = cframe::Array::new(&cframe::ArrayParams::of::<f64>(&[0, 3])?)?;
    /// array.append(0, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?; // 2 × 3
    /// let part: Array2<f64> = array.read_slice_ndarray(s![.., 1..;-1])?;
    /// assert_eq!(part, array![[3.0, 2.0], [6.0, 5.0]]);
    /// # Ok::<(), cframe::Error>(())
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
}
