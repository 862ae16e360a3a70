//! Selections as people write them: `(.., 3.., 0..=9, 5)`, `by(.., -1)`, `"::2, -1"`.
//!
//! Every `read_slice` takes an [`IntoSelection`]. For an array of some shape, it becomes a [`Selection`]: the [`Slab`] to read,
//! the dimensions that are reversed, and the dimensions that an index drops.

mod axis;
mod into;
#[cfg(feature = "ndarray")]
mod views;

pub use axis::{Axis, Ellipsis, IntoAxis, by};
pub use into::IntoSelection;

use crate::error::{Error, Result};
use crate::slab::Slab;

/// A selection of an array of one shape. Dimensions can be reversed, and a single index drops its dimension.
///
/// ```
/// use sciformats_core::select::{IntoSelection, by};
///
/// let selection = (5, by(.., -1)).into_selection(&[10, 4])?;
/// assert_eq!(selection.shape(), [4]); // of the first dimension, one index
/// assert_eq!(selection.slab().shape(), [1, 4]);
/// assert!(selection.is_reversed());
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    slab: Slab,
    reversed: Vec<bool>,
    dropped: Vec<bool>,
}

impl Selection {
    /// Returns all elements of an array of this shape.
    ///
    /// # Errors
    /// [`Error::Usage`] if the shape has more than 2^64 elements.
    pub fn all(shape: &[u64]) -> Result<Self> {
        Slab::all(shape).map(Self::from)
    }

    /// Selects one part of each dimension of an array of this shape. Dimensions without a part are selected completely.
    ///
    /// ```
    /// use sciformats_core::select::{Axis, Selection};
    ///
    /// let parts = [Axis::Ellipsis, Axis::Index(-1)];
    /// assert_eq!(Selection::of_axes(&parts, &[10, 4, 3])?.shape(), [10, 4]);
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] that names the dimension if an index is outside of it, or if there are too many parts.
    pub fn of_axes(parts: &[Axis], shape: &[u64]) -> Result<Self> {
        let is_ellipsis = |part: &&Axis| **part == Axis::Ellipsis;
        let ellipses = parts.iter().filter(is_ellipsis).count();
        let named = parts.len() - ellipses;
        let (rank, missing) = (shape.len(), shape.len().checked_sub(named));
        let Some(missing) = missing.filter(|_| ellipses <= 1) else {
            let problem = match ellipses {
                0 | 1 => format!("names {named} dimensions, but the array has {rank}"),
                _ => "contains `...` more than once".to_owned(),
            };
            return Err(Error::usage("slice", problem));
        };
        let at = parts.iter().position(|part| *part == Axis::Ellipsis).unwrap_or(parts.len());
        let before = parts.iter().take(at);
        let after = parts.iter().skip(at.checked_add(1).unwrap_or(at));
        let whole = std::iter::repeat_n(&Axis::WHOLE, missing);
        let mut selection = Self { slab: Slab::all(shape)?, reversed: Vec::new(), dropped: Vec::new() };
        let mut ranges = Vec::with_capacity(rank);
        for (number, (part, &length)) in before.chain(whole).chain(after).zip(shape).enumerate() {
            let (range, reversed) = part.of(number, length)?;
            ranges.push(range);
            selection.reversed.push(reversed);
            selection.dropped.push(matches!(part, Axis::Index(_)));
        }
        selection.slab = Slab::new(shape, ranges)?;
        Ok(selection)
    }

    /// Returns the elements, in ascending order of their indices.
    pub fn slab(&self) -> &Slab {
        &self.slab
    }

    /// Returns the number of elements along each remaining dimension. A single index removes its dimension.
    pub fn shape(&self) -> Vec<u64> {
        let kept = self.slab.ranges().iter().zip(&self.dropped);
        kept.filter(|(_, dropped)| !**dropped).map(|(range, _)| range.count).collect()
    }

    /// Returns for each dimension of the array whether it is reversed, so that its last index comes first.
    pub fn reversed(&self) -> &[bool] {
        &self.reversed
    }

    /// Returns for each dimension of the array whether an index drops it.
    pub fn dropped(&self) -> &[bool] {
        &self.dropped
    }

    /// Returns the same selection for another slab of the same array.
    #[must_use]
    pub fn with_slab(&self, slab: Slab) -> Self {
        Self { slab, reversed: self.reversed.clone(), dropped: self.dropped.clone() }
    }

    /// Returns whether any dimension is reversed.
    pub fn is_reversed(&self) -> bool {
        self.reversed.iter().zip(self.slab.ranges()).any(|(&reversed, range)| reversed && range.count > 1)
    }

    /// Returns the elements to write, for which no dimension may be reversed.
    ///
    /// ```
    /// use sciformats_core::select::{IntoSelection, by};
    ///
    /// assert_eq!(by(.., 2).into_selection(&[5])?.ascending()?.shape(), [3]);
    /// assert!(by(.., -1).into_selection(&[5])?.ascending().is_err());
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if a dimension is reversed.
    pub fn ascending(&self) -> Result<&Slab> {
        if self.is_reversed() {
            return Err(Error::usage("slice", "has a negative step: reverse the values instead"));
        }
        Ok(&self.slab)
    }

    /// Reorders the elements of the [`slab`](Self::slab) to the order of the selection.
    ///
    /// ```
    /// use sciformats_core::select::{IntoSelection, by};
    ///
    /// let mut values = ["a", "b", "c", "d"];
    /// (by(.., -1), ..).into_selection(&[2, 2])?.turn(&mut values);
    /// assert_eq!(values, ["c", "d", "a", "b"]);
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    pub fn turn<T>(&self, elements: &mut [T]) {
        let count = elements.len();
        self.exchange(count, |a, b| elements.swap(a, b));
    }

    /// Does the same as [`turn`](Self::turn), for the bytes of the elements, which all have the same size.
    ///
    /// ```
    /// use sciformats_core::select::{IntoSelection, by};
    ///
    /// let mut bytes = *b"aabbcc";
    /// by(.., -1).into_selection(&[3])?.turn_bytes(&mut bytes);
    /// assert_eq!(&bytes, b"ccbbaa");
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    pub fn turn_bytes(&self, bytes: &mut [u8]) {
        let count = crate::bound::addressable(self.slab.len());
        let size = bytes.len().checked_div(count).unwrap_or_default();
        self.exchange(count, |a, b| {
            let (before, after) = bytes.split_at_mut(b * size);
            if let (Some(a), Some(b)) = (before.get_mut(a * size..(a + 1) * size), after.get_mut(..size)) {
                a.swap_with_slice(b);
            }
        });
    }

    /// Calls `swap` with each pair of elements that change places, the first one first, if there are `count` of them.
    fn exchange(&self, count: usize, mut swap: impl FnMut(usize, usize)) {
        if !self.is_reversed() {
            return;
        }
        let counts: Vec<usize> =
            self.slab.ranges().iter().map(|range| crate::bound::addressable(range.count)).collect();
        // Reversing dimensions twice changes nothing, so each element is exchanged with one other element.
        for at in 0..count {
            let (mut rest, mut other, mut stride) = (at, 0usize, 1usize);
            for (&count, &reversed) in counts.iter().zip(&self.reversed).rev() {
                let (index, above) = (rest.checked_rem(count), rest.checked_div(count));
                let (Some(index), Some(above)) = (index, above) else { return };
                let index = if reversed { count - 1 - index } else { index };
                other += index * stride;
                stride *= count;
                rest = above;
            }
            if at < other && other < count {
                swap(at, other);
            }
        }
    }
}

