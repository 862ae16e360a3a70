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

/// Converts values.
pub(super) fn cast(values: Vector, to: To, lenient: bool) -> Result<Vector> {
    let refused =
        |text: &str, what: &str| -> Error { Error::usage("sql", format!("takes {text:?} for {what}")) };
    if to == To::Day {
        const DAY: i128 = 86_400_000_000_000;
        return Ok(match cast(values, To::Moment, lenient)? {
            Vector::Moment(values) => {
                Vector::Moment(each(values, |moment| Ok(moment - moment.rem_euclid(DAY)))?)
            }
            other => return Err(wrong("a conversion to a date", &other)),
        });
    }
    Ok(match (values, to) {
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
        (Vector::Text(values), to) => {
            let parsed = |what: &str, found: Option<bool>, text: &str| match found {
                Some(true) => Ok(true),
                _ if lenient => Ok(false),
                _ => Err(refused(text, what)),
            };
            macro_rules! parse {
                ($variant:ident, $what:expr, $parse:expr) => {{
                    let mut out = Vec::with_capacity(values.len());
                    for text in values {
                        let Some(text) = text else {
                            out.push(None);
                            continue;
                        };
                        let found = $parse(text.trim());
                        parsed($what, Some(found.is_some()), &text)?;
                        out.push(found);
                    }
                    Vector::$variant(out)
                }};
            }
            match to {
                To::Float => parse!(Float, "a number", |text: &str| text.parse().ok()),
                To::Bool => {
                    parse!(Bool, "a truth value", |text: &str| match text.to_ascii_lowercase().as_str() {
                        "true" | "t" | "yes" | "y" | "1" => Some(true),
                        "false" | "f" | "no" | "n" | "0" => Some(false),
                        _ => None,
                    })
                }
                To::Time => parse!(Time, "a time of day", exact::time),
                To::Span => parse!(Span, "a span", exact::span),
                _ => parse!(Moment, "a date", crate::dates::moment),
            }
        }
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
