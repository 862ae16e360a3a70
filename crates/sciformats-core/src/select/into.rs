//! The notations of selections.

use super::{Axis, IntoAxis, Selection};
use crate::error::{Error, Result};
use crate::slab::Slab;

/// Something that selects a part of an array.
///
/// | notation | selects |
/// |---|---|
/// | `(.., 3..10, 0..=9, 5)` | a range or an index of each dimension; an index drops it, and negative numbers count from its end |
/// | `5`, `2..`, `..` | the same of the first dimension; dimensions that are not named are selected completely |
/// | [`by`](super::by)`(.., -1)`, `by(0..100, 10)` | every nth index; backwards if the step is negative |
/// | [`Ellipsis`](super::Ellipsis) | all remaining dimensions completely |
/// | `[0..2, 1..3]`, `vec![…]` | the same kind of part of each dimension |
/// | `"::2, -1"` | the same as in NumPy |
/// | [`Slab`], [`Selection`] | itself |
/// | `ndarray::s![.., 3..;2]` | the same as in ndarray, with the feature `ndarray` |
///
/// A range that is not inside its dimension is an error that names the dimension, except in text, for which the rules of NumPy
/// apply.
///
/// ```
/// use sciformats_core::select::{IntoSelection, by};
///
/// let shape = [24, 180, 360];
/// assert_eq!((0, 10..20, ..).into_selection(&shape)?.shape(), [10, 360]);
/// assert_eq!((.., by(.., 10), -1).into_selection(&shape)?.shape(), [24, 18]);
/// assert_eq!("0, ::-1".into_selection(&shape)?.shape(), [180, 360]);
/// assert!((0, 10..200).into_selection(&shape).is_err());
/// # Ok::<(), sciformats_core::Error>(())
/// ```
pub trait IntoSelection {
    /// Returns the selection of an array of this shape.
    ///
    /// # Errors
    /// [`Error::Usage`] that names the dimension if an index is outside of it, or if there are too many dimensions.
    fn into_selection(self, shape: &[u64]) -> Result<Selection>;
}

impl<T: IntoAxis> IntoSelection for T {
    fn into_selection(self, shape: &[u64]) -> Result<Selection> {
        Selection::of_axes(&[self.into_axis()], shape)
    }
}

impl<T: IntoAxis, const N: usize> IntoSelection for [T; N] {
    fn into_selection(self, shape: &[u64]) -> Result<Selection> {
        Selection::of_axes(&self.map(IntoAxis::into_axis), shape)
    }
}

impl<T: IntoAxis> IntoSelection for Vec<T> {
    fn into_selection(self, shape: &[u64]) -> Result<Selection> {
        let parts: Vec<Axis> = self.into_iter().map(IntoAxis::into_axis).collect();
        Selection::of_axes(&parts, shape)
    }
}

impl<T: IntoAxis + Clone> IntoSelection for &[T] {
    fn into_selection(self, shape: &[u64]) -> Result<Selection> {
        self.to_vec().into_selection(shape)
    }
}

impl IntoSelection for () {
    fn into_selection(self, shape: &[u64]) -> Result<Selection> {
        Selection::all(shape)
    }
}

macro_rules! tuples {
    ($(($($name:ident)+))*) => {$(
        impl<$($name: IntoAxis),+> IntoSelection for ($($name,)+) {
            #[allow(non_snake_case)]
            fn into_selection(self, shape: &[u64]) -> Result<Selection> {
                let ($($name,)+) = self;
                Selection::of_axes(&[$($name.into_axis()),+], shape)
            }
        }
    )*};
}
tuples! { (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H) }

impl IntoSelection for Selection {
    fn into_selection(self, shape: &[u64]) -> Result<Selection> {
        match self.slab.of() == shape {
            true => Ok(self),
            false => Err(of_another(self.slab.of(), shape)),
        }
    }
}

impl IntoSelection for &Selection {
    fn into_selection(self, shape: &[u64]) -> Result<Selection> {
        self.clone().into_selection(shape)
    }
}

impl IntoSelection for Slab {
    fn into_selection(self, shape: &[u64]) -> Result<Selection> {
        Selection::from(self).into_selection(shape)
    }
}

impl IntoSelection for &Slab {
    fn into_selection(self, shape: &[u64]) -> Result<Selection> {
        self.clone().into_selection(shape)
    }
}

fn of_another(of: &[u64], shape: &[u64]) -> Error {
    Error::usage("slice", format!("selects from an array of {of:?}, but this array has the shape {shape:?}"))
}

/// A selection in the notation of NumPy: `0:10, ::2, -1`, `..., ::-1`.
impl IntoSelection for &str {
    fn into_selection(self, shape: &[u64]) -> Result<Selection> {
        let text = self.trim();
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        let mut parts: Vec<&str> = inner.split(',').map(str::trim).collect();
        if inner.is_empty() || (parts.len() > 1 && parts.last() == Some(&"")) {
            parts.pop();
        }
        let parts = parts.into_iter().enumerate().map(|(number, text)| part(number, text));
        Selection::of_axes(&parts.collect::<Result<Vec<Axis>>>()?, shape)
    }
}

impl IntoSelection for &String {
    fn into_selection(self, shape: &[u64]) -> Result<Selection> {
        self.as_str().into_selection(shape)
    }
}

impl IntoSelection for String {
    fn into_selection(self, shape: &[u64]) -> Result<Selection> {
        self.as_str().into_selection(shape)
    }
}

/// Parses one part of a text.
fn part(number: usize, text: &str) -> Result<Axis> {
    let sides: Vec<&str> = text.split(':').collect();
    let at = |side: usize| integer(sides.get(side).copied().unwrap_or_default());
    match sides.len() {
        1 if text == "..." => Ok(Axis::Ellipsis),
        1 => {
            let empty = || Error::usage("slice", format!("leaves dimension {number} empty"));
            at(0)?.map(Axis::Index).ok_or_else(empty)
        }
        2 | 3 => Ok(Axis::Python { start: at(0)?, stop: at(1)?, step: at(2)?.unwrap_or(1) }),
        _ => Err(Error::usage("slice", format!("has too many colons in {text:?}"))),
    }
}

fn integer(text: &str) -> Result<Option<i128>> {
    let digits = text.trim();
    if digits.is_empty() {
        return Ok(None);
    }
    // A u64 with either sign; no array has larger indices.
    let number: Option<i128> = digits.parse().ok();
    let number = number.filter(|number| number.unsigned_abs() <= u64::MAX.into());
    number
        .map(Some)
        .ok_or_else(|| Error::usage("slice", format!("contains {digits:?}, which is not a number")))
}
