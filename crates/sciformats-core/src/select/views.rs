//! Slices of the `ndarray` crate: `s![.., 3..;2, 5]`.

use ndarray::{Dimension, SliceInfo, SliceInfoElem};

use super::{Axis, IntoAxis, IntoSelection, Selection};
use crate::error::{Error, Result};

/// Selects the same elements as `ndarray::ArrayBase::slice`.
///
/// ```
/// use ndarray::s;
/// use sciformats_core::select::IntoSelection;
///
/// let selection = s![..;-1, 3..;2, 5].into_selection(&[4, 10, 6])?;
/// assert_eq!((selection.shape(), selection.is_reversed()), (vec![4, 4], true));
/// # Ok::<(), sciformats_core::Error>(())
/// ```
impl<T, I, O> IntoSelection for SliceInfo<T, I, O>
where
    T: AsRef<[SliceInfoElem]>,
    I: Dimension,
    O: Dimension,
{
    fn into_selection(self, shape: &[u64]) -> Result<Selection> {
        let elements: &[SliceInfoElem] = AsRef::<[SliceInfoElem]>::as_ref(&self);
        let parts = elements.iter().map(axis).collect::<Result<Vec<Axis>>>()?;
        Selection::of_axes(&parts, shape)
    }
}

impl IntoAxis for ndarray::Slice {
    fn into_axis(self) -> Axis {
        let wide = |index: isize| index as i128;
        Axis::Slice { start: Some(wide(self.start)), end: self.end.map(wide), step: self.step as i128 }
    }
}

fn axis(element: &SliceInfoElem) -> Result<Axis> {
    match *element {
        SliceInfoElem::Slice { start, end, step } => Ok(ndarray::Slice { start, end, step }.into_axis()),
        SliceInfoElem::Index(index) => Ok(Axis::Index(index as i128)),
        SliceInfoElem::NewAxis => {
            Err(Error::usage("slice", "contains a new axis, which is not possible for an array in a file"))
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array, s};

    use crate::select::IntoSelection;

    /// Checks that the same elements are selected as by ndarray.
    #[test]
    fn as_ndarray_slices() {
        let array = Array::from_iter(0..60u64).into_shape_with_order((3, 4, 5)).unwrap();
        macro_rules! alike {
            ($($slice:expr;)*) => {$(
                let selection = $slice.into_selection(&[3, 4, 5]).unwrap();
                let mut taken: Vec<u64> = Vec::new();
                for run in selection.slab().runs() {
                    taken.extend((0..run.len).map(|i| run.from + i * run.step));
                }
                selection.turn(&mut taken);
                let expected = array.slice($slice);
                assert_eq!(taken, expected.iter().copied().collect::<Vec<_>>());
                let shape: Vec<u64> = expected.shape().iter().map(|&n| n as u64).collect();
                assert_eq!(selection.shape(), shape);
            )*};
        }
        alike! {
            s![.., .., ..];
            s![1, .., ..];
            s![..;-1, 1..3, 4];
            s![-1, ..;2, ..;-2];
            s![0..=1, 1..;-3, -2..];
            s![.., 2..2, ..];
            s![2, 3, 4];
        }
        assert!(s![0..4, .., ..].into_selection(&[3, 4, 5]).is_err());
    }
}
