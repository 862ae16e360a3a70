//! Selections in NumPy's notation: `0:10,::2,-1`.

use sciformats_core::arith::present;
use sciformats_core::bound;
use sciformats_core::select::{self, IntoSelection};
use sciformats_core::{Error, Range, Slab};

use crate::Result;
use crate::model::canonical::spans;
use crate::model::{ArrayInfo, ElementType};
use crate::pieces::Pieces;

/// A selection of an array by indices and slices, one per dimension. Indices and negative steps are as in
/// NumPy: a negative index counts from the end, an index removes its dimension, and slices are cut to the
/// array.
///
/// ```
/// use sciformats::Selection;
///
/// let selection = Selection::parse("::-2, -1", &[5, 4])?;
/// assert_eq!(selection.shape(), [3]); // rows 4, 2, 0 of the last column
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection(select::Selection);

/// A dimension of the result of a selection: the indices of the array that it selects.
///
/// ```
/// use sciformats::Selection;
///
/// // Where in the array the element [i, j] of the selection stands.
/// let selection = Selection::parse("10:20, ::-2", &[100, 8])?;
/// let axes = selection.axes();
/// let at = |axis: usize, i: u64| axes[axis].first as i64 + axes[axis].step * i as i64;
/// assert_eq!((at(0, 3), at(1, 1)), (13, 5));
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectedAxis {
    /// The dimension of the array.
    pub dimension: usize,
    /// The first selected index.
    pub first: u64,
    /// The distance from one index to the next; negative if the indices descend.
    pub step: i64,
    /// The number of selected indices.
    pub count: u64,
}

impl Selection {
    /// Selects the whole array.
    ///
    /// ```
    /// use sciformats::Selection;
    ///
    /// assert_eq!(Selection::all(&[5, 4])?, Selection::parse("...", &[5, 4])?);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the shape has more than 2^64 elements.
    pub fn all(shape: &[u64]) -> Result<Self> {
        select::Selection::all(shape).map(Self)
    }

    /// Parses a selection of an array with the shape `shape`. Dimensions that are not named are selected
    /// whole; `...` stands for all missing dimensions.
    ///
    /// ```
    /// use sciformats::Selection;
    ///
    /// assert_eq!(Selection::parse("..., -1", &[5, 4, 3])?.shape(), [5, 4]);
    /// assert_eq!(Selection::parse("[2:100]", &[5, 4, 3])?.shape(), [3, 4, 3]); // cut to what there is
    /// assert!(Selection::parse("7", &[5, 4, 3]).is_err());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] with a description of the mistake.
    pub fn parse(text: &str, shape: &[u64]) -> Result<Self> {
        text.into_selection(shape).map(Self)
    }

