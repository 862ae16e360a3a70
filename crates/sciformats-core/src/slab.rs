//! Hyperslabs: selections of an n-dimensional array, and the runs of elements they consist of.
//!
//! Arrays are in C order here: the last dimension varies fastest. A column-major format passes its dimensions
//! in reverse. All numbers count elements.

use crate::bound;
use crate::error::{Error, Result};

/// The indices `start, start + step, …` of one dimension; there are `count` of them.
///
/// ```
/// use sciformats_core::Range;
///
/// assert_eq!(Range::new(4, 3), Range::from(4..7));
/// let every_other = Range::all(10).by(2); // 0, 2, 4 and so on: ten of them, so the dimension must have 19
/// assert_eq!((every_other.count, every_other.step), (10, 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// The first index.
    pub start: u64,
    /// The number of indices.
    pub count: u64,
    /// The distance between indices, which is at least 1.
    pub step: u64,
}

impl Range {
    /// Selects `count` adjacent indices, starting at `start`.
    pub fn new(start: u64, count: u64) -> Self {
        Self { start, count, step: 1 }
    }

    /// Selects all indices of a dimension.
    pub fn all(dimension: u64) -> Self {
        Self::new(0, dimension)
    }

    /// Sets the distance between the indices.
    #[must_use]
    pub fn by(self, step: u64) -> Self {
        Self { step, ..self }
    }

    fn fits(&self, dimension: u64) -> bool {
        if self.count == 0 {
            return self.step > 0 && self.start <= dimension;
        }
        let last = self.step.checked_mul(self.count - 1).and_then(|span| span.checked_add(self.start));
        self.step > 0 && last.is_some_and(|last| last < dimension)
    }
}

impl From<std::ops::Range<u64>> for Range {
    fn from(range: std::ops::Range<u64>) -> Self {
        Self::new(range.start, crate::storage::length(&range))
    }
}

/// A rectangular selection of an array, with one [`Range`] per dimension. It is always valid.
///
/// ```
/// use sciformats_core::{Range, Slab};
///
/// // Rows 1 and 2 of an array of 4 × 6, of each the second and the fourth element.
/// let slab = Slab::new(&[4, 6], [Range::new(1, 2), Range::new(1, 2).by(2)])?;
/// assert_eq!(slab.shape(), [2, 2]);
/// let places: Vec<u64> = slab.runs().flat_map(|run| (0..run.len).map(move |i| run.from + i * run.step)).collect();
/// assert_eq!(places, [7, 9, 13, 15]);
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slab {
    shape: Vec<u64>,
    ranges: Vec<Range>,
}

/// A run of `len` elements, which are `step` apart in the array and adjacent in the selection.
///
/// ```
/// use sciformats_core::slab::Run;
/// use sciformats_core::{Range, Slab};
///
/// // Every second element of the third row of 4 × 6.
/// let slab = Slab::new(&[4, 6], [Range::new(2, 1), Range::new(0, 3).by(2)])?;
/// assert!(slab.runs().eq([Run { from: 12, to: 0, len: 3, step: 2 }]));
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The linear index of the first element in the array.
    pub from: u64,
    /// The linear index of the first element in the selection.
    pub to: u64,
    /// The number of elements.
    pub len: u64,
    /// The distance of neighbouring elements in the array.
    pub step: u64,
}

impl Slab {
    /// Creates the selection `ranges` of an array of `shape`.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the number of dimensions differs, or if a range extends beyond its dimension.
    pub fn new(shape: &[u64], ranges: impl Into<Vec<Range>>) -> Result<Self> {
        let ranges = ranges.into();
        if ranges.len() != shape.len() {
            let problem = format!("has {} dimensions, but the array has {}", ranges.len(), shape.len());
            return Err(Error::usage("selection", problem));
        }
        for (axis, (range, &dimension)) in ranges.iter().zip(shape).enumerate() {
            if !range.fits(dimension) {
                let Range { start, count, step } = range;
                let problem = format!(
                    "is not inside dimension {axis} of length {dimension} (start {start}, count {count}, step {step})"
                );
                return Err(Error::usage("selection", problem));
            }
        }
        elements(shape).ok_or_else(|| Error::usage("shape", "has more than 2^64 elements"))?;
        Ok(Self { shape: shape.into(), ranges })
    }

