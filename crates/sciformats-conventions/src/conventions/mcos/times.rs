//! Dates and lengths of time.
//!
//! | class | properties |
//! |---|---|
//! | `datetime` | `data`: milliseconds since 1970 in UTC, where the imaginary part is what the real part lacks; NaN is a missing date; `tz`: the time zone |
//! | `duration` | `millis`: milliseconds; `fmt`: how they are shown |
//! | `calendarDuration` | `components`: a structure of `months`, `days`, `millis`, each with one number or one for each element |

use std::sync::Arc;

use sciformats::{ElementType, Result};
use sciformats_core::{FaultKind, bound};

use super::{Object, fault};
use crate::conventions::matlab;
use crate::decoding::{Decoding, Numbers};
use crate::elsewhere::{Elsewhere, How};
use crate::node::Node;
use crate::time::{Calendar, DateTime, TimeUnits};
use crate::values::Values;
use crate::variable::Variable;

/// What numbers of dates count.
const SINCE: &str = "milliseconds since 1970-01-01";

/// Returns how the numbers of dates become dates.
pub(super) fn decoding(zoned: bool) -> Decoding {
    let numbers = Numbers::new(ElementType::F64);
    match units() {
        Some(units) => Decoding::Time { numbers, units: if zoned { units.in_utc() } else { units } },
        None => Decoding::Numbers(numbers),
    }
}

fn units() -> Option<TimeUnits> {
    TimeUnits::parse(SINCE, Calendar::ProlepticGregorian)
}

/// Returns the date after a number of milliseconds, and what this number lacks.
fn moment(units: &TimeUnits, millis: f64, rest: Option<f64>) -> Option<DateTime> {
    let Some(rest) = rest else { return units.moment(millis) };
    if !millis.is_finite() || !rest.is_finite() || millis.abs() > 1e18 {
        return None;
    }
    let whole = millis.trunc();
    let fine = ((millis - whole + rest) * 1e6).round_ties_even();
    DateTime::at(
        Calendar::ProlepticGregorian,
        (whole as i128).checked_mul(1_000_000)?.checked_add(fine as i128)?,
    )
}

/// Returns numbers as dates.
fn dates(values: &Values) -> Result<Values> {
    let Some(units) = units() else { return Ok(Values::Times(Vec::new())) };
    let times = match values {
        Values::Plain { element: ElementType::Complex(16), bytes, .. } => {
            let parts = bytes.as_chunks::<16>().0.iter().map(|both| {
                let (real, rest) = (both.first_chunk::<8>(), both.last_chunk::<8>());
                let part =
                    |eight: Option<&[u8; 8]>| eight.map_or(f64::NAN, |eight| f64::from_le_bytes(*eight));
                moment(&units, part(real), Some(part(rest)))
            });
            parts.collect()
        }
        other => other.numbers()?.into_iter().map(|millis| moment(&units, millis, None)).collect(),
    };
    Ok(Values::Times(times))
}

/// Decodes dates.
pub(super) fn datetime(of: &Object<'_>) -> Result<Option<Variable>> {
    let zone = of.node("tz").map(matlab::text).transpose()?.filter(|zone| !zone.is_empty());
    let data = matlab::numbers(of.needed("object of the class datetime", "data")?)?;
    let shape = data.shape();
    let how = How::array(data, |values| dates(&values));
    let elsewhere = Elsewhere { shape, element: ElementType::F64, kind: "time".into(), how };
    let found = Variable::of_elsewhere(of.node, elsewhere, decoding(zone.is_some()))?;
    Ok(found.map(|mut variable| {
        variable.units = Some(SINCE.to_owned());
        variable.long_name = zone.map(|zone| format!("in UTC, from the time zone {zone}"));
        variable
    }))
}

/// Returns the units in which MATLAB shows durations, and their length in milliseconds.
fn shown_in(format: &str) -> (&'static str, f64) {
    match format {
        "m" => ("min", 60_000.0),
        "h" => ("h", 3_600_000.0),
        "d" => ("d", 86_400_000.0),
        "y" => ("years of 365.2425 d", 365.2425 * 86_400_000.0),
        _ => ("s", 1_000.0),
    }
}