    /// Returns the selected elements in ascending order of their indices.
    ///
    /// ```
    /// use sciformats::{Range, Selection};
    ///
    /// let selection = Selection::parse("::-2, 1", &[5, 4])?; // rows 4, 2, 0
    /// assert_eq!(selection.slab().ranges(), [Range::new(0, 3).by(2), Range::new(1, 1)]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn slab(&self) -> &Slab {
        self.0.slab()
    }

    /// Returns the shape of the result, without the dimensions that an index removed.
    pub fn shape(&self) -> Vec<u64> {
        self.0.shape()
    }

    /// Returns the dimensions of the result, in order.
    ///
    /// ```
    /// use sciformats::{Selection, SelectedAxis};
    ///
    /// let selection = Selection::parse("2, ::-3", &[5, 10])?;
    /// assert_eq!(selection.axes(), [SelectedAxis { dimension: 1, first: 9, step: -3, count: 4 }]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn axes(&self) -> Vec<SelectedAxis> {
        let kept = self.slab().ranges().iter().zip(self.0.reversed()).zip(self.0.dropped()).enumerate();
        let kept = kept.filter(|(_, (_, dropped))| !**dropped);
        kept.map(|(dimension, ((range, &reversed), _))| {
            let step = i64::try_from(range.step).unwrap_or(i64::MAX); // a bound: no array has so many elements
            // A selection lies within its array, so no bound is reached here.
            let last = bound::product(bound::left(range.count, 1), range.step);
            let (first, step) =
                if reversed { (bound::sum(range.start, last), -step) } else { (range.start, step) };
            SelectedAxis { dimension, first, step, count: range.count }
        })
        .collect()
    }

    /// Returns whether some dimension is selected in descending order.
    pub fn is_reversed(&self) -> bool {
        self.0.is_reversed()
    }

    /// Returns the part of this selection that has `count` entries from `start` on, along each dimension of
    /// its [`shape`](Self::shape).
    ///
    /// ```
    /// use sciformats::Selection;
    ///
    /// let selection = Selection::parse("::10, 3", &[100, 8])?; // ten elements
    /// assert_eq!(selection.part(&[(4, 2)])?, Selection::parse("40:51:10, 3", &[100, 8])?);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the part extends beyond the selection.
    pub fn part(&self, within: &[(u64, u64)]) -> Result<Self> {
        let mut within = within.iter();
        let mut ranges = self.slab().ranges().to_vec();
        for (i, range) in ranges.iter_mut().enumerate() {
            if self.0.dropped().get(i) != Some(&true) {
                let &(start, count) = within.next().ok_or_else(|| problem("has more dimensions".into()))?;
                if start.checked_add(count).is_none_or(|end| end > range.count) {
                    return Err(problem(format!("extends beyond dimension {i} of the selection")));
                }
                *range = self.inside(i, Range::new(start, count));
            }
        }
        Ok(Self(self.0.with_slab(Slab::new(self.slab().of(), ranges)?)))
    }

    /// Returns the indices of the array for `range` of dimension `axis` of the selection, in ascending order.
    fn inside(&self, axis: usize, range: Range) -> Range {
        let Some(whole) = self.slab().ranges().get(axis) else { return range };
        let end = bound::sum(range.start, range.count);
        let first = match self.0.reversed().get(axis) {
            Some(true) => bound::left(whole.count, end),
            _ => range.start,
        };
        let start = bound::sum(whole.start, bound::product(first, whole.step));
        Range { start, count: range.count, step: whole.step }
    }

    /// Returns the pieces of the array that contain the selection, in the order of the selection.
    pub(crate) fn reversed_pieces(
        &self,
        info: &ArrayInfo,
        memory: u64,
    ) -> Result<impl Iterator<Item = Slab>> {
        let positions = Slab::all(&self.slab().shape())?;
        let pieces = Pieces::new(info, &positions, memory);
        Ok(pieces.map_while(move |piece| {
            let ranges = piece.ranges().iter().enumerate();
            let ranges: Vec<Range> = ranges.map(|(axis, range)| self.inside(axis, *range)).collect();
            Slab::new(self.slab().of(), ranges).ok()
        }))
    }

    /// Converts the elements of a piece, which were read in ascending order, to the order of the selection.
    pub(crate) fn turn(&self, element: &ElementType, piece: &Slab, bytes: &mut Vec<u8>) -> Result<()> {
        let elements = spans(element, bytes)?;
        let shape = piece.shape();
        let mut turned = Vec::with_capacity(bytes.len());
        let mut position = vec![0u64; shape.len()];
        for _ in 0..elements.len() {
            let mut index = 0u64;
            for ((&at, &count), &reversed) in position.iter().zip(&shape).zip(self.0.reversed()) {
                let at = if reversed { bound::left(bound::left(count, at), 1) } else { at };
                index = bound::sum(bound::product(index, count), at);
            }
            let from = usize::try_from(index).ok().and_then(|index| elements.get(index));
            turned.extend_from_slice(present(from.copied(), "an element of a selection")?);
            for (at, &count) in position.iter_mut().zip(&shape).rev() {
                *at = bound::sum(*at, 1);
                if *at < count {
                    break;
                }
                *at = 0;
            }
        }
        *bytes = turned;
        Ok(())
    }
}

impl IntoSelection for &Selection {
    fn into_selection(self, shape: &[u64]) -> Result<select::Selection> {
        (&self.0).into_selection(shape)
    }
}

