//! Reads selections that are not rectangles: regularly spaced blocks, points, and the selections of region references.

use sciformats_core::storage::zeroed;
use sciformats_core::{Error, Range, Result, Slab, bound, slab};

use crate::api::dataset::Dataset;
use crate::spec::selection::{Regular, Selection};
use crate::value::element::Element;
use crate::value::region::{self, Numbered};

/// A part of a selection along one dimension: the indices, and their positions among all selected indices.
type Part = (Range, Range);

impl Dataset {
    /// Reads the elements of a selection of the C library's kinds: regularly spaced blocks (hyperslabs), points or
    /// rectangles, in the order in which the C library returns them. Unlimited counts and blocks end at the edge of the
    /// array.
    ///
    /// ```
    /// use hdf5_pure::structure::{Regular, Selection};
    /// use hdf5_pure::{File, Writer};
    ///
    /// # fn main() -> hdf5_pure::Result<()> {
    /// let mut file = Writer::in_memory(&Default::default())?;
    /// file.dataset("x").write(&(0..12).collect::<Vec<i32>>())?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let pairs = Regular { start: 1, stride: 4, count: Some(3), block: Some(2) };
    /// let found: Vec<i32> = file.dataset("x")?.read_selection(&Selection::Regular(vec![pairs]))?;
    /// assert_eq!(found, [1, 2, 5, 6, 9, 10]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read), and [`Error::Usage`] if the selection does not fit the dataset or
    /// its blocks overlap.
    pub fn read_selection<T: Element>(&self, selection: &Selection) -> Result<Vec<T>> {
        let shape = self.shape();
        let raw = match selection {
            Selection::All => return self.read(),
            Selection::Points(points) => return self.read_points(points),
            Selection::None => Vec::new(),
            Selection::Regular(dimensions) => self.regular(dimensions, shape)?,
            Selection::Blocks(_) => self.rows_of(selection, shape)?,
        };
        self.typed(self.datatype(), &raw)
    }

    fn selected(&self, elements: Option<u64>) -> Result<Vec<u8>> {
        let bytes = elements.and_then(|n| n.checked_mul(self.element_size())).unwrap_or(u64::MAX); // a bound
        zeroed(self.file.opened().context.limits.memory("bytes of the selection", bytes)?)
    }

    /// Returns the bytes of regularly spaced blocks. It uses a few strided reads instead of one read per block.
    fn regular(&self, dimensions: &[Regular], shape: &[u64]) -> Result<Vec<u8>> {
        if dimensions.len() != shape.len() {
            return Err(unfit());
        }
        let axes: Vec<Vec<Part>> = dimensions
            .iter()
            .zip(shape)
            .map(|(dimension, &size)| parts(dimension, size))
            .collect::<Result<_>>()?;
        let len = |parts: &Vec<Part>| parts.iter().fold(0u64, |sum, (range, _)| bound::sum(sum, range.count));
        let places: Vec<u64> = axes.iter().map(len).collect();
        let mut out = self.selected(slab::elements(&places))?;
        let width = bound::addressable(self.element_size());
        for (ranges, places_of) in product(&axes) {
            let piece = self.read_raw(&Slab::new(shape, ranges)?)?;
            for run in Slab::new(&places, places_of)?.runs() {
                let from = bound::product(bound::addressable(run.to), width);
                let elements = piece.get(from..).unwrap_or_default().chunks_exact(width.max(1));
                let steps = (0..run.len).map(|i| bound::sum(run.from, bound::product(i, run.step)));
                for (to, element) in steps.zip(elements) {
                    let to = bound::product(bound::addressable(to), width);
                    if let Some(place) = out.get_mut(to..bound::sum(to, width)) {
                        place.copy_from_slice(element);
                    }
                }
            }
        }
        Ok(out)
    }

