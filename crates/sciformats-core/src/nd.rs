//! Arrays of the `ndarray` crate from elements and a shape.

use ndarray::{Array, ArrayD, Dimension, IxDyn};

use crate::error::{Error, Result};

/// Returns elements in C order as an array of this shape.
///
/// ```
/// use ndarray::{Array1, Array2, array};
/// use sciformats_core::nd;
///
/// let counts: Array2<u8> = nd::array(vec![1, 2, 3, 4, 5, 6], &[2, 3])?;
/// assert_eq!(counts, array![[1, 2, 3], [4, 5, 6]]);
/// let line: sciformats_core::Result<Array1<u8>> = nd::array(vec![1, 2, 3, 4, 5, 6], &[2, 3]);
/// assert!(line.unwrap_err().to_string().contains("[2, 3]"));
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Usage`] if the shape has another number of dimensions than `D`, or does not fit the elements.
pub fn array<T, D: Dimension>(elements: Vec<T>, shape: &[u64]) -> Result<Array<T, D>> {
    let wide =
        |&n: &u64| usize::try_from(n).map_err(|_| Error::usage("array", "is too large for this machine"));
    let sides = shape.iter().map(wide).collect::<Result<Vec<_>>>()?;
    let array = ArrayD::from_shape_vec(IxDyn(&sides), elements)
        .map_err(|error| Error::usage("array", error.to_string()))?;
    let problem = || {
        format!("has the shape {shape:?}, which has another number of dimensions than the requested array")
    };
    array.into_dimensionality().map_err(|_| Error::usage("array", problem()))
}
