//! Arrays of the `ndarray` crate as datasets and attributes.

use ndarray::{ArrayBase, Data, Dimension};

use crate::api::writer::DatasetBuilder;
use crate::api::writer::value::Value;
use crate::object::id::ObjectId;
use crate::spec::message::datatype::Datatype;
use crate::value::store::{Encoder, Store};
use crate::{Error, Result};

/// Stores an array as an attribute of its shape.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let rotation = ndarray::array![[0.0, -1.0], [1.0, 0.0]];
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.root().attribute("rotation", &rotation)?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.attr::<ndarray::Array2<f64>>("rotation")?, Some(rotation));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
impl<S, D> Value for &ArrayBase<S, D>
where
    S: Data,
    S::Elem: Store + Clone,
    D: Dimension,
{
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        let rows = self.as_standard_layout();
        S::Elem::encode(
            rows.as_slice().ok_or_else(|| Error::usage("array", "is not contiguous in memory"))?,
            to,
        )?;
        let mut shape = self.shape().iter().map(|&n| n as u64).collect();
        Ok((S::Elem::innermost(&mut shape), Some(shape)))
    }
}

impl<S, D> Value for ArrayBase<S, D>
where
    S: Data,
    S::Elem: Store + Clone,
    D: Dimension,
{
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        (&self).store(to)
    }
}

impl DatasetBuilder<'_> {
    /// Creates the dataset with the shape and the elements of an array.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let temperature = ndarray::array![[281.5, 282.0, 282.5], [280.0, 280.5, 281.0]];
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").attribute("units", "K").write_ndarray(&temperature)?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("temperature")?.to_ndarray::<f64>()?, temperature.into_dyn());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`write`](Self::write).
    pub fn write_ndarray<S, D>(self, array: &ArrayBase<S, D>) -> Result<ObjectId>
    where
        S: Data,
        S::Elem: Store + Clone,
        D: Dimension,
    {
        let shape: Vec<u64> = array.shape().iter().map(|&n| n as u64).collect();
        let rows = array.as_standard_layout();
        let values = rows.as_slice().ok_or_else(|| Error::usage("array", "is not contiguous in memory"))?;
        self.shape(shape).write(values)
    }
}
