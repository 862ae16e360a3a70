//! Selections as NumPy writes them: `0:10,::2,-1`.

use sciformats_core::{Error, Range, Slab};

use crate::Result;
use crate::model::{ArrayInfo, ElementType, spans};
use crate::pieces::Pieces;

/// A selection of an array by indices and slices, one a dimension. Indices and negative steps are as in NumPy: an index
/// counts from the end if it is negative and drops its dimension, slices are cut to what there is.
///
/// ```
/// use sciformats::Selection;
///
/// let selection = Selection::parse("::-2, -1", &[5, 4])?;
/// assert_eq!(selection.shape(), [3]); // rows 4, 2, 0 of the last column
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The selected elements in ascending order.
    slab: Slab,
    /// Per dimension: whether it is walked from its end.
    reversed: Vec<bool>,
    /// Per dimension: whether an index dropped it.
    dropped: Vec<bool>,
}

/// A dimension of the result of a selection: the indices of the array that it takes, from `first` on in steps.
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
    /// Which dimension of the array it is.
    pub dimension: usize,
    /// The index that is taken first.
    pub first: u64,
    /// From one index to the next; negative where they descend.
    pub step: i64,
    /// How many indices there are.
    pub count: u64,
}

impl Selection {
    /// The whole array.
    ///
    /// ```
    /// use sciformats::Selection;
    ///
    /// assert_eq!(Selection::all(&[5, 4])?, Selection::parse("...", &[5, 4])?);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if the shape has more than 2^64 elements.
    pub fn all(shape: &[u64]) -> Result<Self> {
        let none = vec![false; shape.len()];
        Ok(Self { slab: Slab::all(shape)?, reversed: none.clone(), dropped: none })
    }

    /// The selection that `text` names of an array of `shape`. Dimensions that are not named are taken whole; `...`
    /// stands for as many of them as are missing.
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
    /// [`Error::Usage`] with what is wrong.
    pub fn parse(text: &str, shape: &[u64]) -> Result<Self> {
        let text = text.trim();
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        let mut parts: Vec<&str> = inner.split(',').map(str::trim).collect();
        if inner.is_empty() || (parts.len() > 1 && parts.last() == Some(&"")) {
            parts.pop();
        }
        let named = parts.iter().filter(|part| **part != "...").count();
        let missing = shape
            .len()
            .checked_sub(named)
            .ok_or_else(|| problem(format!("names {named} dimensions, the array has {}", shape.len())))?;
        let ellipses = parts.len() - named;
        if ellipses > 1 {
            return Err(problem("holds `...` more than once".into()));
        }
        let mut whole = vec![":"; missing];
        let full: Vec<&str> = match parts.iter().position(|part| *part == "...") {
            Some(at) => {
                parts.splice(at..=at, whole);
                parts
            }
            None => {
                parts.append(&mut whole);
                parts
            }
        };
        let mut ranges = Vec::new();
        let (mut reversed, mut dropped) = (Vec::new(), Vec::new());
        for (axis, (part, &length)) in full.iter().zip(shape).enumerate() {
            let one = dimension(part, axis, length)?;
            ranges.push(one.range);
            reversed.push(one.reversed);
            dropped.push(one.dropped);
        }
        Ok(Self { slab: Slab::new(shape, ranges)?, reversed, dropped })
    }