/// Decodes lengths of time, in the units in which MATLAB shows them.
pub(super) fn duration(of: &Object<'_>) -> Result<Option<Variable>> {
    let format = of.node("fmt").map(matlab::text).transpose()?.unwrap_or_default();
    let (units, length) = shown_in(&format);
    let millis = matlab::numbers(of.needed("object of the class duration", "millis")?)?;
    let shape = millis.shape();
    let then = move |values: Values| -> Result<Values> {
        let shown = values.numbers()?.into_iter().flat_map(|millis| (millis / length).to_le_bytes());
        Ok(Values::plain(ElementType::F64, shown.collect()))
    };
    let how = How::array(millis, then);
    let elsewhere = Elsewhere { shape, element: ElementType::F64, kind: "duration".into(), how };
    let found = Variable::of_elsewhere(of.node, elsewhere, Decoding::Stored)?;
    Ok(found.map(|mut variable| {
        variable.units = Some(units.to_owned());
        variable
    }))
}

/// The fields of a calendar duration.
const FIELDS: [&str; 3] = ["months", "days", "millis"];

/// Decodes lengths of time in months, days and milliseconds as texts in ISO 8601.
pub(super) fn calendar_duration(of: &Object<'_>) -> Result<Option<Variable>> {
    let structure = "object of the class calendarDuration";
    let group = of.needed(structure, "components")?;
    let mut parts = Vec::new();
    for name in FIELDS {
        let missing = || fault(structure, name, FaultKind::Rule("is missing"), group.path());
        parts.push(matlab::numbers(&group.child(name)?.ok_or_else(missing)?)?);
    }
    let count = |shape: &Vec<u64>| shape.iter().fold(1, |all, &n| bound::product(all, n));
    // A field with one number has the same for all elements; without elements, all fields are empty.
    let shapes: Vec<Vec<u64>> = parts.iter().map(Variable::shape).collect();
    let other = |shape: &&Vec<u64>| count(shape) != 1;
    let shape = shapes.iter().find(other).or(shapes.first()).cloned().unwrap_or_default();
    for (name, found) in FIELDS.iter().zip(&shapes).filter(|(_, found)| count(found) != 1) {
        if *found != shape {
            let kind = FaultKind::Mismatch { expected: count(&shape), found: count(found) };
            return Err(fault(structure, name, kind, group.path()));
        }
    }
    let elements = count(&shape);
    let read = move || -> Result<Values> {
        // The elements in MATLAB's order: those of the stored arrays, whose dimensions are reversed.
        let numbers = parts.iter().map(matlab::in_stored_order).collect::<Result<Vec<_>>>()?;
        let all = usize::try_from(elements).unwrap_or_default();
        let at = |of: usize, at: usize| -> f64 {
            let numbers = numbers.get(of).map(Vec::as_slice).unwrap_or_default();
            numbers.get(if numbers.len() == 1 { 0 } else { at }).copied().unwrap_or(f64::NAN)
        };
        Ok(Values::Text((0..all).map(|row| period(at(0, row), at(1, row), at(2, row))).collect()))
    };
    let kind = "calendar duration".into();
    let elsewhere = Elsewhere { shape, element: ElementType::Text, kind, how: How::all(read) };
    Variable::of_elsewhere(of.node, elsewhere, Decoding::Stored)
}