    /// Selects the whole array.
    ///
    /// ```
    /// use sciformats_core::Slab;
    ///
    /// let slab = Slab::all(&[4, 6])?;
    /// assert!(slab.is_all());
    /// assert_eq!((slab.of(), slab.len(), slab.ranges().len()), (&[4, 6][..], 24, 2));
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if the shape has more than 2^64 elements.
    pub fn all(shape: &[u64]) -> Result<Self> {
        Self::new(shape, shape.iter().map(|&dimension| Range::all(dimension)).collect::<Vec<_>>())
    }

    /// Returns the shape of the array.
    pub fn of(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the ranges, one per dimension.
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// Returns the shape of the selection.
    pub fn shape(&self) -> Vec<u64> {
        self.ranges.iter().map(|range| range.count).collect()
    }

    /// Returns the number of selected elements.
    pub fn len(&self) -> u64 {
        // A selection is not larger than its array, whose size was checked, unless the array has a dimension
        // of extent 0.
        if self.is_empty() { 0 } else { self.ranges.iter().map(|range| range.count).product() }
    }

    /// Returns whether nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.ranges.iter().any(|range| range.count == 0)
    }

    /// Returns whether everything is selected.
    pub fn is_all(&self) -> bool {
        self.ranges.iter().zip(&self.shape).all(|(range, &dimension)| range.count == dimension)
    }

    /// Cuts the selection along its slowest dimensions into slabs of at most `elements` elements (but at
    /// least one), in order, so that an array can be read piece by piece.
    ///
    /// ```
    /// use sciformats_core::Slab;
    ///
    /// let slab = Slab::all(&[5, 100])?;
    /// let rows: Vec<u64> = slab.pieces(250).map(|piece| piece.shape()[0]).collect();
    /// assert_eq!(rows, [2, 2, 1]);
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    pub fn pieces(&self, elements: u64) -> Pieces {
        let counts: Vec<u64> = self.shape();
        let mut axis = counts.len();
        let mut inner = 1u64;
        // A piece has as many whole trailing dimensions as fit, and as many indices of the next dimension as
        // fit.
        while let Some(count) = axis.checked_sub(1).and_then(|i| counts.get(i)) {
            match inner.checked_mul(*count) {
                Some(product) if product <= elements => inner = product,
                _ => break,
            }
            axis -= 1;
        }
        let rows = elements.checked_div(inner).unwrap_or(1).max(1);
        Pieces { slab: self.clone(), axis, rows, at: (!self.is_empty()).then(|| vec![0; axis]) }
    }

    /// Cuts the selection into slabs of at most `rows` indices (but at least one) of dimension `axis`, in
    /// order. The dimensions after it are whole in each slab, and those before it have one index each.
    ///
    /// ```
    /// use sciformats_core::Slab;
    ///
    /// let shapes: Vec<Vec<u64>> = Slab::all(&[2, 5, 3])?.pieces_along(1, 4).map(|piece| piece.shape()).collect();
    /// assert_eq!(shapes, [[1, 4, 3], [1, 1, 3], [1, 4, 3], [1, 1, 3]]);
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    pub fn pieces_along(&self, axis: usize, rows: u64) -> Pieces {
        let axis = bound::sum(axis, 1).min(self.ranges.len());
        Pieces { slab: self.clone(), axis, rows: rows.max(1), at: (!self.is_empty()).then(|| vec![0; axis]) }
    }