    /// The selected elements in ascending order of their indices.
    ///
    /// ```
    /// use sciformats::{Range, Selection};
    ///
    /// let selection = Selection::parse("::-2, 1", &[5, 4])?; // rows 4, 2, 0
    /// assert_eq!(selection.slab().ranges(), [Range::new(0, 3).by(2), Range::new(1, 1)]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn slab(&self) -> &Slab {
        &self.slab
    }

    /// The shape of the result, without the dimensions that an index dropped.
    pub fn shape(&self) -> Vec<u64> {
        let kept = self.slab.ranges().iter().zip(&self.dropped);
        kept.filter(|(_, dropped)| !**dropped).map(|(range, _)| range.count).collect()
    }

    /// The dimensions of the result, in their order.
    ///
    /// ```
    /// use sciformats::{Selection, SelectedAxis};
    ///
    /// let selection = Selection::parse("2, ::-3", &[5, 10])?;
    /// assert_eq!(selection.axes(), [SelectedAxis { dimension: 1, first: 9, step: -3, count: 4 }]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn axes(&self) -> Vec<SelectedAxis> {
        let kept = self.slab.ranges().iter().zip(&self.reversed).zip(&self.dropped).enumerate();
        let kept = kept.filter(|(_, (_, dropped))| !**dropped);
        kept.map(|(dimension, ((range, &reversed), _))| {
            let step = i64::try_from(range.step).unwrap_or(i64::MAX);
            let last = range.count.saturating_sub(1).saturating_mul(range.step);
            let (first, step) =
                if reversed { (range.start.saturating_add(last), -step) } else { (range.start, step) };
            SelectedAxis { dimension, first, step, count: range.count }
        })
        .collect()
    }

    /// Whether some dimension is walked from its end.
    pub fn is_reversed(&self) -> bool {
        self.reversed.iter().zip(self.slab.ranges()).any(|(&reversed, range)| reversed && range.count > 1)
    }

    /// The part of this selection that takes `count` entries from `start` on along each dimension of its
    /// [`shape`](Self::shape).
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
    /// [`Error::Usage`] if the part leaves the selection.
    pub fn part(&self, within: &[(u64, u64)]) -> Result<Self> {
        let mut within = within.iter();
        let mut ranges = self.slab.ranges().to_vec();
        for (i, range) in ranges.iter_mut().enumerate() {
            if self.dropped.get(i) != Some(&true) {
                let &(start, count) = within.next().ok_or_else(|| problem("has more dimensions".into()))?;
                if start.checked_add(count).is_none_or(|end| end > range.count) {
                    return Err(problem(format!("leaves dimension {i} of the selection")));
                }
                *range = self.inside(i, Range::new(start, count));
            }
        }
        let (reversed, dropped) = (self.reversed.clone(), self.dropped.clone());
        Ok(Self { slab: Slab::new(self.slab.of(), ranges)?, reversed, dropped })
    }

    /// The indices of the array that stand at `range` of dimension `axis` of the selection, in ascending order.
    fn inside(&self, axis: usize, range: Range) -> Range {
        let Some(whole) = self.slab.ranges().get(axis) else { return range };
        let end = range.start.saturating_add(range.count);
        let first = match self.reversed.get(axis) {
            Some(true) => whole.count.saturating_sub(end),
            _ => range.start,
        };
        let start = whole.start.saturating_add(first.saturating_mul(whole.step));
        Range { start, count: range.count, step: whole.step }
    }

    /// The pieces of the array that hold the selection piece by piece, in the selection's order.
    pub(crate) fn reversed_pieces(
        &self,
        info: &ArrayInfo,
        memory: u64,
    ) -> Result<impl Iterator<Item = Slab>> {
        let positions = Slab::all(&self.slab.shape())?;
        let pieces = Pieces::new(info, &positions, memory);
        Ok(pieces.map_while(move |piece| {
            let ranges = piece.ranges().iter().enumerate();
            let ranges: Vec<Range> = ranges.map(|(axis, range)| self.inside(axis, *range)).collect();
            Slab::new(self.slab.of(), ranges).ok()
        }))
    }

    /// Turns the elements of a piece, which were read in ascending order, into the selection's order.
    pub(crate) fn turn(&self, element: &ElementType, piece: &Slab, bytes: &mut Vec<u8>) -> Result<()> {
        let elements = spans(element, bytes)?;
        let shape = piece.shape();
        let mut turned = Vec::with_capacity(bytes.len());
        let mut position = vec![0u64; shape.len()];
        for _ in 0..elements.len() {
            let mut index = 0u64;
            for ((&at, &count), &reversed) in position.iter().zip(&shape).zip(&self.reversed) {
                let at = if reversed { count.saturating_sub(at).saturating_sub(1) } else { at };
                index = index.saturating_mul(count).saturating_add(at);
            }
            let from = usize::try_from(index).ok().and_then(|index| elements.get(index));
            turned.extend_from_slice(from.copied().unwrap_or_default());
            for (at, &count) in position.iter_mut().zip(&shape).rev() {
                *at = at.saturating_add(1);
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

/// What one part of the text says of its dimension.
struct Dimension {
    range: Range,
    reversed: bool,
    dropped: bool,
}

fn dimension(part: &str, axis: usize, length: u64) -> Result<Dimension> {
    let number = |text: &str| -> Result<Option<i128>> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        // A u64 of either sign: more is no index of any array.
        text.parse::<i65>()
            .map(|number| Some(number.0))
            .map_err(|()| problem(format!("has {text:?} in place of a number")))
    };
    let n = i128::from(length);
    if !part.contains(':') {
        let given = number(part)?.ok_or_else(|| problem(format!("leaves dimension {axis} empty")))?;
        let index = if given < 0 { given.saturating_add(n) } else { given };
        let start = u64::try_from(index).ok().filter(|&index| index < length).ok_or_else(|| {
            problem(format!("takes index {given} of dimension {axis}, which has length {length}"))
        })?;
        return Ok(Dimension { range: Range::new(start, 1), reversed: false, dropped: true });
    }
    let parts: Vec<&str> = part.split(':').collect();
    let (start, stop, step) = match parts.as_slice() {
        [start, stop] => (number(start)?, number(stop)?, 1),
        [start, stop, step] => (number(start)?, number(stop)?, number(step)?.unwrap_or(1)),
        _ => return Err(problem(format!("has too many colons in {part:?}"))),
    };
    if step == 0 {
        return Err(problem(format!("has step 0 in dimension {axis}")));
    }
    // As Python's `slice.indices`: bounds counted from the end if negative, then cut to the dimension.
    let (low, high) = if step > 0 { (0, n) } else { (-1, n.saturating_sub(1)) };
    let bound = |given: Option<i128>, default: i128| match given {
        None => default,
        Some(given) if given < 0 => given.saturating_add(n).clamp(low, high),
        Some(given) => given.clamp(low, high),
    };
    let (first, end) = if step > 0 { (low, high) } else { (high, low) };
    let (start, stop) = (bound(start, first), bound(stop, end));
    let distance = if step > 0 { stop.saturating_sub(start) } else { start.saturating_sub(stop) };
    let stride = step.unsigned_abs();
    let count = u128::try_from(distance).unwrap_or(0).div_ceil(stride);
    // All of these lie inside the dimension now.
    let narrow = |value: i128| u64::try_from(value).unwrap_or(0);
    let count = u64::try_from(count).unwrap_or(0);
    let stride = u64::try_from(stride).unwrap_or(u64::MAX);
    let start = if count == 0 {
        0
    } else if step > 0 {
        narrow(start)
    } else {
        narrow(start).saturating_sub(count.saturating_sub(1).saturating_mul(stride))
    };
    let step_of_range = if count <= 1 { 1 } else { stride };
    Ok(Dimension { range: Range { start, count, step: step_of_range }, reversed: step < 0, dropped: false })
}

/// A number from -(2^64 - 1) to 2^64 - 1.
#[allow(non_camel_case_types)]
struct i65(i128);

impl std::str::FromStr for i65 {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number: i128 = text.parse().map_err(|_| ())?;
        if number.unsigned_abs() <= u128::from(u64::MAX) { Ok(Self(number)) } else { Err(()) }
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
            ("a:", "slice has \"a\" in place of a number"),
            ("::0", "slice has step 0 in dimension 0"),
            ("1,2", "slice names 2 dimensions, the array has 1"),
            ("1:2:3:4", "slice has too many colons in \"1:2:3:4\""),
            ("...,...", "slice holds `...` more than once"),
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
