//! Variables over one grid as a table: a row for each point, with its coordinates.

use std::sync::Arc;

use sciformats::{ElementType, Error, Range, Result, Slab};

use crate::undecoded::Undecoded;
use crate::values::Values;
use crate::variable::Variable;

/// The points of a grid, or of a part of it that is a box, in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The first place along each dimension, and the number of places.
    sides: Vec<(u64, u64)>,
    rows: u64,
}

/// The values of a variable along some of the dimensions of a grid.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    pub(crate) variable: Box<Variable>,
    pub(crate) grid: Arc<Grid>,
    /// The dimensions of the grid that the variable has, in ascending order.
    pub(crate) axes: Arc<[usize]>,
    /// How many places the value of the first point is after the beginning: 1 for the upper edges of cells, which are one more than
    /// the points.
    pub(crate) after: u64,
}

/// The places along a dimension, or the coordinates that follow from them.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) grid: Arc<Grid>,
    pub(crate) axis: usize,
    /// The first coordinate and the distance to the next one; without them, places are numbers from 0 on.
    pub(crate) spacing: Option<(f64, f64)>,
}

/// A box of a grid: the first place along each dimension, counted from the beginning of the part, and the number.
type Part = Vec<(u64, u64)>;

/// The number of rows that are usually read together.
const BATCH: u64 = 1 << 16;

fn too_many() -> Error {
    Error::usage("rows", "are too many for this machine")
}

impl Grid {
    /// Returns the grid of a shape; `None` if it has too many points to be counted.
    pub(crate) fn of(shape: &[u64]) -> Option<Self> {
        Self::new(shape.iter().map(|&length| (0, length)).collect())
    }

    fn new(sides: Vec<(u64, u64)>) -> Option<Self> {
        // A side without places makes the others irrelevant, but they are still counted.
        let rows = if sides.iter().any(|(_, count)| *count == 0) {
            0
        } else {
            sides.iter().try_fold(1u64, |rows, (_, count)| rows.checked_mul(*count))?
        };
        Some(Self { sides, rows })
    }

    /// Returns the number of points.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of places along each dimension.
    pub fn lengths(&self) -> impl ExactSizeIterator<Item = u64> {
        self.sides.iter().map(|(_, count)| *count)
    }

    /// Returns a part of this part: for each dimension, the places that are kept, counted from its beginning.
    pub(crate) fn part(&self, kept: &[std::ops::Range<u64>]) -> Option<Self> {
        let mut sides = self.sides.clone();
        for ((start, count), kept) in sides.iter_mut().zip(kept) {
            let end = kept.end.min(*count);
            let first = kept.start.min(end);
            *start = start.checked_add(first)?;
            *count = end - first;
        }
        Self::new(sides)
    }

    /// Returns the boxes that have some consecutive rows, in order: at most two for each dimension.
    fn boxes(&self, (first, count): (u64, u64)) -> Result<Vec<Part>> {
        let end = first.checked_add(count).filter(|&end| end <= self.rows);
        if end.is_none() {
            return Err(Error::usage("rows", "are not all in the table"));
        }
        let mut boxes = Vec::new();
        self.add(&mut Vec::new(), (first, count), &mut boxes);
        Ok(boxes)
    }

    fn add(&self, before: &mut Part, (mut first, mut count): (u64, u64), boxes: &mut Vec<Part>) {
        let dimension = before.len();
        let rest = self.sides.get(dimension.saturating_add(1)..).unwrap_or_default(); // a bound: there are few dimensions
        let inner: u64 = rest.iter().map(|(_, count)| *count).product();
        while count > 0 && inner > 0 {
            let (place, within) = (first / inner, first % inner);
            let taken = if within == 0 && count >= inner {
                let whole = count / inner;
                let mut found = before.clone();
                found.push((place, whole));
                found.extend(rest.iter().map(|(_, count)| (0, *count)));
                boxes.push(found);
                whole * inner
            } else {
                let taken = count.min(inner - within);
                before.push((place, 1));
                self.add(before, (within, taken), boxes);
                before.pop();
                taken
            };
            first += taken;
            count -= taken;
        }
    }

    /// Returns the smallest box that contains others.
    fn around(&self, boxes: &[Part]) -> Part {
        let mut around: Part = vec![(0, 0); self.sides.len()];
        for (number, of) in boxes.iter().enumerate() {
            for ((start, count), (first, more)) in around.iter_mut().zip(of) {
                if number == 0 {
                    (*start, *count) = (*first, *more);
                } else {
                    let end = (*start + *count).max(first + more);
                    *start = (*start).min(*first);
                    *count = end - *start;
                }
            }
        }
        around
    }
}