fn problem(problem: String) -> Error {
    Error::usage("slice", problem)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memory::{Memory, array, texts};
    use crate::{File, Format};

    fn values(text: &str, shape: &[u64]) -> (Vec<u64>, Vec<u16>) {
        let count = shape.iter().product::<u64>() as u16;
        let file =
            File::from(Memory::single(Format::RawArray, array(shape, &(0..count).collect::<Vec<u16>>())));
        let array = file.array("/").unwrap();
        let selection = Selection::parse(text, shape).unwrap();
        let mut values = Vec::new();
        array
            .for_each(&selection, &mut |datum| {
                values.push(datum.to_i128().unwrap() as u16);
                Ok(std::ops::ControlFlow::Continue(()))
            })
            .unwrap();
        (selection.shape(), values)
    }

    #[test]
    fn as_numpy_does() {
        assert_eq!(values("", &[3]), (vec![3], vec![0, 1, 2]));
        assert_eq!(values("1", &[3]), (vec![], vec![1]));
        assert_eq!(values("-1", &[3]), (vec![], vec![2]));
        assert_eq!(values("1:", &[4]), (vec![3], vec![1, 2, 3]));
        assert_eq!(values(":-1", &[4]), (vec![3], vec![0, 1, 2]));
        assert_eq!(values("::-1", &[4]), (vec![4], vec![3, 2, 1, 0]));
        assert_eq!(values("3:0:-2", &[4]), (vec![2], vec![3, 1]));
        assert_eq!(values("-100:100:3", &[5]), (vec![2], vec![0, 3]));
        assert_eq!(values("100:-100:-3", &[5]), (vec![2], vec![4, 1]));
        assert_eq!(values("2:2", &[4]), (vec![0], vec![]));
        assert_eq!(values("3:1", &[4]), (vec![0], vec![]));
        assert_eq!(values("::2, 1", &[3, 2]), (vec![2], vec![1, 5]));
        assert_eq!(values("..., ::-1", &[2, 3]), (vec![2, 3], vec![2, 1, 0, 5, 4, 3]));
        assert_eq!(values("[::-1,...]", &[2, 3]), (vec![2, 3], vec![3, 4, 5, 0, 1, 2]));
        assert_eq!(values("::-1,::-1", &[2, 3]), (vec![2, 3], vec![5, 4, 3, 2, 1, 0]));
        assert_eq!(values("", &[]), (vec![], vec![0]));
        assert_eq!(values("::-1", &[0]), (vec![0], vec![]));
    }

    #[test]
    fn elements_of_any_size_are_turned() {
        let file = File::from(Memory::single(Format::Asdf, texts(&[3], &["a", "", "ccc"])));
        let selection = Selection::parse("::-1", &[3]).unwrap();
        let mut seen = Vec::new();
        file.array("/")
            .unwrap()
            .for_each(&selection, &mut |datum| {
                seen.push(datum.to_string());
                Ok(std::ops::ControlFlow::Continue(()))
            })
            .unwrap();
        assert_eq!(seen, ["ccc", "", "a"]);
    }

    #[test]
    fn a_part_of_a_reversed_selection() {
        let selection = Selection::parse("::-1, 1", &[10, 2]).unwrap();
        let part = selection.part(&[(2, 3)]).unwrap();
        assert_eq!(part.slab().ranges()[0], Range::new(5, 3)); // rows 7, 6, 5
        assert!(part.is_reversed());
        assert!(selection.part(&[(9, 2)]).is_err());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, message) in [
            ("5", "slice takes index 5 of dimension 0, which has length 3"),
            ("-4", "slice takes index -4 of dimension 0, which has length 3"),
            ("a:", "slice contains \"a\", which is not a number"),
            ("::0", "slice has step 0 in dimension 0"),
            ("1,2", "slice names 2 dimensions, but the array has 1"),
            ("1:2:3:4", "slice has too many colons in \"1:2:3:4\""),
            ("...,...", "slice contains `...` more than once"),
            (",", "slice leaves dimension 0 empty"),
        ] {
            assert_eq!(Selection::parse(text, &[3]).unwrap_err().to_string(), message);
        }
    }

    proptest! {
        /// Against the definition: Python's loop `i = start; while i < stop: …; i += step`.
        #[test]
        fn slices_walk_like_python(length in 0u64..9, start in -12i128..12, stop in -12i128..12, step in -4i128..5) {
            prop_assume!(step != 0);
            let n = i128::from(length);
            let fix = |i: i128| if i < 0 { i + n } else { i };
            let (mut i, end) = if step > 0 {
                (fix(start).clamp(0, n), fix(stop).clamp(0, n))
            } else {
                (fix(start).clamp(-1, n - 1), fix(stop).clamp(-1, n - 1))
            };
            let mut expected = Vec::new();
            while if step > 0 { i < end } else { i > end } {
                expected.push(i as u16);
                i += step;
            }
            prop_assert_eq!(values(&format!("{start}:{stop}:{step}"), &[length]).1, expected);
        }

        #[test]
        fn no_text_panics(text in "[-:,. 0-9]{0,24}", shape in prop::collection::vec(any::<u64>(), 0..3)) {
            let _ = Selection::parse(&text, &shape);
        }
    }
}
