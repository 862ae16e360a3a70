//! Functions of single rows.

use std::cmp::Ordering;
use std::sync::Arc;

use sciformats_conventions::sciformats::{Error, Result};
use sciformats_conventions::time::{Calendar, DateTime};

use super::cast::{To, cast, text_of};
use super::exact;
use super::expr::{Function, Part, alike, chosen_of, compared, each, overflow};
use super::vector::{Value, Vector, wrong};

/// The number of nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;

/// Returns the values of a function, whose number of arguments was checked.
pub(super) fn call(function: Function, arguments: Vec<Vector>, rows: usize) -> Result<Vector> {
    let mut arguments = arguments.into_iter();
    let mut next = || arguments.next().unwrap_or(Vector::Null(rows));
    match function {
        Function::Abs => size(next()),
        Function::Sign => sign(next()),
        Function::Ceil => whole(next(), f64::ceil, exact::up),
        Function::Floor => whole(next(), f64::floor, exact::down),
        Function::Round => rounded(next(), arguments.next()),
        Function::Sqrt => float(next(), f64::sqrt),
        Function::Exp => float(next(), f64::exp),
        Function::Ln => float(next(), f64::ln),
        Function::Log10 => float(next(), f64::log10),
        Function::Sin => float(next(), f64::sin),
        Function::Cos => float(next(), f64::cos),
        Function::Tan => float(next(), f64::tan),
        Function::Atan2 => float_of_two(next(), next(), f64::atan2),
        Function::Power => float_of_two(next(), next(), f64::powf),
        Function::IsFinite => {
            Ok(Vector::Bool(each(next().floats("isfinite")?, |value| Ok(value.is_finite()))?))
        }
        Function::Lower => text(next(), str::to_lowercase),
        Function::Upper => text(next(), str::to_uppercase),
        Function::Trim => text(next(), |text| text.trim().to_owned()),
        Function::Length => {
            let texts = next().texts("length")?;
            Ok(Vector::Int(each(texts, |text| Ok(text.chars().count() as i128))?))
        }
        Function::Substring => substrings(next().texts("substring")?, &next(), arguments.next().as_ref()),
        Function::Replace => replaced(next(), next(), next()),
        Function::StartsWith => searched(next(), next(), |text, part| text.starts_with(part)),
        Function::Contains => searched(next(), next(), |text, part| text.contains(part)),
        Function::NullIf => unless_equal(&next(), next()),
        Function::Greatest => extreme(&arguments.collect::<Vec<_>>(), Ordering::Greater, rows),
        Function::Least => extreme(&arguments.collect::<Vec<_>>(), Ordering::Less, rows),
        Function::Part(part) => parts(next(), part),
        Function::Truncate => {
            let units = next().texts("a unit of time")?;
            truncated(next(), &units)
        }
        Function::Epoch => epoch(next()),
    }
}

/// Returns numbers and spans without their signs.
fn size(values: Vector) -> Result<Vector> {
    Ok(match values {
        Vector::Int(values) => Vector::Int(each(values, |value| value.checked_abs().ok_or_else(overflow))?),
        Vector::Decimal(values, digits) => {
            Vector::Decimal(each(values, |value| value.checked_abs().ok_or_else(overflow))?, digits)
        }
        Vector::Span(values) => Vector::Span(each(values, |span| span.checked_abs().ok_or_else(overflow))?),
        other => float(other, f64::abs)?,
    })
}

/// Returns 1, 0 or -1.
fn sign(values: Vector) -> Result<Vector> {
    match values {
        Vector::Int(values) | Vector::Decimal(values, _) | Vector::Span(values) => {
            Ok(Vector::Int(each(values, |value| Ok(value.signum()))?))
        }
        other => float(other, |value| if value == 0.0 { 0.0 } else { value.signum() }),
    }
}

fn float(values: Vector, of: fn(f64) -> f64) -> Result<Vector> {
    Ok(Vector::Float(each(values.floats("a function of numbers")?, |value| Ok(of(value)))?))
}

fn float_of_two(left: Vector, right: Vector, of: impl Fn(f64, f64) -> f64) -> Result<Vector> {
    let (left, right) = (left.floats("a function of numbers")?, right.floats("a function of numbers")?);
    Ok(Vector::Float(left.into_iter().zip(right).map(|(l, r)| Some(of(l?, r?))).collect()))
}

fn whole(values: Vector, of: fn(f64) -> f64, unit: fn(i128, i128) -> i128) -> Result<Vector> {
    match values {
        Vector::Decimal(values, digits) => {
            let wanted = vec![Some(0); values.len()];
            exact::rounded(values, digits, &wanted, unit)
        }
        Vector::Int(values) => Ok(Vector::Int(values)),
        other => Ok(Vector::Float(each(other.floats("rounding")?, |value| Ok(of(value)))?)),
    }
}