    /// Returns an element for each selected place in C order, which `element` computes from its indices in the array.
    ///
    /// ```
    /// use sciformats_core::{Range, Slab};
    ///
    /// let slab = Slab::new(&[4, 6], [Range::new(1, 2), Range::new(1, 2).by(2)])?;
    /// assert_eq!(slab.computed(|[row, column]| 10 * row + column)?, [11, 13, 21, 23]);
    /// assert!(slab.computed(|[index]| index).is_err()); // it has two dimensions
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if `element` takes another number of indices than the array has dimensions; `Io` if the machine does not
    /// have enough memory.
    pub fn computed<T, const N: usize>(&self, mut element: impl FnMut([u64; N]) -> T) -> Result<Vec<T>> {
        let Ok(ranges) = <[Range; N]>::try_from(self.ranges.as_slice()) else {
            let problem = format!("are {N}, but the array has {} dimensions", self.ranges.len());
            return Err(Error::usage("indices", problem));
        };
        let mut elements = Vec::new();
        let no_memory = |_| Error::io("allocate", std::io::ErrorKind::OutOfMemory.into());
        elements.try_reserve_exact(bound::addressable(self.len())).map_err(no_memory)?;
        let mut counts = [0; N]; // of the place in the selection
        let mut index = ranges.map(|range| range.start);
        for _ in 0..self.len() {
            elements.push(element(index));
            for ((count, index), range) in counts.iter_mut().zip(&mut index).zip(&ranges).rev() {
                *count += 1;
                if *count < range.count {
                    *index += range.step;
                    break;
                }
                (*count, *index) = (0, range.start);
            }
        }
        Ok(elements)
    }

    /// Returns the runs in ascending order. Whole trailing dimensions are joined, so a slab of rows is a
    /// single run.
    ///
    /// ```
    /// use sciformats_core::{Range, Slab};
    ///
    /// let slab = Slab::new(&[3, 8], [Range::all(3), Range::new(2, 4)])?;
    /// let runs: Vec<(u64, u64)> = slab.runs().map(|run| (run.from, run.len)).collect();
    /// assert_eq!(runs, [(2, 4), (10, 4), (18, 4)]);
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    pub fn runs(&self) -> Runs {
        if self.is_empty() {
            return Runs { len: 0, step: 1, outer: Vec::new(), position: Vec::new(), next: None };
        }
        // No dimension is empty, and the array has fewer than 2^64 elements, so that all strides and indices below fit their
        // type. Only the step of a single index can have any size, and it has no effect. Dimensions are in the order from the
        // fastest: stride in the array, count and step.
        let mut inner = (1u64, 1u64); // (elements of the joined tail, stride of the next dimension)
        let mut outer = Vec::new();
        let mut first = 0u64;
        let mut run = None;
        for (range, &dimension) in self.ranges.iter().zip(&self.shape).rev() {
            let (len, stride) = inner;
            first += range.start * stride;
            let stride_of_range = if range.count > 1 { range.step * stride } else { stride };
            match run {
                // The selection is still contiguous: this dimension joins the run, and so may the next one if
                // this one is whole.
                None if range.step == 1 || range.count <= 1 => {
                    inner.0 = len * range.count;
                    if range.count != dimension {
                        run = Some((inner.0, 1));
                    }
                }
                None if len == 1 => run = Some((range.count, stride_of_range)),
                None => {
                    run = Some((len, 1));
                    outer.push((range.count, stride_of_range));
                }
                // There have only been single elements so far, so a column is one run with a step.
                Some((1, _)) => run = Some((range.count, stride_of_range)),
                Some(_) => outer.push((range.count, stride_of_range)),
            }
            inner.1 = stride * dimension;
        }
        let (len, step) = run.unwrap_or((inner.0, 1));
        // A dimension with a single index does not affect the distance.
        outer.retain(|&(count, _)| count != 1);
        Runs { len, step, position: vec![0; outer.len()], outer, next: Some((first, 0)) }
    }
}