    /// Returns the bytes of a selection, which it reads row by row.
    fn rows_of(&self, selection: &Selection, shape: &[u64]) -> Result<Vec<u8>> {
        let numbered = Numbered::new(selection, shape).ok_or_else(unfit)?;
        let mut selected = Vec::new();
        let mut total = 0u64;
        while let Some(run) = numbered.locate(total) {
            total = bound::sum(total, run.len);
            selected.push(run);
        }
        let mut out = self.selected(Some(total))?;
        let width = self.element_size();
        let columns = shape.last().copied().unwrap_or(1).max(1);
        let mut rest = &mut out[..];
        for run in selected {
            let (mut from, mut left) = (run.from, run.len);
            while left > 0 {
                let len = left.min(bound::left(columns, from % columns));
                let bytes = bound::addressable(bound::product(len, width));
                let (row, after) = rest.split_at_mut_checked(bytes).ok_or_else(unfit)?;
                self.read_raw_into(&Slab::new(shape, row_at(from, len, shape))?, row)?;
                (rest, from, left) = (after, bound::sum(from, len), bound::left(left, len));
            }
        }
        Ok(out)
    }
}

fn unfit() -> Error {
    Error::usage("selection", "does not fit the shape of the dataset, or selects an element twice")
}

/// Returns the ranges of the `len` adjacent elements of a row that start at the linear index `from`.
fn row_at(from: u64, len: u64, shape: &[u64]) -> Vec<Range> {
    let mut rest = from;
    let mut ranges: Vec<Range> = shape
        .iter()
        .rev()
        .map(|&size| {
            let size = size.max(1);
            let index = rest % size;
            rest /= size;
            Range::new(index, 1)
        })
        .collect();
    if let Some(last) = ranges.first_mut() {
        last.count = len;
    }
    ranges.reverse();
    ranges
}

/// Turns one dimension of a regular selection into ranges. There is either one range per block, or one range per index
/// within a block (all first indices, all second indices, and so on), whichever gives fewer ranges.
fn parts(dimension: &Regular, size: u64) -> Result<Vec<Part>> {
    let unlimited = dimension.count.is_none() || dimension.block.is_none();
    let Regular { start, stride, count, block } = region::limit(dimension, size);
    let (count, block) = (count.unwrap_or(0), block.unwrap_or(0)); // a bound: both are limited
    if count == 0 || block == 0 {
        return Ok(Vec::new());
    }
    if count > 1 && stride < block {
        return Err(unfit());
    }
    let before =
        (count - 1).checked_mul(stride).and_then(|span| span.checked_add(start)).ok_or_else(unfit)?;
    if before >= size || !unlimited && before.checked_add(block).is_none_or(|end| end > size) {
        return Err(unfit());
    }
    // The last block may extend beyond the array: only the part inside counts.
    let last = block.min(size - before);
    if count == 1 || stride == block {
        let len = (count - 1) * block + last;
        return Ok(vec![(Range::new(start, len), Range::new(0, len))]);
    }
    let of_block = |i: u64| {
        let len = if i + 1 == count { last } else { block };
        (Range::new(start + i * stride, len), Range::new(i * block, len))
    };
    let of_offset = |j: u64| {
        let n = if j < last { count } else { count - 1 };
        (Range::new(start + j, n).by(stride), Range::new(j, n).by(block))
    };
    Ok(if count <= block { (0..count).map(of_block).collect() } else { (0..block).map(of_offset).collect() })
}