/// Formats a length of time in ISO 8601, where each part may have its own sign: `P1Y2M3DT4H5M6.5S`.
fn period(months: f64, days: f64, millis: f64) -> Option<String> {
    if !(months.is_finite() && days.is_finite() && millis.is_finite()) {
        return None;
    }
    let mut text = "P".to_owned();
    let mut add = |number: f64, letter: char| {
        if number != 0.0 {
            text.push_str(&format!("{number}{letter}"));
        }
    };
    add((months / 12.0).trunc(), 'Y');
    add(months % 12.0, 'M');
    add(days, 'D');
    if millis != 0.0 {
        text.push('T');
        let mut add = |number: f64, letter: char| {
            if number != 0.0 {
                text.push_str(&format!("{number}{letter}"));
            }
        };
        add((millis / 3_600_000.0).trunc(), 'H');
        add((millis % 3_600_000.0 / 60_000.0).trunc(), 'M');
        add(millis % 60_000.0 / 1_000.0, 'S');
    }
    if text == "P" {
        text.push_str("0D");
    }
    Some(text)
}

/// The times of rows that are given by their first one and their distance.
pub(super) struct Steps {
    /// The first time: milliseconds since 1970 and what this number lacks, or a length of time in milliseconds.
    pub(super) origin: (f64, f64),
    /// Whether times are dates.
    pub(super) dates: bool,
    pub(super) by: Step,
}

/// The distance of rows.
pub(super) enum Step {
    /// The number of rows in a second.
    Rate(f64),
    /// Milliseconds.
    Millis(f64),
    /// Days in a calendar.
    Days(f64),
    /// Months in a calendar.
    Months(f64),
}

impl Steps {
    /// Returns the time of a row, in milliseconds and what this number lacks.
    fn at(&self, row: u64) -> (f64, f64) {
        let row = row as f64;
        let (start, rest) = self.origin;
        match self.by {
            // The step is not rounded, so that the error does not grow.
            Step::Rate(rate) => sum(start, row * 1000.0 / rate, rest),
            Step::Millis(step) => sum(start, row * step, rest),
            Step::Days(days) => sum(start, row * days * 86_400_000.0, rest),
            Step::Months(months) => (later(start, row * months), rest),
        }
    }

    /// Returns the index of the rows of a table.
    pub(super) fn variable(
        self: Arc<Self>,
        node: &Node,
        rows: u64,
        (zone, units): (Option<String>, (&'static str, f64)),
    ) -> Result<Option<Variable>> {
        let decoding = if self.dates { decoding(zone.is_some()) } else { Decoding::Stored };
        let (kind, of_dates) = if self.dates { ("time", true) } else { ("duration", false) };
        let limits = *node.file().limits();
        let read = move || -> Result<Values> {
            limits.memory("bytes of the times of rows", rows.saturating_mul(32))?; // a bound
            let known = self::units();
            if of_dates {
                let date = |row| {
                    let (millis, rest) = self.at(row);
                    known.as_ref().and_then(|known| moment(known, millis, Some(rest)))
                };
                return Ok(Values::Times((0..rows).map(date).collect()));
            }
            let bytes = (0..rows).flat_map(|row| (self.at(row).0 / units.1).to_le_bytes()).collect();
            Ok(Values::plain(ElementType::F64, bytes))
        };
        let elsewhere = Elsewhere {
            shape: vec![rows, 1],
            element: ElementType::F64,
            kind: kind.into(),
            how: How::all(read),
        };
        let found = Variable::of_elsewhere(node, elsewhere, decoding)?;
        Ok(found.map(|mut variable| {
            variable.units = Some(if of_dates { SINCE } else { units.0 }.to_owned());
            variable.long_name = zone.map(|zone| format!("in UTC, from the time zone {zone}"));
            variable
        }))
    }
}

/// Adds two numbers, and returns what the sum lacks too.
fn sum(a: f64, b: f64, rest: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part) + rest)
}

/// Returns the time after a number of months, in milliseconds since 1970.
fn later(start: f64, months: f64) -> f64 {
    let calendar = Calendar::ProlepticGregorian;
    let day = (start / 86_400_000.0).floor();
    if !(day.abs() < 1e12 && months.abs() < 1e9) {
        return f64::NAN;
    }
    let (year, month, of_month) = calendar.date(day as i64);
    let all = year * 12 + i64::from(month) - 1 + months as i64;
    let (year, month) = (all.div_euclid(12), u8::try_from(all.rem_euclid(12) + 1).unwrap_or(1));
    let of_month = of_month.min(calendar.days_in_month(year, month));
    let moved = calendar.days(year, month, of_month) as f64 - day;
    start + moved * 86_400_000.0
}

