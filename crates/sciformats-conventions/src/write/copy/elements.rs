//! Copies the elements of a planned variable.

use sciformats::hdf5_pure::ObjectId;
use sciformats::{Datum, Decoder, ElementType, Error, Result, Slab};

use super::kind::{Kind, NO_TIME, half};
use super::{As, Origin, Planned};
use crate::values::Values;
use crate::write::NetCdf;

/// The number of elements that are copied at once.
const AT_ONCE: u64 = 1 << 20;

/// Texts that netCDF does not have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Texts {
    /// Some contain a NUL.
    pub(super) nul: bool,
    /// Some are not UTF-8.
    pub(super) other: bool,
}

impl Planned {
    fn shape(&self) -> Vec<u64> {
        self.dimensions.iter().map(|side| side.length).collect()
    }

    /// Copies the elements.
    pub(super) fn fill(&self, file: &mut NetCdf, id: ObjectId) -> Result<()> {
        match &self.origin {
            Origin::Frames(frames) => frames.fill(file, (id, self.kind, &self.shape())),
            _ => self.pieces(&mut |place, values, part| self.put(file, (id, place), values, part)),
        }
    }

    /// Passes the elements of a variable or a column to `take`, with their places.
    fn pieces(&self, take: &mut dyn FnMut(&Slab, Values, As) -> Result<()>) -> Result<()> {
        let shape = self.shape();
        let whole = Slab::all(&shape)?;
        match &self.origin {
            Origin::Variable(variable, part) => {
                let rank = variable.dimensions.len();
                let own = Slab::all(&variable.shape())?;
                let each = shape
                    .get(rank..)
                    .unwrap_or_default()
                    .iter()
                    .try_fold(1u64, |all, &side| all.checked_mul(side));
                for piece in own.pieces((AT_ONCE / each.unwrap_or(1).max(1)).max(1)) {
                    let mut ranges = piece.ranges().to_vec();
                    ranges.extend(whole.ranges().iter().skip(rank));
                    take(&Slab::new(&shape, ranges)?, variable.read_slab(&piece)?, *part)?;
                }
            }
            Origin::Column(column, part) => {
                let rows = shape.first().copied().unwrap_or(1).max(1);
                let each = (whole.len() / rows).max(1);
                for piece in whole.pieces_along(0, (AT_ONCE / each).max(1)) {
                    let Some(range) = piece.ranges().first() else { continue };
                    take(&piece, column.read(range.start, range.count)?, *part)?;
                }
            }
            Origin::Frames(_) => {}
        }
        Ok(())
    }

    /// Finds out which texts there are that netCDF does not have. What cannot be read is an error of writing.
    pub(super) fn texts(&self) -> Texts {
        let mut found = Texts::default();
        if self.kind != Kind::Text {
            return found;
        }
        let _ = self.pieces(&mut |_, values, _| {
            let (mut element, bytes) = values.into_canonical()?;
            while let ElementType::Array { element: inner, .. } = element {
                element = *inner;
            }
            for datum in Decoder::new(&element, &bytes) {
                if let Datum::Text(text) = datum? {
                    found.nul |= text.contains(&0);
                    found.other |= std::str::from_utf8(text).is_err();
                }
            }
            Ok(())
        });
        found
    }

    fn put(&self, file: &mut NetCdf, place: (ObjectId, &Slab), values: Values, part: As) -> Result<()> {
        if let (As::Time(calendar), Values::Times(times)) = (part, &values) {
            let micro = |time: &Option<crate::time::DateTime>| match time {
                None => Ok(NO_TIME),
                Some(time) => i64::try_from(time.nanoseconds(calendar).div_euclid(1000))
                    .map_err(|_| Error::unsupported(format!("the date {time} in microseconds"))),
            };
            let numbers = times.iter().map(micro).collect::<Result<Vec<i64>>>()?;
            return file.put(place.0, place.1, &numbers);
        }
        let (mut element, bytes) = values.into_canonical()?;
        while let ElementType::Array { element: inner, .. } = element {
            element = *inner;
        }
        match half(&element, &bytes, part == As::Imaginary) {
            Some((element, bytes)) => self.kind.put(file, place, (&element, &bytes)),
            None => self.kind.put(file, place, (&element, &bytes)),
        }
    }
}