/// Rounds numbers to some digits after the point, or, if the number of digits is negative, before it. Halves are rounded
/// away from zero.
fn rounded(values: Vector, digits: Option<Vector>) -> Result<Vector> {
    let rows = values.len();
    let digits = match digits {
        None => vec![Some(0); rows],
        Some(Vector::Int(digits)) => digits,
        Some(Vector::Null(rows)) => vec![None; rows],
        Some(other) => return Err(wrong("a number of digits", &other)),
    };
    let power = |digits: i128| i32::try_from(digits.clamp(-330, 330)).unwrap_or_default();
    Ok(match values {
        Vector::Decimal(values, of) => exact::rounded(values, of, &digits, exact::nearest)?,
        Vector::Int(values) => {
            let of = |(value, digits): (Option<i128>, Option<i128>)| {
                let (value, digits) = (value?, digits?);
                // No integer of 64 bits has more digits.
                let unit = match u32::try_from(digits.checked_neg()?.clamp(0, 20)) {
                    Ok(places) => 10i128.pow(places),
                    Err(_) => 1,
                };
                let half = value.signum() * (unit / 2);
                Some(value.checked_add(half).map(|value| value / unit * unit).ok_or_else(overflow))
            };
            let rounded = values.into_iter().zip(digits).map(|row| of(row).transpose());
            Vector::Int(rounded.collect::<Result<_>>()?)
        }
        other => {
            let of = |(value, digits): (Option<f64>, Option<i128>)| {
                let (value, power) = (value?, power(digits?));
                let unit = 10f64.powi(power.abs());
                let rounded =
                    if power < 0 { (value / unit).round() * unit } else { (value * unit).round() / unit };
                // Beyond its digits, a number is rounded already.
                let far = power < 0 && !unit.is_finite();
                Some(if far {
                    0.0
                } else if rounded.is_finite() {
                    rounded
                } else {
                    value
                })
            };
            Vector::Float(other.floats("round")?.into_iter().zip(digits).map(of).collect())
        }
    })
}

fn text(values: Vector, of: fn(&str) -> String) -> Result<Vector> {
    Ok(Vector::Text(each(text_of(values)?, |text| Ok(Arc::from(of(&text))))?))
}

/// Returns texts with every occurrence of a part replaced; an empty part occurs nowhere.
fn replaced(texts: Vector, from: Vector, to: Vector) -> Result<Vector> {
    let (texts, from, to) = (texts.texts("replace")?, from.texts("replace")?, to.texts("replace")?);
    let replaced = texts.into_iter().zip(from).zip(to).map(|((text, from), to)| {
        let (text, from, to) = (text?, from?, to?);
        Some(if from.is_empty() { text } else { Arc::from(text.replace(&*from, &to)) })
    });
    Ok(Vector::Text(replaced.collect()))
}

/// Returns whether each text has its part.
fn searched(texts: Vector, parts: Vector, has: impl Fn(&str, &str) -> bool) -> Result<Vector> {
    let (texts, parts) = (texts.texts("a search in texts")?, parts.texts("a search in texts")?);
    let found = texts.into_iter().zip(parts).map(|(text, part)| Some(has(&text?, &part?)));
    Ok(Vector::Bool(found.collect()))
}

/// Returns how many letters are before a part of a text, and how many are in it. The first letter of the text has the number 1, and the
/// last one the number -1. A negative count is that of the letters before the place.
fn part_of(letters: i128, from: i128, count: i128) -> (usize, usize) {
    let start = if from < 0 { letters.saturating_add(from) } else { from.saturating_sub(1) }; // a position
    let other = start.saturating_add(count); // a position
    let within = |place: i128| usize::try_from(place.clamp(0, letters)).unwrap_or_default(); // a bound
    let (start, end) = (within(start.min(other)), within(start.max(other)));
    (start, end.saturating_sub(start)) // a bound: it is not before the start
}

/// Returns parts of texts, as [`part_of`] says.
fn substrings(texts: Vec<Option<Arc<str>>>, from: &Vector, count: Option<&Vector>) -> Result<Vector> {
    let number = |of: &Vector, row: usize| match of.value(row) {
        Value::Int(value) => Ok(Some(value)),
        Value::Null => Ok(None),
        _ => Err(wrong("a place in a text", of)),
    };
    let mut parts = Vec::with_capacity(texts.len());
    for (row, text) in texts.into_iter().enumerate() {
        let from = number(from, row)?;
        let count = count.map(|count| number(count, row)).transpose()?;
        let (Some(text), Some(from)) = (text, from) else {
            parts.push(None);
            continue;
        };
        let Some(count) = count.unwrap_or(Some(i64::MAX.into())) else {
            parts.push(None);
            continue;
        };
        let (skipped, taken) = part_of(text.chars().count() as i128, from, count);
        parts.push(Some(Arc::from(text.chars().skip(skipped).take(taken).collect::<String>())));
    }
    Ok(Vector::Text(parts))
}