/// Selects all elements of the slab. No dimension is dropped.
impl From<Slab> for Selection {
    fn from(slab: Slab) -> Self {
        let none = vec![false; slab.ranges().len()];
        Self { slab, reversed: none.clone(), dropped: none }
    }
}

#[cfg(test)]
#[allow(clippy::reversed_empty_ranges, reason = "-1 is the last index, and what is reversed is refused")]
mod tests {
    use super::*;
    use crate::slab::Range;

    /// Returns the shape and the elements of a selection from the numbers 0, 1, 2, … in this shape.
    fn taken(selection: impl IntoSelection, shape: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let selection = selection.into_selection(shape).unwrap();
        let mut all: Vec<u64> = Vec::new();
        for run in selection.slab().runs() {
            all.extend((0..run.len).map(|i| run.from + i * run.step));
        }
        selection.turn(&mut all);
        (selection.shape(), all)
    }

    #[test]
    fn ranges_indices_and_what_is_left_out() {
        assert_eq!(taken(.., &[3]), (vec![3], vec![0, 1, 2]));
        assert_eq!(taken(1.., &[3]), (vec![2], vec![1, 2]));
        assert_eq!(taken(..2u64, &[3]), (vec![2], vec![0, 1]));
        assert_eq!(taken(0..=1, &[3]), (vec![2], vec![0, 1]));
        assert_eq!(taken(..=1, &[3]), (vec![2], vec![0, 1]));
        assert_eq!(taken(2, &[3]), (vec![], vec![2]));
        assert_eq!(taken(-1, &[3]), (vec![], vec![2]));
        assert_eq!(taken(-2.., &[3]), (vec![2], vec![1, 2]));
        assert_eq!(taken(1..-1, &[4]), (vec![2], vec![1, 2]));
        assert_eq!(taken(3..3, &[3]), (vec![0], vec![]));
        assert_eq!(taken((1, ..), &[2, 2]), (vec![2], vec![2, 3]));
        assert_eq!(taken((.., 1usize), &[2, 2]), (vec![2], vec![1, 3]));
        assert_eq!(taken((1,), &[2, 2]), (vec![2], vec![2, 3]), "the rest is selected completely");
        assert_eq!(taken((Ellipsis, 0), &[2, 2, 2]), (vec![2, 2], vec![0, 2, 4, 6]));
        assert_eq!(taken((0, Ellipsis, 1), &[2, 2]), (vec![], vec![1]));
        assert_eq!(taken([0..1, 1..2], &[2, 2]), (vec![1, 1], vec![1]));
        assert_eq!(taken([1, 0], &[2, 2]), (vec![], vec![2]));
        assert_eq!(taken((), &[2]), (vec![2], vec![0, 1]));
        assert_eq!(taken((), &[]), (vec![], vec![0]));
        assert_eq!(taken(vec![Axis::Index(1), Axis::WHOLE], &[2, 2]), (vec![2], vec![2, 3]));
        let slab = Slab::new(&[2, 2], [Range::new(1, 1), Range::all(2)]).unwrap();
        assert_eq!(taken(&slab, &[2, 2]), (vec![1, 2], vec![2, 3]));
        assert_eq!(taken(Range::new(0, 2).by(2), &[4]), (vec![2], vec![0, 2]));
    }

