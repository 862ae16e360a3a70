//! Conversions of values to other types.

use std::sync::Arc;

use sciformats_conventions::sciformats::{Error, Result};
use sciformats_conventions::time::{Calendar, DateTime};

use super::exact::{self, Digits};
use super::expr::{each, overflow};
use super::vector::{Vector, wrong};

/// The type of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    Bool,
    Int(Whole),
    Float,
    Text,
    Moment,
    /// The first moment of the day.
    Day,
    Decimal(Digits),
    Time,
    Span,
}

/// A type of integers: its name, and the numbers that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    name: &'static str,
    least: i128,
    most: i128,
}

impl Whole {
    pub(super) const TINY: Self = Self::of("TINYINT", i8::MIN as i128, i8::MAX as i128);
    pub(super) const SMALL: Self = Self::of("SMALLINT", i16::MIN as i128, i16::MAX as i128);
    pub(super) const MIDDLE: Self = Self::of("INTEGER", i32::MIN as i128, i32::MAX as i128);
    pub(super) const BIG: Self = Self::of("BIGINT", i64::MIN as i128, i64::MAX as i128);

    const fn of(name: &'static str, least: i128, most: i128) -> Self {
        Self { name, least, most }
    }
}

/// Converts values to integers of a type. A value that it does not have is an error, or missing if that is wanted.
fn integers(values: Vector, to: Whole, lenient: bool) -> Result<Vec<Option<i128>>> {
    let fit = |whole: Option<i128>, shown: &dyn Fn() -> String| match whole
        .filter(|whole| (to.least..=to.most).contains(whole))
    {
        Some(whole) => Ok(Some(whole)),
        None if lenient => Ok(None),
        None => Err(Error::usage("sql", format!("takes {} for an integer of type {}", shown(), to.name))),
    };
    macro_rules! all {
        ($values:expr, $of:expr, $shown:expr) => {
            $values
                .into_iter()
                .map(|value| value.map_or(Ok(None), |value| fit($of(&value), &|| $shown(&value))))
                .collect()
        };
    }
    match values {
        Vector::Null(rows) => Ok(vec![None; rows]),
        Vector::Bool(values) => all!(values, |truth: &bool| Some(i128::from(*truth)), bool::to_string),
        Vector::Int(values) => all!(values, |value: &i128| Some(*value), i128::to_string),
        Vector::Decimal(values, Digits { point, .. }) => {
            all!(values, |value: &i128| exact::rescaled(*value, point, 0).ok(), |value: &i128| exact::shown(
                *value, point
            ))
        }
        Vector::Float(values) => {
            let whole = |value: &f64| {
                let whole = value.round_ties_even();
                // Beyond all integers of 64 bits, and within those of 128.
                (whole.abs() < 2f64.powi(126)).then_some(whole as i128)
            };
            all!(values, whole, f64::to_string)
        }
        Vector::Text(values) => {
            let whole = |text: &Arc<str>| {
                let (value, point) = exact::decimal(text.trim())?;
                exact::rescaled(value, point, 0).ok()
            };
            all!(values, whole, |text: &Arc<str>| format!("{text:?}"))
        }
        values @ Vector::Span(_) => {
            integers(Vector::Float(values.floats("a conversion to a number")?), to, lenient)
        }
        other => Err(wrong("a conversion to another type", &other)),
    }
}