/// Returns the values of the left side that differ from those of the right side.
fn unless_equal(left: &Vector, right: Vector) -> Result<Vector> {
    let (one, other) = alike(left.clone(), right)?;
    let equal = compared(&one, &other, Ordering::is_eq)?.into_iter().enumerate();
    let kept = equal.map(|(row, equal)| (equal != Some(true)).then_some(row));
    Ok(left.taken(&kept.collect::<Vec<_>>()))
}

/// Returns the greatest or the least value of each row; a missing one is neither.
fn extreme(all: &[Vector], wanted: Ordering, rows: usize) -> Result<Vector> {
    let best = |row: usize| {
        let mut best = 0;
        for (at, of) in all.iter().enumerate().skip(1) {
            let before = all.get(best).map_or(Value::Null, |of| of.value(row));
            let value = of.value(row);
            if before == Value::Null || value.order(&before) == Some(wanted) {
                best = at;
            }
        }
        (best, row)
    };
    chosen_of(all, &(0..rows).map(best).collect::<Vec<_>>())
}

fn moments(values: Vector) -> Result<Vec<Option<i128>>> {
    match values {
        Vector::Moment(values) => Ok(values),
        Vector::Null(rows) => Ok(vec![None; rows]),
        text @ Vector::Text(_) => moments(cast(text, To::Moment, false)?),
        other => Err(wrong("a date", &other)),
    }
}

/// Returns the year, month and day of a date.
fn day_of(moment: i128) -> Option<(i128, i128, i128)> {
    let shown = DateTime::at(Calendar::ProlepticGregorian, moment)?.to_string();
    let (date, _) = shown.split_once('T')?;
    let mut numbers = date.rsplitn(3, '-');
    let day = numbers.next()?.parse().ok()?;
    let month = numbers.next()?.parse().ok()?;
    Some((numbers.next()?.parse().ok()?, month, day))
}

fn parts(values: Vector, part: Part) -> Result<Vector> {
    let of = |moment: i128| -> Result<i128> {
        let seconds = moment.div_euclid(SECOND);
        let clock = |unit: i128, most: i128| seconds.div_euclid(unit).rem_euclid(most);
        let day = || day_of(moment).ok_or_else(|| Error::usage("sql", "has a date out of range"));
        Ok(match part {
            Part::Year => day()?.0,
            Part::Month => day()?.1,
            Part::Day => day()?.2,
            Part::Hour => clock(3600, 24),
            Part::Minute => clock(60, 60),
            Part::Second => clock(1, 60),
        })
    };
    let clock = matches!(part, Part::Hour | Part::Minute | Part::Second);
    Ok(Vector::Int(match values {
        Vector::Time(values) if clock => each(values, of)?,
        // The hours of a span are all it has; its parts have its sign.
        Vector::Span(values) if clock => each(values, |span| {
            let seconds = span / SECOND;
            Ok(match part {
                Part::Hour => seconds / 3600,
                Part::Minute => seconds / 60 % 60,
                _ => seconds % 60,
            })
        })?,
        other => each(moments(other)?, of)?,
    }))
}

/// Returns the seconds of dates since 1970, of times of day, and of spans.
fn epoch(values: Vector) -> Result<Vector> {
    match values {
        Vector::Moment(values) | Vector::Time(values) | Vector::Span(values) => {
            Ok(Vector::Float(each(values, |moment| Ok(moment as f64 / 1e9))?))
        }
        other => Err(wrong("a date", &other)),
    }
}

/// Returns the beginnings of units of time, of which each row has its own.
fn truncated(values: Vector, units: &[Option<Arc<str>>]) -> Result<Vector> {
    let begins = moments(values)?.into_iter().zip(units).map(|(moment, unit)| match (moment, unit) {
        (Some(moment), Some(unit)) => begin(moment, unit).map(Some),
        _ => Ok(None),
    });
    Ok(Vector::Moment(begins.collect::<Result<_>>()?))
}

/// Returns the beginning of the unit of time in which a moment is.
fn begin(moment: i128, unit: &str) -> Result<i128> {
    const LENGTHS: [(&str, i128); 4] =
        [("second", SECOND), ("minute", 60 * SECOND), ("hour", 3600 * SECOND), ("day", 86_400 * SECOND)];
    let is = |name: &str| unit.eq_ignore_ascii_case(name);
    if let Some((_, length)) = LENGTHS.into_iter().find(|(name, _)| is(name)) {
        return Ok(moment.div_euclid(length) * length);
    }
    if !is("month") && !is("year") {
        return Err(Error::usage(
            "sql",
            format!("truncates dates to {unit:?}; choose second, minute, hour, day, month or year"),
        ));
    }
    let out_of_range = || Error::usage("sql", "has a date out of range");
    let (year, month, _) = day_of(moment).ok_or_else(out_of_range)?;
    let first = if is("year") { 1 } else { month };
    crate::dates::moment(&format!("{year:04}-{first:02}-01")).ok_or_else(out_of_range)
}
