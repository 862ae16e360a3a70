//! Floating-point values in one of two precisions.

use super::List;

/// Numbers of single or double precision, as they are in the file.
///
/// ```
/// use gsd_rs::hoomd::Reals;
///
/// let single: Reals = vec![0.5f32, 1.5].into();
/// let double: Reals = vec![0.1f64].into();
/// assert_eq!((single.as_f32(), single.as_f64()), (Some(&[0.5, 1.5][..]), None));
/// assert_eq!(double.get(0), Some(0.1));
/// assert_eq!(single.iter().chain(double.iter()).sum::<f64>(), 2.1); // whatever the precision
/// assert_eq!((0..2u8).map(|i| f32::from(i) + 0.5).collect::<Reals>(), Reals::from([0.5f32, 1.5]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Reals {
    /// Single precision.
    F32(List<f32>),
    /// Double precision, which is possible since version 2.0 of the schema.
    F64(List<f64>),
}

impl Reals {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the values, if they have single precision.
    pub fn as_f32(&self) -> Option<&[f32]> {
        match self {
            Self::F32(values) => Some(values),
            Self::F64(_) => None,
        }
    }

    /// Returns the values, if they have double precision.
    pub fn as_f64(&self) -> Option<&[f64]> {
        match self {
            Self::F32(_) => None,
            Self::F64(values) => Some(values),
        }
    }

    /// Returns the values in double precision, which is exact for both.
    ///
    /// ```
    /// use gsd_rs::hoomd::Reals;
    ///
    /// assert_eq!(Reals::from(vec![0.5f32, 1.5]).to_f64(), [0.5, 1.5]);
    /// ```
    pub fn to_f64(&self) -> Vec<f64> {
        self.iter().collect()
    }

    /// Returns the value at a position.
    ///
    /// ```
    /// use gsd_rs::hoomd::Reals;
    ///
    /// let position = Reals::from(vec![0.0f32, 0.5, 1.0]);
    /// assert_eq!((position.get(1), position.get(3)), (Some(0.5), None));
    /// ```
    pub fn get(&self, index: usize) -> Option<f64> {
        match self {
            Self::F32(values) => values.get(index).map(|&value| value.into()),
            Self::F64(values) => values.get(index).copied(),
        }
    }

    /// Returns the values one after another.
    ///
    /// ```
    /// use gsd_rs::hoomd::Reals;
    ///
    /// let velocity = Reals::from(vec![0.0f32, 3.0, 4.0]);
    /// assert_eq!(velocity.iter().map(|v| v * v).sum::<f64>(), 25.0);
    /// ```
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

macro_rules! from_values {
    ($($type:ty: $variant:ident),*) => {$(
        impl From<Vec<$type>> for Reals {
            fn from(values: Vec<$type>) -> Self {
                Self::$variant(values.into())
            }
        }

        impl<const N: usize> From<[$type; N]> for Reals {
            fn from(values: [$type; N]) -> Self {
                Vec::from(values).into()
            }
        }

        impl FromIterator<$type> for Reals {
            fn from_iter<I: IntoIterator<Item = $type>>(values: I) -> Self {
                Vec::from_iter(values).into()
            }
        }
    )*};
}
from_values!(f32: F32, f64: F64);