/// Converts values. What cannot be converted is an error, or missing if that is wanted.
pub(super) fn cast(values: Vector, to: To, lenient: bool) -> Result<Vector> {
    Ok(match (values, to) {
        (values, To::Day) => days(cast(values, To::Moment, lenient)?)?,
        (Vector::Null(rows), To::Bool) => Vector::Bool(vec![None; rows]),
        (Vector::Null(rows), To::Float) => Vector::Float(vec![None; rows]),
        (Vector::Null(rows), To::Text) => Vector::Text(vec![None; rows]),
        (Vector::Null(rows), To::Moment) => Vector::Moment(vec![None; rows]),
        (Vector::Null(rows), To::Time) => Vector::Time(vec![None; rows]),
        (Vector::Null(rows), To::Span) => Vector::Span(vec![None; rows]),
        (values, To::Int(whole)) => Vector::Int(integers(values, whole, lenient)?),
        (values, To::Decimal(digits)) => exact::decimals(values, digits, lenient)?,
        (values @ Vector::Bool(_), To::Bool)
        | (values @ Vector::Float(_), To::Float)
        | (values @ Vector::Text(_), To::Text)
        | (values @ Vector::Moment(_), To::Moment)
        | (values @ Vector::Time(_), To::Time)
        | (values @ Vector::Span(_), To::Span) => values,
        (Vector::Bool(values), To::Float) => {
            Vector::Float(each(values, |truth| Ok(f64::from(u8::from(truth))))?)
        }
        (Vector::Int(values), To::Float) => Vector::Float(each(values, |value| Ok(value as f64))?),
        (Vector::Int(values), To::Bool) => Vector::Bool(each(values, |value| Ok(value != 0))?),
        (values, To::Text) => Vector::Text(text_of(values)?),
        (Vector::Text(texts), to) => parsed(texts, to, lenient)?,
        (Vector::Moment(values), To::Float) => Vector::Float(each(values, |moment| Ok(moment as f64 / 1e9))?),
        (Vector::Int(values), To::Moment) => {
            Vector::Moment(each(values, |seconds| seconds.checked_mul(1_000_000_000).ok_or_else(overflow))?)
        }
        (Vector::Moment(values), To::Time) => {
            Vector::Time(each(values, |moment| Ok(moment.rem_euclid(exact::DAY)))?)
        }
        (Vector::Decimal(values, _), To::Bool) => Vector::Bool(each(values, |value| Ok(value != 0))?),
        (values @ (Vector::Decimal(..) | Vector::Span(_)), To::Float) => {
            Vector::Float(values.floats("a conversion to a number")?)
        }
        (other, _) => return Err(wrong("a conversion to another type", &other)),
    })
}

/// Returns the first moments of the days of dates.
fn days(values: Vector) -> Result<Vector> {
    match values {
        Vector::Moment(values) => {
            Ok(Vector::Moment(each(values, |moment| Ok(moment - moment.rem_euclid(exact::DAY)))?))
        }
        other => Err(wrong("a conversion to a date", &other)),
    }
}

/// Reads texts as values of another type.
fn parsed(texts: Vec<Option<Arc<str>>>, to: To, lenient: bool) -> Result<Vector> {
    Ok(match to {
        To::Float => Vector::Float(each_parsed(texts, "a number", lenient, |text| text.parse().ok())?),
        To::Bool => Vector::Bool(each_parsed(texts, "a truth value", lenient, truth)?),
        To::Time => Vector::Time(each_parsed(texts, "a time of day", lenient, exact::time)?),
        To::Span => Vector::Span(each_parsed(texts, "a span", lenient, exact::span)?),
        _ => Vector::Moment(each_parsed(texts, "a date", lenient, crate::dates::moment)?),
    })
}

fn each_parsed<T>(
    texts: Vec<Option<Arc<str>>>,
    what: &str,
    lenient: bool,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<Option<T>>> {
    let value = |text: Option<Arc<str>>| match text {
        None => Ok(None),
        Some(text) => match parse(text.trim()) {
            None if !lenient => Err(Error::usage("sql", format!("takes {text:?} for {what}"))),
            found => Ok(found),
        },
    };
    texts.into_iter().map(value).collect()
}

/// Reads a truth value.
fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

/// Returns values as texts.
pub(super) fn text_of(values: Vector) -> Result<Vec<Option<Arc<str>>>> {
    if let Vector::Text(values) = values {
        return Ok(values);
    }
    if let Some(texts) = exact::texts(&values) {
        return Ok(texts);
    }
    if let Vector::Moment(values) = values {
        let shown = |moment| {
            let date = DateTime::at(Calendar::ProlepticGregorian, moment);
            date.map(|date| Arc::from(date.to_string()))
                .ok_or_else(|| Error::usage("sql", "has a date out of range"))
        };
        return each(values, shown);
    }
    let array = values.into_array()?;
    let mut texts = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        let mut text = String::new();
        let present = crate::text::write_cell(&mut text, crate::text::Style::Plain, array.as_ref(), row);
        texts.push(present.then(|| Arc::from(text)));
    }
    Ok(texts)
}
