//! Which elements of an array are missing.

use sciformats_core::arith::{fit, mul};
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::number::Float16;
use sciformats_core::storage::zeroed;
use sciformats_core::{Error, Result, bound};

use super::Array;
use crate::element::{integer, number};
use crate::model::datatype::ScalarType;
use crate::model::ndarray::Mask;
use crate::model::strided::{Dimension, Strided};
use crate::yaml::NodeId;

impl Array<'_> {
    /// Reads which elements are missing: one byte per element in C order, with 1 for missing ones; `None` if the array has no
    /// mask.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray, NewMask};
    ///
    /// let mut document = Document::new();
    /// let flux = NewArray::new(&[1.5, -999.0, 2.5], &[3])?.with_mask(NewMask::Value(-999.0));
    /// document.set_array("flux", flux)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.array("flux")?.read_mask()?, Some(vec![0, 1, 0]));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the mask has another shape; and those of [`read_bytes`](Self::read_bytes).
    pub fn read_mask(&self) -> Result<Option<Vec<u8>>> {
        match &self.description.mask {
            Mask::None => Ok(None),
            Mask::Inline(mask) => Ok(Some(mask.clone())),
            Mask::Array(node) => self.mask_array(*node).map(Some),
            Mask::Value(value) => {
                // Casts saturate, and no element is as large as that.
                let whole = (value.fract() == 0.0).then_some(*value as i128);
                self.mask_of(whole, *value).map(Some)
            }
            Mask::Integer(value) => self.mask_of(Some(*value), *value as f64).map(Some),
        }
    }

    fn mask_array(&self, node: NodeId) -> Result<Vec<u8>> {
        let fault = |rule| Fault::new("mask", FaultKind::Rule(rule)).at("ndarray", self.description.at);
        let mask = Array::new(self.file, node)?;
        let shape = mask.shape();
        let Some(lead) = self.shape.len().checked_sub(shape.len()) else {
            return Err(fault("has more dimensions than the array"));
        };
        let bytes = mask.read_bytes()?;
        let size = bound::addressable(mask.element_size()?);
        let flags = bytes.chunks_exact(size.max(1)).map(|element| u8::from(element.iter().any(|&b| b != 0)));
        let flags: Vec<u8> = flags.collect();
        if shape == self.shape {
            return Ok(flags);
        }
        // A mask may be smaller than the array. It is repeated along dimensions that it lacks, or in which it has one index.
        let mut dimensions = Vec::with_capacity(self.shape.len());
        let mut stride = 1i64;
        for (axis, &count) in self.shape.iter().enumerate().rev() {
            let own = axis.checked_sub(lead).and_then(|axis| shape.get(axis)).copied().unwrap_or(1);
            match own {
                1 => dimensions.push(Dimension { count, stride: 0 }),
                own if own == count => dimensions.push(Dimension { count, stride }),
                _ => return Err(fault("has a shape that does not fit that of the array")),
            }
            // If the mask has no elements, none is read.
            stride = if flags.is_empty() { 0 } else { mul(stride, fit(own, "dimension of a mask")?)? };
        }
        dimensions.reverse();
        let mut out = zeroed(self.file.options.limits.memory("bytes of the mask", self.len())?)?;
        Strided { start: 0, size: 1, dimensions }.read(&flags, &mut out, 1)?;
        Ok(out)
    }

    /// Returns which elements equal a number: the integers that are exactly `whole`, or the floats nearest to `value`.
    fn mask_of(&self, whole: Option<i128>, value: f64) -> Result<Vec<u8>> {
        let scalar = self.description.datatype.scalar();
        let scalar =
            scalar.ok_or_else(|| Error::unsupported("a number as the mask of a structured array"))?;
        let size = bound::addressable(self.element_size()?).max(1);
        let bytes = self.read_bytes()?;
        let float = nearest(scalar, value);
        let is_masked = |element: &[u8]| {
            let is_equal = match integer(scalar, element) {
                Some(integer) => whole == Some(integer),
                None => {
                    let number = number(scalar, element)?;
                    number == float || number.is_nan() && float.is_nan()
                }
            };
            Some(u8::from(is_equal))
        };
        let flags: Option<Vec<u8>> = bytes.chunks_exact(size).map(is_masked).collect();
        flags.ok_or_else(|| {
            Error::unsupported("a number as the mask of an array whose elements are not real numbers")
        })
    }
}

/// Returns the number of a float type that is nearest to `value`. Finite numbers do not become infinite.
fn nearest(scalar: ScalarType, value: f64) -> f64 {
    let nearest = match scalar {
        ScalarType::Float16 => Float16::nearest(value).into(),
        ScalarType::Float32 => f64::from(value as f32),
        _ => value,
    };
    if nearest.is_infinite() { value } else { nearest }
}