impl Spread {
    /// Returns the selection of a box.
    fn slab(&self, of: &[(u64, u64)]) -> Result<Slab> {
        let sides = &self.grid.sides;
        let ranges = self.axes.iter().map(|&axis| {
            let (&(offset, _), &(start, count)) = sides
                .get(axis)
                .zip(of.get(axis))
                .ok_or_else(|| Error::internal("a grid without this dimension"))?;
            let place = offset.checked_add(start).and_then(|place| place.checked_add(self.after));
            Ok(Range::new(place.ok_or_else(too_many)?, count))
        });
        Slab::new(&self.variable.shape(), ranges.collect::<Result<Vec<_>>>()?)
    }

    /// Returns whether the variable has all dimensions of the grid.
    pub(crate) fn is_whole(&self) -> bool {
        self.axes.len() == self.grid.sides.len()
    }

    /// Returns a number of rows that are stored together, so that no chunk is decoded twice if as many or a multiple of
    /// them are read together: rows of whole chunks along the first dimension, or of as many dimensions as a batch has
    /// room for.
    pub(crate) fn rows_together(&self) -> Option<u64> {
        let chunks = self.variable.stored().chunks.clone().unwrap_or_default();
        let lengths: Vec<u64> = self.grid.lengths().collect();
        (0..lengths.len()).find_map(|dimension| {
            let inner = lengths.get(dimension.saturating_add(1)..).unwrap_or_default(); // a bound: there are few dimensions
            let inner = inner.iter().try_fold(1u64, |rows, &length| rows.checked_mul(length))?;
            let high = chunks.get(dimension).copied().unwrap_or(1).max(1);
            let rows = [inner.checked_mul(high), Some(inner)];
            rows.into_iter().flatten().find(|rows| (1..=BATCH).contains(rows))
        })
    }

    /// Returns the only dimension that the variable has.
    pub(crate) fn only(&self) -> Option<usize> {
        if let [axis] = *self.axes { Some(axis) } else { None }
    }

    /// Reads a box without decoding it, if that can be done later.
    fn read(&self, of: &[(u64, u64)]) -> Result<Undecoded> {
        let slab = self.slab(of)?;
        Ok(match self.variable.read_stored(&slab)? {
            Some((element, bytes)) => {
                Undecoded::Stored { element, bytes, decoding: self.variable.decoding.clone(), missing: None }
            }
            None => Undecoded::Decoded(self.variable.read_slab(&slab)?),
        })
    }

    /// Reads the values of all places along the only dimension of the variable.
    pub(crate) fn along(&self) -> Result<Undecoded> {
        let all: Part = self.grid.sides.iter().map(|(_, count)| (0, *count)).collect();
        self.read(&all)
    }

    /// Reads some rows.
    pub(crate) fn rows(&self, rows: (u64, u64)) -> Result<Undecoded> {
        let boxes = self.grid.boxes(rows)?;
        let around = self.grid.around(&boxes);
        if !self.is_whole() {
            let places = self.places(&boxes, &around)?;
            return Ok(Undecoded::Spread { of: Box::new(self.read(&around)?), places });
        }
        let mut parts = boxes.iter().map(|of| self.read(of));
        let Some(first) = parts.next() else { return self.read(&around) };
        parts.try_fold(first?, |before, part| before.followed_by(part?))
    }

    /// Returns for each row where its value is in the box around all rows.
    fn places(&self, boxes: &[Part], around: &[(u64, u64)]) -> Result<Vec<usize>> {
        // How far the place moves with each dimension of the grid.
        let mut strides = vec![0usize; around.len()];
        let mut stride = 1usize;
        for &axis in self.axes.iter().rev() {
            let count = around.get(axis).map_or(0, |(_, count)| *count);
            if let Some(of) = strides.get_mut(axis) {
                *of = stride;
            }
            stride = usize::try_from(count)
                .ok()
                .and_then(|count| stride.checked_mul(count))
                .ok_or_else(too_many)?;
        }
        let mut places = Vec::new();
        for of in boxes {
            let mut sides = Vec::new();
            for (((first, count), (start, _)), stride) in of.iter().zip(around).zip(&strides) {
                let number = |of: u64| usize::try_from(of).map_err(|_| too_many());
                sides.push((number(first - start)? * stride, number(*count)?, *stride));
            }
            spread(&sides, 0, &mut places);
        }
        Ok(places)
    }