    #[test]
    fn steps_go_both_ways() {
        assert_eq!(taken(by(.., 2), &[5]), (vec![3], vec![0, 2, 4]));
        assert_eq!(taken(by(1.., 3), &[5]), (vec![2], vec![1, 4]));
        assert_eq!(taken(by(.., -1), &[3]), (vec![3], vec![2, 1, 0]));
        assert_eq!(taken(by(0..5, -2), &[9]), (vec![3], vec![4, 2, 0]), "the last of the range comes first");
        assert_eq!(taken(by(1..=4, -2), &[9]), (vec![2], vec![4, 2]));
        assert_eq!(taken(by(2..2, -1), &[3]), (vec![0], vec![]));
        assert_eq!(taken((by(.., -1), by(.., -1)), &[2, 3]), (vec![2, 3], vec![5, 4, 3, 2, 1, 0]));
        assert_eq!(taken((by(.., -1), .., 1), &[2, 2, 2]), (vec![2, 2], vec![5, 7, 1, 3]));
    }

    #[test]
    fn text_as_numpy_has_it() {
        assert_eq!(taken("::2, 1", &[3, 2]), (vec![2], vec![1, 5]));
        assert_eq!(taken("[..., ::-1]", &[2, 3]), (vec![2, 3], vec![2, 1, 0, 5, 4, 3]));
        assert_eq!(taken("3:0:-2", &[4]), (vec![2], vec![3, 1]));
        assert_eq!(taken(":-1", &[4]), (vec![3], vec![0, 1, 2]));
        assert_eq!(taken("1", &[3]), (vec![], vec![1]));
    }

    #[test]
    fn bytes_turn_as_elements_do() {
        let selection = (by(.., -1), .., by(.., -1)).into_selection(&[2, 2, 3]).unwrap();
        let mut elements: Vec<u32> = (0..12).map(|i| i * 0x0102_0304).collect();
        let mut bytes: Vec<u8> = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
        selection.turn(&mut elements);
        selection.turn_bytes(&mut bytes);
        assert_eq!(bytes, elements.iter().flat_map(|element| element.to_le_bytes()).collect::<Vec<_>>());
        selection.turn_bytes(&mut []); // elements without bytes, such as empty texts
        let refused = selection.ascending().unwrap_err().to_string();
        assert_eq!(refused, "slice has a negative step: reverse the values instead");
        assert_eq!((1, ..).into_selection(&[2, 3]).unwrap().ascending().unwrap().shape(), [1, 3]);
    }

    #[test]
    fn what_is_outside_is_named() {
        fn refused(selection: impl IntoSelection) -> String {
            selection.into_selection(&[10, 4]).unwrap_err().to_string()
        }
        assert_eq!(refused(0..11), "slice takes 0..11 of dimension 0, which has length 10");
        assert_eq!(refused((.., 2..=4)), "slice takes 2..5 of dimension 1, which has length 4");
        assert_eq!(refused((.., 4)), "slice takes index 4 of dimension 1, which has length 4");
        assert_eq!(refused(-11), "slice takes index -11 of dimension 0, which has length 10");
        assert_eq!(refused(5..3), "slice takes 5..3 of dimension 0, which ends before it begins");
        assert_eq!(refused(by(.., 0)), "slice has step 0 in dimension 0");
        assert_eq!(refused((0, 0, 0)), "slice names 3 dimensions, but the array has 2");
        assert_eq!(refused((Ellipsis, Ellipsis)), "slice contains `...` more than once");
        assert_eq!(
            refused(u64::MAX),
            "slice takes index 18446744073709551615 of dimension 0, which has length 10"
        );
        assert_eq!(
            refused(Range::new(u64::MAX, u64::MAX).by(u64::MAX)),
            format!("slice takes {}..{} of dimension 0, which has length 10", u64::MAX, i128::MAX)
        );
        assert_eq!(
            refused(Slab::all(&[3]).unwrap()),
            "slice selects from an array of [3], but this array has the shape [10, 4]"
        );
        assert_eq!(refused("a"), "slice contains \"a\", which is not a number");
    }
}