/// Returns the number of elements of a shape, if it fits 64 bits; it is 1 without dimensions.
///
/// ```
/// use sciformats_core::slab::elements;
///
/// assert_eq!(elements(&[3, 4]), Some(12));
/// assert_eq!(elements(&[]), Some(1));
/// assert_eq!(elements(&[u64::MAX, 2]), None);
/// ```
pub fn elements(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0); // whatever the other dimensions are
    }
    shape.iter().try_fold(1u64, |product, &dimension| product.checked_mul(dimension))
}

/// The iterator of [`Slab::runs`].
#[derive(Clone, Debug)]
pub struct Runs {
    len: u64,
    step: u64,
    /// Count and stride of the dimensions outside the runs, fastest first.
    outer: Vec<(u64, u64)>,
    position: Vec<u64>,
    next: Option<(u64, u64)>,
}

impl Iterator for Runs {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let (from, to) = self.next.take()?;
        let mut following = from;
        for (index, &(count, stride)) in self.position.iter_mut().zip(&self.outer) {
            *index += 1;
            if *index < count {
                self.next = Some((following + stride, to + self.len));
                break;
            }
            // Return to the start of this dimension, and advance the next slower one.
            *index = 0;
            following -= stride * (count - 1);
        }
        Some(Run { from, to, len: self.len, step: self.step })
    }
}

/// The iterator of [`Slab::pieces`] and [`Slab::pieces_along`].
#[derive(Clone, Debug)]
pub struct Pieces {
    slab: Slab,
    /// The dimensions before this one are iterated over; the others are whole in every piece.
    axis: usize,
    /// The number of indices of dimension `axis - 1` in one piece.
    rows: u64,
    /// The position in the iterated dimensions, in indices of the selection.
    at: Option<Vec<u64>>,
}

impl Iterator for Pieces {
    type Item = Slab;