    /// Reads some rows and decodes them.
    pub(crate) fn values(&self, rows: (u64, u64)) -> Result<Values> {
        self.rows(rows)?.values()
    }
}

/// Appends the places of a box: for each dimension the first place, the number of places, and their distance.
fn spread(sides: &[(usize, usize, usize)], place: usize, places: &mut Vec<usize>) {
    match sides {
        [] => places.push(place),
        [(first, count, stride)] => {
            let first = place + first;
            places.extend((0..*count).map(|at| first + at * stride));
        }
        [(first, count, stride), rest @ ..] => {
            for at in 0..*count {
                spread(rest, place + first + at * stride, places);
            }
        }
    }
}

impl Places {
    fn numbers(&self, places: impl Iterator<Item = u64>) -> Values {
        let mut bytes = Vec::new();
        match self.spacing {
            Some((start, step)) => {
                places.for_each(|place| bytes.extend((start + step * place as f64).to_le_bytes()));
                Values::plain(ElementType::F64, bytes)
            }
            None => {
                places.for_each(|place| bytes.extend(place.to_le_bytes()));
                Values::plain(ElementType::Int(8), bytes)
            }
        }
    }

    fn side(&self) -> (u64, u64) {
        self.grid.sides.get(self.axis).copied().unwrap_or_default()
    }

    /// Returns the coordinates of all places.
    pub(crate) fn along(&self) -> Values {
        let (start, count) = self.side();
        self.numbers((0..count).map(|place| start + place))
    }

    /// Returns the coordinates of some rows.
    pub(crate) fn rows(&self, rows: (u64, u64)) -> Result<Values> {
        let boxes = self.grid.boxes(rows)?;
        let (start, _) = self.side();
        let mut found = Vec::new();
        for of in &boxes {
            let mut sides = Vec::new();
            for (axis, (first, count)) in of.iter().enumerate() {
                let stride = usize::from(axis == self.axis);
                let first = usize::try_from(*first).map_err(|_| too_many())?;
                sides.push((first * stride, usize::try_from(*count).map_err(|_| too_many())?, stride));
            }
            spread(&sides, 0, &mut found);
        }
        Ok(self.numbers(found.into_iter().map(|place| start + place as u64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_rows_are_few_boxes() {
        let grid = Grid::of(&[4, 3, 5]).unwrap();
        assert_eq!(grid.boxes((0, 60)).unwrap(), [[(0, 4), (0, 3), (0, 5)]]);
        assert_eq!(grid.boxes((15, 30)).unwrap(), [[(1, 2), (0, 3), (0, 5)]]);
        // The end of a line, the lines up to the next plane, a plane, and the beginning of another one.
        let boxes = grid.boxes((7, 30)).unwrap();
        assert_eq!(
            boxes,
            [
                [(0, 1), (1, 1), (2, 3)],
                [(0, 1), (2, 1), (0, 5)],
                [(1, 1), (0, 3), (0, 5)],
                [(2, 1), (0, 1), (0, 5)],
                [(2, 1), (1, 1), (0, 2)],
            ]
        );
        assert_eq!(grid.around(&boxes), [(0, 3), (0, 3), (0, 5)]);
        assert!(grid.boxes((59, 2)).is_err() && grid.boxes((u64::MAX, 2)).is_err());
        assert_eq!(Grid::of(&[0, u64::MAX, u64::MAX]).map(|grid| grid.rows()), Some(0));
        assert_eq!(Grid::of(&[u64::MAX, 2]), None);
    }

    #[test]
    fn all_boxes_together_have_each_row_once() {
        let grid = Grid::of(&[3, 2, 4]).unwrap();
        for first in 0..24 {
            for count in 0..=24 - first {
                let mut rows = Vec::new();
                for of in grid.boxes((first, count)).unwrap() {
                    let sides: Vec<_> = of
                        .iter()
                        .zip([8, 4, 1])
                        .map(|((start, count), stride)| (*start as usize * stride, *count as usize, stride))
                        .collect();
                    spread(&sides, 0, &mut rows);
                }
                assert!(rows.into_iter().eq(first as usize..(first + count) as usize), "{first}, {count}");
            }
        }
    }
}
