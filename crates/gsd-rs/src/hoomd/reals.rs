//! Floating-point values in one of two precisions.

use super::List;

/// Numbers of single or double precision, as a file holds them.
#[derive(Clone, Debug, PartialEq)]
pub enum Reals {
    /// Single precision.
    F32(List<f32>),
    /// Double precision: since version 2.0 of the schema.
    F64(List<f64>),
}

impl Reals {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values, if they have single precision.
    pub fn as_f32(&self) -> Option<&[f32]> {
        match self {
            Self::F32(values) => Some(values),
            Self::F64(_) => None,
        }
    }

    /// The values, if they have double precision.
    pub fn as_f64(&self) -> Option<&[f64]> {
        match self {
            Self::F32(_) => None,
            Self::F64(values) => Some(values),
        }
    }

    /// The values in double precision, which is exact for both.
    pub fn to_f64(&self) -> Vec<f64> {
        self.iter().collect()
    }

    /// The value at a position.
    pub fn get(&self, index: usize) -> Option<f64> {
        match self {
            Self::F32(values) => values.get(index).map(|&value| value.into()),
            Self::F64(values) => values.get(index).copied(),
        }
    }

    /// The values one after another.
    pub fn iter(&self) -> impl Iterator<Item = f64> {
        let (single, double) = match self {
            Self::F32(values) => (&values[..], &[][..]),
            Self::F64(values) => (&[][..], &values[..]),
        };
        single.iter().map(|&value| f64::from(value)).chain(double.iter().copied())
    }
}

impl Default for Reals {
    fn default() -> Self {
        Self::F32(List::default())
    }
}

impl From<Vec<f32>> for Reals {
    fn from(values: Vec<f32>) -> Self {
        Self::F32(values.into())
    }
}

impl From<Vec<f64>> for Reals {
    fn from(values: Vec<f64>) -> Self {
        Self::F64(values.into())
    }
}