    fn next(&mut self) -> Option<Slab> {
        let at = self.at.as_mut()?;
        let mut ranges = self.slab.ranges.clone();
        for (i, (range, &index)) in ranges.iter_mut().zip(at.iter()).enumerate() {
            let count = if i + 1 == self.axis { self.rows.min(range.count - index) } else { 1 };
            // An index after the first is inside the array, and so is its distance from the first. The first index has no
            // distance.
            let way = if index > 0 { index * range.step } else { 0 };
            *range = Range { start: range.start + way, count, step: range.step };
        }
        let mut step = self.rows;
        let mut more = false;
        for (index, range) in at.iter_mut().zip(&self.slab.ranges).rev() {
            *index = bound::sum(*index, step);
            step = 1;
            if *index < range.count {
                more = true;
                break;
            }
            *index = 0;
        }
        if !more {
            self.at = None;
        }
        Some(Slab { shape: self.slab.shape.clone(), ranges })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn runs(shape: &[u64], ranges: &[(u64, u64, u64)]) -> Vec<(u64, u64, u64, u64)> {
        let ranges: Vec<_> =
            ranges.iter().map(|&(start, count, step)| Range { start, count, step }).collect();
        Slab::new(shape, ranges).unwrap().runs().map(|r| (r.from, r.to, r.len, r.step)).collect()
    }

    #[test]
    fn whole_tails_are_one_run() {
        assert_eq!(runs(&[], &[]), [(0, 0, 1, 1)]);
        assert_eq!(runs(&[4, 3], &[(0, 4, 1), (0, 3, 1)]), [(0, 0, 12, 1)]);
        assert_eq!(runs(&[4, 3], &[(1, 2, 1), (0, 3, 1)]), [(3, 0, 6, 1)]);
        assert_eq!(runs(&[4, 3], &[(1, 2, 1), (1, 2, 1)]), [(4, 0, 2, 1), (7, 2, 2, 1)]);
        assert_eq!(runs(&[4, 3], &[(0, 2, 2), (0, 3, 1)]), [(0, 0, 3, 1), (6, 3, 3, 1)]);
        assert_eq!(runs(&[9], &[(1, 3, 3)]), [(1, 0, 3, 3)]);
        assert_eq!(runs(&[4, 0], &[(0, 4, 1), (0, 0, 1)]), []);
        assert_eq!(runs(&[3, 4], &[(0, 3, 1), (2, 1, 1)]), [(2, 0, 3, 4)]); // a column
    }

    #[test]
    fn the_step_of_one_index_moves_nothing() {
        assert_eq!(runs(&[4], &[(3, 1, u64::MAX)]), [(3, 0, 1, 1)]);
        assert_eq!(runs(&[4, 6], &[(1, 1, u64::MAX), (2, 1, 9)]), [(8, 0, 1, 6)]);
        assert_eq!(runs(&[4, 6], &[(1, 1, u64::MAX), (0, 3, 2)]), [(6, 0, 3, 2)]);
        let ranges = [Range::new(3, 1).by(u64::MAX), Range::all(2)];
        let mut pieces = Slab::new(&[4, 2], ranges).unwrap().pieces(1);
        assert!(pieces.all(|piece| piece.ranges()[0].start == 3));
    }

    #[test]
    fn ranges_outside_are_refused() {
        for (start, count, step) in
            [(0, 5, 1), (4, 1, 1), (5, 0, 1), (0, 2, 4), (0, 1, 0), (u64::MAX, 2, u64::MAX)]
        {
            assert!(Slab::new(&[4], [Range { start, count, step }]).is_err(), "{start} {count} {step}");
        }
        assert!(Slab::new(&[4], []).is_err());
        assert!(Slab::all(&[1 << 40, 1 << 40]).is_err());
        let empty = Slab::all(&[1 << 40, 1 << 40, 0]).unwrap();
        assert_eq!((empty.len(), empty.is_empty(), empty.pieces(9).next()), (0, true, None));
    }

    fn selection() -> impl Strategy<Value = (Vec<u64>, Vec<Range>)> {
        let dimension = (1u64..6).prop_flat_map(|length| {
            (0..length, 1u64..4).prop_flat_map(move |(start, step)| {
                (0..=(length - start).div_ceil(step))
                    .prop_map(move |count| (length, Range { start, count, step }))
            })
        });
        prop::collection::vec(dimension, 0..5).prop_map(|dimensions| dimensions.into_iter().unzip())
    }

    /// Returns the linear indices of the selection, which are computed one by one.
    fn indices(shape: &[u64], ranges: &[Range]) -> Vec<u64> {
        let mut all = vec![0u64];
        for (range, dimension) in ranges.iter().zip(shape) {
            all = all
                .iter()
                .flat_map(|base| {
                    (0..range.count).map(move |i| base * dimension + range.start + i * range.step)
                })
                .collect();
        }
        all
    }

    fn expanded(slab: &Slab) -> Vec<u64> {
        let mut to = 0;
        slab.runs()
            .flat_map(|run| {
                assert_eq!(run.to, to);
                to += run.len;
                (0..run.len).map(move |i| run.from + i * run.step)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn runs_and_pieces_cover_the_selection_in_order((shape, ranges) in selection(), elements in 1u64..40, axis in 0..5usize) {
            let expected = indices(&shape, &ranges);
            let slab = Slab::new(&shape, ranges).unwrap();
            prop_assert_eq!(slab.len(), expected.len() as u64);
            prop_assert_eq!(&expanded(&slab), &expected);
            if let &[_, columns] = &shape[..] {
                prop_assert_eq!(&slab.computed(|[row, column]| row * columns + column).unwrap(), &expected);
            }

            let pieces: Vec<Slab> = slab.pieces(elements).collect();
            prop_assert!(pieces.iter().all(|piece| (1..=elements).contains(&piece.len())));
            let joined: Vec<u64> = pieces.iter().flat_map(expanded).collect();
            prop_assert_eq!(&joined, &expected);

            let pieces = slab.pieces_along(axis, elements);
            let joined: Vec<u64> = pieces.flat_map(|piece| expanded(&piece)).collect();
            prop_assert_eq!(joined, expected);
        }
    }
}
