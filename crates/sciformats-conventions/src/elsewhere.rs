//! Values of a variable that are not the elements of the array that stands for it: an object of MATLAB is an array
//! of a few numbers, which lead to other arrays.

use std::sync::OnceLock;

use sciformats::{ElementType, Error, Range, Result, Slab};

use crate::decoding::Decoding;
use crate::values::Values;
use crate::variable::Variable;

/// Turns elements into values, one by one.
type Then = Box<dyn Fn(Values) -> Result<Values> + Send + Sync>;

/// Reads the values of a selection.
type Selected = Box<dyn Fn(&Slab) -> Result<Values> + Send + Sync>;

/// Reads all values.
type All = Box<dyn Fn() -> Result<Values> + Send + Sync>;

/// Where the values of a variable are.
pub(crate) struct Elsewhere {
    /// The lengths of all dimensions, also of those that the variable leaves out.
    pub(crate) shape: Vec<u64>,
    /// The type of the values in canonical bytes; for dates, that of the numbers that stand for them.
    pub(crate) element: ElementType,
    /// The type of the values for people.
    pub(crate) kind: String,
    /// How they are read.
    pub(crate) how: How,
}

pub(crate) enum How {
    /// The elements of another array of the same shape become the values.
    Array(Box<Variable>, Then),
    /// The values of a selection are made.
    Part(Selected),
    /// All values are read at once, and kept. The first dimension varies fastest.
    All(All, OnceLock<Values>),
}

impl How {
    /// Values that are made where they are selected.
    pub(crate) fn part(read: impl Fn(&Slab) -> Result<Values> + Send + Sync + 'static) -> Self {
        Self::Part(Box::new(read))
    }

    /// Values that are read at once.
    pub(crate) fn all(read: impl Fn() -> Result<Values> + Send + Sync + 'static) -> Self {
        Self::All(Box::new(read), OnceLock::new())
    }

    /// Values that are computed from the elements of an array.
    pub(crate) fn array(
        of: Variable,
        then: impl Fn(Values) -> Result<Values> + Send + Sync + 'static,
    ) -> Self {
        Self::Array(Box::new(of), Box::new(then))
    }
}

impl std::fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Elsewhere({:?})", self.shape)
    }
}

impl Elsewhere {
    /// Reads the values of a selection of the first dimensions. Dates are numbers if the decoding is not one of dates.
    pub(crate) fn read(&self, slab: &Slab, decoding: &Decoding) -> Result<Values> {
        let mut ranges = slab.ranges().to_vec();
        ranges.extend(self.shape.iter().skip(ranges.len()).map(|&length| Range::all(length)));
        // A single value is a row of a column.
        ranges.truncate(self.shape.len());
        let slab = Slab::new(&self.shape, ranges)?;
        match &self.how {
            How::Array(of, then) => {
                let values = of.read_slab(&slab)?;
                let numbers = matches!(decoding, Decoding::Numbers(_));
                if numbers { Ok(reals(values)) } else { in_utc(then(values)?, decoding) }
            }
            How::Part(read) => read(&slab),
            How::All(read, kept) => {
                let all = match kept.get() {
                    Some(all) => all,
                    None => {
                        let all = read()?;
                        kept.get_or_init(|| all)
                    }
                };
                in_utc(all.at(&places(&slab)?)?, decoding)
            }
        }
    }
}

/// Returns the real parts of complex numbers.
fn reals(values: Values) -> Values {
    match values {
        Values::Plain { element: ElementType::Complex(16), bytes, .. } => {
            let parts = bytes.as_chunks::<8>().0.iter().step_by(2);
            Values::plain(ElementType::F64, parts.flatten().copied().collect())
        }
        values => values,
    }
}

/// Shows moments in UTC with their zone.
fn in_utc(values: Values, decoding: &Decoding) -> Result<Values> {
    match (values, decoding) {
        (Values::Times(times), Decoding::Time { units, .. }) if units.is_in_utc() => {
            let shown = times.into_iter().map(|time| time.map(|time| format!("{time}Z")));
            Ok(Values::Text(shown.collect()))
        }
        (values, _) => Ok(values),
    }
}

/// Returns the places of the selected elements in C order, if the first dimension varies fastest.
fn places(slab: &Slab) -> Result<Vec<usize>> {
    let far = || Error::usage("selection", "is too large for this machine");
    let size = |number: u64| usize::try_from(number).map_err(|_| far());
    // The number of elements was limited when they were read.
    let mut places: Vec<usize> = if slab.is_empty() { Vec::new() } else { vec![0] };
    let mut stride = 1usize;
    // The last dimension varies fastest in the result, so each dimension repeats what the earlier ones gave.
    for (range, &side) in slab.ranges().iter().zip(slab.of()) {
        let mut next = Vec::new();
        next.try_reserve_exact(places.len().checked_mul(size(range.count)?).ok_or_else(far)?)
            .map_err(|_| far())?;
        for &place in &places {
            for at in 0..range.count {
                let index = at.checked_mul(range.step).and_then(|far| far.checked_add(range.start));
                let offset = size(index.ok_or_else(far)?)?.checked_mul(stride).ok_or_else(far)?;
                next.push(place.checked_add(offset).ok_or_else(far)?);
            }
        }
        places = next;
        stride = stride.checked_mul(size(side)?).ok_or_else(far)?;
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_dimension_varies_fastest() {
        // The elements of a 2 × 3 matrix are stored column by column.
        let all = Slab::all(&[2, 3]).unwrap();
        assert_eq!(places(&all).unwrap(), [0, 2, 4, 1, 3, 5]);
        let part = Slab::new(&[2, 3], [Range::new(1, 1), Range::new(0, 2).by(2)]).unwrap();
        assert_eq!(places(&part).unwrap(), [1, 5]);
        assert_eq!(places(&Slab::all(&[0, 3]).unwrap()).unwrap(), [0usize; 0]);
        assert_eq!(places(&Slab::all(&[]).unwrap()).unwrap(), [0]);
    }
}