/// Returns every combination of one part per dimension.
fn product(axes: &[Vec<Part>]) -> impl Iterator<Item = (Vec<Range>, Vec<Range>)> {
    let total = axes.iter().fold(1u64, |n, parts| bound::product(n, parts.len() as u64));
    (0..total).map(move |number| {
        let mut rest = number;
        let mut chosen: Vec<Part> = axes
            .iter()
            .rev()
            .filter_map(|parts| {
                let n = parts.len() as u64;
                let part = parts.get(usize::try_from(rest.checked_rem(n)?).ok()?).copied();
                rest = rest.checked_div(n)?;
                part
            })
            .collect();
        chosen.reverse();
        chosen.into_iter().unzip()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{File, Writer};

    const SHAPE: [u64; 2] = [13, 17];

    fn dataset(chunked: bool) -> Dataset {
        let mut file = Writer::in_memory(&Default::default()).unwrap();
        let mut builder = file.dataset("x").shape(SHAPE);
        if chunked {
            builder = builder.chunks([4, 5]).filters(crate::filters::Filters::new().shuffle());
        }
        builder.write(&(0..13 * 17).collect::<Vec<i32>>()).unwrap();
        File::from_bytes(file.into_bytes().unwrap()).unwrap().dataset("x").unwrap()
    }

    /// Lists the selected indices one by one, for comparison.
    fn naive(dimension: &Regular, size: u64) -> Vec<u64> {
        let block = dimension.block.unwrap_or(size);
        (0..dimension.count.unwrap_or(size))
            .flat_map(|i| (0..block).map(move |j| dimension.start + i * dimension.stride + j))
            .filter(|&index| index < size)
            .collect()
    }

    #[test]
    fn regular_selections_are_what_they_say() {
        let regular = |start, stride, count, block| Regular { start, stride, count, block };
        let of = |size: u64| {
            vec![
                regular(0, 1, Some(1), Some(size)),
                regular(1, 4, Some(3), Some(2)),
                regular(2, 6, Some(2), Some(5)),
                regular(0, 3, Some(4), Some(3)),
                regular(3, 1, Some(5), Some(1)),
                regular(1, 5, None, Some(3)),
                regular(2, 4, None, Some(2)),
                regular(4, 1, Some(1), None),
                regular(0, 1, Some(0), Some(4)),
            ]
        };
        for set in [dataset(false), dataset(true)] {
            for rows in of(SHAPE[0]) {
                for columns in of(SHAPE[1]) {
                    let wanted: Vec<i64> = naive(&rows, SHAPE[0])
                        .iter()
                        .flat_map(|r| naive(&columns, SHAPE[1]).into_iter().map(move |c| (r * 17 + c) as i64))
                        .collect();
                    let found: Vec<i64> =
                        set.read_selection(&Selection::Regular(vec![rows, columns])).unwrap();
                    assert_eq!(found, wanted, "{rows:?} {columns:?}");
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let set = dataset(false);
        let whole = Regular { start: 0, stride: 1, count: Some(1), block: Some(17) };
        for (start, stride, count, block) in
            [(0, 2, 3, 3), (12, 1, 1, 2), (13, 1, 1, 1), (0, 6, 3, 2), (1, u64::MAX, 3, 1), (0, 0, 2, 1)]
        {
            let rows = Regular { start, stride, count: Some(count), block: Some(block) };
            let found = set.read_selection::<i32>(&Selection::Regular(vec![rows, whole]));
            assert!(matches!(found, Err(Error::Usage { .. })), "{rows:?}: {found:?}");
        }
        assert!(set.read_selection::<i32>(&Selection::Regular(vec![whole])).is_err());
    }

    #[test]
    fn rectangles_points_and_none() {
        let set = dataset(true);
        let blocks = Selection::Blocks(vec![(vec![5, 3], vec![6, 4]), (vec![1, 0], vec![2, 16])]);
        let wanted: Vec<i32> = (17..51).chain([88, 89, 105, 106]).collect();
        assert_eq!(set.read_selection::<i32>(&blocks).unwrap(), wanted);
        let points = Selection::Points(vec![vec![12, 16], vec![0, 1]]);
        assert_eq!(set.read_selection::<i32>(&points).unwrap(), [220, 1]);
        assert!(set.read_selection::<i32>(&Selection::None).unwrap().is_empty());
        assert_eq!(set.read_selection::<i32>(&Selection::All).unwrap().len(), 221);
    }
}
