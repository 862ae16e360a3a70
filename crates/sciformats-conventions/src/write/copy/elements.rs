//! Copies the elements of a planned variable.

use sciformats::hdf5_pure::ObjectId;
use sciformats::{Datum, Decoder, ElementType, Error, Result, Slab};

use super::kind::{Kind, NO_TIME, half};
use super::{As, MICRO, Origin, Planned};
use crate::decoding::Decoding;
use crate::time::{Calendar, DateTime};
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
    /// Some are missing.
    pub(super) missing: bool,
}

/// Returns whether values that become texts are missing.
fn lacks(values: &Values) -> bool {
    match values {
        Values::Plain { missing, .. } => missing.as_ref().is_some_and(|missing| missing.contains(&true)),
        Values::Text(texts) => texts.contains(&None),
        Values::Times(times) => times.contains(&None),
        Values::Categories { codes, .. } => codes.contains(&None),
    }
}

/// How fine dates are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fineness {
    /// Some are finer than microseconds.
    pub(super) is_fine: bool,
    /// Some are farther away than 64 bits can count nanoseconds.
    pub(super) is_far: bool,
}

/// Returns whether dates are never finer than microseconds.
fn is_coarse(decoding: &Decoding) -> bool {
    match decoding {
        Decoding::Time { units, .. } => {
            let (step, origin) = units.line();
            step.rem_euclid(MICRO) == 0 && origin.rem_euclid(MICRO) == 0
        }
        Decoding::SecondsAndMicroseconds => true,
        _ => false,
    }
}

/// Returns dates as nanoseconds since 1970. Those of a time zone have become texts in UTC.
fn moments(values: &Values, calendar: Calendar) -> Result<Vec<Option<i128>>> {
    let wrong = |found: &str| Error::unsupported(format!("{found} as a date"));
    match values {
        Values::Times(times) => {
            Ok(times.iter().map(|time| time.map(|time| time.nanoseconds(calendar))).collect())
        }
        Values::Text(texts) => {
            let moment = |text: &String| match DateTime::parse(text, calendar) {
                Some(date) => Ok(date.nanoseconds(calendar)),
                None => Err(wrong(text)),
            };
            texts.iter().map(|text| text.as_ref().map(moment).transpose()).collect()
        }
        _ => Err(wrong("a value that is neither a date nor a text")),
    }
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
            found.missing |= lacks(&values);
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

    /// Finds out how fine dates are. What cannot be read is an error of writing.
    pub(super) fn fineness(&self, calendar: Calendar) -> Fineness {
        let mut found = Fineness::default();
        let is_coarse = match &self.origin {
            Origin::Variable(variable, _) => is_coarse(&variable.decoding) && variable.elsewhere().is_none(),
            _ => false,
        };
        if is_coarse {
            return found;
        }
        let _ = self.pieces(&mut |_, values, _| {
            for moment in moments(&values, calendar)?.into_iter().flatten() {
                found.is_fine |= moment.rem_euclid(MICRO) != 0;
                found.is_far |= !i64::try_from(moment).is_ok_and(|count| count > NO_TIME);
            }
            Ok(())
        });
        found
    }

    fn put(&self, file: &mut NetCdf, place: (ObjectId, &Slab), values: Values, part: As) -> Result<()> {
        if let As::Time(calendar, step) = part {
            let count = |moment: Option<i128>| match moment {
                None => Ok(NO_TIME),
                Some(moment) => i64::try_from(moment.div_euclid(step)).map_err(|_| {
                    let shown = DateTime::at(calendar, moment).map(|date| date.to_string());
                    let shown = shown.unwrap_or_else(|| format!("{moment} ns after 1970"));
                    Error::unsupported(format!("the date {shown} in steps of {step} ns"))
                }),
            };
            let numbers = moments(&values, calendar)?.into_iter().map(count).collect::<Result<Vec<i64>>>()?;
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