/// Returns the first time of rows: its numbers, whether it is a date, and its zone.
pub(super) fn origin(of: &Object<'_>, class: &str) -> Result<((f64, f64), bool, Option<String>)> {
    let dates = class == "datetime";
    let name = if dates { "data" } else { "millis" };
    let zone = of.node("tz").map(matlab::text).transpose()?.filter(|zone| dates && !zone.is_empty());
    let first = matlab::numbers(of.needed("first time of the rows of a timetable", name)?)?.read()?;
    let number = |bytes: &[u8], at: usize| {
        let eight = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
        eight.map_or(f64::NAN, |eight| f64::from_le_bytes(*eight))
    };
    let numbers = match &first {
        Values::Plain { element: ElementType::Complex(16), bytes, .. } => {
            (number(bytes, 0), number(bytes, 8))
        }
        other => (other.numbers()?.first().copied().unwrap_or(f64::NAN), 0.0),
    };
    Ok((numbers, dates, zone))
}

/// Returns the distance of rows.
pub(super) fn step(of: &Object<'_>, class: &str) -> Result<(Step, (&'static str, f64))> {
    let structure = "distance of the rows of a timetable";
    let first = |node: &Node| Ok::<_, sciformats::Error>(matlab::number(node)?.unwrap_or(f64::NAN));
    if class == "duration" {
        let format = of.node("fmt").map(matlab::text).transpose()?.unwrap_or_default();
        return Ok((Step::Millis(first(of.needed(structure, "millis")?)?), shown_in(&format)));
    }
    let group = of.needed(structure, "components")?;
    let part = |name: &str| group.child(name)?.as_ref().map_or(Ok(0.0), first);
    let (months, days, millis) = (part("months")?, part("days")?, part("millis")?);
    let by = match (months, days) {
        (0.0, 0.0) => Step::Millis(millis),
        (0.0, days) => Step::Days(days),
        (months, _) => Step::Months(months),
    };
    Ok((by, shown_in("")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_in_a_calendar() {
        assert_eq!(period(14.0, 3.0, 14_706_500.0).as_deref(), Some("P1Y2M3DT4H5M6.5S"));
        assert_eq!(period(-1.0, 0.0, 0.0).as_deref(), Some("P-1M"));
        assert_eq!(period(0.0, 0.0, 0.0).as_deref(), Some("P0D"));
        assert_eq!(period(0.0, f64::NAN, 0.0), None);
    }

    #[test]
    fn dates_are_as_fine_as_their_two_numbers() {
        let units = units().unwrap();
        let shown = |millis, rest| moment(&units, millis, rest).map(|date| date.to_string());
        assert_eq!(shown(1_704_110_400_000.25, None).as_deref(), Some("2024-01-01T12:00:00.000250"));
        assert_eq!(
            shown(1_704_110_400_000.0, Some(1.23e-4)).as_deref(),
            Some("2024-01-01T12:00:00.000000123")
        );
        assert_eq!(shown(-0.5, Some(0.0)).as_deref(), Some("1969-12-31T23:59:59.999500"));
        assert_eq!(
            (shown(f64::NAN, None), shown(1e300, Some(0.0)), shown(f64::INFINITY, Some(0.0))),
            (None, None, None)
        );
    }

    #[test]
    fn months_of_different_lengths() {
        let day =
            |year, month, day| Calendar::ProlepticGregorian.days(year, month, day) as f64 * 86_400_000.0;
        assert_eq!(later(day(2024, 1, 31) + 5.0, 1.0), day(2024, 2, 29) + 5.0);
        assert_eq!(later(day(2024, 1, 1), -1.0), day(2023, 12, 1));
        assert!(later(f64::NAN, 1.0).is_nan() && later(1e300, 1.0).is_nan() && later(0.0, 1e300).is_nan());
    }
}
