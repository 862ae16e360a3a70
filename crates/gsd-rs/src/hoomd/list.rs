//! Lists that frames share.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A list with one or more values per particle or bond.
///
/// Frames that inherit a list share it, so cloning costs nothing. It is used like a slice, and the first change of a shared list
/// makes a copy.
///
/// ```
/// use gsd_rs::hoomd::List;
/// let mut first: List<u32> = [1, 2, 3].into();
/// let second = first.clone();
/// first[0] = 7;
/// assert_eq!((first, second), (vec![7, 2, 3].into(), vec![1, 2, 3].into()));
/// ```
#[derive(Clone, PartialEq)]
pub struct List<T>(Arc<Vec<T>>);

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Clone> DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        Arc::make_mut(&mut self.0).as_mut_slice()
    }
}

impl<T: Clone> List<T> {
    /// Returns the values, without a copy if the list is not shared.
    ///
    /// ```
    /// use gsd_rs::hoomd::Frame;
    ///
    /// let typeid: Vec<u32> = Frame::new(3).particles.typeid.into_vec();
    /// assert_eq!(typeid, [0, 0, 0]);
    /// ```
    pub fn into_vec(self) -> Vec<T> {
        Arc::unwrap_or_clone(self.0)
    }
}

impl<T> List<T> {
    /// Returns whether both are the same shared list.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(values: Vec<T>) -> Self {
        Self(Arc::new(values))
    }
}

impl<T, const N: usize> From<[T; N]> for List<T> {
    fn from(values: [T; N]) -> Self {
        Vec::from(values).into()
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Vec::from_iter(values).into()
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for List<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
